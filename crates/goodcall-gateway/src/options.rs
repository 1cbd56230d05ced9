//! Settings as people write them: each may be left out, and the nearest one counts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use goodcall_core::{Policies, Policy, Style};
use goodcall_wire::TextCallScope;
use goodcall_wire::relay::GiveUp;
use goodcall_wire::request::Adapt;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::config::{GatewayConfig, GatewayConfigError, LogTarget};
use crate::loops::Loops;

/// What may be said about a gateway, in `goodcall.toml` under `[gateway]`, in the environment, and
/// with flags. What is not said here comes from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// The URL that requests go to.
    pub upstream: Option<String>,
    /// A PEM file with certificates that are trusted for the upstream.
    pub upstream_ca: Option<PathBuf>,
    /// Where the gateway listens.
    pub listen: Option<SocketAddr>,
    /// Threads that serve connections.
    pub threads: Option<usize>,
    /// How often the model is asked again.
    pub reasks: Option<u32>,
    /// `call` or `text`: what a bad call becomes when nothing helped.
    pub give_up: Option<String>,
    /// `off`, `explicit` or `anywhere`: which calls in text become calls.
    pub text_calls: Option<String>,
    /// Arguments go on while strict validation holds.
    pub stream_arguments: Option<bool>,
    /// `openai-strict`, `anthropic` or `gemini`: whose rules tool definitions must keep.
    pub adapt: Option<String>,
    /// A history that a provider would refuse is made legal.
    pub fix_history: Option<bool>,
    /// `off`, `report` or `steer`: what is done about loops in the history.
    pub loops: Option<String>,
    /// How the text for the model reads.
    pub style: Option<String>,
    /// The verdict stands in the body, too.
    pub report: Option<bool>,
    /// `off`, `stdout` or `stderr`.
    pub log: Option<String>,
    /// Arguments may stand in the log.
    pub log_arguments: Option<bool>,
    /// An OTLP/HTTP URL that spans are sent to.
    pub otlp: Option<String>,
    /// An SQLite file in which the page's calls survive a restart.
    pub store: Option<PathBuf>,
    /// Arguments may stand in the store and on the page.
    pub store_arguments: Option<bool>,
    /// Bytes of a request that is judged.
    pub max_request_bytes: Option<usize>,
    /// Bytes of a whole reply that is judged.
    pub max_reply_bytes: Option<usize>,
    /// Bytes of a stream that are held back until they are judged.
    pub max_held_bytes: Option<usize>,
    /// Requests at the same time.
    pub max_requests: Option<usize>,
    /// Seconds until a client must have sent its headers.
    pub header_seconds: Option<u64>,
    /// Seconds until a connection to the upstream must stand.
    pub connect_seconds: Option<u64>,
    /// Seconds until the upstream must have begun its reply.
    pub first_byte_seconds: Option<u64>,
    /// Seconds until the upstream must go on with its reply.
    pub idle_seconds: Option<u64>,
    /// Seconds that streams have to end when the gateway stops.
    pub drain_seconds: Option<u64>,
}

macro_rules! nearest {
    ($own:expr, $other:expr, $($field:ident),* $(,)?) => {
        GatewayOptions { $($field: $own.$field.or($other.$field),)* }
    };
}

