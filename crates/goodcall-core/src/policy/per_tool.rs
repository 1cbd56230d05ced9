//! A default policy, and tools that differ from it.

use std::collections::BTreeMap;

use super::{Formats, Policy};
use crate::rule::RuleId;

/// The policy of every tool: one for all, and those of single tools.
///
/// Reads from any serde format. In TOML:
///
/// ```toml
/// level = "safe"
/// rules = { "unknown-key" = true, "scalar-to-array" = false }
/// formats = "annotate"
///
/// [tools.delete_file]
/// level = "strict"
/// formats = "assert"
///
/// [tools."browser_*"]
/// level = "eager"
/// ```
///
/// A destructive tool is strict, unless it has a level of its own, or `destructive` says otherwise:
/// for all tools, or for one. In a tool's name `*` stands for any text; of several names that match
/// the one with the most other characters counts.
///
/// ```
/// use goodcall_core::{Policies, Policy};
///
/// let policies: Policies = serde_json::from_str(
///     r#"{"level": "eager", "tools": {"drop_table": {"level": "safe"}}}"#,
/// )?;
/// assert_eq!(policies.for_tool("search"), Policy::eager());
/// assert_eq!(policies.for_destructive_tool("delete_file"), Policy::strict());
/// assert_eq!(policies.for_destructive_tool("drop_table").level_name(), "safe");
///
/// let error = serde_json::from_str::<Policies>(r#"{"rules": {"unkown-key": true}}"#);
/// assert_eq!(
///     error.unwrap_err().to_string(),
///     "rules: unknown rule `unkown-key`: did you mean `unknown-key`?",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    pub(super) default: Policy,
    /// The policy of destructive tools.
    pub(super) destructive: Policy,
    pub(super) tools: BTreeMap<String, PolicyOverride>,
}

impl Policies {
    /// One policy for all tools that are not destructive.
    pub fn new(default: Policy) -> Self {
        Self {
            default,
            destructive: Policy::strict(),
            tools: BTreeMap::new(),
        }
    }

    /// Gives one tool a policy of its own, destructive or not.
    #[must_use]
    pub fn tool(mut self, name: &str, policy: &Policy) -> Self {
        self.tools
            .insert(name.to_owned(), PolicyOverride::from(policy));
        self
    }

    /// Says what `format` means for all tools that do not say it themselves.
    #[must_use]
    pub fn with_formats(mut self, formats: Formats) -> Self {
        self.default.formats = formats;
        self
    }

    /// The policy of a tool that is not destructive.
    pub fn for_tool(&self, name: &str) -> Policy {
        self.overridden(name, self.default.clone())
    }

    /// The policy of a destructive tool: strict, unless `destructive` says otherwise or the tool was
    /// given a level of its own. Even then arguments are not dropped altogether (`no-parameters`),
    /// unless that is switched on.
    pub fn for_destructive_tool(&self, name: &str) -> Policy {
        let own = self.own(name).and_then(|own| own.destructive.clone());
        let mut policy = own.unwrap_or_else(|| self.overridden(name, self.destructive.clone()));
        if !policy.is_strict() {
            policy.switches.entry(RuleId::NoParameters).or_insert(false);
        }
        let formats = self.own(name).and_then(|own| own.formats);
        policy.with_formats(formats.unwrap_or(self.default.formats))
    }

    fn overridden(&self, tool: &str, base: Policy) -> Policy {
        match self.own(tool) {
            Some(own) => own.apply_over(base, &self.default),
            None => base,
        }
    }

    /// The entry of a tool: the one of its name, or of the pattern that says most.
    fn own(&self, tool: &str) -> Option<&PolicyOverride> {
        let patterns = || {
            let matching = self.tools.iter().filter(|(name, _)| name_fits(name, tool));
            matching
                .max_by_key(|(name, _)| name.len())
                .map(|(_, own)| own)
        };
        self.tools.get(tool).or_else(patterns)
    }

    /// The policy of tools that have none of their own.
    pub fn default_policy(&self) -> &Policy {
        &self.default
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self::new(Policy::default())
    }
}

