//! Reads `{"0": …, "1": …}` as an array where one is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::IndexedObject,
    level: Level::Safe,
    what: "Reads an object with the keys `0`, `1`, `2`, … in this order as an array.",
    why: "An object is not allowed there, and its keys are exactly the places of an array.",
    not_when: &["A key is missing, out of order or not a number."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"paths": {"type": "array", "items": {"type": "string"}}}}"#,
        raw: r#"{"paths": {"0": "a.txt", "1": "b.txt"}}"#,
        mended: r#"{"paths":["a.txt","b.txt"]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let wants_array =
        |wanted: crate::report::Types| wanted.has(JsonType::Array) && !wanted.has(JsonType::Object);
    if site.node.is_empty() || !site.wanted().is_some_and(wants_array) {
        return;
    }
    let mut elements = Vec::with_capacity(site.node.len());
    for (index, (key, value)) in site.node.members().enumerate() {
        if key != index.to_string() {
            return;
        }
        elements.push(value.id);
    }
    if !elements.is_empty() {
        out.replace(&RULE, site, NewValue::Elements(elements));
    }
}
