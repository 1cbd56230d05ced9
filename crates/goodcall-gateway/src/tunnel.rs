//! Connections that become something else, WebSocket most of all: they pass both ways, unread.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

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
    let reply = live
        .upstream
        .upgrade(parts.method, &path, parts.headers, body, limit);
    let reply = reply.await;
    record.upstream(sent.elapsed());
    let mut reply = match reply {
        Ok(reply) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => reply,
        Ok(reply) => return Ok(pass_reply(live, reply, record)),
        Err(refusal) => return Err((refusal, record)),
    };
    let upstream = hyper::upgrade::on(&mut reply);
    let (mut head, _) = reply.into_parts();
    let protocol = head.headers.get(UPGRADE).cloned();
    headers::take_over(&mut head);
    upgrade_headers(&mut head.headers, protocol);
    record.status(head.status);
    tunnels.spawn(join(client, upstream, record));
    Ok(Response::from_parts(head, full(Bytes::new())))
}

fn upgrade_headers(headers: &mut http::HeaderMap, protocol: Option<HeaderValue>) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    if let Some(protocol) = protocol {
        headers.insert(UPGRADE, protocol);
    }
}

async fn join(client: OnUpgrade, upstream: OnUpgrade, mut record: Box<Record>) {
    // What the log says if the gateway stops first.
    record.ends_with(Some("stopped"));
    let ended = match tokio::try_join!(client, upstream) {
        Ok((client, upstream)) => {
            let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
            tokio::io::copy_bidirectional(&mut client, &mut upstream)
                .await
                .is_ok()
        }
        Err(_) => false,
    };
    record.ends_with((!ended).then_some("upgrade_broken"));
    record.finish();
}
