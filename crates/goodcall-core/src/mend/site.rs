//! The view that a rule gets: one fault, the faulty value, and the schema that it violates.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::planned_edit::PlannedEdit;
use crate::limits::{Limits, MEND_WIDTH};
use crate::policy::Policy;
use crate::report::Types;
use crate::rule::Rule;
use crate::schema::{
    CallSchema, KeySpelling, Schema, View, declarations, describe, is_required, schema_for,
};
use crate::tree::{Edit, Id, Kind, NewValue, Node, Pointer, Tree, unescape};
use crate::validate::{Fault, FaultKind};

/// The inputs of a mend besides the value.
#[derive(Clone, Copy)]
pub(crate) struct Task<'c> {
    pub(crate) schema: &'c Schema,
    pub(crate) policy: &'c Policy,
    pub(crate) limits: &'c Limits,
    pub(crate) tool: Option<&'c str>,
    pub(crate) keys: KeySpelling,
    /// Reading the text took a guess at where its members begin and end.
    pub(crate) has_guessed_members: bool,
}

impl<'c> Task<'c> {
    /// The schema as the arguments are held to it.
    pub(crate) fn call_schema(&self) -> CallSchema<'c> {
        CallSchema {
            schema: self.schema,
            tool: self.tool,
            keys: self.keys,
        }
    }
}

/// One fault with the value at its place.
pub(crate) struct Site<'s> {
    pub(crate) context: Task<'s>,
    pub(crate) fault: &'s Fault,
    pub(crate) node: Node<'s>,
    /// The object and the key, if the value is a member.
    pub(crate) member: Option<(Id, Id)>,
    /// The key that is not allowed, if the fault is about one.
    pub(crate) unknown: Option<Id>,
    found: FoundOnce<'s>,
}

/// What several rules ask about one site, found when it is first asked for.
#[derive(Default)]
struct FoundOnce<'s> {
    subschema: OnceCell<Option<View<'s>>>,
    properties: OnceCell<Option<&'s Map<String, Value>>>,
    /// The other schemas for the faulty value by its place, whatever keyword the fault is of.
    by_place: OnceCell<Vec<View<'s>>>,
    undeclared: OnceCell<Vec<UndeclaredMember<'s>>>,
}

/// A member that no property declares: key node, key, value.
pub(crate) type UndeclaredMember<'s> = (Id, &'s str, Node<'s>);

/// The edits that a rule proposes for a fault.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) steps: Vec<PlannedEdit>,
    /// True if these edits alone must make the place valid.
    pub(crate) whole: bool,
}

/// Collects the proposals for one fault.
#[derive(Default)]
pub(crate) struct Proposals(pub(crate) Vec<Proposal>);

impl Proposals {
    /// Proposes these edits together.
    pub(crate) fn edits(&mut self, rule: &'static Rule, edits: impl IntoIterator<Item = Edit>) {
        self.add(rule, edits, false);
    }

    /// Proposes these edits together, provided that they alone make the place valid.
    pub(crate) fn whole(&mut self, rule: &'static Rule, edits: impl IntoIterator<Item = Edit>) {
        self.add(rule, edits, true);
    }

    /// Proposes another value in place of the faulty one.
    pub(crate) fn replace(&mut self, rule: &'static Rule, site: &Site<'_>, value: NewValue) {
        self.edits(rule, [site.replace(value)]);
    }

    fn add(&mut self, rule: &'static Rule, edits: impl IntoIterator<Item = Edit>, whole: bool) {
        let steps = edits
            .into_iter()
            .map(|edit| PlannedEdit { rule, edit })
            .collect();
        self.0.push(Proposal { steps, whole });
    }
}

impl<'s> Site<'s> {
    pub(crate) fn new(
        context: Task<'s>,
        fault: &'s Fault,
        (node, member): Found<'s>,
        unknown: Option<Id>,
    ) -> Self {
        Self {
            context,
            fault,
            node,
            member,
            unknown,
            found: FoundOnce::default(),
        }
    }

    /// Returns the expected types if the fault is a wrong type.
    pub(crate) fn wanted(&self) -> Option<Types> {
        match self.fault.kind {
            FaultKind::Type(types) => Some(types),
            _ => None,
        }
    }

    /// Returns the text of a string where another type is expected, and the expected types.
    pub(crate) fn mistyped_text(&self) -> Option<(&'s str, Types)> {
        Some((self.node.as_str()?, self.wanted()?))
    }

    pub(crate) fn replace(&self, value: NewValue) -> Edit {
        let (at, place) = (self.node.id, self.fault.pointer.clone());
        Edit::Replace { at, place, value }
    }

