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

use crate::report::Level;

/// A rule that may change a call: everything the catalogue says of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Kebab-case name.
    pub name: &'static str,
    /// How sure its changes are.
    pub level: Level,
    /// What it does.
    pub what: &'static str,
    /// Why that cannot harm.
    pub why: &'static str,
    /// A call that it changes.
    pub example: Example,
}

/// A call that a rule changes; run as a test.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Example {
    /// The tool, if the arguments stand in a text with a call of it.
    pub tool: Option<&'static str>,
    /// The schema, as JSON.
    pub schema: &'static str,
    /// The arguments as sent, or the text with the call.
    pub raw: &'static str,
    /// The arguments as they come out.
    pub mended: &'static str,
}
