//! Moves members into a nested object that they were sent beside.

use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::{View, owner};
use crate::tree::{Edit, NewValue};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::KeysDown,
    level: Level::Safe,
    what: "Moves members into the nested object that declares them, which is added if it is \
           missing.",
    why: "The object that holds the members does not declare them, exactly one nested object \
          does and lacks them, and only the new placement is valid.",
    not_when: &["Another member of the same object declares the key too."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["range"], "properties": {"range":
                    {"type": "object", "required": ["from", "to"], "properties":
                     {"from": {"type": "integer"}, "to": {"type": "integer"}}}}}"#,
        raw: r#"{"from": 1, "to": 9}"#,
        mended: r#"{"range":{"from":1,"to":9}}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let FaultKind::Required(name) = &site.fault.kind else {
        return;
    };
    into_missing(site, name, out);
    into_present(site, name, out);
}

/// Adds the missing object `name` and moves its members into it from the object around.
fn into_missing(site: &Site<'_>, name: &str, out: &mut Proposals) {
    let Some(inner) = site.property(name).and_then(View::own_properties) else {
        return;
    };
    let place = site.fault.pointer.join(name);
    let mut edits = vec![Edit::Add {
        object: site.node.id,
        place: place.clone(),
        value: NewValue::empty_object(),
    }];
    for &(key, sent, _) in site.undeclared() {
        if !inner.contains_key(sent) {
            continue;
        }
        if declared_elsewhere(site, name, sent) {
            return;
        }
        edits.push(Edit::Move {
            object: site.node.id,
            key,
            from: site.fault.pointer.join(sent),
            target: None,
            place: place.join(sent),
        });
    }
    if edits.len() > 1 {
        out.edits(&RULE, edits);
    }
}

/// Returns true if another member of the same object declares this key too: in its schema, in a
/// branch of it or for its elements.
fn declared_elsewhere(site: &Site<'_>, name: &str, key: &str) -> bool {
    let members = site.subschema().into_iter().flat_map(View::properties);
    members
        .filter(|(other, _)| *other != name)
        .any(|(_, schema)| {
            let mut schemas = schema.resolve().variants_and_elements();
            schemas.any(|schema| schema.own_property(key).is_some())
        })
}

/// Moves the missing member `name` into a nested object from the object around.
fn into_present(site: &Site<'_>, name: &str, out: &mut Proposals) {
    let Some((parent, _)) = site.fault.pointer.split_last() else {
        return;
    };
    let (Some((object, _)), true) = (site.member, site.declares(name)) else {
        return;
    };
    let from = parent.join(name);
    if owner(site.context.schema.document(), &from).is_some() {
        return;
    }
    let around = site.node.tree.node(object);
    if around.len() > MEND_WIDTH {
        return;
    }
    let rivals = around
        .members()
        .filter(|(_, value)| value.id != site.node.id && value.kind() == site.node.kind());
    if rivals.count() > 0 {
        return;
    }
    let mut members = around.members();
    while let Some((key, _)) = members.next_ids() {
        if site.node.tree.node(key).as_str() == Some(name) {
            let place = site.fault.pointer.join(name);
            let target = Some(site.node.id);
            out.edits(
                &RULE,
                [Edit::Move {
                    object,
                    key,
                    from,
                    target,
                    place,
                }],
            );
            return;
        }
    }
}
