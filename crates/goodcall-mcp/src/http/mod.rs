//! Streamable HTTP, as a client of servers behind URLs and as a listener for clients.

mod headers;
mod response_filter;
mod response_reader;
mod responses;

mod process_listener;
mod session;
mod upstream;
pub(crate) mod url_client;
mod url_listener;

use std::io;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use upstream::{Upstream, UpstreamError};

use crate::call_log::ProxyLog;
use crate::options::ProxyOptions;
use crate::server_connection::McpServer;

/// Serves an MCP server to clients over streamable HTTP, until the future is dropped.
///
/// A command is started once per session, and once for all requests without a session. In front of
/// a URL requests and responses pass with their headers.
///
/// # Errors
/// If the listener fails.
pub async fn listen(
    listener: TcpListener,
    server: impl Into<McpServer>,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> io::Result<()> {
    match server.into() {
        McpServer::Url(upstream) => url_listener::listen(listener, upstream, options, log).await,
        command => process_listener::listen(listener, command, options, log).await,
    }
}
