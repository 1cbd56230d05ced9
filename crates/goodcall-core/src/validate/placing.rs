//! Members that stand in one object and belong into another one, a level up or down.

use serde_json::{Map, Value};

use super::envelope::{holds_other, is_envelope_key};
use crate::limits::MEND_WIDTH;
use crate::report::Moved;
use crate::schema::{Schema, member, names, owner, property, resolve};
use crate::tree::{Kind, Node, Pointer, Tree};

/// The value and its schema.
#[derive(Clone, Copy)]
pub(super) struct Places<'p> {
    pub(super) tree: &'p Tree<'p>,
    pub(super) schema: &'p Schema,
}

impl<'p> Places<'p> {
    /// Where a key belongs that `object` must not have: the one object inside it, or around it,
    /// that declares the key and lacks it.
    pub(super) fn home(self, object: &Pointer, keyword: &str, key: &str) -> Option<Moved> {
        let node = self.narrow(object)?;
        let document = self.schema.document();
        let here = self.schema.at(keyword.rsplit_once('/')?.0)?;
        let (names, _) = names(self.schema, keyword);
        if names.len() > MEND_WIDTH {
            return None;
        }
        let inside = names.into_iter().filter(|name| {
            let child = property(document, here, name);
            let declares = child.is_some_and(|child| declares(document, child, key));
            declares && node.get(name).is_none_or(|child| lacks(child, key))
        });
        let inside = inside.map(|name| object.join(name).join(key));
        only(inside.chain(self.above(object, key))).map(|to| Moved {
            from: object.join(key),
            to,
        })
    }

    /// The place of a key in the object around this one, if that declares it and lacks it.
    fn above(self, object: &Pointer, key: &str) -> Option<Pointer> {
        let (around, _) = object.split_last()?;
        let (map, _) = owner(self.schema.document(), object)?;
        let declared = map.get("properties").and_then(|p| p.get(key));
        let free = lacks(self.tree.at(&around)?, key);
        (declared.is_some() && free).then(|| around.join(key))
    }

    /// Where a key stands that `object` lacks: in the one object inside it, or around it, that
    /// does not declare it and is not open to any key.
    pub(super) fn stray(self, object: &Pointer, keyword: &str, key: &str) -> Option<Moved> {
        let node = self.narrow(object)?;
        let document = self.schema.document();
        let inside = node.members().filter(|(name, value)| {
            let declared = member(self.schema, keyword, name);
            value.len() <= MEND_WIDTH
                && value.get(key).is_some()
                && !is_envelope_key(name, None)
                && declared.is_none_or(|child| !takes(document, child, key))
        });
        let inside = inside.map(|(name, _)| object.join(name).join(key));
        let above = object.split_last().and_then(|(around, _)| {
            let (map, _) = owner(document, object)?;
            let stands = self.narrow(&around)?.get(key).is_some();
            (stands && !takes_any(map) && map.get("properties")?.get(key).is_none())
                .then(|| around.join(key))
        });
        only(inside.chain(above)).map(|from| Moved {
            from,
            to: object.join(key),
        })
    }

    /// Are all members of a member that is not allowed declared for the object around it, which
    /// lacks them?
    pub(super) fn is_wrapper(self, object: Node<'_>, keyword: &str, key: &str) -> bool {
        let document = self.schema.document();
        let here = keyword
            .rsplit_once('/')
            .and_then(|(p, _)| self.schema.at(p));
        let inner = object.get(key).filter(|inner| inner.kind() == Kind::Object);
        let (Some(here), Some(inner)) = (here, inner) else {
            return false;
        };
        let fits = |name| property(document, here, name).is_some() && object.get(name).is_none();
        !inner.is_empty()
            && !holds_other(key)
            && inner.len().max(object.len()) <= MEND_WIDTH
            && inner.members().all(|(name, _)| fits(name))
    }

    /// The object at a place, if it is not too wide to be compared with others.
    fn narrow(self, place: &Pointer) -> Option<Node<'p>> {
        let node = self.tree.at(place)?;
        (node.kind() == Kind::Object && node.len() <= MEND_WIDTH).then_some(node)
    }
}

/// Does a schema, or a branch of it, declare a member?
fn declares(document: &Value, schema: &Value, name: &str) -> bool {
    let schema = resolve(document, schema);
    let branches = ["anyOf", "oneOf"].into_iter();
    let branches = branches.filter_map(|keyword| schema.get(keyword)?.as_array());
    let mut all = std::iter::once(schema).chain(branches.flatten().take(MEND_WIDTH));
    all.any(|schema| property(document, schema, name).is_some())
}

/// Does a schema declare a member, or take members of any name?
fn takes(document: &Value, schema: &Value, name: &str) -> bool {
    let map = resolve(document, schema).as_object();
    declares(document, schema, name) || map.is_none_or(takes_any)
}

/// Is this the schema of an object whose keys are up to the caller?
fn takes_any(map: &Map<String, Value>) -> bool {
    let rest = map.get("additionalProperties");
    let properties = map.get("properties").and_then(Value::as_object);
    rest.is_some_and(|rest| *rest != Value::Bool(false))
        || map.contains_key("patternProperties")
        || properties.is_none_or(Map::is_empty)
}

fn lacks(node: Node<'_>, key: &str) -> bool {
    node.kind() == Kind::Object && node.len() <= MEND_WIDTH && node.get(key).is_none()
}

/// The only one.
fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
