//! Decides which requests a listener takes: by token, host and origin, before anything is read.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use goodcall_server::{is_from_foreign_page, is_loopback_authority};
use reqwest::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN, VARY,
    WWW_AUTHENTICATE,
};
use reqwest::{Method, StatusCode};

use super::login_relay::is_for_browsers;
use super::responses::{plain, response};
use crate::options::ListenOptions;

/// Headers of a response that pages of allowed origins may read.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate";

/// The guard of a listener.
pub(crate) struct ListenGuard {
    address: SocketAddr,
    options: ListenOptions,
}

impl ListenGuard {
    pub(crate) fn new(address: SocketAddr, options: ListenOptions) -> Arc<Self> {
        Arc::new(Self { address, options })
    }

    /// The response to a request that is not taken.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(HOST).unwrap_or_default();
        let is_known = self.options.hosts.iter().any(|known| is_host(host, known));
        let takes_any = !self.address.ip().is_loopback() && self.options.hosts.is_empty();
        if !host.is_empty() && !takes_any && !is_known && !is_loopback_authority(host) {
            let text = "this name of the machine is not allowed: see --allow-host";
            return Some(plain(StatusCode::FORBIDDEN, text));
        }
        // A page that is served under the same name is not foreign.
        let is_own = |origin: &str| is_loopback_authority(origin) || origin == host;
        // A client in a browser may send its user here from any page.
        let leads_on = request.method() == Method::GET && is_for_browsers(request.uri().path());
        if !leads_on
            && self.allowed_origin(headers).is_none()
            && is_from_foreign_page(headers, is_own)
        {
            let text = "requests from pages of other sites are refused: see --allow-origin";
            return Some(plain(StatusCode::FORBIDDEN, text));
        }
        let token = self.options.token.as_deref()?;
        let sent = text(AUTHORIZATION).and_then(|value| value.split_once(' '));
        let is_right = sent.is_some_and(|(scheme, sent)| {
            scheme.eq_ignore_ascii_case("bearer") && is_same(sent.trim(), token)
        });
        if is_right {
            return None;
        }
        let mut refusal = plain(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
        let scheme = HeaderValue::from_static("Bearer");
        refusal.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        Some(refusal)
    }

    /// The origin of the page that makes a request, if the operator allows it.
    fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let allows = |known: &String| known == "*" || known.as_bytes() == origin.as_bytes();
        let is_allowed = self.options.origins.iter().any(allows);
        is_allowed.then(|| origin.clone())
    }

    /// The answer to the question of a browser whether a page may send a request.
    fn preflight(&self, headers: &HeaderMap) -> Option<Response> {
        let origin = self.allowed_origin(headers)?;
        let mut answer = HeaderMap::new();
        allow_page(&mut answer, origin);
        let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
        answer.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        Some(response(StatusCode::NO_CONTENT, answer, Body::empty()))
    }
}

/// Takes or refuses each request of a listener.
pub(crate) async fn guard(
    State(guard): State<Arc<ListenGuard>>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.method() == Method::OPTIONS
        && let Some(answer) = guard.preflight(request.headers())
    {
        return answer;
    }
    let origin = guard.allowed_origin(request.headers());
    let mut response = match guard.refusal(&request) {
        Some(refusal) => refusal,
        None => {
            if guard.options.token.is_some() {
                // It was for this listener, and must not reach the server.
                request.headers_mut().remove(AUTHORIZATION);
            }
            next.run(request).await
        }
    };
    if let Some(origin) = origin {
        allow_page(response.headers_mut(), origin);
    }
    response
}

fn allow_page(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed = HeaderValue::from_static(EXPOSED);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Returns true if the request asks for a stream of events. Browsers do not ask for one when they
/// load a picture or follow a link.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(ACCEPT).iter();
    let mut accepts = accepts.filter_map(|value| value.to_str().ok());
    accepts.any(|value| value.contains("text/event-stream"))
}

/// Returns true if the authority is this host, with any port if the host has none.
fn is_host(authority: &str, host: &str) -> bool {
    let name = authority
        .rsplit_once(':')
        .map_or(authority, |(name, _)| name);
    authority.eq_ignore_ascii_case(host) || name.eq_ignore_ascii_case(host)
}

/// Compares a secret in a time that does not depend on where the two differ.
fn is_same(sent: &str, secret: &str) -> bool {
    let pairs = sent.bytes().zip(secret.bytes());
    let difference = pairs.fold(0, |all, (a, b)| all | (a ^ b));
    sent.len() == secret.len() && difference == 0
}
