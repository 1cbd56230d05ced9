//! Policies in any format of serde. An error names the tool, the key and what is expected there.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::per_tool::PolicyOverride;
use super::{Formats, Policies, Policy};
use crate::rule::RuleId;

const LEVELS: &str = "\"strict\", \"safe\" or \"eager\"";

impl PolicyOverride {
    /// Reads a level by its name, or a table with `level` and `rules`.
    fn read(value: Value) -> Result<Self, String> {
        match value {
            Value::String(name) => Ok(Self {
                level: Some(level(&Value::String(name))?),
                ..Self::default()
            }),
            Value::Object(mut table) => {
                let policy = Self::take(&mut table)?;
                refuse_others(&table, "level, rules, formats or destructive")?;
                Ok(policy)
            }
            other => Err(format!(
                "expected {LEVELS}, or a table with `level` and `rules`, got {other}"
            )),
        }
    }

    /// Takes `level`, `rules`, `formats` and `destructive` out of a table.
    fn take(table: &mut Map<String, Value>) -> Result<Self, String> {
        let mut policy = Self::default();
        if let Some(value) = table.remove("level") {
            policy.level = Some(level(&value).map_err(under("level"))?);
        }
        if let Some(value) = table.remove("rules") {
            policy.rules = rules(value).map_err(under("rules"))?;
        }
        if let Some(value) = table.remove("destructive") {
            let all = Self::read(value).map_err(under("destructive"))?;
            policy.destructive = Some(all.apply_over(Policy::strict(), &Policy::strict()));
        }
        if let Some(value) = table.remove("formats") {
            policy.formats = Some(formats(&value).map_err(under("formats"))?);
        }
        Ok(policy)
    }
}

fn level(value: &Value) -> Result<Policy, String> {
    match value.as_str() {
        Some(name) => name.parse::<Policy>().map_err(|error| error.to_string()),
        None => Err(format!("expected {LEVELS}, got {value}")),
    }
}

fn formats(value: &Value) -> Result<Formats, String> {
    match value.as_str() {
        Some(name) => name.parse::<Formats>().map_err(|error| error.to_string()),
        None => Err(format!("expected \"annotate\" or \"assert\", got {value}")),
    }
}

fn rules(value: Value) -> Result<BTreeMap<RuleId, bool>, String> {
    let Value::Object(table) = value else {
        return Err(format!(
            "expected a table of rules, each true or false, got {value}"
        ));
    };
    let switch = |(name, value): (String, Value)| {
        let rule = name.parse::<RuleId>().map_err(|error| error.to_string())?;
        let on = value.as_bool();
        let on = on.ok_or_else(|| format!("{name}: expected true or false, got {value}"))?;
        Ok((rule, on))
    };
    table.into_iter().map(switch).collect()
}

/// Refuses the keys that are left in a table.
fn refuse_others(table: &Map<String, Value>, known: &str) -> Result<(), String> {
    let Some(key) = table.keys().next() else {
        return Ok(());
    };
    let hint = match key.as_str() {
        // As `goodcall.toml` has it, where there are other settings too.
        "policy" => "; in a file of policies, write the level as `level`",
        rule if rule.parse::<RuleId>().is_ok() => "; a rule is switched under `rules`",
        _ => "",
    };
    Err(format!("unknown key `{key}`: expected {known}{hint}"))
}

/// Puts the place in front of an error.
fn under(place: impl Display) -> impl Fn(String) -> String {
    move |error| format!("{place}: {error}")
}

impl Policies {
    fn read(value: Value) -> Result<Self, String> {
        let Value::Object(mut table) = value else {
            return Err(format!(
                "expected a table with `level`, `rules` and `tools`, got {value}"
            ));
        };
        let all = PolicyOverride::take(&mut table)?;
        let mut policies = Self::new(all.apply_over(Policy::default(), &Policy::default()));
        if let Some(destructive) = all.destructive {
            policies.destructive = destructive;
        }
        match table.remove("tools") {
            Some(Value::Object(tools)) => {
                for (name, value) in tools {
                    let own = PolicyOverride::read(value);
                    let own = own.map_err(under(format_args!("tools.{name}")))?;
                    policies.tools.insert(name, own);
                }
            }
            Some(other) => {
                return Err(format!(
                    "tools: expected a table of tools by name, got {other}"
                ));
            }
            None => {}
        }
        refuse_others(&table, "level, rules, formats, destructive or tools")?;
        Ok(policies)
    }
}

