//! The gateway: change one base URL, and every tool call that an agent receives is good.
//!
//! It sits between an agent and its model provider. For OpenAI Chat Completions, OpenAI Responses
//! and Anthropic Messages, the calls in a reply are judged against the tools of the same request,
//! mended where that is safe, and re-asked where it is not. Everything else passes through
//! untouched. Judging itself does no I/O and is in [`goodcall_wire::relay`]; this crate has the
//! sockets.
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use goodcall_gateway::{GatewayConfig, Gateway};
//!
//! let config = GatewayConfig::new("https://api.openai.com")?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
//! Gateway::new(config)?.serve(listener, std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

mod admin;
mod client_tls;
mod clients;
mod config;
mod config_error;
mod connection;
mod content_encoding;
mod error_reply;
mod failed_reply;
mod file_limit;
mod headers;
mod history_loops;
mod json_reply;
mod judged_stream;
mod listener_tls;
mod log;
mod metrics;
mod network_proxy;
mod observe;
mod passed_body;
mod proxy;
mod reask_budget;
mod recent_request;
mod request_record;
mod request_span;
mod reused_connection;
mod routes;
mod server;
#[cfg(feature = "store")]
mod store;
mod tunnel;
mod upstream;
mod upstream_body;
mod workers;

pub use config::{
    AdminConfig, GatewayConfig, GatewayConfigError, GatewayLimits, HistoryConfig, ListenerConfig,
    LogConfig, NetworkProxy, ReaskLimits, Retention, StoreConfig, TlsFiles, UpstreamConfig,
};
pub use file_limit::raise_file_limit;
pub use goodcall_server::{GatewayLoopMode, GatewaySettings, LogTarget, StoreTarget};
pub use routes::RouteConfig;
pub use server::Gateway;
#[cfg(feature = "postgres")]
pub use store::each_stored;
