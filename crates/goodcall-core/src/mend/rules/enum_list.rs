//! Splits `"a, b"` where an array is expected whose elements may be `a` and `b` only.

use serde_json::Value;

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::View;
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EnumList,
    level: Level::Safe,
    what: "Splits text at its commas into an array where every piece is one of the values that \
           the elements may have.",
    why: "A string is not allowed there, and each piece is an allowed element to the letter.",
    not_when: &[
        "A piece is not an allowed value.",
        "The elements may have any value: see `comma-list`.",
        "An allowed value has a comma itself.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"days":
                    {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}}}}"#,
        raw: r#"{"days": "mon, wed"}"#,
        mended: r#"{"days":["mon","wed"]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    if !wanted.has(JsonType::Array) || !text.contains(',') {
        return;
    }
    let items = site.subschema().and_then(View::items).map(View::resolve);
    let Some(allowed) = items.and_then(|items| items.get("enum")?.as_array()) else {
        return;
    };
    let words = || allowed.iter().filter_map(Value::as_str);
    let pieces: Vec<&str> = text.split(',').map(str::trim).collect();
    let all_allowed = pieces
        .iter()
        .all(|piece| words().any(|word| word == *piece));
    if all_allowed && !words().any(|word| word.contains(',')) {
        let list: Value = pieces.into_iter().map(Value::from).collect();
        out.whole(&RULE, [site.replace(NewValue::Value(list))]);
    }
}
