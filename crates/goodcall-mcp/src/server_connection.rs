//! The server's side of a session: a process, a server behind a URL, or several of them.

use std::io;

use crate::argument_mirrors::MirroredHeaders;
use crate::frame::Frame;
use crate::http::Upstream;
use crate::http::url_client::UrlClient;
use crate::line_io::{InputLine, LineWriter};
use crate::process::{self, EndMode, ServerCommand, ServerProcess};
use crate::queue::Backlog;
use crate::server_group::{GroupConnection, ServerGroup};

/// Where an MCP server is found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum McpServer {
    /// A command that starts the server, which then speaks over its pipes.
    Command(ServerCommand),
    /// A URL that the server serves over streamable HTTP.
    Url(Upstream),
    /// Several servers that are offered together.
    Group(ServerGroup),
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

impl From<ServerGroup> for McpServer {
    fn from(group: ServerGroup) -> Self {
        Self::Group(group)
    }
}

/// A connection to a running server.
pub(crate) enum ServerConnection {
    Process(Box<ServerProcess>),
    Url(UrlClient),
    Group(GroupConnection),
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
            Self::Group(group) => ServerConnection::Group(group.connect(max_frame)?),
        })
    }

    /// Returns why no call can be run: the program is missing, or the host of the URL does not answer.
    /// Of several servers, one that can be reached is enough.
    pub(crate) async fn readiness(&self) -> Result<(), String> {
        let found = match self {
            Self::Command(command) => command.find().map_err(|error| error.to_string()),
            Self::Url(upstream) => upstream.answers().await,
            Self::Group(group) => {
                let mut found = Ok(());
                for server in group.servers() {
                    found = Box::pin(server.readiness()).await;
                    if found.is_ok() {
                        break;
                    }
                }
                return found;
            }
        };
        found.map_err(|why| format!("server_unreachable: {}: {why}", self.name()))
    }

    /// The program or the host, for messages. Arguments and the rest of a URL may be secret.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Command(command) => command.program.to_string_lossy().into_owned(),
            Self::Url(upstream) => upstream.host(),
            Self::Group(group) => group.name(),
        }
    }
}

impl ServerConnection {
    /// What waits to be sent; `None` once the input is closed.
    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        match self {
            Self::Process(process) => process.writer().map(LineWriter::backlog),
            Self::Url(client) => client.backlog(),
            Self::Group(group) => group.backlog(),
        }
    }

    /// Sends a frame. `mirrors` tells which arguments of it a URL wants mirrored in headers.
    pub(crate) fn send(&self, frame: Frame, mirrors: impl FnOnce(&[u8]) -> MirroredHeaders) {
        match self {
            Self::Process(process) => process.send(frame),
            Self::Url(client) => {
                let mirrors = mirrors(&frame);
                client.send(frame, mirrors);
            }
            Self::Group(group) => group.send(frame),
        }
    }

    /// Closes the server's input after the frames that were sent.
    pub(crate) fn close_input(&mut self) {
        match self {
            Self::Process(process) => process.close_input(),
            Self::Url(client) => client.close_input(),
            Self::Group(group) => group.close_input(),
        }
    }

    /// The next line of the server. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> InputLine {
        match self {
            Self::Process(process) => process.next().await,
            Self::Url(client) => client.next().await,
            Self::Group(group) => group.next().await,
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
            Self::Group(group) => {
                group.end(mode).await;
                "all servers ended".to_owned()
            }
        }
    }
}
