//! Bounds on text that is scanned more than once, which keep scanning linear.

use std::ops::Range;

/// Candidates that may turn out not to be calls only at the end of the text.
const RETRIES: usize = 16;

/// The work that a scanner may still spend on text it has already looked at.
#[derive(Clone, Debug)]
pub(super) struct ScanBudget {
    retries_left: usize,
    /// Bytes behind markers that were scanned and held no call.
    wasted_bytes: usize,
    /// The end of the last of those bytes.
    furthest: usize,
    /// Brackets before this offset have been tried as candidates.
    brackets_tried_to: usize,
    /// Only markers count before this offset.
    markers_only_to: usize,
}

impl ScanBudget {
    pub(super) fn new() -> Self {
        Self {
            retries_left: RETRIES,
            wasted_bytes: 0,
            furthest: 0,
            brackets_tried_to: 0,
            markers_only_to: 0,
        }
    }

    pub(super) fn has_retries(&self) -> bool {
        self.retries_left > 0
    }

    /// Pays for a candidate that was read up to the end of the text, or too deep, in vain.
    pub(super) fn pay_retry(&mut self) {
        self.retries_left = self.retries_left.saturating_sub(1);
    }

    /// Records bytes behind a marker that held no call.
    pub(super) fn waste(&mut self, range: Range<usize>) {
        self.wasted_bytes = self.wasted_bytes.saturating_add(range.len());
        self.furthest = self.furthest.max(range.end);
    }

    /// Returns false if so many markers led nowhere that looking behind more of them would not be
    /// linear.
    pub(super) fn allows_markers(&self) -> bool {
        self.wasted_bytes <= RETRIES.saturating_mul(self.furthest)
    }

    /// Records that the brackets before `end` have been tried.
    pub(super) fn tried_brackets_to(&mut self, end: usize) {
        self.brackets_tried_to = self.brackets_tried_to.max(end);
    }

    /// Records that the text before `end` is arguments, in which only a marker announces a call.
    pub(super) fn skip_unmarked_to(&mut self, end: usize) {
        self.markers_only_to = self.markers_only_to.max(end);
    }

    /// Records that a thought has ended, and all that it held.
    pub(super) fn end_arguments(&mut self) {
        self.markers_only_to = 0;
    }

    pub(super) fn allows_unmarked_at(&self, at: usize) -> bool {
        at >= self.markers_only_to
    }

    pub(super) fn allows_bracket_at(&self, at: usize) -> bool {
        at >= self.brackets_tried_to
    }
}
