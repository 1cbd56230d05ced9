//! The options of a proxy: policies, style, limits.

use std::time::Duration;

use goodcall_core::{Limits, Policies, Style};
use goodcall_server::{McpLoopMode, McpSettings};

/// The options of the proxy in front of one server. Start from [`ProxyOptions::default`] and change
/// what you need.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// The server's name in logs and warnings.
    pub server: String,
    /// The policies, which say per tool what may be mended.
    pub policies: Policies,
    /// The style of refusals.
    pub style: Style,
    /// How a loop of equal calls is handled.
    pub loops: McpLoopMode,
    /// Whether results that do not match the tool's output schema are refused, and not only logged.
    pub check_output: bool,
    /// Whether arguments are written to the log.
    pub log_arguments: bool,
    /// How long a call may take without an answer or a report of its progress.
    pub time_limit: Option<Duration>,
    /// How long one page of the list of tools may take.
    pub list_limit: Duration,
    /// The largest size of one frame, in bytes.
    pub max_frame: usize,
    /// Whether a server that has ended is started again for the next request.
    pub restart: bool,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            server: "server".to_owned(),
            policies: Policies::default(),
            style: Style::Model,
            loops: McpLoopMode::default(),
            check_output: false,
            log_arguments: false,
            time_limit: Some(Duration::from_secs(600)),
            list_limit: Duration::from_secs(30),
            max_frame: 128 << 20,
            restart: false,
        }
    }
}

impl ProxyOptions {
    /// Returns what a user has written for the server of this name over the defaults.
    pub fn from_settings(server: &str, policies: Policies, settings: &McpSettings) -> Self {
        let default = Self::default();
        Self {
            server: server.to_owned(),
            policies,
            style: settings.style.unwrap_or(default.style),
            loops: settings.loops.unwrap_or(default.loops),
            check_output: settings.check_output.is_on(),
            log_arguments: settings.log_arguments.is_on(),
            time_limit: match settings.time_limit {
                Some(0) => None,
                Some(seconds) => Some(Duration::from_secs(seconds)),
                None => default.time_limit,
            },
            restart: settings.restart.is_on(),
            ..default
        }
    }

    /// The limits on the arguments of one call, which may fill a whole frame.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_bytes = self.max_frame.min(Limits::MOST_BYTES);
        limits
    }
}
