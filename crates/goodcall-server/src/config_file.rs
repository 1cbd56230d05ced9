//! `goodcall.toml`: one policy for all tools, those of single tools, and the settings of both
//! servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use goodcall_core::{Policies, Policy};
use serde::Deserialize;
use serde_json::Value;
use toml::Table;

use crate::gateway_sections::{GatewaySection, PolicySection, RouteSection, ToolPolicies};
use crate::gateway_settings::GatewaySettings;
use crate::mcp_settings::{McpServerDefinition, McpSettings, McpToolSettings, McpTools};

/// The file `goodcall.toml`.
///
/// ```
/// use goodcall_server::ConfigFile;
///
/// let file = ConfigFile::parse(r#"
///     policy = "safe"
///
///     [tools.delete_file]
///     level = "strict"
///
///     [gateway]
///     upstream = "https://api.openai.com"
///     reasks = 1
///
///     [mcp.servers.notes]
///     policy = "eager,-enum-typo"
/// "#)?;
/// assert_eq!(file.gateway_settings().replies.reasks, Some(1));
/// let policies = file.mcp_server("notes").policies;
/// assert_eq!(policies.for_tool("search").level_name(), "eager");
/// assert_eq!(policies.for_tool("delete_file").level_name(), "strict");
///
/// let error = ConfigFile::parse("[gateway]\nreasks = \"many\"").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "gateway.reasks: invalid type: string \"many\", expected a whole number"
/// );
/// # Ok::<(), goodcall_server::ConfigFileError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ConfigFile {
    policy: Option<Policy>,
    destructive: Option<Policy>,
    tools: ToolPolicies,
    pub(crate) gateway: GatewaySection,
    mcp: McpSection,
}

/// The section `[mcp]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct McpSection {
    policy: Option<Policy>,
    destructive: Option<Policy>,
    tools: ToolPolicies,
    #[serde(flatten)]
    settings: McpSettings,
    servers: BTreeMap<String, McpServerSection>,
}

/// A section `[mcp.servers.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct McpServerSection {
    policy: Option<Policy>,
    destructive: Option<Policy>,
    tools: ToolPolicies,
    #[serde(flatten)]
    settings: McpSettings,
    #[serde(flatten)]
    definition: McpServerDefinition,
}

