//! Policies as a host writes them down: a default, and tools that differ.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Policy;
use super::serde::{All, OnePolicy, Place};
use crate::mend::rules::catalogue;
use crate::names::nearest_name;

/// The policy of every tool: one for all, and those of single tools.
///
/// Reads from any serde format. In TOML:
///
/// ```toml
/// level = "safe"
/// rules = { "unknown-key" = true, "scalar-to-array" = false }
///
/// [tools.delete_file]
/// level = "strict"
/// ```
///
/// A tool that is destructive is strict, unless it has a level of its own.
///
/// ```
/// use goodcall_core::{Level, Policies, Policy};
///
/// let policies: Policies = serde_json::from_str(
///     r#"{"level": "eager", "tools": {"drop_table": {"level": "safe"}}}"#,
/// )?;
/// assert_eq!(policies.of("search", false), Policy::eager());
/// assert_eq!(policies.of("delete_file", true), Policy::strict());
/// assert_eq!(policies.of("drop_table", true), Policy::safe());
///
/// let error = serde_json::from_str::<Policies>(r#"{"rules": {"unkown-key": true}}"#);
/// assert!(error.unwrap_err().to_string().starts_with(
///     "rules: `unkown-key` is no rule: did you mean `unknown-key`?"
/// ));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    default: Policy,
    tools: BTreeMap<String, Table>,
}

impl Policies {
    /// One policy for all tools that are not destructive.
    pub fn new(default: Policy) -> Self {
        Self {
            default,
            tools: BTreeMap::new(),
        }
    }

    /// Another policy for one tool, destructive or not.
    #[must_use]
    pub fn tool(mut self, name: &str, policy: &Policy) -> Self {
        self.tools.insert(name.to_owned(), Table::of(policy));
        self
    }

    /// The policy of a tool. One that is destructive is strict, unless it was given a level of
    /// its own.
    pub fn of(&self, tool: &str, destructive: bool) -> Policy {
        let base = match destructive {
            true => Policy::strict(),
            false => self.default.clone(),
        };
        match self.tools.get(tool) {
            Some(table) => table.over(base, &self.default),
            None => base,
        }
    }

    /// The policy of tools that have none of their own.
    pub fn default_policy(&self) -> &Policy {
        &self.default
    }
}

/// A rule name that is in no catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule {
    name: String,
    nearest: Option<String>,
}

impl UnknownRule {
    /// The rule with the nearest name.
    pub fn nearest(&self) -> Option<&str> {
        self.nearest.as_deref()
    }
}

impl fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no rule", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, ": did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownRule {}

impl Policy {
    /// Switches one rule on or off, if there is such a rule.
    ///
    /// # Errors
    /// If no rule has this name.
    pub fn switch(self, rule: &str, on: bool) -> Result<Self, UnknownRule> {
        let rules = catalogue();
        if !rules.iter().any(|known| known.name == rule) {
            return Err(UnknownRule {
                name: rule.to_owned(),
                nearest: nearest_name(rule, rules.iter().map(|known| known.name)),
            });
        }
        Ok(match on {
            true => self.with(rule),
            false => self.without(rule),
        })
    }

    /// The name of the level: `strict`, `safe` or `eager`.
    pub fn level_name(&self) -> &'static str {
        self.level().map_or("strict", |level| level.name())
    }
}

/// A policy as it is written: what it leaves out comes from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) rules: BTreeMap<String, bool>,
}

impl Table {
    fn of(policy: &Policy) -> Self {
        let rules = policy.switches().map(|(rule, on)| (rule.to_owned(), on));
        Self {
            level: Some(policy.level_name().to_owned()),
            rules: rules.collect(),
        }
    }

    /// This table on top of a policy. With a level of its own, the switches of the default hold.
    fn over(&self, base: Policy, default: &Policy) -> Policy {
        let mut policy = base;
        if let Some(level) = self.level.as_deref().and_then(|level| level.parse().ok()) {
            policy = level;
            if policy != Policy::strict() {
                for (rule, on) in default.switches() {
                    policy = set(policy, rule, on);
                }
            }
        }
        let own = self.rules.iter();
        own.fold(policy, |policy, (rule, on)| set(policy, rule, *on))
    }
}

