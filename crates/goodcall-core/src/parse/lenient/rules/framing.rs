//! Rules about text around the value.

use super::{RuleRef, eager, entry, safe};
use crate::rule::{Example, Rule, RuleId};

pub(in crate::parse) const CODE_FENCE: RuleRef = safe(RuleId::CodeFence);
pub(in crate::parse) const PROSE: RuleRef = safe(RuleId::Prose);
pub(in crate::parse) const THOUGHTS: RuleRef = safe(RuleId::Thoughts);
pub(in crate::parse) const CHAT_TOKEN: RuleRef = safe(RuleId::ChatToken);
pub(in crate::parse) const ODD_SPACE: RuleRef = safe(RuleId::OddSpace);
pub(in crate::parse) const ESCAPED_SPACE: RuleRef = safe(RuleId::EscapedSpace);
pub(in crate::parse) const COMMENT: RuleRef = safe(RuleId::Comment);
pub(in crate::parse) const ELLIPSIS: RuleRef = eager(RuleId::Ellipsis);
pub(in crate::parse) const WIDE_PUNCTUATION: RuleRef = safe(RuleId::WidePunctuation);
pub(in crate::parse) const HTML_ENTITIES: RuleRef = safe(RuleId::HtmlEntities);
pub(in crate::parse) const ESCAPED_TEXT: RuleRef = safe(RuleId::EscapedText);
pub(in crate::parse) const JSON_STRING: RuleRef = safe(RuleId::JsonString);
pub(in crate::parse) const REPEATED_VALUE: RuleRef = eager(RuleId::RepeatedValue);

pub(in crate::parse) const EMPTY_FRAGMENT: RuleRef = safe(RuleId::EmptyFragment);

pub(super) const RULES: [Rule; 14] = [
    Rule {
        example: Example {
            tool: None,
            schema: r#"{"type": "object", "required": ["path"]}"#,
            raw: "{}{\"path\": \"a.txt\"}",
            mended: "{\"path\":\"a.txt\"}",
        },
        ..entry(
            EMPTY_FRAGMENT,
            "Drops `{}` before or after the arguments, where the schema does not accept `{}`.",
            "An empty object can be neither a call nor a part of one, and nothing is lost with it.",
            &["The schema accepts `{}`: then these are two calls."],
            "",
            "",
        )
    },
    entry(
        CODE_FENCE,
        "Skips a Markdown code fence and its info string around the value.",
        "A fence describes the text inside it and is not part of it.",
        &[],
        "```json\n{\"path\": \"a.txt\"}\n```",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        PROSE,
        "Skips words before and after the value.",
        "Text around a JSON value is not part of the arguments.",
        &["There is more than one value: the call is refused as several values."],
        "Sure, here you go: {\"path\": \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        THOUGHTS,
        "Skips reasoning in tags (`<think>…</think>`) before the value.",
        "The tags mark the text as not being the answer.",
        &[],
        "<think>maybe {\"path\": \"b.txt\"}?</think>{\"path\": \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        CHAT_TOKEN,
        "Skips control tokens of a chat template (`<|…|>`) around the value.",
        "They belong to the transport, not to the arguments.",
        &[],
        "<|call|>{\"path\": \"a.txt\"}<|end|>",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        ODD_SPACE,
        "Skips byte order marks and white space between tokens that JSON does not know.",
        "Nothing but white space is lost.",
        &["The character is inside a string, where it is kept."],
        "\u{feff}{\"path\":\u{a0}\"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        ESCAPED_SPACE,
        "Skips `\\n`, `\\t` and `\\r` written out between tokens.",
        "Between tokens they can only be white space.",
        &["The escape is inside a string."],
        "{\\n  \"path\": \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        COMMENT,
        "Skips comments (`//`, `/* */`, `#`, `<!-- -->`, `-- `).",
        "A comment between tokens is not part of any value.",
        &["The text is inside a string: `\"https://example.com\"` is kept."],
        "{\"path\": \"a.txt\" /* the file */}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        ELLIPSIS,
        "Skips `...` between values.",
        "The values that were written are kept. But something was left out, and nothing says \
         what.",
        &["The dots are inside a string."],
        "{\"tags\": [\"a\", \"b\", ...]}",
        "{\"tags\":[\"a\",\"b\"]}",
    ),
    entry(
        WIDE_PUNCTUATION,
        "Reads full-width and other foreign punctuation, and `;` between values, as JSON's.",
        "Outside strings there is nothing else that it could be.",
        &["The character is inside a string."],
        "{\"path\"：\u{201c}a.txt\u{201d}，\"limit\"：5}",
        "{\"path\":\"a.txt\",\"limit\":5}",
    ),
    entry(
        HTML_ENTITIES,
        "Decodes text whose quotes are written as HTML entities.",
        "All quotes of the text are entities, so the text as a whole was encoded once too often.",
        &["The text has plain quotes as well."],
        "{&quot;path&quot;: &quot;a.txt&quot;}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        ESCAPED_TEXT,
        "Decodes text in which every quote is escaped.",
        "All quotes of the text are escaped, so the text as a whole was encoded once too often.",
        &["Some quotes of the text are not escaped."],
        "{\\\"path\\\": \\\"a.txt\\\"}",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        JSON_STRING,
        "Reads an object or array that was encoded as a JSON string, once or several times.",
        "The string holds JSON and nothing else, and arguments are not a string.",
        &[],
        "\"{\\\"path\\\": \\\"a.txt\\\"}\"",
        "{\"path\":\"a.txt\"}",
    ),
    entry(
        REPEATED_VALUE,
        "Reads the same value several times in a row as one, where one is wanted.",
        "Most likely it was sent twice by a slip. But it may be two calls that are alike.",
        &["The values differ: the call is refused as several values."],
        "{\"path\": \"a.txt\"}\n{\"path\": \"a.txt\"}",
        "{\"path\":\"a.txt\"}",
    ),
];