impl ConfigFile {
    /// Reads the text of a file, and checks all of it: both servers' sections and every policy.
    ///
    /// # Errors
    /// If the text is not TOML, has an unknown key, or a value that its key does not take.
    pub fn parse(text: &str) -> Result<Self, ConfigFileError> {
        let table: Table = text.parse().map_err(|error| {
            ConfigFileError::new(Vec::new(), ErrorCause::Syntax(Box::new(error)))
        })?;
        reject_unknown_keys(&mut Vec::new(), &table)?;
        Self::from_table(table.clone()).map_err(|message| {
            let (keys, message) = narrow(&table, &|table| table).unwrap_or((Vec::new(), message));
            ConfigFileError::new(keys, ErrorCause::Value(message))
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`ConfigFile::parse`], and if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ConfigFileError> {
        std::fs::read_to_string(path)
            .map_err(|error| ConfigFileError::new(Vec::new(), ErrorCause::Io(error)))
            .and_then(|text| Self::parse(&text))
            .map_err(|error| ConfigFileError {
                path: Some(path.to_owned()),
                ..error
            })
    }

    /// The policies outside of the servers' sections.
    pub fn policies(&self) -> Policies {
        self.all_policies(&[], &Unsaid::default())
            .expect("policies were checked when the file was read")
    }

    /// The policies that limit those of another file, for a file that is not trusted: they allow
    /// everything that the file does not say.
    pub fn mcp_bounds(&self, name: &str) -> Policies {
        let unsaid = Unsaid {
            policy: Policy::eager(),
            destructive: None,
        };
        self.mcp_policies(name, &unsaid)
            .expect("policies were checked when the file was read")
    }

    /// The names of the MCP servers of which the file says where they are.
    pub fn mcp_servers(&self) -> impl Iterator<Item = &str> {
        let servers = self.mcp.servers.iter();
        let complete = servers.filter(|(_, server)| server.definition.is_complete());
        complete.map(|(name, _)| name.as_str())
    }

    /// The policies and settings of one MCP server: its own section over that of all MCP servers,
    /// and over what is common to the whole file.
    pub fn mcp_server(&self, name: &str) -> McpServerConfig {
        let policies = self
            .mcp_policies(name, &Unsaid::default())
            .expect("policies were checked when the file was read");
        let common = self.mcp.settings.clone();
        let settings = match self.mcp.servers.get(name) {
            Some(server) => server.settings.clone().over(common),
            None => common,
        };
        let definition = self.mcp.servers.get(name).map(|one| one.definition.clone());
        McpServerConfig {
            policies,
            settings,
            tools: self
                .mcp_tools(name)
                .expect("tools were checked when the file was read"),
            definition: definition.unwrap_or_default(),
        }
    }

    /// The settings of the tools of one MCP server.
    fn mcp_tools(&self, name: &str) -> Result<McpTools, String> {
        let mut tools = self.tools.clone();
        tools.extend(self.mcp.tools.clone());
        if let Some(server) = self.mcp.servers.get(name) {
            tools.extend(server.tools.clone());
        }
        let mut settings = BTreeMap::new();
        for (tool, value) in tools {
            let (_, own) = split_tool(value)?;
            let Some(own) = own else { continue };
            if tool.contains('*') && (own.name.is_some() || own.description.is_some()) {
                return Err(format!(
                    "tools.{tool}: a pattern stands for several tools, which cannot share a name or \
                     a description"
                ));
            }
            settings.insert(tool, own);
        }
        Ok(McpTools(settings))
    }

    fn from_table(table: Table) -> Result<Self, String> {
        let file: Self = table
            .try_into()
            .map_err(|error: toml::de::Error| for_people(error.message()))?;
        let unsaid = Unsaid::default();
        file.all_policies(&[], &unsaid)?;
        file.mcp_policies("", &unsaid)?;
        file.mcp_tools("")?;
        file.models_over(&PolicySection::default())?;
        for (name, route) in &file.gateway.routes {
            file.gateway_route(name, route)?;
        }
        for name in file.mcp.servers.keys() {
            file.mcp_policies(name, &unsaid)?;
            file.mcp_tools(name)?;
        }
        Ok(file)
    }

    fn mcp_policies(&self, server: &str, unsaid: &Unsaid) -> Result<Policies, String> {
        let mcp = &self.mcp;
        let mut layers = vec![(&mcp.policy, &mcp.destructive, &mcp.tools)];
        if let Some(server) = mcp.servers.get(server) {
            layers.push((&server.policy, &server.destructive, &server.tools));
        }
        self.all_policies(&layers, unsaid)
    }

    /// Lays policies over those of the whole file. The last policy for all tools replaces those
    /// before it, and so does the last one of each tool.
    pub(crate) fn all_policies(
        &self,
        over: &[PolicyLayer<'_>],
        unsaid: &Unsaid,
    ) -> Result<Policies, String> {
        let (mut policy, mut destructive) = (&self.policy, &self.destructive);
        let mut tools = self.tools.clone();
        for (own, own_destructive, own_tools) in over {
            policy = if own.is_some() { own } else { policy };
            if own_destructive.is_some() {
                destructive = own_destructive;
            }
            tools.extend((*own_tools).clone());
        }
        let all = policy.as_ref().unwrap_or(&unsaid.policy);
        let mut policies = serde_json::to_value(all).map_err(|error| error.to_string())?;
        let policy_of = |(tool, value): (String, Value)| {
            let (policy, _) =
                split_tool(value).map_err(|error| format!("tools.{tool}: {error}"))?;
            Ok::<_, String>(expand_switches((tool, policy)))
        };
        let tools: Result<BTreeMap<_, _>, _> = tools.into_iter().map(policy_of).collect();
        let tools = tools?;
        let destructive = destructive.as_ref().or(unsaid.destructive.as_ref());
        let destructive = destructive.unwrap_or(all);
        policies["destructive"] = serde_json::json!(destructive);
        policies["tools"] = serde_json::json!(tools);
        serde_json::from_value(policies).map_err(|error| error.to_string())
    }
}

/// The policies and settings of one MCP server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct McpServerConfig {
    /// What may be mended.
    pub policies: Policies,
    /// The settings of the server.
    pub settings: McpSettings,
    /// The settings of its tools.
    pub tools: McpTools,
    /// Where the server is, and which of its tools are shown.
    pub definition: McpServerDefinition,
}

/// Separates the settings of a tool from its policy.
fn split_tool(mut value: Value) -> Result<(Value, Option<McpToolSettings>), String> {
    let Some(table) = value.as_object_mut() else {
        return Ok((value, None));
    };
    let keys = McpToolSettings::keys();
    let (own, policy): (Vec<_>, Vec<_>) = std::mem::take(table)
        .into_iter()
        .partition(|(key, _)| keys.contains(&key.as_str()));
    *table = policy.into_iter().collect();
    if own.is_empty() {
        return Ok((value, None));
    }
    let own = Value::Object(own.into_iter().collect());
    let own = serde_json::from_value(own).map_err(|error| error.to_string())?;
    Ok((value, Some(own)))
}

/// What one section says about all tools, about destructive ones, and about single ones.
pub(crate) type PolicyLayer<'f> = (&'f Option<Policy>, &'f Option<Policy>, &'f ToolPolicies);

/// The policies where a file says nothing.
pub(crate) struct Unsaid {
    policy: Policy,
    /// `None` if destructive tools are like the others.
    destructive: Option<Policy>,
}

impl Default for Unsaid {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            destructive: Some(Policy::strict()),
        }
    }
}

