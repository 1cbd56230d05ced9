//! What a check says: verdict, reason, issues, changes. All of it data; text is made in
//! [`Explain`](crate::Explain).

use std::fmt;
use std::ops::Range;

use crate::parse::Wanted;
use crate::tree::{Kind, Node, Pointer, Tree, is_written_as_integer};

/// How sure a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The reading is certain. On by default.
    Safe,
    /// Very likely, but a person could mean something else. Opt in.
    Eager,
}

impl Level {
    /// `safe` or `eager`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Safe => "safe",
            Level::Eager => "eager",
        }
    }
}

/// What a [`Change`] did to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit {
    /// The raw text was read as something that JSON would write differently. `before` and `after`
    /// are pieces of text; the value was not edited.
    Text,
    /// A value was put where there was none.
    Add,
    /// A value was taken away.
    Remove,
    /// A value was replaced by another.
    Replace,
    /// A value was moved here.
    Move {
        /// Where it was.
        from: Pointer,
    },
}

/// One difference between what was sent and what came out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The rule that made it, in kebab case.
    pub rule: &'static str,
    /// How sure it is.
    pub level: Level,
    /// Where, in the value as it was when the rule was applied.
    pub pointer: Pointer,
    /// What was done.
    pub edit: Edit,
    /// What was there: JSON text, or raw text for [`Edit::Text`]. `None`: nothing.
    pub before: Option<String>,
    /// What is there now: JSON text, or raw text for [`Edit::Text`]. `None`: nothing.
    pub after: Option<String>,
    /// The bytes of the raw text that this is about.
    pub span: Range<usize>,
}

/// The verdict on one call.
#[derive(Clone, Debug)]
pub enum Verdict<'a> {
    /// Valid as sent. Nothing was touched.
    Good(Tree<'a>),
    /// Not valid as sent; exactly one valid reading, every difference listed.
    Mended(Mended<'a>),
    /// Not to be run.
    Bad(Bad),
}

/// A call that was not valid as sent and is valid now.
#[derive(Clone, Debug)]
pub struct Mended<'a> {
    /// The valid arguments.
    pub arguments: Tree<'a>,
    /// Every difference from what was sent, in the order they were made.
    pub changes: Vec<Change>,
}

/// A call that must not be run.
#[derive(Clone, Debug)]
pub struct Bad {
    /// The one true reason.
    pub reason: Reason,
    /// All that has to be rewritten.
    pub issues: Vec<Issue>,
    /// Issues beyond the limit, counted but not kept.
    pub more: usize,
    /// What was read or mended before the call was given up; the issues speak of the value after
    /// these.
    pub changes: Vec<Change>,
}

impl<'a> Verdict<'a> {
    /// `good`, `mended` or `bad`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Good(_) => "good",
            Verdict::Mended(_) => "mended",
            Verdict::Bad(_) => "bad",
        }
    }

    /// The valid arguments, unless the call is bad.
    pub fn arguments(&self) -> Option<&Tree<'a>> {
        match self {
            Verdict::Good(tree) => Some(tree),
            Verdict::Mended(mended) => Some(&mended.arguments),
            Verdict::Bad(_) => None,
        }
    }

    /// Every change that was made.
    pub fn changes(&self) -> &[Change] {
        match self {
            Verdict::Good(_) => &[],
            Verdict::Mended(mended) => &mended.changes,
            Verdict::Bad(bad) => &bad.changes,
        }
    }

    /// All that is wrong with a bad call.
    pub fn issues(&self) -> &[Issue] {
        match self {
            Verdict::Bad(bad) => &bad.issues,
            _ => &[],
        }
    }

    /// Free of the raw text.
    pub fn into_owned(self) -> Verdict<'static> {
        match self {
            Verdict::Good(tree) => Verdict::Good(tree.into_owned()),
            Verdict::Mended(mended) => Verdict::Mended(Mended {
                arguments: mended.arguments.into_owned(),
                changes: mended.changes,
            }),
            Verdict::Bad(bad) => Verdict::Bad(bad),
        }
    }
}

