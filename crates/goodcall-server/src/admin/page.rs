//! The page for people, and its data. The page is part of the binary and fetches nothing from
//! elsewhere.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};

use super::reply;

const PAGE: &str = include_str!("page.html");

/// Allows the page its own style, script and data, and nothing else.
static CONTENT_SECURITY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = |from: &str, to: &str| {
        let rest = PAGE.split_once(from).map(|(_, rest)| rest);
        let text = rest.and_then(|rest| rest.split_once(to));
        let (text, _) = text.expect("the page has a style and a script");
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
pub(super) fn page() -> Response<Bytes> {
    let mut response = reply(StatusCode::OK, "text/html; charset=utf-8", PAGE);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY.clone());
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    response
}

/// What the page shows.
#[derive(Clone, Debug)]
pub struct PageData {
    /// The server that the page is about: `gateway` or `mcp`.
    pub server: &'static str,
    /// Who counts the requests: numbers are comparable only if this is the same.
    pub source: String,
    /// The number of the last request.
    pub next: u64,
    /// The requests under way, where they are counted.
    pub active: Option<i64>,
    /// What the page says about a shared store, as JSON.
    pub store: Option<String>,
    /// The requests, each as JSON.
    pub requests: Vec<String>,
}

impl PageData {
    pub(super) fn to_json(&self) -> String {
        let active = self.active.map(|active| active.to_string());
        format!(
            r#"{{"server":"{}","source":"{}","next":{},"active":{},"store":{},"requests":[{}]}}"#,
            self.server,
            self.source,
            self.next,
            active.as_deref().unwrap_or("null"),
            self.store.as_deref().unwrap_or("null"),
            self.requests.join(",")
        )
    }
}
