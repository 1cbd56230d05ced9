//! Finds keys that are declared ones misspelt, and arguments that are wrapped whole, where the schema
//! by its letter allows both.
//!
//! Most schemas do not forbid extra keys. In such an object `dry_run` is allowed beside the declared
//! `dryRun`, and the tool would run without the option that the model had set. A key that differs
//! from a declared, absent property only in case and separators is therefore that property, if the
//! value fits it. Maps are left alone: an object whose extra keys have a schema or a pattern.

use std::collections::{HashMap, HashSet};

use super::expected_cache::WordHash;
use super::lookup::all_schemas;
use super::{FastAnswer, FoundFaults, Schema, View};
use crate::names::{bare, envelope, same_name, spelling_bits};
use crate::tree::{EditableTree, Id, Kind, Node, Pointer, Tree};
use crate::validate::{Fault, FaultKind, KeywordPlace};

/// How keys are judged that the schema does not declare and does not forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeySpelling {
    /// A key may be a declared one misspelt.
    Judged,
    /// Every key is meant as it was sent.
    AsSent,
}

/// A schema as the arguments of a call are held to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSchema<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) tool: Option<&'s str>,
    pub(crate) keys: KeySpelling,
}

impl CallSchema<'_> {
    /// Returns true if the value matches and no key in it is misspelt.
    pub(crate) fn accepts(self, root: Node<'_>) -> bool {
        self.schema.fast_accepts(root) == FastAnswer::Accepts || self.validator_accepts(root)
    }

    /// Like [`CallSchema::accepts`], for a value of which the fast path was not sure.
    pub(crate) fn validator_accepts(self, root: Node<'_>) -> bool {
        self.schema.validator_accepts(root) && self.misspelt(root, &[]).is_empty()
    }

    /// Lists what is wrong, at most `most` faults of the validator and all misspelt keys.
    pub(crate) fn faults(self, root: Node<'_>, most: usize) -> FoundFaults {
        let mut found = self.schema.faults(root, most);
        if found.finished {
            let misspelt = self.misspelt(root, &found.faults);
            found.faults.extend(misspelt);
        }
        found
    }

    /// The misspelt keys, as faults, given those that the validator found.
    fn misspelt(self, root: Node<'_>, known: &[Fault]) -> Vec<Fault> {
        if self.keys == KeySpelling::AsSent || root.kind() != Kind::Object {
            return Vec::new();
        }
        if known.is_empty() && self.is_wrapped(root) {
            let keyword = KeywordPlace::at_root("properties");
            return vec![Fault::new(Pointer::root(), keyword, FaultKind::Wrapped)];
        }
        let mut candidates = self.candidates(root);
        candidates.retain(|candidate| !candidate.is_covered(known));
        if candidates.is_empty() {
            return Vec::new();
        }
        let fitting = self.fitting(root, candidates, known);
        fitting.into_iter().map(Candidate::into_fault).collect()
    }

    /// The keys that differ from a declared and absent one in case and separators alone.
    fn candidates(self, root: Node<'_>) -> Vec<Candidate> {
        let index = self.schema.name_index();
        if index.is_empty() || !index.has_suspicious_key(root) {
            return Vec::new();
        }
        let mut found = Vec::new();
        index.objects(root, &mut Pointer::root(), &mut |object, place| {
            let schemas = all_schemas(self.schema.document(), place);
            if !schemas.iter().any(|schema| is_map(*schema)) {
                candidates_of(object, place, &schemas, &mut found);
            }
        });
        found
    }

    /// Those whose value fits the property that they may be: renaming them causes no new fault.
    fn fitting(
        self,
        root: Node<'_>,
        mut candidates: Vec<Candidate>,
        before: &[Fault],
    ) -> Vec<Candidate> {
        for _ in 0..FIT_ROUNDS {
            let mut draft = EditableTree::new(root.tree.clone());
            let tried = one_of_each(&candidates);
            for candidate in tried.values() {
                draft.rename_key(candidate.key, &candidate.names[0]);
            }
            let tried: HashSet<Id> = tried.values().map(|candidate| candidate.key).collect();
            let after = self.schema.faults(draft.tree.root(), FIT_FAULTS);
            if !after.finished {
                return Vec::new();
            }
            let new = after.faults.iter().filter(|fault| !before.contains(fault));
            let new: Vec<&Pointer> = new.map(|fault| &fault.pointer).collect();
            if new.is_empty() {
                return candidates;
            }
            let inside = |candidate: &Candidate| {
                let place = candidate.target();
                tried.contains(&candidate.key)
                    && (new.iter()).any(|fault| **fault == place || fault.is_within(&place))
            };
            let count = candidates.len();
            let around = |candidate: &Candidate| {
                let place = candidate.target();
                new.iter().any(|fault| place.is_within(fault))
            };
            if candidates.iter().any(inside) {
                candidates.retain(|candidate| !inside(candidate));
            } else {
                candidates.retain(|candidate| !around(candidate));
            }
            if candidates.is_empty() || candidates.len() == count {
                return Vec::new();
            }
        }
        Vec::new()
    }

    /// Returns true if the arguments stand in an envelope that an open schema allows: no key is
    /// declared, and all those inside are.
    fn is_wrapped(self, root: Node<'_>) -> bool {
        // An envelope has few members. This is asked for every call that the validator accepts.
        if root.is_empty() || root.len() > 4 {
            return false;
        }
        let schemas: Vec<View<'_>> = self.schema.root().resolve().variants().collect();
        let declares = |name: &str| schemas.iter().any(|s| s.own_property(name).is_some());
        if root.members().any(|(name, _)| declares(name)) || schemas.iter().any(|s| is_map(*s)) {
            return false;
        }
        let Some(inner) = envelope(root, &declares, self.tool, may_hold_arguments) else {
            return false;
        };
        let opened =
            |node: Node<'_>| !node.is_empty() && node.members().all(|(name, _)| declares(name));
        match inner.as_str() {
            Some(text) => Tree::parse(text).is_ok_and(|tree| opened(tree.root())),
            None => opened(inner),
        }
    }
}

