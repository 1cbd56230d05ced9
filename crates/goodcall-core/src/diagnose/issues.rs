//! Turns the validator's faults into issues: one for each edit that is needed.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::expectation::{kind_of, narrow};
use super::misplaced_keys::KeyPlaces;
use crate::limits::{MEND_WIDTH, NAMED_PLACES, PLACED_ISSUES};
use crate::names::{are_antonyms, near_names, nearest_name, nearest_names, same_bare, same_name};
use crate::report::{Actual, Expected, Issue, IssueKind, JsonType, Moved, SharedExpected};
use crate::schema::{Schema, View, allowed_names, describe, holders, member, owner};
use crate::tree::{Node, Pointer, Tree, is_integer};
use crate::validate::{Fault, FaultKind};

/// Turns faults into issues, in the order of the faults. Unions are reduced to their best branch,
/// each fault is reported once, and unknown keys are matched with missing ones.
pub(super) fn issues(faults: Vec<Fault>, tree: &Tree<'_>, schema: &Schema) -> Vec<Issue> {
    let mut collector = IssueCollector {
        tree,
        schema,
        issues: Vec::with_capacity(faults.len()),
    };
    let mut undecided = Vec::new();
    if schema.has_if() {
        undecided = undecided_faults(&faults, schema);
    }
    for (index, fault) in faults.into_iter().enumerate() {
        if undecided.get(index) != Some(&true) {
            collector.fault(fault);
        }
    }
    without_repetitions(collector.issues)
}

/// Marks the faults that depend on a condition on a missing member: once the member is there, the
/// condition may not hold.
fn undecided_faults(faults: &[Fault], schema: &Schema) -> Vec<bool> {
    let condition = |fault: &Fault| {
        let keyword = fault.keyword.as_str();
        let (around, _) = keyword
            .rsplit_once("/then/")
            .or(keyword.rsplit_once("/else/"))?;
        let tested = schema.at(around)?.get("if")?.get("properties")?;
        tested.as_object()
    };
    let conditions: Vec<_> = faults.iter().map(condition).collect();
    let mut missing: HashSet<(&Pointer, &str)> = HashSet::new();
    if conditions.iter().any(Option::is_some) {
        for (fault, condition) in faults.iter().zip(&conditions) {
            if let (FaultKind::Required(name), None) = (&fault.kind, condition) {
                missing.insert((&fault.pointer, name));
            }
        }
    }
    let undecided = |(fault, condition): (&Fault, &Option<&Map<String, Value>>)| {
        let mut tested = condition.iter().flat_map(|tested| tested.keys());
        tested.any(|name| missing.contains(&(&fault.pointer, name.as_str())))
    };
    faults.iter().zip(&conditions).map(undecided).collect()
}

/// Keeps one issue per place where two keywords say the same: the more specific one.
fn without_repetitions(mut issues: Vec<Issue>) -> Vec<Issue> {
    if issues.len() < 2 {
        return issues;
    }
    if issues
        .iter()
        .any(|issue| issue.kind == IssueKind::TooFewKeys)
    {
        // The names of missing keys say more than their number.
        let mut missing: HashMap<Pointer, u64> = HashMap::new();
        for issue in issues
            .iter()
            .filter(|issue| issue.kind == IssueKind::Missing)
        {
            let object = issue.pointer.split_last().map(|(object, _)| object);
            *missing.entry(object.unwrap_or_default()).or_default() += 1;
        }
        let named = |issue: &Issue| missing.get(&issue.pointer).copied().unwrap_or(0);
        let enough = |issue: &Issue| issue.expected.size.0.is_some_and(|n| n <= named(issue));
        issues.retain(|issue| issue.kind != IssueKind::TooFewKeys || !enough(issue));
    }
    if issues.len() <= FEW {
        let news = |bits, at| bits | u32::from(is_news(&issues, at)) << at;
        let mut keep = (0..issues.len()).fold(0, news);
        issues.retain(|_| {
            let is_kept = keep & 1 == 1;
            keep >>= 1;
            is_kept
        });
        return issues;
    }
    let keep: Vec<bool> = {
        let enums = issues.iter().filter(|issue| issue.kind == IssueKind::Enum);
        let enums = enums.map(|issue| (issue.pointer.as_str(), IssueKind::Type));
        let mut seen: HashSet<_> = enums.collect();
        let pairs = issues
            .iter()
            .map(|issue| (issue.pointer.as_str(), issue.kind));
        pairs.map(|pair| seen.insert(pair)).collect()
    };
    let mut keep = keep.into_iter();
    issues.retain(|_| keep.next().unwrap_or(true));
    issues
}

