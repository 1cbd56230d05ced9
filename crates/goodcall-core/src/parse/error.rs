//! Errors of strict parsing.

use std::error::Error;
use std::fmt;

use crate::report::SyntaxExpectation;

/// The class of a [`ParseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseClass {
    /// The text is empty or only white space.
    Empty,
    /// The text ended before the value did.
    CutOff,
    /// The text departs from JSON.
    Syntax,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// More nesting than the limit allows.
    TooDeep,
    /// More bytes than the limit allows.
    TooLarge,
}

/// Why a text is not JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    class: ParseClass,
    expected: SyntaxExpectation,
    offset: usize,
}

impl ParseError {
    #[cold]
    pub(crate) fn new(class: ParseClass, expected: SyntaxExpectation, offset: usize) -> Self {
        Self {
            class,
            expected,
            offset,
        }
    }

    /// A syntax error, or [`ParseClass::CutOff`] if the text ends at `offset`.
    #[cold]
    pub(crate) fn at(bytes: &[u8], offset: usize, expected: SyntaxExpectation) -> Self {
        let class = if offset >= bytes.len() {
            ParseClass::CutOff
        } else {
            ParseClass::Syntax
        };
        Self::new(class, expected, offset)
    }

    /// Returns the class of this error.
    pub fn class(&self) -> ParseClass {
        self.class
    }

    /// Returns what the parser expected there.
    pub fn expected(&self) -> SyntaxExpectation {
        self.expected
    }

    /// Returns the byte offset where parsing stopped.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for SyntaxExpectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyntaxExpectation::Value => f.write_str("a value"),
            SyntaxExpectation::KeyOrEnd => f.write_str("a key in double quotes or `}`"),
            SyntaxExpectation::Key => f.write_str("a key in double quotes"),
            SyntaxExpectation::Colon => f.write_str("`:`"),
            SyntaxExpectation::CommaOrBrace => f.write_str("`,` or `}`"),
            SyntaxExpectation::CommaOrBracket => f.write_str("`,` or `]`"),
            SyntaxExpectation::End => f.write_str("nothing after the value"),
            SyntaxExpectation::Quote => f.write_str("a closing `\"`"),
            SyntaxExpectation::EscapedControl => f.write_str("an escape for the control character"),
            SyntaxExpectation::Escape => f.write_str("a valid escape"),
            SyntaxExpectation::Digit => f.write_str("a digit"),
            SyntaxExpectation::Number => f.write_str("a finished number such as 1.5 or 1.5e3"),
            SyntaxExpectation::Rest => f.write_str("the rest of the text"),
            SyntaxExpectation::Utf8 => f.write_str("UTF-8"),
            SyntaxExpectation::Depth(most) => write!(f, "at most {most} levels of nesting"),
            SyntaxExpectation::Bytes(most) => write!(f, "at most {most} bytes"),
            SyntaxExpectation::Changes(most) => write!(f, "at most {most} departures from JSON"),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, offset) = (self.expected, self.offset);
        match self.class {
            ParseClass::Empty => f.write_str("there is no value"),
            ParseClass::CutOff => write!(f, "cut off at byte {offset}: expected {expected}"),
            _ => write!(f, "byte {offset}: expected {expected}"),
        }
    }
}

impl Error for ParseError {}
