//! Mending: the validator points, a rule proposes a local edit, the validator judges.
//!
//! [`rules`] hold what may be done about one fault, one file each. [`defect`] gathers what the
//! rules propose for each fault, [`judge`] compares the validator's faults before and after a
//! trial, and [`engine`] goes round until the value is valid or nothing more can be done.

mod defect;
mod edit;
mod engine;
mod judge;
pub(crate) mod rules;
mod site;

pub(crate) use engine::{Mend, is_of_kind, mend};
pub(crate) use site::Task;
