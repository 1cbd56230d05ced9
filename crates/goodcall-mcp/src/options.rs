//! What the host decides: policies, styles, limits.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use goodcall_core::{Limits, Policies, Style};

/// How one server is guarded. Start from [`ProxyOptions::default`] and change what you need.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// The server's name in logs and warnings.
    pub server: String,
    /// What may be mended, for each tool.
    pub policies: Policies,
    /// How refusals read.
    pub style: Style,
    /// What is done about doom loops.
    pub loops: LoopMode,
    /// Refuse results that do not match the tool's output schema, instead of only logging them.
    pub check_output: bool,
    /// Write arguments into the log.
    pub log_arguments: bool,
    /// How long a call may stay without an answer or a sign of progress.
    pub time_limit: Option<Duration>,
    /// How long the list of tools may take, one page.
    pub list_limit: Duration,
    /// Bytes of one message.
    pub max_frame: usize,
    /// Start the server again for the next request after it has ended.
    pub restart: bool,
}

impl Default for ProxyOptions {
    fn default() -> Self {
        Self {
            server: "server".to_owned(),
            policies: Policies::default(),
            style: Style::Model,
            loops: LoopMode::Tell,
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
    /// The limits on the arguments of one call: what fits a message is looked at.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_bytes = self.max_frame.min(Limits::MOST_BYTES);
        limits
    }
}

/// What is done about a model that goes in circles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopMode {
    /// Nothing.
    Off,
    /// Refusals say it, and the log; calls that are good go through.
    #[default]
    Tell,
    /// A call that only goes on with the circle is answered with what to do instead.
    Refuse,
}

/// A mode that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLoopMode(String);

impl fmt::Display for UnknownLoopMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no mode: use off, tell or refuse", self.0)
    }
}

impl std::error::Error for UnknownLoopMode {}

impl FromStr for LoopMode {
    type Err = UnknownLoopMode;

    fn from_str(name: &str) -> Result<Self, UnknownLoopMode> {
        match name {
            "off" => Ok(Self::Off),
            "tell" => Ok(Self::Tell),
            "refuse" => Ok(Self::Refuse),
            other => Err(UnknownLoopMode(other.to_owned())),
        }
    }
}
