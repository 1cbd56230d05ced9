//! Defines the edits that rules propose and applies them to a draft.
//!
//! Each edit is one operation of RFC 6902 and becomes one [`Change`].

use serde_json::Value;

use crate::report::{Change, Edit};
use crate::rule::Rule;
use crate::tree::{EditableTree, Id, Kind, Pointer, Tree};

/// A value that an edit inserts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum New {
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

impl New {
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
}

/// The object that a moved member is added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// An object of the arguments.
    Object(Id),
    /// The object that the preceding edit added.
    Added,
}

/// One edit of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Replace {
        at: Id,
        place: Pointer,
        with: New,
    },
    Remove {
        object: Id,
        key: Id,
        place: Pointer,
    },
    Add {
        object: Id,
        place: Pointer,
        value: New,
    },
    /// Changes the key of a member and keeps its position.
    Rename {
        key: Id,
        from: Pointer,
        to: Pointer,
    },
    Move {
        object: Id,
        key: Id,
        from: Pointer,
        target: Target,
        to: Pointer,
    },
}

impl Op {
    /// Returns the place that the edit changes.
    pub(crate) fn place(&self) -> &Pointer {
        match self {
            Op::Replace { place, .. } | Op::Remove { place, .. } | Op::Add { place, .. } => place,
            Op::Rename { to, .. } | Op::Move { to, .. } => to,
        }
    }

    /// Returns the place that the edit takes a value from.
    pub(crate) fn source(&self) -> Option<&Pointer> {
        match self {
            Op::Rename { from, .. } | Op::Move { from, .. } => Some(from),
            _ => None,
        }
    }
}

/// An edit, and the rule that asks for it.
#[derive(Clone, Debug)]
pub(crate) struct PlannedEdit {
    pub(crate) rule: &'static Rule,
    pub(crate) op: Op,
}

/// Applies one step; the change it made.
pub(crate) fn apply(
    step: &PlannedEdit,
    added: &mut Option<Id>,
    draft: &mut EditableTree<'_>,
) -> Change {
    let (edit, before, after, span);
    match &step.op {
        Op::Replace { at, with, .. } => {
            let old = draft.tree.node(*at);
            (span, before) = (old.span(), Some(old.to_json()));
            put(*at, with, draft);
            after = Some(draft.tree.node(*at).to_json());
            edit = Edit::Replace;
        }
        Op::Remove { object, key, .. } => {
            let node = draft.tree.node(draft.tree.slot(*key).next);
            span = draft.tree.node(*key).span().start..node.span().end;
            before = Some(node.to_json());
            draft.remove_member(*object, *key);
            (edit, after) = (Edit::Remove, None);
        }
        Op::Add {
            object,
            place,
            value,
        } => {
            let node = draft.new_node(*object);
            put(node, value, draft);
            draft.add_member(*object, &name(place), node);
            *added = Some(node);
            span = draft.tree.node(*object).span();
            after = Some(draft.tree.node(node).to_json());
            (edit, before) = (Edit::Add, None);
        }
        Op::Rename { key, from, to } => {
            let node = draft.tree.node(draft.tree.slot(*key).next);
            span = draft.tree.node(*key).span();
            after = Some(node.to_json());
            draft.rename_key(*key, &name(to));
            (edit, before) = (Edit::Move { from: from.clone() }, None);
        }
        Op::Move {
            object,
            key,
            from,
            target,
            to,
        } => {
            let node = draft.tree.node(draft.tree.slot(*key).next);
            span = draft.tree.node(*key).span().start..node.span().end;
            after = Some(node.to_json());
            let copy = draft.copy_node(draft.tree.slot(*key).next);
            draft.remove_member(*object, *key);
            let target = match target {
                Target::Object(id) => *id,
                Target::Added => added.unwrap_or(*object),
            };
            draft.add_member(target, &name(to), copy);
            (edit, before) = (Edit::Move { from: from.clone() }, None);
        }
    }
    Change {
        rule: step.rule.id,
        level: step.rule.level,
        pointer: step.op.place().clone(),
        edit,
        before: before.map(Into::into),
        after: after.map(Into::into),
        span,
        count: 1,
    }
}

fn put(at: Id, value: &New, draft: &mut EditableTree<'_>) {
    match value {
        New::Scalar(kind, text) => draft.put_scalar(at, *kind, text),
        New::Value(value) => draft.put_value(at, value),
        New::Node(id) => draft.put_node(at, *id),
        New::Wrapped => draft.wrap(at),
        New::Elements(ids) => draft.put_elements(at, ids),
        New::Tree(tree) => draft.graft(at, tree),
    }
}

fn name(place: &Pointer) -> String {
    let last = place.split_last();
    last.map(|(_, name)| name.into_owned()).unwrap_or_default()
}
