//! The budget of one validation.
//!
//! The validator lists the errors of every branch of a union, and inside each branch those of the
//! unions in it. With a schema that contains itself this doubles at every level. The validator
//! cannot be stopped, but it asks the tree for every container: the adapter counts these, and when
//! the budget is exhausted it reports containers as scalars, so that the validator terminates.
//! Errors produced from then on are marked and discarded.
//!
//! The budget is thread-local because the validator hands no context through to the adapter. It is
//! set and restored by [`bounded`] alone, so that nothing of it is seen outside of a validation.

use std::cell::Cell;

use crate::limits::{WORK_EACH, WORK_LEAST};

thread_local! {
    /// The steps left for the validation on this thread; negative when they are spent.
    static LEFT: Cell<i64> = const { Cell::new(i64::MAX) };
}

/// Spends one step; returns false if none was left.
#[inline(always)]
pub(crate) fn spend() -> bool {
    LEFT.with(|left| {
        let less = left.get().wrapping_sub(1);
        left.set(less);
        less >= 0
    })
}

/// Runs a validation of a tree with this many nodes; returns its result, and whether the budget
/// lasted. `times` multiplies the budget of a validation that lists errors.
#[inline]
pub(crate) fn bounded<T>(nodes: usize, times: i64, run: impl FnOnce() -> T) -> (T, bool) {
    // This cannot overflow: a tree has at most 2^30 nodes.
    let work = (nodes as i64).wrapping_mul(WORK_EACH * times);
    let outer = LEFT.with(|left| left.replace(work.wrapping_add(WORK_LEAST * times)));
    let result = run();
    let left = LEFT.with(|left| left.replace(outer));
    (result, left >= 0)
}
