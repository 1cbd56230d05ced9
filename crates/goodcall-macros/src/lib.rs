//! `#[goodcall::tool]` turns a function, or the methods of an `impl`, into tools;
//! `#[derive(goodcall::Args)]` makes a type one of their parameters.
//!
//! The signature and the doc comments are the only definition: they give the name, the
//! description, the JSON Schema and the type of the arguments. Errors point at the user's code. The
//! pages of both macros, with their options, are in the crate `goodcall`, which re-exports them.

mod args;
mod options;
mod params;
mod tool;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{
    Attribute, DeriveInput, Ident, ImplItem, Item, ItemFn, ItemImpl, Path, parse_macro_input,
};

use options::{Options, Place};
use tool::{Function, Receiver};

/// Turns a function, or the methods of an `impl`, into tools.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match parse_macro_input!(item as Item) {
        Item::Fn(function) => of_function(function, attribute.into()),
        Item::Impl(block) => of_impl(block, attribute.into()),
        other => {
            let message = "#[goodcall::tool] is for a function or an impl block";
            let error = syn::Error::new_spanned(&other, message).to_compile_error();
            quote!(#error #other)
        }
    }
    .into()
}

/// Returns the function as it was, and a type that is a tool.
fn of_function(mut function: ItemFn, attribute: Tokens) -> Tokens {
    let (options, mut errors) = recovered(Options::parser(Place::Function).parse2(attribute));
    let (root, error) = recovered_or(options.root(), options::root);
    errors.extend(error);
    let (ident, error) = recovered(options.ident("type"));
    errors.extend(error);
    let ident = ident.unwrap_or_else(|| tool::camel(&function.sig.ident));
    let none = Receiver::None;
    let made = Function::new(&root, &function.attrs, &function.sig, &options, &none);
    let (made, name) = match made {
        Ok(made) => (made.of_type(&ident), made.name),
        Err(error) => {
            errors.push(error);
            (tool::stub(&root, &ident), function.sig.ident.to_string())
        }
    };
    params::strip(&mut function.sig);
    let errors = errors.iter().map(syn::Error::to_compile_error);
    if function.sig.receiver().is_some() {
        // A type cannot be made inside an impl block.
        return quote!(#function #(#errors)*);
    }
    let (doc, visibility) = (format!("The tool `{name}`."), &function.vis);
    quote! {
        #function
        #(#errors)*
        #[doc = #doc]
        #[derive(Debug)]
        #visibility struct #ident;
        #made
    }
}

/// Returns the value, or the default and the error.
fn recovered<T: Default>(parsed: syn::Result<T>) -> (T, Vec<syn::Error>) {
    recovered_or(parsed, T::default)
}

/// Returns the value, or another one and the error.
fn recovered_or<T>(parsed: syn::Result<T>, other: impl FnOnce() -> T) -> (T, Vec<syn::Error>) {
    match parsed {
        Ok(value) => (value, Vec::new()),
        Err(error) => (other(), vec![error]),
    }
}

/// Returns the block as it was, and a function that returns its tools.
fn of_impl(mut block: ItemImpl, attribute: Tokens) -> Tokens {
    let (options, mut errors) = recovered(Options::parser(Place::Impl).parse2(attribute));
    let (root, error) = recovered_or(options.root(), options::root);
    errors.extend(error);
    let (tools, error) = recovered(options.ident("tools"));
    errors.extend(error);
    let tools = tools.unwrap_or_else(|| Ident::new("tools", block.self_ty.span()));
    let generic = !block.generics.params.is_empty();
    if generic {
        let message = "the state of tools cannot be generic";
        errors.push(syn::Error::new_spanned(&block.generics, message));
    }
    let (made, found) = methods(&mut block, &root);
    errors.extend(found);
    if made.is_empty() && errors.is_empty() {
        let message = "no method of this impl block is marked #[tool]";
        errors.push(syn::Error::new_spanned(&block.self_ty, message));
    }
    let made = if generic { Vec::new() } else { made };
    let errors = errors.iter().map(syn::Error::to_compile_error);
    let (generics, _, bounds) = block.generics.split_for_impl();
    let self_ty = &block.self_ty;
    quote! {
        #block
        #(#errors)*
        impl #generics #self_ty #bounds {
            /// The tools of this type, sharing its state.
            pub fn #tools(
                self: ::std::sync::Arc<Self>,
            ) -> ::std::vec::Vec<::std::sync::Arc<dyn #root::Tool>> {
                let __goodcall_state = self;
                ::std::vec![#(#made),*]
            }
        }
    }
}

/// Returns the tools among the methods of a block, and removes the marks.
fn methods(block: &mut ItemImpl, root: &Path) -> (Vec<Tokens>, Vec<syn::Error>) {
    let (mut made, mut errors) = (Vec::new(), Vec::new());
    let receiver = Receiver::Shared(block.self_ty.clone());
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let (marks, others) = take_marks(std::mem::take(&mut method.attrs));
        method.attrs = others;
        let Some(mark) = marks.first() else { continue };
        let options = match &mark.meta {
            syn::Meta::Path(_) => Ok(Options::default()),
            _ => mark.parse_args_with(Options::parser(Place::Method)),
        };
        let function = options.and_then(|options| {
            Function::new(root, &method.attrs, &method.sig, &options, &receiver)
        });
        match function.map(|function| function.as_shared()) {
            Ok(tool) => made.push(tool),
            Err(error) => errors.push(error),
        }
        params::strip(&mut method.sig);
    }
    (made, errors)
}

/// Derives `serde::Deserialize` and `schemars::JsonSchema` for a type of parameters.
#[proc_macro_derive(Args, attributes(serde, schemars, validate))]
pub fn derive_args(item: TokenStream) -> TokenStream {
    let input = parse_macro_input!(item as DeriveInput);
    let made = args::derive(&input);
    made.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Separates `#[tool]` marks from all other attributes.
fn take_marks(attributes: Vec<Attribute>) -> (Vec<Attribute>, Vec<Attribute>) {
    attributes.into_iter().partition(options::is_tool)
}
