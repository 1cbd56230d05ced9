//! Generates the implementation of `Tool` for one function.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, Ident, LitStr, Path, ReceiverKind, ReturnType, Safety, Signature, Type,
};

use crate::options::{Options, documentation};
use crate::params::{Argument, Param};

/// The receiver of a tool function.
pub(crate) enum Receiver {
    /// A free function has none.
    None,
    /// Shared state of this type.
    Shared(Box<Type>),
}

/// A function that becomes a tool.
pub(crate) struct Function<'f> {
    /// The path of the crate `goodcall`.
    root: &'f Path,
    signature: &'f Signature,
    params: Vec<Param>,
    receiver: &'f Receiver,
    pub(crate) name: String,
    /// The expression of the description; `None` if there is none.
    description: Option<Tokens>,
    flags: Tokens,
}

impl<'f> Function<'f> {
    pub(crate) fn new(
        root: &'f Path,
        attributes: &[Attribute],
        signature: &'f Signature,
        options: &Options,
        receiver: &'f Receiver,
    ) -> syn::Result<Self> {
        let params = params(signature, receiver)?;
        let documented = || {
            let text = documentation(attributes);
            (!text.is_empty()).then(|| quote!(#text))
        };
        let description = options.expression("description");
        let description = description.map(|expression| quote!(#expression));
        let name = options.text("name").map(LitStr::value);
        Ok(Self {
            root,
            signature,
            params,
            receiver,
            name: name.unwrap_or_else(|| signature.ident.unraw().to_string()),
            description: description.or_else(documented),
            flags: flags(options, signature.asyncness.is_none()),
        })
    }

    /// Returns the error of a tool without a description. The tool itself is made all the same, so
    /// that this is the only error.
    fn undescribed(&self) -> Option<Tokens> {
        let message = "a tool needs a description for the model: write a doc comment, or set \
                       description = \"…\"";
        let error = || syn::Error::new_spanned(&self.signature.ident, message).to_compile_error();
        self.description.is_none().then(error)
    }

    /// Returns the implementation of the type that stands for a free function.
    pub(crate) fn of_type(&self, ident: &Ident) -> Tokens {
        let body = self.implementation(&quote!(#ident), &quote!());
        let undescribed = self.undescribed();
        quote!(#undescribed const _: () = { #body };)
    }

    /// Returns an expression: the tool with the state in `state`.
    pub(crate) fn as_shared(&self) -> Tokens {
        let Receiver::Shared(state) = self.receiver else {
            return quote!();
        };
        // The compiler would name the hidden type where it misses a tool.
        let hidden = quote!(#[diagnostic::do_not_recommend]);
        let body = self.implementation(&quote!(__GoodcallShared), &hidden);
        let root = self.root;
        let undescribed = self.undescribed();
        quote!({
            #undescribed
            struct __GoodcallShared(::std::sync::Arc<#state>);
            #body
            ::std::sync::Arc::new(__GoodcallShared(::std::sync::Arc::clone(&__goodcall_state)))
                as ::std::sync::Arc<dyn #root::Tool>
        })
    }

    /// Returns the type of the arguments.
    fn arguments(&self) -> Tokens {
        let arguments = self.params.iter().filter_map(|param| match param {
            Param::Argument(argument) => Some(&**argument),
            Param::Context => None,
        });
        let arguments: Vec<&Argument> = arguments.collect();
        let root = self.root;
        let fields = arguments.iter().map(|argument| argument.field(root));
        let defaults = arguments
            .iter()
            .filter_map(|argument| argument.default(root));
        let assertions = arguments.iter().map(|argument| argument.assertion(root));
        let bounds = |of: &str| {
            let bounds = arguments
                .iter()
                .filter_map(|argument| argument.bound(root, of));
            bounds.collect::<Vec<_>>().join(", ")
        };
        let path = quote!(#root::__private).to_string();
        let (reads, describes) = (
            bounds(&format!("{path}::serde::Deserialize<'de>")),
            bounds(&format!("{path}::schemars::JsonSchema")),
        );
        let derive = crate_attributes(root);
        quote! {
            #[derive(
                #root::__private::serde::Deserialize,
                #root::__private::schemars::JsonSchema,
            )]
            #derive
            #[serde(deny_unknown_fields, bound = #reads)]
            #[schemars(bound = #describes)]
            struct __GoodcallArgs<__GoodcallAny> {
                #(#fields,)*
                #[serde(skip)]
                #[schemars(skip)]
                __goodcall_any: ::std::marker::PhantomData<__GoodcallAny>,
            }
            impl<__GoodcallAny> __GoodcallArgs<__GoodcallAny> { #(#defaults)* }
            const _: fn() = || { #(#assertions)* };
        }
    }

    /// Returns the call of the function, converted to a result.
    fn call(&self) -> Tokens {
        let (ident, handed) = (&self.signature.ident, self.params.iter().map(Param::handed));
        let call = match self.receiver {
            Receiver::None => quote!(#ident(#(#handed),*)),
            Receiver::Shared(_) => quote!(self.0.#ident(#(#handed),*)),
        };
        let call = match self.signature.asyncness {
            Some(_) => quote!(#call.await),
            None => call,
        };
        // An error about the returned type points at that type.
        let span = match &self.signature.output {
            ReturnType::Type(_, ty) => ty.span(),
            ReturnType::Default => self.signature.ident.span(),
        };
        let returned = Ident::new("__goodcall_returned", span);
        let into = quote_spanned!(span=> #returned.into_result());
        let root = self.root;
        quote!(let #returned = #root::__private::Returned(#call); #into)
    }

    fn implementation(&self, ty: &Tokens, attributes: &Tokens) -> Tokens {
        let (arguments, call, flags) = (self.arguments(), self.call(), &self.flags);
        let (root, name) = (self.root, &self.name);
        let description = self.description.clone().unwrap_or_else(|| quote!(""));
        quote! {
            #arguments
            #attributes
            #[#root::__private::async_trait]
            impl #root::Tool for #ty {
                fn name(&self) -> &str { #name }
                fn description(&self) -> &str { #description }
                fn parameters_schema(&self) -> #root::__private::Value {
                    #[allow(unused_imports)]
                    use #root::__private::Underived as _;
                    #root::__private::Derived::<__GoodcallArgs<()>>::new().schema()
                }
                fn validate_parameters(
                    &self,
                    params: &#root::__private::Value,
                ) -> ::std::result::Result<(), #root::Invalid> {
                    #root::__private::validate(self, params)
                }
                #flags
                fn bind(
                    &self,
                    arguments: &#root::goodcall_core::Tree<'_>,
                ) -> ::std::result::Result<#root::BoundArguments, #root::Invalid> {
                    #[allow(unused_imports)]
                    use #root::__private::Underived as _;
                    #root::__private::Derived::<__GoodcallArgs<()>>::new().bind(arguments)
                }
                #[allow(unused_variables, clippy::unit_arg)]
                async fn run(
                    &self,
                    __goodcall_bound: #root::BoundArguments,
                    __goodcall_context: &#root::Context,
                ) -> #root::ToolResult {
                    #[allow(unused_imports)]
                    use #root::__private::{FallibleReturn as _, PlainReturn as _};
                    let ::std::option::Option::Some(__goodcall_args) =
                        __goodcall_bound.into_typed::<__GoodcallArgs<()>>()
                    else {
                        return #root::__private::misbound(#name);
                    };
                    #call
                }
                async fn execute(
                    &self,
                    params: &#root::__private::Value,
                ) -> #root::ToolResult {
                    #root::__private::execute(self, params).await
                }
            }
        }
    }
}

/// Returns the attributes that tell serde's and schemars' derives where these crates are.
pub(crate) fn crate_attributes(root: &Path) -> Tokens {
    let path = quote!(#root).to_string().replace(' ', "");
    let (serde, schemars) = (
        format!("{path}::__private::serde"),
        format!("{path}::__private::schemars"),
    );
    quote!(#[serde(crate = #serde)] #[schemars(crate = #schemars)])
}

/// Returns the parameters of a function that can be a tool.
fn params(signature: &Signature, receiver: &Receiver) -> syn::Result<Vec<Param>> {
    if signature.generics.lifetimes().next().is_some() {
        let message = "a tool cannot have lifetimes: leave them out (&str and &[T] are lent \
                       without)";
        return Err(syn::Error::new_spanned(&signature.generics, message));
    }
    if !signature.generics.params.is_empty() {
        let message = "a tool cannot be generic: its schema is made once";
        return Err(syn::Error::new_spanned(&signature.generics, message));
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        let message = "a tool cannot be unsafe: a model calls it";
        return Err(syn::Error::new_spanned(unsafety, message));
    }
    let mut params = Vec::new();
    let mut on_self = false;
    for input in &signature.inputs {
        match (input, receiver) {
            (FnArg::Typed(param), _) => params.push(Param::new(param)?),
            (FnArg::Receiver(this), Receiver::None) => {
                let message = "put #[goodcall::tool] on the impl block and #[tool] on the method";
                return Err(syn::Error::new_spanned(this, message));
            }
            (FnArg::Receiver(this), Receiver::Shared(_)) => {
                if !matches!(this.kind, ReceiverKind::Reference(_, _, None)) {
                    let message = "a tool shares its state: take &self";
                    return Err(syn::Error::new_spanned(this, message));
                }
                on_self = true;
            }
        }
    }
    if let (Receiver::Shared(_), false) = (receiver, on_self) {
        let message = "a method that is a tool takes &self";
        return Err(syn::Error::new_spanned(&signature.ident, message));
    }
    Ok(params)
}

/// Returns a tool that does nothing, in place of one that has an error: its type is known, so that the
/// error is the only one.
pub(crate) fn stub(root: &Path, ident: &Ident) -> Tokens {
    quote! {
        const _: () = {
            #[#root::__private::async_trait]
            impl #root::Tool for #ident {
                fn name(&self) -> &str { "" }
                fn description(&self) -> &str { "" }
                fn parameters_schema(&self) -> #root::__private::Value {
                    #root::__private::Value::Null
                }
                async fn execute(&self, _: &#root::__private::Value) -> #root::ToolResult {
                    #root::ToolResult::error("")
                }
            }
        };
    }
}

/// Returns the methods that the options and the kind of function define.
fn flags(options: &Options, plain: bool) -> Tokens {
    let flag = |name: &str, method: &str| {
        let method = format_ident!("{method}");
        let on = options.flag(name)?;
        Some(quote!(fn #method(&self) -> bool { #on }))
    };
    let blocking = options.flag("blocking") == Some(true)
        || plain && options.flag("inline") != Some(true) && options.flag("blocking").is_none();
    let flags = [
        flag("destructive", "is_destructive"),
        flag("read_only", "is_read_only"),
        flag("repeatable", "is_repeatable"),
        blocking.then(|| {
            quote!(
                fn is_blocking(&self) -> bool {
                    true
                }
            )
        }),
    ];
    let limit = options.integer("time_limit_ms").map(|limit| {
        quote!(fn time_limit(&self) -> ::std::option::Option<::std::time::Duration> {
            ::std::option::Option::Some(::std::time::Duration::from_millis(#limit))
        })
    });
    let title = options.text("title").map(|title| {
        quote!(fn title(&self) -> ::std::option::Option<&str> {
            ::std::option::Option::Some(#title)
        })
    });
    let world = options.flag("open_world").map(|open| {
        quote!(fn is_open_world(&self) -> ::std::option::Option<bool> {
            ::std::option::Option::Some(#open)
        })
    });
    quote!(#(#flags)* #limit #title #world)
}

/// Returns `ReadFile` for `read_file`.
pub(crate) fn camel(ident: &Ident) -> Ident {
    let text = ident.unraw().to_string();
    let parts = text.split('_').map(|part| {
        let mut letters = part.chars();
        let first = letters
            .next()
            .map(|letter| letter.to_uppercase().to_string());
        first.unwrap_or_default() + letters.as_str()
    });
    Ident::new(&parts.collect::<String>(), ident.span())
}