impl<'de> Deserialize<'de> for Policies {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Policy {
    /// From `"safe"`, or from a table with `level` and `rules`.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let policy = PolicyOverride::read(Value::deserialize(from)?).map_err(D::Error::custom)?;
        Ok(policy.apply_over(Policy::default(), &Policy::default()))
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("level", self.level_name())?;
        if !self.switches.is_empty() {
            map.serialize_entry("rules", &self.switches)?;
        }
        if self.formats != Formats::default() {
            map.serialize_entry("formats", self.formats.name())?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place_and_what_is_expected() {
        for (text, message) in [
            (
                "5",
                "expected a table with `level`, `rules` and `tools`, got 5",
            ),
            (
                r#"{"level": "lax"}"#,
                "level: unknown policy `lax`: expected strict, safe or eager",
            ),
            (
                r#"{"rules": {"key-stile": true}}"#,
                "rules: unknown rule `key-stile`: did you mean `key-style`?",
            ),
            (
                r#"{"rules": {"key-style": 1}}"#,
                "rules: key-style: expected true or false, got 1",
            ),
            (
                r#"{"lvl": "safe"}"#,
                "unknown key `lvl`: expected level, rules, formats, destructive or tools",
            ),
            (
                r#"{"policy": "safe"}"#,
                "unknown key `policy`: expected level, rules, formats, destructive or tools; \
                 in a file of policies, write the level as `level`",
            ),
            (
                r#"{"key-style": true}"#,
                "unknown key `key-style`: expected level, rules, formats, destructive or tools; \
                 a rule is switched under `rules`",
            ),
            (
                r#"{"tools": ["a"]}"#,
                r#"tools: expected a table of tools by name, got ["a"]"#,
            ),
            (
                r#"{"tools": {"a": 5}}"#,
                "tools.a: expected \"strict\", \"safe\" or \"eager\", \
                 or a table with `level` and `rules`, got 5",
            ),
            (
                r#"{"tools": {"a": "brave"}}"#,
                "tools.a: unknown policy `brave`: expected strict, safe or eager",
            ),
            (
                r#"{"tools": {"a": {"lvl": "safe"}}}"#,
                "tools.a: unknown key `lvl`: expected level, rules, formats or destructive",
            ),
            (
                r#"{"tools": {"a": {"level": true}}}"#,
                "tools.a: level: expected \"strict\", \"safe\" or \"eager\", got true",
            ),
            (
                r#"{"tools": {"a": {"rules": {"xyz": true}}}}"#,
                "tools.a: rules: unknown rule `xyz`: expected one of those that `goodcall rules` lists",
            ),
            (
                r#"{"tools": {"a": {"rules": {"key-style": "on"}}}}"#,
                r#"tools.a: rules: key-style: expected true or false, got "on""#,
            ),
            (
                r#"{"tools": {"a": {"rules": ["key-style"]}}}"#,
                "tools.a: rules: expected a table of rules, each true or false, \
                 got [\"key-style\"]",
            ),
        ] {
            let error = serde_json::from_str::<Policies>(text).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
    }

    #[test]
    fn a_policy_reads_back_as_it_was_written() {
        let policy = Policy::eager().without(RuleId::CommaList);
        let policy = policy.with_formats(Formats::Assert);
        let text = serde_json::to_string(&policy).unwrap();
        let written = r#"{"level":"eager","rules":{"comma-list":false},"formats":"assert"}"#;
        assert_eq!(text, written);
        let error = serde_json::from_str::<Policy>(r#"{"formats": "no"}"#).unwrap_err();
        let message = "formats: unknown meaning of formats `no`: expected annotate or assert";
        assert_eq!(error.to_string(), message);
        assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
        assert_eq!(
            serde_json::from_str::<Policy>(r#""safe""#).unwrap(),
            Policy::safe()
        );
    }
}
