//! The resolved settings of a gateway: every one has a value.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use goodcall_core::{Policies, Reason};
use goodcall_server::{
    GatewayLoopMode, GatewaySettings, GiveUpMode, ListenerSettings, LogTarget,
    ObservabilitySettings, ReaskSettings, ReplySettings, StoreTarget, TextCallMode, ToldUsage,
    UpstreamSettings,
};
use goodcall_wire::TextCallScope;
use goodcall_wire::relay::{GiveUp, RelaySettings, UsageMode};
use goodcall_wire::request::Adapt;
use http::Uri;

pub use crate::config_error::GatewayConfigError;
use crate::routes::RouteConfig;

/// The reasons for which a model is asked again.
const REASONS: [Reason; 8] = [
    Reason::Truncated,
    Reason::Malformed,
    Reason::Empty,
    Reason::NotAnObject,
    Reason::WrongShape,
    Reason::Ambiguous,
    Reason::UnknownTool,
    Reason::TooLarge,
];

/// The most re-asks of one request; each is paid for.
const MOST_REASKS: u32 = 10;

/// All settings of a gateway. Start from [`GatewayConfig::new`], or from what a user has written
/// with [`GatewayConfig::from_settings`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The model provider.
    pub upstream: UpstreamConfig,
    /// Where and how clients are served.
    pub listener: ListenerConfig,
    /// How replies are judged.
    pub relay: RelaySettings,
    /// Whether everything passes as it is, and is only judged.
    pub observe: bool,
    /// The provider whose rules tool definitions are rewritten for; `None` leaves them as they are.
    pub adapt: Option<Adapt>,
    /// What is done about the history in a request.
    pub history: HistoryConfig,
    /// How much is spent on re-asks.
    pub reasks: ReaskLimits,
    /// The log of requests.
    pub log: LogConfig,
    /// The requests that the page shows.
    pub store: StoreConfig,
    /// The page, metrics, health and readiness.
    pub admin: AdminConfig,
    /// Limits on size and time.
    pub limits: GatewayLimits,
}

/// Where and how clients are served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListenerConfig {
    /// The address that the gateway listens on.
    pub address: SocketAddr,
    /// Threads that serve connections.
    pub threads: usize,
    /// The certificate for clients; `None` serves without TLS.
    pub tls: Option<TlsFiles>,
    /// A file with the names of the clients and the digests of their keys; `None` serves everyone.
    pub client_keys: Option<PathBuf>,
}

/// The PEM files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate, followed by those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Returns the files at these paths.
    pub fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }
}

/// The model provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamConfig {
    pub(crate) url: Uri,
    /// A PEM file with certificates that are trusted beside those of the system.
    pub ca: Option<PathBuf>,
    /// The proxy on the way to it.
    pub proxy: NetworkProxy,
    /// Headers that every request to it has, in place of the client's.
    pub headers: Vec<(String, String)>,
    /// The policies of single models, by names in which `*` stands for any text. The first that fits
    /// holds.
    pub models: Vec<(String, Policies)>,
    /// The routes to other upstreams.
    pub routes: Vec<RouteConfig>,
    /// Whether requests that fit no route are sent here; otherwise they are refused.
    pub takes_rest: bool,
}

/// The proxy that connections to an upstream go through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkProxy {
    /// None.
    #[default]
    None,
    /// The one at this URL, such as `http://user:password@proxy.example:3128`.
    Url(String),
    /// That of `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY`, unless `NO_PROXY` excepts the upstream or
    /// it is on the same machine.
    Environment,
}

/// Where the gateway's own paths are served, and to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminConfig {
    /// Their address. `None` serves them beside the provider's paths on a loopback address, and
    /// otherwise not at all.
    pub address: Option<SocketAddr>,
    /// What a client of the page and the metrics must send. Health and readiness need none.
    pub token: Option<String>,
}

/// What is done about the history in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryConfig {
    /// Whether a history that a provider would refuse is made legal.
    pub fix: bool,
    /// Whether what clients drop from the history is put back.
    pub remember: bool,
    /// What is done about loops in the history.
    pub loops: GatewayLoopMode,
}

/// How much is spent on re-asks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaskLimits {
    /// Re-asks in a minute, of all requests together.
    pub per_minute: Option<u32>,
    /// Re-asks for each 100 requests of the last minute.
    pub percent: Option<u32>,
    /// How long after the client's request it may be asked again.
    pub deadline: Option<Duration>,
    /// Reasons for which the model is not asked again.
    pub not_for: Vec<Reason>,
    /// Failed re-asks in a row after which there are none for a while; `None` for never.
    pub breaker: Option<u32>,
    /// How long there are none then.
    pub breaker_time: Duration,
}

