//! Issues of unions that no branch of fits: of the intended branch, or of all in few words.

use serde_json::Value;

use super::choose_branch::{Choice, choose};
use super::issues::IssueCollector;
use crate::limits::{DESCRIBED_FORMS, DESCRIBED_KEYS, MEND_WIDTH};
use crate::names::nearest_name;
use crate::report::{Actual, Expected, ExpectedObject, Issue, IssueKind, JsonType, Types};
use crate::schema::{View, describe, key, member};
use crate::tree::{Node, Pointer};
use crate::validate::{Fault, FaultKind, equals};

impl IssueCollector<'_> {
    /// Reports a value that fits no branch of a union.
    pub(super) fn union(&mut self, place: Pointer, keyword: &str, mut branches: Vec<Vec<Fault>>) {
        match choose(&branches, &place, keyword, self.tree, self.schema) {
            Choice::Branch(index) => {
                let from = self.issues.len();
                let wrong_tag = self.wrong_tag(&place, keyword, index, branches.len());
                let mut faults = branches.swap_remove(index);
                if wrong_tag.is_some() {
                    // Members of another branch are neither to be removed nor to be completed.
                    faults.retain(|fault| fault.pointer != place || !is_about_keys(fault));
                }
                faults.into_iter().for_each(|fault| self.fault(fault));
                self.issues.extend(wrong_tag);
                if self.takes_null(keyword) {
                    self.or_null(from, &place);
                }
                return;
            }
            Choice::UnknownTag { tag, allowed } => {
                let tag = place.join(&tag);
                self.unknown_tag(&tag, allowed);
                let (first, others) = branches.split_at_mut(1);
                let first = first.iter_mut().flat_map(std::mem::take);
                // Faults of every branch do not depend on the tag.
                let common = |fault: &Fault| {
                    fault.pointer != tag
                        && others.iter().all(|other| {
                            other
                                .iter()
                                .any(|o| o.kind == fault.kind && o.pointer == fault.pointer)
                        })
                };
                first.filter(common).for_each(|fault| self.fault(fault));
                return;
            }
            Choice::Unclear => {}
        }
        let node = self.tree.at(&place);
        let span = node.map(Node::span).unwrap_or_default();
        let missing = missing_keys(&branches, &place);
        let mut issue = Issue::new(place, IssueKind::NoAlternative, span);
        issue.actual = node.map(Actual::of);
        if let Some(missing) = missing {
            let described = |missing: &MissingKey<'_>| {
                key(
                    missing.name,
                    member(self.schema, missing.keyword, missing.name),
                )
            };
            let form = |keys: &Vec<_>| Expected {
                object: ExpectedObject {
                    keys: keys.iter().map(described).collect(),
                    ..ExpectedObject::default()
                },
                ..Expected::default()
            };
            issue.expected.to_mut().alternatives = missing.iter().map(form).collect();
            self.issues.push(issue);
            return;
        }
        let make = || self.alternatives(keyword);
        // The name tells this description from that of a value that fits several branches.
        issue.expected = self.schema.expected(keyword, "*", make);
        let expected = &issue.expected;
        let admitted = |node: Node<'_>| expected.types.admits(node.kind());
        // A choice of types or values alone is reported like a plain `type` or `enum`.
        if !expected.allowed.is_empty() {
            issue.kind = IssueKind::Enum;
            let sent = node.and_then(Node::as_str);
            issue.nearest = sent.and_then(|sent| nearest_allowed(sent, &expected.allowed));
        } else if expected.alternatives.is_empty() && !node.is_some_and(admitted) {
            issue.kind = IssueKind::Type;
        }
        self.issues.push(issue);
    }

    /// The issue of a tag that names one branch of a union, beside members that are those of another:
    /// the branch that the tag names lacks members, and the other one has all that it needs.
    fn wrong_tag(
        &self,
        place: &Pointer,
        keyword: &str,
        chosen: usize,
        count: usize,
    ) -> Option<Issue> {
        let object = self.tree.at(place).filter(|node| !node.is_empty())?;
        let branch = |index: usize| Some(self.schema.branch(keyword, index)?.resolve());
        let own = branch(chosen)?;
        let (tag, _) = own.properties().find(|(name, member)| {
            let constant = member.resolve().constant();
            let value = object.get(name);
            value
                .zip(constant)
                .is_some_and(|(value, constant)| equals(value, constant))
        })?;
        if own.required().all(|name| object.get(name).is_some()) {
            return None;
        }
        let strangers = || {
            let members = object.members().map(|(name, _)| name).take(MEND_WIDTH);
            members.filter(|name| own.own_property(name).is_none())
        };
        let fits = |other: &View<'_>| {
            strangers().next().is_some()
                && strangers().all(|name| other.own_property(name).is_some())
                && other.required().all(|name| object.get(name).is_some())
        };
        let others = (0..count)
            .filter(|index| *index != chosen)
            .filter_map(branch);
        let mut others = others.filter(fits);
        let (Some(other), None) = (others.next(), others.next()) else {
            return None;
        };
        let meant = other.own_property(tag)?.resolve().constant()?;
        let value = object.get(tag)?;
        let mut issue = Issue::new(place.join(tag), IssueKind::WrongBranch, value.span());
        issue.actual = Some(Actual::of(value));
        issue.nearest = Some(meant.to_string());
        issue.candidates = strangers().map(str::to_owned).collect();
        Some(issue)
    }

    /// Returns true if null is a branch of the union.
    fn takes_null(&self, keyword: &str) -> bool {
        let branches = self.schema.at(keyword).and_then(Value::as_array);
        let mut branches = branches.into_iter().flatten();
        branches.any(|branch| branch.get("type").and_then(Value::as_str) == Some("null"))
    }

    /// Adds `null` to the expected types of scalar issues, since models send `""` or `0` when they
    /// have no value.
    fn or_null(&mut self, from: usize, place: &Pointer) {
        let null = Types::of(JsonType::Null);
        let issues = self.issues.iter_mut().skip(from);
        for issue in issues.filter(|issue| issue.pointer == *place) {
            let types = issue.expected.types;
            let single = types.has(JsonType::String)
                || types.has(JsonType::Integer)
                || types.has(JsonType::Number);
            if single && issue.expected.allowed.is_empty() {
                issue.expected.to_mut().types = types.with(null);
            }
        }
    }

    /// Reports a member whose value should name a branch of the union, and does not.
    fn unknown_tag(&mut self, place: &Pointer, allowed: Vec<String>) {
        let node = self.tree.at(place);
        let span = node.map(Node::span).unwrap_or_default();
        let mut issue = Issue::new(place.clone(), IssueKind::Enum, span);
        issue.actual = node.map(Actual::of);
        issue.expected.to_mut().allowed = allowed;
        self.issues.push(issue);
    }

    /// Describes the branches that a value fits where it must fit one; empty if there are many. A
    /// tag that the value lacks, and that would tell the branches apart, is described as required.
    pub(super) fn fitting(
        &self,
        keyword: &str,
        fitting: &[usize],
        value: Option<Node<'_>>,
    ) -> Vec<Expected> {
        let branch = |index: &usize| self.schema.branch(keyword, *index);
        let branches: Vec<View<'_>> = fitting.iter().filter_map(branch).collect();
        if branches.len() > DESCRIBED_FORMS {
            return Vec::new();
        }
        let first = branches.first().map(|first| first.resolve());
        let names = first.into_iter().flat_map(View::properties);
        let mut names = names.map(|(name, _)| name).take(DESCRIBED_KEYS);
        let tag = names.find(|name| {
            let lists = |branch: &View<'_>| {
                let member = branch.property(name);
                member.is_some_and(|member| member.resolve().constant().is_some())
            };
            value.is_some_and(|value| value.get(name).is_none()) && branches.iter().all(lists)
        });
        let form = |branch: View<'_>| {
            let mut form = describe(branch);
            if let Some(name) = tag {
                form.object.may_have.clear();
                form.object.keys.insert(0, key(name, branch.property(name)));
            }
            let title = branch
                .get("title")
                .or_else(|| branch.resolve().get("title"));
            form.prose.about = title.and_then(Value::as_str).map(str::to_owned);
            form
        };
        branches.into_iter().map(form).collect()
    }

    /// Describes the branches of a union, put together where that takes few words.
    fn alternatives(&self, keyword: &str) -> Expected {
        let document = self.schema.document();
        let branches = self.schema.at(keyword).and_then(Value::as_array);
        let union = serde_json::json!({ "anyOf": branches });
        let merged = describe(View::new(document, &union));
        let few = branches.is_some_and(|branches| branches.len() <= DESCRIBED_FORMS);
        if few && !merged.types.is_empty() || !merged.allowed.is_empty() {
            return merged;
        }
        let branches = branches.into_iter().flatten();
        let branches = branches.map(|branch| describe(View::new(document, branch)));
        Expected {
            alternatives: branches.collect(),
            ..Expected::default()
        }
    }
}

