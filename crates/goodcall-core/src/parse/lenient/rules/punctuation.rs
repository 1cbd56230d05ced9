//! Rules about commas, colons and brackets.

use super::{RuleRef, eager, entry, safe};
use crate::rule::{Rule, RuleId};

pub(in crate::parse) const TRAILING_COMMA: RuleRef = safe(RuleId::TrailingComma);
pub(in crate::parse) const EXTRA_COMMA: RuleRef = safe(RuleId::ExtraComma);
pub(in crate::parse) const EMPTY_ELEMENT: RuleRef = eager(RuleId::EmptyElement);
pub(in crate::parse) const MISSING_COMMA: RuleRef = safe(RuleId::MissingComma);
pub(in crate::parse) const MISSING_ELEMENT_COMMA: RuleRef = eager(RuleId::MissingElementComma);
/// [`MISSING_ELEMENT_COMMA`] between two objects.
pub(in crate::parse) const MISSING_OBJECT_COMMA: RuleRef = safe(RuleId::MissingElementComma);
pub(in crate::parse) const COLON_FORM: RuleRef = safe(RuleId::ColonForm);
pub(in crate::parse) const MISSING_COLON: RuleRef = eager(RuleId::MissingColon);
pub(in crate::parse) const EXTRA_COLON: RuleRef = eager(RuleId::ExtraColon);
pub(in crate::parse) const MISSING_VALUE: RuleRef = eager(RuleId::MissingValue);
pub(in crate::parse) const TUPLE: RuleRef = safe(RuleId::Tuple);
pub(in crate::parse) const SET: RuleRef = eager(RuleId::Set);
pub(in crate::parse) const CALL: RuleRef = eager(RuleId::Call);
pub(in crate::parse) const MISSING_BRACE: RuleRef = eager(RuleId::MissingBrace);
pub(in crate::parse) const MISSING_BRACKET: RuleRef = eager(RuleId::MissingBracket);
pub(in crate::parse) const WRONG_BRACKET: RuleRef = eager(RuleId::WrongBracket);
pub(in crate::parse) const EXTRA_BRACKET: RuleRef = safe(RuleId::ExtraBracket);
/// [`EXTRA_BRACKET`] around a part of an object's members, or after an element.
pub(in crate::parse) const NESTED_BRACE: RuleRef = eager(RuleId::ExtraBracket);
pub(in crate::parse) const EARLY_BRACKET: RuleRef = eager(RuleId::EarlyBracket);
pub(in crate::parse) const SEVERAL_COMMA: RuleRef = safe(RuleId::SeveralValues);
pub(in crate::parse) const STRAY_TEXT: RuleRef = eager(RuleId::StrayText);
pub(in crate::parse) const UNCLOSED: RuleRef = safe(RuleId::Unclosed);

