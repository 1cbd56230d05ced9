//! One connection of a client, in HTTP/1.1 or HTTP/2.
//!
//! Thousands of them wait for streams at the same time, so its future is kept small: the version is
//! looked at without reading it, the connection is made where it is awaited, and what is rare lies
//! on the heap.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;

use crate::proxy::{Body, Shared, handle};
use crate::tunnel::Tunnels;
use crate::workers::StopReason;

/// What every connection with prior knowledge of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// How long to wait for the rest of a beginning that came in pieces.
const PIECE: Duration = Duration::from_millis(5);

/// Serves until the client is done, or until the gateway stops and what is open has ended. What
/// breaks is the client's affair.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    tunnels: Tunnels,
    socket: TcpStream,
    mut stop: StopReason,
) {
    let limit = shared.live().config.limits.header_time;
    let newer = tokio::select! {
        newer = tokio::time::timeout(limit, is_http2(&socket)) => newer,
        _ = stop.changed() => return,
    };
    let Ok(Some(newer)) = newer else {
        return;
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, tunnels) = (Arc::clone(&shared), tunnels.clone());
        // On the heap: it is gone when the reply's head is there.
        let handled = Box::pin(handle(shared, tunnels, request));
        async move { Ok::<_, Infallible>(handled.await) }
    });
    if newer {
        return Box::pin(serve_http2(socket, service, stop)).await;
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limit)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn serve_http2<S>(socket: TcpStream, service: S, mut stop: StopReason)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(socket), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Does the client begin as in HTTP/2? `None` if it went away.
async fn is_http2(socket: &TcpStream) -> Option<bool> {
    let mut start = [0; PREFACE.len()];
    loop {
        let size = socket
            .peek(&mut start)
            .await
            .ok()
            .filter(|size| *size > 0)?;
        if start[..size] != PREFACE[..size] {
            return Some(false);
        }
        if size == PREFACE.len() {
            return Some(true);
        }
        tokio::time::sleep(PIECE).await;
    }
}
