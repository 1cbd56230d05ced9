//! The settings of the gateway: `[gateway]` in `goodcall.toml`, flags, environment variables.

use std::net::SocketAddr;
use std::path::PathBuf;

use goodcall_core::Style;
use goodcall_wire::request::Adapt;
use serde::Deserialize;

#[cfg(feature = "clap")]
use crate::flag_values::{listen_address, switch, whole_number};
use crate::layers::{Switch, parsed, settings};
use crate::store_target::StoreTarget;

settings! {
    /// Every setting of the gateway that a user may write. Unset ones have the default that
    /// `goodcall gateway --help` names.
    pub struct GatewaySettings {
        groups:
        /// The model provider.
        pub upstream: UpstreamSettings,
        /// The gateway's own side.
        pub listener: ListenerSettings,
        /// What happens to a request before it is sent to the provider.
        pub requests: RequestSettings,
        /// How replies are judged.
        pub replies: ReplySettings,
        /// How much is spent on re-asks.
        pub reasking: ReaskSettings,
        /// What is recorded.
        pub observability: ObservabilitySettings,
    }
}

settings! {
    /// How the gateway reaches the model provider.
    pub struct UpstreamSettings {
        /// The provider's URL, such as https://api.openai.com
        #[arg(long = "upstream", id = "upstream", env = "GOODCALL_UPSTREAM", value_name = "URL")]
        pub upstream: Option<String>,
        /// Certificates to trust beside the system's, a PEM file
        #[arg(long, env = "GOODCALL_UPSTREAM_CA", value_name = "FILE")]
        pub upstream_ca: Option<PathBuf>,
        /// The proxy on the way to the upstream, such as http://proxy.example:3128, or off
        /// [default: that of HTTPS_PROXY and NO_PROXY]
        #[arg(long, env = "GOODCALL_UPSTREAM_PROXY", value_name = "URL", hide_env_values = true)]
        pub upstream_proxy: Option<String>,
        /// Seconds until a connection to the upstream must be open
        #[arg(skip)]
        pub connect_seconds: Option<u64>,
        /// Seconds until the upstream must have begun its reply
        #[arg(skip)]
        pub first_byte_seconds: Option<u64>,
        /// Seconds until the upstream must have begun its reply to a re-ask
        #[arg(skip)]
        pub reask_seconds: Option<u64>,
        /// Seconds that the upstream may pause within a reply [default: 300]
        #[arg(long, env = "GOODCALL_IDLE_SECONDS", value_name = "N", value_parser = whole_number::<u64>)]
        pub idle_seconds: Option<u64>,
    }
}

settings! {
    /// Where and how the gateway serves its clients.
    pub struct ListenerSettings {
        /// Where to listen [default: 127.0.0.1:8787]
        #[arg(long, env = "GOODCALL_LISTEN", value_name = "ADDRESS", value_parser = listen_address)]
        pub listen: Option<SocketAddr>,
        /// Where to serve the page, metrics, health and readiness [default: where the gateway
        /// listens, if that is a loopback address, and otherwise nowhere]
        #[arg(long, env = "GOODCALL_ADMIN", value_name = "ADDRESS", value_parser = listen_address)]
        pub admin: Option<SocketAddr>,
        /// What a client of the page and the metrics must send: as a bearer token, or as the password
        /// that a browser asks for
        #[arg(long, env = "GOODCALL_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true)]
        pub admin_token: Option<String>,
        /// A PEM file with the certificate for clients: they connect with https:// then
        #[arg(long, env = "GOODCALL_TLS_CERTIFICATE", value_name = "FILE")]
        pub tls_certificate: Option<PathBuf>,
        /// A PEM file with the key of that certificate
        #[arg(long, env = "GOODCALL_TLS_KEY", value_name = "FILE")]
        pub tls_key: Option<PathBuf>,
        /// A file with a line `name:digest` for each client's key, its SHA-256 in hexadecimal digits:
        /// others are refused
        #[arg(long, env = "GOODCALL_CLIENT_KEYS", value_name = "FILE")]
        pub client_keys: Option<PathBuf>,
        /// Threads that serve connections [default: one for each core]
        #[arg(long, env = "GOODCALL_THREADS", value_name = "N", value_parser = whole_number::<usize>)]
        pub threads: Option<usize>,
        /// Requests at the same time [default: 10000]
        #[arg(long, env = "GOODCALL_MAX_REQUESTS", value_name = "N", value_parser = whole_number::<usize>)]
        pub max_requests: Option<usize>,
        /// Bytes of a request that is judged [default: 64 MiB]
        #[arg(long, env = "GOODCALL_MAX_REQUEST_BYTES", value_name = "N", value_parser = whole_number::<usize>)]
        pub max_request_bytes: Option<usize>,
        /// Seconds until a client must have sent its headers
        #[arg(skip)]
        pub header_seconds: Option<u64>,
        /// Seconds that a client may pause within its request
        #[arg(skip)]
        pub request_seconds: Option<u64>,
        /// Seconds until a request that is judged must be there
        #[arg(skip)]
        pub request_total_seconds: Option<u64>,
        /// Seconds that streams have to end when the gateway stops [default: 30]
        #[arg(long, env = "GOODCALL_DRAIN_SECONDS", value_name = "N", value_parser = whole_number::<u64>)]
        pub drain_seconds: Option<u64>,
    }
}

