//! A transparent proxy in front of MCP servers.
//!
//! Messages pass byte for byte. Only `tools/list` results and `tools/call` requests are read: a
//! good call is forwarded as sent, a mended one with its arguments rewritten in place, a bad one is
//! answered with a text that the model can act on.
//!
//! - [`Engine`]: one session, without I/O.
//! - [`bridge`]: a client on pipes, a server that is a process.
//! - [`Options`], [`Config`]: what the host decides, from `goodcall.toml`.
//! - [`Log`]: one JSON line a call.

mod answer;
mod frame;

mod catalogue;
mod circles;
mod keeper;

mod config;
mod options;
mod record;

mod engine;

mod back;
mod bridge;
mod child;
mod lines;

mod http;

mod inspect;
mod lint;
mod wrap;

pub use bridge::{End, StartError, bridge, bridge_url};
pub use child::ServerCommand;
pub use config::{Config, ConfigError};
pub use engine::{Engine, Out};
pub use frame::Frame;
pub use http::{Upstream, UpstreamError, listen_command, listen_url};
pub use inspect::{tools_of_command, tools_of_url};
pub use lint::{Remark, Tool, lint};
pub use options::{LoopMode, Options, UnknownLoopMode};
pub use record::{Log, Note, Outcome, Record};
pub use wrap::{WrapError, Wrapped, unwrap_config, wrap_config};
