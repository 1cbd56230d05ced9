//! The connections to the model provider.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::config::{GatewayConfig, GatewayConfigError};
use crate::error_reply::{ErrorReply, UpstreamError};
use crate::network_proxy::{HopConnector, ProxyHop};
use crate::proxy::{Body, full};
use crate::reused_connection::{RememberingConnector, note_answer, was_closed_while_idle};
use crate::{client_tls, workers};

/// Idle connections to the upstream that are kept open, per worker.
const IDLE_CONNECTIONS: usize = 1024;

/// The most bytes of the head of an HTTP/1.1 reply. Proxies add cookies, policies and headers of
/// their own, so heads of several kilobytes are common.
const MOST_HEAD_BYTES: usize = 64 << 10;

/// Sends requests to the upstream over pooled connections.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// One for each worker, so that no connection is shared between threads.
    clients: Vec<Client<RememberingConnector, Body>>,
    /// For requests that switch protocols, which only HTTP/1.1 can.
    upgrades: Client<RememberingConnector, Body>,
    scheme: Scheme,
    authority: Authority,
    prefix: PathPrefix,
    hop: Option<ProxyHop>,
    /// What every request has in place of the client's.
    headers: HeaderMap,
}

/// The path of the upstream's URL, without a slash at its end.
#[derive(Debug)]
struct PathPrefix(String);

impl PathPrefix {
    /// Returns the prefix for a path. A version such as `v1` that both name is named once, so an
    /// upstream may be written with it or without.
    fn before(&self, path: &str) -> &str {
        let Some((rest, last)) = self.0.rsplit_once('/') else {
            return &self.0;
        };
        let is_version = last
            .strip_prefix('v')
            .is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()));
        let first = path.split(['/', '?']).nth(1);
        if is_version && first == Some(last) {
            rest
        } else {
            &self.0
        }
    }
}

impl Upstream {
    pub(crate) fn new(config: &GatewayConfig) -> Result<Self, GatewayConfigError> {
        let parts = config.upstream.url.clone().into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(GatewayConfigError::new("the upstream has no host"));
        };
        let path = parts.path_and_query.map(|path| path.path().to_owned());
        let prefix = PathPrefix(path.unwrap_or_default().trim_end_matches('/').to_owned());
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(config.limits.connect_time));
        http.set_keepalive(Some(Duration::from_secs(60)));
        let tls = tls(config)?;
        let hop = ProxyHop::find(&config.upstream)?;
        let http = HopConnector::new(http, hop.as_ref());
        let remembering = |connector| RememberingConnector {
            connector,
            is_forwarded: hop.as_ref().is_some_and(|hop| hop.forwards),
        };
        let upgrades = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(http.clone());
        let upgrades = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(remembering(upgrades));
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(http);
        let connector = remembering(connector);
        let client = || {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(30))
                .pool_max_idle_per_host(IDLE_CONNECTIONS)
                .http1_max_buf_size(MOST_HEAD_BYTES)
                .build(connector.clone())
        };
        Ok(Self {
            clients: (0..config.listener.threads.max(1))
                .map(|_| client())
                .collect(),
            upgrades,
            scheme,
            authority,
            prefix,
            hop,
            headers: own_headers(&config.upstream.headers)?,
        })
    }

    /// The host and the port.
    pub(crate) fn address(&self) -> (&str, u16) {
        let host = self.authority.host();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let usual = if self.scheme == Scheme::HTTPS {
            443
        } else {
            80
        };
        (host, self.authority.port_u16().unwrap_or(usual))
    }

    /// The host and the port that connections are opened to.
    pub(crate) fn first_hop(&self) -> (&str, u16) {
        let hop = self.hop.as_ref().map(ProxyHop::address);
        hop.unwrap_or_else(|| self.address())
    }

    /// Adds the headers that every request to the upstream has.
    fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        if let Some(value) = self.hop.as_ref().and_then(ProxyHop::authorization) {
            headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
    }

    fn client(&self) -> &Client<RememberingConnector, Body> {
        // There is at least one client.
        &self.clients[workers::current_worker() % self.clients.len()]
    }

    /// Returns the URL of a path, which shares the path's memory.
    fn uri(&self, path: &PathAndQuery) -> Option<Uri> {
        let path = match self.prefix.before(path.as_str()) {
            "" => path.clone(),
            prefix => format!("{prefix}{path}").parse().ok()?,
        };
        let uri = Uri::builder().scheme(self.scheme.clone());
        let uri = uri.authority(self.authority.clone()).path_and_query(path);
        uri.build().ok()
    }

    /// Makes a request for the upstream from a client's head and a body.
    pub(crate) fn request(
        &self,
        parts: Parts,
        path: &PathAndQuery,
        body: Body,
    ) -> Result<Request<Body>, UpstreamError> {
        let mut request = Request::new(body);
        *request.method_mut() = parts.method;
        *request.uri_mut() = self.uri(path).ok_or(ErrorReply::RequestBroken)?;
        *request.headers_mut() = parts.headers;
        self.add_headers(request.headers_mut());
        Ok(request)
    }

    /// Sends a request, and waits for the head of its reply.
    pub(crate) async fn send(
        &self,
        request: Request<Body>,
        limit: Duration,
    ) -> Result<Response<Incoming>, UpstreamError> {
        self.head(limit, self.client().request(request)).await
    }

    /// Sends a request that asks to switch protocols, and waits for the head of its reply.
    pub(crate) async fn upgrade(
        &self,
        request: Request<Body>,
        limit: Duration,
    ) -> Result<Response<Incoming>, UpstreamError> {
        self.head(limit, self.upgrades.request(request)).await
    }

    async fn head(
        &self,
        limit: Duration,
        reply: ResponseFuture,
    ) -> Result<Response<Incoming>, UpstreamError> {
        match tokio::time::timeout(limit, reply).await {
            Ok(Ok(response)) => {
                note_answer(response.extensions());
                Ok(response)
            }
            Ok(Err(error)) => Err(self.failure(&error)),
            Err(_) => Err(ErrorReply::UpstreamTimeout.into()),
        }
    }

    fn failure(&self, error: &legacy::Error) -> UpstreamError {
        let reply = if error.is_connect() {
            ErrorReply::UpstreamUnreachable
        } else {
            ErrorReply::UpstreamBroken
        };
        UpstreamError {
            reply,
            cause: Some(format!("{}: {}", self.authority, with_sources(error))),
            was_idle: was_closed_while_idle(error),
        }
    }
}

