//! Members that stand in one object and belong into another one, some levels up or down.

use serde_json::{Map, Value};

use crate::limits::{MEND_WIDTH, PLACE_LEVELS};
use crate::names::{holds_other, is_envelope_key};
use crate::report::Moved;
use crate::schema::{Schema, View, allowed_names, member, owner};
use crate::tree::{Kind, Node, Pointer, Tree};

/// The value and its schema.
#[derive(Clone, Copy)]
pub(super) struct Places<'p> {
    pub(super) tree: &'p Tree<'p>,
    pub(super) schema: &'p Schema,
}

/// A member: its name, what is declared for it, its value.
type Member<'p> = (&'p str, (Option<View<'p>>, Node<'p>));
/// The members of one object.
type Level<'p> = (Pointer, Vec<Member<'p>>);

/// A search for the objects on one level that declare a key.
struct Search<'s> {
    key: &'s str,
    place: Pointer,
    /// Where the key may go.
    free: Vec<Pointer>,
    /// Is the key there already, where it is declared?
    taken: bool,
    /// Is there another level?
    deeper: bool,
    /// Members that are still looked at.
    room: usize,
}

impl<'p> Places<'p> {
    /// Where a key belongs that `object` must not have: the objects inside it, or around it, that
    /// declare the key and lack it, on the nearest level that has such.
    pub(super) fn homes(self, object: &Pointer, keyword: &str, key: &str) -> Vec<Pointer> {
        let node = self.narrow(object);
        let here = keyword
            .rsplit_once('/')
            .and_then(|(h, _)| self.schema.view(h));
        let (Some(here), Some(_)) = (here, node) else {
            return Vec::new();
        };
        let names = allowed_names(self.schema, keyword).names;
        let mut above = Some(self.lifted(object));
        for level in 0..PLACE_LEVELS {
            let mut search = Search {
                key,
                place: object.clone(),
                free: Vec::new(),
                taken: false,
                deeper: false,
                room: MEND_WIDTH,
            };
            if !self.search(level, (here, node), &names, &mut search) {
                break;
            }
            let mut found = search.free;
            found.extend(above.as_ref().and_then(|inner| self.above(inner, key)));
            above = above.and_then(|inner| self.around(&inner));
            if !found.is_empty() || search.taken {
                return found;
            }
            if !search.deeper && above.as_ref().is_none_or(Pointer::is_root) {
                break;
            }
        }
        Vec::new()
    }

    /// Looks at the declared members of an object, so many levels down; says if that was all.
    fn search(
        self,
        level: usize,
        (schema, node): (View<'p>, Option<Node<'p>>),
        names: &[&str],
        search: &mut Search<'_>,
    ) -> bool {
        for name in names {
            let Some(room) = search.room.checked_sub(1) else {
                return false;
            };
            search.room = room;
            let Some(child) = schema.property(name) else {
                continue;
            };
            let own = match level > 0 || !search.deeper {
                true => child.resolve().own_properties(),
                false => None,
            };
            search.deeper |= own.is_some();
            let declares = level == 0 && declares(child, search.key);
            if !declares && (level == 0 || own.is_none()) {
                continue;
            }
            let inner = node.and_then(|node| node.get(name));
            match inner {
                Some(inner) if inner.kind() != Kind::Object => continue,
                Some(inner) if declares && !lacks(inner, search.key) => search.taken = true,
                _ if declares => search.free.push(search.place.join(name).join(search.key)),
                _ => {
                    let names = own.into_iter().flat_map(Map::keys);
                    let names: Vec<&str> = names.map(String::as_str).collect();
                    let here = search.place.size();
                    search.place.push(name);
                    if !self.search(level - 1, (child, inner), &names, search) {
                        return false;
                    }
                    search.place.truncate(here);
                }
            }
        }
        true
    }

    /// The object around this one, if that is a member which the schema declares.
    fn around(self, object: &Pointer) -> Option<Pointer> {
        owner(self.schema.document(), object)?;
        (object.split_last()).map(|(around, _)| self.lifted(&around))
    }

    /// The array that this object is the only element of, or the object itself. Of several
    /// elements each may have a key, and they cannot all go to one place.
    fn lifted(self, object: &Pointer) -> Pointer {
        let around = object.split_last().map(|(around, _)| around);
        let only = around.filter(|around| {
            let array = self.tree.at(around);
            array.is_some_and(|array| array.kind() == Kind::Array && array.len() == 1)
        });
        only.unwrap_or_else(|| object.clone())
    }

    /// The place of a key in the object around this one, if that declares it and lacks it.
    fn above(self, object: &Pointer, key: &str) -> Option<Pointer> {
        let (around, _) = object.split_last()?;
        let owner = owner(self.schema.document(), object)?;
        let free = lacks(self.tree.at(&around)?, key);
        (owner.object.own_property(key).is_some() && free).then(|| around.join(key))
    }

