//! The gateway: change one base URL, and every tool call that an agent receives is good.
//!
//! It stands between an agent and its model provider. Requests for OpenAI Chat Completions, OpenAI
//! Responses and Anthropic Messages are read; the calls in their replies are judged against the
//! tools of the same request, mended where that is safe, and asked for again where it is not. All
//! else passes through untouched. The judging itself is in [`goodcall_wire::relay`] and has no
//! sockets; this crate has them.
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

mod config;
mod connection;
mod content_encoding;
mod error;
mod headers;
mod history_loops;
mod json_reply;
mod log;
mod metrics;
mod page;
mod proxy;
mod recent_calls;
mod record;
mod server;
#[cfg(feature = "store")]
mod store;
mod stream;
mod tunnel;
mod upstream;
mod workers;

pub use config::{GatewayConfig, GatewayConfigError, GatewayLimits, LogConfig, StoreConfig};
pub use goodcall_server::{GatewayLoopMode, GatewaySettings, LogTarget};
pub use server::Gateway;
