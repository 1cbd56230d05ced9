//! Adds a missing required member with the default of its schema.

use serde_json::Value;

use super::enum_spelling::folded;
use crate::limits::{MEND_WIDTH, SEARCHED_LEVELS};
use crate::mend::site::{Proposals, Site};
use crate::names::{could_mean, is_envelope_key};
use crate::report::Types;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::{View, describe, owner};
use crate::tree::{Edit, NewValue, Node};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::MissingDefault,
    level: Level::Safe,
    what: "Adds a required member that is missing, with the default of its schema, also where only \
           the last sentence of its description names it (`Default is true.`).",
    why: "The tool itself says which value it takes when nothing is sent.",
    not_when: &[
        "The default does not match its own schema.",
        "A key that could be meant for the member was sent: under a similar name, in an object \
         inside or around, in an envelope, or with a key or value that is allowed for the \
         member.",
    ],
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
    let default = property.get("default").cloned();
    let default = default.or_else(|| described_default(property));
    if let Some(default) = default.filter(|_| !was_sent(site, name, property)) {
        let (object, place) = (site.node.id, site.fault.pointer.join(name));
        let value = NewValue::Value(default);
        out.whole(
            &RULE,
            [Edit::Add {
                object,
                place,
                value,
            }],
        );
    }
}

/// Returns the default that a sentence of the description of a member is about: `Default is true.`
/// Nothing may stand before it in its sentence (`If x is set, default is 5`), and the description
/// speaks of one default only.
fn described_default(property: View<'_>) -> Option<Value> {
    let text = property.get("description")?.as_str()?;
    let lower = text.to_ascii_lowercase();
    let mut found = lower.match_indices("default");
    let (Some((start, word)), None) = (found.next(), found.next()) else {
        return None;
    };
    let before = lower[..start].trim_end_matches(' ');
    let starts_sentence = |text: &str| {
        let text = text.trim_end_matches(' ');
        text.is_empty() || text.ends_with(['.', '!', ';', '(', '[', '\n'])
    };
    if !starts_sentence(before) && !before.strip_suffix("the").is_some_and(starts_sentence) {
        return None;
    }
    let rest = text[start + word.len()..].trim_start_matches('s');
    let rest = rest.strip_prefix(" value").unwrap_or(rest);
    let said = [" is ", " to ", ": ", " = "];
    let rest = said.iter().find_map(|word| rest.strip_prefix(word))?;
    let rest = rest.trim_end().trim_end_matches(['.', ')', ']', ';']);
    let quoted = ['"', '\'', '`']
        .into_iter()
        .find_map(|quote| rest.strip_prefix(quote)?.strip_suffix(quote));
    match quoted {
        // `'a' or 'b'` is not one value.
        Some(text) => (!text.contains(['"', '\'', '`'])).then(|| Value::from(text)),
        None => serde_json::from_str(&rest.to_ascii_lowercase()).ok(),
    }
}

/// Returns true if an undeclared key could have been sent for this member.
fn was_sent(site: &Site<'_>, name: &str, property: View<'_>) -> bool {
    if site.node.is_empty() && site.member.is_none() {
        return false;
    }
    // A wide object is not searched, so the member may be anywhere in it.
    if site.is_wide() {
        return true;
    }
    let meant = Meant::of(name, property);
    let beside = site.undeclared().iter().any(|&(_, key, value)| {
        is_envelope_key(key, site.context.tool)
            || meant.is_member(key, value)
            || meant.holds(value, SEARCHED_LEVELS)
    });
    beside || stands_around(site, name)
}

/// The features by which another key or value is recognised as this member.
struct Meant<'m> {
    name: &'m str,
    /// The allowed values, if the schema lists them.
    allowed: Option<Vec<String>>,
    types: Types,
}

impl<'m> Meant<'m> {
    fn of(name: &'m str, property: View<'_>) -> Self {
        let allowed = listed_texts(property);
        Self {
            name,
            allowed: (!allowed.is_empty()).then_some(allowed),
            types: describe(property).types,
        }
    }

    fn is_allowed(&self, word: &str) -> bool {
        let allowed = self.allowed.as_deref().unwrap_or_default();
        folded(word).is_some_and(|word| allowed.contains(&word))
    }

    /// Returns true if this key with its value may have been sent for the member: `"append": true`
    /// and `"type": "append"` for a `mode` that allows `append`, `"ccy": "EUR"` for any string.
    fn is_member(&self, key: &str, value: Node<'_>) -> bool {
        let fits = match &self.allowed {
            Some(_) => (value.as_str())
                .is_some_and(|text| self.is_allowed(text) || text.contains(self.name)),
            None => self.types.is_empty() || self.types.admits(value.kind()),
        };
        fits || could_mean(key, self.name) || self.is_allowed(key)
    }

    /// Returns true if this list or object holds such a member.
    fn holds(&self, value: Node<'_>, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let inside = |key: &str, value| self.is_member(key, value) || self.holds(value, depth);
        value.len() > MEND_WIDTH
            || value.members().any(|(key, value)| inside(key, value))
            || value.elements().any(|value| inside("", value))
    }
}

/// Returns the strings that a schema or one of its branches lists as allowed.
fn listed_texts(schema: View<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    for variant in schema.resolve().variants() {
        let listed = variant.get("enum").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().chain(variant.get("const"));
        texts.extend(listed.filter_map(|value| folded(value.as_str()?)));
    }
    texts
}

/// Returns true if the object around has an undeclared key that could mean this member.
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
            .any(|(key, _)| could_mean(key, name) && owner(document, &parent.join(key)).is_none())
}
