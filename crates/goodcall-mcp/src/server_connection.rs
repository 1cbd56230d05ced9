//! The server's side of a session: a process, or a server behind a URL.

use std::io;

use crate::engine::Engine;
use crate::frame::Frame;
use crate::http::Upstream;
use crate::http::url_client::UrlClient;
use crate::line_io::{InputLine, LineWriter};
use crate::process::{self, EndMode, ServerCommand, ServerProcess};
use crate::queue::Backlog;

/// Where an MCP server is found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpServer {
    /// A command that starts the server, which then speaks over its pipes.
    Command(ServerCommand),
    /// A URL that the server serves over streamable HTTP.
    Url(Upstream),
}

impl From<ServerCommand> for McpServer {
    fn from(command: ServerCommand) -> Self {
        Self::Command(command)
    }
}

impl From<Upstream> for McpServer {
    fn from(upstream: Upstream) -> Self {
        Self::Url(upstream)
    }
}

/// A connection to a running server.
pub(crate) enum ServerConnection {
    Process(Box<ServerProcess>),
    Url(UrlClient),
}

impl McpServer {
    /// Starts the process, or prepares requests to the URL. Frames of the server are limited to
    /// `max_frame` bytes.
    pub(crate) fn connect(&self, max_frame: usize) -> io::Result<ServerConnection> {
        Ok(match self {
            Self::Command(command) => {
                ServerConnection::Process(Box::new(command.start(max_frame)?))
            }
            Self::Url(upstream) => {
                ServerConnection::Url(UrlClient::start(upstream.clone(), max_frame))
            }
        })
    }

    /// The program or the host, for messages. Arguments and the rest of a URL may be secret.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Command(command) => command.program.to_string_lossy().into_owned(),
            Self::Url(upstream) => upstream.host(),
        }
    }
}

impl ServerConnection {
    /// What waits to be sent; `None` once the input is closed.
    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        match self {
            Self::Process(process) => process.writer().map(LineWriter::backlog),
            Self::Url(client) => client.backlog(),
        }
    }

    /// Sends a frame. The engine knows which arguments a URL wants mirrored in headers.
    pub(crate) fn send(&self, frame: Frame, engine: &Engine) {
        match self {
            Self::Process(process) => process.send(frame),
            Self::Url(client) => {
                let mirrors = engine.mirrors(&frame);
                client.send(frame, mirrors);
            }
        }
    }

    /// Closes the server's input after the frames that were sent.
    pub(crate) fn close_input(&mut self) {
        match self {
            Self::Process(process) => process.close_input(),
            Self::Url(client) => client.close_input(),
        }
    }

    /// The next line of the server. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> InputLine {
        match self {
            Self::Process(process) => process.next().await,
            Self::Url(client) => client.next().await,
        }
    }

    /// Ends the connection, and says in words how it ended.
    pub(crate) async fn end(self, mode: EndMode) -> String {
        match self {
            Self::Process(process) => process::describe_exit(process.end(mode).await),
            Self::Url(client) => {
                client.end().await;
                "the connection ended".to_owned()
            }
        }
    }
}
