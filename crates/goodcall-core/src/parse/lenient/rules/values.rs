//! Rules about strings, words and numbers.

use super::{RuleRef, eager, entry, safe};
use crate::rule::{Rule, RuleId};

pub(in crate::parse) const OTHER_QUOTES: RuleRef = safe(RuleId::OtherQuotes);
/// [`OTHER_QUOTES`] for a string whose two quotes differ.
pub(in crate::parse) const UNLIKE_QUOTES: RuleRef = eager(RuleId::OtherQuotes);
pub(in crate::parse) const SMART_QUOTES: RuleRef = safe(RuleId::SmartQuotes);
pub(in crate::parse) const TRIPLE_QUOTES: RuleRef = safe(RuleId::TripleQuotes);
pub(in crate::parse) const DOUBLED_QUOTES: RuleRef = eager(RuleId::DoubledQuotes);
pub(in crate::parse) const ESCAPED_QUOTES: RuleRef = eager(RuleId::EscapedQuotes);
pub(in crate::parse) const MISSING_QUOTE: RuleRef = eager(RuleId::MissingQuote);
pub(in crate::parse) const INNER_QUOTE: RuleRef = eager(RuleId::InnerQuote);
pub(in crate::parse) const UNQUOTED_KEY: RuleRef = safe(RuleId::UnquotedKey);
/// [`UNQUOTED_KEY`] for a key of several words.
pub(in crate::parse) const UNQUOTED_WORDS: RuleRef = eager(RuleId::UnquotedKey);
pub(in crate::parse) const UNQUOTED_STRING: RuleRef = eager(RuleId::UnquotedString);
pub(in crate::parse) const ARITHMETIC: RuleRef = eager(RuleId::Arithmetic);
pub(in crate::parse) const STRING_PREFIX: RuleRef = eager(RuleId::StringPrefix);
pub(in crate::parse) const JOINED_STRINGS: RuleRef = eager(RuleId::JoinedStrings);
pub(in crate::parse) const RAW_CONTROL: RuleRef = safe(RuleId::RawControl);
pub(in crate::parse) const BAD_ESCAPE: RuleRef = safe(RuleId::BadEscape);
pub(in crate::parse) const MIXED_ESCAPES: RuleRef = eager(RuleId::MixedEscapes);
pub(in crate::parse) const LONE_SURROGATE: RuleRef = eager(RuleId::LoneSurrogate);
pub(in crate::parse) const PYTHON_LITERAL: RuleRef = safe(RuleId::PythonLiteral);
pub(in crate::parse) const LITERAL_CASE: RuleRef = safe(RuleId::LiteralCase);
pub(in crate::parse) const UNDEFINED: RuleRef = eager(RuleId::Undefined);
pub(in crate::parse) const NOT_A_NUMBER: RuleRef = eager(RuleId::NotANumber);
pub(in crate::parse) const NUMBER_FORM: RuleRef = safe(RuleId::NumberForm);
pub(in crate::parse) const RADIX: RuleRef = safe(RuleId::Radix);
pub(in crate::parse) const LEADING_ZERO: RuleRef = eager(RuleId::LeadingZero);
pub(in crate::parse) const GROUPED_DIGITS: RuleRef = eager(RuleId::GroupedDigits);
pub(in crate::parse) const MISSING_QUOTE_KNOWN: RuleRef = safe(RuleId::MissingQuote);
pub(in crate::parse) const INNER_QUOTE_KNOWN: RuleRef = safe(RuleId::InnerQuote);

