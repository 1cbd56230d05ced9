//! The parameters of a tool function. Each becomes a field of the arguments, in order.

use proc_macro2::{TokenStream as Tokens, TokenTree};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, FnArg, GenericArgument, Ident, LitStr, Meta, Pat, PatType, Path,
    PathArguments, Signature, Token, Type, TypeReference,
};

use crate::options::{is_tool, one_of};

/// What `#[tool(…)]` takes on a parameter: a default, a name, and attributes of schemars. All others of
/// schemars are in `#[schemars(…)]`.
const OPTIONS: [&str; 15] = [
    "default",
    "name",
    "range",
    "length",
    "regex",
    "contains",
    "email",
    "url",
    "ip",
    "inner",
    "title",
    "description",
    "example",
    "extend",
    "required",
];

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
    /// True if an attribute names the functions that read the field, so that its type need not be
    /// an argument by itself.
    read_otherwise: bool,
    /// Doc comments and schema attributes.
    attributes: Vec<Tokens>,
    default: Option<Default>,
}

enum Default {
    OfType,
    Value(Box<Expr>),
}

/// One item of `#[tool(…)]` on a parameter.
enum Mark {
    Default(Default),
    /// The name that the model writes.
    Name(LitStr),
    /// An attribute of schemars.
    Schema(Box<Meta>),
}

impl Parse for Mark {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.fork().call(Ident::parse_any)?;
        match name.to_string().as_str() {
            "default" => {
                input.parse::<Ident>()?;
                if input.is_empty() || input.peek(Token![,]) {
                    return Ok(Mark::Default(Default::OfType));
                }
                input.parse::<Token![=]>()?;
                Ok(Mark::Default(Default::Value(Box::new(input.parse()?))))
            }
            "name" => {
                input.parse::<Ident>()?;
                input.parse::<Token![=]>()?;
                input.parse().map(Mark::Name)
            }
            known if OPTIONS.contains(&known) => {
                input.parse().map(|meta| Mark::Schema(Box::new(meta)))
            }
            unknown => {
                let message = format!("unknown option `{unknown}`: expected {}", one_of(OPTIONS));
                Err(syn::Error::new(name.span(), message))
            }
        }
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
            read_otherwise: false,
            attributes: Vec::new(),
            default: None,
        };
        for attribute in param.attrs.iter().filter(|attribute| is_ours(attribute)) {
            if !is_tool(attribute) {
                argument.read_otherwise |= names_functions(attribute);
                argument.attributes.push(quote!(#attribute));
                continue;
            }
            let parser = Punctuated::<Mark, Token![,]>::parse_terminated;
            for mark in attribute.parse_args_with(parser)? {
                match mark {
                    Mark::Default(default) => argument.default = Some(default),
                    Mark::Name(name) => argument.attributes.push(quote!(#[serde(rename = #name)])),
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
                let inner = (!argument.read_otherwise).then(|| quote!(.value));
                let lent = argument.borrowed.then(|| quote!(&));
                quote!(#lent __goodcall_args.#name #inner)
            }
        }
    }
}

impl Argument {
    fn default_name(&self) -> Ident {
        format_ident!("default_of_{}", self.name)
    }

    /// Returns the type of the field. It is wrapped, so that its bounds can be stated; see
    /// `goodcall::__private::Param`.
    fn field_type(&self, root: &Path) -> Tokens {
        let ty = &self.ty;
        if self.read_otherwise {
            quote!(#ty)
        } else {
            quote!(#root::__private::Param<__GoodcallAny, #ty>)
        }
    }

    /// Returns the field of the arguments.
    pub(crate) fn field(&self, root: &Path) -> Tokens {
        let (name, ty, attributes) = (&self.name, self.field_type(root), &self.attributes);
        let default = match &self.default {
            None => quote!(),
            Some(Default::OfType) => quote!(#[serde(default)]),
            Some(Default::Value(_)) => {
                let path = format!("__GoodcallArgs::<__GoodcallAny>::{}", self.default_name());
                quote!(#[serde(default = #path)])
            }
        };
        quote!(#(#attributes)* #default #name: #ty)
    }

    /// Returns the function that returns the default.
    pub(crate) fn default(&self, root: &Path) -> Option<Tokens> {
        let Some(Default::Value(value)) = &self.default else {
            return None;
        };
        let (name, ty, field) = (self.default_name(), &self.ty, self.field_type(root));
        let returned = if self.read_otherwise {
            quote!(__goodcall_default)
        } else {
            quote!(#root::__private::Param::new(__goodcall_default))
        };
        Some(quote!(fn #name() -> #field {
            let __goodcall_default: #ty = #value;
            #returned
        }))
    }

    /// Returns the bounds of the field for a derive, as text.
    pub(crate) fn bound(&self, root: &Path, of: &str) -> Option<String> {
        let ty = self.field_type(root).to_string();
        // A `$crate` in a type that came from another macro cannot be written as text.
        let stated = !self.read_otherwise && !ty.contains('$');
        stated.then(|| format!("{ty}: {of}"))
    }

    /// Returns the statements that fail, alone, if the type cannot be a parameter.
    pub(crate) fn assertion(&self, root: &Path) -> Tokens {
        let ty = &self.ty;
        let read = (!self.read_otherwise).then(|| quote!(#root::__private::is_parameter::<#ty>();));
        quote!(#read #root::__private::is_sent::<#ty>();)
    }
}

/// Returns true for an attribute of serde or schemars that says how a field is read.
pub(crate) fn names_functions(attribute: &Attribute) -> bool {
    names(
        attribute,
        &[
            "with",
            "deserialize_with",
            "schema_with",
            "skip",
            "skip_deserializing",
        ],
    )
}

/// Returns true for an attribute that has one of these words in its list.
pub(crate) fn names(attribute: &Attribute, words: &[&str]) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    list.tokens.clone().into_iter().any(
        |token| matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word)),
    )
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
        Type::Reference(TypeReference {
            lifetime: Some(lifetime),
            ..
        }) if lifetime.ident != "_" => {
            let message = "a parameter is lent for the call: leave the lifetime out";
            Err(syn::Error::new_spanned(lifetime, message))
        }
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
