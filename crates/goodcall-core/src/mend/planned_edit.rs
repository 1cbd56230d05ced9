//! Edits that rules propose. Each that is made becomes one [`Change`].

use std::ops::Range;

use crate::report::Change;
use crate::rule::Rule;
use crate::tree::{Edit, EditableTree, Id, Tree};

/// An edit, and the rule that asks for it.
#[derive(Clone, Debug)]
pub(crate) struct PlannedEdit {
    pub(crate) rule: &'static Rule,
    pub(crate) edit: Edit,
}

impl PlannedEdit {
    /// Makes the edit and returns the change. Returns `None` if the edit cannot be made.
    pub(crate) fn apply(&self, draft: &mut EditableTree<'_>) -> Option<Change> {
        let json = |id: Id, tree: &Tree<'_>| Some(tree.node(id).to_json().into());
        let tree = &draft.tree;
        let (span, before) = match &self.edit {
            Edit::Add { object, .. } => (tree.node(*object).span(), None),
            Edit::Remove { key, .. } => (member_span(*key, tree), json(tree.slot(*key).next, tree)),
            Edit::Replace { at, .. } => (tree.node(*at).span(), json(*at, tree)),
            Edit::Move { key, .. } if self.edit.is_rename() => (tree.node(*key).span(), None),
            Edit::Move { key, .. } => (member_span(*key, tree), None),
        };
        let value = self.edit.apply(draft)?;
        let after = match self.edit {
            Edit::Remove { .. } => None,
            _ => json(value, &draft.tree),
        };
        Some(Change {
            rule: self.rule.id,
            level: self.rule.level,
            pointer: self.edit.place().clone(),
            from: self.edit.moved_from().cloned(),
            before,
            after,
            is_text: false,
            span,
            count: 1,
        })
    }
}

fn member_span(key: Id, tree: &Tree<'_>) -> Range<usize> {
    let value = tree.node(tree.slot(key).next);
    tree.node(key).span().start..value.span().end
}
