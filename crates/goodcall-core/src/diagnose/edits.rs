//! Edits that need no new value, which are tried on a copy before they are advised.

use crate::limits::MEND_WIDTH;
use crate::report::{Issue, IssueKind};
use crate::tree::{Edit, EditableTree, Id, Kind, NewValue, Node, Pointer, Tree};

/// Returns true if the issue asks for an edit that needs no new value.
pub(super) fn needs_no_value(issue: &Issue) -> bool {
    match issue.kind {
        IssueKind::Wrapped | IssueKind::UnknownKey => true,
        IssueKind::Missing => issue.nearest.is_some() || issue.moved.is_some(),
        IssueKind::Type => issue.optional,
        _ => false,
    }
}

/// What an issue asks for that needs no new value. It becomes one [`Edit`], or several for a wrapper,
/// when it is tried.
pub(super) struct Advised {
    /// The member that the issue is about.
    pub(super) from: Pointer,
    pub(super) to: Destination,
    /// True if validating after this edit may find issues that it hid.
    pub(super) may_uncover_issues: bool,
}

/// Where an issue wants a member.
pub(super) enum Destination {
    Nowhere,
    Place(Pointer),
    /// The members of the member belong into this object; itself, a wrapper, belongs nowhere.
    Unwrapped(Pointer),
}

/// Returns the member that an issue is about, and where the issue wants it.
pub(super) fn destination(issue: &Issue) -> (Pointer, Destination) {
    let here = issue.pointer.clone();
    let around = || {
        here.split_last()
            .map(|(around, _)| around)
            .unwrap_or_default()
    };
    match (issue.kind, &issue.moved, &issue.nearest) {
        (IssueKind::Wrapped, Some(moved), _) => (here, Destination::Unwrapped(moved.to.clone())),
        (IssueKind::Wrapped, ..) => {
            let around = around();
            (here, Destination::Unwrapped(around))
        }
        (_, Some(moved), _) => (moved.from.clone(), Destination::Place(moved.to.clone())),
        (IssueKind::Missing, _, Some(sent)) => (around().join(sent), Destination::Place(here)),
        (IssueKind::UnknownKey, _, Some(name)) => {
            let to = around().join(name);
            (here, Destination::Place(to))
        }
        // A member that several places declare is removed here; the model chooses where it goes.
        _ => (here, Destination::Nowhere),
    }
}

/// Makes the edits, and returns false if one of them cannot be made.
pub(super) fn apply_all(advised: &[Advised], draft: &mut EditableTree<'_>) -> bool {
    // All members are located before the first edit, because an edit changes the places of others.
    let located: Option<Vec<_>> = advised.iter().map(|one| locate(one, &draft.tree)).collect();
    let Some(located) = located else { return false };
    let mut made = advised.iter().zip(located);
    made.all(|(advised, member)| apply(advised, member, draft).is_some())
}

/// A member, and the object that an issue wants it in, if that exists.
#[derive(Clone, Copy)]
struct Located {
    object: Id,
    key: Id,
    target: Option<Id>,
}

fn apply(advised: &Advised, member: Located, draft: &mut EditableTree<'_>) -> Option<Id> {
    let Located {
        object,
        key,
        target,
    } = member;
    let is_object = |id, draft: &EditableTree<'_>| draft.tree.node(id).kind() == Kind::Object;
    if target.is_some_and(|target| !is_object(target, draft)) {
        return None;
    }
    let from = advised.from.clone();
    let edit = match &advised.to {
        Destination::Nowhere => Edit::Remove {
            object,
            key,
            place: from,
        },
        Destination::Place(place) => {
            let target = target.or_else(|| find_or_add_object_around(place, draft))?;
            if is_object(target, draft) {
                Edit::Move {
                    object,
                    key,
                    from,
                    target: Some(target),
                    place: place.clone(),
                }
            } else {
                // An edit before this one put a value there that is an issue of its own.
                Edit::Remove {
                    object,
                    key,
                    place: from,
                }
            }
        }
        Destination::Unwrapped(into) => return unwrap(&from, member, into, draft),
    };
    edit.apply(draft)
}