/// Writes a tool's `eager,-enum-typo` as a table with `level` and `rules`.
fn expand_switches((tool, policy): (String, Value)) -> (String, Value) {
    let parsed = policy.as_str().and_then(|text| text.parse::<Policy>().ok());
    let table = parsed.and_then(|policy| serde_json::to_value(policy).ok());
    (tool, table.unwrap_or(policy))
}

/// Finds the value that makes a file unusable: the deepest key that fails by itself, and its error.
///
/// Every key may be left out, so a file with a single key is a whole file. `wrap` puts a table of
/// the file where it belongs.
fn narrow(table: &Table, wrap: &dyn Fn(Table) -> Table) -> Option<(Vec<String>, String)> {
    table.iter().find_map(|(key, value)| {
        let only = |value: toml::Value| wrap(Table::from_iter([(key.clone(), value)]));
        let message = ConfigFile::from_table(only(value.clone())).err()?;
        let deeper = match value {
            toml::Value::Table(inner) => narrow(inner, &|inner| only(inner.into())),
            _ => None,
        };
        let (mut keys, message) = deeper.unwrap_or((Vec::new(), message));
        keys.insert(0, key.clone());
        Some((keys, message))
    })
}

/// Names the types of Rust as people do.
fn for_people(message: &str) -> String {
    let integers = ["u16", "u32", "u64", "usize"];
    let end = integers.map(|name| format!("expected {name}"));
    match end.iter().find_map(|end| message.strip_suffix(end)) {
        Some(start) => format!("{start}expected a whole number"),
        None => message.to_owned(),
    }
}

/// The known key that an unknown one is at most two letters away from.
fn nearest<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let edits = known.iter().map(|name| (edits(key, name), *name));
    let (edits, name) = edits.min_by_key(|(edits, _)| *edits)?;
    (edits <= 2 && edits * 3 <= key.len()).then_some(name)
}

