//! What may be mended.

mod per_tool;
mod serde;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use per_tool::{Policies, UnknownRule};

use crate::rule::Level;

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

/// A policy that cannot be read: no such level, or no such rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

/// A level, and rules switched on and off: `safe`, `eager,-enum-typo`, `strict,+key-style`.
impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let mut parts = text.split(',').map(str::trim);
        let mut policy = match parts.next().unwrap_or_default() {
            "strict" => Self::strict(),
            "safe" => Self::safe(),
            "eager" => Self::eager(),
            other => {
                let message = format!("`{other}` is no policy: use strict, safe or eager");
                return Err(UnknownPolicy(message));
            }
        };
        for part in parts {
            let (rule, on) = match (part.strip_prefix('+'), part.strip_prefix('-')) {
                (Some(rule), _) => (rule, true),
                (None, Some(rule)) => (rule, false),
                (None, None) => {
                    let message = format!("`{part}` switches nothing: write +{part} or -{part}");
                    return Err(UnknownPolicy(message));
                }
            };
            let switched = policy.switch(rule, on);
            policy = switched.map_err(|error| UnknownPolicy(error.to_string()))?;
        }
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_and_checked() {
        let policy: Policy = "eager, -enum-typo, +key-style".parse().unwrap();
        assert!(!policy.allows("enum-typo", Level::Eager));
        assert!(policy.allows("unknown-key", Level::Eager));
        let error = |text: &str| text.parse::<Policy>().unwrap_err().to_string();
        assert_eq!(
            error("brave"),
            "`brave` is no policy: use strict, safe or eager"
        );
        assert_eq!(
            error("safe,+key-stile"),
            "`key-stile` is no rule: did you mean `key-style`?"
        );
        assert_eq!(
            error("safe,key-style"),
            "`key-style` switches nothing: write +key-style or -key-style"
        );
    }
}
