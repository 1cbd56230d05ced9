//! Finds keys that were sent in one object and are declared for another, some levels up or down.

use serde_json::{Map, Value};

use crate::limits::{MEND_WIDTH, PLACE_LEVELS};
use crate::names::{holds_other, is_envelope_key};
use crate::report::Moved;
use crate::schema::{Schema, View, member, owner};
use crate::tree::{Kind, Node, Pointer, Tree};

/// The arguments and their schema, in which a key's proper place is looked for.
#[derive(Clone, Copy)]
pub(super) struct KeyPlaces<'p> {
    pub(super) tree: &'p Tree<'p>,
    pub(super) schema: &'p Schema,
}

/// A member that was sent.
#[derive(Clone, Copy)]
struct SentMember<'p> {
    name: &'p str,
    value: Node<'p>,
    /// What the schema declares for it.
    declared: Option<View<'p>>,
}

/// The object around one that is a declared member of it.
struct DeclaredMember<'p> {
    around: Pointer,
    /// The schema of the object around it, which declares the member.
    schema: View<'p>,
}

/// An object with its members.
struct SentObject<'p> {
    place: Pointer,
    members: Vec<SentMember<'p>>,
}

/// A search, on one level below an object, for objects that declare a key.
struct LevelSearch<'s> {
    key: &'s str,
    /// The object that is being looked at.
    place: Pointer,
    /// The places that the key may move to.
    free: Vec<Pointer>,
    /// True if an object that declares the key has it already.
    taken: bool,
    /// True if there is another level below.
    deeper: bool,
    /// The number of members that may still be looked at.
    left: usize,
}

/// The search looked at more members than it may.
struct TooWide;

impl<'p> KeyPlaces<'p> {
    /// The places for a key that `object` must not have: in the objects inside it, or around it,
    /// that declare the key and lack it, on the nearest level that has such objects.
    /// `names` are those that `keyword` allows.
    pub(super) fn places_for(
        self,
        object: &Pointer,
        (keyword, names): (&str, &[&str]),
        key: &str,
    ) -> Vec<Pointer> {
        let schema = self.holder(keyword);
        let found = schema.and_then(|schema| self.search_levels(object, schema, names, key));
        found.unwrap_or_default()
    }

    fn search_levels(
        self,
        object: &Pointer,
        schema: View<'_>,
        names: &[&str],
        key: &str,
    ) -> Option<Vec<Pointer>> {
        let node = self.narrow(object)?;
        let mut above = Some(self.lifted(object));
        for level in 0..PLACE_LEVELS {
            let mut search = LevelSearch {
                key,
                place: object.clone(),
                free: Vec::new(),
                taken: false,
                deeper: false,
                left: MEND_WIDTH,
            };
            search.below(level, schema, Some(node), names).ok()?;
            let mut found = search.free;
            let inner = above.take().and_then(|inner| self.declared(inner));
            found.extend(
                inner
                    .as_ref()
                    .and_then(|inner| self.place_above(inner, key)),
            );
            above = inner.map(|inner| self.lifted(&inner.around));
            if !found.is_empty() || search.taken {
                return Some(found);
            }
            if !search.deeper && above.as_ref().is_none_or(Pointer::is_root) {
                break;
            }
        }
        None
    }

