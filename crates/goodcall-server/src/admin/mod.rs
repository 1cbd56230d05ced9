//! A server's own paths, the same for both servers: health, readiness, metrics, and the page for
//! people with its data.

mod call_counters;
mod page;
mod quick_family;
mod readiness;
mod recent_requests;

use std::future::Future;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use prometheus_client::registry::Registry;
use sha2::{Digest, Sha256};

use crate::same_site::is_cross_site;

pub use call_counters::{CallCounters, CallSource, KnownNames, Labels, SharedName};
pub use page::PageData;
pub use quick_family::QuickFamily;
pub use readiness::Readiness;
pub use recent_requests::{
    KeptValues, MOST_REQUESTS, RecentCall, RecentCallNote, RecentEnd, RecentFigures,
    RecentQuestion, RecentRequest, RecentRequests,
};

const TEXT: &str = "text/plain; charset=utf-8";

/// A server, as far as its own paths show it.
pub trait AdminSource: Send + Sync {
    /// The token that clients of the page and the metrics must send.
    fn token(&self) -> Option<String>;
    /// Returns why the server cannot do its work.
    fn readiness(&self) -> impl Future<Output = Result<(), String>> + Send;
    /// The metrics, up to date.
    fn metrics(&self) -> &Registry;
    /// What the page shows of the requests after the one with the number `after`.
    fn requests(&self, after: u64) -> impl Future<Output = PageData> + Send;
}

/// Answers a request for one of a server's own paths. Returns `None` for all others. `reach` says who
/// can connect to the listener.
pub async fn answer_admin<B: Sync>(
    source: &impl AdminSource,
    request: &Request<B>,
    reach: AdminReach,
) -> Option<Response<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return None;
    }
    match request.uri().path() {
        "/healthz" => return Some(reply(StatusCode::OK, TEXT, "ok\n")),
        "/readyz" => {
            return Some(match source.readiness().await {
                Ok(()) => reply(StatusCode::OK, TEXT, "ready\n"),
                Err(reason) => {
                    let text = format!("{reason}\n");
                    reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, text)
                }
            });
        }
        "/metrics" | "/goodcall" | "/goodcall/" | "/goodcall/requests" => {}
        _ => return None,
    }
    if let Some(token) = source.token()
        && !has_token(request.headers(), &token)
    {
        return Some(unauthorized());
    }
    if reach == AdminReach::ThisMachine && is_cross_site(request.headers()) {
        let text = "requests of other sites' pages are refused\n";
        return Some(reply(StatusCode::FORBIDDEN, TEXT, text));
    }
    Some(match request.uri().path() {
        "/metrics" => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            reply(StatusCode::OK, kind, open_metrics(source.metrics()))
        }
        "/goodcall/requests" => {
            let query = request.uri().query();
            let after = query.and_then(|query| query.strip_prefix("after=")?.parse().ok());
            let data = source.requests(after.unwrap_or(0)).await;
            reply(StatusCode::OK, "application/json", data.to_json())
        }
        _ => page::page(),
    })
}

fn open_metrics(metrics: &Registry) -> String {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, metrics)
        .expect("writing into a string does not fail");
    text
}

/// Who can connect to the listener of a server's own paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminReach {
    /// Programs of this machine: the listener is on a loopback address.
    ThisMachine,
    /// Programs of other machines, too.
    OtherMachines,
}

impl AdminReach {
    /// Who can connect to this address.
    pub fn of(address: std::net::IpAddr) -> Self {
        if address.is_loopback() {
            AdminReach::ThisMachine
        } else {
            AdminReach::OtherMachines
        }
    }
}

/// The reply of an admin address to every other path.
pub fn admin_not_found() -> Response<Bytes> {
    let text = "this address has /goodcall, /metrics, /healthz and /readyz\n";
    reply(StatusCode::NOT_FOUND, TEXT, text)
}

fn reply(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

fn unauthorized() -> Response<Bytes> {
    let text = "the admin token is missing: send it as a bearer token or as a password\n";
    let mut response = reply(StatusCode::UNAUTHORIZED, TEXT, text);
    let challenge = HeaderValue::from_static("Basic realm=\"goodcall\", charset=\"UTF-8\"");
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// Returns true if a request has this token, as a bearer token or as a password.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let value = headers.get(header::AUTHORIZATION);
    let Some((scheme, sent)) = value.and_then(|value| value.to_str().ok()?.trim().split_once(' '))
    else {
        return false;
    };
    let sent = sent.trim();
    // Digests are compared, so that the time it takes says nothing about the token.
    let is_token = |sent: &[u8]| Sha256::digest(sent) == Sha256::digest(token);
    if scheme.eq_ignore_ascii_case("bearer") {
        return is_token(sent.as_bytes());
    }
    let decoded = BASE64_STANDARD.decode(sent).unwrap_or_default();
    let password = decoded.iter().position(|byte| *byte == b':');
    scheme.eq_ignore_ascii_case("basic")
        && password.is_some_and(|colon| is_token(&decoded[colon + 1..]))
}