/// The number of letters to add, remove or replace to make one word the other.
fn edits(one: &str, two: &str) -> usize {
    let mut row: Vec<_> = (0..=two.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in two.bytes().enumerate() {
            let replaced = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(before + 1);
        }
    }
    row[two.len()]
}

/// Refuses a key that no section knows. Tools and policies are left to `Policies`.
fn reject_unknown_keys(place: &mut Vec<String>, table: &Table) -> Result<(), ConfigFileError> {
    let Some(known) = known_keys(place) else {
        return Ok(());
    };
    for (key, value) in table {
        place.push(key.clone());
        if !known.is_empty() && !known.contains(&key.as_str()) {
            let mut message = match nearest(key, &known) {
                Some(nearest) => format!("unknown key, did you mean `{nearest}`?"),
                None => format!("unknown key, expected one of {}", known.join(", ")),
            };
            if matches!(key.as_str(), "level" | "rules") {
                message += "; a policy is written `policy = \"safe\"` or `policy = { level = … }`";
            }
            return Err(ConfigFileError::new(
                place.clone(),
                ErrorCause::Value(message),
            ));
        }
        if let toml::Value::Table(inner) = value {
            reject_unknown_keys(place, inner)?;
        }
        place.pop();
    }
    Ok(())
}

/// The keys that a table of the file may have: none where its keys are names, `None` where it is
/// not one of the file's own tables.
fn known_keys(place: &[String]) -> Option<Vec<&'static str>> {
    let place: Vec<_> = place.iter().map(String::as_str).collect();
    let mut keys = match place[..] {
        [] => return Some(vec!["policy", "destructive", "tools", "gateway", "mcp"]),
        ["gateway"] => {
            let mut keys = GatewaySettings::keys();
            keys.extend(["routes", "models"]);
            return Some(keys);
        }
        ["gateway", "routes", _] => return Some(RouteSection::keys()),
        ["gateway", "models", _] => return Some(PolicySection::KEYS.to_vec()),
        ["mcp", "servers"] | ["gateway", "routes" | "models"] => return Some(Vec::new()),
        ["mcp"] => vec!["policy", "destructive", "tools", "servers"],
        ["mcp", "servers", _] => {
            let mut keys = vec!["policy", "destructive", "tools"];
            keys.extend(McpServerDefinition::keys());
            keys
        }
        _ => return None,
    };
    keys.extend(McpSettings::keys());
    Some(keys)
}

/// A `goodcall.toml` that cannot be used. Its text names the file, the key and what is expected.
#[derive(Debug)]
pub struct ConfigFileError {
    path: Option<PathBuf>,
    keys: Vec<String>,
    cause: ErrorCause,
}

#[derive(Debug)]
enum ErrorCause {
    Io(std::io::Error),
    Syntax(Box<toml::de::Error>),
    Value(String),
}

impl ConfigFileError {
    fn new(keys: Vec<String>, cause: ErrorCause) -> Self {
        Self {
            path: None,
            keys,
            cause,
        }
    }
}

