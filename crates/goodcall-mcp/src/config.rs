//! `goodcall.toml`: one policy for all, and servers and tools that differ.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use goodcall_core::{Policies, Policy};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::options::ProxyOptions;

/// A configuration file.
///
/// ```
/// let config = goodcall_mcp::ProxyConfig::read(r#"
///     policy = "safe"
///
///     [tools.delete_file]
///     level = "strict"
///
///     [mcp]
///     loops = "refuse"
///
///     [mcp.servers.notes]
///     policy = "eager,-enum-typo"
/// "#)?;
/// let options = config.options("notes")?;
/// assert_eq!(options.policies.of("search", false).level_name(), "eager");
/// assert_eq!(options.policies.of("delete_file", false).level_name(), "strict");
/// # Ok::<(), goodcall_mcp::ProxyConfigError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ProxyConfig {
    file: File,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct File {
    policy: Option<Value>,
    #[serde(default)]
    tools: BTreeMap<String, Value>,
    #[serde(default)]
    mcp: Section,
    /// This section is read by the gateway.
    #[serde(default, rename = "gateway")]
    _gateway: Value,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Section {
    #[serde(flatten)]
    settings: Settings,
    #[serde(default)]
    servers: BTreeMap<String, Server>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Server {
    #[serde(flatten)]
    settings: Settings,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Settings {
    policy: Option<Value>,
    #[serde(default)]
    tools: BTreeMap<String, Value>,
    style: Option<String>,
    loops: Option<String>,
    check_output: Option<bool>,
    log_arguments: Option<bool>,
    time_limit: Option<u64>,
    restart: Option<bool>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyConfigError(String);

impl fmt::Display for ProxyConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProxyConfigError {}

impl ProxyConfig {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is no TOML, or says something that is not known.
    pub fn read(text: &str) -> Result<Self, ProxyConfigError> {
        let file: File =
            toml::from_str(text).map_err(|error| ProxyConfigError(error.to_string()))?;
        if let Some(key) = file.unknown.keys().next() {
            return Err(ProxyConfigError(unknown_key(key)));
        }
        let config = Self { file };
        // Errors are told when the file is read, for all servers.
        config.options("")?;
        for name in config.file.mcp.servers.keys() {
            config.options(name)?;
        }
        Ok(config)
    }

    /// The options of a server: what the file says for all, then for MCP, then for this server.
    ///
    /// # Errors
    /// If the file names a policy, a style or a mode that there is not.
    pub fn options(&self, server: &str) -> Result<ProxyOptions, ProxyConfigError> {
        let mut options = ProxyOptions {
            server: server.to_owned(),
            ..ProxyOptions::default()
        };
        let mut all = Map::new();
        let mut tools = Map::new();
        layer(
            &mut all,
            &mut tools,
            self.file.policy.as_ref(),
            &self.file.tools,
        )?;
        let own = self
            .file
            .mcp
            .servers
            .get(server)
            .map(|server| &server.settings);
        for settings in [Some(&self.file.mcp.settings), own].into_iter().flatten() {
            layer(
                &mut all,
                &mut tools,
                settings.policy.as_ref(),
                &settings.tools,
            )?;
            settings.apply(&mut options)?;
        }
        all.insert("tools".to_owned(), Value::Object(tools));
        let policies = serde_json::from_value::<Policies>(Value::Object(all));
        options.policies = policies.map_err(|error| ProxyConfigError(error.to_string()))?;
        Ok(options)
    }
}

/// What is said of a key that no part of the file knows.
fn unknown_key(key: &str) -> String {
    let hint = match key {
        "level" | "rules" => {
            "; a policy is written `policy = \"safe\"` or `policy = { level = … }`"
        }
        _ => "",
    };
    format!("`{key}` is not known here; known are policy, tools, mcp and gateway{hint}")
}

/// Lays a policy and tools over those before.
fn layer(
    all: &mut Map<String, Value>,
    tools: &mut Map<String, Value>,
    policy: Option<&Value>,
    own: &BTreeMap<String, Value>,
) -> Result<(), ProxyConfigError> {
    if let Some(policy) = policy {
        let Value::Object(written) = written(policy)? else {
            return Ok(());
        };
        *all = written;
    }
    for (name, policy) in own {
        tools.insert(name.clone(), written(policy)?);
    }
    Ok(())
}

/// A policy as it is written: a level with switches (`eager,-enum-typo`), or a table.
fn written(policy: &Value) -> Result<Value, ProxyConfigError> {
    match policy {
        Value::String(text) => {
            let policy: Policy = text
                .parse()
                .map_err(|error| ProxyConfigError(format!("{error}")))?;
            Ok(serde_json::to_value(policy).unwrap_or_default())
        }
        Value::Object(_) => Ok(policy.clone()),
        other => Err(ProxyConfigError(format!(
            "{other} is no policy: write a level such as \"safe\", or a table with level and rules"
        ))),
    }
}

impl Settings {
    fn apply(&self, options: &mut ProxyOptions) -> Result<(), ProxyConfigError> {
        let wrong = |error: &dyn fmt::Display| ProxyConfigError(error.to_string());
        if let Some(key) = self.unknown.keys().next() {
            let known = json!([
                "policy",
                "tools",
                "style",
                "loops",
                "check_output",
                "log_arguments",
                "time_limit",
                "restart",
                "servers"
            ]);
            return Err(ProxyConfigError(format!(
                "`{key}` is not known in [mcp]; known are {known}"
            )));
        }
        if let Some(style) = &self.style {
            options.style = style.parse().map_err(|error| wrong(&error))?;
        }
        if let Some(loops) = &self.loops {
            options.loops = loops.parse().map_err(|error| wrong(&error))?;
        }
        if let Some(seconds) = self.time_limit {
            options.time_limit = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        options.check_output = self.check_output.unwrap_or(options.check_output);
        options.log_arguments = self.log_arguments.unwrap_or(options.log_arguments);
        options.restart = self.restart.unwrap_or(options.restart);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_takes_what_it_does_not_say_from_above() {
        let config = ProxyConfig::read(
            "policy = \"eager\"\n[tools.a]\nlevel = \"safe\"\n[gateway]\nport = 1\n\
             [mcp]\ntime_limit = 5\nstyle = \"plain\"\n\
             [mcp.servers.s]\npolicy = \"strict\"\nrestart = true\ntime_limit = 0\n\
             [mcp.servers.s.tools.b]\nrules = { \"key-style\" = true }\n",
        )
        .unwrap();
        let (s, other) = (config.options("s").unwrap(), config.options("x").unwrap());
        assert!(s.policies.of("z", false).is_strict() && s.restart && s.time_limit.is_none());
        assert_eq!(s.policies.of("a", true).level_name(), "safe");
        assert!(
            s.policies
                .of("b", false)
                .allows("key-style", goodcall_core::Level::Safe)
        );
        assert_eq!(other.policies.of("z", false).level_name(), "eager");
        assert_eq!(other.time_limit, Some(Duration::from_secs(5)));
        assert_eq!(other.style, goodcall_core::Style::Plain);
    }

    #[test]
    fn what_is_not_known_is_told() {
        for (text, words) in [
            ("policy = \"lax\"", "`lax` is no policy"),
            ("policy = 5", "5 is no policy"),
            ("polciy = \"strict\"", "`polciy` is not known here"),
            ("level = \"strict\"", "written `policy = "),
            (
                "[gatway]\nreasks = 1",
                "known are policy, tools, mcp and gateway",
            ),
            ("[mcp]\nlops = 1", "`lops` is not known in [mcp]"),
            ("[mcp.servers.a]\nstyle = \"x\"", "`x` is no style"),
            ("[mcp]\nloops = \"x\"", "`x` is no mode"),
            ("[tools.a]\nrules = { xyz = true }", "`xyz` is no rule"),
        ] {
            let error = ProxyConfig::read(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
