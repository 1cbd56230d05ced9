//! Reading arguments: strict JSON, and what a model wrote instead of it.

mod duplicates;
mod error;
mod strict;

pub use error::{ParseClass, ParseError, Wanted};

use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::{Bad, Change, Code, Got, Issue, Reason};
use crate::tree::{Pointer, Tree};

pub(crate) use duplicates::RULE as DUPLICATE_KEY;

/// A text that was read: its value, and every departure from JSON.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    /// The value.
    pub tree: Tree<'a>,
    /// What was read as something that JSON would write differently.
    pub changes: Vec<Change>,
}

impl<'a> Tree<'a> {
    /// Parses strict JSON (RFC 8259) with the default limits. Repeated keys are kept.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        Ok(strict::parse(text, &Limits::default())?.tree)
    }

    /// Like [`Tree::parse`], from bytes that must be UTF-8.
    ///
    /// # Errors
    /// If the bytes are not UTF-8 or not JSON.
    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, ParseError> {
        Ok(strict::parse(strict::utf8(bytes)?, &Limits::default())?.tree)
    }
}

/// Reads arguments from text.
///
/// # Errors
/// If they cannot be read, or only in more than one way.
pub fn read<'a>(text: &'a str, policy: &Policy, limits: &Limits) -> Result<Reading<'a>, Bad> {
    let strict = strict::parse(text, limits).map_err(|error| refusal(&error, text))?;
    let mut reading = Reading {
        tree: strict.tree,
        changes: Vec::new(),
    };
    if strict.repeated_keys {
        duplicates::resolve(&mut reading, policy)?;
    }
    Ok(reading)
}

/// The text in bytes that should be UTF-8.
///
/// # Errors
/// If they are not.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, Bad> {
    strict::utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.offset()).unwrap_or_default();
        refusal(&error, std::str::from_utf8(valid).unwrap_or_default())
    })
}

/// A parse error as a verdict.
fn refusal(error: &ParseError, text: &str) -> Bad {
    let (reason, code) = match error.class() {
        ParseClass::Empty => (Reason::Empty, Code::Empty),
        ParseClass::CutOff => (Reason::Truncated, Code::Truncated),
        ParseClass::Syntax | ParseClass::NotUtf8 => (Reason::Malformed, Code::Malformed),
        ParseClass::TooDeep | ParseClass::TooLarge => (Reason::TooLarge, Code::Limit),
    };
    let at = error.offset().min(text.len());
    let rest = text.get(at..).unwrap_or_default();
    let width = rest.chars().next().map_or(0, char::len_utf8);
    let mut issue = Issue::new(Pointer::root(), code, at..at + width);
    issue.expected.syntax = Some(error.wanted());
    issue.got = (!rest.is_empty()).then(|| Got::text(rest));
    Bad::single(reason, issue)
}
