//! A required member that is missing, with a default in the schema.

use serde_json::Value;

use super::enum_spelling::folded;
use super::near::is_near;
use crate::limits::MEND_WIDTH;
use crate::mend::edit::{New, Op};
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::{Level, Types};
use crate::schema::{describe, owner};
use crate::tree::Node;
use crate::validate::{FaultKind, is_envelope_key};

pub(crate) const RULE: Rule = Rule {
    name: "missing-default",
    level: Level::Safe,
    what: "Adds a required member that is missing with the default that its schema names.",
    why: "The tool itself says what it takes when nothing is sent. A default that does not match \
          its own schema is not used, and a value without a default is never invented. Nor is a \
          default used where a key that could be meant for the member was sent: under a similar \
          name, in an object inside or around, in an envelope, or with a key or value that is \
          allowed for the member.",
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
    let Some(property) = site.property(name) else {
        return;
    };
    if let Some(default) = property
        .get("default")
        .filter(|_| !was_sent(site, name, property))
    {
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
fn was_sent(site: &Site<'_>, name: &str, property: &Value) -> bool {
    if site.node.is_empty() && site.member.is_none() {
        return false;
    }
    // Too much to look through: then nothing can be told.
    if site.is_wide() {
        return true;
    }
    let meant = Meant::of(site, name, property);
    let beside = site.undeclared().into_iter().any(|(_, key, value)| {
        is_envelope_key(key, site.context.tool) || meant.is_member(key, value) || meant.holds(value)
    });
    beside || stands_around(site, name)
}

/// What may be meant for a member.
struct Meant<'m> {
    name: &'m str,
    /// The values that are allowed, if the schema lists them.
    allowed: Option<Vec<String>>,
    types: Types,
}

impl<'m> Meant<'m> {
    fn of(site: &Site<'_>, name: &'m str, property: &Value) -> Self {
        let allowed = property.get("enum").and_then(Value::as_array);
        let word = |value: &Value| value.as_str().and_then(folded);
        Self {
            name,
            allowed: allowed.map(|values| values.iter().filter_map(word).collect()),
            types: describe(site.context.schema.document(), property).types,
        }
    }

    fn is_allowed(&self, word: &str) -> bool {
        let allowed = self.allowed.as_deref().unwrap_or_default();
        folded(word).is_some_and(|word| allowed.contains(&word))
    }

    /// `"append": true` and `"type": "append"` may be for a `mode` that may be `append`; `"ccy":
    /// "EUR"` for any text.
    fn is_member(&self, key: &str, value: Node<'_>) -> bool {
        let fits = match &self.allowed {
            Some(_) => value.as_str().is_some_and(|text| self.is_allowed(text)),
            None => self.types.is_empty() || self.types.admits(value.kind()),
        };
        fits || is_near(key, self.name) || self.is_allowed(key)
    }

    fn holds(&self, value: Node<'_>) -> bool {
        let mut members = value.members();
        value.len() > MEND_WIDTH || members.any(|(key, value)| self.is_member(key, value))
    }
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
