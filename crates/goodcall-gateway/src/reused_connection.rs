//! Tells a request that met a closed pooled connection from one that broke an upstream.
//!
//! An upstream may close an idle connection at the moment that a request is sent over it. Such a
//! request was not answered by anyone, and is worth a second connection; one that breaks a fresh
//! connection is not.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::{Extensions, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::network_proxy::HopConnector;

/// Whether a connection has answered a request before.
#[derive(Clone, Debug, Default)]
struct HasAnswered(Arc<AtomicBool>);

/// Notes that the connection of a reply has answered.
pub(crate) fn note_answer(reply: &Extensions) {
    if let Some(HasAnswered(answered)) = reply.get::<HasAnswered>() {
        answered.store(true, Ordering::Relaxed);
    }
}

/// Returns true if a request met a pooled connection that the upstream had closed: the connection
/// has answered before, and ended without a byte of this reply.
pub(crate) fn was_closed_while_idle(error: &legacy::Error) -> bool {
    let mut extensions = Extensions::new();
    if let Some(connected) = error.connect_info() {
        connected.get_extras(&mut extensions);
    }
    let reused = extensions.get::<HasAnswered>();
    let is_reused = reused.is_some_and(|HasAnswered(answered)| answered.load(Ordering::Relaxed));
    is_reused && ended_without_reply(error)
}

fn ended_without_reply(error: &legacy::Error) -> bool {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(own) = cause.downcast_ref::<hyper::Error>()
            && own.is_incomplete_message()
        {
            return true;
        }
        if let Some(own) = cause.downcast_ref::<io::Error>() {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
            let kinds = [BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected];
            return kinds.contains(&own.kind());
        }
        next = cause.source();
    }
    false
}

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;
type Connecting = <HttpsConnector<HopConnector> as Service<Uri>>::Future;

/// Opens connections that remember whether they have answered.
#[derive(Clone, Debug)]
pub(crate) struct RememberingConnector {
    pub(crate) connector: HttpsConnector<HopConnector>,
    /// True if connections lead to a proxy that forwards requests.
    pub(crate) is_forwarded: bool,
}

impl Service<Uri> for RememberingConnector {
    type Response = RememberingStream;
    type Error = <HttpsConnector<HopConnector> as Service<Uri>>::Error;
    type Future = Opening;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Opening {
        Opening {
            connecting: self.connector.call(uri),
            is_forwarded: self.is_forwarded,
        }
    }
}

/// A connection that is being opened.
pub(crate) struct Opening {
    connecting: Connecting,
    is_forwarded: bool,
}

impl Future for Opening {
    type Output = Result<RememberingStream, <RememberingConnector as Service<Uri>>::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let is_forwarded = self.is_forwarded;
        let connecting = Pin::new(&mut self.connecting).poll(cx);
        connecting.map_ok(|stream| RememberingStream {
            stream,
            is_forwarded,
            answered: HasAnswered::default(),
        })
    }
}

/// A connection that remembers whether it has answered.
pub(crate) struct RememberingStream {
    stream: Stream,
    is_forwarded: bool,
    answered: HasAnswered,
}

impl Connection for RememberingStream {
    fn connected(&self) -> Connected {
        let connected = self.stream.connected().proxy(self.is_forwarded);
        connected.extra(self.answered.clone())
    }
}

impl Read for RememberingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for RememberingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }
}
