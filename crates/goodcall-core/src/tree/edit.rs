//! The operations on a tree, with the nodes that they act on.

use serde_json::Value;

use super::{EditableTree, Id, Kind, Pointer, Tree};

/// One operation on a tree that is not made yet: add, remove, replace or move, as RFC 6902 has them.
///
/// Nodes say what is edited; places say where that is, for the list of changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    /// Puts a new member at the end of an object.
    Add {
        object: Id,
        place: Pointer,
        value: NewValue,
    },
    /// Takes a member out of its object.
    Remove { object: Id, key: Id, place: Pointer },
    /// Puts another value in the place of this one.
    Replace {
        at: Id,
        place: Pointer,
        value: NewValue,
    },
    /// Takes a member out of its object and puts it at the end of another. A member that stays in
    /// its object is renamed and keeps its position.
    Move {
        object: Id,
        key: Id,
        from: Pointer,
        /// The object that gets the member. `None`: the object at that place, which an edit before
        /// this one adds.
        target: Option<Id>,
        place: Pointer,
    },
}

/// A value that an edit inserts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NewValue {
    /// A scalar: a string's text, a number's digits, a literal's name.
    Scalar(Kind, String),
    /// A value from the schema.
    Value(Value),
    /// A value from elsewhere in the arguments.
    Node(Id),
    /// An array with the value itself as its only element.
    Wrapped,
    /// An array of values from elsewhere in the arguments.
    Elements(Vec<Id>),
    /// A value that was read from a string.
    Tree(Tree<'static>),
}

impl Edit {
    /// Returns the place of the value after the edit, or of a removed one before it.
    pub(crate) fn place(&self) -> &Pointer {
        match self {
            Edit::Add { place, .. }
            | Edit::Remove { place, .. }
            | Edit::Replace { place, .. }
            | Edit::Move { place, .. } => place,
        }
    }

    /// Returns the place that a value is moved away from.
    pub(crate) fn moved_from(&self) -> Option<&Pointer> {
        match self {
            Edit::Move { from, .. } => Some(from),
            _ => None,
        }
    }

    /// Returns true if the edit renames a member.
    pub(crate) fn is_rename(&self) -> bool {
        matches!(self, Edit::Move { object, target, .. } if *target == Some(*object))
    }

    /// Makes the edit and returns the value that it is about, which is no longer part of the tree if
    /// it was removed. Returns `None`, and leaves the tree as it is, if the object that a member moves
    /// to does not exist.
    #[must_use]
    pub(crate) fn apply(&self, draft: &mut EditableTree<'_>) -> Option<Id> {
        let value_of = |key: Id, draft: &EditableTree<'_>| draft.tree.slot(key).next;
        match self {
            Edit::Add {
                object,
                place,
                value,
            } => {
                let node = draft.new_node(*object);
                put(node, value, draft);
                draft.add_member(*object, &member_name(place), node);
                Some(node)
            }
            Edit::Remove { object, key, .. } => {
                draft.remove_member(*object, *key);
                Some(value_of(*key, draft))
            }
            Edit::Replace { at, value, .. } => {
                put(*at, value, draft);
                Some(*at)
            }
            Edit::Move { key, place, .. } if self.is_rename() => {
                draft.rename_key(*key, &member_name(place));
                Some(value_of(*key, draft))
            }
            Edit::Move {
                object,
                key,
                target,
                place,
                ..
            } => {
                let target = target.or_else(|| object_around(place, &draft.tree))?;
                let value = value_of(*key, draft);
                draft.remove_member(*object, *key);
                draft.add_member(target, &member_name(place), value);
                Some(value)
            }
        }
    }
}

fn object_around(place: &Pointer, tree: &Tree<'_>) -> Option<Id> {
    let (around, _) = place.split_last()?;
    let node = tree.at(&around)?;
    (node.kind() == Kind::Object).then_some(node.id)
}

fn put(at: Id, value: &NewValue, draft: &mut EditableTree<'_>) {
    match value {
        NewValue::Scalar(kind, text) => draft.put_scalar(at, *kind, text),
        NewValue::Value(value) => draft.put_value(at, value),
        NewValue::Node(id) => draft.put_node(at, *id),
        NewValue::Wrapped => draft.wrap(at),
        NewValue::Elements(ids) => draft.put_elements(at, ids),
        NewValue::Tree(tree) => draft.graft(at, tree),
    }
}

fn member_name(place: &Pointer) -> std::borrow::Cow<'_, str> {
    let (_, name) = place.split_last().expect("a member is not the root");
    name
}

impl NewValue {
    /// Converts a value of the schema, so that equal values of different rules compare equal.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text.as_str()),
            Value::Number(number) => Self::number(number.to_string()),
            Value::Bool(truth) => Self::boolean(*truth),
            Value::Null => Self::Scalar(Kind::Null, String::new()),
            Value::Array(_) | Value::Object(_) => Self::Value(value.clone()),
        }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Scalar(Kind::String, text.into())
    }

    pub(crate) fn number(digits: impl Into<String>) -> Self {
        Self::Scalar(Kind::Number, digits.into())
    }

    pub(crate) fn boolean(truth: bool) -> Self {
        let name = if truth { "true" } else { "false" };
        Self::Scalar(Kind::Boolean, name.to_owned())
    }

    /// Makes an empty object.
    pub(crate) fn empty_object() -> Self {
        Self::Value(Value::Object(serde_json::Map::new()))
    }
}
