//! Edits that need no new value, and how they are made on a copy.

use crate::limits::MEND_WIDTH;
use crate::report::{Issue, IssueKind};
use crate::tree::{EditableTree, Id, Kind, Node, Pointer, Tree};

/// Does the issue ask for an edit that needs no new value?
pub(super) fn is_edit(issue: &Issue) -> bool {
    match issue.kind {
        IssueKind::Wrapped | IssueKind::UnknownKey => true,
        IssueKind::Missing => issue.nearest.is_some() || issue.moved.is_some(),
        IssueKind::Type => issue.optional,
        _ => false,
    }
}

/// An edit that needs no new value.
pub(super) struct Act {
    pub(super) from: Pointer,
    pub(super) what: What,
    /// May there be something else wrong once this is done?
    pub(super) may_tell_more: bool,
}

pub(super) enum What {
    Remove,
    Move(Pointer),
    /// All members go into this object.
    Unwrap(Pointer),
}

pub(super) fn act(issue: &Issue) -> (Pointer, What) {
    let here = issue.pointer.clone();
    let around = || {
        here.split_last()
            .map(|(around, _)| around)
            .unwrap_or_default()
    };
    match (issue.kind, &issue.moved, &issue.nearest) {
        (IssueKind::Wrapped, Some(moved), _) => (here, What::Unwrap(moved.to.clone())),
        (IssueKind::Wrapped, ..) => {
            let around = around();
            (here, What::Unwrap(around))
        }
        (_, Some(moved), _) => (moved.from.clone(), What::Move(moved.to.clone())),
        (IssueKind::Missing, _, Some(sent)) => (around().join(sent), What::Move(here)),
        (IssueKind::UnknownKey, _, Some(name)) => {
            let to = around().join(name);
            (here, What::Move(to))
        }
        // Also what may belong into several places: gone from here, wherever it goes.
        _ => (here, What::Remove),
    }
}

/// Makes the edits; says if that was possible.
pub(super) fn perform(acts: &[Act], draft: &mut EditableTree<'_>) -> bool {
    // Looked up first: an edit moves what others name.
    let found: Option<Vec<_>> = acts.iter().map(|act| find(&draft.tree, act)).collect();
    let Some(found) = found else { return false };
    for (act, (object, key, target)) in acts.iter().zip(found) {
        let value = draft.tree.slot(key).next;
        match &act.what {
            What::Remove => draft.remove_member(object, key),
            What::Move(to) => {
                let name = to.split_last().map(|(_, name)| name.into_owned());
                let name = name.unwrap_or_default();
                if target == Some(object) {
                    draft.rename_key(key, &name);
                    continue;
                }
                let copy = draft.copy_node(value);
                draft.remove_member(object, key);
                let Some(target) = target.or_else(|| added(draft, to)) else {
                    return false;
                };
                draft.add_member(target, &name, copy);
            }
            What::Unwrap(_) => {
                let Some(target) = target else { return false };
                open(draft, value);
                let mut members = draft.tree.node(value).members();
                let mut all = Vec::new();
                while let Some((key, value)) = members.next_ids() {
                    let name = draft.tree.node(key).as_str().unwrap_or_default();
                    all.push((name.to_owned(), value));
                }
                // Around a wrapper may be another one: what stands in the target goes.
                let outermost = act.from.segments().next().filter(|_| act.from.depth() > 1);
                let outer = outermost.and_then(|name| key_of(draft.tree.node(target), &name));
                match outer {
                    Some(outer) if target == draft.tree.root => draft.remove_member(target, outer),
                    _ => draft.remove_member(object, key),
                }
                for (name, value) in all {
                    let copy = draft.copy_node(value);
                    draft.add_member(target, &name, copy);
                }
            }
        }
    }
    true
}

/// A string that holds an object is read as that object.
fn open(draft: &mut EditableTree<'_>, value: Id) {
    let inner = draft.tree.node(value).as_str().map(Tree::parse);
    if let Some(Ok(inner)) = inner {
        let inner = inner.into_owned();
        draft.graft(value, &inner);
    }
}

/// The object of a member, the key, and the object that the member goes to, if it is there.
fn find(tree: &Tree<'_>, act: &Act) -> Option<(Id, Id, Option<Id>)> {
    let (around, name) = act.from.split_last()?;
    let object = tree.at(&around)?;
    let key = key_of(object, &name)?;
    let target = match &act.what {
        What::Remove => None,
        What::Unwrap(to) => tree.at(to),
        What::Move(to) => tree.at(&to.split_last()?.0),
    };
    Some((object.id, key, target.map(|node| node.id)))
}

fn key_of(object: Node<'_>, name: &str) -> Option<Id> {
    if object.kind() != Kind::Object || object.len() > MEND_WIDTH {
        return None;
    }
    let mut members = object.members();
    while let Some((key, _)) = members.next_ids() {
        if object.tree.node(key).as_str() == Some(name) {
            return Some(key);
        }
    }
    None
}

/// The object for a member that goes into one which is not there yet, nor perhaps the one around
/// that.
fn added(draft: &mut EditableTree<'_>, to: &Pointer) -> Option<Id> {
    let (place, _) = to.split_last()?;
    if let Some(known) = draft.tree.at(&place) {
        return Some(known.id);
    }
    let around = added(draft, &place).filter(|id| draft.tree.node(*id).kind() == Kind::Object)?;
    let (_, name) = place.split_last()?;
    let object = draft.new_node(around);
    draft.put_value(object, &serde_json::Value::Object(serde_json::Map::new()));
    draft.add_member(around, &name, object);
    Some(object)
}
