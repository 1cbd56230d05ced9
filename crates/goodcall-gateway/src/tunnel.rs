//! Connections that become something else, WebSocket most of all: they pass both ways, unread.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinSet;
use tokio::time::Instant as Clock;

use crate::headers;
use crate::proxy::{Answer, BoxError, Live, full, pass_reply, path_of};
use crate::record::Record;

/// The tunnels of one listener, so that a stop can wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tunnels(Arc<Mutex<JoinSet<()>>>);

impl Tunnels {
    fn spawn(&self, tunnel: impl Future<Output = ()> + Send + 'static) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while open.try_join_next().is_some() {}
        open.spawn(tunnel);
    }

    /// Waits until all have ended; those that are open after that time are cut.
    pub(crate) async fn drain(&self, limit: Duration) {
        let mut open = {
            let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *open)
        };
        let ended = async { while open.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(limit, ended).await;
        open.shutdown().await;
    }
}

/// Passes a request for another protocol on, and then whatever both sides say.
pub(crate) async fn open(
    live: &Live,
    tunnels: &Tunnels,
    mut request: Request<Incoming>,
    mut record: Box<Record>,
) -> Answer {
    record.not_judged_reply("upgrade");
    let client = hyper::upgrade::on(&mut request);
    let (mut parts, body) = request.into_parts();
    let protocol = parts.headers.get(UPGRADE).cloned();
    headers::for_upstream(&mut parts.headers, false);
    upgrade_headers(&mut parts.headers, protocol);
    let path = path_of(&parts);
    let body = body.map_err(BoxError::from).boxed_unsync();
    let limit = live.config.limits.first_byte_time;
    let sent = Instant::now();
    let reply = match live.upstream.request(parts, &path, body) {
        Ok(request) => live.upstream.upgrade(request, limit).await,
        Err(why) => Err(why),
    };
    record.upstream(sent.elapsed());
    let mut reply = match reply {
        Ok(reply) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => reply,
        Ok(reply) => return Ok(pass_reply(live, reply, record)),
        Err(why) => return Err((record.no_reply(why), record)),
    };
    let upstream = hyper::upgrade::on(&mut reply);
    let (mut head, _) = reply.into_parts();
    let protocol = head.headers.get(UPGRADE).cloned();
    headers::take_over(&mut head);
    upgrade_headers(&mut head.headers, protocol);
    record.status(head.status);
    let idle = live.config.limits.idle_time;
    tunnels.spawn(join(client, upstream, idle, record));
    Ok(Response::from_parts(head, full(Bytes::new())))
}

fn upgrade_headers(headers: &mut http::HeaderMap, protocol: Option<HeaderValue>) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(protocol) = protocol {
        headers.insert(UPGRADE, protocol);
    }
}

async fn join(client: OnUpgrade, upstream: OnUpgrade, idle: Duration, mut record: Box<Record>) {
    // What the log says if the gateway stops first.
    record.ends_with(Some("stopped"));
    let error = match tokio::try_join!(client, upstream) {
        Ok((client, upstream)) => {
            let heard = Heard::default();
            let mut client = heard.by(TokioIo::new(client));
            let mut upstream = heard.by(TokioIo::new(upstream));
            tokio::select! {
                ended = tokio::io::copy_bidirectional(&mut client, &mut upstream) => {
                    ended.is_err().then_some("upgrade_broken")
                }
                () = heard.nothing_for(idle) => Some("upgrade_idle"),
            }
        }
        Err(_) => Some("upgrade_broken"),
    };
    record.ends_with(error);
    record.finish();
}

/// When either side of a tunnel said something last.
#[derive(Clone)]
struct Heard(Arc<Mutex<Clock>>);

impl Default for Heard {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Clock::now())))
    }
}

impl Heard {
    /// A side that is listened to.
    fn by<T>(&self, side: T) -> Side<T> {
        let heard = self.clone();
        Side { side, heard }
    }

    fn last(&self) -> Clock {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Clock::now();
    }

    /// Ready when nobody has said anything for so long.
    async fn nothing_for(&self, limit: Duration) {
        loop {
            let until = self.last() + limit;
            if until <= Clock::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

/// One side of a tunnel.
struct Side<T> {
    side: T,
    heard: Heard,
}

impl<T: AsyncRead + Unpin> AsyncRead for Side<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = Pin::new(&mut self.side).poll_read(cx, buffer);
        if read.is_ready() {
            self.heard.now();
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Side<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.side).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.side).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.side).poll_shutdown(cx)
    }
}
