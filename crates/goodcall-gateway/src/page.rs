//! The page for people, and its data. The page is part of the binary and fetches nothing from
//! elsewhere.

use http::{HeaderValue, Response, StatusCode, header};

use crate::admin::reply;
use crate::proxy::{Body, SharedState};

const PAGE: &str = include_str!("page.html");
/// Allows the page its own styles, script and data, and nothing else.
const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The page itself.
pub(crate) fn page() -> Response<Body> {
    let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    response.headers_mut().insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(CONTENT_SECURITY),
    );
    response
}

/// The calls after the one that the query names, as JSON.
pub(crate) fn calls(shared: &SharedState, query: Option<&str>) -> Response<Body> {
    let after = query.and_then(|query| query.strip_prefix("after=")?.parse().ok());
    let active = shared.metrics.active();
    let text = shared.recent_calls.json(after.unwrap_or(0), active);
    reply(StatusCode::OK, "application/json", text)
}