/// Times that candidates are renamed on a copy.
const FIT_ROUNDS: usize = 3;
/// Faults that are looked at after that.
const FIT_FAULTS: usize = 4096;

fn may_hold_arguments(value: Node<'_>) -> bool {
    value.kind() == Kind::Object || value.as_str().is_some_and(|text| text.starts_with('{'))
}

/// A key that may be a declared one misspelt.
struct Candidate {
    object: Pointer,
    key: Id,
    sent: String,
    /// The properties that it may be; with more than one it is ambiguous.
    names: Vec<String>,
}

impl Candidate {
    fn target(&self) -> Pointer {
        self.object.join(&self.names[0])
    }

    /// Returns true if a fault of the validator speaks of this key already.
    fn is_covered(&self, known: &[Fault]) -> bool {
        let mut here = known.iter().filter(|fault| fault.pointer == self.object);
        here.any(|fault| match &fault.kind {
            FaultKind::Required(name) => self.names.contains(name),
            FaultKind::UnknownKeys(keys) => keys.contains(&self.sent),
            _ => false,
        })
    }

    fn into_fault(self) -> Fault {
        // As if the schema were closed: rules and texts find the properties beside this keyword.
        let keyword = KeywordPlace::at_root("additionalProperties");
        let kind = FaultKind::Misspelt {
            key: self.sent,
            names: self.names,
        };
        Fault::new(self.object, keyword, kind)
    }
}

/// Chooses one of the keys that may be the same property: the first by its text, so that the order
/// in which they were sent does not matter.
fn one_of_each(candidates: &[Candidate]) -> HashMap<Pointer, &Candidate> {
    let mut chosen = HashMap::new();
    for candidate in candidates {
        let first = chosen.entry(candidate.target()).or_insert(candidate);
        if candidate.sent < first.sent {
            *first = candidate;
        }
    }
    chosen
}

