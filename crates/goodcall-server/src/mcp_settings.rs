//! The settings of the MCP proxy, for all servers or for one.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use goodcall_core::{Style, name_fits};
use serde::Deserialize;

use crate::layers::{Switch, parsed, settings};

settings! {
    /// The settings of the MCP proxy: `[mcp]` and `[mcp.servers.NAME]` in `goodcall.toml`.
    pub struct McpSettings {
        /// How refusals read: model, instruction, numbered, plain, structured, record
        #[serde(deserialize_with = "parsed")]
        #[arg(long)]
        pub style: Option<Style>,
        /// What is done with a bad call that cannot be mended: refuse, forward
        #[arg(long, value_name = "MODE", hide_possible_values = true)]
        pub bad: Option<BadCallMode>,
        /// Which calls the user is asked about, where the client can ask: off, destructive, refused,
        /// both
        #[arg(long, value_name = "CALLS", hide_possible_values = true)]
        pub approve: Option<ApprovalMode>,
        /// Change and refuse nothing, and only write the log
        #[arg(long, action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub observe: Switch,
        /// What is done about a model that goes in circles: off, tell, refuse
        #[arg(long, value_name = "LOOPS", hide_possible_values = true)]
        pub loops: Option<McpLoopMode>,
        /// Refuse results that do not match the tool's output schema
        #[arg(long, action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub check_output: Switch,
        /// Seconds that a call may take without an answer or a sign of progress; 0 for no limit
        #[arg(long, value_name = "SECONDS")]
        pub time_limit: Option<u64>,
        /// Calls of one tool within a minute, beyond which they are refused
        #[arg(long, value_name = "N")]
        pub rate_limit: Option<u32>,
        /// Bytes of a result, beyond which only its beginning is shown
        #[arg(long, value_name = "BYTES")]
        pub max_result: Option<usize>,
        /// Start the server again for the next request after it has ended
        #[arg(long, action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub restart: Switch,
        /// The log and the page may show arguments
        #[arg(long, action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub log_arguments: Switch,
        groups:
        /// Whom `--listen` serves.
        pub listener: McpListenerSettings,
        /// The page, metrics and traces.
        pub observation: McpObservationSettings,
    }
}

settings! {
    /// Where the MCP proxy shows what it did.
    pub struct McpObservationSettings {
        /// Where to serve the page with the calls, metrics, health and readiness
        #[arg(long, value_name = "ADDRESS", value_parser = crate::flag_values::listen_address)]
        pub admin: Option<SocketAddr>,
        /// The environment variable with the token that a client of the page and the metrics must send:
        /// as a bearer token, or as the password that a browser asks for
        #[arg(long, value_name = "VARIABLE")]
        pub admin_token_env: Option<String>,
        /// Send a span for each call to an OpenTelemetry collector (http://localhost:4318/v1/traces)
        #[arg(long, value_name = "URL")]
        pub otlp: Option<String>,
    }
}

settings! {
    /// Whom `goodcall mcp --listen` serves.
    pub struct McpListenerSettings {
        /// The environment variable with the token that clients must send as a bearer token
        #[arg(long, value_name = "VARIABLE")]
        pub token_env: Option<String>,
        /// Serve other machines without a token
        #[arg(long, action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub allow_unauthenticated: Switch,
        /// A name under which clients may reach this machine
        #[arg(long, value_name = "HOST")]
        pub allow_host: Vec<String>,
        /// An origin whose pages may use the server, such as https://app.example; * for all
        #[arg(long, value_name = "ORIGIN")]
        pub allow_origin: Vec<String>,
        /// Sessions, and so processes, at the same time [default: 64]
        #[arg(long, value_name = "N")]
        pub max_sessions: Option<usize>,
        /// Seconds that a session may be unused before its process is ended [default: 1800]
        #[arg(long, value_name = "SECONDS")]
        pub session_idle: Option<u64>,
    }
}

settings! {
    /// The settings of single tools behind the MCP proxy, which stand beside their policies in
    /// `[tools.NAME]`.
    pub struct McpToolSettings {
        /// What is done with a bad call that cannot be mended.
        #[arg(skip)]
        pub bad: Option<BadCallMode>,
        /// Which calls the user is asked about.
        #[arg(skip)]
        pub approve: Option<ApprovalMode>,
        /// Whether calls are neither changed nor refused.
        #[arg(skip)]
        pub observe: Switch,
        /// Seconds that a call may take without an answer or a sign of progress; 0 for no limit.
        #[arg(skip)]
        pub time_limit: Option<u64>,
        /// Calls within a minute, beyond which they are refused; 0 for no limit.
        #[arg(skip)]
        pub rate_limit: Option<u32>,
        /// Bytes of a result, beyond which only its beginning is shown; 0 for no limit.
        #[arg(skip)]
        pub max_result: Option<usize>,
        /// The name under which clients know the tool.
        #[arg(skip)]
        pub name: Option<String>,
        /// The description that clients read.
        #[arg(skip)]
        pub description: Option<String>,
    }
}

