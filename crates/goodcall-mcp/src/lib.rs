//! A transparent proxy in front of MCP servers.
//!
//! Messages pass byte for byte. Only `tools/list` results and `tools/call` requests are read: a
//! good call is forwarded as sent, a mended one with its arguments rewritten in place, and a bad one
//! is answered with a text that the model can act on.
//!
//! - [`Engine`] is one session without I/O.
//! - [`McpServer`] says where a server is: a [`ServerCommand`] or, as an [`Upstream`], a URL.
//! - [`bridge`] serves a client on pipes, such as the [`standard_pipes`]; [`listen`] serves clients over
//!   streamable HTTP.
//! - [`ProxyOptions`] holds the host's decisions, from `goodcall.toml` or otherwise.
//! - [`ProxyLog`] writes one JSON line per call; [`ProxyAdmin`] counts calls for a page and metrics,
//!   which [`serve_admin`] serves.
//! - [`wrap_config`] and [`unwrap_config`] edit the configurations of MCP clients;
//!   [`configured_servers`] reads their servers.
//! - [`log_in`] logs in to a server by OAuth, and [`LoginStore`] keeps the tokens.
//! - [`list_tools`] returns a server's tools, ready for [`goodcall_wire::lint`].

mod frame;
mod json_rpc;
mod json_span;

mod argument_mirrors;
mod call_request;
mod catalogue;
mod judge;
mod loop_guard;

mod admin;
mod call_log;
mod call_span;
mod options;
mod rate_limiter;
mod recording;
mod server_group;
mod tool_view;

mod engine;

mod bridge;
mod line_io;
mod process;
mod queue;
mod server_connection;
mod standard_pipes;

mod http;
mod login;

mod client_config;
mod list_tools;

pub use admin::{ProxyAdmin, serve_admin};
pub use bridge::{BridgeEnd, StartError, bridge};
pub use call_log::{
    CallDetails, LogEntry, OutputCheck, ProxyLog, ProxyOutcome, ProxyRecord, ProxyVerdict,
};
pub use client_config::{
    ConfiguredServer, WrapError, Wrapped, configured_servers, unwrap_config, wrap_config,
};
pub use engine::{Engine, EngineOutput};
pub use frame::Frame;
pub use goodcall_server::{BadCallMode, McpLoopMode};
pub use http::{Upstream, UpstreamError, listen};
pub use list_tools::list_tools;
pub use login::{LoginError, LoginOptions, LoginStore, log_in};
pub use options::{CallRules, ListenOptions, LogRules, ProxyOptions};
pub use process::{ServerCommand, end_with_parent};
pub use recording::RecordedServer;
pub use server_connection::McpServer;
pub use server_group::{GroupMember, ServerGroup};
pub use standard_pipes::{StandardInput, StandardOutput, standard_pipes};
pub use tool_view::ToolView;