/// Adds the candidates among the keys of one object, which these schemas are for.
fn candidates_of(
    object: Node<'_>,
    place: &Pointer,
    schemas: &[View<'_>],
    found: &mut Vec<Candidate>,
) {
    let present: HashSet<&str> = object.members().map(|(key, _)| key).collect();
    let mut absent: HashMap<String, Vec<&str>> = HashMap::new();
    let mut declared = HashSet::new();
    for (name, _) in schemas.iter().flat_map(|schema| schema.properties()) {
        if declared.insert(name) && !present.contains(name) {
            absent.entry(bare(name)).or_default().push(name);
        }
    }
    if absent.is_empty() {
        return;
    }
    let mut members = object.members();
    while let Some((key, _)) = members.next_ids() {
        let sent = object.tree.node(key).as_str().expect("keys are strings");
        if declared.contains(sent) {
            continue;
        }
        let names = absent.get(&bare(sent)).into_iter().flatten();
        let names = names.filter(|name| same_name(sent, name));
        let mut names: Vec<String> = names.map(|name| (*name).to_owned()).collect();
        names.sort_unstable();
        if !names.is_empty() {
            found.push(Candidate {
                object: place.clone(),
                key,
                sent: sent.to_owned(),
                names,
            });
        }
    }
}

/// Returns true if this schema says what keys that it does not declare hold, or what they look like.
fn is_map(schema: View<'_>) -> bool {
    let says = |keyword: &str| {
        let said = schema.get(keyword).and_then(serde_json::Value::as_object);
        said.is_some_and(|said| !said.is_empty())
    };
    [
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "propertyNames",
    ]
    .into_iter()
    .any(says)
}

/// The property names of a document, to tell quickly that a call has no misspelt key.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    /// Each name, and whether another one differs from it in case and separators alone.
    names: HashMap<String, bool, WordHash>,
    /// Their bare forms, in order.
    bare_names: Vec<String>,
    /// The spelling bits of all names.
    bits: u64,
}

impl NameIndex {
    /// Makes an index of names, which are sorted and different.
    pub(super) fn new(names: &[String]) -> Self {
        let mut bare_names: Vec<String> = names.iter().map(|name| bare(name)).collect();
        bare_names.sort_unstable();
        let twins: HashSet<&String> = bare_names
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .map(|pair| &pair[0])
            .collect();
        let has_twin = |name: &str| !twins.is_empty() && twins.contains(&bare(name));
        let bits = names
            .iter()
            .fold(0, |bits, name| bits | spelling_bits(name));
        let names = names
            .iter()
            .map(|name| (name.clone(), has_twin(name)))
            .collect();
        bare_names.dedup();
        Self {
            names,
            bare_names,
            bits,
        }
    }

    fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns true if a key may be another name of the document misspelt.
    pub(super) fn is_suspicious(&self, key: &str) -> bool {
        match self.names.get(key) {
            Some(has_twin) => *has_twin,
            None => {
                self.bits & spelling_bits(key) != 0
                    && self.bare_names.binary_search(&bare(key)).is_ok()
            }
        }
    }

    /// Returns true if any key of this value is suspicious.
    pub(super) fn has_suspicious_key(&self, node: Node<'_>) -> bool {
        match node.kind() {
            Kind::Object => node
                .members()
                .any(|(key, value)| self.is_suspicious(key) || self.has_suspicious_key(value)),
            Kind::Array => node.elements().any(|item| self.has_suspicious_key(item)),
            _ => false,
        }
    }

    /// Calls `visit` with each object that has a suspicious key, and its place.
    fn objects<'t>(
        &self,
        node: Node<'t>,
        place: &mut Pointer,
        visit: &mut dyn FnMut(Node<'t>, &Pointer),
    ) {
        let here = place.size();
        match node.kind() {
            Kind::Object => {
                if node.members().any(|(key, _)| self.is_suspicious(key)) {
                    visit(node, place);
                }
                for (key, value) in node.members().filter(|(_, value)| is_container(*value)) {
                    place.push(key);
                    self.objects(value, place, visit);
                    place.truncate(here);
                }
            }
            Kind::Array => {
                for (index, item) in (0..).zip(node.elements()) {
                    if is_container(item) {
                        place.push_index(index);
                        self.objects(item, place, visit);
                        place.truncate(here);
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_container(node: Node<'_>) -> bool {
    matches!(node.kind(), Kind::Object | Kind::Array)
}
