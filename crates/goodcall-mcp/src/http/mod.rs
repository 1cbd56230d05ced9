//! Streamable HTTP, as a client of servers behind URLs and as a listener for clients.

mod guard;
mod headers;
mod login;
mod login_relay;
mod param_headers;
mod response_filter;
mod response_reader;
mod responses;

mod process_listener;
mod session;
mod sse_stream;
mod upstream;
pub(crate) mod url_client;
mod url_listener;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::serve::{Listener, ListenerExt};
use tokio::net::{TcpListener, TcpStream};

use guard::ListenGuard;
pub(crate) use response_reader::read_whole;
pub(crate) use upstream::describe_error;
pub use upstream::{Upstream, UpstreamError};

use crate::call_log::ProxyLog;
use crate::options::ProxyOptions;
use crate::server_connection::McpServer;

/// The path at which every listener serves.
const ENDPOINT: &str = "/mcp";

/// Serves an MCP server to clients over streamable HTTP, until the future is dropped.
///
/// A command is started once per session, and once for all requests without a session. In front of
/// a URL requests and responses pass with their headers, unless it speaks the old SSE transport, the
/// log records sessions, or calls are to be approved: then each session has a connection of its own, as with a command.
///
/// # Errors
/// If the listener fails.
pub async fn listen(
    listener: TcpListener,
    server: impl Into<McpServer>,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> io::Result<()> {
    let guard = ListenGuard::new(listener.local_addr()?, options.listen.clone());
    let app = match server.into() {
        McpServer::Url(upstream)
            if !upstream.is_sse() && log.recorder().is_none() && !options.asks_for_approval() =>
        {
            url_listener::router(upstream, options, log)?
        }
        command => process_listener::router(command, options, log),
    };
    let guard = axum::middleware::from_fn_with_state(guard, guard::guard);
    axum::serve(without_delay(listener), app.layer(guard)).await
}

/// Small messages are sent at once: the system would keep them back until the client has confirmed
/// those before, which takes 40 ms.
fn without_delay(listener: TcpListener) -> impl Listener<Io = TcpStream, Addr = SocketAddr> {
    listener.tap_io(|connection| {
        // A connection that is closed already has no options any more.
        let _ = connection.set_nodelay(true);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_send_small_messages_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), async {
            without_delay(listener).accept().await.0
        });
        assert!(client.is_ok());
        assert!(accepted.nodelay().unwrap());
    }
}