impl Default for ReaskLimits {
    fn default() -> Self {
        Self {
            per_minute: None,
            percent: None,
            deadline: None,
            not_for: Vec::new(),
            breaker: Some(5),
            breaker_time: Duration::from_secs(30),
        }
    }
}

/// The log of requests: one JSON line per request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogConfig {
    /// Where lines are written.
    pub target: LogTarget,
    /// Whether lines show arguments.
    pub arguments: bool,
    /// An OTLP/HTTP URL for spans, for whoever starts the gateway: it is not read here.
    pub otlp: Option<String>,
}

/// The requests that the page shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreConfig {
    /// Where they survive a restart.
    pub target: Option<StoreTarget>,
    /// Whether the page and the store show arguments.
    pub arguments: bool,
    /// What the store keeps.
    pub retention: Retention,
}

/// How long the store keeps requests, and how large it may become. It never keeps more than a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// How old a request may become.
    pub age: Option<Duration>,
    /// Bytes that the store may take; the oldest requests are removed first. Those of a file are counted
    /// as the file's size, those of a database as the text of its requests.
    pub bytes: Option<u64>,
}

/// Limits on size and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayLimits {
    /// Bytes of a request that is judged; a longer one is refused.
    pub request_bytes: usize,
    /// Bytes of a whole reply that is judged; a longer one passes unjudged.
    pub reply_bytes: usize,
    /// Requests at the same time.
    pub concurrent: usize,
    /// How long a client may take to send its headers.
    pub header_time: Duration,
    /// How long a client may pause within its request.
    pub request_time: Duration,
    /// How long a client may take to send a request that is judged.
    pub request_total_time: Duration,
    /// How long a connection to the upstream may take to open.
    pub connect_time: Duration,
    /// How long the upstream may take to begin its reply.
    pub first_byte_time: Duration,
    /// How long the upstream may take to begin its reply to a re-ask, while another reply waits.
    pub reask_time: Duration,
    /// How long a stream may be silent while something is held; `None` sends no sign of life.
    pub heartbeat_time: Option<Duration>,
    /// How long the upstream may pause within its reply.
    pub idle_time: Duration,
    /// How long open streams have to end when the gateway stops.
    pub drain_time: Duration,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            request_bytes: 64 << 20,
            reply_bytes: 32 << 20,
            concurrent: 10_000,
            // Load balancers keep idle connections for 60 seconds, and must be the ones to close them.
            header_time: seconds(75),
            request_time: seconds(60),
            request_total_time: seconds(600),
            connect_time: seconds(10),
            first_byte_time: seconds(600),
            reask_time: seconds(120),
            heartbeat_time: Some(seconds(10)),
            idle_time: seconds(300),
            drain_time: seconds(30),
        }
    }
}

impl GatewayConfig {
    /// Returns the defaults for an upstream such as `https://api.openai.com`.
    ///
    /// # Errors
    /// If the upstream is not an `http` or `https` URL.
    pub fn new(upstream: &str) -> Result<Self, GatewayConfigError> {
        Ok(Self {
            upstream: UpstreamConfig {
                url: upstream_uri(upstream)?,
                ca: None,
                proxy: NetworkProxy::None,
                headers: Vec::new(),
                models: Vec::new(),
                routes: Vec::new(),
                takes_rest: true,
            },
            listener: ListenerConfig {
                address: SocketAddr::from(([127, 0, 0, 1], 8787)),
                threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
                tls: None,
                client_keys: None,
            },
            relay: RelaySettings::default(),
            observe: false,
            adapt: None,
            history: HistoryConfig::default(),
            reasks: ReaskLimits::default(),
            log: LogConfig::default(),
            store: StoreConfig::default(),
            admin: AdminConfig::default(),
            limits: GatewayLimits::default(),
        })
    }

