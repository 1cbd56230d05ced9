//! The page for people, and its data. The page is part of the binary and fetches nothing from
//! elsewhere.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::admin::reply;
use crate::proxy::{Body, SharedState};
use crate::recent_requests::MOST_REQUESTS;
#[cfg(feature = "store")]
use crate::store::Shared;

const PAGE: &str = include_str!("page.html");

/// Requests of its own that a gateway shows while the store that gateways share is away.
const OWN_REQUESTS: usize = 200;

/// Allows the page its own style, script and data, and nothing else.
static CONTENT_SECURITY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = |from: &str, to: &str| {
        let (_, rest) = PAGE.split_once(from).unwrap_or_default();
        let (text, _) = rest.split_once(to).unwrap_or_default();
        BASE64_STANDARD.encode(Sha256::digest(text))
    };
    let style = hash("<style>", "</style>");
    let script = hash("<script>", "</script>");
    let text = format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::try_from(text).expect("digests are plain text")
});

/// The page itself.
pub(crate) fn page() -> Response<Body> {
    let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY.clone());
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    response
}

/// The requests after the one that the query names, as JSON: those of all gateways where they share a
/// store.
pub(crate) async fn requests(shared: &SharedState, query: Option<&str>) -> Response<Body> {
    let after = query.and_then(|query| query.strip_prefix("after=")?.parse().ok());
    let after = after.unwrap_or(0);
    let data = page_data(shared, after).await;
    let text = format!(
        r#"{{"source":"{}","next":{},"active":{},"store":{},"requests":[{}]}}"#,
        data.source,
        data.next,
        shared.metrics.active(),
        data.store,
        data.requests.join(",")
    );
    reply(StatusCode::OK, "application/json", text)
}

struct PageData {
    /// Numbers are comparable only if this is the same.
    source: String,
    next: u64,
    /// What the page says about a shared store, as JSON.
    store: String,
    requests: Vec<String>,
}

async fn page_data(shared: &SharedState, after: u64) -> PageData {
    let own = &shared.recent_requests;
    #[cfg(feature = "store")]
    if let Some(store) = shared.live().store.clone()
        && let Some(found) = store.shared(after, MOST_REQUESTS).await
    {
        let (next, requests, is_away) = match found {
            Shared::Requests(next, requests) => (next, requests, false),
            Shared::Away => (after, own.since(0, OWN_REQUESTS).1, true),
        };
        let waiting = store.figures().waiting;
        return PageData {
            source: "shared".to_owned(),
            next,
            store: format!(r#"{{"away":{is_away},"waiting":{waiting}}}"#),
            requests,
        };
    }
    let (next, requests) = own.since(after, MOST_REQUESTS);
    PageData {
        source: own.name(),
        next,
        store: "null".to_owned(),
        requests,
    }
}
