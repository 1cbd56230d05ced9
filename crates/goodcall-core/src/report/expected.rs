//! What is wanted at a place, and what was there instead.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use super::SyntaxExpectation;
use crate::rule::RuleId;
use crate::snippet::clip;
use crate::tree::{Kind, Node, is_written_as_integer};

/// A type of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonType {
    /// `string`
    String,
    /// `integer`: a number without a fraction.
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
    /// `array`
    Array,
    /// `object`
    Object,
    /// `null`
    Null,
}

impl JsonType {
    /// Every type, in the order in which texts list them.
    pub const ALL: [JsonType; 7] = [
        JsonType::String,
        JsonType::Integer,
        JsonType::Number,
        JsonType::Boolean,
        JsonType::Array,
        JsonType::Object,
        JsonType::Null,
    ];

    /// The name in JSON Schema.
    pub const fn name(self) -> &'static str {
        match self {
            JsonType::String => "string",
            JsonType::Integer => "integer",
            JsonType::Number => "number",
            JsonType::Boolean => "boolean",
            JsonType::Array => "array",
            JsonType::Object => "object",
            JsonType::Null => "null",
        }
    }

    /// The type with this name in JSON Schema.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// The type that every value of this kind has. A number may be an integer as well.
impl From<Kind> for JsonType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Null => JsonType::Null,
            Kind::Boolean => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }
}

/// A set of JSON types, with `integer` distinct from `number`. The empty set stands for any type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Types(u8);

impl Types {
    /// The set of one type.
    pub const fn of(json_type: JsonType) -> Self {
        Self(1 << json_type as u8)
    }

    /// The set of the one type with this name in JSON Schema; empty for any other name.
    pub fn named(name: &str) -> Self {
        JsonType::named(name).map_or(Self(0), Self::of)
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Types) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without the types of the other one.
    #[must_use]
    pub fn without(self, other: Types) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if the type is in the set. `integer` is not in a set that only has `number`.
    pub fn has(self, json_type: JsonType) -> bool {
        self.0 & Self::of(json_type).0 != 0
    }

    /// Returns true if no type is named, which means any.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of types in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The names of the types in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let types = JsonType::ALL.into_iter();
        types
            .filter(move |json_type| self.has(*json_type))
            .map(JsonType::name)
    }

    /// Returns true if some value of this kind has one of these types. A number may be an integer.
    pub fn admits(self, kind: Kind) -> bool {
        self.has(kind.into()) || (kind == Kind::Number && self.has(JsonType::Integer))
    }
}

/// A limit of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bound {
    /// The limit's digits.
    pub limit: String,
    /// True if the limit itself is not allowed.
    pub exclusive: bool,
}

/// The value that the schema or the JSON grammar wants at one place.
///
/// Every field that is empty or `None` leaves the value unrestricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expected {
    /// The allowed types; empty for any.
    pub types: Types,
    /// The allowed values as JSON text; empty for any.
    pub allowed: Vec<String>,
    /// Values that are not allowed, as JSON text.
    pub forbidden: Vec<String>,
    /// The limits of a number.
    pub number: ExpectedNumber,
    /// The form of a string.
    pub string: ExpectedString,
    /// The elements of an array.
    pub array: ExpectedArray,
    /// The members of an object.
    pub object: ExpectedObject,
    /// The least and greatest number of characters, elements or members, whichever the issue or
    /// the type is about.
    pub size: (Option<u64>, Option<u64>),
    /// The branches of a union, where no single one of them is clearly the right one.
    pub alternatives: Vec<Expected>,
    /// The token or text that the JSON grammar wants.
    pub syntax: Option<SyntaxExpectation>,
    /// The rule that would have read the text, had the policy allowed it.
    pub rule: Option<RuleId>,
    /// The expectation in words, where the other fields do not express it.
    pub prose: ExpectedProse,
}

/// The limits that an [`Expected`] number must keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedNumber {
    /// The least number.
    pub minimum: Option<Bound>,
    /// The greatest number.
    pub maximum: Option<Bound>,
    /// The divisor of which the number must be a multiple, in digits.
    pub multiple_of: Option<String>,
}

/// The form that an [`Expected`] string must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedString {
    /// The regular expression that the string must match.
    pub pattern: Option<String>,
    /// The named format of the string, such as `date-time`.
    pub format: Option<String>,
}

/// The elements that an [`Expected`] array must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedArray {
    /// The allowed types of the elements; empty for any.
    pub items: Types,
    /// The requirements for each element, beyond its type.
    pub element: Option<Box<Expected>>,
    /// The requirements for each of the first elements, in their order.
    pub first: Vec<Expected>,
}

/// The members that an [`Expected`] object must or may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedObject {
    /// The members that the object must have.
    pub keys: Vec<Key>,
    /// The members that the object may have, where none is required.
    pub may_have: Vec<Key>,
}

/// The part of an [`Expected`] that is given in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedProse {
    /// The schema's title or description, where the schema restricts nothing.
    pub about: Option<String>,
    /// The schema's examples as JSON text, where the schema restricts nothing.
    pub examples: Vec<String>,
    /// The message of the validator, of a tool's own check, or of a Rust type.
    pub words: Option<String>,
}

/// A member that an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// Its name.
    pub name: String,
    /// Its allowed values as JSON text, where they are few; empty for any.
    pub allowed: Vec<String>,
    /// Its allowed types; empty for any.
    pub types: Types,
}

/// An [`Expected`], shared: what a schema wants at one place is the same for every call.
///
/// Reads like an `Expected`; [`SharedExpected::to_mut`] makes a copy of its own to change.
#[derive(Clone, Debug, Default)]
pub struct SharedExpected(Option<Arc<Expected>>);

impl Deref for SharedExpected {
    type Target = Expected;

    fn deref(&self) -> &Expected {
        self.0.as_deref().unwrap_or_else(|| &ANYTHING)
    }
}

impl SharedExpected {
    /// Returns the description to change it. Copies it first if others share it.
    pub fn to_mut(&mut self) -> &mut Expected {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl PartialEq for SharedExpected {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedExpected {}

impl PartialEq<Expected> for SharedExpected {
    fn eq(&self, other: &Expected) -> bool {
        **self == *other
    }
}

impl From<Expected> for SharedExpected {
    fn from(expected: Expected) -> Self {
        Self(Some(Arc::new(expected)))
    }
}

/// The value of an empty [`SharedExpected`], which restricts nothing.
static ANYTHING: LazyLock<Expected> = LazyLock::new(Expected::default);

/// What was there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Actual {
    /// The type, `integer` told apart from `number`.
    pub kind: &'static str,
    /// The JSON text, at most [`Actual::MOST_CHARS`] characters of it.
    pub short: String,
}

impl Actual {
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

/// The type and the value: `string "x"`; `null` alone for null.
impl fmt::Display for Actual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.short == self.kind {
            f.write_str(self.kind)
        } else {
            write!(f, "{} {}", self.kind, self.short)
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
    let long = node.span().len() > 16 * Actual::MOST_CHARS;
    match node.kind() {
        Kind::Array if long => format!("[… {} elements]", node.len()),
        Kind::Object if long => format!("{{… {} keys}}", node.len()),
        Kind::String if long => {
            let text = node.as_str().expect("a string has a text");
            let start: String = text.chars().take(Actual::MOST_CHARS).collect();
            clip(&format!("\"{start}…"), Actual::MOST_CHARS)
        }
        _ => {
            let json = node.to_json();
            if json.len() <= Actual::MOST_CHARS {
                return json;
            }
            clip(&json, Actual::MOST_CHARS)
        }
    }
}
