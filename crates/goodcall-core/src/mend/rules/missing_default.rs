//! A required member that is missing, with a default in the schema.

use super::near::is_near;
use crate::limits::MEND_WIDTH;
use crate::mend::edit::{New, Op};
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::schema::owner;
use crate::tree::{Kind, Node};
use crate::validate::{FaultKind, is_envelope_key};

pub(crate) const RULE: Rule = Rule {
    name: "missing-default",
    level: Level::Safe,
    what: "Adds a required member that is missing with the default that its schema names.",
    why: "The tool itself says what it takes when nothing is sent. A default that does not match \
          its own schema is not used, and a value without a default is never invented. Nor is a \
          default used where a key that could be meant for the member was sent: under a similar \
          name, in an object inside or around, or in an envelope.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["unit"],
                    "properties": {"unit": {"type": "string", "default": "celsius"}}}"#,
        raw: "{}",
        mended: r#"{"unit":"celsius"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let FaultKind::Required(name) = &site.fault.kind else {
        return;
    };
    let default = site
        .property(name)
        .and_then(|property| property.get("default"));
    if let Some(default) = default.filter(|_| !was_sent(site, name)) {
        let (object, place) = (site.node.id, site.fault.pointer.join(name));
        let value = New::Value(default.clone());
        out.whole(
            &RULE,
            [Op::Add {
                object,
                place,
                value,
            }],
        );
    }
}

/// Could any key that was sent, and that nothing declares where it stands, be meant for this one?
fn was_sent(site: &Site<'_>, name: &str) -> bool {
    if site.node.is_empty() && site.member.is_none() {
        return false;
    }
    // Too much to look through: then nothing can be told.
    if site.is_wide() {
        return true;
    }
    let holds = |value: Node<'_>| {
        value.kind() == Kind::Object
            && (value.len() > MEND_WIDTH || value.members().any(|(key, _)| is_near(key, name)))
    };
    let beside = site.undeclared().into_iter().any(|(_, key, value)| {
        is_near(key, name) || is_envelope_key(key, site.context.tool) || holds(value)
    });
    beside || stands_around(site, name)
}

/// Does the object around have such a key that it does not declare?
fn stands_around(site: &Site<'_>, name: &str) -> bool {
    let (Some((object, _)), Some((parent, _))) = (site.member, site.fault.pointer.split_last())
    else {
        return false;
    };
    let around = site.node.tree.node(object);
    let document = site.context.schema.document();
    around.len() > MEND_WIDTH
        || around
            .members()
            .any(|(key, _)| is_near(key, name) && owner(document, &parent.join(key)).is_none())
}