    /// Returns what a user has written over the defaults.
    ///
    /// # Errors
    /// If a setting cannot be used, or there is no upstream.
    pub fn from_settings(
        settings: GatewaySettings,
        policies: Policies,
    ) -> Result<Self, GatewayConfigError> {
        let GatewaySettings {
            upstream,
            listener,
            requests,
            replies,
            reasking,
            observability,
            ..
        } = settings;
        let url = upstream.upstream.as_deref().ok_or_else(|| {
            GatewayConfigError::new(
                "no upstream is named: give --upstream https://…, or write it into goodcall.toml",
            )
        })?;
        let mut config = Self::new(url)?;
        config.limits = limits(&listener, &upstream, &replies);
        config.upstream.ca = upstream.upstream_ca;
        config.upstream.proxy = match upstream.upstream_proxy {
            None => NetworkProxy::Environment,
            Some(off) if off == "off" => NetworkProxy::None,
            Some(url) => NetworkProxy::Url(url),
        };
        config.observe = replies.observe.is_on();
        config.set_listener(listener)?;

        config.adapt = requests.adapt;
        config.history.fix = requests.fix_history.is_on();
        config.history.remember = requests.remember.is_on();
        set(&mut config.history.loops, requests.loops);

        config.reasks = reask_limits(reasking)?;
        let relay = &mut config.relay;
        relay.policies = policies;
        relay.stream_arguments = replies.stream_arguments.is_on();
        relay.report = replies.report.is_on();
        if let Some(reasks) = replies.reasks.filter(|reasks| *reasks > MOST_REASKS) {
            return Err(GatewayConfigError::new(format!(
                "reasks = {reasks}: expected at most {MOST_REASKS}"
            )));
        }
        set(&mut relay.reasks, replies.reasks);
        relay.continue_cut_off = replies.continue_cut_off;
        set(&mut relay.usage, replies.usage.map(usage));
        set(&mut relay.style, replies.style);
        set(&mut relay.max_held, replies.max_held_bytes);
        set(&mut relay.give_up, replies.give_up.map(give_up));
        set(&mut relay.text_calls, replies.text_calls.map(text_calls));

        config.set_observability(observability)?;
        Ok(config)
    }

    fn set_listener(&mut self, listener: ListenerSettings) -> Result<(), GatewayConfigError> {
        let fail = |text: &str| Err(GatewayConfigError::new(text));
        self.admin.address = listener.admin;
        self.admin.token = listener.admin_token;
        if self.admin.token.as_deref() == Some("") {
            return fail("the admin token is empty: expected some text that nobody can guess");
        }
        if listener.threads == Some(0) {
            return fail("threads = 0: at least one thread must serve");
        }
        set(&mut self.listener.threads, listener.threads);
        set(&mut self.listener.address, listener.listen);
        self.listener.client_keys = listener.client_keys;
        self.listener.tls = match (listener.tls_certificate, listener.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            (None, None) => None,
            (Some(_), None) => {
                return fail("tls_certificate is set, and tls_key is not: both are needed");
            }
            (None, Some(_)) => {
                return fail("tls_key is set, and tls_certificate is not: both are needed");
            }
        };
        Ok(())
    }

    fn set_observability(
        &mut self,
        settings: ObservabilitySettings,
    ) -> Result<(), GatewayConfigError> {
        set(&mut self.log.target, settings.log);
        self.log.arguments = settings.log_arguments.is_on();
        self.log.otlp = settings.otlp.map(collector_url).transpose()?;
        self.store.target = settings.store;
        self.store.arguments = settings.store_arguments.is_on();
        let days = settings.store_days;
        self.store.retention = Retention {
            age: days.map(|days| Duration::from_secs(days.saturating_mul(24 * 60 * 60))),
            bytes: settings
                .store_megabytes
                .map(|size| size.saturating_mul(1_000_000)),
        };
        Ok(())
    }

    /// The URL that requests are sent to.
    pub fn upstream(&self) -> String {
        self.upstream.url.to_string()
    }

    /// Sends requests to another upstream.
    ///
    /// # Errors
    /// If the upstream is not an `http` or `https` URL.
    pub fn set_upstream(&mut self, upstream: &str) -> Result<(), GatewayConfigError> {
        self.upstream.url = upstream_uri(upstream)?;
        Ok(())
    }
}

fn limits(
    listener: &ListenerSettings,
    upstream: &UpstreamSettings,
    replies: &ReplySettings,
) -> GatewayLimits {
    let mut limits = GatewayLimits::default();
    set(&mut limits.request_bytes, listener.max_request_bytes);
    set(&mut limits.reply_bytes, replies.max_reply_bytes);
    set(&mut limits.concurrent, listener.max_requests);
    for (limit, seconds) in [
        (&mut limits.header_time, listener.header_seconds),
        (&mut limits.request_time, listener.request_seconds),
        (
            &mut limits.request_total_time,
            listener.request_total_seconds,
        ),
        (&mut limits.connect_time, upstream.connect_seconds),
        (&mut limits.first_byte_time, upstream.first_byte_seconds),
        (&mut limits.reask_time, upstream.reask_seconds),
        (&mut limits.idle_time, upstream.idle_seconds),
        (&mut limits.drain_time, listener.drain_seconds),
    ] {
        set(limit, seconds.map(Duration::from_secs));
    }
    if let Some(seconds) = replies.heartbeat_seconds {
        let pause = Duration::from_secs(seconds);
        limits.heartbeat_time = Some(pause).filter(|pause| !pause.is_zero());
    }
    limits
}