    /// Returns the edit that removes the faulty value, if it is an optional member.
    pub(crate) fn leave_out(&self) -> Option<Edit> {
        let (object, key) = self.member?;
        if self.is_required() {
            return None;
        }
        let place = self.fault.pointer.clone();
        Some(Edit::Remove { object, key, place })
    }

    /// Returns the edit that gives a member of the faulty object another key.
    pub(crate) fn rename(&self, key: Id, sent: &str, name: &str) -> Edit {
        let around = &self.fault.pointer;
        Edit::Move {
            object: self.node.id,
            key,
            from: around.join(sent),
            target: Some(self.node.id),
            place: around.join(name),
        }
    }

    /// Returns true if the faulty member is required. The schema that has the fault decides, if it
    /// declares the member itself, otherwise any schema that does.
    fn is_required(&self) -> bool {
        let document = self.context.schema.document();
        let Some((_, name)) = self.fault.pointer.split_last() else {
            return false;
        };
        match self.declaring(&name) {
            Some(object) => object.requires(&name),
            None => is_required(document, &self.fault.pointer),
        }
    }

    /// Returns true if a schema declares the faulty member by name, not only as an entry of a map.
    pub(crate) fn is_declared(&self) -> bool {
        let place = &self.fault.pointer;
        let named = (place.split_last()).is_some_and(|(_, name)| self.declaring(&name).is_some());
        named || !declarations(self.context.schema.document(), place).is_empty()
    }

    /// Returns the object's schema if the violated keyword is directly below its property `name`.
    fn declaring(&self, name: &str) -> Option<View<'s>> {
        let (property, _) = self.fault.keyword.as_str().rsplit_once('/')?;
        let (properties, own) = property.rsplit_once('/')?;
        let (object, keyword) = properties.rsplit_once('/')?;
        let is_own = keyword == "properties" && unescape(own) == name;
        self.context.schema.view(object).filter(|_| is_own)
    }

    /// Returns the types that any declaration of the faulty member allows, not only the branch of a
    /// union that has the fault. The set is empty if any type is allowed. Returns `None` if nothing
    /// is declared.
    pub(crate) fn declared_types(&self) -> Option<Types> {
        let document = self.context.schema.document();
        let declared = declarations(document, &self.fault.pointer);
        let mut types = declared
            .into_iter()
            .map(|property| describe(property).types);
        let first = types.next()?;
        Some(types.fold(first, |all, types| {
            if all.is_empty() || types.is_empty() {
                Types::default()
            } else {
                all.with(types)
            }
        }))
    }

    /// Returns the subschema that contains the violated keyword.
    pub(crate) fn subschema(&self) -> Option<View<'s>> {
        *self.found.subschema.get_or_init(|| {
            let (parent, _) = self.fault.keyword.as_str().rsplit_once('/')?;
            self.context.schema.view(parent)
        })
    }

    /// Returns the members that the subschema of the fault declares.
    pub(crate) fn properties(&self) -> Option<&'s Map<String, Value>> {
        let find = || self.subschema()?.own_properties();
        *self.found.properties.get_or_init(find)
    }

    /// Returns the schema of the member `name` of the faulty object.
    pub(crate) fn property(&self, name: &str) -> Option<View<'s>> {
        self.declaration(name).map(View::resolve)
    }

    /// Returns the schema of the member `name` as it is written.
    fn declaration(&self, name: &str) -> Option<View<'s>> {
        let own = self.properties().and_then(|members| members.get(name));
        if let Some(own) = own {
            return Some(View::new(self.context.schema.document(), own));
        }
        let mut schemas = self.schemas_by_place().iter();
        schemas.find_map(|schema| schema.own_property(name))
    }

    fn schemas_by_place(&self) -> &[View<'s>] {
        self.found.by_place.get_or_init(|| {
            let schema = schema_for(self.context.schema.document(), &self.fault.pointer);
            let known = self.subschema().map(View::value);
            let is_known =
                |schema: &View<'s>| known.is_some_and(|known| std::ptr::eq(known, schema.value()));
            let schemas = schema.into_iter().flat_map(View::variants);
            schemas.filter(|schema| !is_known(schema)).collect()
        })
    }

    /// Returns true if the schema declares this member of the faulty object.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.declaration(name).is_some()
    }

    /// Returns true if the faulty object or its schema is too wide to be compared member by member.
    pub(crate) fn is_wide(&self) -> bool {
        self.node.len() > MEND_WIDTH || self.properties().is_some_and(|p| p.len() > MEND_WIDTH)
    }

    /// Returns the declared members that the faulty object lacks, or none if the object is too wide.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &'s str> {
        let node = self.node;
        let properties = self.properties().filter(|_| !self.is_wide());
        let names = properties.into_iter().flat_map(Map::keys);
        names
            .map(String::as_str)
            .filter(move |name| node.get(name).is_none())
    }

    /// Returns the members of the faulty object that no property declares, or none if the object is
    /// too wide.
    pub(crate) fn undeclared(&self) -> &[UndeclaredMember<'s>] {
        let find = || self.find_undeclared();
        self.found.undeclared.get_or_init(find)
    }

    fn find_undeclared(&self) -> Vec<UndeclaredMember<'s>> {
        let mut found = Vec::new();
        if self.is_wide() {
            return found;
        }
        let mut members = self.node.members();
        while let Some((key, value)) = members.next_ids() {
            let name = self.node.tree.node(key).as_str().expect("keys are strings");
            if !self.declares(name) {
                found.push((key, name, self.node.tree.node(value)));
            }
        }
        found
    }

    /// Returns the member that the fault reports as unknown: its key, key node and value.
    pub(crate) fn unknown(&self) -> Option<(&'s str, Id, Node<'s>)> {
        let key = self.unknown?;
        let tree = self.node.tree;
        let name = tree.node(key).as_str()?;
        Some((name, key, tree.node(tree.slot(key).next)))
    }
}

