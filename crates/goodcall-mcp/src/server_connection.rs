//! The server's side of a session on lines: a process, or a server behind a URL.

use std::io;

use crate::engine::Engine;
use crate::frame::Frame;
use crate::http::Upstream;
use crate::http::url_client::UrlClient;
use crate::line_io::{InputLine, LineWriter};
use crate::process::{self, ServerCommand, ServerProcess};

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum McpServer {
    Command(ServerCommand),
    Url(Upstream),
}

/// A server that is there.
pub(crate) enum ServerConnection {
    Child(Box<ServerProcess>),
    Remote(UrlClient),
}

impl McpServer {
    pub(crate) fn start(&self, most: usize) -> io::Result<ServerConnection> {
        match self {
            McpServer::Command(command) => {
                Ok(ServerConnection::Child(Box::new(command.start(most)?)))
            }
            McpServer::Url(upstream) => Ok(ServerConnection::Remote(UrlClient::start(
                upstream.clone(),
                most,
            ))),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            McpServer::Command(command) => command.program.to_string_lossy().into_owned(),
            McpServer::Url(upstream) => upstream.url().to_string(),
        }
    }
}

impl ServerConnection {
    /// Frames that wait for the server, where there is such a queue.
    pub(crate) fn queue(&self) -> Option<&LineWriter> {
        match self {
            ServerConnection::Child(server) => server.queue(),
            ServerConnection::Remote(_) => None,
        }
    }

    /// Sends a message; the engine knows which arguments are mirrored in headers.
    pub(crate) fn send(&self, frame: Frame, engine: &Engine) {
        match self {
            ServerConnection::Child(server) => server.send(frame),
            ServerConnection::Remote(remote) => {
                let mirrors = engine.mirrors(&frame);
                remote.send(frame, mirrors);
            }
        }
    }

    pub(crate) fn close_input(&mut self) {
        match self {
            ServerConnection::Child(server) => server.close_input(),
            ServerConnection::Remote(remote) => remote.close_input(),
        }
    }

    /// The next line. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> InputLine {
        match self {
            ServerConnection::Child(server) => server.next().await,
            ServerConnection::Remote(remote) => remote.next().await,
        }
    }

    /// Ends it; how it ended, in words.
    pub(crate) async fn end(self, asked: bool) -> String {
        match self {
            ServerConnection::Child(server) => process::words(server.end(asked).await),
            ServerConnection::Remote(remote) => {
                remote.end().await;
                "the connection ended".to_owned()
            }
        }
    }
}
