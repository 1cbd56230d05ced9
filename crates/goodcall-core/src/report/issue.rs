//! What is wrong at one place.

use std::ops::Range;

use super::{Actual, SharedExpected, SyntaxExpectation};
use crate::snippet::clip;
use crate::tree::{Inexact, Pointer};

/// What is wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Issue {
    /// Where: the value itself, or the place where a missing member should be.
    pub pointer: Pointer,
    /// What kind of fault.
    pub kind: IssueKind,
    /// What the schema wants there.
    pub expected: SharedExpected,
    /// What was there; `None` if nothing was.
    pub actual: Option<Actual>,
    /// The name or allowed value that is nearest to what was sent.
    pub nearest: Option<String>,
    /// Where a member stands and where it belongs, if it only has to be moved.
    pub moved: Option<Moved>,
    /// Where a member may belong, if it has to be moved and several places declare it.
    pub places: Vec<Pointer>,
    /// The names that a key may stand for, if several are as near. For an unknown key that is
    /// `optional`, absent properties of other names that would take its value.
    pub candidates: Vec<String>,
    /// The value that a member which is renamed or moved keeps; the arguments of a call that fit
    /// the nearest tool.
    pub kept: Option<Actual>,
    /// True if the value may simply be left out.
    pub optional: bool,
    /// The bytes of the raw text that this is about.
    pub span: Range<usize>,
    /// The characters before it, where text that cannot be read has fewer of them than bytes.
    pub(crate) characters: Option<usize>,
}

impl Issue {
    /// An issue of a host's or a tool's own check: where, and what is wanted there in words.
    pub fn custom(pointer: Pointer, words: impl Into<String>) -> Self {
        let mut issue = Self::new(pointer, IssueKind::Custom, 0..0);
        issue.expected.to_mut().prose.words = Some(words.into());
        issue
    }

    pub(crate) fn new(pointer: Pointer, kind: IssueKind, span: Range<usize>) -> Self {
        let mut expected = SharedExpected::default();
        if kind == IssueKind::Truncated {
            expected.to_mut().syntax = Some(SyntaxExpectation::Rest);
        }
        Self {
            pointer,
            kind,
            expected,
            actual: None,
            nearest: None,
            moved: None,
            places: Vec::new(),
            candidates: Vec::new(),
            kept: None,
            optional: false,
            span,
            characters: None,
        }
    }

    /// Where in the raw text this is, in characters from 1 on.
    pub(crate) fn column(&self) -> usize {
        self.characters.unwrap_or(self.span.start) + 1
    }
}

/// A member that stands in one object and belongs into another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// Where it stands.
    pub from: Pointer,
    /// Where it belongs; for something that is [`IssueKind::Wrapped`], the object that its members
    /// belong into.
    pub to: Pointer,
}

/// A number that the tool's number type would round.
impl From<Inexact> for Issue {
    fn from(inexact: Inexact) -> Self {
        let mut issue = Self::new(inexact.pointer, IssueKind::InexactNumber, 0..0);
        issue.actual = Some(Actual {
            kind: "integer",
            short: clip(&inexact.digits, Actual::MOST_CHARS),
        });
        issue
    }
}

/// The kind of an [`Issue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IssueKind {
    /// A required member is not there.
    Missing,
    /// A member that the schema does not allow.
    UnknownKey,
    /// An object that is not wanted, around members that are.
    Wrapped,
    /// The wrong type.
    Type,
    /// None of the allowed values.
    Enum,
    /// Less than the minimum.
    TooSmall,
    /// More than the maximum.
    TooLarge,
    /// Not a multiple.
    NotMultiple,
    /// A string with too few characters.
    TooShort,
    /// A string with too many characters.
    TooLong,
    /// A string that does not match the pattern.
    Pattern,
    /// A string that does not have the format.
    Format,
    /// An array with too few elements.
    TooFewItems,
    /// An array with too many elements.
    TooManyItems,
    /// An array with equal elements where they must differ.
    NotUnique,
    /// An array without an element that it must contain.
    NotContained,
    /// An object with too few members.
    TooFewKeys,
    /// An object with too many members.
    TooManyKeys,
    /// A key that the schema does not allow as a name.
    KeyName,
    /// None of the alternatives of a union fits.
    NoAlternative,
    /// More than one alternative of an exclusive union fits.
    SeveralAlternatives,
    /// The value names one alternative of a union, and the other members are those of another.
    WrongBranch,
    /// Nothing, or not this, is allowed here.
    NotAllowed,
    /// Two members with the same key and different values.
    DuplicateKey,
    /// An integer that the tool's number type cannot hold exactly.
    InexactNumber,
    /// Refused by the tool's own check, or by its Rust type.
    Custom,
    /// Two readings are possible.
    Ambiguous,
    /// Not JSON.
    Malformed,
    /// Cut off.
    Truncated,
    /// No arguments.
    Empty,
    /// Not an object.
    NotAnObject,
    /// No such tool.
    UnknownTool,
    /// Past a limit on size or depth.
    Limit,
    /// Too many alternatives inside alternatives to name what is wrong.
    TooComplex,
    /// Any other rule of the schema; the validator's own words are in `expected`.
    Other,
}

impl IssueKind {
    /// The name used by the command's protocols.
    pub fn name(self) -> &'static str {
        match self {
            IssueKind::Missing => "missing",
            IssueKind::UnknownKey => "unknown_key",
            IssueKind::Wrapped => "wrapped",
            IssueKind::Type => "type",
            IssueKind::Enum => "enum",
            IssueKind::TooSmall => "too_small",
            IssueKind::TooLarge => "too_large",
            IssueKind::NotMultiple => "not_multiple",
            IssueKind::TooShort => "too_short",
            IssueKind::TooLong => "too_long",
            IssueKind::Pattern => "pattern",
            IssueKind::Format => "format",
            IssueKind::TooFewItems => "too_few_items",
            IssueKind::TooManyItems => "too_many_items",
            IssueKind::NotUnique => "not_unique",
            IssueKind::NotContained => "not_contained",
            IssueKind::TooFewKeys => "too_few_keys",
            IssueKind::TooManyKeys => "too_many_keys",
            IssueKind::KeyName => "key_name",
            IssueKind::NoAlternative => "no_alternative",
            IssueKind::SeveralAlternatives => "several_alternatives",
            IssueKind::WrongBranch => "wrong_branch",
            IssueKind::NotAllowed => "not_allowed",
            IssueKind::DuplicateKey => "duplicate_key",
            IssueKind::InexactNumber => "inexact_number",
            IssueKind::Custom => "custom",
            IssueKind::Ambiguous => "ambiguous",
            IssueKind::Malformed => "malformed",
            IssueKind::Truncated => "truncated",
            IssueKind::Empty => "empty",
            IssueKind::NotAnObject => "not_an_object",
            IssueKind::UnknownTool => "unknown_tool",
            IssueKind::Limit => "limit",
            IssueKind::TooComplex => "too_complex",
            IssueKind::Other => "other",
        }
    }
}
