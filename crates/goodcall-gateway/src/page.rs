//! The gateway's own paths: health, metrics, and the page for people with its data. The page is part
//! of the binary and fetches nothing from elsewhere.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use goodcall_server::is_cross_site;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};

use crate::proxy::{Body, SharedState, full};

const PAGE: &str = include_str!("page.html");
/// Allows the page its own styles, script and data, and nothing else.
const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Answers a request for one of the gateway's own paths. Returns `None` for all others.
pub(crate) fn respond(
    shared: &SharedState,
    uri: &Uri,
    headers: &HeaderMap,
) -> Option<Response<Body>> {
    let (kind, text) = match uri.path() {
        "/healthz" => ("text/plain; charset=utf-8", "ok\n".to_owned()),
        "/metrics" | "/goodcall" | "/goodcall/" | "/goodcall/calls"
            if shared.is_local.load(Ordering::Relaxed) && is_cross_site(headers) =>
        {
            let text = Bytes::from_static(b"requests of other sites' pages are refused\n");
            let mut response = Response::new(full(text));
            *response.status_mut() = StatusCode::FORBIDDEN;
            return Some(response);
        }
        "/metrics" => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            shared.metrics.text(),
        ),
        "/goodcall" | "/goodcall/" => ("text/html; charset=utf-8", PAGE.to_owned()),
        "/goodcall/calls" => {
            let query = uri.query();
            let after = query.and_then(|query| query.strip_prefix("after=")?.parse().ok());
            let active = shared.metrics.active();
            (
                "application/json",
                shared.recent_calls.json(after.unwrap_or(0), active),
            )
        }
        _ => return None,
    };
    let mut response = Response::new(full(Bytes::from(text)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(CONTENT_SECURITY),
    );
    Some(response)
}
