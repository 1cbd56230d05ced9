//! Wraps `"a"` where an array is expected.

use super::stringified::looks_stringified;
use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::View;
use crate::tree::{Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::ScalarToArray,
    level: Level::Safe,
    what: "Puts a single string, number or boolean into an array of one element where an array \
           is wanted and the value fits as its element.",
    why: "One value in place of a list of values is a list of that value.",
    not_when: &[
        "The value does not fit as an element as it is: it would be wrong in two ways.",
        "The text could be a list itself: it has a comma, a semicolon, a line break or brackets.",
        "The text has blanks and the schema does not list the elements.",
        "The text has quotes of its own around it.",
        "The text stands for no value (`\"\"`, `\"none\"`, `\"<UNKNOWN>\"`).",
        "The text stands for all values (`\"all\"`) and the schema does not list it.",
        "The value is in a list of single values where a list of lists is wanted: they may be \
         one list or several.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"paths": {"type": "array", "items": {"type": "string"}}}}"#,
        raw: r#"{"paths": "src/main.rs"}"#,
        mended: r#"{"paths":["src/main.rs"]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if !site
        .wanted()
        .is_some_and(|wanted| wanted.has(JsonType::Array))
    {
        return;
    }
    let one = match site.node.kind() {
        Kind::Number | Kind::Boolean => true,
        Kind::String => site
            .node
            .as_str()
            .is_some_and(|text| is_one_value(text) && (is_one_word(text) || lists_elements(site))),
        Kind::Null | Kind::Array | Kind::Object => false,
    };
    if one && !is_row(site) {
        out.whole(&RULE, [site.replace(NewValue::Wrapped)]);
    }
}

/// Returns true if the value is one of several scalars where a list of lists is expected: `["git",
/// "status"]` may be one list as well as two.
///
/// In a union it remains a reading, so that another one is not taken for the only one.
fn is_row(site: &Site<'_>) -> bool {
    let keyword = site.fault.keyword.as_str();
    if keyword.contains("/anyOf/") || keyword.contains("/oneOf/") {
        return false;
    }
    let list = site.fault.pointer.split_last();
    let list = list.and_then(|(place, _)| site.node.tree.at(&place));
    list.is_some_and(|list| {
        list.kind() == Kind::Array
            && list.len() > 1
            && list.elements().all(|element| element.kind() != Kind::Array)
    })
}

/// Characters that separate the elements of a list in a text.
const SEPARATORS: [char; 12] = [
    ',', ';', '\n', '|', '[', '{', '，', '、', '；', '､', '،', '؛',
];

fn is_one_value(text: &str) -> bool {
    !text.contains(SEPARATORS) && !looks_stringified(text) && !is_quoted(text) && !is_nothing(text)
}

fn is_one_word(text: &str) -> bool {
    !text.trim().contains(char::is_whitespace) && !is_all(text)
}

/// Returns true if the text stands for every value; `["all"]` would be a value of that name.
fn is_all(text: &str) -> bool {
    const ALL: [&str; 4] = ["all", "any", "every", "everything"];
    ALL.iter()
        .any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Returns true if the schema lists the allowed elements. Then the validator decides whether a text
/// with blanks (`Tennis Court`) is one of them, and not several (`red green`, `ls -la`).
fn lists_elements(site: &Site<'_>) -> bool {
    let items = site.subschema().and_then(View::items).map(View::resolve);
    items.is_some_and(|items| items.get("enum").or(items.get("const")).is_some())
}

/// Returns true if the text has quotes of its own, because it was encoded once too often.
fn is_quoted(text: &str) -> bool {
    let text = text.trim();
    ['"', '\'', '`']
        .iter()
        .any(|quote| text.starts_with(*quote) || text.ends_with(*quote))
}

/// Returns true if the text stands for no value at all.
pub(super) fn is_nothing(text: &str) -> bool {
    const NOTHING: [&str; 12] = [
        "",
        "none",
        "null",
        "nil",
        "undefined",
        "unknown",
        "n/a",
        "na",
        "nothing",
        "empty",
        "-",
        "...",
    ];
    let text = text.trim();
    // Some models write `<UNKNOWN>` or `<none>` for a value that they do not know.
    let inside = text.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
    let text = inside.unwrap_or(text);
    NOTHING.iter().any(|word| text.eq_ignore_ascii_case(word))
}
