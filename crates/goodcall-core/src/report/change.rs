//! What was changed, and how sure that is.

use std::ops::Range;

use crate::rule::{Level, RuleId};
use crate::snippet::Snippet;
use crate::tree::Pointer;

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
    /// Where the value was that was moved here. `None`: nothing was moved.
    pub from: Option<Pointer>,
    /// The JSON text of the value that was replaced or removed. `None`: the value was added or moved.
    pub before: Option<Snippet>,
    /// The JSON text of the value that was put or moved here. `None`: the value was removed.
    pub after: Option<Snippet>,
    /// True if the raw text was read as something that JSON would write differently. Then `before`
    /// and `after` are pieces of raw text, and the value was not edited.
    pub is_text: bool,
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
            from: None,
            before: Some(before.into()),
            after: Some(after.into()),
            is_text: true,
            span,
            count: 1,
        }
    }
}
