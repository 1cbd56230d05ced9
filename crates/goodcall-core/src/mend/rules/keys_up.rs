//! Moves members out of a nested object into the object around it.

use serde_json::Value;

use super::{schema_echo, wrapped_arguments};
use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposal, Proposals, Site};
use crate::names::{bare, is_envelope_key};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::View;
use crate::tree::{Edit, Id, Kind, Node};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeysUp,
    level: Level::Safe,
    what: "Moves members out of a nested object into the one around it, which declares them.",
    why: "The outer object declares the keys and lacks them, the nested object forbids them or \
          is itself undeclared and has a name without a meaning of its own (`options`, \
          `settings`), and only the new placement is valid.",
    not_when: &[
        "The name of the nested object says something about its members (`not`, `manager`).",
        "The nested object is an envelope (`arguments`, `result`, the name of another tool): it \
         may be for another tool.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path", "limit"], "properties":
                    {"path": {"type": "string"}, "limit": {"type": "integer"}}}"#,
        raw: r#"{"path": "a.txt", "options": {"limit": 5}}"#,
        mended: r#"{"path":"a.txt","limit":5}"#,
    },
};

/// Names of objects that add no meaning to their members.
const PLAIN: [&str; 16] = [
    "options",
    "option",
    "opts",
    "config",
    "configuration",
    "settings",
    "preferences",
    "params",
    "extra",
    "extras",
    "details",
    "properties",
    "attributes",
    "fields",
    "values",
    "data",
];

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if site.node.kind() != Kind::Object || site.node.len() > MEND_WIDTH {
        return;
    }
    let found = proposals(site);
    // Other rules take the arguments out of an envelope, and out of an echo of the schema.
    if found.is_empty()
        || wrapped_arguments::inner(site).is_some()
        || schema_echo::members(site).is_some()
    {
        return;
    }
    out.0.extend(found);
}

fn proposals(site: &Site<'_>) -> Vec<Proposal> {
    let mut found = Vec::new();
    match &site.fault.kind {
        FaultKind::Required(name) => {
            let mut members = site.node.members();
            while let Some((key, value)) = members.next_ids() {
                let (outer, inner) = (site.node.tree.node(key), site.node.tree.node(value));
                let outer = outer.as_str().expect("keys are strings");
                if inner.len() > MEND_WIDTH || inner.get(name).is_none() {
                    continue;
                }
                match site.property(outer) {
                    None => found.extend(all(site, key, outer, inner)),
                    Some(schema) => found.extend(one(site, outer, inner, name, schema)),
                }
            }
        }
        FaultKind::UnknownKeys(_) => {
            if let Some((outer, key, inner)) = site.unknown() {
                found.extend(all(site, key, outer, inner));
            }
        }
        _ => {}
    }
    found
}

type Found = Option<Proposal>;

/// Proposes to move up all members of an undeclared object and to remove the object.
fn all(site: &Site<'_>, key: Id, outer: &str, inner: Node<'_>) -> Found {
    let wide = inner.len() > MEND_WIDTH || inner.is_empty() || inner.kind() != Kind::Object;
    if wide || !PLAIN.contains(&bare(outer).as_str()) || is_foreign(site, outer) {
        return None;
    }
    let movable = |name| site.declares(name) && site.node.get(name).is_none();
    if !inner.members().all(|(name, _)| movable(name)) {
        return None;
    }
    let mut edits = Vec::with_capacity(inner.len() + 1);
    let mut members = inner.members();
    while let Some((inner_key, _)) = members.next_ids() {
        let name = inner
            .tree
            .node(inner_key)
            .as_str()
            .expect("keys are strings");
        edits.push(up(site, outer, inner.id, inner_key, name));
    }
    edits.push(Edit::Remove {
        object: site.node.id,
        key,
        place: site.fault.pointer.join(outer),
    });
    proposal(edits)
}

/// Returns true if the value of this key may be for something other than this tool.
fn is_foreign(site: &Site<'_>, outer: &str) -> bool {
    let root = site.fault.pointer.is_root();
    // If no declared key was sent, this key may be the name of another tool.
    let alone = || !site.node.members().any(|(key, _)| site.declares(key));
    let is_envelope = is_envelope_key(outer, site.context.tool);
    is_envelope || root && (wrapped_arguments::names_another(site) || alone())
}

/// Proposes to move up one member of a nested object whose schema forbids it.
fn one(site: &Site<'_>, outer: &str, inner: Node<'_>, name: &str, schema: View<'_>) -> Found {
    let declared = schema.own_property(name);
    let closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(keyword) == Some(&Value::Bool(false)));
    let several = ["anyOf", "oneOf", "allOf", "patternProperties"]
        .iter()
        .any(|keyword| schema.get(keyword).is_some());
    if declared.is_some() || several || !closed {
        return None;
    }
    let mut members = inner.members();
    while let Some((key, _)) = members.next_ids() {
        if inner.tree.node(key).as_str() == Some(name) {
            return proposal(vec![up(site, outer, inner.id, key, name)]);
        }
    }
    None
}

fn up(site: &Site<'_>, outer: &str, object: Id, key: Id, name: &str) -> Edit {
    let place = &site.fault.pointer;
    Edit::Move {
        object,
        key,
        from: place.join(outer).join(name),
        target: Some(site.node.id),
        place: place.join(name),
    }
}

fn proposal(edits: Vec<Edit>) -> Found {
    let mut out = Proposals::default();
    out.edits(&RULE, edits);
    out.0.pop()
}