/// The number of issues up to which each is compared with all others.
const FEW: usize = 16;

/// Returns true if this one of a few issues says something that no other does.
fn is_news(issues: &[Issue], at: usize) -> bool {
    let this = &issues[at];
    let same = |other: &&Issue| other.pointer == this.pointer;
    let known = issues[..at]
        .iter()
        .filter(same)
        .any(|other| other.kind == this.kind);
    let listed = || {
        issues
            .iter()
            .filter(same)
            .any(|other| other.kind == IssueKind::Enum)
    };
    !known && (this.kind != IssueKind::Type || !listed())
}

/// Collects issues fault by fault.
pub(super) struct IssueCollector<'c> {
    pub(super) tree: &'c Tree<'c>,
    pub(super) schema: &'c Schema,
    pub(super) issues: Vec<Issue>,
}

impl IssueCollector<'_> {
    pub(super) fn fault(&mut self, fault: Fault) {
        let Fault {
            pointer,
            keyword,
            kind,
            fitting_branches,
        } = fault;
        let keyword = keyword.as_str();
        match kind {
            FaultKind::NoBranch(branches) => self.union(pointer, keyword, branches),
            FaultKind::Required(name) => self.missing(pointer, keyword, &name),
            FaultKind::UnknownKeys(keys) => self.unknown_keys(&pointer, keyword, &keys),
            FaultKind::Misspelt { key, names } => self.misspelt(&pointer, &key, names),
            // The envelope is reported with the rest of the advice.
            FaultKind::Wrapped => {}
            FaultKind::KeyName { key, words } => {
                let object = self.tree.at(&pointer);
                let span = object.and_then(|o| o.key_span(&key)).unwrap_or_default();
                let mut issue = Issue::new(pointer.join(&key), IssueKind::KeyName, span);
                issue.expected.to_mut().prose.words = Some(words);
                issue.actual = Some(Actual::text(&key));
                self.issues.push(issue);
            }
            FaultKind::NotAllowed => self.not_allowed(pointer, keyword),
            kind => self.value(pointer, keyword, &kind, &fitting_branches),
        }
    }

    /// Reports a value that matches `not`, or that `false` forbids.
    fn not_allowed(&mut self, pointer: Pointer, keyword: &str) {
        let not = self
            .schema
            .at(keyword)
            .filter(|_| keyword.ends_with("/not"));
        let forbidden = not.and_then(Value::as_object);
        let alone = forbidden.filter(|forbidden| forbidden.len() == 1);
        let names = alone.and_then(|forbidden| forbidden.get("required")?.as_array());
        if let Some([Value::String(name)]) = names.map(Vec::as_slice) {
            let object = self.tree.at(&pointer);
            let span = object.and_then(|object| object.key_span(name));
            let mut issue = Issue::new(
                pointer.join(name),
                IssueKind::NotAllowed,
                span.unwrap_or_default(),
            );
            issue.actual = object.and_then(|object| object.get(name)).map(Actual::of);
            issue.optional = true;
            self.issues.push(issue);
            return;
        }
        let place = pointer.clone();
        self.value(pointer, keyword, &FaultKind::NotAllowed, &[]);
        let Some(issue) = self
            .issues
            .last_mut()
            .filter(|issue| issue.pointer == place)
        else {
            return;
        };
        issue.optional = forbidden.is_none() && !place.is_root();
        if let Some(alone) = alone {
            let several = alone.get("enum").and_then(Value::as_array);
            let values = several.into_iter().flatten().chain(alone.get("const"));
            issue.expected.to_mut().forbidden = values.map(Value::to_string).collect();
        }
    }

    /// The subschema that holds a keyword.
    fn subschema(&self, keyword: &str) -> Option<View<'_>> {
        let (parent, _) = keyword.rsplit_once('/')?;
        self.schema.view(parent)
    }

    fn places(&self) -> KeyPlaces<'_> {
        KeyPlaces {
            tree: self.tree,
            schema: self.schema,
        }
    }

    /// What the schema expects of a member of the object that a keyword speaks of.
    fn expected_member(&self, pointer: &Pointer, keyword: &str, name: &str) -> SharedExpected {
        if let Some(known) = self.schema.known_expected(keyword, name) {
            return known;
        }
        if let Some(declared) = member(self.schema, keyword, name) {
            let make = || describe(declared);
            return self.schema.expected(keyword, name, make);
        }
        let document = self.schema.document();
        let expected = owner(document, pointer).map(|owner| describe(owner.member));
        expected.map(Into::into).unwrap_or_default()
    }

    fn missing(&mut self, mut pointer: Pointer, keyword: &str, name: &str) {
        let object = self.tree.at(&pointer);
        let span = object.map(Node::span).unwrap_or_default();
        let place = pointer.clone();
        pointer.push(name);
        let mut issue = Issue::new(pointer, IssueKind::Missing, span);
        issue.expected = self.expected_member(&issue.pointer, keyword, name);
        if let Some(object) = object {
            let holders: Vec<View<'_>> = holders(self.schema, keyword).collect();
            let declares = |key: &str| holders.iter().any(|holder| holder.property(key).is_some());
            let undeclared = object
                .members()
                .map(|(key, _)| key)
                .filter(|key| !declares(key));
            issue.nearest = nearest_name(name, undeclared);
            if let Some(sent) = issue.nearest.clone() {
                issue.kept = object.get(&sent).map(Actual::of);
                let rivals = self.rivals(object, keyword, &sent);
                if rivals.len() > 1 {
                    issue.nearest = None;
                    issue.kept = None;
                    self.undecided_key(&issue.pointer, object, &sent, rivals);
                    self.issues.push(issue);
                    return;
                }
            }
            if issue.nearest.is_none() && self.issues.len() < PLACED_ISSUES {
                issue.moved = self.places().find_stray(&place, keyword, name);
                let moved = issue.moved.as_ref();
                let value = moved.and_then(|moved| self.tree.at(&moved.from));
                issue.kept = value.map(Actual::of);
            }
        }
        self.issues.push(issue);
    }

    /// The declared and absent names that a key is equally near to, unless it is one of them in another
    /// style.
    fn rivals(&self, object: Node<'_>, keyword: &str, sent: &str) -> Vec<String> {
        let declared = self.subschema(keyword).and_then(View::own_properties);
        let declared = declared.filter(|declared| declared.len() <= MEND_WIDTH);
        let names = declared.into_iter().flat_map(Map::keys).map(String::as_str);
        let absent: Vec<&str> = names.filter(|name| object.get(name).is_none()).collect();
        if absent.iter().any(|name| same_bare(name, sent)) {
            return Vec::new();
        }
        near_names(sent, absent.into_iter())
    }

    /// Reports a key that may stand for several properties, once.
    fn undecided_key(
        &mut self,
        missing: &Pointer,
        object: Node<'_>,
        sent: &str,
        names: Vec<String>,
    ) {
        let Some((around, _)) = missing.split_last() else {
            return;
        };
        let place = around.join(sent);
        if self.issues.iter().any(|issue| issue.pointer == place) {
            return;
        }
        let span = object.key_span(sent).unwrap_or_default();
        let mut issue = Issue::new(place, IssueKind::UnknownKey, span);
        issue.actual = object.get(sent).map(Actual::of);
        issue.candidates = names;
        self.issues.push(issue);
    }

    fn unknown_keys(&mut self, pointer: &Pointer, keyword: &str, keys: &[String]) {
        let Some(object) = self.tree.at(pointer) else {
            return;
        };
        let allowed = allowed_names(self.schema, keyword);
        let names = allowed.names;
        let expected = self.schema.expected(keyword, "", || {
            let mut expected = Expected::default();
            if allowed.complete {
                expected.allowed = names.iter().map(|name| (*name).to_owned()).collect();
            }
            expected
        });
        let absent: Vec<&str> = absent(object, &names);
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let span = object.key_span(key).unwrap_or(object.span());
            let mut issue = Issue::new(pointer.join(key), IssueKind::UnknownKey, span);
            issue.optional = true;
            issue.actual = object.get(key).map(Actual::of);
            issue.expected = expected.clone();
            // `Cmd` beside `cmd` is not a typo of `cwd`.
            let twin = names.iter().find(|name| same_bare(name, key));
            if twin.is_none_or(|name| object.get(name).is_none()) {
                (issue.nearest, issue.candidates) = nearest_names(key, absent.iter().copied());
                issue.optional = issue.nearest.is_some() || issue.candidates.is_empty();
            }
            let known = |issue: &Issue| !issue.candidates.is_empty();
            if self
                .issues
                .iter()
                .any(|other| other.pointer == issue.pointer && known(other))
            {
                continue;
            }
            let near = issue.nearest.is_some() || known(&issue);
            if !near && self.issues.len() + found.len() < PLACED_ISSUES {
                let mut places = self.places().places_for(pointer, (keyword, &names), key);
                match places.len() {
                    1 => {
                        let from = pointer.join(key);
                        issue.moved = places.pop().map(|to| Moved { from, to });
                        issue.kept = issue.actual.clone();
                    }
                    count if count <= NAMED_PLACES => issue.places = places,
                    _ => {}
                }
                let placed = issue.moved.is_some() || !issue.places.is_empty();
                if !placed && self.places().is_wrapper(object, keyword, key) {
                    issue.kind = IssueKind::Wrapped;
                } else if !placed && twin.is_none() && keys.len() <= NAMED_PLACES {
                    let value = object.get(key);
                    issue.candidates = value.map_or_else(Vec::new, |value| {
                        takers((key, value), self.schema, keyword, &absent)
                    });
                }
            }
            found.push(issue);
        }
        if found.iter().any(|issue| issue.kind == IssueKind::Wrapped) {
            // The other keys belong to the wrapper, such as the name of the tool.
            let beside = found.iter_mut().filter(|issue| issue.optional);
            beside.for_each(|issue| issue.candidates.clear());
        }
        one_key_per_name(&mut found);
        self.issues.append(&mut found);
    }

    /// Reports a key that is a declared one misspelt, or one of several.
    fn misspelt(&mut self, object: &Pointer, key: &str, names: Vec<String>) {
        let node = self.tree.at(object);
        let span = node.and_then(|object| object.key_span(key));
        if let (Some(node), [name]) = (node, names.as_slice()) {
            let twins = node.members().filter(|(key, _)| same_name(key, name));
            let values: Vec<Node<'_>> = twins.map(|(_, value)| value).take(NAMED_PLACES).collect();
            if values.len() > 1 {
                self.several_keys(object.join(name), &values);
                return;
            }
        }
        let place = object.join(key);
        let mut issue = Issue::new(place, IssueKind::UnknownKey, span.unwrap_or_default());
        issue.actual = node.and_then(|object| object.get(key)).map(Actual::of);
        match <[String; 1]>::try_from(names) {
            Ok([name]) => issue.nearest = Some(name),
            Err(names) => issue.candidates = names,
        }
        self.issues.push(issue);
    }

    /// Reports keys that all stand for one property, once.
    fn several_keys(&mut self, place: Pointer, values: &[Node<'_>]) {
        let kind = IssueKind::Ambiguous;
        let known = |issue: &Issue| issue.kind == kind && issue.pointer == place;
        if self.issues.iter().any(known) {
            return;
        }
        let span = values.first().map(|value| value.span());
        let mut issue = Issue::new(place, kind, span.unwrap_or_default());
        let readings = values.iter().map(|value| Actual::of(*value).short);
        issue.expected.to_mut().allowed = readings.collect();
        self.issues.push(issue);
    }

    fn value(
        &mut self,
        pointer: Pointer,
        keyword: &str,
        kind: &FaultKind,
        fitting_branches: &[usize],
    ) {
        let node = self.tree.at(&pointer);
        let span = node.map(Node::span).unwrap_or_default();
        let mut issue = Issue::new(pointer, kind_of(kind), span);
        // Everything but the validator's own words follows from the keyword's place.
        issue.expected = self.schema.expected(keyword, "", || {
            let mut expected = self.subschema(keyword).map(describe).unwrap_or_default();
            narrow(kind, &mut expected);
            if let (FaultKind::Contains, Some(wanted)) = (kind, self.schema.view(keyword)) {
                expected.array.element = Some(Box::new(describe(wanted)));
            }
            expected
        });
        if let FaultKind::Other(words) = kind {
            issue.expected.to_mut().prose.words = Some(words.clone());
        }
        if let FaultKind::ManyBranches = kind {
            issue.expected.to_mut().alternatives = self.fitting(keyword, fitting_branches, node);
        }
        issue.actual = node.map(Actual::of);
        if let Some(sent) = node.and_then(Node::as_str) {
            issue.nearest = nearest_value(sent, kind);
        }
        let empty_enum = matches!(kind, FaultKind::Enum(_)) && issue.kind == IssueKind::NotAllowed;
        issue.optional = empty_enum && !issue.pointer.is_root();
        issue.optional |= node.is_some_and(Node::is_null)
            && issue.pointer.split_last().is_some_and(|(_, name)| {
                let owner = owner(self.schema.document(), &issue.pointer);
                owner.is_some_and(|owner| !owner.object.requires(&name))
            });
        self.issues.push(issue);
    }
}

