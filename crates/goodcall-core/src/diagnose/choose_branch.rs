//! Chooses the branch of a union that a failing value was meant for.

use std::cmp::Reverse;

use serde_json::Value;

use crate::limits::MEND_WIDTH;
use crate::names::nearest_name;
use crate::schema::{Schema, View};
use crate::tree::{Kind, Node, Pointer, Tree};
use crate::validate::{Fault, FaultKind, equals};

/// The outcome of the choice.
pub(crate) enum Choice {
    /// The value came closest to this branch.
    Branch(usize),
    /// The member that names the branch has a value that no branch lists.
    UnknownTag { tag: String, allowed: Vec<String> },
    /// No branch is closer than the others.
    Unclear,
}

/// How close a value came to a branch; greater is closer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Closeness {
    tag_match: TagMatch,
    /// Keys of the value that the branch declares, less those that it forbids.
    keys: isize,
    faults: Reverse<usize>,
    /// Depth of the fault nearest to the root.
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TagMatch {
    /// The value is of another kind altogether.
    OtherKind,
    /// The tag names another branch.
    OtherBranch,
    /// The value has no tag, but the right kind.
    KindOnly,
    /// The tag names this branch.
    ThisBranch,
}

/// A member for which every branch lists values, so that it names the branch.
struct BranchTag<'t> {
    name: &'t str,
    value: Node<'t>,
    /// The listed value that the sent one is probably a typo of.
    meant: Option<String>,
}

/// Picks the branch that the value at `place` was meant for: by a member that names it, then by
/// the keys that it has, then by how little is wrong.
pub(crate) fn choose(
    branches: &[Vec<Fault>],
    place: &Pointer,
    keyword: &str,
    tree: &Tree<'_>,
    schema: &Schema,
) -> Choice {
    let listed = schema.at(keyword);
    let branch = |index| Some(View::new(schema.document(), listed?.get(index)?));
    let union = FailedUnion {
        value: tree.at(place),
        place,
        schemas: (0..branches.len()).map(branch).collect(),
    };
    let tags = union.tags();
    let mut best: Option<(usize, Closeness)> = None;
    let mut tied = false;
    for (index, faults) in branches.iter().enumerate() {
        let closeness = union.closeness(index, faults, &tags);
        match &best {
            Some((_, known)) if *known > closeness => {}
            Some((_, known)) if *known == closeness => tied = true,
            _ => {
                best = Some((index, closeness));
                tied = false;
            }
        }
    }
    match (best, &tags[..]) {
        (Some((index, known)), _)
            if !tied && (known.tag_match > TagMatch::OtherKind || branches.len() == 1) =>
        {
            Choice::Branch(index)
        }
        (Some((_, known)), [tag]) if known.tag_match == TagMatch::OtherBranch => {
            let mut allowed: Vec<String> = Vec::new();
            for value in union.listed(tag.name).map(Value::to_string) {
                if !allowed.contains(&value) {
                    allowed.push(value);
                }
            }
            let tag = tag.name.to_owned();
            Choice::UnknownTag { tag, allowed }
        }
        _ => Choice::Unclear,
    }
}

struct FailedUnion<'u> {
    value: Option<Node<'u>>,
    place: &'u Pointer,
    schemas: Vec<Option<View<'u>>>,
}

impl<'u> FailedUnion<'u> {
    /// The schema of a member in a branch.
    fn member(&self, index: usize, name: &str) -> Option<View<'u>> {
        let branch = self.schemas.get(index).copied().flatten()?;
        Some(branch.property(name)?.resolve())
    }

    fn members(&self) -> impl Iterator<Item = (&'u str, Node<'u>)> {
        let object = self.value.filter(|value| value.kind() == Kind::Object);
        let members = object.into_iter().flat_map(Node::members);
        members.take(MEND_WIDTH)
    }

    /// The values that the branches list for a member.
    fn listed<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'u Value> + 'n {
        let branches = 0..self.schemas.len();
        branches.flat_map(|index| self.member(index, name).into_iter().flat_map(values))
    }

    /// The members that name the branch.
    fn tags(&self) -> Vec<BranchTag<'u>> {
        let object = |index: &usize| {
            let branch = self.schemas.get(*index).copied().flatten();
            branch.is_some_and(is_object)
        };
        let objects: Vec<usize> = (0..self.schemas.len()).filter(object).collect();
        let lists = |index: usize, name| {
            let member = self.member(index, name);
            member.is_some_and(|member| values(member).next().is_some())
        };
        let tags = self.members().filter(|(name, _)| {
            objects.len() > 1 && objects.iter().all(|index| lists(*index, name))
        });
        tags.map(|(name, value)| {
            let known = self.listed(name).any(|listed| equals(value, listed));
            let sent = value.as_str().filter(|_| !known);
            let texts = || self.listed(name).filter_map(Value::as_str);
            let meant = sent.and_then(|sent| nearest_name(sent, texts()));
            BranchTag { name, value, meant }
        })
        .collect()
    }

    fn closeness(&self, index: usize, faults: &[Fault], tags: &[BranchTag<'_>]) -> Closeness {
        let place = self.place.depth();
        let depth = |fault: &Fault| fault.pointer.depth() - place.min(fault.pointer.depth());
        let other_kind = faults.iter().any(|fault| {
            depth(fault) == 0
                && matches!(
                    fault.kind,
                    FaultKind::Type(_)
                        | FaultKind::Enum(_)
                        | FaultKind::Const(_)
                        | FaultKind::NotAllowed
                )
        });
        let names = |tag: &BranchTag<'_>| {
            let mut listed = self.member(index, tag.name).into_iter().flat_map(values);
            listed.any(|value| match &tag.meant {
                Some(meant) => value.as_str() == Some(meant),
                None => equals(tag.value, value),
            })
        };
        let tag_match = if other_kind {
            TagMatch::OtherKind
        } else if tags.is_empty() {
            TagMatch::KindOnly
        } else if tags.iter().all(names) {
            TagMatch::ThisBranch
        } else {
            TagMatch::OtherBranch
        };
        Closeness {
            tag_match,
            keys: self.declared(index) - self.forbidden(faults),
            // A branch without faults was not validated to its end, so it counts as the farthest.
            faults: Reverse(faults.len().wrapping_sub(1)),
            depth: faults.iter().map(depth).min().unwrap_or_default(),
        }
    }

    /// The number of members that a branch declares, less those for which it demands another value.
    fn declared(&self, index: usize) -> isize {
        let worth = |(name, value): (&str, Node<'_>)| match self.member(index, name) {
            None => 0,
            Some(member) => match member.get("const") {
                Some(only) if !equals(value, only) => -1,
                _ => 1,
            },
        };
        self.members().map(worth).sum()
    }

    fn forbidden(&self, faults: &[Fault]) -> isize {
        let count = |fault: &Fault| match &fault.kind {
            FaultKind::UnknownKeys(keys) if fault.pointer == *self.place => keys.len() as isize,
            _ => 0,
        };
        faults.iter().map(count).sum()
    }
}

/// Returns true if the branch is about objects with members of their own.
fn is_object(branch: View<'_>) -> bool {
    let schema = branch.resolve();
    schema.get("properties").is_some() || schema.get("allOf").is_some()
}

/// The values that a schema lists.
fn values<'d>(schema: View<'d>) -> impl Iterator<Item = &'d Value> {
    let only = schema.get("const");
    let several = schema.get("enum").and_then(Value::as_array);
    only.into_iter().chain(several.into_iter().flatten())
}