impl fmt::Display for ConfigFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if !self.keys.is_empty() {
            write!(f, "{}: ", self.keys.join("."))?;
        }
        match &self.cause {
            ErrorCause::Io(error) => error.fmt(f),
            ErrorCause::Syntax(error) => f.write_str(error.to_string().trim_end()),
            ErrorCause::Value(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ConfigFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            ErrorCause::Io(error) => Some(error),
            ErrorCause::Syntax(error) => Some(error.as_ref()),
            ErrorCause::Value(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Switch;
    use crate::mcp_settings::BadCallMode;
    use goodcall_core::{Level, RuleId, Style};

    #[test]
    fn server_section_falls_back_to_the_sections_above() {
        let file = ConfigFile::parse(
            "policy = \"eager\"\n[tools.a]\nlevel = \"safe\"\n[gateway]\nreasks = 1\n\
             [mcp]\ntime_limit = 5\nstyle = \"plain\"\nrestart = true\n\
             [mcp.servers.s]\npolicy = \"strict\"\nrestart = false\ntime_limit = 0\n\
             [mcp.servers.s.tools.b]\nrules = { \"key-style\" = true }\n",
        )
        .unwrap();
        let McpServerConfig {
            policies, settings, ..
        } = file.mcp_server("s");
        assert_eq!(settings.restart, Switch::Off);
        assert_eq!(settings.time_limit, Some(0));
        assert_eq!(settings.style, Some(Style::Plain));
        assert!(policies.for_tool("z").is_strict());
        assert_eq!(policies.for_destructive_tool("a").level_name(), "safe");
        assert!(
            policies
                .for_tool("b")
                .allows(goodcall_core::RuleId::KeyStyle, Level::Safe)
        );
        let McpServerConfig {
            policies, settings, ..
        } = file.mcp_server("x");
        assert_eq!(policies.for_tool("z").level_name(), "eager");
        assert_eq!(settings.time_limit, Some(5));
        assert_eq!(settings.restart, Switch::On);
        assert_eq!(
            file.policies().for_destructive_tool("a").level_name(),
            "safe"
        );
    }

    #[test]
    fn settings_of_a_tool_stand_beside_its_policy() {
        let file = ConfigFile::parse(
            "[tools.\"a*\"]\nbad = \"forward\"\ntime_limit = 5\nlevel = \"eager\"\n\
             [mcp.servers.s.tools.ab]\nobserve = true\ntime_limit = 7\n",
        )
        .unwrap();
        let server = file.mcp_server("s");
        let ab = server.tools.of("ab");
        assert_eq!(
            (ab.bad, ab.time_limit),
            (Some(BadCallMode::Forward), Some(7))
        );
        assert!(ab.observe.is_on() && !server.tools.of("ax").observe.is_on());
        assert_eq!(server.tools.of("b"), McpToolSettings::default());
        assert_eq!(server.policies.for_tool("ax"), Policy::eager());
        let error = ConfigFile::parse("[tools.a]\nbad = \"x\"").unwrap_err();
        assert!(error.to_string().starts_with("tools.a.bad: "), "{error}");
    }

    #[test]
    fn servers_say_where_they_are_and_which_tools_are_shown() {
        let file = ConfigFile::parse(
            "[mcp.servers.notes]\ncommand = [\"npx\", \"notes\"]\nenv = { A = \"1\" }\n\
             prefix = \"n_\"\ndeny = [\"delete_*\"]\nrate_limit = 5\n\
             tools.find = { name = \"search\", description = \"Finds.\", max_result = 10 }\n\
             [mcp.servers.web]\nurl = \"https://w.example/mcp\"\nheader_env = { A = \"B\" }\n\
             [mcp.servers.one]\ncommand = \"x\"\n[mcp.servers.other]\npolicy = \"safe\"\n",
        )
        .unwrap();
        assert_eq!(
            file.mcp_servers().collect::<Vec<_>>(),
            ["notes", "one", "web"]
        );
        let notes = file.mcp_server("notes");
        assert_eq!(notes.definition.command, ["npx", "notes"]);
        assert_eq!(notes.definition.prefix.as_deref(), Some("n_"));
        assert_eq!(notes.settings.rate_limit, Some(5));
        let find = notes.tools.of("find");
        assert_eq!(
            (find.name.as_deref(), find.max_result),
            (Some("search"), Some(10))
        );
        assert_eq!(notes.tools.named().count(), 1);
        assert_eq!(file.mcp_server("one").definition.command, ["x"]);
        for (text, expected) in [
            (
                "[mcp.servers.a.tools.\"x*\"]\nname = \"y\"",
                "a pattern stands for several tools",
            ),
            (
                "[mcp.servers.a]\ncommand = 5",
                "mcp.servers.a.command: expected a list of words, or one word",
            ),
            (
                "[mcp.servers.a]\ncomand = 5",
                "mcp.servers.a.comand: unknown key, did you mean `command`?",
            ),
        ] {
            let error = ConfigFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn bounds_allow_what_the_file_does_not_say() {
        let parse = |text: &str| ConfigFile::parse(text).unwrap().mcp_bounds("s");
        let eager = Policy::eager().without(RuleId::NoParameters);
        assert_eq!(parse("").for_destructive_tool("a"), eager);
        let bounds = parse("policy = \"safe\"\n[tools.a]\nlevel = \"strict\"");
        assert!(bounds.for_tool("a").is_strict());
        assert_eq!(bounds.for_tool("b"), Policy::safe());
        let safe = Policy::safe().without(RuleId::NoParameters);
        assert_eq!(bounds.for_destructive_tool("b"), safe);
    }

    #[test]
    fn higher_layer_wins_where_it_is_set() {
        let parse = |text: &str| ConfigFile::parse(text).unwrap().gateway_settings();
        let flags = parse("[gateway]\nreasks = 0\nreport = true");
        let file = parse("[gateway]\nreasks = 5\nidle_seconds = 7\nfix_history = true");
        let settings = flags.over(file);
        assert_eq!(settings.replies.reasks, Some(0));
        assert_eq!(settings.upstream.idle_seconds, Some(7));
        assert!(settings.replies.report.is_on() && settings.requests.fix_history.is_on());
        assert!(!settings.observability.log_arguments.is_on());
    }

    #[test]
    fn errors_name_the_key_and_what_is_expected() {
        for (text, expected) in [
            ("polciy = 1", "polciy: unknown key, did you mean `policy`?"),
            (
                "colour = 1",
                "colour: unknown key, expected one of policy, destructive, tools, gateway, mcp",
            ),
            ("level = \"strict\"", "; a policy is written `policy = "),
            (
                "policy = 5",
                "policy: expected \"strict\", \"safe\" or \"eager\", or a table",
            ),
            (
                "policy = \"lax\"",
                "policy: unknown policy `lax`: expected strict, safe or eager",
            ),
            ("[tools.a]\nrules = { xyz = true }", "tools.a.rules.xyz: "),
            (
                "[tools.a]\nrules = { key-style = 1 }",
                "tools.a.rules.key-style: ",
            ),
            (
                "[gateway]\nupstrem = 1",
                "gateway.upstrem: unknown key, did you mean `upstream`?",
            ),
            (
                "[gateway]\nthreads = 1\nloops = \"x\"",
                "gateway.loops: unknown variant `x`, expected one of `off`, `report`, `steer`",
            ),
            ("[gateway]\nadapt = \"x\"", "gateway.adapt: "),
            (
                "[gateway]\nreport = 1",
                "gateway.report: invalid type: integer `1`, expected a boolean",
            ),
            ("gateway = 1", "gateway: invalid type"),
            (
                "[mcp]\nlevels = 1",
                "mcp.levels: unknown key, expected one of policy, destructive, tools, servers, style, ",
            ),
            ("[mcp]\nloops = \"x\"", "mcp.loops: unknown variant `x`"),
            (
                "[mcp.servers.a]\nservers = 1",
                "mcp.servers.a.servers: unknown key",
            ),
            ("[mcp.servers.a]\nstyle = \"x\"", "mcp.servers.a.style: "),
            ("[mcp.servers.a]\npolicy = \"x\"", "mcp.servers.a.policy: "),
            ("policy =", "TOML parse error at line 1, column 9"),
        ] {
            let error = ConfigFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = ConfigFile::read(Path::new("nowhere.toml")).unwrap_err();
        assert!(error.to_string().starts_with("nowhere.toml: "), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}
