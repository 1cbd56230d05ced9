//! Finds the calls that models write into plain text, in any dialect.
//!
//! [`scanner`] drives the search: [`candidates`] finds where a call may begin, [`call_end`] where
//! it ends, and one file per dialect family reads it ([`markers`] is the table of dialects). The
//! other files keep one part of the scanner's state each: [`input`], [`line_state`], [`code_fence`],
//! [`ignored_blocks`], [`turn`], [`budget`] and [`emit`].

mod arg_pairs;
mod arithmetic;
mod budget;
mod call_end;
mod candidates;
mod code_fence;
mod control_tokens;
mod emit;
mod gemma;
mod ignored_blocks;
mod input;
mod json_calls;
mod kimi_k3;
mod line_state;
mod marked_block;
mod markers;
mod nested_elements;
mod object_writer;
mod python_calls;
mod python_literals;
mod python_ranges;
mod python_values;
mod raw_members;
mod rules;
mod scanner;
mod tags;
mod tool_elements;
mod turn;
mod unmarked_calls;
mod unreadable_calls;
mod untyped_values;
mod value_tags;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use goodcall_core::Change;

pub use markers::{dialects, openings};
pub use rules::catalogue;
pub use scanner::{Scanner, TextPiece};

use crate::call::{CallState, RawCall};
use crate::tools::Tools;

/// Where in a text calls count that no marker announces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextCallScope {
    /// Only behind a dialect's own marker, in a code fence, or as the whole message.
    #[default]
    Explicit,
    /// Also inside prose.
    Anywhere,
}

/// The error for a scope that is neither `explicit` nor `anywhere`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTextCallScope(String);

impl fmt::Display for UnknownTextCallScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown scope for calls in text `{}`: expected explicit or anywhere",
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

/// The calls of a text, the model's thoughts, and the text around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extraction {
    /// The calls, in the order of the text.
    pub calls: Vec<RawCall>,
    /// The text outside of calls and thoughts, byte for byte, without the markers around thoughts
    /// and around the parts of the message.
    pub text: String,
    /// The model's thoughts.
    pub reasoning: String,
}

impl Extraction {
    /// Adds the next piece of a text that a [`Scanner`] reads.
    pub fn push(&mut self, piece: TextPiece) {
        match piece {
            TextPiece::Text(text) => self.text.push_str(&text),
            TextPiece::Reasoning(text) => self.reasoning.push_str(&text),
            TextPiece::TextWasReasoning => {
                let text = std::mem::take(&mut self.text);
                self.reasoning.push_str(&text);
            }
            TextPiece::Call(call) => self.calls.push(call),
        }
    }
}

/// Finds the calls in a text, in every dialect.
///
/// Behind a dialect's own marker, a call of an unknown tool or one that cannot be read is found as
/// well: the model gets an error for it.
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
pub fn extract(text: &str, tools: &Tools, scope: TextCallScope) -> Extraction {
    Scanner::new(tools.clone(), scope).whole(text)
}

/// The size of the object at the start of `text`; `None` if it has no end.
pub(crate) fn object_size(text: &str) -> Option<usize> {
    call_end::value_size(text)
}

/// An object in Python's notation as JSON, with the changes that reading it took.
pub(crate) fn python_object(text: &str, span: &Range<usize>) -> Option<(String, Vec<Change>)> {
    let mut reader = python_values::PythonReader::new(text, 0);
    let mut json = String::new();
    reader
        .value(&mut json, python_values::BareWords::Refused)
        .ok()?;
    let whole = reader.at == text.trim_end().len() && json.starts_with('{');
    whole.then(|| (json, reader.changes(span)))
}

/// A call that was found in a text, before its tool is looked up.
#[derive(Clone, Debug)]
pub(crate) struct FoundCall {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) name_span: Range<usize>,
    pub(crate) arguments: String,
    /// Where the arguments begin in the text; `None` if they were translated to JSON.
    pub(crate) offset: Option<usize>,
    pub(crate) span: Range<usize>,
    pub(crate) changes: Vec<Change>,
    pub(crate) state: CallState,
    /// A call in Python's notation without arguments: in prose, only a mention of the tool.
    bare: bool,
    /// The call is in Python's notation.
    python: bool,
    /// The arguments of further calls of the tool in the same brackets: `f({"a": 1}, {"a": 2})`.
    also: Vec<String>,
}

impl FoundCall {
    /// A call whose arguments are in the text as they are, at `offset`.
    fn verbatim(name: &str, arguments: &str, offset: usize, span: Range<usize>) -> Self {
        let mut found = Self::translated(name, arguments.to_owned(), span);
        found.offset = Some(offset);
        found
    }

    /// A call whose arguments were translated to JSON.
    fn translated(name: &str, arguments: String, span: Range<usize>) -> Self {
        Self {
            id: None,
            name: name.to_owned(),
            name_span: span.clone(),
            arguments,
            offset: None,
            span,
            changes: Vec::new(),
            state: CallState::Whole,
            bare: false,
            python: false,
            also: Vec::new(),
        }
    }

    /// A call that a scanner of a block's body found; its tool is looked up already.
    pub(crate) fn from_inner(call: RawCall) -> Self {
        let mut found = Self::translated(&call.name, call.arguments, call.span);
        (found.id, found.offset) = (call.id, call.offset);
        (found.changes, found.state) = (call.changes, call.state);
        found
    }

    /// Says that all of the call is there: what seems to be cut off cannot be read.
    fn is_complete(&mut self) {
        if self.state == CallState::Cut {
            let expected = "an end for every string and every value".to_owned();
            self.state = CallState::Unreadable(expected);
        }
    }

    fn is_offered(&self, tools: &Tools) -> bool {
        tools.meant(&self.name).is_some()
    }

    /// Moves a call that was read from a decoded copy to the place of the original.
    fn move_to(&mut self, span: &Range<usize>) {
        self.span = span.clone();
        self.name_span = span.clone();
        self.offset = None;
        for change in &mut self.changes {
            change.span = span.clone();
        }
    }

    /// The call, and those in the same brackets.
    fn into_calls(mut self, tools: &Tools) -> Vec<RawCall> {
        let mut calls = Vec::new();
        for arguments in std::mem::take(&mut self.also) {
            let call = Self {
                arguments,
                ..self.clone()
            };
            calls.push(RawCall::found(call, tools));
        }
        calls.insert(0, RawCall::found(self, tools));
        calls
    }
}

/// The state of a call with a value of which no end tag is surely the last.
fn ambiguous_end_tag(key: &str) -> CallState {
    CallState::Unreadable(format!("one end tag, and none inside the value of `{key}`"))
}
