//! Connections that switch to another protocol, such as WebSocket: they are passed both ways,
//! unread.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

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
use crate::proxy::{BoxError, HandlerResult, LiveState, full, pass_reply, path_of};
use crate::request_record::{RequestError, RequestRecord, Unjudged};

/// The tunnels of one listener, so that a stop can wait for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tunnels(Arc<Mutex<JoinSet<()>>>);

impl Tunnels {
    fn spawn(&self, tunnel: impl Future<Output = ()> + Send + 'static) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while open.try_join_next().is_some() {}
        open.spawn(tunnel);
    }

    /// Waits until all have ended; those that are still open after `limit` are cut.
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

/// Passes on a request to switch protocols, and then all bytes of both sides.
pub(crate) async fn open(
    live: &LiveState,
    tunnels: &Tunnels,
    mut request: Request<Incoming>,
    mut record: Box<RequestRecord>,
) -> HandlerResult {
    record.judgement.unjudged = Some(Unjudged::Upgrade);
    let client = hyper::upgrade::on(&mut request);
    let (mut parts, body) = request.into_parts();
    let protocol = parts.headers.get(UPGRADE).cloned();
    headers::for_upstream(&mut parts.headers);
    upgrade_headers(&mut parts.headers, protocol);
    let path = path_of(&parts);
    let body = body.map_err(BoxError::from).boxed_unsync();
    let limit = live.config.limits.first_byte_time;
    record.note_sent();
    let reply = match live.upstream.request(parts, &path, body) {
        Ok(request) => live.upstream.upgrade(request, limit).await,
        Err(error) => Err(error),
    };
    let mut reply = match reply {
        Ok(reply) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => reply,
        Ok(reply) => return Ok(pass_reply(live, reply, record)),
        Err(error) => return Err((record.set_upstream_error(error), record)),
    };
    let upstream = hyper::upgrade::on(&mut reply);
    let (mut head, _) = reply.into_parts();
    let protocol = head.headers.get(UPGRADE).cloned();
    headers::take_over(&mut head);
    upgrade_headers(&mut head.headers, protocol);
    record.set_status(head.status);
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

async fn join(
    client: OnUpgrade,
    upstream: OnUpgrade,
    idle: Duration,
    mut record: Box<RequestRecord>,
) {
    // The error that is logged if the gateway stops first.
    record.error = Some(RequestError::Stopped);
    record.error = match tokio::try_join!(client, upstream) {
        Ok((client, upstream)) => {
            let activity = LastActivity::default();
            let mut client = activity.watch(TokioIo::new(client));
            let mut upstream = activity.watch(TokioIo::new(upstream));
            tokio::select! {
                ended = tokio::io::copy_bidirectional(&mut client, &mut upstream) => {
                    ended.is_err().then_some(RequestError::TunnelBroken)
                }
                () = activity.idle_for(idle) => Some(RequestError::TunnelIdle),
            }
        }
        Err(_) => Some(RequestError::TunnelBroken),
    };
    record.finish();
}

/// When either side of a tunnel last sent something.
#[derive(Clone)]
struct LastActivity(Arc<Mutex<Clock>>);

impl Default for LastActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Clock::now())))
    }
}

impl LastActivity {
    /// Wraps a side so that what it sends counts as activity.
    fn watch<T>(&self, side: T) -> WatchedSide<T> {
        let activity = self.clone();
        WatchedSide { side, activity }
    }

    fn last(&self) -> Clock {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Clock::now();
    }

    /// Waits until neither side has sent anything for `limit`.
    async fn idle_for(&self, limit: Duration) {
        loop {
            let until = self.last() + limit;
            if until <= Clock::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

/// One side of a tunnel, whose reads count as activity.
struct WatchedSide<T> {
    side: T,
    activity: LastActivity,
}

impl<T: AsyncRead + Unpin> AsyncRead for WatchedSide<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let read = Pin::new(&mut self.side).poll_read(cx, buffer);
        if read.is_ready() {
            self.activity.touch();
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WatchedSide<T> {
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
