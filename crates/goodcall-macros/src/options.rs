//! The options in the parentheses of `#[tool(…)]`.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitInt, LitStr, Path, Token, parse_quote};

/// The options of a tool.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) destructive: bool,
    pub(crate) repeatable: bool,
    pub(crate) blocking: bool,
    pub(crate) inline: bool,
    pub(crate) time_limit_ms: Option<LitInt>,
    /// The name of the generated type of a function.
    pub(crate) type_name: Option<Ident>,
    /// The name of the generated function of an impl block.
    pub(crate) tools: Option<Ident>,
    /// The path of the crate `goodcall`.
    pub(crate) root: Option<Path>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name = input.call(Ident::parse_any)?;
            match name.to_string().as_str() {
                "name" => options.name = Some(value(input)?),
                "description" => options.description = Some(value(input)?),
                "time_limit_ms" => options.time_limit_ms = Some(value(input)?),
                "type" => options.type_name = Some(value::<LitStr>(input)?.parse()?),
                "tools" => options.tools = Some(value::<LitStr>(input)?.parse()?),
                "crate" => options.root = Some(value::<LitStr>(input)?.parse()?),
                "destructive" => options.destructive = true,
                "repeatable" => options.repeatable = true,
                "blocking" => options.blocking = true,
                "inline" => options.inline = true,
                _ => {
                    let message = "unknown option: use name, description, destructive, \
                                   repeatable, blocking, inline, time_limit_ms, type, tools or \
                                   crate";
                    return Err(syn::Error::new(name.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    /// The path of the crate `goodcall`: the one that was given, or the name under which the user's
    /// crate depends on it.
    pub(crate) fn root(&self) -> Path {
        self.root.clone().unwrap_or_else(root)
    }
}

/// The name under which the user's crate depends on `goodcall`.
pub(crate) fn root() -> Path {
    match crate_name("goodcall") {
        Ok(FoundCrate::Name(name)) => {
            let name = Ident::new(&name, Span::call_site());
            parse_quote!(::#name)
        }
        _ => {
            let name = format_ident!("goodcall");
            parse_quote!(::#name)
        }
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Returns true for `#[tool]`, `#[tool(…)]` and `#[goodcall::tool]`.
pub(crate) fn is_tool(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|segment| segment.ident == "tool")
}

/// Returns the text of doc comments.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if attribute.path().is_ident("doc")
            && let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(text) = &literal.lit
        {
            let line = text.value();
            lines.push(
                line.strip_prefix(' ')
                    .unwrap_or(&line)
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    lines.join("\n").trim().to_owned()
}
