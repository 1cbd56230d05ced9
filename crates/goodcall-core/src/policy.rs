//! What may be mended.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::report::Level;

/// Which rules may change a call: a level, and single rules switched on or off.
///
/// ```
/// use goodcall_core::{Level, Policy};
///
/// let policy = Policy::safe().without("duplicate-key");
/// assert!(policy.allows("empty-arguments", Level::Safe));
/// assert!(!policy.allows("duplicate-key", Level::Safe));
/// assert!("eager".parse::<Policy>().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    level: Option<Level>,
    switches: BTreeMap<String, bool>,
}

impl Policy {
    /// Mends nothing.
    pub fn strict() -> Self {
        Self {
            level: None,
            switches: BTreeMap::new(),
        }
    }

    /// Mends where the reading is certain. The default.
    pub fn safe() -> Self {
        Self {
            level: Some(Level::Safe),
            ..Self::strict()
        }
    }

    /// Mends also where the reading is very likely.
    pub fn eager() -> Self {
        Self {
            level: Some(Level::Eager),
            ..Self::strict()
        }
    }

    /// Switches one rule on, whatever its level.
    #[must_use]
    pub fn with(mut self, rule: &str) -> Self {
        self.switches.insert(rule.to_owned(), true);
        self
    }

    /// Switches one rule off.
    #[must_use]
    pub fn without(mut self, rule: &str) -> Self {
        self.switches.insert(rule.to_owned(), false);
        self
    }

    /// May this rule, which has this level, change a call?
    pub fn allows(&self, rule: &str, level: Level) -> bool {
        match self.switches.get(rule) {
            Some(on) => *on,
            None => self.level.is_some_and(|most| level <= most),
        }
    }

    /// Does this policy mend nothing at all?
    pub fn is_strict(&self) -> bool {
        self.level.is_none() && !self.switches.values().any(|on| *on)
    }

    /// The level; `None` for `strict`.
    pub fn level(&self) -> Option<Level> {
        self.level
    }

    /// The rules switched on or off by name.
    pub fn switches(&self) -> impl Iterator<Item = (&str, bool)> {
        self.switches.iter().map(|(rule, on)| (rule.as_str(), *on))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::safe()
    }
}

/// A policy name that is none of `strict`, `safe`, `eager`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no policy: use strict, safe or eager", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        match name {
            "strict" => Ok(Self::strict()),
            "safe" => Ok(Self::safe()),
            "eager" => Ok(Self::eager()),
            other => Err(UnknownPolicy(other.to_owned())),
        }
    }
}
