//! The options in the parentheses of `#[tool(…)]`, in one table.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Ident, LitBool, LitInt, LitStr, Path, Token, parse_quote};

/// The item that has the options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Function,
    Method,
    Impl,
}

/// The form of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A name alone, or with a truth value.
    Flag,
    /// A text.
    Text,
    /// An integer.
    Integer,
    /// An expression.
    Expression,
    /// An identifier or a path, as a text.
    Path,
}

const ON_A_TOOL: &[Place] = &[Place::Function, Place::Method];

/// Every option, with its form and the places where it has a meaning.
const OPTIONS: [(&str, Form, &[Place]); 13] = [
    ("name", Form::Text, ON_A_TOOL),
    ("title", Form::Text, ON_A_TOOL),
    ("description", Form::Expression, ON_A_TOOL),
    ("destructive", Form::Flag, ON_A_TOOL),
    ("read_only", Form::Flag, ON_A_TOOL),
    ("repeatable", Form::Flag, ON_A_TOOL),
    ("open_world", Form::Flag, ON_A_TOOL),
    ("blocking", Form::Flag, ON_A_TOOL),
    ("inline", Form::Flag, ON_A_TOOL),
    ("time_limit_ms", Form::Integer, ON_A_TOOL),
    ("type", Form::Path, &[Place::Function]),
    ("tools", Form::Path, &[Place::Impl]),
    ("crate", Form::Path, &[Place::Function, Place::Impl]),
];

/// Options that contradict each other, and why.
const CONTRADICTIONS: [(&str, &str, &str); 2] = [
    (
        "destructive",
        "read_only",
        "a tool that only reads destroys nothing",
    ),
    (
        "blocking",
        "inline",
        "a tool runs off the async threads, or on them",
    ),
];

/// The options of a tool or of an impl block.
#[derive(Default)]
pub(crate) struct Options(Vec<(Ident, Given)>);

enum Given {
    Flag(bool),
    Text(LitStr),
    Integer(LitInt),
    Expression(Box<Expr>),
}

impl Options {
    /// Returns the parser of the options at a place.
    pub(crate) fn parser(place: Place) -> impl Fn(ParseStream<'_>) -> syn::Result<Self> {
        move |input| {
            let mut options = Self::default();
            while !input.is_empty() {
                options.take(input, place)?;
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            options.check().map(|()| options)
        }
    }

    fn take(&mut self, input: ParseStream<'_>, place: Place) -> syn::Result<()> {
        let name = input.call(Ident::parse_any)?;
        let text = name.to_string();
        let Some((_, form, places)) = OPTIONS.iter().find(|(known, ..)| *known == text) else {
            return Err(syn::Error::new(name.span(), unknown(&text, place)));
        };
        if !places.contains(&place) {
            return Err(syn::Error::new(name.span(), misplaced(&text, places)));
        }
        if self.get(&text).is_some() {
            let message = format!("`{text}` is given twice");
            return Err(syn::Error::new(name.span(), message));
        }
        let given = match form {
            Form::Flag if input.peek(Token![=]) => Given::Flag(value::<LitBool>(input)?.value),
            Form::Flag => Given::Flag(true),
            Form::Text | Form::Path => Given::Text(value(input)?),
            Form::Integer => Given::Integer(value(input)?),
            Form::Expression => Given::Expression(Box::new(value(input)?)),
        };
        self.0.push((name, given));
        Ok(())
    }

    fn check(&self) -> syn::Result<()> {
        for (one, other, reason) in CONTRADICTIONS {
            if self.flag(one) == Some(true) && self.flag(other) == Some(true) {
                let span = self
                    .get(other)
                    .map_or_else(Span::call_site, |(name, _)| name.span());
                let message = format!("`{one}` and `{other}` contradict each other: {reason}");
                return Err(syn::Error::new(span, message));
            }
        }
        if let Some(name) = self.text("name")
            && (name.value().is_empty() || name.value().contains(char::is_whitespace))
        {
            let message = "the name of a tool is not empty and has no spaces";
            return Err(syn::Error::new(name.span(), message));
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&(Ident, Given)> {
        self.0.iter().find(|(given, _)| given == name)
    }

    /// Returns the value of a flag, if it is given.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            (_, Given::Flag(on)) => Some(*on),
            _ => None,
        }
    }

    /// Returns the value of a text, if it is given.
    pub(crate) fn text(&self, name: &str) -> Option<&LitStr> {
        match self.get(name)? {
            (_, Given::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of an integer, if it is given.
    pub(crate) fn integer(&self, name: &str) -> Option<&LitInt> {
        match self.get(name)? {
            (_, Given::Integer(integer)) => Some(integer),
            _ => None,
        }
    }

    /// Returns an expression, if it is given.
    pub(crate) fn expression(&self, name: &str) -> Option<&Expr> {
        match self.get(name)? {
            (_, Given::Expression(expression)) => Some(expression),
            _ => None,
        }
    }

    /// Returns the identifier in a text, if it is given.
    pub(crate) fn ident(&self, name: &str) -> syn::Result<Option<Ident>> {
        self.text(name).map(LitStr::parse).transpose()
    }

    /// The path of the crate `goodcall`: the one that was given, or the name under which the user's
    /// crate depends on it.
    pub(crate) fn root(&self) -> syn::Result<Path> {
        self.text("crate").map_or_else(|| Ok(root()), LitStr::parse)
    }
}

fn unknown(name: &str, place: Place) -> String {
    let names = OPTIONS
        .iter()
        .filter(|(_, _, places)| places.contains(&place));
    format!(
        "unknown option `{name}`: expected {}",
        one_of(names.map(|(name, ..)| *name))
    )
}

fn misplaced(name: &str, places: &[Place]) -> String {
    let places = places.iter().map(|place| match place {
        Place::Function => "a function",
        Place::Method => "a method, in its #[tool(…)]",
        Place::Impl => "an impl block",
    });
    format!("`{name}` is an option of {}", one_of(places))
}

/// Joins alternatives: `a, b or c`.
pub(crate) fn one_of<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
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