pub(super) const RULES: [Rule; 20] = [
    entry(
        TRAILING_COMMA,
        "Drops a comma before a closing bracket.",
        "Nothing follows the comma.",
        &[],
        "{\"path\": \"a.txt\",}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        EXTRA_COMMA,
        "Drops a comma in an object with no member before it.",
        "A member cannot be empty.",
        &["The comma is in an array: see `empty-element`."],
        "{\"path\": \"a.txt\",, \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        EMPTY_ELEMENT,
        "Drops a comma in an array with no element before it.",
        "Most likely it is a slip. But an element may have been left out.",
        &[],
        "{\"tags\": [\"a\",, \"b\"]}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        MISSING_COMMA,
        "Reads a member that follows another one without a comma.",
        "A key with its colon can only begin a member.",
        &["The comma is missing in an array: see `missing-element-comma`."],
        "{\"path\": \"a.txt\" \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        MISSING_ELEMENT_COMMA,
        "Reads an element that follows another one without a comma.",
        "Most likely these are two elements. But a quote inside a string looks the same. Between \
         two objects (`} {`) the rule is safe.",
        &[],
        "{\"tags\": [\"a\" \"b\"]}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        COLON_FORM,
        "Reads `=`, `=>`, `:=`, `->` and full-width colons between key and value as `:`.",
        "Between a key and a value there is nothing else that it could be.",
        &[],
        "{\"path\" => \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        MISSING_COLON,
        "Reads a value that follows its key without a colon.",
        "Most likely these are a key and its value. But a quote inside a key looks the same.",
        &[],
        "{\"path\" \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        EXTRA_COLON,
        "Drops a colon that separates nothing.",
        "Most likely it is a slip. But something may be missing before it.",
        &[],
        "{\"path\": : \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        MISSING_VALUE,
        "Reads a key without a value as `null`.",
        "The key was sent, so the member is meant. But its value is not known.",
        &[],
        "{\"path\": \"a.txt\", \"limit\": }",
        "{\"path\":\"a.txt\",\"limit\":null}",
    ),
    entry(
        TUPLE,
        "Reads a tuple as an array.",
        "It is Python's notation for a fixed list.",
        &[],
        "{\"range\": (1, 2)}",
        "{\"range\":[1,2]}",
    ),
    entry(
        SET,
        "Reads a set as an array.",
        "Most likely it is a list. But a member may lack its value.",
        &[],
        "{\"tags\": {\"a\", \"b\"}}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        CALL,
        "Reads the arguments of a call (`f(a=1)`, `ObjectId(…)`, `callback({…})`) as the value.",
        "The arguments are all that the text holds. But what the function would do to them is \
         not known.",
        &[],
        "f(path=\"a.txt\", limit=5)",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        MISSING_BRACE,
        "Reads members without braces as an object.",
        "Keys with values make an object. But more than the braces may be missing.",
        &[],
        "\"path\": \"a.txt\", \"to\": \"b.txt\"",
        "{\"path\":\"a.txt\",\"to\":\"b.txt\"}",
    ),
    entry(
        MISSING_BRACKET,
        "Closes a container that lacks its closing bracket inside another one.",
        "The text after it shows where the container most likely ended.",
        &[],
        "{\"tags\": [\"a\", \"b\", \"limit\": 5}",
        "{\"tags\":[\"a\",\"b\"],\"limit\":5}",
    ),
    entry(
        WRONG_BRACKET,
        "Reads a closing bracket of the wrong kind as the right one.",
        "Nothing of that kind is open, so most likely the kind is a slip.",
        &[],
        "{\"tags\": [\"a\", \"b\"}, \"limit\": 5}",
        "{\"tags\":[\"a\",\"b\"],\"limit\":5}",
    ),
    entry(
        EXTRA_BRACKET,
        "Drops a bracket after the end of the value, or a doubled one.",
        "Everything is closed, or closes right after it. Where the brackets surround a part of \
         the members only, or follow an element, the rule is eager.",
        &["The brackets may make a list (`{\"edits\": {…}, {…}}`)."],
        "{\"path\": \"a.txt\"}}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        EARLY_BRACKET,
        "Drops a closing bracket after which the object continues.",
        "A member follows, and it most likely belongs to the object before it.",
        &[],
        "{\"path\": \"a.txt\"}, \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        SEVERAL_COMMA,
        "Skips commas and semicolons between values.",
        "The values themselves are all kept.",
        &[],
        "{\"path\": \"a.txt\"},",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        STRAY_TEXT,
        "Drops a character that belongs to nothing.",
        "Most likely it is a slip. But it may be the rest of something.",
        &[],
        "{\"path\": \"a.txt\" * , \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        UNCLOSED,
        "Closes the brackets that are still open at the end of the text.",
        "Nothing but closing brackets is missing, and the host says that the model had finished.",
        &[
            "The text ends inside a value: text that was cut off never becomes a call.",
            "The host does not say that the model had finished.",
        ],
        "{\"path\": \"a.txt\"",
        "{\"path\":\"a.txt\"}",
    ),
];