pub(super) const RULES: [Rule; 24] = [
    entry(
        OTHER_QUOTES,
        "Reads strings in single quotes or backticks.",
        "The quotes come in pairs around the whole string. Where the two are not alike the rule \
         is eager, unless the keys of the schema decide it.",
        &[],
        "{'path': 'a.txt'}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        SMART_QUOTES,
        "Reads strings in typographic quotes.",
        "The quotes come in pairs around the whole string.",
        &[],
        "{\u{201c}path\u{201d}: \u{201c}a.txt\u{201d}}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        TRIPLE_QUOTES,
        "Reads strings in triple quotes.",
        "The same three quotes end the string.",
        &[],
        "{\"path\": \"\"\"a.txt\"\"\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        DOUBLED_QUOTES,
        "Reads strings whose quotes are doubled.",
        "Most likely there is one pair too many. But the inner pair may be part of the text.",
        &[],
        "{\"path\": \"\"a.txt\"\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        ESCAPED_QUOTES,
        "Reads a string whose quotes are escaped.",
        "Most likely they were escaped once too often.",
        &[],
        "{\"path\": \\\"a.txt\\\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        MISSING_QUOTE,
        "Adds the quote that a string lacks at one end.",
        "The text after it shows where the string most likely ends. The rule is safe where the \
         keys of the schema decide it.",
        &["The text reads in two ways."],
        "{\"path\": \"a.txt, \"limit\": 5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        INNER_QUOTE,
        "Keeps unescaped quotes inside a string as text.",
        "The text after a quote shows whether it most likely ends the string. The rule is safe \
         where the keys of the schema decide it.",
        &["The text reads in two ways."],
        "{\"text\": \"say \"hi\" now\"}",
        "{\"text\":\"say \\\"hi\\\" now\"}",
    ),
    entry(
        UNQUOTED_KEY,
        "Reads keys without quotes.",
        "Before the colon there is only the key. For a key of several words the rule is eager.",
        &[],
        "{path: \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        UNQUOTED_STRING,
        "Reads text without quotes as a string.",
        "Most likely it is a string. But it is not certain where it ends, or whether it is a \
         name for something else.",
        &[],
        "{\"path\": a.txt}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        ARITHMETIC,
        "Keeps arithmetic as a string.",
        "The text is kept as it was sent. But its result may be meant: it is not worked out.",
        &[],
        "{\"limit\": 5 * 3}",
        "{\"limit\":\"5 * 3\"}",
    ),
    entry(
        STRING_PREFIX,
        "Drops a prefix before a quote (`f''`, `r''`, `b''`, `u''`).",
        "Most likely it is Python. But the fields of an f-string are not filled in.",
        &[],
        "{'path': r'a.txt'}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        JOINED_STRINGS,
        "Joins strings that are written as a sum or side by side.",
        "Most likely they are one string in pieces.",
        &[],
        "{\"path\": \"a\" + \".txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        RAW_CONTROL,
        "Keeps line breaks and other control characters that are not escaped in a string.",
        "The string has its quotes, so everything between them is its text.",
        &[],
        "{\"text\": \"one\ntwo\"}",
        "{\"text\":\"one\\ntwo\"}",
    ),
    entry(
        BAD_ESCAPE,
        "Reads escapes of other languages (`\\'`, `\\x41`), and keeps a backslash that begins \
         no escape at all (`\\d`, `\\$`).",
        "JSON has no such escape, so the backslash is text or belongs to the other language.",
        &[],
        "{\"pattern\": \"\\d+\"}",
        "{\"pattern\":\"\\\\d+\"}",
    ),
    entry(
        MIXED_ESCAPES,
        "Keeps every backslash of a Windows path, also before letters that could be escapes; \
         and the backslash of `\\b`, `\\f`, `\\v` and `\\x41` where another backslash of the \
         string is text.",
        "One backslash cannot be an escape, so most likely none of them is.",
        &[],
        "{\"path\": \"C:\\Users\\new\"}",
        "{\"path\":\"C:\\\\Users\\\\new\"}",
    ),
    entry(
        LONE_SURROGATE,
        "Reads half of a surrogate pair as U+FFFD.",
        "The rest of the string is kept. But the other half of the character is lost.",
        &[],
        "{\"text\": \"\\ud83d\"}",
        "{\"text\":\"\u{fffd}\"}",
    ),
    entry(
        PYTHON_LITERAL,
        "Reads `True`, `False` and `None`.",
        "They are Python's names of JSON's values.",
        &[],
        "{\"all\": True}",
        "{\"all\":true}",
    ),
    entry(
        LITERAL_CASE,
        "Reads `TRUE`, `FALSE`, `NULL`.",
        "They are the same words in another case.",
        &[],
        "{\"all\": TRUE}",
        "{\"all\":true}",
    ),
    entry(
        UNDEFINED,
        "Reads `undefined` as `null`.",
        "JSON has no such value, and null says the same. But the member may be meant to be \
         absent.",
        &[],
        "{\"limit\": undefined}",
        "{\"limit\":null}",
    ),
    entry(
        NOT_A_NUMBER,
        "Keeps `NaN` and `Infinity` as strings.",
        "JSON has no such numbers. But a number may be meant.",
        &[],
        "{\"limit\": NaN}",
        "{\"limit\":\"NaN\"}",
    ),
    entry(
        NUMBER_FORM,
        "Reads `+5`, `.5`, `5.`, `1_000` with JSON's digits.",
        "The number is the same.",
        &[],
        "{\"limit\": +5}",
        "{\"limit\":5}",
    ),
    entry(
        RADIX,
        "Reads hexadecimal, octal and binary numbers.",
        "The number is the same.",
        &[],
        "{\"limit\": 0x1F}",
        "{\"limit\":31}",
    ),
    entry(
        LEADING_ZERO,
        "Drops zeros before a number.",
        "Most likely it is a decimal number. But some languages read it as octal, and codes \
         keep their zeros.",
        &[],
        "{\"limit\": 007}",
        "{\"limit\":7}",
    ),
    entry(
        GROUPED_DIGITS,
        "Reads `1,000` as one number.",
        "In an object a number cannot be the next key, so the comma most likely groups digits.",
        &[],
        "{\"limit\": 1,000}",
        "{\"limit\":1000}",
    ),
];