/// The value at a place, with its object and key node if it is a member.
pub(crate) type Found<'t> = (Node<'t>, Option<(Id, Id)>);

/// Finds places of a tree. Looking up neighbours in order takes one walk in all.
pub(crate) struct Finder<'t> {
    tree: &'t Tree<'t>,
    /// The child found last in each wide container, with its index.
    last: HashMap<Id, (usize, Id)>,
}

/// Containers below this width are walked from the start.
const WIDE: usize = 32;

impl<'t> Finder<'t> {
    pub(crate) fn new(tree: &'t Tree<'t>) -> Self {
        Self {
            tree,
            last: HashMap::new(),
        }
    }

    /// Returns the value at a place.
    pub(crate) fn find(&mut self, place: &Pointer) -> Option<Found<'t>> {
        let mut found = (self.tree.root(), None);
        if place.has_escapes() {
            for segment in place.segments() {
                found = self.child(found.0, segment.as_bytes())?;
            }
        } else {
            for segment in place.plain_segments() {
                found = self.child(found.0, segment)?;
            }
        }
        Some(found)
    }

    /// Follows one segment of a place.
    fn child(&mut self, node: Node<'t>, segment: &[u8]) -> Option<Found<'t>> {
        match node.kind() {
            Kind::Object => {
                let key = self.key(node, segment)?;
                let value = self.tree.node(self.tree.slot(key).next);
                Some((value, Some((node.id, key))))
            }
            Kind::Array => {
                let index = std::str::from_utf8(segment).ok()?.parse().ok()?;
                Some((self.element(node, index)?, None))
            }
            _ => None,
        }
    }

    fn element(&mut self, array: Node<'t>, index: usize) -> Option<Node<'t>> {
        if index >= array.len() {
            return None;
        }
        let known = self.last_of(array).filter(|(at, _)| *at <= index);
        let (mut at, mut id) = known.unwrap_or((0, self.tree.slot(array.id).head));
        while at < index {
            id = self.tree.slot(id).next;
            at += 1;
        }
        if array.len() > WIDE {
            self.last.insert(array.id, (at, id));
        }
        Some(self.tree.node(id))
    }

    fn last_of(&self, container: Node<'t>) -> Option<(usize, Id)> {
        if container.len() <= WIDE {
            return None;
        }
        self.last.get(&container.id).copied()
    }

    /// Returns the key node of a member. The search starts at the key found last and wraps around.
    pub(crate) fn key(&mut self, object: Node<'t>, name: &[u8]) -> Option<Id> {
        let width = object.len();
        let head = self.tree.slot(object.id).head;
        let (mut at, mut id) = self.last_of(object).unwrap_or((0, head));
        for _ in 0..width {
            let slot = self.tree.slot(id);
            if self.tree.is_text(slot, name) {
                if width > WIDE {
                    self.last.insert(object.id, (at, id));
                }
                return Some(id);
            }
            at += 1;
            id = self.tree.slot(slot.next).next;
            if at == width {
                (at, id) = (0, head);
            }
        }
        None
    }
}