settings! {
    /// How one MCP server is reached, and which of its tools are shown: `[mcp.servers.NAME]`.
    pub struct McpServerDefinition {
        /// The program that starts the server, and its arguments.
        #[serde(deserialize_with = "words")]
        #[arg(skip)]
        pub command: Vec<String>,
        /// Variables of its environment.
        #[arg(skip)]
        pub env: BTreeMap<String, String>,
        /// The folder in which it runs.
        #[arg(skip)]
        pub cwd: Option<PathBuf>,
        /// The address of a server over streamable HTTP.
        #[arg(skip)]
        pub url: Option<String>,
        /// The variable with its address, for one that is secret.
        #[arg(skip)]
        pub url_env: Option<String>,
        /// Whether it speaks the old SSE transport.
        #[arg(skip)]
        pub sse: Switch,
        /// Headers for every request to it.
        #[arg(skip)]
        pub headers: BTreeMap<String, String>,
        /// Headers for every request to it, with the variables that have their values.
        #[arg(skip)]
        pub header_env: BTreeMap<String, String>,
        /// Stands in front of the names of its tools and prompts.
        #[arg(skip)]
        pub prefix: Option<String>,
        /// Patterns of the tools that are shown.
        #[arg(skip)]
        pub allow: Vec<String>,
        /// Patterns of the tools that are not shown.
        #[arg(skip)]
        pub deny: Vec<String>,
    }
}

impl McpServerDefinition {
    /// Returns true if the definition says where the server is.
    pub fn is_complete(&self) -> bool {
        !self.command.is_empty() || self.url.is_some() || self.url_env.is_some()
    }
}

/// Reads a list of words, or the only word of one.
fn words<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of words, or one word")]
    enum Words {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Words::deserialize(from)? {
        Words::One(word) => vec![word],
        Words::Several(words) => words,
    })
}

/// The settings of single tools, by their names. In a name `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpTools(pub(crate) BTreeMap<String, McpToolSettings>);

impl McpTools {
    /// The settings of all tools and patterns.
    pub fn all(&self) -> impl Iterator<Item = &McpToolSettings> {
        self.0.values()
    }

    /// The tools that are named, and not by a pattern, with their settings.
    pub fn named(&self) -> impl Iterator<Item = (&str, &McpToolSettings)> {
        let all = self
            .0
            .iter()
            .map(|(name, settings)| (name.as_str(), settings));
        all.filter(|(name, _)| !name.contains('*'))
    }

    /// The settings of one tool: those of its name, over those of longer and shorter patterns.
    pub fn of(&self, tool: &str) -> McpToolSettings {
        let mut all = McpToolSettings::default();
        if self.0.is_empty() {
            return all;
        }
        let mut fitting: Vec<_> = self
            .0
            .iter()
            .filter(|(name, _)| name_fits(name, tool))
            .collect();
        fitting.sort_by_key(|(name, _)| (*name == tool, name.len()));
        for (_, settings) in fitting {
            all = settings.clone().over(all);
        }
        all
    }
}

/// What the MCP proxy does with a bad call that cannot be mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum BadCallMode {
    /// It is answered with a text that tells the model what to rewrite.
    #[default]
    Refuse,
    /// It is forwarded as sent, and logged.
    Forward,
}

/// Which calls the MCP proxy asks the user about, by elicitation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalMode {
    /// None.
    #[default]
    Off,
    /// Those of tools with `destructiveHint`.
    Destructive,
    /// Those that would be refused: the user may let them run as sent.
    Refused,
    /// Those of destructive tools, and those that would be refused.
    Both,
}

impl ApprovalMode {
    /// Returns true if the user is asked about calls of destructive tools.
    pub fn covers_destructive(self) -> bool {
        matches!(self, Self::Destructive | Self::Both)
    }

    /// Returns true if the user is asked about calls that would be refused.
    pub fn covers_refused(self) -> bool {
        matches!(self, Self::Refused | Self::Both)
    }
}

/// What the MCP proxy does about doom loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum McpLoopMode {
    /// Loops are not looked for.
    Off,
    /// Refusals and the log name the loop; good calls still reach the server.
    #[default]
    Tell,
    /// A call that continues the loop is refused, with a text that says what to do instead.
    Refuse,
}
