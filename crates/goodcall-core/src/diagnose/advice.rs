//! Advice that holds: what keys have to be renamed, moved, unwrapped or left out, and what is
//! wrong after that.
//!
//! A model that does what it is told must end with a valid call. So the edits that need no new
//! value are made on a copy, and the validator looks again: what it finds then is told as well,
//! and what it no longer finds is not.

use std::collections::{HashMap, HashSet};

use super::edits::{Act, What, act, is_edit, perform};
use super::issues::issues;
use crate::limits::{ADVICE_ROUNDS, MEND_WIDTH};
use crate::names::{envelope, nearest_name};
use crate::report::{Actual, Issue, IssueKind};
use crate::schema::{Schema, owner};
use crate::tree::{EditableTree, Id, Kind, Node, Pointer, Tree};
use crate::validate::Fault;

/// What the model is told about these faults.
pub(crate) fn advice(
    faults: Vec<Fault>,
    tree: &Tree<'_>,
    schema: &Schema,
    tool: Option<&str>,
    most: usize,
) -> Vec<Issue> {
    let mut told = issues(faults, tree, schema);
    if let Some(wrapped) = wrapped(tree, schema, tool) {
        let outermost = wrapped
            .pointer
            .segments()
            .next()
            .map(|key| Pointer::root().join(&key));
        told.retain(|issue| Some(&issue.pointer) != outermost.as_ref());
        told.insert(0, wrapped);
    }
    unwrap_all(&mut told, tree, schema);
    let mut rounds = Rounds {
        schema,
        most,
        staying: HashSet::new(),
    };
    for _ in 0..ADVICE_ROUNDS {
        let known = rounds.staying.len();
        let after = rounds.run(told.clone(), tree);
        if rounds.staying.len() == known {
            return after;
        }
    }
    // What does not come to rest is told as it was found.
    let moved = told
        .iter_mut()
        .filter(|issue| issue.kind != IssueKind::UnknownKey);
    moved.for_each(stay);
    told
}

/// Where all members of an object that is not declared are declared around it, and several are
/// missing there, it is unwrapped: that is said in one line.
fn unwrap_all(told: &mut Vec<Issue>, tree: &Tree<'_>, schema: &Schema) {
    let mut wrappers: Vec<Pointer> = Vec::new();
    let mut once: Vec<Pointer> = Vec::new();
    for moved in told
        .iter()
        .filter(|i| i.kind == IssueKind::Missing)
        .filter_map(|i| i.moved.as_ref())
    {
        let from = moved
            .from
            .split_last()
            .map(|(from, _)| from)
            .unwrap_or_default();
        if from.depth() != moved.to.depth() || wrappers.contains(&from) {
            continue;
        }
        match once.contains(&from) {
            true => wrappers.push(from),
            false => once.push(from),
        }
    }
    for place in wrappers {
        let known = told
            .iter()
            .any(|issue| issue.kind == IssueKind::Wrapped && issue.pointer == place);
        let around = place
            .split_last()
            .map(|(around, _)| around)
            .unwrap_or_default();
        let (Some(node), Some(object)) = (tree.at(&place), tree.at(&around)) else {
            continue;
        };
        let declared = |place: &Pointer| owner(schema.document(), place).is_some();
        let fits = |name| declared(&around.join(name)) && object.get(name).is_none();
        if !known && !declared(&place) && node.members().all(|(name, _)| fits(name)) {
            let mut issue = Issue::new(place, IssueKind::Wrapped, node.span());
            issue.actual = Some(Actual::of(node));
            told.retain(|other| other.pointer != issue.pointer);
            told.insert(0, issue);
        }
    }
}

/// Edits, a look at what they lead to, the edits that it asks for.
struct Rounds<'r> {
    schema: &'r Schema,
    most: usize,
    /// Members that are needed where they are.
    staying: HashSet<Pointer>,
}

