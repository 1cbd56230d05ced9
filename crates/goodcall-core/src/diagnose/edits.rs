//! Edits that need no new value, which are tried on a copy before they are advised.

use std::collections::HashMap;

use crate::limits::MEND_WIDTH;
use crate::report::{Issue, IssueKind};
use crate::tree::{EditableTree, Id, Kind, Node, Pointer, Tree};

/// Returns true if the issue asks for an edit that needs no new value.
pub(super) fn needs_no_value(issue: &Issue) -> bool {
    match issue.kind {
        IssueKind::Wrapped | IssueKind::UnknownKey => true,
        IssueKind::Missing => issue.nearest.is_some() || issue.moved.is_some(),
        IssueKind::Type => issue.optional,
        _ => false,
    }
}

/// An edit that needs no new value: rename, move, unwrap or leave out.
pub(super) struct TrialEdit {
    pub(super) from: Pointer,
    pub(super) kind: TrialEditKind,
    /// True if validating after this edit may find issues that it hid.
    pub(super) may_uncover_issues: bool,
}

pub(super) enum TrialEditKind {
    Remove,
    Move(Pointer),
    /// Moves all members into this object.
    Unwrap(Pointer),
}

/// Returns the place of the edit that an issue asks for, and the edit.
pub(super) fn edit_for(issue: &Issue) -> (Pointer, TrialEditKind) {
    let here = issue.pointer.clone();
    let around = || {
        here.split_last()
            .map(|(around, _)| around)
            .unwrap_or_default()
    };
    match (issue.kind, &issue.moved, &issue.nearest) {
        (IssueKind::Wrapped, Some(moved), _) => (here, TrialEditKind::Unwrap(moved.to.clone())),
        (IssueKind::Wrapped, ..) => {
            let around = around();
            (here, TrialEditKind::Unwrap(around))
        }
        (_, Some(moved), _) => (moved.from.clone(), TrialEditKind::Move(moved.to.clone())),
        (IssueKind::Missing, _, Some(sent)) => (around().join(sent), TrialEditKind::Move(here)),
        (IssueKind::UnknownKey, _, Some(name)) => {
            let to = around().join(name);
            (here, TrialEditKind::Move(to))
        }
        // A member that several places declare is removed here; the model chooses where it goes.
        _ => (here, TrialEditKind::Remove),
    }
}

/// Applies the edits, and returns false if one of them cannot be applied.
pub(super) fn apply_all(edits: &[TrialEdit], draft: &mut EditableTree<'_>) -> bool {
    // All places are located before the first edit, because an edit moves the places of others.
    let located: Option<Vec<_>> = edits.iter().map(|edit| locate(&draft.tree, edit)).collect();
    let Some(located) = located else { return false };
    // A node that moves is copied, and later edits inside it are made on the copy.
    let mut copies: HashMap<Id, Id> = HashMap::new();
    for (edit, (object, key, target)) in edits.iter().zip(located) {
        let now = |id: Id| copies.get(&id).copied().unwrap_or(id);
        let (object, target) = (now(object), target.map(now));
        let is_object = |id| draft.tree.node(id).kind() == Kind::Object;
        if !target.is_none_or(is_object) {
            return false;
        }
        let value = draft.tree.slot(key).next;
        match &edit.kind {
            TrialEditKind::Remove => draft.remove_member(object, key),
            TrialEditKind::Move(to) => {
                let Some((_, name)) = to.split_last() else {
                    return false;
                };
                if target == Some(object) {
                    draft.rename_key(key, &name);
                    continue;
                }
                let copy = draft.copy_node(value);
                copies.insert(value, copy);
                draft.remove_member(object, key);
                let Some(target) = target.or_else(|| ensure_object(draft, to)) else {
                    return false;
                };
                draft.add_member(target, &name, copy);
            }
            TrialEditKind::Unwrap(_) => {
                let Some(target) = target else { return false };
                parse_string_in_place(draft, value);
                let mut members = draft.tree.node(value).members();
                let mut all = Vec::new();
                while let Some((key, value)) = members.next_ids() {
                    let name = draft.tree.node(key).as_str().expect("keys are strings");
                    all.push((name.to_owned(), value));
                }
                // A wrapper may be inside another one, and then the outermost is removed.
                let outermost = edit
                    .from
                    .segments()
                    .next()
                    .filter(|_| edit.from.depth() > 1);
                let outer = outermost.and_then(|name| key_of(draft.tree.node(target), &name));
                match outer {
                    Some(outer) if target == draft.tree.root => draft.remove_member(target, outer),
                    _ => draft.remove_member(object, key),
                }
                for (name, value) in all {
                    let copy = draft.copy_node(value);
                    copies.insert(value, copy);
                    draft.add_member(target, &name, copy);
                }
            }
        }
    }
    true
}

