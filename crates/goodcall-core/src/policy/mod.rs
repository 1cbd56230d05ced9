//! Which rules may change a call: one [`Policy`], or one per tool ([`Policies`]).

mod per_tool;
mod serde;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use per_tool::{Policies, name_fits};

use crate::rule::{Level, RuleId};

/// What `format` means: a remark, or a demand.
///
/// The drafts leave this to the host. Most servers take `format` as a remark, so that calls which
/// work are not refused for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Formats {
    /// A remark: it is told to the model, and never makes a call bad. The default.
    #[default]
    Annotate,
    /// A demand: a string that does not have the format makes the call bad, and dates in another
    /// notation are mended.
    Assert,
}

impl Formats {
    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Formats::Annotate => "annotate",
            Formats::Assert => "assert",
        }
    }
}

impl FromStr for Formats {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        match name {
            "annotate" => Ok(Formats::Annotate),
            "assert" => Ok(Formats::Assert),
            _ => Err(UnknownPolicy(format!(
                "unknown meaning of formats `{name}`: expected annotate or assert"
            ))),
        }
    }
}

/// Which rules may change a call: a level, and single rules switched on or off. It also says what
/// `format` means, see [`Formats`].
///
/// ```
/// use goodcall_core::{Level, Policy, RuleId};
///
/// let policy = Policy::safe().without(RuleId::DuplicateKey);
/// assert!(policy.allows(RuleId::EmptyArguments, Level::Safe));
/// assert!(!policy.allows(RuleId::DuplicateKey, Level::Safe));
/// assert_eq!("safe,-duplicate-key".parse(), Ok(policy));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    level: Option<Level>,
    switches: BTreeMap<RuleId, bool>,
    formats: Formats,
}

impl Policy {
    /// Allows nothing to be mended.
    pub fn strict() -> Self {
        Self {
            level: None,
            switches: BTreeMap::new(),
            formats: Formats::Annotate,
        }
    }

    /// Allows the rules whose reading is certain. The default.
    pub fn safe() -> Self {
        Self {
            level: Some(Level::Safe),
            ..Self::strict()
        }
    }

    /// Allows also the rules whose reading is very likely.
    pub fn eager() -> Self {
        Self {
            level: Some(Level::Eager),
            ..Self::strict()
        }
    }

    /// Switches one rule on, whatever its level.
    #[must_use]
    pub fn with(self, rule: RuleId) -> Self {
        self.switched(rule, true)
    }

    /// Switches one rule off, whatever its level.
    #[must_use]
    pub fn without(self, rule: RuleId) -> Self {
        self.switched(rule, false)
    }

    /// Says what `format` means.
    #[must_use]
    pub fn with_formats(mut self, formats: Formats) -> Self {
        self.formats = formats;
        self
    }

    /// What `format` means.
    pub fn formats(&self) -> Formats {
        self.formats
    }

    fn switched(mut self, rule: RuleId, on: bool) -> Self {
        self.switches.insert(rule, on);
        self
    }

    /// Returns true if this rule may change a call. `level` is how sure the rule is in the case at
    /// hand; a few rules are surer in some cases than in others.
    pub fn allows(&self, rule: RuleId, level: Level) -> bool {
        match self.switches.get(&rule) {
            Some(on) => *on,
            None => self.level.is_some_and(|most| level <= most),
        }
    }

    /// Returns what both policies allow, and nothing else. A rule that one of them allows only by
    /// its level is allowed at that level, and a rule that is switched on in only one of them is
    /// allowed if the other is eager.
    ///
    /// ```
    /// use goodcall_core::Policy;
    ///
    /// let policy: Policy = "eager,-enum-typo".parse()?;
    /// let bounded = policy.within(&"safe,-key-style".parse()?);
    /// assert_eq!(bounded, "safe,-enum-typo,-key-style".parse()?);
    /// assert!(Policy::eager().within(&Policy::strict()).is_strict());
    /// # Ok::<(), goodcall_core::UnknownPolicy>(())
    /// ```
    #[must_use]
    pub fn within(&self, bounds: &Self) -> Self {
        let mut switches = BTreeMap::new();
        for rule in self.switches.keys().chain(bounds.switches.keys()) {
            let both = [self, bounds].map(|policy| (policy.switches.get(rule), policy.level));
            let is_off = both.iter().any(|(switch, _)| *switch == Some(&false));
            let is_on = both.iter().all(|(switch, level)| match switch {
                Some(on) => **on,
                None => *level == Some(Level::Eager),
            });
            if is_off || is_on {
                switches.insert(*rule, is_on);
            }
        }
        let asserts = [self, bounds].map(|policy| policy.formats == Formats::Assert);
        let formats = if asserts.contains(&true) {
            Formats::Assert
        } else {
            Formats::Annotate
        };
        Self {
            level: self.level.min(bounds.level),
            switches,
            formats,
        }
    }

    /// Returns true if no rule at all may change a call.
    pub fn is_strict(&self) -> bool {
        self.level.is_none() && !self.switches.values().any(|on| *on)
    }

    /// The level; `None` for `strict`.
    pub fn level(&self) -> Option<Level> {
        self.level
    }

    /// The name of the level: `strict`, `safe` or `eager`.
    pub fn level_name(&self) -> &'static str {
        self.level.map_or("strict", Level::name)
    }

    /// The rules that are switched on or off one by one.
    pub fn switches(&self) -> impl Iterator<Item = (RuleId, bool)> {
        self.switches.iter().map(|(rule, on)| (*rule, *on))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::safe()
    }
}

/// The error of parsing a [`Policy`] with an unknown level or an unknown rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

/// A level, and rules switched on and off: `safe`, `eager,-enum-typo`, `strict,+key-style`. The part
/// `formats=assert` says what `format` means.
impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let mut parts = text.split(',').map(str::trim);
        let level = parts.next().expect("splitting gives at least one part");
        let mut policy = match level {
            "strict" => Self::strict(),
            "safe" => Self::safe(),
            "eager" => Self::eager(),
            _ => {
                let message = format!("unknown policy `{level}`: expected strict, safe or eager");
                return Err(UnknownPolicy(message));
            }
        };
        for switch in parts {
            if let Some(formats) = switch.strip_prefix("formats=") {
                policy.formats = formats.parse()?;
                continue;
            }
            let (name, on) = match (switch.strip_prefix('+'), switch.strip_prefix('-')) {
                (Some(name), _) => (name, true),
                (None, Some(name)) => (name, false),
                (None, None) => {
                    let message = format!("expected +{switch} or -{switch}, got `{switch}`");
                    return Err(UnknownPolicy(message));
                }
            };
            match name.parse() {
                Ok(rule) => policy = policy.switched(rule, on),
                Err(error) => return Err(UnknownPolicy(format!("{error}"))),
            }
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
        assert!(!policy.allows(RuleId::EnumTypo, Level::Eager));
        assert!(policy.allows(RuleId::UnknownKey, Level::Eager));
        for (text, message) in [
            (
                "brave",
                "unknown policy `brave`: expected strict, safe or eager",
            ),
            (
                "safe,+key-stile",
                "unknown rule `key-stile`: did you mean `key-style`?",
            ),
            (
                "safe,key-style",
                "expected +key-style or -key-style, got `key-style`",
            ),
            (
                "safe,formats=check",
                "unknown meaning of formats `check`: expected annotate or assert",
            ),
        ] {
            assert_eq!(text.parse::<Policy>().unwrap_err().to_string(), message);
        }
    }
}
