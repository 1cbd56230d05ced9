//! Generates the implementation of `Tool` for one function.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Ident, Path, ReturnType, Signature, Type, Visibility};

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
    name: String,
    description: String,
    flags: Tokens,
    type_name: Option<Ident>,
}

impl<'f> Function<'f> {
    pub(crate) fn new(
        root: &'f Path,
        attributes: &[Attribute],
        signature: &'f Signature,
        options: &Options,
        receiver: &'f Receiver,
    ) -> syn::Result<Self> {
        if signature.generics.lifetimes().next().is_some() {
            let message = "a tool cannot have lifetimes: leave them out (&str and &[T] are lent \
                           without)";
            return Err(syn::Error::new_spanned(&signature.generics, message));
        }
        if !signature.generics.params.is_empty() {
            let message = "a tool cannot be generic: its schema is made once";
            return Err(syn::Error::new_spanned(&signature.generics, message));
        }
        let mut params = Vec::new();
        let mut on_self = false;
        for input in &signature.inputs {
            match (input, receiver) {
                (FnArg::Typed(param), _) => params.push(Param::new(param)?),
                (FnArg::Receiver(this), Receiver::None) => {
                    let message =
                        "put #[goodcall::tool] on the impl block and #[tool] on the method";
                    return Err(syn::Error::new_spanned(this, message));
                }
                (FnArg::Receiver(this), Receiver::Shared(_)) => {
                    if this.reference.is_none() || this.mutability.is_some() {
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
        let plain = signature.ident.to_string();
        let plain = plain.strip_prefix("r#").unwrap_or(&plain).to_owned();
        let description = options.description.as_ref().map(syn::LitStr::value);
        Ok(Self {
            root,
            signature,
            params,
            receiver,
            name: options.name.as_ref().map_or(plain, syn::LitStr::value),
            description: description.unwrap_or_else(|| documentation(attributes)),
            flags: flags(options, signature.asyncness.is_none()),
            type_name: options.type_name.clone(),
        })
    }

    /// Returns the error of a tool without a description. The tool itself is made all the same, so
    /// that this is the only error.
    fn undescribed(&self) -> Option<Tokens> {
        let message = "a tool needs a description for the model: write a doc comment, or set \
                       description = \"…\"";
        let error = || syn::Error::new_spanned(&self.signature.ident, message).to_compile_error();
        self.description.trim().is_empty().then(error)
    }

    /// Returns the type that stands for a free function.
    pub(crate) fn as_type(&self, visibility: &Visibility) -> Tokens {
        let ident = self.type_name.clone();
        let ident = ident.unwrap_or_else(|| camel(&self.signature.ident));
        let doc = format!("The tool `{}`.", self.name);
        let body = self.implementation(&quote!(#ident), &quote!());
        let undescribed = self.undescribed();
        quote! {
            #undescribed
            #[doc = #doc]
            #[derive(Clone, Copy, Debug, Default)]
            #visibility struct #ident;
            const _: () = { #body };
        }
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
        let fields = arguments.iter().map(|argument| argument.field());
        let defaults = arguments.iter().filter_map(|argument| argument.default());
        let (root, derive) = (self.root, crate_attributes(self.root));
        quote! {
            #[derive(
                #root::__private::serde::Deserialize,
                #root::__private::schemars::JsonSchema,
            )]
            #derive
            #[serde(deny_unknown_fields)]
            struct __GoodcallArgs { #(#fields,)* }
            impl __GoodcallArgs { #(#defaults)* }
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
        let (root, name, description) = (self.root, &self.name, &self.description);
        quote! {
            #arguments
            #attributes
            #[#root::__private::async_trait]
            impl #root::Tool for #ty {
                fn name(&self) -> &str { #name }
                fn description(&self) -> &str { #description }
                fn parameters_schema(&self) -> #root::__private::Value {
                    #root::schema_of::<__GoodcallArgs>()
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
                    #root::__private::bind::<__GoodcallArgs>(arguments)
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
                        __goodcall_bound.into_typed::<__GoodcallArgs>()
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

/// Returns the methods that the options and the kind of function define.
fn flags(options: &Options, plain: bool) -> Tokens {
    let flag = |on: bool, name: &str| {
        let name = format_ident!("{name}");
        on.then(|| quote!(fn #name(&self) -> bool { true }))
    };
    let flags = [
        flag(options.destructive, "is_destructive"),
        flag(options.repeatable, "is_repeatable"),
        flag(options.blocking || plain && !options.inline, "is_blocking"),
    ];
    let limit = options.time_limit_ms.as_ref().map(|limit| {
        quote!(fn time_limit(&self) -> ::std::option::Option<::std::time::Duration> {
            ::std::option::Option::Some(::std::time::Duration::from_millis(#limit))
        })
    });
    quote!(#(#flags)* #limit)
}

/// Returns `ReadFile` for `read_file`.
fn camel(ident: &Ident) -> Ident {
    let text = ident.to_string();
    let text = text.strip_prefix("r#").unwrap_or(&text);
    let parts = text.split('_').map(|part| {
        let mut letters = part.chars();
        let first = letters
            .next()
            .map(|letter| letter.to_uppercase().to_string());
        first.unwrap_or_default() + letters.as_str()
    });
    Ident::new(&parts.collect::<String>(), ident.span())
}
