//! The list of changes, and its bounds.

use std::ops::Range;

use super::rules::Sureness;
use crate::limits::Limits;
use crate::report::{Change, Edit, clip};
use crate::tree::{Pointer, write_string};

/// Characters of raw text kept on each side of a change.
const MOST_CHARS: usize = 80;

/// Changes so far, each with the index of the root value it belongs to.
pub(super) struct Notes {
    pub(super) changes: Vec<(usize, Change)>,
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
            overflow: false,
            most: limits.max_changes,
            room: 16 * bytes + 4096,
        }
    }

    pub(super) fn add(
        &mut self,
        rule: Sureness,
        root: usize,
        pointer: Pointer,
        span: Range<usize>,
        before: &str,
        after: &str,
    ) {
        let size = pointer.as_str().len();
        if self.changes.len() >= self.most || size > self.room {
            self.overflow = true;
            return;
        }
        self.room -= size;
        let some = |text: &str| (!text.is_empty()).then(|| clip(text, MOST_CHARS));
        let change = Change {
            rule: rule.name,
            level: rule.level,
            pointer,
            edit: Edit::Text,
            before: some(before),
            after: some(after),
            span,
        };
        self.changes.push((root, change));
    }
}

/// As much of a text as a change may show.
pub(super) fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(2 * MOST_CHARS);
    end.map_or(text, |(at, _)| &text[..at])
}

/// The text in quotes, as far as it is kept.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", clip(text, MOST_CHARS))
}

/// The text as it stands inside a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    write_string(start_of(text), &mut out);
    out.pop();
    out.split_off(1)
}
