//! The options in the parentheses of `#[tool(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitInt, LitStr, Token};

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
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "name" => options.name = Some(value(input)?),
                "description" => options.description = Some(value(input)?),
                "time_limit_ms" => options.time_limit_ms = Some(value(input)?),
                "destructive" => options.destructive = true,
                "repeatable" => options.repeatable = true,
                "blocking" => options.blocking = true,
                "inline" => options.inline = true,
                _ => {
                    let message = "unknown option: use name, description, destructive, \
                                   repeatable, blocking, inline or time_limit_ms";
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