impl GatewayOptions {
    /// These, and where they say nothing, the others.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        nearest!(
            self,
            other,
            upstream,
            upstream_ca,
            listen,
            threads,
            reasks,
            give_up,
            text_calls,
            stream_arguments,
            adapt,
            fix_history,
            loops,
            style,
            report,
            log,
            log_arguments,
            otlp,
            store,
            store_arguments,
            max_request_bytes,
            max_reply_bytes,
            max_held_bytes,
            max_requests,
            header_seconds,
            connect_seconds,
            first_byte_seconds,
            idle_seconds,
            drain_seconds,
        )
    }

    /// The settings that these options ask for.
    ///
    /// # Errors
    /// If one of them cannot be used, or there is no upstream.
    pub fn config(self, policies: Policies) -> Result<GatewayConfig, GatewayConfigError> {
        let upstream = self.upstream.as_deref().ok_or_else(|| {
            GatewayConfigError::new(
                "no upstream is named: give --upstream https://…, or write it into goodcall.toml",
            )
        })?;
        let mut config = GatewayConfig::new(upstream)?;
        config.upstream_ca = self.upstream_ca;
        set(&mut config.listen, self.listen);
        set(&mut config.threads, at_least_one(self.threads)?);
        let settings = &mut config.settings;
        settings.policies = policies;
        set(&mut settings.reasks, self.reasks);
        set(&mut settings.stream_arguments, self.stream_arguments);
        set(&mut settings.report, self.report);
        set(&mut settings.max_held, self.max_held_bytes);
        if let Some(give_up) = self.give_up {
            settings.give_up = match give_up.as_str() {
                "call" => GiveUp::AsSent,
                "text" => GiveUp::Text,
                other => return Err(unknown("give_up", other, "call or text")),
            };
        }
        if let Some(place) = self.text_calls {
            settings.text_calls = match place.as_str() {
                "off" => None,
                "explicit" => Some(TextCallScope::Explicit),
                "anywhere" => Some(TextCallScope::Anywhere),
                other => return Err(unknown("text_calls", other, "off, explicit or anywhere")),
            };
        }
        if let Some(style) = self.style {
            let style = style.parse::<Style>();
            settings.style = style.map_err(|error| GatewayConfigError::new(error.to_string()))?;
        }
        if let Some(to) = self.adapt {
            let to = to.parse::<Adapt>();
            config.adapt = Some(to.map_err(|error| GatewayConfigError::new(error.to_string()))?);
        }
        set(&mut config.fix_history, self.fix_history);
        if let Some(loops) = self.loops {
            config.loops = loops.parse::<Loops>()?;
        }
        if let Some(log) = self.log {
            config.log = log.parse::<LogTarget>()?;
        }
        set(&mut config.log_arguments, self.log_arguments);
        config.otlp = self.otlp.map(collector).transpose()?;
        config.store = self.store;
        set(&mut config.store_arguments, self.store_arguments);
        let limits = &mut config.limits;
        set(&mut limits.request_bytes, self.max_request_bytes);
        set(&mut limits.reply_bytes, self.max_reply_bytes);
        set(&mut limits.concurrent, self.max_requests);
        for (place, seconds) in [
            (&mut limits.header_time, self.header_seconds),
            (&mut limits.connect_time, self.connect_seconds),
            (&mut limits.first_byte_time, self.first_byte_seconds),
            (&mut limits.idle_time, self.idle_seconds),
            (&mut limits.drain_time, self.drain_seconds),
        ] {
            set(place, seconds.map(Duration::from_secs));
        }
        Ok(config)
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn at_least_one(threads: Option<usize>) -> Result<Option<usize>, GatewayConfigError> {
    match threads {
        Some(0) => Err(GatewayConfigError::new(
            "threads = 0: at least one thread must serve",
        )),
        threads => Ok(threads),
    }
}

fn collector(url: String) -> Result<String, GatewayConfigError> {
    let known = "a URL that begins with http:// or https://";
    match url.starts_with("http") {
        true => Ok(url),
        false => Err(unknown("otlp", &url, known)),
    }
}

fn unknown(key: &str, value: &str, known: &str) -> GatewayConfigError {
    GatewayConfigError::new(format!("{key} = `{value}` is not known: use {known}"))
}

/// The file `goodcall.toml`: what is said about the gateway, and what may be mended.
///
/// ```
/// use goodcall_gateway::GatewayFile;
///
/// let file = GatewayFile::parse(r#"
///     policy = "safe"
///
///     [tools.delete_file]
///     level = "strict"
///
///     [gateway]
///     upstream = "https://api.openai.com"
///     reasks = 1
/// "#)?;
/// assert_eq!(file.options.reasks, Some(1));
/// assert!(file.policies.of("delete_file", false).is_strict());
/// # Ok::<(), goodcall_gateway::GatewayConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayFile {
    /// What stands under `[gateway]`.
    pub options: GatewayOptions,
    /// What stands under `policy` and `[tools.NAME]`.
    pub policies: Policies,
}