fn own_headers(pairs: &[(String, String)]) -> Result<HeaderMap, GatewayConfigError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let subject = format!("headers.{name}");
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|error| GatewayConfigError::caused(&subject, error))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|error| GatewayConfigError::caused(&subject, error))?;
        // It may be a provider's key.
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Renders an error with its chain of sources.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

fn tls(config: &GatewayConfig) -> Result<rustls::ClientConfig, GatewayConfigError> {
    let roots = if config.upstream.url.scheme() == Some(&Scheme::HTTPS) {
        client_tls::trusted(config.upstream.ca.as_deref(), "--upstream-ca")?
    } else {
        rustls::RootCertStore::empty()
    };
    client_tls::client(roots)
}

/// The head of a request that may be sent again. It holds nothing of the buffer that it was read
/// into.
#[derive(Clone, Debug)]
pub(crate) struct RepeatableRequest {
    method: Method,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    limit: Duration,
}

impl RepeatableRequest {
    /// Copies a head. Returns `None` if its path does not fit the upstream's URL.
    pub(crate) fn new(upstream: &Upstream, parts: &Parts, limit: Duration) -> Option<Self> {
        let size = parts.headers.values().map(HeaderValue::len).sum();
        let mut all = BytesMut::with_capacity(size);
        for value in parts.headers.values() {
            all.extend_from_slice(value.as_bytes());
        }
        let mut all = all.freeze();
        let mut headers = Vec::with_capacity(parts.headers.len());
        for (name, value) in &parts.headers {
            let mut copy = HeaderValue::from_maybe_shared(all.split_to(value.len())).ok()?;
            copy.set_sensitive(value.is_sensitive());
            headers.push((name.clone(), copy));
        }
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = Bytes::copy_from_slice(path.as_bytes());
        let path = PathAndQuery::from_maybe_shared(path).ok()?;
        Some(Self {
            method: parts.method.clone(),
            uri: upstream.uri(&path)?,
            headers,
            limit,
        })
    }

    /// Makes this the head of a re-ask, which is another request and no repetition of the first:
    /// it has no idempotency key, and a limit of its own.
    pub(crate) fn prepare_reask(&mut self, limit: Duration) {
        self.headers.retain(|(name, _)| name != "idempotency-key");
        self.limit = self.limit.min(limit);
    }

    /// Sends the request with this body, and waits for the head of its reply. A pooled connection
    /// that the upstream has just closed is replaced, once.
    pub(crate) async fn send(
        &self,
        upstream: &Upstream,
        body: Bytes,
    ) -> Result<Response<Incoming>, UpstreamError> {
        match self.send_once(upstream, body.clone()).await {
            Err(error) if error.was_idle => self.send_once(upstream, body).await,
            reply => reply,
        }
    }

    async fn send_once(
        &self,
        upstream: &Upstream,
        body: Bytes,
    ) -> Result<Response<Incoming>, UpstreamError> {
        let mut request = Request::new(full(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        // hyper adds the host and the length.
        headers.reserve(self.headers.len() + 2);
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        upstream.add_headers(headers);
        let reply = upstream.client().request(request);
        upstream.head(self.limit, reply).await
    }
}
