//! From the validator's faults to what the model is told: one issue a needed edit.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::union::{Choice, choose};
use super::{Fault, FaultKind, nearest_name};
use crate::report::{Bound, Code, Expected, Got, Issue, Types};
use crate::schema::{Schema, describe, owner};
use crate::tree::{Node, Pointer, Tree};

/// The issues behind these faults, in the order the faults came: unions reduced to their best
/// branch, each fault told once, unknown and missing keys matched.
pub(crate) fn issues(faults: &[Fault], tree: &Tree<'_>, schema: &Schema) -> Vec<Issue> {
    let mut collector = Collector {
        tree,
        schema,
        issues: Vec::new(),
    };
    for fault in faults {
        collector.fault(fault);
    }
    tidy(collector.issues)
}

/// One issue a place where two keywords say the same; the more telling one stays.
fn tidy(issues: Vec<Issue>) -> Vec<Issue> {
    if issues.len() < 2 {
        return issues;
    }
    let mut listed: HashSet<Pointer> = HashSet::new();
    for issue in &issues {
        if issue.code == Code::Enum {
            listed.insert(issue.pointer.clone());
        }
    }
    let mut seen = HashSet::new();
    let keep = |issue: &Issue| {
        let told = issue.code == Code::Type && listed.contains(&issue.pointer);
        !told && seen.insert((issue.pointer.clone(), issue.code))
    };
    let mut keep = keep;
    issues.into_iter().filter(|issue| keep(issue)).collect()
}

struct Collector<'c> {
    tree: &'c Tree<'c>,
    schema: &'c Schema,
    issues: Vec<Issue>,
}

impl Collector<'_> {
    fn fault(&mut self, fault: &Fault) {
        match &fault.kind {
            FaultKind::NoBranch(branches) => self.union(fault, branches),
            FaultKind::Required(name) => self.missing(fault, name),
            FaultKind::UnknownKeys(keys) => {
                for key in keys {
                    self.unknown_key(fault, key);
                }
            }
            FaultKind::KeyName { key, words } => {
                let object = self.tree.at(&fault.pointer);
                let span = object.and_then(|o| o.key_span(key)).unwrap_or_default();
                let mut issue = Issue::new(fault.pointer.join(key), Code::KeyName, span);
                issue.expected.words = Some(words.clone());
                issue.got = Some(Got::text(key));
                self.issues.push(issue);
            }
            kind => self.value(fault, kind),
        }
    }

    /// The subschema that holds the keyword.
    fn subschema(&self, fault: &Fault) -> Option<&Value> {
        let (parent, _) = fault.keyword.as_str().rsplit_once('/')?;
        self.schema.at(parent)
    }

    fn expected(&self, fault: &Fault) -> Expected {
        match self.subschema(fault) {
            Some(subschema) => describe(self.schema.document(), subschema),
            None => Expected::default(),
        }
    }

    fn properties(&self, fault: &Fault) -> Option<&Map<String, Value>> {
        self.subschema(fault)?.get("properties")?.as_object()
    }

    fn missing(&mut self, fault: &Fault, name: &str) {
        let object = self.tree.at(&fault.pointer);
        let span = object.map(Node::span).unwrap_or_default();
        let mut issue = Issue::new(fault.pointer.join(name), Code::Missing, span);
        let properties = self.properties(fault);
        if let Some(property) = properties.and_then(|p| p.get(name)) {
            issue.expected = describe(self.schema.document(), property);
        }
        if let Some(object) = object {
            let undeclared = object
                .members()
                .map(|(key, _)| key)
                .filter(|key| !properties.is_some_and(|p| p.contains_key(*key)));
            issue.nearest = nearest_name(name, undeclared);
        }
        self.issues.push(issue);
    }

    fn unknown_key(&mut self, fault: &Fault, key: &str) {
        let Some(object) = self.tree.at(&fault.pointer) else {
            return;
        };
        let span = object.key_span(key).unwrap_or(object.span());
        let mut issue = Issue::new(fault.pointer.join(key), Code::UnknownKey, span);
        issue.optional = true;
        issue.got = object.get(key).map(Got::of);
        if let Some(properties) = self.properties(fault) {
            issue.expected.allowed = properties.keys().cloned().collect();
            let absent = properties.keys().map(String::as_str);
            issue.nearest = nearest_name(key, absent.filter(|name| object.get(name).is_none()));
        }
        self.issues.push(issue);
    }

    fn value(&mut self, fault: &Fault, kind: &FaultKind) {
        let node = self.tree.at(&fault.pointer);
        let span = node.map(Node::span).unwrap_or_default();
        let mut issue = Issue::new(fault.pointer.clone(), code(kind), span);
        issue.expected = self.expected(fault);
        narrow(kind, &mut issue.expected);
        issue.got = node.map(Got::of);
        if issue.code == Code::Enum {
            let sent = node.and_then(Node::as_str).unwrap_or_default();
            let names = issue.expected.allowed.iter();
            let names = names.filter_map(|json| serde_json::from_str::<String>(json).ok());
            let names: Vec<_> = names.collect();
            issue.nearest = nearest_name(sent, names.iter().map(String::as_str))
                .map(|name| Value::from(name).to_string());
        }
        issue.optional = node.is_some_and(Node::is_null)
            && owner(self.schema.document(), &fault.pointer).is_some_and(|(object, name)| {
                let required = object.get("required").and_then(Value::as_array);
                !required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(&name)))
            });
        self.issues.push(issue);
    }

    fn union(&mut self, fault: &Fault, branches: &[Vec<Fault>]) {
        let (place, keyword) = (&fault.pointer, &fault.keyword);
        if let Choice::Branch(index) = choose(branches, place, keyword, self.tree, self.schema) {
            for inner in branches.get(index).into_iter().flatten() {
                self.fault(inner);
            }
            return;
        }
        let document = self.schema.document();
        let alternatives: Vec<_> = (0..branches.len())
            .filter_map(|index| self.schema.at(keyword.join(&index.to_string()).as_str()))
            .map(|branch| describe(document, branch))
            .collect();
        let node = self.tree.at(place);
        let span = node.map(Node::span).unwrap_or_default();
        let mut issue = Issue::new(place.clone(), Code::NoAlternative, span);
        issue.got = node.map(Got::of);
        let only_types = |expected: &Expected| {
            let types = expected.types;
            *expected
                == Expected {
                    types,
                    ..Expected::default()
                }
                && !types.is_empty()
        };
        if alternatives.iter().all(only_types) {
            // A choice of types alone is a wrong type like any other.
            let types = alternatives.iter().map(|expected| expected.types);
            issue.code = Code::Type;
            issue.expected.types = types.fold(Types::default(), Types::with);
        } else {
            issue.expected.alternatives = alternatives;
        }
        self.issues.push(issue);
    }
}

