//! What the gateway is told: by flags, by the environment, by `goodcall.toml`.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use goodcall_wire::relay::RelaySettings;
use goodcall_wire::request::Adapt;
use http::Uri;

use crate::loops::Loops;

/// All settings of a gateway. Start from [`GatewayConfig::new`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// Where requests go.
    pub upstream: Uri,
    /// Certificates that are trusted beside those of the system: a PEM file.
    pub upstream_ca: Option<PathBuf>,
    /// Where the gateway listens.
    pub listen: SocketAddr,
    /// Threads that serve connections.
    pub threads: usize,
    /// How replies are judged.
    pub settings: RelaySettings,
    /// Whose rules tool definitions must keep; `None` leaves them as they are.
    pub adapt: Option<Adapt>,
    /// A history that a provider would refuse is made legal.
    pub fix_history: bool,
    /// What is done about loops in the history.
    pub loops: Loops,
    /// Where request lines are logged.
    pub log: LogTarget,
    /// Arguments may stand in the log.
    pub log_arguments: bool,
    /// Where spans are to be sent, for whoever starts the gateway: an OTLP/HTTP URL.
    pub otlp: Option<String>,
    /// An SQLite file in which the page's calls survive a restart.
    pub store: Option<PathBuf>,
    /// Arguments may stand in the store and on the page.
    pub store_arguments: bool,
    /// Limits on size and time.
    pub limits: GatewayLimits,
}

/// Limits on size and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayLimits {
    /// Bytes of a request that is judged.
    pub request_bytes: usize,
    /// Bytes of a whole reply that is judged; a longer one passes unjudged.
    pub reply_bytes: usize,
    /// Requests at the same time.
    pub concurrent: usize,
    /// A client must have sent its headers by then.
    pub header_time: Duration,
    /// A client must go on with its request by then.
    pub request_time: Duration,
    /// A connection to the upstream must stand by then.
    pub connect_time: Duration,
    /// The upstream must have begun its reply by then.
    pub first_byte_time: Duration,
    /// The upstream must go on with its reply by then.
    pub idle_time: Duration,
    /// Streams must have ended by then when the gateway stops.
    pub drain_time: Duration,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            request_bytes: 64 << 20,
            reply_bytes: 32 << 20,
            concurrent: 10_000,
            header_time: seconds(30),
            request_time: seconds(60),
            connect_time: seconds(10),
            first_byte_time: seconds(600),
            idle_time: seconds(300),
            drain_time: seconds(30),
        }
    }
}

/// Where log lines go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogTarget {
    /// Nowhere.
    #[default]
    Off,
    /// To standard output.
    Stdout,
    /// To standard error.
    Stderr,
}

impl FromStr for LogTarget {
    type Err = GatewayConfigError;

    fn from_str(name: &str) -> Result<Self, GatewayConfigError> {
        match name {
            "off" => Ok(LogTarget::Off),
            "stdout" => Ok(LogTarget::Stdout),
            "stderr" => Ok(LogTarget::Stderr),
            other => Err(GatewayConfigError::new(format!(
                "`{other}` is no place for a log: use off, stdout or stderr"
            ))),
        }
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayConfigError(String);

impl GatewayConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for GatewayConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GatewayConfigError {}

impl GatewayConfig {
    /// The defaults, for this upstream.
    ///
    /// # Errors
    /// If the upstream is no `http` or `https` URL.
    pub fn new(upstream: &str) -> Result<Self, GatewayConfigError> {
        Ok(Self {
            upstream: upstream_uri(upstream)?,
            upstream_ca: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            settings: RelaySettings::default(),
            adapt: None,
            fix_history: false,
            loops: Loops::default(),
            log: LogTarget::Off,
            log_arguments: false,
            otlp: None,
            store: None,
            store_arguments: false,
            limits: GatewayLimits::default(),
        })
    }
}

fn upstream_uri(text: &str) -> Result<Uri, GatewayConfigError> {
    let wrong = |why: &str| {
        GatewayConfigError::new(format!(
            "the upstream `{text}` {why}: give a URL such as https://api.openai.com"
        ))
    };
    let uri: Uri = text.parse().map_err(|_| wrong("is no URL"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err(wrong("has neither http:// nor https://")),
    }
    if uri.query().is_some() {
        return Err(wrong("has a query"));
    }
    match uri.authority() {
        Some(authority) if !authority.as_str().contains('@') => Ok(uri),
        Some(_) => Err(wrong("has credentials in it, which belong into headers")),
        None => Err(wrong("names no host")),
    }
}
