//! Reads `"yes"` as a boolean where one is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::WordToBoolean,
    level: Level::Eager,
    what: "Reads `yes`, `no`, `on`, `off`, `1` and `0`, as text or as numbers, as booleans.",
    why: "These are the usual words for true and false. But a `0` may also be a count.",
    not_when: &[],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"recursive": {"type": "boolean"}}}"#,
        raw: r#"{"recursive": "yes"}"#,
        mended: r#"{"recursive":true}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if !site
        .wanted()
        .is_some_and(|wanted| wanted.has(JsonType::Boolean))
    {
        return;
    }
    let Some(text) = site.node.as_str().or(site.node.digits()) else {
        return;
    };
    let truth = match text.trim().to_ascii_lowercase().as_str() {
        "yes" | "on" | "1" | "true" => true,
        "no" | "off" | "0" | "false" => false,
        _ => return,
    };
    if !matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") {
        out.replace(&RULE, site, NewValue::boolean(truth));
    }
}
