//! Mending: the validator points, a rule proposes a local edit, the validator judges.

pub(crate) mod rules;

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
pub struct Example {
    /// The schema, as JSON.
    pub schema: &'static str,
    /// The arguments as sent.
    pub raw: &'static str,
    /// The arguments as they come out.
    pub mended: &'static str,
}
