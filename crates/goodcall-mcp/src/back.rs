//! The server's side of a session on lines: a process, or a server behind a URL.

use std::io;

use crate::child::{self, Server, ServerCommand};
use crate::engine::Engine;
use crate::frame::Frame;
use crate::http::Upstream;
use crate::http::remote::Remote;
use crate::lines::{Line, Queue};

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Command(ServerCommand),
    Url(Upstream),
}

/// A server that is there.
pub(crate) enum Back {
    Child(Box<Server>),
    Remote(Remote),
}

impl Place {
    pub(crate) fn start(&self, most: usize) -> io::Result<Back> {
        match self {
            Place::Command(command) => Ok(Back::Child(Box::new(command.start(most)?))),
            Place::Url(upstream) => Ok(Back::Remote(Remote::start(upstream.clone(), most))),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Place::Command(command) => command.program.to_string_lossy().into_owned(),
            Place::Url(upstream) => upstream.url().to_string(),
        }
    }
}

impl Back {
    /// Frames that wait for the server, where there is such a queue.
    pub(crate) fn queue(&self) -> Option<&Queue> {
        match self {
            Back::Child(server) => server.queue(),
            Back::Remote(_) => None,
        }
    }

    /// Sends a message; the engine knows which arguments are mirrored in headers.
    pub(crate) fn send(&self, frame: Frame, engine: &Engine) {
        match self {
            Back::Child(server) => server.send(frame),
            Back::Remote(remote) => {
                let mirrors = engine.mirrors(&frame);
                remote.send(frame, mirrors);
            }
        }
    }

    pub(crate) fn close_input(&mut self) {
        match self {
            Back::Child(server) => server.close_input(),
            Back::Remote(remote) => remote.close_input(),
        }
    }

    /// The next line. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Line {
        match self {
            Back::Child(server) => server.next().await,
            Back::Remote(remote) => remote.next().await,
        }
    }

    /// Ends it; how it ended, in words.
    pub(crate) async fn end(self, asked: bool) -> String {
        match self {
            Back::Child(server) => child::words(server.end(asked).await),
            Back::Remote(remote) => {
                remote.end().await;
                "the connection ended".to_owned()
            }
        }
    }
}
