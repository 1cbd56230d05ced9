//! Replaces whatever was sent by `{}` for a tool without parameters.

use serde_json::{Map, Value};

use super::{schema_echo, wrapped_arguments};
use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::View;
use crate::tree::{Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NoParameters,
    level: Level::Safe,
    what: "Replaces the arguments by `{}` for a tool that takes none and forbids any.",
    why: "`{}` is the only value that the schema accepts, so nothing else can be meant.",
    not_when: &[
        "The schema allows members that it does not name: then the arguments are valid.",
        "The arguments name another tool.",
        "The tool is destructive, unless the rule is switched on for it.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {}, "additionalProperties": false}"#,
        raw: r#"{"query": "all"}"#,
        mended: "{}",
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let schema = site.context.schema;
    if site.fault.pointer.is_root()
        && schema.accepts_empty_object()
        && takes_nothing(schema.root().resolve())
        && !is_for_another_rule(site)
    {
        let empty = Value::Object(Map::new());
        out.whole(&RULE, [site.replace(NewValue::Value(empty))]);
    }
}

/// Returns true if the schema names no member and has no part that could.
fn takes_nothing(schema: View<'_>) -> bool {
    const OTHER_PARTS: [&str; 9] = [
        "anyOf",
        "oneOf",
        "allOf",
        "if",
        "not",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "const",
    ];
    let closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(keyword) == Some(&Value::Bool(false)));
    let named = schema.own_properties().is_some_and(|p| !p.is_empty());
    closed && !named && OTHER_PARTS.iter().all(|part| schema.get(part).is_none())
}

/// Returns true if the arguments are in an envelope or a list, or name another tool.
fn is_for_another_rule(site: &Site<'_>) -> bool {
    match site.node.kind() {
        Kind::Object => {
            wrapped_arguments::inner(site).is_some()
                || schema_echo::members(site).is_some()
                || wrapped_arguments::names_another(site)
        }
        Kind::Array => site.node.len() == 1,
        _ => false,
    }
}
