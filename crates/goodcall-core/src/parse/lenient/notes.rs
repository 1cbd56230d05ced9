//! The list of changes, and its bounds.

use std::ops::Range;

use super::rules::Sureness;
use crate::limits::Limits;
use crate::report::{Change, Edit, clip};
use crate::tree::{Pointer, write_string};

/// Characters of raw text kept on each side of a change.
const MOST_CHARS: usize = 80;

/// Changes of one rule that are listed one by one; further ones are one change over all their
/// bytes.
const MOST_OF_A_RULE: u32 = 256;

/// Changes so far, each with the index of the root value it belongs to.
pub(super) struct Notes {
    pub(super) changes: Vec<(usize, Change)>,
    /// More changes, or longer pointers, than the limits allow.
    pub(super) overflow: bool,
    most: usize,
    /// Bytes that pointers may still take: one long key must not be copied for every change.
    room: usize,
    tallies: Vec<Tally>,
}

/// How often a rule was applied.
struct Tally {
    rule: Sureness,
    count: u32,
    last: usize,
}

impl Notes {
    pub(super) fn new(limits: &Limits, bytes: usize) -> Self {
        Self {
            changes: Vec::new(),
            overflow: false,
            most: limits.max_changes,
            room: 16 * bytes + 4096,
            tallies: Vec::new(),
        }
    }

    /// Counts one more application; `true` if it must not be listed on its own any more: then
    /// the last change of the rule was extended.
    #[inline]
    pub(super) fn extend(&mut self, rule: Sureness, span: &Range<usize>) -> bool {
        let known = self.tallies.iter_mut().find(|tally| tally.rule == rule);
        let Some(tally) = known else {
            self.tallies.push(Tally {
                rule,
                count: 1,
                last: 0,
            });
            return false;
        };
        tally.count += 1;
        if tally.count <= MOST_OF_A_RULE {
            return false;
        }
        let first = tally.count == MOST_OF_A_RULE + 1;
        if let Some((_, change)) = self.changes.get_mut(tally.last) {
            change.span.end = change.span.end.max(span.end);
            if first {
                change.pointer = Pointer::root();
                change.before = None;
                change.after = None;
            }
        }
        true
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
        if let Some(tally) = self.tallies.iter_mut().find(|tally| tally.rule == rule) {
            tally.last = self.changes.len();
        }
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
