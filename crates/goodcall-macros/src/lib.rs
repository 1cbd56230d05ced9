//! `#[goodcall::tool]` turns a function, or the methods of an `impl`, into tools.
//!
//! The signature and the doc comments are the only definition: they give the name, the
//! description, the JSON Schema and the type of the arguments. Errors point at the user's code.

mod options;
mod params;
mod tool;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Attribute, ImplItem, Item, ItemFn, ItemImpl, parse_macro_input};

use options::Options;
use tool::{Function, Receiver};

/// Turns a function, or the methods of an `impl`, into tools.
///
/// For a function `read_file` it generates a type `ReadFile` that implements `goodcall::Tool`; the
/// function stays as it is. For an `impl` block it generates `fn tools(self: Arc<Self>)`, which
/// returns a tool for each method that is marked `#[tool]`.
///
/// Options: `name = "…"`, `description = "…"`, `destructive`, `repeatable`, `time_limit_ms = 500`,
/// `blocking` (the default of a plain `fn`) and `inline` (a plain `fn` that is quick). A parameter
/// takes `#[tool(default)]`, `#[tool(default = 5)]` and schemars' `range`, `length`, `regex`; a
/// parameter `&Context` gets the context of the call.
///
/// The function returns anything that serde can serialize, a `ToolResult`, or a `Result` of one of
/// them. Its error is a `goodcall::Failure`, a `std::error::Error`, or a text (`String`, `&str`).
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as Options);
    match parse_macro_input!(item as Item) {
        Item::Fn(function) => of_function(function, &options),
        Item::Impl(block) => of_impl(block),
        other => {
            let message = "#[goodcall::tool] is for a function or an impl block";
            let error = syn::Error::new_spanned(&other, message).to_compile_error();
            quote!(#error #other)
        }
    }
    .into()
}

/// Returns the function as it was, and a type that is a tool.
fn of_function(mut function: ItemFn, options: &Options) -> Tokens {
    let made = Function::new(&function.attrs, &function.sig, options, &Receiver::None);
    let made = made.map(|made| made.as_type(&function.vis));
    params::strip(&mut function.sig);
    let made = made.unwrap_or_else(|error| error.to_compile_error());
    quote!(#function #made)
}

/// Returns the block as it was, and a function that returns its tools.
fn of_impl(mut block: ItemImpl) -> Tokens {
    let mut made = Vec::new();
    let mut errors = Vec::new();
    if !block.generics.params.is_empty() {
        let message = "the state of tools cannot be generic";
        errors.push(syn::Error::new_spanned(&block.generics, message));
    }
    let receiver = Receiver::Shared(block.self_ty.clone());
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let (marks, others) = take_marks(std::mem::take(&mut method.attrs));
        method.attrs = others;
        let Some(mark) = marks.first() else { continue };
        let options = match &mark.meta {
            syn::Meta::Path(_) => Ok(Options::default()),
            _ => mark.parse_args(),
        };
        let function = options
            .and_then(|options| Function::new(&method.attrs, &method.sig, &options, &receiver));
        match function.map(|function| function.as_shared()) {
            Ok(tool) => made.push(tool),
            Err(error) => errors.push(error),
        }
        params::strip(&mut method.sig);
    }
    if made.is_empty() && errors.is_empty() {
        let message = "no method of this impl block is marked #[tool]";
        errors.push(syn::Error::new_spanned(&block.self_ty, message));
    }
    let errors = errors.iter().map(syn::Error::to_compile_error);
    let self_ty = &block.self_ty;
    quote! {
        #block
        #(#errors)*
        impl #self_ty {
            /// The tools of this type, sharing its state.
            pub fn tools(
                self: ::std::sync::Arc<Self>,
            ) -> ::std::vec::Vec<::std::sync::Arc<dyn ::goodcall::Tool>> {
                let state = self;
                ::std::vec![#(#made),*]
            }
        }
    }
}

/// Separates `#[tool]` marks from all other attributes.
fn take_marks(attributes: Vec<Attribute>) -> (Vec<Attribute>, Vec<Attribute>) {
    attributes.into_iter().partition(options::is_tool)
}
