//! Splits `"a, b"` where an array is expected.

use serde_json::Value;

use super::number_list::may_be_one_number;
use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::View;
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::CommaList,
    level: Level::Eager,
    what: "Splits text at its commas into an array of strings where an array is wanted.",
    why: "A string is not allowed there, and this is how people write lists. But a comma can \
          also be part of a single value.",
    not_when: &[
        "The text may be one number (`\"1,234\"`), or is an allowed element as it is.",
        "The text begins as an array or an object does (see `stringified`), or a part as a string \
         in quotes.",
        "A part between two commas is empty.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"tags": {"type": "array", "items": {"type": "string"}}}}"#,
        raw: r#"{"tags": "red, green"}"#,
        mended: r#"{"tags":["red","green"]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    let is_container = text.trim_start().starts_with(['[', '{', '(']);
    if !wanted.has(JsonType::Array) || !text.contains(',') || is_container {
        return;
    }
    let items = site.subschema().and_then(View::items).map(View::resolve);
    let allowed = items.and_then(|items| items.get("enum")?.as_array());
    let is_element = allowed.is_some_and(|allowed| allowed.iter().any(|value| value == text));
    if is_element || may_be_one_number(text) {
        return;
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let is_plain = |part: &&str| !part.is_empty() && !part.starts_with(['"', '\'', '`']);
    if parts.iter().all(is_plain) {
        let list: Value = parts.into_iter().map(Value::from).collect();
        out.replace(&RULE, site, NewValue::Value(list));
    }
}
