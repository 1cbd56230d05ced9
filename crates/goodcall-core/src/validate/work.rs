//! How much work one validation may be.
//!
//! The validator lists the errors of every branch of a union, and inside each branch those of the
//! unions in it: with a schema that contains itself this doubles at every level. The tree, which
//! is asked for every container, counts; when the work is spent it shows no more containers, so
//! that the validator comes to its end. What it finds from then on is marked and not believed.

use std::cell::Cell;

use crate::limits::{WORK_EACH, WORK_LEAST};

thread_local! {
    /// The work that is left for the validation of this thread.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Spends some work. Is there any left?
#[inline]
pub(super) fn spend() -> bool {
    LEFT.with(|left| match left.get().checked_sub(1) {
        Some(less) => {
            left.set(less);
            true
        }
        None => false,
    })
}

/// Is all work spent?
#[inline]
pub(super) fn is_spent() -> bool {
    LEFT.with(|left| left.get() == 0)
}

/// Runs a validation of a tree with this many nodes, and tells whether it came to its true end.
pub(crate) fn bounded<T>(nodes: usize, times: u64, run: impl FnOnce() -> T) -> (T, bool) {
    let work = (nodes as u64).saturating_mul(WORK_EACH);
    let work = work.saturating_add(WORK_LEAST).saturating_mul(times);
    let outer = LEFT.with(|left| left.replace(work));
    let result = run();
    let spent = is_spent();
    LEFT.with(|left| left.set(outer));
    (result, !spent)
}
