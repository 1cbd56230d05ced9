//! What was changed, and how sure that is.

use std::ops::Range;

use crate::rule::{Level, RuleId};
use crate::snippet::Snippet;
use crate::tree::Pointer;

/// What a [`Change`] did to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit {
    /// The raw text was read as something that JSON would write differently. `before` and `after`
    /// are pieces of text; the value was not edited.
    Text,
    /// A value was put where there was none.
    Add,
    /// A value was taken away.
    Remove,
    /// A value was replaced by another.
    Replace,
    /// A value was moved here.
    Move {
        /// Where it was.
        from: Pointer,
    },
}

/// One difference between what was sent and what came out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The rule that made it.
    pub rule: RuleId,
    /// How sure it is.
    pub level: Level,
    /// Where, in the value as it was when the rule was applied.
    pub pointer: Pointer,
    /// What was done.
    pub edit: Edit,
    /// What was there: JSON text, or raw text for [`Edit::Text`]. `None`: nothing.
    pub before: Option<Snippet>,
    /// What is there now: JSON text, or raw text for [`Edit::Text`]. `None`: nothing.
    pub after: Option<Snippet>,
    /// The bytes of the raw text that this is about.
    pub span: Range<usize>,
    /// How often the rule did this. It is more than 1 only if a call takes so many changes that they
    /// are not listed one by one: then `pointer` is the place of one of them, or the container of
    /// all, and `span` reaches to the last.
    pub count: u32,
}

impl Change {
    /// A piece of raw text that was read as another, outside the value: a tool's name, a marker.
    pub fn text(
        rule: RuleId,
        level: Level,
        before: impl Into<Snippet>,
        after: impl Into<Snippet>,
        span: Range<usize>,
    ) -> Self {
        Self {
            rule,
            level,
            pointer: Pointer::root(),
            edit: Edit::Text,
            before: Some(before.into()),
            after: Some(after.into()),
            span,
            count: 1,
        }
    }
}
