//! The list of changes, and its bounds.

use std::ops::Range;

use super::rules::Sureness;
use crate::limits::Limits;
use crate::report::{Change, Edit, Snippet};
use crate::tree::{Pointer, write_string};

/// Characters of raw text kept on each side of a change.
const MOST_CHARS: usize = 80;

/// Changes so far.
pub(super) struct Notes {
    pub(super) changes: Vec<Change>,
    /// How many changes there were before each root value.
    pub(super) before_root: Vec<usize>,
    /// More changes, or longer pointers, than the limits allow.
    pub(super) overflow: bool,
    most: usize,
    /// Bytes that pointers may still take: one long key must not be copied for every change.
    room: usize,
}

impl Notes {
    pub(super) fn new(limits: &Limits, bytes: usize) -> Self {
        Self {
            changes: Vec::new(),
            before_root: Vec::new(),
            overflow: false,
            most: limits.max_changes,
            room: 16 * bytes + 4096,
        }
    }

    /// The changes that come now belong to this root value or a later one.
    pub(super) fn at_root(&mut self, root: usize) {
        while self.before_root.len() <= root {
            self.before_root.push(self.changes.len());
        }
    }

    #[inline]
    pub(super) fn add(
        &mut self,
        rule: Sureness,
        pointer: Pointer,
        span: Range<usize>,
        before: &str,
        after: Option<Snippet>,
    ) {
        let size = pointer.size();
        if self.changes.len() >= self.most || size > self.room {
            self.overflow = true;
            return;
        }
        self.room -= size;
        self.changes.push(Change {
            rule: rule.name,
            level: rule.level,
            pointer,
            edit: Edit::Text,
            before: shown(before),
            after,
            span,
        });
    }
}

/// As much of a text as a change may show.
pub(super) fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(2 * MOST_CHARS);
    end.map_or(text, |(at, _)| &text[..at])
}

/// A text as far as it is kept; `None` if there is none.
#[inline]
pub(super) fn shown(text: &str) -> Option<Snippet> {
    if text.is_empty() {
        return None;
    }
    let mut out = Snippet::default();
    push_clipped(text, &mut out);
    Some(out)
}

#[inline]
fn push_clipped(text: &str, out: &mut Snippet) {
    if text.len() <= MOST_CHARS || text.chars().nth(MOST_CHARS).is_none() {
        return out.push_str(text);
    }
    let end = text.char_indices().nth(MOST_CHARS - 1);
    out.push_str(end.map_or(text, |(at, _)| &text[..at]));
    out.push('…');
}

/// The text in quotes, as far as it is kept.
pub(super) fn quoted(text: &str) -> Snippet {
    let mut out = Snippet::from("\"");
    push_clipped(text, &mut out);
    out.push('"');
    out
}

/// The text as it stands inside a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    write_string(start_of(text), &mut out);
    out.pop();
    out.split_off(1)
}