/// The allowed value, as JSON, that is nearest to this text.
fn nearest_allowed(sent: &str, allowed: &[String]) -> Option<String> {
    let texts = allowed
        .iter()
        .filter_map(|json| serde_json::from_str(json).ok());
    let texts: Vec<String> = texts.collect();
    let nearest = nearest_name(sent, texts.iter().map(String::as_str))?;
    Some(Value::from(nearest).to_string())
}

/// Returns true for a fault that asks to add or to remove members.
fn is_about_keys(fault: &Fault) -> bool {
    matches!(
        fault.kind,
        FaultKind::Required(_) | FaultKind::UnknownKeys(_)
    )
}

/// The keys that each branch misses, if nothing else is wrong.
fn missing_keys<'f>(
    branches: &'f [Vec<Fault>],
    place: &Pointer,
) -> Option<Vec<Vec<MissingKey<'f>>>> {
    let key = |fault: &'f Fault| match &fault.kind {
        FaultKind::Required(name) if fault.pointer == *place => Some(MissingKey {
            name,
            keyword: fault.keyword.as_str(),
        }),
        _ => None,
    };
    if branches.is_empty() || branches.len() > DESCRIBED_KEYS {
        return None;
    }
    let keys = |branch: &'f Vec<Fault>| branch.iter().map(key).collect();
    branches.iter().map(keys).collect()
}

/// A key that a branch requires, and the keyword that says so.
struct MissingKey<'f> {
    name: &'f str,
    keyword: &'f str,
}
