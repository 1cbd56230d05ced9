//! Members that stand in one object and belong into another one, some levels up or down.

use serde_json::{Map, Value};

use super::envelope::{holds_other, is_envelope_key};
use crate::limits::{MEND_WIDTH, PLACE_LEVELS};
use crate::report::Moved;
use crate::schema::{Schema, member, names, owner, property, resolve};
use crate::tree::{Kind, Node, Pointer, Tree};

/// The value and its schema.
#[derive(Clone, Copy)]
pub(super) struct Places<'p> {
    pub(super) tree: &'p Tree<'p>,
    pub(super) schema: &'p Schema,
}

/// An object that is looked into: its place, what the schema says of it, and its value if it is
/// there.
type Inside<'p> = (Pointer, &'p Value, Option<Node<'p>>);

impl<'p> Places<'p> {
    /// Where a key belongs that `object` must not have: the objects inside it, or around it, that
    /// declare the key and lack it, on the nearest level that has such.
    pub(super) fn homes(self, object: &Pointer, keyword: &str, key: &str) -> Vec<Pointer> {
        let Some(node) = self.narrow(object) else {
            return Vec::new();
        };
        let here = keyword
            .rsplit_once('/')
            .and_then(|(h, _)| self.schema.at(h));
        let Some(here) = here else { return Vec::new() };
        let (first, _) = names(self.schema, keyword);
        let document = self.schema.document();
        let mut level = self.children(&(object.clone(), here, Some(node)), &first);
        let mut above = Some(object.clone());
        for _ in 0..PLACE_LEVELS {
            if level.len() > MEND_WIDTH {
                break;
            }
            let declaring = level
                .iter()
                .filter(|(_, child, _)| declares(document, child, key));
            let (free, taken): (Vec<_>, Vec<_>) =
                declaring.partition(|(.., node)| node.is_none_or(|node| lacks(node, key)));
            let free = free.into_iter().map(|(place, ..)| place.join(key));
            let around = above.as_ref().and_then(|inner| self.above(inner, key));
            let found: Vec<Pointer> = free.chain(around).collect();
            if !found.is_empty() || !taken.is_empty() {
                return found;
            }
            let inner = |inside| self.children(inside, &own(document, inside.1));
            level = level.iter().flat_map(inner).take(MEND_WIDTH + 1).collect();
            above = above.and_then(|inner| self.around(&inner));
        }
        Vec::new()
    }

    /// The members of an object that are declared, where they are objects or not there.
    fn children(self, (place, schema, node): &Inside<'p>, names: &[&str]) -> Vec<Inside<'p>> {
        let child = |name: &&str| {
            let declared = property(self.schema.document(), schema, name)?;
            let inner = node.and_then(|node| node.get(name));
            let object = inner.is_none_or(|inner| inner.kind() == Kind::Object);
            object.then(|| (place.join(name), declared, inner))
        };
        names
            .iter()
            .take(MEND_WIDTH + 1)
            .filter_map(child)
            .collect()
    }

    /// The object around this one, if that is a member which the schema declares.
    fn around(self, object: &Pointer) -> Option<Pointer> {
        owner(self.schema.document(), object)?;
        object.split_last().map(|(around, _)| around)
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
    /// does not declare it and is not open to any key; on the nearest level that has such.
    pub(super) fn stray(self, object: &Pointer, keyword: &str, key: &str) -> Option<Moved> {
        let node = self.narrow(object)?;
        let document = self.schema.document();
        let mut level: Vec<(Pointer, Option<&Value>, Node<'_>)> = Vec::new();
        for (name, value) in node.members() {
            if !is_envelope_key(name, None) {
                level.push((object.join(name), member(self.schema, keyword, name), value));
            }
        }
        let mut above = Some(object.clone());
        for _ in 0..PLACE_LEVELS {
            let inside = level.iter().filter(|(_, declared, value)| {
                value.len() <= MEND_WIDTH
                    && value.get(key).is_some()
                    && declared.is_none_or(|child| !takes(document, child, key))
            });
            let inside = inside.map(|(place, ..)| place.join(key));
            let around = above.as_ref().and_then(|inner| {
                let (around, _) = inner.split_last()?;
                let (map, _) = owner(document, inner)?;
                let stands = self.narrow(&around)?.get(key).is_some();
                (stands && !takes_any(map) && map.get("properties")?.get(key).is_none())
                    .then(|| around.join(key))
            });
            let mut found = inside.chain(around);
            if let Some(from) = found.next() {
                let to = object.join(key);
                return found.next().is_none().then_some(Moved { from, to });
            }
            let mut next = Vec::new();
            for (place, declared, value) in &level {
                // What is not declared, or open, may hold anything.
                let closed = declared.filter(|child| !takes(document, child, key));
                let Some(child) = closed.filter(|_| value.kind() == Kind::Object) else {
                    continue;
                };
                for (name, value) in value.members().take(MEND_WIDTH) {
                    next.push((place.join(name), property(document, child, name), value));
                }
            }
            if next.len() > MEND_WIDTH {
                return None;
            }
            level = next;
            above = above.and_then(|inner| self.around(&inner));
        }
        None
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

/// The names of the members that a schema itself declares.
fn own<'d>(document: &'d Value, schema: &'d Value) -> Vec<&'d str> {
    let properties = resolve(document, schema).get("properties");
    let names = properties.and_then(Value::as_object).into_iter();
    names.flat_map(Map::keys).map(String::as_str).collect()
}
