//! Commas, colons and brackets.

use super::{RuleRef, eager, entry, safe};
use crate::rule::{Rule, RuleId};

pub(in crate::parse) const TRAILING_COMMA: RuleRef = safe(RuleId::TrailingComma);
pub(in crate::parse) const EXTRA_COMMA: RuleRef = safe(RuleId::ExtraComma);
pub(in crate::parse) const EMPTY_ELEMENT: RuleRef = eager(RuleId::EmptyElement);
pub(in crate::parse) const MISSING_COMMA: RuleRef = safe(RuleId::MissingComma);
pub(in crate::parse) const MISSING_ELEMENT_COMMA: RuleRef = eager(RuleId::MissingElementComma);
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
pub(in crate::parse) const EARLY_BRACKET: RuleRef = eager(RuleId::EarlyBracket);
pub(in crate::parse) const SEVERAL_COMMA: RuleRef = safe(RuleId::SeveralValues);
pub(in crate::parse) const STRAY_TEXT: RuleRef = eager(RuleId::StrayText);
pub(in crate::parse) const UNCLOSED: RuleRef = eager(RuleId::Unclosed);

pub(super) const RULES: [Rule; 20] = [
    entry(
        TRAILING_COMMA,
        "Drops a comma before a closing bracket.",
        "Nothing follows it.",
        "{\"path\": \"a.txt\",}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        EXTRA_COMMA,
        "Drops a comma that nothing stands before.",
        "In an object a member cannot be empty.",
        "{\"path\": \"a.txt\",, \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        EMPTY_ELEMENT,
        "Drops a comma in an array that nothing stands before.",
        "Probably a slip; but an element may have been left out.",
        "{\"tags\": [\"a\",, \"b\"]}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        MISSING_COMMA,
        "Reads a member that follows another without a comma.",
        "A key with its colon can only start a member.",
        "{\"path\": \"a.txt\" \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        MISSING_ELEMENT_COMMA,
        "Reads an element that follows another without a comma.",
        "Most likely two elements; but a quote inside a string looks the same.",
        "{\"tags\": [\"a\" \"b\"]}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        COLON_FORM,
        "Reads `=`, `=>`, `:=`, `->` and full-width colons between key and value as `:`.",
        "Between a key and a value there is nothing else that it could be.",
        "{\"path\" => \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        MISSING_COLON,
        "Reads a value that follows its key without a colon.",
        "Most likely key and value; but a quote inside a key looks the same.",
        "{\"path\" \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        EXTRA_COLON,
        "Drops a colon where none belongs.",
        "Probably a slip; something may be missing before it.",
        "{\"path\": : \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        MISSING_VALUE,
        "Reads a key without a value as `null`.",
        "The key was meant; its value is not known.",
        "{\"path\": \"a.txt\", \"limit\": }",
        "{\"path\":\"a.txt\",\"limit\":null}",
    ),
    entry(
        TUPLE,
        "Reads a tuple as an array.",
        "It is Python's form of a fixed list.",
        "{\"range\": (1, 2)}",
        "{\"range\":[1,2]}",
    ),
    entry(
        SET,
        "Reads a set as an array.",
        "Most likely a list; but a member may lack its value.",
        "{\"tags\": {\"a\", \"b\"}}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        CALL,
        "Reads the arguments of a call (`f(a=1)`, `ObjectId(…)`, `callback({…})`) as the value.",
        "What the function would do to them is not known.",
        "f(path=\"a.txt\", limit=5)",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        MISSING_BRACE,
        "Reads members without braces as an object.",
        "Keys with values make an object.",
        "\"path\": \"a.txt\", \"to\": \"b.txt\"",
        "{\"path\":\"a.txt\",\"to\":\"b.txt\"}",
    ),
    entry(
        MISSING_BRACKET,
        "Closes a container that lacks its closing bracket inside another.",
        "Where it ended is decided by what follows.",
        "{\"tags\": [\"a\", \"b\", \"limit\": 5}",
        "{\"tags\":[\"a\",\"b\"],\"limit\":5}",
    ),
    entry(
        WRONG_BRACKET,
        "Reads a closing bracket of the wrong kind as the right one.",
        "Nothing of that kind is open.",
        "{\"tags\": [\"a\", \"b\"}, \"limit\": 5}",
        "{\"tags\":[\"a\",\"b\"],\"limit\":5}",
    ),
    entry(
        EXTRA_BRACKET,
        "Drops a bracket after the end of the value, or one that is doubled.",
        "Everything is closed, or closes right behind it.",
        "{\"path\": \"a.txt\"}}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        EARLY_BRACKET,
        "Drops a closing bracket after which the object goes on.",
        "A member follows, and it belongs to an object.",
        "{\"path\": \"a.txt\"}, \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        SEVERAL_COMMA,
        "Skips commas and semicolons between values.",
        "The values themselves are all kept.",
        "{\"path\": \"a.txt\"},",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        STRAY_TEXT,
        "Drops a character that belongs to nothing.",
        "Probably a slip; but it may be the rest of something.",
        "{\"path\": \"a.txt\" * , \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        UNCLOSED,
        "Closes what is still open at the end of the text.",
        "Only if nothing but these brackets is missing; text that was cut off inside a value never becomes a call. Safe if the host says that the model had finished.",
        "{\"path\": \"a.txt\"",
        "{\"path\":\"a.txt\"}",
    ),
];