impl Bad {
    /// A refusal with one issue.
    pub(crate) fn single(reason: Reason, issue: Issue) -> Self {
        Self {
            reason,
            issues: vec![issue],
            more: 0,
            changes: Vec::new(),
        }
    }
}

/// Why a call is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The arguments were cut off.
    Truncated,
    /// The arguments are not JSON, and cannot be read as JSON in one way only.
    Malformed,
    /// There are no arguments, and the tool needs some.
    Empty,
    /// The arguments are JSON, but not an object.
    NotAnObject,
    /// The arguments do not match the tool's schema.
    WrongShape,
    /// Two readings are possible, and nothing says which one is meant.
    Ambiguous,
    /// There is no such tool.
    UnknownTool,
    /// The same thing again and again.
    Loop,
    /// The arguments pass a limit on size or depth.
    TooLarge,
}

impl Reason {
    /// The name used by the command's protocols.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Truncated => "truncated",
            Reason::Malformed => "malformed",
            Reason::Empty => "empty",
            Reason::NotAnObject => "not_an_object",
            Reason::WrongShape => "wrong_shape",
            Reason::Ambiguous => "ambiguous",
            Reason::UnknownTool => "unknown_tool",
            Reason::Loop => "loop",
            Reason::TooLarge => "too_large",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is wrong at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Issue {
    /// Where: the value itself, or the place where a missing member should be.
    pub pointer: Pointer,
    /// What kind of fault.
    pub code: Code,
    /// What the schema wants there.
    pub expected: Expected,
    /// What was there; `None` if nothing was.
    pub got: Option<Got>,
    /// The name or allowed value that is nearest to what was sent.
    pub nearest: Option<String>,
    /// May the value simply be left out?
    pub optional: bool,
    /// The bytes of the raw text that this is about.
    pub span: Range<usize>,
}

impl Issue {
    pub(crate) fn new(pointer: Pointer, code: Code, span: Range<usize>) -> Self {
        Self {
            pointer,
            code,
            expected: Expected::default(),
            got: None,
            nearest: None,
            optional: false,
            span,
        }
    }
}

/// The kind of an [`Issue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// A required member is not there.
    Missing,
    /// A member that the schema does not allow.
    UnknownKey,
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
    /// Any other rule of the schema; the validator's own words are in `expected`.
    Other,
}

impl Code {
    /// The name used by the command's protocols.
    pub fn name(self) -> &'static str {
        match self {
            Code::Missing => "missing",
            Code::UnknownKey => "unknown_key",
            Code::Type => "type",
            Code::Enum => "enum",
            Code::TooSmall => "too_small",
            Code::TooLarge => "too_large",
            Code::NotMultiple => "not_multiple",
            Code::TooShort => "too_short",
            Code::TooLong => "too_long",
            Code::Pattern => "pattern",
            Code::Format => "format",
            Code::TooFewItems => "too_few_items",
            Code::TooManyItems => "too_many_items",
            Code::NotUnique => "not_unique",
            Code::NotContained => "not_contained",
            Code::TooFewKeys => "too_few_keys",
            Code::TooManyKeys => "too_many_keys",
            Code::KeyName => "key_name",
            Code::NoAlternative => "no_alternative",
            Code::SeveralAlternatives => "several_alternatives",
            Code::NotAllowed => "not_allowed",
            Code::DuplicateKey => "duplicate_key",
            Code::InexactNumber => "inexact_number",
            Code::Custom => "custom",
            Code::Ambiguous => "ambiguous",
            Code::Malformed => "malformed",
            Code::Truncated => "truncated",
            Code::Empty => "empty",
            Code::NotAnObject => "not_an_object",
            Code::UnknownTool => "unknown_tool",
            Code::Limit => "limit",
            Code::Other => "other",
        }
    }
}

