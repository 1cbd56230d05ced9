//! The parameters of a tool function. Each becomes a field of the arguments, in order.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, FnArg, GenericArgument, Ident, Meta, Pat, PatType, PathArguments, Signature,
    Token, Type,
};

use crate::options::is_tool;

/// One parameter.
pub(crate) enum Param {
    /// The context of the call.
    Context,
    /// An argument that the model sends.
    Argument(Box<Argument>),
}

pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// The type of the field.
    pub(crate) ty: Tokens,
    /// True if the function takes a reference to the field.
    borrowed: bool,
    /// Doc comments and schema attributes.
    attributes: Vec<Tokens>,
    default: Option<Default>,
}

enum Default {
    OfType,
    Value(Box<Expr>),
}

/// One item of `#[tool(…)]` on a parameter: a default, or an attribute of schemars.
enum Mark {
    Default(Default),
    Schema(Box<Meta>),
}

impl Parse for Mark {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Ident) && input.fork().parse::<Ident>()? == "default" {
            input.parse::<Ident>()?;
            if input.is_empty() || input.peek(Token![,]) {
                return Ok(Mark::Default(Default::OfType));
            }
            input.parse::<Token![=]>()?;
            return Ok(Mark::Default(Default::Value(Box::new(input.parse()?))));
        }
        input.parse().map(|meta| Mark::Schema(Box::new(meta)))
    }
}

/// Removes the attributes that the parameters of a function cannot have.
pub(crate) fn strip(signature: &mut Signature) {
    for input in &mut signature.inputs {
        if let FnArg::Typed(param) = input {
            param.attrs.retain(|attribute| !is_ours(attribute));
        }
    }
}

fn is_ours(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let foreign = ["doc", "serde", "schemars", "validate"];
    is_tool(attribute) || foreign.iter().any(|name| path.is_ident(name))
}

impl Param {
    pub(crate) fn new(param: &PatType) -> syn::Result<Self> {
        if is_context(&param.ty) {
            return Ok(Param::Context);
        }
        if names_context(&param.ty) {
            let message = "the context of a call is lent: take &Context";
            return Err(syn::Error::new_spanned(&param.ty, message));
        }
        let Pat::Ident(pattern) = &*param.pat else {
            let message = "a parameter of a tool needs a name: the model calls it by that";
            return Err(syn::Error::new_spanned(&param.pat, message));
        };
        let (ty, borrowed) = owned(&param.ty)?;
        let mut argument = Argument {
            name: pattern.ident.clone(),
            ty,
            borrowed,
            attributes: Vec::new(),
            default: None,
        };
        for attribute in param.attrs.iter().filter(|attribute| is_ours(attribute)) {
            if !is_tool(attribute) {
                argument.attributes.push(quote!(#attribute));
                continue;
            }
            let parser = Punctuated::<Mark, Token![,]>::parse_terminated;
            for mark in attribute.parse_args_with(parser)? {
                match mark {
                    Mark::Default(default) => argument.default = Some(default),
                    Mark::Schema(meta) => argument.attributes.push(quote!(#[schemars(#meta)])),
                }
            }
        }
        Ok(Param::Argument(Box::new(argument)))
    }

    /// Returns the expression that is passed to the function.
    pub(crate) fn handed(&self) -> Tokens {
        match self {
            Param::Context => quote!(__goodcall_context),
            Param::Argument(argument) => {
                let name = &argument.name;
                if argument.borrowed {
                    quote!(&__goodcall_args.#name)
                } else {
                    quote!(__goodcall_args.#name)
                }
            }
        }
    }
}

impl Argument {
    fn default_name(&self) -> Ident {
        format_ident!("default_of_{}", self.name)
    }

    /// Returns the field of the arguments.
    pub(crate) fn field(&self) -> Tokens {
        let (name, ty, attributes) = (&self.name, &self.ty, &self.attributes);
        let default = match &self.default {
            None => quote!(),
            Some(Default::OfType) => quote!(#[serde(default)]),
            Some(Default::Value(_)) => {
                let path = format!("__GoodcallArgs::{}", self.default_name());
                quote!(#[serde(default = #path)])
            }
        };
        quote!(#(#attributes)* #default #name: #ty)
    }

    /// Returns the function that returns the default.
    pub(crate) fn default(&self) -> Option<Tokens> {
        let Some(Default::Value(value)) = &self.default else {
            return None;
        };
        let (name, ty) = (self.default_name(), &self.ty);
        Some(quote!(fn #name() -> #ty { #value }))
    }
}

fn is_context(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if names_context(&reference.elem))
}

fn names_context(ty: &Type) -> bool {
    matches!(ty, Type::Path(path)
        if path.path.segments.last().is_some_and(|segment| segment.ident == "Context"))
}

/// Returns the first reference inside a type, as in `Option<&str>`.
fn inner_reference(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else {
        return matches!(ty, Type::Reference(_)).then_some(ty);
    };
    path.path.segments.iter().find_map(|segment| {
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
            return None;
        };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::Type(ty) => inner_reference(ty),
            _ => None,
        })
    })
}

/// Returns the type of the field: `String` for `&str`, `Vec<T>` for `&[T]`.
fn owned(ty: &Type) -> syn::Result<(Tokens, bool)> {
    match ty {
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") && reference.mutability.is_none() => {
                Ok((quote!(::std::string::String), true))
            }
            Type::Slice(slice) if reference.mutability.is_none() => {
                let element = &slice.elem;
                Ok((quote!(::std::vec::Vec<#element>), true))
            }
            _ => {
                let message = "a tool owns its parameters: take the value instead of a reference \
                               (only &str, &[T] and &Context are lent)";
                Err(syn::Error::new_spanned(ty, message))
            }
        },
        Type::ImplTrait(_) => {
            let message = "a parameter of a tool needs a concrete type";
            Err(syn::Error::new(ty.span(), message))
        }
        _ => match inner_reference(ty) {
            Some(reference) => {
                let message = "a tool owns its parameters: write String for &str and Vec<T> for \
                               &[T] inside another type";
                Err(syn::Error::new_spanned(reference, message))
            }
            None => Ok((quote!(#ty), false)),
        },
    }
}