/// Returns true if the name of a tool fits the pattern, in which `*` stands for any text.
pub fn name_fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<_> = rest.split('*').collect();
    let last = parts.pop().expect("a text has at least one part");
    for part in parts {
        let Some((_, behind)) = name.split_once(part) else {
            return false;
        };
        name = behind;
    }
    name.ends_with(last)
}

/// A policy as written for one tool: the parts it leaves out come from the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyOverride {
    pub(super) level: Option<Policy>,
    pub(super) rules: BTreeMap<RuleId, bool>,
    /// The policy if the tool is destructive.
    pub(super) destructive: Option<Policy>,
    pub(super) formats: Option<Formats>,
}

impl PolicyOverride {
    /// Lays this over a policy. Where it has a level of its own, the switches of the default
    /// policy still hold, unless that level is strict.
    pub(super) fn apply_over(&self, base: Policy, default: &Policy) -> Policy {
        let mut policy = base;
        if let Some(level) = &self.level {
            policy = level.clone();
            if *level != Policy::strict() {
                policy.switches.extend(default.switches());
            }
        }
        policy.switches.extend(&self.rules);
        policy.formats = self.formats.unwrap_or(default.formats);
        policy
    }
}

impl From<&Policy> for PolicyOverride {
    fn from(policy: &Policy) -> Self {
        Self {
            level: Some(Policy {
                level: policy.level,
                ..Policy::strict()
            }),
            rules: policy.switches.clone(),
            destructive: None,
            formats: Some(policy.formats),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Level;

    #[test]
    fn a_tool_inherits_what_it_leaves_out() {
        let policies: Policies = serde_json::from_str(
            r#"{"level": "safe", "rules": {"unknown-key": true},
                "tools": {"a": {"rules": {"stringified": false}}, "b": "eager", "c": "strict",
                    "f": {"formats": "assert"}}}"#,
        )
        .unwrap();
        let a = policies.for_tool("a");
        assert!(a.allows(RuleId::UnknownKey, Level::Eager));
        assert!(!a.allows(RuleId::Stringified, Level::Safe));
        let b = policies.for_destructive_tool("b");
        assert!(b.allows(RuleId::EnumTypo, Level::Eager));
        assert!(policies.for_tool("c").is_strict());
        assert_eq!(
            policies.for_destructive_tool("f").formats(),
            Formats::Assert
        );
        assert_eq!(policies.for_tool("a").formats(), Formats::Annotate);
        let asserting = policies.clone().with_formats(Formats::Assert);
        assert_eq!(asserting.for_tool("b").formats(), Formats::Assert);
        assert_eq!(
            asserting.for_destructive_tool("d").formats(),
            Formats::Assert
        );
        assert!(policies.for_destructive_tool("d").is_strict());
        // Switching single rules does not lift the strictness of a destructive tool.
        let a = policies.for_destructive_tool("a");
        assert!(!a.allows(RuleId::KeyStyle, Level::Safe));
    }

    #[test]
    fn entry_that_says_most_about_a_name_counts() {
        let policies: Policies = serde_json::from_str(
            r#"{"tools": {"browser_*": "eager", "*_file_*": "strict", "browser_close": "safe"}}"#,
        )
        .unwrap();
        for (tool, level) in [
            ("browser_click", "eager"),
            ("browser_", "eager"),
            ("browser_close", "safe"),
            ("browser_file_upload", "eager"),
            ("read_file_x", "strict"),
            ("read_file", "safe"),
        ] {
            assert_eq!(policies.for_tool(tool).level_name(), level, "{tool}");
        }
        let destructive = policies.for_destructive_tool("browser_click");
        assert_eq!(destructive.level_name(), "eager");
        assert!(!destructive.allows(RuleId::NoParameters, Level::Safe));
    }

    #[test]
    fn destructive_tools_are_as_strict_as_the_host_says() {
        let policies: Policies = serde_json::from_str(
            r#"{"destructive": "safe", "tools": {"a*": {"destructive": "eager"}, "b": "strict"}}"#,
        )
        .unwrap();
        let level = |tool| policies.for_destructive_tool(tool).level_name();
        assert_eq!(
            [level("x"), level("ab"), level("b")],
            ["safe", "eager", "strict"]
        );
        assert_eq!(policies.for_tool("ab"), Policy::safe());
    }
}
