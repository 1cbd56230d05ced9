//! Rules as data: the name, the level and the catalogue page of everything that may change a call.
//!
//! A rule itself is one file, in `mend/rules/` or `parse/lenient/rules/`.

mod id;

pub use id::{RuleId, UnknownRule};

/// How sure a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The reading is certain. On by default.
    Safe,
    /// Very likely, but a person could mean something else. Opt in.
    Eager,
}

impl Level {
    /// `safe` or `eager`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Safe => "safe",
            Level::Eager => "eager",
        }
    }
}

/// The page of a rule that may change a call: what `goodcall rules` prints.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Which rule this is.
    pub id: RuleId,
    /// How sure its changes are.
    pub level: Level,
    /// What it does.
    pub what: &'static str,
    /// Why that is safe; for an eager rule, why it is likely and what else could be meant.
    pub why: &'static str,
    /// The cases in which it is not applied, one sentence each.
    pub not_when: &'static [&'static str],
    /// A call that it changes.
    pub example: Example,
}

/// A call that a rule changes; run as a test.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The tool, if `raw` is a text with a call of it.
    pub tool: Option<&'static str>,
    /// The schema, as JSON.
    pub schema: &'static str,
    /// The arguments as sent, or the text with the call.
    pub raw: &'static str,
    /// The arguments as they come out.
    pub mended: &'static str,
}