/// A set of JSON types, `integer` told apart from `number`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Types(u8);

impl Types {
    /// The names in the order texts list them.
    pub const NAMES: [&'static str; 7] = [
        "string", "integer", "number", "boolean", "array", "object", "null",
    ];

    /// The set that holds one type by its JSON Schema name; empty for any other name.
    pub fn named(name: &str) -> Self {
        match Self::NAMES.iter().position(|known| *known == name) {
            Some(index) => Self(1 << index),
            None => Self(0),
        }
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Types) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without the types of the other.
    #[must_use]
    pub fn without(self, other: Types) -> Self {
        Self(self.0 & !other.0)
    }

    /// Is this type in the set? (`integer` is not in a set that only has `number`.)
    pub fn has(self, name: &str) -> bool {
        self.0 & Self::named(name).0 != 0
    }

    /// No type named: anything.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of types.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The names in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(index, _)| self.0 & (1 << index) != 0)
            .map(|(_, name)| name)
    }

    /// Does a value of this kind have one of these types, integrality aside?
    pub fn admits(self, kind: Kind) -> bool {
        self.has(kind.name()) || (kind == Kind::Number && self.has("integer"))
    }
}

/// A limit of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The limit's digits.
    pub limit: String,
    /// Is the limit itself not allowed?
    pub exclusive: bool,
}

/// What the schema wants at one place. Everything left out is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expected {
    /// The allowed types; empty for any.
    pub types: Types,
    /// The allowed types of an array's elements; empty for any.
    pub items: Types,
    /// The allowed values as JSON text; empty for any.
    pub allowed: Vec<String>,
    /// The least number.
    pub minimum: Option<Bound>,
    /// The greatest number.
    pub maximum: Option<Bound>,
    /// The number must be a multiple of this.
    pub multiple_of: Option<String>,
    /// The least and greatest number of characters, elements or members, whichever the issue or
    /// the type is about.
    pub size: (Option<u64>, Option<u64>),
    /// A regular expression for a string.
    pub pattern: Option<String>,
    /// A named format for a string.
    pub format: Option<String>,
    /// Alternatives of which none is clearly meant.
    pub alternatives: Vec<Expected>,
    /// What the JSON grammar wants.
    pub syntax: Option<Wanted>,
    /// Words of the validator, of a tool's own check, or of a Rust type.
    pub words: Option<String>,
}

/// What was there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Got {
    /// The type, `integer` told apart from `number`.
    pub kind: &'static str,
    /// The JSON text, at most [`Got::MOST_CHARS`] characters of it.
    pub short: String,
}

impl Got {
    /// Characters of a value that are ever echoed.
    pub const MOST_CHARS: usize = 40;

    pub(crate) fn of(node: Node<'_>) -> Self {
        Self {
            kind: kind_name(node),
            short: shorten(node),
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self {
            kind: "text",
            short: clip(text, Self::MOST_CHARS),
        }
    }
}

/// The type of a value, `integer` told apart from `number`.
pub(crate) fn kind_name(node: Node<'_>) -> &'static str {
    match node.digits() {
        Some(digits) if is_written_as_integer(digits) => "integer",
        _ => node.kind().name(),
    }
}

/// The JSON text of a value in at most 40 characters, without writing all of a large one.
fn shorten(node: Node<'_>) -> String {
    let long = node.span().len() > 16 * Got::MOST_CHARS;
    match node.kind() {
        Kind::Array if long => format!("[… {} elements]", node.len()),
        Kind::Object if long => format!("{{… {} keys}}", node.len()),
        Kind::String if long => {
            let text = node.as_str().unwrap_or_default();
            let start: String = text.chars().take(Got::MOST_CHARS).collect();
            clip(&format!("\"{start}…"), Got::MOST_CHARS)
        }
        _ => clip(&node.to_json(), Got::MOST_CHARS),
    }
}

/// At most `most` characters of `text`; the last is `…` where something was left out.
pub(crate) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(most.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}