fn code(kind: &FaultKind) -> Code {
    match kind {
        FaultKind::Type(_) => Code::Type,
        FaultKind::Required(_) => Code::Missing,
        FaultKind::UnknownKeys(_) => Code::UnknownKey,
        FaultKind::UnknownItems | FaultKind::MaxItems(_) => Code::TooManyItems,
        FaultKind::Enum(_) | FaultKind::Const(_) => Code::Enum,
        FaultKind::Minimum { .. } => Code::TooSmall,
        FaultKind::Maximum { .. } => Code::TooLarge,
        FaultKind::MultipleOf(_) => Code::NotMultiple,
        FaultKind::MinLength(_) => Code::TooShort,
        FaultKind::MaxLength(_) => Code::TooLong,
        FaultKind::MinItems(_) => Code::TooFewItems,
        FaultKind::MinKeys(_) => Code::TooFewKeys,
        FaultKind::MaxKeys(_) => Code::TooManyKeys,
        FaultKind::UniqueItems => Code::NotUnique,
        FaultKind::Contains => Code::NotContained,
        FaultKind::Pattern(_) => Code::Pattern,
        FaultKind::Format(_) => Code::Format,
        FaultKind::NoBranch(_) => Code::NoAlternative,
        FaultKind::ManyBranches => Code::SeveralAlternatives,
        FaultKind::KeyName { .. } => Code::KeyName,
        FaultKind::NotAllowed => Code::NotAllowed,
        FaultKind::Other(_) => Code::Other,
    }
}

/// What the fault itself says outranks what the subschema beside it says.
fn narrow(kind: &FaultKind, expected: &mut Expected) {
    match kind {
        FaultKind::Type(types) => expected.types = *types,
        FaultKind::Enum(values) => {
            let values = values.as_array().into_iter().flatten();
            expected.allowed = values.map(Value::to_string).collect();
        }
        FaultKind::Const(value) => expected.allowed = vec![value.to_string()],
        FaultKind::Minimum { limit, exclusive } => {
            let (limit, exclusive) = (limit.clone(), *exclusive);
            expected.minimum = Some(Bound { limit, exclusive });
        }
        FaultKind::Maximum { limit, exclusive } => {
            let (limit, exclusive) = (limit.clone(), *exclusive);
            expected.maximum = Some(Bound { limit, exclusive });
        }
        FaultKind::MultipleOf(multiple) => {
            // The validator's own copy went through a float; the document's did not.
            expected.multiple_of.get_or_insert_with(|| multiple.clone());
        }
        FaultKind::MinLength(n) | FaultKind::MinItems(n) | FaultKind::MinKeys(n) => {
            expected.size.0 = Some(*n);
        }
        FaultKind::MaxLength(n) | FaultKind::MaxItems(n) | FaultKind::MaxKeys(n) => {
            expected.size.1 = Some(*n);
        }
        FaultKind::Pattern(pattern) => expected.pattern = Some(pattern.clone()),
        FaultKind::Format(format) => expected.format = Some(format.clone()),
        FaultKind::Other(words) => expected.words = Some(words.clone()),
        _ => {}
    }
}
