//! The gateway's own paths: health, readiness, metrics, and the page for people with its data.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use goodcall_server::is_cross_site;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use sha2::{Digest, Sha256};

use crate::page;
use crate::proxy::{Body, SharedState, full};

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers a request for one of the gateway's own paths. Returns `None` for all others. `is_local`
/// says whether the listener is on a loopback address.
pub(crate) async fn respond<B>(
    shared: &SharedState,
    request: &Request<B>,
    is_local: bool,
) -> Option<Response<Body>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return None;
    }
    let live = shared.live();
    match request.uri().path() {
        "/healthz" => return Some(reply(StatusCode::OK, TEXT, "ok\n")),
        "/readyz" => {
            return Some(match shared.readiness.check(shared, &live).await {
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
    if let Some(token) = &live.config.admin.token
        && !has_token(request.headers(), token)
    {
        return Some(unauthorized());
    }
    if is_local && is_cross_site(request.headers()) {
        let text = "requests of other sites' pages are refused\n";
        return Some(reply(StatusCode::FORBIDDEN, TEXT, text));
    }
    Some(match request.uri().path() {
        "/metrics" => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            #[cfg(feature = "store")]
            shared
                .metrics
                .set_store(live.store.as_ref().map(|store| store.figures()));
            reply(StatusCode::OK, kind, shared.metrics.text())
        }
        "/goodcall/requests" => page::requests(shared, request.uri().query()).await,
        _ => page::page(),
    })
}

/// The reply of the admin address to every other path.
pub(crate) fn not_found() -> Response<Body> {
    let text = "this address has /goodcall, /metrics, /healthz and /readyz\n";
    reply(StatusCode::NOT_FOUND, TEXT, text)
}

/// Makes a reply of the gateway's own.
pub(crate) fn reply(
    status: StatusCode,
    kind: &'static str,
    text: impl Into<Bytes>,
) -> Response<Body> {
    let mut response = Response::new(full(text.into()));
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

fn unauthorized() -> Response<Body> {
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