settings! {
    /// What happens to a request before it is sent to the provider.
    pub struct RequestSettings {
        /// Write tool definitions so that the upstream takes them; replies are mapped back
        #[serde(deserialize_with = "parsed")]
        #[arg(long, env = "GOODCALL_ADAPT", value_name = "openai-strict|anthropic|gemini")]
        pub adapt: Option<Adapt>,
        /// Make a history legal that a provider would refuse: unpaired calls, broken arguments
        #[arg(long, env = "GOODCALL_FIX_HISTORY", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub fix_history: Switch,
        /// Put back what clients drop from the history: reasoning, signatures, ids of calls
        #[arg(long, env = "GOODCALL_REMEMBER", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub remember: Switch,
        /// What to do about loops in the history [default: report]
        #[arg(long, env = "GOODCALL_LOOPS", value_name = "off|report|steer", hide_possible_values = true)]
        pub loops: Option<GatewayLoopMode>,
    }
}

settings! {
    /// How replies are judged, and what becomes of bad calls.
    pub struct ReplySettings {
        /// Change nothing and hold nothing: only tell what would have been mended or asked again
        #[arg(long, env = "GOODCALL_OBSERVE", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub observe: Switch,
        /// How often the model is asked again for a call that cannot be mended [default: 2]
        #[arg(long, env = "GOODCALL_REASKS", value_name = "N", value_parser = whole_number::<u32>)]
        pub reasks: Option<u32>,
        /// Ask again for a call that the request's own token limit cut off, with this limit
        /// [default: off]
        #[arg(long, env = "GOODCALL_CONTINUE_CUT_OFF", value_name = "TOKENS", value_parser = whole_number::<u64>)]
        pub continue_cut_off: Option<u64>,
        /// The usage that the agent is told after a re-ask: of all replies, or of the last
        /// [default: sum]
        #[arg(long, env = "GOODCALL_USAGE", value_name = "sum|last", hide_possible_values = true)]
        pub usage: Option<ToldUsage>,
        /// What the agent gets for a call that stays bad: the call as it was, or its error text
        /// [default: call]
        #[arg(long, env = "GOODCALL_GIVE_UP", value_name = "call|text", hide_possible_values = true)]
        pub give_up: Option<GiveUpMode>,
        /// Calls that the model writes into text become calls; `anywhere` also inside prose
        /// [default: off]
        #[arg(long, env = "GOODCALL_TEXT_CALLS", value_name = "explicit|anywhere", hide_possible_values = true, num_args = 0..=1, default_missing_value = "explicit", require_equals = true)]
        pub text_calls: Option<TextCallMode>,
        /// Pass arguments on while strict validation still holds, before a call is whole
        #[arg(long, env = "GOODCALL_STREAM_ARGUMENTS", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub stream_arguments: Switch,
        /// How the text for the model reads: model, instruction, numbered, plain, structured,
        /// record [default: model]
        #[serde(deserialize_with = "parsed")]
        #[arg(long, env = "GOODCALL_STYLE")]
        pub style: Option<Style>,
        /// Report what was done in the body, too: a field `goodcall`
        #[arg(long, env = "GOODCALL_REPORT", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub report: Switch,
        /// Seconds that a stream is silent at most while a call is held; 0 sends no sign of life
        /// [default: 10]
        #[arg(long, env = "GOODCALL_HEARTBEAT_SECONDS", value_name = "N", value_parser = whole_number::<u64>)]
        pub heartbeat_seconds: Option<u64>,
        /// Bytes of a whole reply that is judged
        #[arg(skip)]
        pub max_reply_bytes: Option<usize>,
        /// Bytes of a stream that are held until they are judged
        #[arg(skip)]
        pub max_held_bytes: Option<usize>,
    }
}

