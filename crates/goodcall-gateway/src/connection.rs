//! One connection of a client, in HTTP/1.1 or HTTP/2.
//!
//! Thousands of them wait for streams at the same time, so the future of a connection is kept small:
//! the version of HTTP is found by peeking, the connection is made where it is awaited, and rare
//! branches are on the heap.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::admin;
use crate::proxy::{Body, SharedState, handle};
use crate::tunnel::Tunnels;
use crate::workers::StopSignal;

/// The first bytes of every connection that speaks HTTP/2 without asking first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";
/// How long to wait for the rest of a preface that came in pieces.
const PREFACE_WAIT: Duration = Duration::from_millis(5);

/// Serves until the client is done, or until the gateway stops and open requests have ended. Errors
/// of the connection are the client's affair and are ignored.
pub(crate) async fn serve(
    shared: Arc<SharedState>,
    tunnels: Tunnels,
    socket: TcpStream,
    mut stop: StopSignal,
) {
    let live = shared.live();
    let limit = live.config.limits.header_time;
    if let Some(tls) = live.tls.clone() {
        drop(live);
        return Box::pin(serve_tls((shared, tunnels), tls, socket, stop)).await;
    }
    drop(live);
    let is_http2 = tokio::select! {
        is_http2 = tokio::time::timeout(limit, starts_http2(&socket)) => is_http2,
        _ = stop.changed() => return,
    };
    let Ok(Some(is_http2)) = is_http2 else {
        return;
    };
    let service = request_service(shared, tunnels);
    if is_http2 {
        return Box::pin(serve_http2(socket, service, stop)).await;
    }
    serve_http1(socket, service, limit, stop).await;
}

/// Answers the requests of one connection.
fn request_service(
    shared: Arc<SharedState>,
    tunnels: Tunnels,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
{
    service_fn(move |request: Request<Incoming>| {
        let (shared, tunnels) = (Arc::clone(&shared), tunnels.clone());
        // On the heap: it is needed only until the head of the reply is there.
        let handled = Box::pin(handle(shared, tunnels, request));
        async move { Ok::<_, Infallible>(handled.await) }
    })
}

/// Serves a client that connects with TLS, which says what version of HTTP it speaks.
async fn serve_tls(
    (shared, tunnels): (Arc<SharedState>, Tunnels),
    tls: TlsAcceptor,
    socket: TcpStream,
    mut stop: StopSignal,
) {
    let limit = shared.live().config.limits.header_time;
    let socket = tokio::select! {
        socket = tokio::time::timeout(limit, tls.accept(socket)) => socket,
        _ = stop.changed() => return,
    };
    let Ok(Ok(socket)) = socket else {
        return;
    };
    let is_http2 = socket.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = request_service(shared, tunnels);
    if is_http2 {
        serve_http2(socket, service, stop).await;
    } else {
        serve_http1(socket, service, limit, stop).await;
    }
}

async fn serve_http1<I, S>(socket: I, service: S, limit: Duration, mut stop: StopSignal)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
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

/// Serves the gateway's own paths, and nothing else.
pub(crate) async fn serve_admin(shared: Arc<SharedState>, socket: TcpStream, is_local: bool) {
    let limit = shared.live().config.limits.header_time;
    let tls = shared.live().tls.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let response = admin::respond(&shared, &request, is_local).await;
            Ok::<_, Infallible>(response.unwrap_or_else(admin::not_found))
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limit);
    match tls {
        None => {
            let _ = http.serve_connection(TokioIo::new(socket), service).await;
        }
        Some(tls) => {
            let Ok(Ok(socket)) = tokio::time::timeout(limit, tls.accept(socket)).await else {
                return;
            };
            if socket.get_ref().1.alpn_protocol() == Some(b"h2") {
                let http = http2::Builder::new(TokioExecutor::new());
                let _ = http.serve_connection(TokioIo::new(socket), service).await;
            } else {
                let _ = http.serve_connection(TokioIo::new(socket), service).await;
            }
        }
    }
}

async fn serve_http2<I, S>(socket: I, service: S, mut stop: StopSignal)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
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

/// Returns true if the client speaks HTTP/2, or `None` if it went away.
async fn starts_http2(socket: &TcpStream) -> Option<bool> {
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
        tokio::time::sleep(PREFACE_WAIT).await;
    }
}