fn set(policy: Policy, rule: &str, on: bool) -> Policy {
    match on {
        true => policy.with(rule),
        false => policy.without(rule),
    }
}

impl<'de> Deserialize<'de> for Policy {
    /// From `"safe"`, or from a table with `level` and `rules`.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let table = OnePolicy(Place::All).deserialize(from)?;
        Ok(table.over(Policy::default(), &Policy::default()))
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Table::of(self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Policies {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (table, tools) = from.deserialize_map(All)?;
        Ok(Self {
            default: table.over(Policy::default(), &Policy::default()),
            tools,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Level;

    fn read(text: &str) -> Result<Policies, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tool_takes_from_the_default_what_it_does_not_say() {
        let policies = read(
            r#"{"level": "safe", "rules": {"unknown-key": true},
                "tools": {"a": {"rules": {"stringified": false}}, "b": "eager", "c": "strict"}}"#,
        )
        .unwrap();
        let (a, b, c) = (
            policies.of("a", false),
            policies.of("b", true),
            policies.of("c", false),
        );
        assert!(a.allows("unknown-key", Level::Eager));
        assert!(!a.allows("stringified", Level::Safe));
        assert!(b.allows("enum-typo", Level::Eager));
        assert!(c.is_strict());
        assert!(policies.of("d", true).is_strict());
        // Single rules are no level: a destructive tool stays strict but for them.
        assert!(!policies.of("a", true).allows("key-style", Level::Safe));
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for (text, words) in [
            (r#"{"level": "lax"}"#, "`lax` is no policy"),
            (
                r#"{"rules": {"key-stile": true}}"#,
                "did you mean `key-style`?",
            ),
            (
                r#"{"tools": {"a": {"rules": {"xyz": true}}}}"#,
                "`xyz` is no rule",
            ),
            (
                r#"{"lvl": "safe"}"#,
                "`lvl` is no key of a policy: use level, rules or tools",
            ),
            (r#"{"policy": "safe"}"#, "write the level as `level`"),
            (r#"{"key-style": true}"#, "switched under `rules`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    /// What stands wrong, for which tool, and what may stand there, in every format.
    #[test]
    fn errors_name_the_place_and_the_way_out() {
        let wrong = [
            (
                r#"{"tools": {"a": 5}}"#,
                "invalid type: integer `5`, expected a level (\"strict\", \"safe\" or \"eager\") \
                 or a table with `level` and `rules` for the tool `a`",
            ),
            (
                r#"{"tools": {"a": {"lvl": "safe"}}}"#,
                "`lvl` is no key of a policy for the tool `a`: use level or rules",
            ),
            (
                r#"{"tools": {"a": {"level": true}}}"#,
                "expected a level (\"strict\", \"safe\" or \"eager\") for the tool `a`",
            ),
            (
                r#"{"tools": {"a": {"rules": {"key-style": "on"}}}}"#,
                "expected true or false for the rule `key-style` for the tool `a`",
            ),
            (
                r#"{"tools": {"a": {"rules": ["key-style"]}}}"#,
                "expected a table of rules, each true or false, for the tool `a`",
            ),
            (
                r#"{"tools": {"a": "brave"}}"#,
                "`brave` is no policy: use strict, safe or eager for the tool `a`",
            ),
            (
                r#"{"tools": ["a"]}"#,
                "expected a table of tools by their names",
            ),
            (
                r#"{"rules": {"key-style": 1}}"#,
                "expected true or false for the rule `key-style`",
            ),
            (r#"5"#, "expected a table with `level`, `rules` and `tools`"),
        ];
        for (text, words) in wrong {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{error}");
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let error = serde_json::from_value::<Policies>(value).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn a_policy_survives_being_written() {
        let policy = Policy::eager().without("comma-list");
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(text, r#"{"level":"eager","rules":{"comma-list":false}}"#);
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        assert_eq!(
            serde_json::from_str::<Policy>(r#""safe""#).unwrap(),
            Policy::safe()
        );
    }
}
