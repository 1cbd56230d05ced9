//! Removes a key that the schema forbids.

use serde_json::{Map, Value};

use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposals, Site};
use crate::names::{could_mean, same_name};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::{View, owner};
use crate::tree::{Edit, Kind, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::UnknownKey,
    level: Level::Eager,
    what: "Drops a member that the schema forbids.",
    why: "The tool would not read it. But whatever the member was meant to do is not done.",
    not_when: &[
        "The schema allows the member.",
        "Nothing would be left of what was sent.",
        "It took a guess to read where members begin and end: the member may be a part of another.",
        "The key is similar to a declared one, or declared in a nested object or in one around it.",
        "The value holds declared members, or the key names another tool.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"path": {"type": "string"}},
                    "additionalProperties": false}"#,
        raw: r#"{"path": "a.txt", "explanation": "to read it"}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((name, key, value)) = site.unknown() else {
        return;
    };
    if site.context.has_guessed_members {
        return;
    }
    // If no declared parameter was sent, the call may be for something else. This check runs for
    // every key, so it looks only at the object's own properties.
    let mut sent = site.node.members().take(MEND_WIDTH);
    let declared = site.properties().filter(|p| !p.is_empty());
    if declared.is_some_and(|p| !sent.any(|(key, _)| p.contains_key(key))) {
        return;
    }
    // Keep a key that is similar to a declared one or that a nested object declares.
    if !has_place(site, name)
        && !belongs_around(site, name)
        && !holds_declared(site, value)
        && !names_tool(site, name, value)
    {
        let (object, place) = (site.node.id, site.fault.pointer.join(name));
        out.whole(&RULE, [Edit::Remove { object, key, place }]);
    }
}

/// Returns true if the value holds a member that belongs to the object around it.
fn holds_declared(site: &Site<'_>, value: Node<'_>) -> bool {
    let properties = site.properties();
    let declared = |key| properties.is_some_and(|p| p.contains_key(key));
    value.kind() == Kind::Object
        && value
            .members()
            .take(MEND_WIDTH)
            .any(|(key, _)| declared(key))
}

/// Returns true if the member names another tool.
fn names_tool(site: &Site<'_>, name: &str, value: Node<'_>) -> bool {
    let text = value.as_str();
    site.fault.pointer.is_root()
        && matches!(name, "tool" | "tool_name" | "function" | "function_name")
        && text.is_some()
        && text != site.context.tool
}

/// Returns true if an object around this one declares the member.
fn belongs_around(site: &Site<'_>, name: &str) -> bool {
    let document = site.context.schema.document();
    let mut place = site.fault.pointer.clone();
    while let Some((around, _)) = place.split_last() {
        if owner(document, &around.join(name)).is_some() {
            return true;
        }
        place = around;
    }
    false
}

fn has_place(site: &Site<'_>, name: &str) -> bool {
    let document = site.context.schema.document();
    let Some(properties) = site.properties() else {
        return false;
    };
    if properties.len() > MEND_WIDTH {
        return true;
    }
    properties.iter().any(|(declared, schema)| {
        let inner = View::new(document, schema).resolve().own_properties();
        let nested = |inner: &Map<String, Value>| {
            inner.len() > MEND_WIDTH || inner.keys().any(|key| same_name(key, name))
        };
        could_mean(name, declared) || inner.is_some_and(nested)
    })
}