/// The file as it is written. The section of the MCP proxy is not looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    policy: Option<Value>,
    #[serde(default)]
    tools: Map<String, Value>,
    #[serde(default)]
    gateway: GatewayOptions,
    #[serde(default, rename = "mcp")]
    _mcp: Value,
}

impl GatewayFile {
    /// Reads the file's text.
    ///
    /// # Errors
    /// If it is no TOML, or says what nobody knows.
    pub fn parse(text: &str) -> Result<Self, GatewayConfigError> {
        let wrong = |error: &dyn std::fmt::Display| GatewayConfigError::new(error.to_string());
        let written: Written = toml::from_str(text).map_err(|error| wrong(&error))?;
        let mut all = Map::new();
        match written.policy {
            None => {}
            Some(Value::String(short)) => {
                let policy = short.parse::<Policy>().map_err(|error| wrong(&error))?;
                all.insert("level".to_owned(), policy.level_name().into());
                let rules = policy
                    .switches()
                    .map(|(rule, on)| (rule.to_owned(), on.into()));
                all.insert("rules".to_owned(), Value::Object(rules.collect()));
            }
            Some(Value::Object(table)) => all = table,
            Some(other) => {
                let message =
                    format!("policy = {other}: write a level, or a table with level and rules");
                return Err(GatewayConfigError::new(message));
            }
        }
        all.insert("tools".to_owned(), Value::Object(written.tools));
        let policies = serde_json::from_value(Value::Object(all)).map_err(|error| wrong(&error))?;
        Ok(Self {
            options: written.gateway,
            policies,
        })
    }

    /// Reads the file.
    ///
    /// # Errors
    /// As [`GatewayFile::parse`], and if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, GatewayConfigError> {
        let at = |error: &dyn std::fmt::Display| {
            GatewayConfigError::new(format!("{}: {error}", path.display()))
        };
        let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
        Self::parse(&text).map_err(|error| at(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_option_counts() {
        let near = GatewayOptions {
            reasks: Some(0),
            ..GatewayOptions::default()
        };
        let far = GatewayOptions {
            reasks: Some(5),
            upstream: Some("http://127.0.0.1:1".to_owned()),
            idle_seconds: Some(7),
            ..GatewayOptions::default()
        };
        let config = near.or(far).config(Policies::default()).unwrap();
        assert_eq!(config.settings.reasks, 0);
        assert_eq!(config.limits.idle_time, Duration::from_secs(7));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("[gateway]\nupstrem = \"x\"", "unknown field `upstrem`"),
            ("policy = \"lax\"", "`lax` is no policy"),
            ("policy = 5", "write a level"),
            ("polciy = \"strict\"", "unknown field `polciy`"),
            ("[tools.a]\nrules = { xyz = true }", "`xyz` is no rule"),
        ] {
            let error = GatewayFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let with = |upstream: &str| {
            let upstream = Some(upstream.to_owned());
            let options = GatewayOptions {
                upstream,
                ..GatewayOptions::default()
            };
            options.config(Policies::default()).unwrap_err().to_string()
        };
        assert!(with("api.openai.com").contains("neither http:// nor https://"));
        assert!(with("https://user:key@host").contains("credentials"));
        assert!(with("https://host?a=b").contains("query"));
        let idle = GatewayOptions {
            upstream: Some("http://127.0.0.1:1".to_owned()),
            threads: Some(0),
            ..GatewayOptions::default()
        };
        let error = idle.config(Policies::default()).unwrap_err().to_string();
        assert_eq!(error, "threads = 0: at least one thread must serve");
    }
}
