//! Unwraps `["a"]` where a single value is expected.

use serde_json::Value;

use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::ArrayToScalar,
    level: Level::Safe,
    what: "Takes the only element out of an array where no array is allowed.",
    why: "A list of one value, where one value is wanted, says that value.",
    not_when: &[
        "The array is empty or has several elements.",
        "The element is an array or null.",
        "The element is a scalar that does not fit as it is: it would be wrong in two ways.",
        "The element is an object and a map of any keys is wanted: `[{\"name\": …, \"value\": \
         …}]` is how a map is written as a list.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"path": ["a.txt"]}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if site.fault.pointer.is_root()
        || site
            .wanted()
            .is_none_or(|wanted| wanted.has(JsonType::Array))
    {
        return;
    }
    let mut elements = site.node.elements();
    if let (Some(only), None) = (elements.next(), elements.next())
        && !matches!(only.kind(), Kind::Array | Kind::Null)
        && (only.kind() != Kind::Object || !may_be_entry(site, only))
        && !may_be_placeholder(site.node, only)
    {
        // An object may need mending inside; a scalar that does not fit has two faults at once.
        match only.kind() {
            Kind::Object => out.replace(&RULE, site, NewValue::Node(only.id)),
            _ => out.whole(&RULE, [site.replace(NewValue::Node(only.id))]),
        }
    }
}

/// Returns true for `[your key]` and `{"key"}`, which reading has made a list of one: brackets around
/// words without quotes may mark a place to be filled in.
fn may_be_placeholder(array: Node<'_>, only: Node<'_>) -> bool {
    let byte = |node: Node<'_>| {
        let source = node.tree.source().as_bytes();
        source.get(node.span().start).copied().unwrap_or_default()
    };
    byte(array) == b'{' || only.kind() == Kind::String && byte(only).is_ascii_alphabetic()
}

/// Returns true if a list of this one object could be another notation of a map: the schema
/// declares none of its members and allows any, or the object is a name with a value.
fn may_be_entry(site: &Site<'_>, object: Node<'_>) -> bool {
    let declared = |key| site.properties().is_some_and(|p| p.contains_key(key));
    if object
        .members()
        .take(MEND_WIDTH)
        .any(|(key, _)| declared(key))
    {
        return false;
    }
    let rest = site.subschema().and_then(|s| s.get("additionalProperties"));
    let pair = object.get("value").is_some() && object.len() == 2;
    pair || rest.is_some_and(Value::is_object)
}