fn reask_limits(settings: ReaskSettings) -> Result<ReaskLimits, GatewayConfigError> {
    let mut limits = ReaskLimits {
        per_minute: settings.reasks_per_minute,
        percent: settings.reask_percent,
        deadline: settings.reask_deadline_seconds.map(Duration::from_secs),
        ..ReaskLimits::default()
    };
    for name in &settings.no_reask {
        let known = REASONS.into_iter().find(|reason| reason.name() == name);
        limits.not_for.push(known.ok_or_else(|| {
            let names = REASONS.map(Reason::name).join(", ");
            GatewayConfigError::new(format!(
                "no_reask: unknown reason `{name}`: expected {names}"
            ))
        })?);
    }
    if let Some(failures) = settings.reask_breaker {
        limits.breaker = Some(failures).filter(|failures| *failures > 0);
    }
    let pause = settings.reask_breaker_seconds.map(Duration::from_secs);
    set(&mut limits.breaker_time, pause);
    Ok(limits)
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn give_up(mode: GiveUpMode) -> GiveUp {
    match mode {
        GiveUpMode::Text => GiveUp::Text,
        _ => GiveUp::AsSent,
    }
}

fn usage(told: ToldUsage) -> UsageMode {
    match told {
        ToldUsage::Last => UsageMode::Last,
        _ => UsageMode::Sum,
    }
}

fn text_calls(mode: TextCallMode) -> Option<TextCallScope> {
    match mode {
        TextCallMode::Explicit => Some(TextCallScope::Explicit),
        TextCallMode::Anywhere => Some(TextCallScope::Anywhere),
        _ => None,
    }
}

fn collector_url(url: String) -> Result<String, GatewayConfigError> {
    if url.starts_with("http") {
        Ok(url)
    } else {
        Err(GatewayConfigError::new(format!(
            "otlp = `{url}`: expected a URL that begins with http:// or https://"
        )))
    }
}

fn upstream_uri(text: &str) -> Result<Uri, GatewayConfigError> {
    let wrong = |fault: &str| {
        GatewayConfigError::new(format!(
            "the upstream `{text}` {fault}: expected a URL such as https://api.openai.com"
        ))
    };
    let uri: Uri = text.parse().map_err(|_| wrong("is not a valid URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("has neither http:// nor https://"));
    }
    if uri.query().is_some() {
        return Err(wrong("has a query"));
    }
    match uri.authority() {
        Some(authority) if authority.as_str().ends_with(':') => {
            Err(wrong("has no port behind its colon"))
        }
        Some(authority) if !authority.as_str().contains('@') => Ok(uri),
        Some(_) => Err(wrong("has credentials, which belong into headers")),
        None => Err(wrong("has no host")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_replace_defaults() {
        let mut settings = GatewaySettings::default();
        settings.upstream.upstream = Some("http://127.0.0.1:1".to_owned());
        settings.upstream.idle_seconds = Some(7);
        settings.replies.reasks = Some(0);
        let config = GatewayConfig::from_settings(settings.clone(), Policies::default()).unwrap();
        assert_eq!(config.relay.reasks, 0);
        assert_eq!(config.limits.idle_time, Duration::from_secs(7));
        assert_eq!(config.limits.drain_time, Duration::from_secs(30));
        // Load balancers keep connections for 60 seconds, and send over them until then.
        assert!(config.limits.header_time > Duration::from_secs(60));
        let error = |settings: &GatewaySettings| {
            let config = GatewayConfig::from_settings(settings.clone(), Policies::default());
            config.unwrap_err().to_string()
        };
        settings.replies.reasks = Some(100_000);
        assert_eq!(error(&settings), "reasks = 100000: expected at most 10");
        settings.replies.reasks = None;
        settings.reasking.no_reask = vec!["cut".to_owned()];
        let text = "no_reask: unknown reason `cut`: expected truncated, malformed, empty, \
                    not_an_object, wrong_shape, ambiguous, unknown_tool, too_large";
        assert_eq!(error(&settings), text);
        settings.listener.threads = Some(0);
        let text = "threads = 0: at least one thread must serve";
        assert_eq!(error(&settings), text);
    }

    #[test]
    fn unusable_upstreams_are_refused() {
        let error = |upstream: &str| GatewayConfig::new(upstream).unwrap_err().to_string();
        assert!(error("api.openai.com").contains("neither http:// nor https://"));
        assert!(error("https://user:key@host").contains("credentials"));
        assert!(error("https://host?a=b").contains("query"));
        assert!(error("http://127.0.0.1:").contains("no port behind its colon"));
    }
}
