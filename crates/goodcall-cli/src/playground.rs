//! `goodcall playground`: a page on this machine that judges what is typed into it.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use goodcall_audit::{playground_answer, playground_page};
use goodcall_server::{is_cross_site, listen_address};

use crate::{CliError, runtime};

/// Bytes of a question.
const MOST_BYTES: usize = 4 << 20;

/// Allows the page its own styles, script and questions, and nothing else.
const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// Open a page that shows what becomes of a call: verdicts of all policies, texts of all styles.
///
/// The page is served on this machine only. What is typed into it is judged here, and is kept in the
/// link that it makes, not in a file.
#[derive(clap::Args)]
pub(crate) struct PlaygroundArgs {
    /// The address to serve, on this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8790", value_parser = listen_address)]
    listen: SocketAddr,
}

pub(crate) fn run(args: &PlaygroundArgs) -> Result<bool, CliError> {
    if !args.listen.ip().is_loopback() {
        return Err(format!(
            "{}: the playground is for this machine: use a loopback address, such as 127.0.0.1:8790",
            args.listen
        ));
    }
    runtime()?.block_on(serve(args.listen))
}

async fn serve(address: SocketAddr) -> Result<bool, CliError> {
    let failure = |error: std::io::Error| format!("{address}: {error}");
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(failure)?;
    let bound = listener.local_addr().map_err(failure)?;
    anstream::println!("the playground is at http://{bound}/");
    let routes = Router::new()
        .route("/", get(|| async { Html(playground_page()) }))
        .route("/judge", post(judge))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(middleware::from_fn(guard));
    let served = axum::serve(listener, routes).with_graceful_shutdown(async {
        // Without signals it runs until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    });
    served.await.map_err(failure)?;
    Ok(true)
}

/// Judges a call. That takes a moment only, and one person asks.
async fn judge(question: Bytes) -> Response {
    let Ok(text) = std::str::from_utf8(&question) else {
        return (StatusCode::BAD_REQUEST, "the question is not UTF-8").into_response();
    };
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], playground_answer(text)).into_response()
}

/// Refuses requests that a browser makes for a page of another site.
async fn guard(request: Request, next: Next) -> Response {
    if is_cross_site(request.headers()) {
        let text = "requests of other sites' pages are refused\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let policy = HeaderValue::from_static(CONTENT_SECURITY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    let options = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, options);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