settings! {
    /// How much is spent on re-asks.
    pub struct ReaskSettings {
        /// Re-asks in a minute, of all requests together [default: any number]
        #[arg(long, env = "GOODCALL_REASKS_PER_MINUTE", value_name = "N", value_parser = whole_number::<u32>)]
        pub reasks_per_minute: Option<u32>,
        /// Re-asks for each 100 requests of the last minute; the first 10 are always allowed
        /// [default: any number]
        #[arg(long, env = "GOODCALL_REASK_PERCENT", value_name = "N", value_parser = whole_number::<u32>)]
        pub reask_percent: Option<u32>,
        /// Seconds after the client's request until which it may be asked again [default: any]
        #[arg(long, env = "GOODCALL_REASK_DEADLINE_SECONDS", value_name = "N", value_parser = whole_number::<u64>)]
        pub reask_deadline_seconds: Option<u64>,
        /// Reasons for which the model is not asked again, such as truncated,unknown_tool
        #[arg(long, env = "GOODCALL_NO_REASK", value_name = "REASONS", value_delimiter = ',')]
        pub no_reask: Vec<String>,
        /// Failed re-asks in a row after which there are none for a while; 0 for never [default: 5]
        #[arg(long, env = "GOODCALL_REASK_BREAKER", value_name = "N", value_parser = whole_number::<u32>)]
        pub reask_breaker: Option<u32>,
        /// Seconds for which there are none then
        #[arg(skip)]
        pub reask_breaker_seconds: Option<u64>,
    }
}

settings! {
    /// What is logged, kept and exported.
    pub struct ObservabilitySettings {
        /// One JSON line per request [default: stdout]
        #[arg(long, env = "GOODCALL_LOG", value_name = "off|stdout|stderr", hide_possible_values = true)]
        pub log: Option<LogTarget>,
        /// The log may show arguments
        #[arg(long, env = "GOODCALL_LOG_ARGUMENTS", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub log_arguments: Switch,
        /// Send a span for each request to an OpenTelemetry collector
        /// (http://localhost:4318/v1/traces)
        #[arg(long, env = "GOODCALL_OTLP", value_name = "URL")]
        pub otlp: Option<String>,
        /// Keep what the page at /goodcall shows in an SQLite file, or in a PostgreSQL database that
        /// several gateways share (postgres://user:password@host/database)
        #[arg(long, env = "GOODCALL_STORE", value_name = "FILE|URL", hide_env_values = true)]
        pub store: Option<StoreTarget>,
        /// Days for which the store keeps a request [default: until there are a million]
        #[arg(long, env = "GOODCALL_STORE_DAYS", value_name = "N", value_parser = whole_number::<u64>)]
        pub store_days: Option<u64>,
        /// Megabytes that the store takes at most; the oldest requests are removed first
        /// [default: any number]
        #[arg(long, env = "GOODCALL_STORE_MEGABYTES", value_name = "N", value_parser = whole_number::<u64>)]
        pub store_megabytes: Option<u64>,
        /// The page and its store may show arguments
        #[arg(long, env = "GOODCALL_STORE_ARGUMENTS", action = clap::ArgAction::SetTrue, value_parser = switch)]
        pub store_arguments: Switch,
    }
}

/// What the gateway does about doom loops in the history of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GatewayLoopMode {
    /// Loops are not looked for.
    Off,
    /// The log, the metrics and a header name the loop.
    #[default]
    Report,
    /// The model reads about it, too, below the last result.
    Steer,
}

/// What the agent gets for a call that is still bad after every re-ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GiveUpMode {
    /// The call as the model sent it.
    Call,
    /// The text that explains the refusal.
    Text,
}

/// The usage that the agent is told after a re-ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToldUsage {
    /// That of all replies together, which is what was paid for.
    Sum,
    /// That of the last reply, which tells how full the context is.
    Last,
}

/// Which calls inside plain text become calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TextCallMode {
    /// Those in a dialect of their own, in a code fence, or as the whole message.
    Explicit,
    /// Those inside prose, too.
    Anywhere,
    /// None.
    Off,
}

/// Where log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
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
