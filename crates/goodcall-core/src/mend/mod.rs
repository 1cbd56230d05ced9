//! Mends arguments: the validator finds a fault, a rule proposes a local edit, and the validator
//! judges the result.
//!
//! [`rules`] has one file per rule. [`defect`] collects the proposals for each fault, [`judge`]
//! compares the faults before and after a trial, and [`engine`] repeats this until the value is
//! valid or no rule helps.

mod compact;
mod defect;
mod engine;
mod judge;
mod planned_edit;
pub(crate) mod rules;
mod site;

pub(crate) use engine::{Mend, Unmended, is_of_kind, mend};
pub(crate) use site::Task;