/// Moves the members of a wrapper into an object, and removes the wrapper.
fn unwrap(
    from: &Pointer,
    wrapper: Located,
    into: &Pointer,
    draft: &mut EditableTree<'_>,
) -> Option<Id> {
    let target = wrapper.target?;
    let at = draft.tree.slot(wrapper.key).next;
    if let Some(Ok(inner)) = draft.tree.node(at).as_str().map(Tree::parse) {
        let (place, value) = (from.clone(), NewValue::Tree(inner.into_owned()));
        Edit::Replace { at, place, value }.apply(draft)?;
    }
    // A wrapper may be inside another one, and then the outermost is removed.
    let outermost = from.segments().next().filter(|_| from.depth() > 1);
    let outer = outermost.filter(|_| target == draft.tree.root);
    let outer = outer.and_then(|name| Some((key_of(draft.tree.root(), &name)?, name)));
    let remove = match outer {
        Some((key, name)) => Edit::Remove {
            object: target,
            key,
            place: Pointer::root().join(&name),
        },
        None => Edit::Remove {
            object: wrapper.object,
            key: wrapper.key,
            place: from.clone(),
        },
    };
    let mut edits = vec![remove];
    let mut members = draft.tree.node(at).members();
    while let Some((key, _)) = members.next_ids() {
        let name = draft.tree.node(key).as_str().expect("keys are strings");
        edits.push(Edit::Move {
            object: at,
            key,
            from: from.join(name),
            target: Some(target),
            place: into.join(name),
        });
    }
    edits.iter().try_fold(at, |_, edit| edit.apply(draft))
}

/// Locates a member, and the object that it is to be in, if that exists.
fn locate(advised: &Advised, tree: &Tree<'_>) -> Option<Located> {
    let (around, name) = advised.from.split_last()?;
    let object = tree.at(&around)?;
    let key = key_of(object, &name)?;
    let target = match &advised.to {
        Destination::Nowhere => None,
        Destination::Place(to) => tree.at(&to.split_last()?.0),
        Destination::Unwrapped(into) => tree.at(into),
    };
    Some(Located {
        object: object.id,
        key,
        target: target.map(|node| node.id),
    })
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

/// Returns the value around a place. It is added, with the objects around it, if it does not exist.
fn find_or_add_object_around(place: &Pointer, draft: &mut EditableTree<'_>) -> Option<Id> {
    let (place, _) = place.split_last()?;
    if let Some(known) = draft.tree.at(&place) {
        return Some(known.id);
    }
    let object = find_or_add_object_around(&place, draft)?;
    if draft.tree.node(object).kind() != Kind::Object {
        return None;
    }
    let value = NewValue::empty_object();
    let edit = Edit::Add {
        object,
        place,
        value,
    };
    edit.apply(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advised(from: &str, to: Destination) -> Advised {
        Advised {
            from: place(from),
            to,
            may_uncover_issues: true,
        }
    }

    fn place(text: &str) -> Pointer {
        let keys = text.split('/').skip(1);
        keys.fold(Pointer::root(), |place, key| place.join(key))
    }

    fn edited(raw: &str, edits: &[Advised]) -> Option<String> {
        let mut draft = EditableTree::new(Tree::parse(raw).expect("JSON"));
        apply_all(edits, &mut draft).then(|| draft.tree.to_json())
    }

    #[test]
    fn member_is_removed_from_an_object_that_has_moved() {
        let edits = [
            advised("/a", Destination::Place(place("/b/a"))),
            advised("/a/y", Destination::Nowhere),
        ];
        let after = edited(r#"{"a":{"x":1,"y":2},"b":{}}"#, &edits);
        assert_eq!(after.as_deref(), Some(r#"{"b":{"a":{"x":1}}}"#));
    }

    #[test]
    fn member_is_added_to_an_object_that_was_unwrapped() {
        let edits = [
            advised("/w", Destination::Unwrapped(Pointer::root())),
            advised("/n", Destination::Place(place("/w/o/n"))),
        ];
        let after = edited(r#"{"w":{"o":{}},"n":1}"#, &edits);
        assert_eq!(after.as_deref(), Some(r#"{"o":{"n":1}}"#));
    }

    #[test]
    fn nothing_is_moved_into_a_value_that_is_no_object() {
        let edits = [advised("/n", Destination::Place(place("/o/n")))];
        assert_eq!(edited(r#"{"o":"text","n":1}"#, &edits), None);
    }
}
