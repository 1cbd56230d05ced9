//! How much work one validation may be.
//!
//! The validator lists the errors of every branch of a union, and inside each branch those of the
//! unions in it: with a schema that contains itself this doubles at every level. The tree, which
//! is asked for every container, counts; when the work is spent it shows no more containers, so
//! that the validator comes to its end. What it finds from then on is marked and not believed.

use std::cell::Cell;

use crate::limits::{WORK_EACH, WORK_LEAST};

thread_local! {
    /// The work that is left for the validation of this thread; below zero when it is spent.
    static LEFT: Cell<i64> = const { Cell::new(i64::MAX) };
}

/// Spends some work. Is there any left?
#[inline(always)]
pub(crate) fn spend() -> bool {
    LEFT.with(|left| {
        let less = left.get().wrapping_sub(1);
        left.set(less);
        less >= 0
    })
}

/// Runs a validation of a tree with this many nodes, and tells whether it came to its true end.
#[inline]
pub(crate) fn bounded<T>(nodes: usize, times: i64, run: impl FnOnce() -> T) -> (T, bool) {
    // No overflow: a tree has at most two to the thirty nodes.
    let work = (nodes as i64).wrapping_mul(WORK_EACH * times);
    let outer = LEFT.with(|left| left.replace(work.wrapping_add(WORK_LEAST * times)));
    let result = run();
    let left = LEFT.with(|left| left.replace(outer));
    (result, left >= 0)
}