impl Rounds<'_> {
    fn run(&mut self, mut told: Vec<Issue>, tree: &Tree<'_>) -> Vec<Issue> {
        let mut acts = self.acts(&mut told);
        if !acts.iter().any(|act| act.may_tell_more) {
            return told;
        }
        let mut draft = EditableTree::new(tree.clone());
        for _ in 0..ADVICE_ROUNDS {
            if !perform(&acts, &mut draft) {
                break;
            }
            let found = self.schema.faults(draft.tree.root(), self.most);
            if !found.finished {
                break;
            }
            let mut left = issues(found.faults, &draft.tree, self.schema);
            let needed = acts.iter().filter(|act| act.may_tell_more);
            let needed = needed.filter(|act| left.iter().any(|issue| misses(issue, &act.from)));
            let needed: Vec<_> = needed.map(|act| act.from.clone()).collect();
            if !needed.is_empty() {
                self.staying.extend(needed);
                break;
            }
            acts = self.acts(&mut left);
            merge(&mut told, left);
            if !acts.iter().any(|act| act.may_tell_more) {
                break;
            }
        }
        told
    }

    /// The edits that these issues ask for. No member is moved twice, and no two to one place.
    fn acts(&self, told: &mut [Issue]) -> Vec<Act> {
        let mut acts = Vec::new();
        let (mut taken, mut filled, mut opened) = (HashSet::new(), HashSet::new(), Vec::new());
        let order = |issue: &Issue| match issue.kind {
            IssueKind::Wrapped => 0,
            IssueKind::Missing => 1,
            _ => 2,
        };
        for rank in 0..3 {
            let edits = told.iter_mut().filter(|issue| order(issue) == rank);
            for issue in edits.filter(|issue| is_edit(issue)) {
                let (from, what) = act(issue);
                if taken.contains(&from) {
                    continue;
                }
                if opened
                    .iter()
                    .any(|wrapper: &Pointer| from.is_within(wrapper))
                {
                    stay(issue);
                    continue;
                }
                let full = |to: &Pointer| filled.contains(to);
                let full = matches!(&what, What::Move(to) if full(to));
                if full || self.staying.contains(&from) {
                    stay(issue);
                    continue;
                }
                match &what {
                    What::Move(to) => drop(filled.insert(to.clone())),
                    What::Unwrap(_) => opened.push(from.clone()),
                    What::Remove => {}
                }
                let may_tell_more = match what {
                    What::Remove => issue.kind == IssueKind::Type && self.schema.has_conditions(),
                    _ => true,
                };
                taken.insert(from.clone());
                acts.push(Act {
                    from,
                    what,
                    may_tell_more,
                });
            }
        }
        acts
    }
}

/// Takes back the advice to move a member or to leave it out.
fn stay(issue: &mut Issue) {
    if issue.kind == IssueKind::Wrapped {
        issue.kind = IssueKind::UnknownKey;
    }
    (issue.nearest, issue.moved, issue.optional) =
        (None, None, issue.kind == IssueKind::UnknownKey);
    issue.places.clear();
}

/// Takes over what is left after the edits that are told: new issues come last, those that are
/// gone go.
fn merge(told: &mut Vec<Issue>, mut left: Vec<Issue>) {
    let place = |issue: &Issue| (issue.kind, issue.pointer.clone());
    let mut still: HashMap<_, _> = left.iter().map(place).zip(left.iter().cloned()).collect();
    told.retain_mut(|issue| {
        match still.remove(&place(issue)) {
            // Said in the light of the edits.
            Some(now) if !is_edit(issue) => *issue = now,
            Some(_) => {}
            None => return is_edit(issue),
        }
        true
    });
    left.retain(|issue| still.contains_key(&place(issue)));
    told.append(&mut left);
}

/// Does the issue ask for the member at this place, perhaps among others?
fn misses(issue: &Issue, place: &Pointer) -> bool {
    match issue.kind {
        IssueKind::Missing => issue.pointer == *place,
        IssueKind::NoAlternative => {
            let keys = issue
                .expected
                .alternatives
                .iter()
                .flat_map(|form| &form.keys);
            let mut places = keys.map(|key| issue.pointer.join(&key.name));
            places.any(|wanted| wanted == *place)
        }
        _ => false,
    }
}

/// Arguments in an envelope, if what is inside has to do with the schema.
fn wrapped(tree: &Tree<'_>, schema: &Schema, tool: Option<&str>) -> Option<Issue> {
    let root = tree.root();
    let declares = |name: &str| schema.root().property(name).is_some();
    let inner = envelope(root, &declares, tool, |value| {
        value.kind() == Kind::Object || value.as_str().is_some_and(|text| text.starts_with('{'))
    })?;
    let place = place_of(root, inner.id)?;
    let text = inner.as_str().map(Tree::parse);
    let opened = match &text {
        Some(Ok(tree)) => tree.root(),
        Some(Err(_)) => return None,
        None => inner,
    };
    let names = || schema.root().properties().map(|(name, _)| name);
    let related = |name: &str| declares(name) || nearest_name(name, names()).is_some();
    let known = opened
        .members()
        .take(MEND_WIDTH)
        .any(|(name, _)| related(name));
    if !known {
        return None;
    }
    let mut issue = Issue::new(place, IssueKind::Wrapped, inner.span());
    issue.actual = Some(Actual::of(inner));
    issue.moved = Some(crate::report::Moved {
        from: issue.pointer.clone(),
        to: Pointer::root(),
    });
    Some(issue)
}

/// The place of a node that stands in an envelope.
fn place_of(root: Node<'_>, id: Id) -> Option<Pointer> {
    root.members().find_map(|(outer, value)| {
        let place = Pointer::root().join(outer);
        if value.id == id {
            return Some(place);
        }
        let mut inner = value.members();
        inner.find_map(|(name, value)| (value.id == id).then(|| place.join(name)))
    })
}