    /// Where a key stands that `object` lacks: in the one object inside it, or around it, that
    /// does not declare it and is not open to any key; on the nearest level that has such.
    pub(super) fn stray(self, object: &Pointer, keyword: &str, key: &str) -> Option<Moved> {
        let node = self.narrow(object)?;
        let mut level: Vec<Level<'p>> = Vec::new();
        let mut found = Vec::new();
        let mut deeper = false;
        for (name, value) in node.members() {
            if value.kind() != Kind::Object || is_envelope_key(name, None) {
                continue;
            }
            let declared = member(self.schema, keyword, name);
            deeper |= declared.is_some();
            if self.strays((declared, value), key) {
                found.push(object.join(name).join(key));
            }
        }
        let mut above = Some(object.clone());
        for depth in 0..PLACE_LEVELS {
            for (place, members) in &level {
                let strays = members
                    .iter()
                    .filter(|(_, member)| self.strays(*member, key));
                found.extend(strays.map(|(name, _)| place.join(name).join(key)));
            }
            found.extend(
                above
                    .as_ref()
                    .and_then(|inner| self.stray_above(inner, key)),
            );
            let several = found.len() > 1;
            if let Some(from) = found.pop() {
                let to = object.join(key);
                return (!several).then_some(Moved { from, to });
            }
            above = above.and_then(|inner| self.around(&inner));
            if depth == 0 && deeper {
                let members = node
                    .members()
                    .filter(|(name, _)| !is_envelope_key(name, None));
                let declared = |name: &str| member(self.schema, keyword, name);
                let members = members.map(|(name, value)| (name, (declared(name), value)));
                level.push((object.clone(), members.collect()));
            }
            level = self.next_level(&level, key);
            let members: usize = level.iter().map(|(_, members)| members.len()).sum();
            if members > MEND_WIDTH || (level.is_empty() && above.is_none()) {
                break;
            }
        }
        None
    }

    /// Does a key stand in this member, which does not declare it and is not open to any key?
    fn strays(self, (declared, value): (Option<View<'_>>, Node<'_>), key: &str) -> bool {
        value.len() <= MEND_WIDTH
            && value.get(key).is_some()
            && declared.is_none_or(|child| !takes(child, key))
    }

    /// The same in the object around this one.
    fn stray_above(self, object: &Pointer, key: &str) -> Option<Pointer> {
        let (around, _) = object.split_last()?;
        let around_schema = owner(self.schema.document(), object)?.object;
        let stands = self.narrow(&around)?.get(key).is_some();
        (stands && !takes_any(around_schema) && around_schema.own_property(key).is_none())
            .then(|| around.join(key))
    }

    /// The members of these members. What is not declared, or is open, may hold anything.
    fn next_level(self, level: &[Level<'p>], key: &str) -> Vec<Level<'p>> {
        let mut next = Vec::new();
        for (place, members) in level {
            for (name, (declared, value)) in members {
                let closed = declared.filter(|_| value.kind() == Kind::Object && !value.is_empty());
                let Some(child) = closed.filter(|child| !takes(*child, key)) else {
                    continue;
                };
                let inner = value.members().take(MEND_WIDTH + 1);
                let inner = inner.map(|(name, value)| (name, (child.property(name), value)));
                next.push((place.join(name), inner.collect()));
            }
        }
        next
    }

    /// Are all members of a member that is not allowed declared for the object around it, which
    /// lacks them?
    pub(super) fn is_wrapper(self, object: Node<'_>, keyword: &str, key: &str) -> bool {
        let here = keyword
            .rsplit_once('/')
            .and_then(|(p, _)| self.schema.view(p));
        let inner = object.get(key).filter(|inner| inner.kind() == Kind::Object);
        let (Some(here), Some(inner)) = (here, inner) else {
            return false;
        };
        let fits = |name| here.property(name).is_some() && object.get(name).is_none();
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

/// Returns true if a schema, or a branch of it, declares a member.
fn declares(schema: View<'_>, name: &str) -> bool {
    let schema = schema.resolve();
    let mut all = std::iter::once(schema).chain(schema.alternatives().take(MEND_WIDTH));
    all.any(|schema| schema.property(name).is_some())
}

/// Returns true if a schema declares a member, or takes members of any name.
fn takes(schema: View<'_>, name: &str) -> bool {
    declares(schema, name) || takes_any(schema.resolve())
}

/// Returns true for the schema of an object whose keys are up to the caller.
fn takes_any(schema: View<'_>) -> bool {
    let rest = schema.get("additionalProperties");
    rest.is_some_and(|rest| *rest != Value::Bool(false))
        || schema.get("patternProperties").is_some()
        || schema.own_properties().is_none_or(Map::is_empty)
}

fn lacks(node: Node<'_>, key: &str) -> bool {
    node.kind() == Kind::Object && node.len() <= MEND_WIDTH && node.get(key).is_none()
}
