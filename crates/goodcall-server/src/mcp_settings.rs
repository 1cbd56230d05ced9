//! The settings of the MCP proxy, for all servers or for one.

use std::collections::BTreeMap;

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
        /// Start the server again for the next request after it has ended
        #[arg(long, action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub restart: Switch,
        /// Write arguments into the log, too
        #[arg(long, requires = "log", action = clap::ArgAction::SetTrue, value_parser = crate::flag_values::switch)]
        pub log_arguments: Switch,
        groups:
        /// Whom `--listen` serves.
        pub listener: McpListenerSettings,
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
        /// Whether calls are neither changed nor refused.
        #[arg(skip)]
        pub observe: Switch,
        /// Seconds that a call may take without an answer or a sign of progress; 0 for no limit.
        #[arg(skip)]
        pub time_limit: Option<u64>,
    }
}

/// The settings of single tools, by their names. In a name `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpTools(pub(crate) BTreeMap<String, McpToolSettings>);

impl McpTools {
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