    /// The subschema that holds a keyword.
    fn holder(self, keyword: &str) -> Option<View<'p>> {
        let (place, _) = keyword.rsplit_once('/')?;
        self.schema.view(place)
    }

    /// Where an object stands, if it is a declared member of another.
    fn declared(self, object: Pointer) -> Option<DeclaredMember<'p>> {
        let schema = owner(self.schema.document(), &object)?.object;
        let (around, _) = object.split_last()?;
        Some(DeclaredMember { around, schema })
    }

    /// The array that this object is the only element of, or the object itself. Of several
    /// elements each may have the key, and they cannot all move to one place.
    fn lifted(self, object: &Pointer) -> Pointer {
        let around = object.split_last().map(|(around, _)| around);
        let only = around.filter(|around| {
            let array = self.tree.at(around);
            array.is_some_and(|array| array.kind() == Kind::Array && array.len() == 1)
        });
        only.unwrap_or_else(|| object.clone())
    }

    /// The place of a key in the object around this one, if that declares it and lacks it.
    fn place_above(self, inner: &DeclaredMember<'_>, key: &str) -> Option<Pointer> {
        let DeclaredMember { around, schema } = inner;
        let free = lacks(self.tree.at(around)?, key);
        (schema.own_property(key).is_some() && free).then(|| around.join(key))
    }

    /// Finds a key that `object` lacks in the one object inside it, or around it, that does not
    /// declare the key and is not open to any key; on the nearest level that has such an object.
    pub(super) fn find_stray(self, object: &Pointer, keyword: &str, key: &str) -> Option<Moved> {
        let node = self.narrow(object)?;
        let objects = node
            .members()
            .filter(|(name, value)| value.kind() == Kind::Object && !is_envelope_key(name, None));
        let members: Vec<_> = objects
            .map(|(name, value)| SentMember {
                name,
                value,
                declared: member(self.schema, keyword, name),
            })
            .collect();
        // Most calls are flat: nothing is allocated for them.
        let mut level = Vec::new();
        if !members.is_empty() {
            level.push(SentObject {
                place: object.clone(),
                members,
            });
        }
        let mut above = Some(object.clone());
        for _ in 0..PLACE_LEVELS {
            let mut found: Vec<Pointer> = Vec::new();
            for SentObject { place, members } in &level {
                let strays = members.iter().filter(|member| member.has_stray(key));
                found.extend(strays.map(|member| place.join(member.name).join(key)));
            }
            let inner = above.take().and_then(|inner| self.declared(inner));
            found.extend(
                inner
                    .as_ref()
                    .and_then(|inner| self.stray_above(inner, key)),
            );
            if let Some(from) = found.pop() {
                let to = object.join(key);
                return found.is_empty().then_some(Moved { from, to });
            }
            above = inner.map(|inner| self.lifted(&inner.around));
            level = level
                .iter()
                .flat_map(|object| object.inner_objects(key))
                .collect();
            let members: usize = level.iter().map(|object| object.members.len()).sum();
            if members > MEND_WIDTH || (level.is_empty() && above.is_none()) {
                break;
            }
        }
        None
    }

    /// The place of a key in the object around this one, if that neither declares the key nor is
    /// open to any key.
    fn stray_above(self, inner: &DeclaredMember<'_>, key: &str) -> Option<Pointer> {
        let DeclaredMember { around, schema } = inner;
        let sent = self.narrow(around)?.get(key).is_some();
        let strays = sent && !takes_any_key(*schema) && schema.own_property(key).is_none();
        strays.then(|| around.join(key))
    }

    /// Returns true if all members of a member that is not allowed are declared for the object
    /// around it, which lacks them.
    pub(super) fn is_wrapper(self, object: Node<'_>, keyword: &str, key: &str) -> bool {
        let inner = object.get(key).filter(|inner| inner.kind() == Kind::Object);
        let (Some(schema), Some(inner)) = (self.holder(keyword), inner) else {
            return false;
        };
        let fits = |name| schema.property(name).is_some() && object.get(name).is_none();
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

impl LevelSearch<'_> {
    /// Looks at the declared members of an object, this many levels down.
    fn below(
        &mut self,
        level: usize,
        schema: View<'_>,
        node: Option<Node<'_>>,
        names: &[&str],
    ) -> Result<(), TooWide> {
        for name in names {
            self.left = self.left.checked_sub(1).ok_or(TooWide)?;
            let Some(child) = schema.property(name) else {
                continue;
            };
            let mut own = None;
            if level > 0 || !self.deeper {
                own = child.resolve().own_properties();
            }
            self.deeper |= own.is_some();
            let declares = level == 0 && declares(child, self.key);
            if !declares && (level == 0 || own.is_none()) {
                continue;
            }
            let inner = node.and_then(|node| node.get(name));
            match inner {
                Some(inner) if inner.kind() != Kind::Object => {}
                Some(inner) if declares && !lacks(inner, self.key) => self.taken = true,
                _ if declares => self.free.push(self.place.join(name).join(self.key)),
                _ => {
                    let names = own.into_iter().flat_map(Map::keys).map(String::as_str);
                    let here = self.place.size();
                    self.place.push(name);
                    self.below(level - 1, child, inner, &names.collect::<Vec<_>>())?;
                    self.place.truncate(here);
                }
            }
        }
        Ok(())
    }
}

impl SentMember<'_> {
    /// Returns true if this member is an object that has a key which it does not declare and is
    /// not open to.
    fn has_stray(&self, key: &str) -> bool {
        self.value.len() <= MEND_WIDTH
            && self.value.get(key).is_some()
            && self.declared.is_none_or(|schema| !takes(schema, key))
    }
}

impl<'p> SentObject<'p> {
    /// The members that are objects of a declared shape. A member that is not declared, or is open
    /// to the key, may hold anything.
    fn inner_objects(&self, key: &str) -> impl Iterator<Item = SentObject<'p>> {
        self.members.iter().filter_map(move |member| {
            let is_object = member.value.kind() == Kind::Object && !member.value.is_empty();
            let schema = member.declared.filter(|_| is_object)?;
            if takes(schema, key) {
                return None;
            }
            let inner = member.value.members().take(MEND_WIDTH + 1);
            let inner = inner.map(|(name, value)| SentMember {
                name,
                value,
                declared: schema.property(name),
            });
            Some(SentObject {
                place: self.place.join(member.name),
                members: inner.collect(),
            })
        })
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
    declares(schema, name) || takes_any_key(schema.resolve())
}

/// Returns true for the schema of an object whose keys are up to the caller.
fn takes_any_key(schema: View<'_>) -> bool {
    let rest = schema.get("additionalProperties");
    rest.is_some_and(|rest| *rest != Value::Bool(false))
        || schema.get("patternProperties").is_some()
        || schema.own_properties().is_none_or(Map::is_empty)
}

fn lacks(node: Node<'_>, key: &str) -> bool {
    node.kind() == Kind::Object && node.len() <= MEND_WIDTH && node.get(key).is_none()
}
