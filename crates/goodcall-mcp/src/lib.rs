//! A transparent proxy in front of MCP servers.
//!
//! Messages pass byte for byte. Only `tools/list` results and `tools/call` requests are read: a
//! good call is forwarded as sent, a mended one with its arguments rewritten in place, a bad one is
//! answered with a text that the model can act on.
//!
//! - [`Engine`]: one session, without I/O.
//! - [`bridge`] and [`bridge_url`]: a client on pipes in front of a process or of a URL.
//! - [`listen_command`] and [`listen_url`]: clients over streamable HTTP.
//! - [`ProxyOptions`]: what the host decides, from `goodcall.toml` or otherwise.
//! - [`ProxyLog`]: one JSON line a call.
//! - [`wrap_config`], [`unwrap_config`]: clients' configurations.
//! - [`tools_of_command`], [`tools_of_url`]: a server's tools, ready for [`goodcall_wire::lint`].

mod frame;
mod json_rpc;

mod call_request;
mod catalogue;
mod judge;
mod loop_guard;

mod call_log;
mod options;

mod engine;

mod bridge;
mod line_io;
mod process;
mod server_connection;

mod http;

mod client_config;
mod list_tools;

pub use bridge::{BridgeEnd, StartError, bridge, bridge_url};
pub use call_log::{LogEntry, ProxyLog, ProxyOutcome, ProxyRecord};
pub use client_config::{WrapError, Wrapped, unwrap_config, wrap_config};
pub use engine::{Engine, EngineOutput};
pub use frame::Frame;
pub use goodcall_server::McpLoopMode;
pub use http::{Upstream, UpstreamError, listen_command, listen_url};
pub use list_tools::{tools_of_command, tools_of_url};
pub use options::ProxyOptions;
pub use process::ServerCommand;