/// Names the absent properties that would take the value of a key, by its type and by the values that
/// they allow, unless the names differ in meaning; none if they are many.
fn takers(
    (key, value): (&str, Node<'_>),
    schema: &Schema,
    keyword: &str,
    absent: &[&str],
) -> Vec<String> {
    let place = keyword.rsplit_once('/').map(|(place, _)| place);
    let Some(object) = place.and_then(|place| schema.view(place)) else {
        return Vec::new();
    };
    let takes = |name: &&&str| {
        let property = object.property(name).map(View::resolve);
        property.is_some_and(|property| {
            let types = property.allowed_types();
            let has_type = types.has(value.kind().into())
                || types.has(JsonType::Integer) && value.digits().is_some_and(is_integer);
            let listed = property.get("enum").and_then(Value::as_array);
            let listed = listed.map(Vec::as_slice);
            let listed = listed.or(property.get("const").map(std::slice::from_ref));
            let is_listed = |listed: &[Value]| {
                let value = value.to_value().ok();
                listed.iter().any(|one| Some(one) == value.as_ref())
            };
            has_type && listed.is_none_or(is_listed) && !are_antonyms(key, name)
        })
    };
    let mut takers: Vec<_> = absent.iter().filter(takes).take(NAMED_PLACES).collect();
    if takers.len() == NAMED_PLACES {
        return Vec::new();
    }
    // A member that has to be there is meant rather than one that may be left out.
    if takers.iter().any(|name| object.requires(name)) {
        takers.retain(|name| object.requires(name));
    }
    takers.into_iter().map(|name| (*name).to_owned()).collect()
}

/// Keeps one of several unknown keys that are near one name, the nearest: only one can be renamed. A
/// key that is near no name may stand for none of these.
fn one_key_per_name(issues: &mut [Issue]) {
    if issues.len() < 2 {
        return;
    }
    let near: HashSet<String> = issues
        .iter()
        .filter_map(|one| one.nearest.clone())
        .collect();
    for issue in issues.iter_mut().filter(|issue| issue.optional) {
        issue.candidates.retain(|name| !near.contains(name));
    }
    let mut keys: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, issue) in issues.iter().enumerate() {
        if let Some(name) = &issue.nearest {
            keys.entry(name.clone()).or_default().push(at);
        }
    }
    keys.retain(|_, rivals| rivals.len() > 1);
    for (name, rivals) in keys {
        let key = |at: &usize| Some(issues.get(*at)?.pointer.split_last()?.1.into_owned());
        let rival_keys: Vec<String> = rivals.iter().filter_map(key).collect();
        let best = nearest_name(&name, rival_keys.iter().map(String::as_str));
        for (at, rival) in rivals.into_iter().zip(rival_keys) {
            if best.as_ref() != Some(&rival)
                && let Some(issue) = issues.get_mut(at)
            {
                issue.nearest = None;
            }
        }
    }
}

/// The allowed value that is nearest to this text, as JSON.
fn nearest_value(sent: &str, kind: &FaultKind) -> Option<String> {
    let nearest = match kind {
        FaultKind::Enum(values) => {
            let values = values.as_array().into_iter().flatten();
            nearest_name(sent, values.filter_map(Value::as_str))
        }
        FaultKind::Const(value) => nearest_name(sent, value.as_str().into_iter()),
        _ => None,
    };
    nearest.map(|name| Value::from(name).to_string())
}

/// The names that the object does not have.
fn absent<'n>(object: Node<'_>, names: &[&'n str]) -> Vec<&'n str> {
    let names = names.iter().copied();
    if object.len() <= 16 {
        return names.filter(|name| object.get(name).is_none()).collect();
    }
    let present: HashSet<&str> = object.members().map(|(key, _)| key).collect();
    names.filter(|name| !present.contains(name)).collect()
}
