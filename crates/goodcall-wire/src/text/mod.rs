//! Calls that models write into plain text.

mod arg_pairs;
mod arithmetic;
mod call_end;
mod candidates;
mod code_fence;
mod control_tokens;
mod emit;
mod gemma;
mod ignored_blocks;
mod json_calls;
mod kimi_k3;
mod marked_block;
mod markers;
mod nested_elements;
mod python_calls;
mod python_literals;
mod python_values;
mod raw_members;
mod scanner;
mod tags;
mod tool_elements;
mod unreadable_calls;
mod untyped_values;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use goodcall_core::Change;

pub use markers::{dialects, openings};
pub use scanner::{Scanner, TextPiece};

use crate::call::{RawCall, State};
use crate::tools::Tools;

/// Where calls count that no marker announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextCallScope {
    /// Only behind a dialect's own marker, in a code fence, or as the whole message.
    #[default]
    Explicit,
    /// Also inside prose.
    Anywhere,
}

/// A name that is neither `explicit` nor `anywhere`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTextCallScope(String);

impl fmt::Display for UnknownTextCallScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no place for calls: use explicit or anywhere",
            self.0
        )
    }
}

impl std::error::Error for UnknownTextCallScope {}

impl FromStr for TextCallScope {
    type Err = UnknownTextCallScope;

    fn from_str(name: &str) -> Result<Self, UnknownTextCallScope> {
        match name {
            "explicit" => Ok(Self::Explicit),
            "anywhere" => Ok(Self::Anywhere),
            other => Err(UnknownTextCallScope(other.to_owned())),
        }
    }
}

/// The calls of a text, and what of it was no call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extraction {
    /// The calls in the order of the text.
    pub calls: Vec<RawCall>,
    /// The rest, byte for byte.
    pub text: String,
}

/// Finds the calls in a text: every dialect, only offered tools.
///
/// ```
/// use goodcall_wire::{Tools, TextCallScope, extract};
///
/// let tools = Tools::read(r#"{"name": "read", "parameters": {"properties": {"path": {"type": "string"}}}}"#)?;
/// let text = "Let me look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>";
/// let found = extract(text, &tools, TextCallScope::Explicit);
/// assert_eq!(found.calls[0].arguments, r#"{"path": "a"}"#);
/// assert_eq!(found.text, "Let me look.\n");
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
pub fn extract(text: &str, tools: &Tools, place: TextCallScope) -> Extraction {
    Scanner::new(tools.clone(), place).whole(text)
}

/// Bytes of the object at the start of `text`; `None` if it does not end.
pub(crate) fn object_size(text: &str) -> Option<usize> {
    let until = call_end::Until::Brackets { several: false };
    match call_end::Lexer::new(0).run(text, until, true) {
        call_end::Step::End { body, .. } => Some(body),
        _ => None,
    }
}

/// An object in Python's form as JSON, with what was read as something else.
pub(crate) fn python_object(text: &str, span: &Range<usize>) -> Option<(String, Vec<Change>)> {
    let mut python = python_values::Python::new(text, 0);
    let mut out = String::new();
    python.value(&mut out, python_values::Words::Refuse).ok()?;
    let whole = python.at == text.trim_end().len() && out.starts_with('{');
    whole.then(|| (out, python_calls::notes(&python, span)))
}

/// What every reader of a dialect needs.
pub(crate) struct Context<'c> {
    pub(crate) tools: &'c Tools,
}

/// A call that was found, before its name is looked up.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) name_span: Range<usize>,
    pub(crate) arguments: String,
    pub(crate) offset: Option<usize>,
    pub(crate) span: Range<usize>,
    pub(crate) changes: Vec<Change>,
    pub(crate) state: State,
    /// A call in Python's form without any argument: in prose, only a mention of the tool.
    pub(crate) bare: bool,
    /// In Python's form.
    pub(crate) python: bool,
}

impl Found {
    /// Arguments that stand in the text as they are.
    fn sent(name: &str, arguments: String, offset: usize, span: Range<usize>) -> Self {
        let mut found = Self::translated(name, arguments, span);
        found.offset = Some(offset);
        found
    }

    /// Arguments that were translated to JSON.
    fn translated(name: &str, arguments: String, span: Range<usize>) -> Self {
        Self {
            id: None,
            name: name.to_owned(),
            name_span: span.clone(),
            arguments,
            offset: None,
            span,
            changes: Vec::new(),
            state: State::Whole,
            bare: false,
            python: false,
        }
    }

    /// Moves a call that was read from a decoded copy to the place of the original.
    fn place(&mut self, span: &Range<usize>) {
        self.span = span.clone();
        self.name_span = span.clone();
        self.offset = None;
        self.changes
            .iter_mut()
            .for_each(|change| change.span = span.clone());
    }

    fn into_call(self, tools: &Tools) -> RawCall {
        RawCall::found(self, tools)
    }
}

impl Found {
    /// A call that an inner scanner found; its name is looked up already.
    pub(crate) fn again(call: RawCall) -> Self {
        let mut found = Self::translated(&call.name, call.arguments, call.span);
        (found.id, found.offset) = (call.id, call.offset);
        (found.changes, found.state) = (call.changes, call.state);
        found
    }
}