/// Replaces a string that holds JSON by the value in it.
fn parse_string_in_place(draft: &mut EditableTree<'_>, value: Id) {
    let inner = draft.tree.node(value).as_str().map(Tree::parse);
    if let Some(Ok(inner)) = inner {
        let inner = inner.into_owned();
        draft.graft(value, &inner);
    }
}

/// Locates the object of a member, its key, and the object that the member goes to, if it exists.
fn locate(tree: &Tree<'_>, edit: &TrialEdit) -> Option<(Id, Id, Option<Id>)> {
    let (around, name) = edit.from.split_last()?;
    let object = tree.at(&around)?;
    let key = key_of(object, &name)?;
    let target = match &edit.kind {
        TrialEditKind::Remove => None,
        TrialEditKind::Unwrap(to) => tree.at(to),
        TrialEditKind::Move(to) => tree.at(&to.split_last()?.0),
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

/// Returns the object that a member is moved into, and adds it, with the objects around it, if it
/// does not exist.
fn ensure_object(draft: &mut EditableTree<'_>, to: &Pointer) -> Option<Id> {
    let (place, _) = to.split_last()?;
    if let Some(known) = draft.tree.at(&place) {
        return Some(known.id);
    }
    let around =
        ensure_object(draft, &place).filter(|id| draft.tree.node(*id).kind() == Kind::Object)?;
    let (_, name) = place.split_last()?;
    let object = draft.new_node(around);
    draft.put_value(object, &serde_json::Value::Object(serde_json::Map::new()));
    draft.add_member(around, &name, object);
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(from: &str, kind: TrialEditKind) -> TrialEdit {
        TrialEdit {
            from: place(from),
            kind,
            may_uncover_issues: true,
        }
    }

    fn place(text: &str) -> Pointer {
        let keys = text.split('/').skip(1);
        keys.fold(Pointer::root(), |place, key| place.join(key))
    }

    fn edited(raw: &str, edits: &[TrialEdit]) -> Option<String> {
        let mut draft = EditableTree::new(Tree::parse(raw).expect("JSON"));
        apply_all(edits, &mut draft).then(|| draft.tree.to_json())
    }

    #[test]
    fn member_is_removed_from_an_object_that_has_moved() {
        let edits = [
            edit("/a", TrialEditKind::Move(place("/b/a"))),
            edit("/a/y", TrialEditKind::Remove),
        ];
        let after = edited(r#"{"a":{"x":1,"y":2},"b":{}}"#, &edits);
        assert_eq!(after.as_deref(), Some(r#"{"b":{"a":{"x":1}}}"#));
    }

    #[test]
    fn member_is_added_to_an_object_that_was_unwrapped() {
        let edits = [
            edit("/w", TrialEditKind::Unwrap(Pointer::root())),
            edit("/n", TrialEditKind::Move(place("/w/o/n"))),
        ];
        let after = edited(r#"{"w":{"o":{}},"n":1}"#, &edits);
        assert_eq!(after.as_deref(), Some(r#"{"o":{"n":1}}"#));
    }

    #[test]
    fn nothing_is_moved_into_a_value_that_is_no_object() {
        let edits = [edit("/n", TrialEditKind::Move(place("/o/n")))];
        assert_eq!(edited(r#"{"o":"text","n":1}"#, &edits), None);
    }
}
