//! `#[goodcall::tool]` turns a function, or the methods of an `impl`, into tools;
//! `#[derive(goodcall::Args)]` makes a type one of their parameters.
//!
//! The signature and the doc comments are the only definition: they give the name, the
//! description, the JSON Schema and the type of the arguments. Errors point at the user's code.

mod args;
mod options;
mod params;
mod tool;

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};
use quote::quote;
use syn::{Attribute, DeriveInput, Ident, ImplItem, Item, ItemFn, ItemImpl, parse_macro_input};

use options::Options;
use tool::{Function, Receiver};

/// Turns a function, or the methods of an `impl`, into tools.
///
/// For a function `read_file` it generates a type `ReadFile` that implements `goodcall::Tool`; the
/// function stays as it is. The doc comment is the description that the model reads, and each
/// parameter is a property of the schema. A tool without a description does not compile.
///
/// ```ignore
/// /// Reads lines of a file.
/// #[goodcall::tool(repeatable, time_limit_ms = 5000)]
/// async fn read_file(
///     /// The file, relative to the project.
///     path: &str,
///     /// The most lines.
///     #[tool(default = 100, range(min = 1, max = 1000))] limit: u32,
/// ) -> Result<String, goodcall::Failure> {
///     let text = std::fs::read_to_string(path).for_model("the file cannot be read")?;
///     Ok(text.lines().take(limit as usize).collect::<Vec<_>>().join("\n"))
/// }
///
/// toolbox.register(ReadFile)?;
/// ```
///
/// For an `impl` block it generates `fn tools(self: Arc<Self>)`, which returns a tool for each method
/// that is marked `#[tool]`; the methods take `&self`.
///
/// ```ignore
/// #[goodcall::tool]
/// impl Notes {
///     /// Adds a note.
///     #[tool]
///     fn add_note(&self, text: String) -> usize {
///         self.push(text)
///     }
/// }
///
/// toolbox.register_all(Arc::new(Notes::default()).tools())?;
/// ```
///
/// | option | on | meaning |
/// |---|---|---|
/// | `name = "…"` | function, method | the name that the model calls; by default that of the function |
/// | `description = "…"` | function, method | in place of the doc comment |
/// | `destructive` | function, method | the effect cannot be taken back, so calls are not mended |
/// | `repeatable` | function, method | may run twice for one call, if the host dies |
/// | `blocking` | function, method | runs off the async threads: the default of a plain `fn` |
/// | `inline` | function, method | a plain `fn` that is quick and runs on the async thread |
/// | `time_limit_ms = 500` | function, method | how long a call may take |
/// | `type = "…"` | function | the name of the generated type |
/// | `tools = "…"` | impl block | the name of the generated function, for a second block |
/// | `crate = "…"` | function, impl block | the path of goodcall, where another crate re-exports it |
/// | `#[tool(default)]`, `#[tool(default = 5)]` | parameter | may be left out |
/// | `#[tool(range(min = 1))]`, `length`, `regex`, … | parameter | constraints, as schemars has them |
///
/// A parameter may be `&str`, `&[T]`, or any type that derives [`Args`](macro@Args); `&Context` is the
/// context of the call and no property. The function returns anything that serde can serialize, a
/// `ToolResult`, or a `Result` of one of them. Its error is a `goodcall::Failure` or anything that `?`
/// turns into one: a text for the model, or an error for the operator.
///
/// A plain `fn` runs on a thread for blocking work. Outside of tokio that is a new thread.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(attribute as Options);
    match parse_macro_input!(item as Item) {
        Item::Fn(function) => of_function(function, &options),
        Item::Impl(block) => of_impl(block, &options),
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
    let (root, none) = (options.root(), Receiver::None);
    let made = Function::new(&root, &function.attrs, &function.sig, options, &none);
    let made = made.map(|made| made.as_type(&function.vis));
    params::strip(&mut function.sig);
    let made = made.unwrap_or_else(|error| error.to_compile_error());
    quote!(#function #made)
}

/// Returns the block as it was, and a function that returns its tools.
fn of_impl(mut block: ItemImpl, options: &Options) -> Tokens {
    let mut made = Vec::new();
    let mut errors = Vec::new();
    if !block.generics.params.is_empty() {
        let message = "the state of tools cannot be generic";
        let error = syn::Error::new_spanned(&block.generics, message).to_compile_error();
        return quote!(#error);
    }
    let root = options.root();
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
        let function = options.and_then(|options| {
            Function::new(&root, &method.attrs, &method.sig, &options, &receiver)
        });
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
    let tools = options.tools.clone();
    let tools = tools.unwrap_or_else(|| Ident::new("tools", Span::call_site()));
    quote! {
        #block
        #(#errors)*
        impl #self_ty {
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

/// Derives `serde::Deserialize` and `schemars::JsonSchema` for a type of parameters, with the
/// attributes of both, and without a dependency on either.
///
/// ```ignore
/// #[derive(goodcall::Args)]
/// #[serde(rename_all = "lowercase")]
/// enum Unit {
///     Celsius,
///     Fahrenheit,
/// }
/// ```
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
