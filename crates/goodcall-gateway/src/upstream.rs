//! The connection to the model provider.

use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::config::{GatewayConfig, GatewayConfigError};
use crate::error::{NoReply, Refusal};
use crate::proxy::{Body, full};
use crate::workers;

/// Idle connections to the upstream that are kept.
const IDLE_CONNECTIONS: usize = 1024;

/// Bytes that are read at once from a connection in HTTP/1.1. A stream comes in small pieces, and
/// thousands of connections that wait for the next one have such a buffer each.
const READ_AT_ONCE: usize = 2 << 10;

/// Sends requests to the upstream, over connections that are kept.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// One for each worker, so that no connection is shared between threads.
    clients: Vec<Client<HttpsConnector<HttpConnector>, Body>>,
    /// For connections that become something else, which HTTP/1.1 alone knows.
    upgrades: Client<HttpsConnector<HttpConnector>, Body>,
    scheme: Scheme,
    authority: Authority,
    /// The path of the upstream's URL, without a slash at its end.
    prefix: String,
}

impl Upstream {
    pub(crate) fn new(config: &GatewayConfig) -> Result<Self, GatewayConfigError> {
        let parts = config.upstream.clone().into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(GatewayConfigError::new("the upstream names no host"));
        };
        let path = parts.path_and_query.map(|path| path.path().to_owned());
        let prefix = path.unwrap_or_default().trim_end_matches('/').to_owned();
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(config.limits.connect_time));
        http.set_keepalive(Some(Duration::from_secs(60)));
        let tls = tls(config)?;
        let upgrades = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(http.clone());
        let upgrades = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(upgrades);
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(http);
        let client = || {
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(Duration::from_secs(30))
                .pool_max_idle_per_host(IDLE_CONNECTIONS)
                .http1_read_buf_exact_size(READ_AT_ONCE)
                .build(connector.clone())
        };
        Ok(Self {
            clients: (0..config.threads.max(1)).map(|_| client()).collect(),
            upgrades,
            scheme,
            authority,
            prefix,
        })
    }

    fn client(&self) -> &Client<HttpsConnector<HttpConnector>, Body> {
        // Made with at least one.
        &self.clients[workers::here() % self.clients.len()]
    }

    /// The same, on memory of its own.
    fn uri_of(&self, path: &str) -> Option<Uri> {
        let (scheme, authority, prefix) = (&self.scheme, &self.authority, &self.prefix);
        let uri = format!("{scheme}://{authority}{prefix}{path}");
        Uri::from_maybe_shared(Bytes::from(uri)).ok()
    }

    /// Where a request for this path goes.
    fn uri(&self, path: &PathAndQuery) -> Option<Uri> {
        let path = match self.prefix.as_str() {
            "" => path.clone(),
            prefix => format!("{prefix}{path}").parse().ok()?,
        };
        let uri = Uri::builder().scheme(self.scheme.clone());
        let uri = uri.authority(self.authority.clone()).path_and_query(path);
        uri.build().ok()
    }

    /// A request of this head and body, as the upstream gets it.
    pub(crate) fn request(
        &self,
        parts: Parts,
        path: &PathAndQuery,
        body: Body,
    ) -> Result<Request<Body>, NoReply> {
        let mut request = Request::new(body);
        *request.method_mut() = parts.method;
        *request.uri_mut() = self.uri(path).ok_or(Refusal::Broken)?;
        *request.headers_mut() = parts.headers;
        Ok(request)
    }

    /// Sends a request, and waits for the head of its reply.
    pub(crate) async fn send(
        &self,
        request: Request<Body>,
        limit: Duration,
    ) -> Result<Response<Incoming>, NoReply> {
        self.head(limit, self.client().request(request)).await
    }

    /// The same for a request whose connection is to become something else.
    pub(crate) async fn upgrade(
        &self,
        request: Request<Body>,
        limit: Duration,
    ) -> Result<Response<Incoming>, NoReply> {
        self.head(limit, self.upgrades.request(request)).await
    }

    async fn head(
        &self,
        limit: Duration,
        reply: ResponseFuture,
    ) -> Result<Response<Incoming>, NoReply> {
        match tokio::time::timeout(limit, reply).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => Err(NoReply {
                refusal: Refusal::Unreachable,
                cause: Some(format!("{}: {}", self.authority, causes(&error))),
            }),
            Ok(Err(_)) => Err(Refusal::BrokenReply.into()),
            Err(_) => Err(Refusal::NoReply.into()),
        }
    }
}

/// An error with all that led to it.
fn causes(error: &dyn std::error::Error) -> String {
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
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| GatewayConfigError::caused("TLS cannot be used", error))?;
    let mut roots = rustls::RootCertStore::empty();
    if config.upstream.scheme() == Some(&Scheme::HTTPS) {
        let own = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(own.certs);
        if let Some(path) = &config.upstream_ca {
            roots.add_parsable_certificates(certificates(path)?);
        }
        if roots.is_empty() {
            return Err(GatewayConfigError::new(
                "no certificate is trusted here: install the system's, or name a PEM file",
            ));
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, GatewayConfigError> {
    let subject = format!("{}: no certificates", path.display());
    let pem = std::fs::read(path).map_err(|error| GatewayConfigError::caused(&subject, error))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(GatewayConfigError::new(format!(
            "{subject}: the file has none"
        ))),
        Err(error) => Err(GatewayConfigError::caused(&subject, error)),
    }
}

/// A request that can be sent again: its head, and how long its reply may take. It holds nothing of
/// the buffer that it was read into.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    method: Method,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    limit: Duration,
}

impl Asked {
    /// `None` if it cannot be sent there.
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
        Some(Self {
            method: parts.method.clone(),
            uri: upstream.uri_of(path)?,
            headers,
            limit,
        })
    }

    /// Another question is no repetition of the first.
    pub(crate) fn is_new(&mut self) {
        self.headers.retain(|(name, _)| name != "idempotency-key");
    }

    /// Sends it with this body.
    pub(crate) async fn send(
        &self,
        upstream: &Upstream,
        body: Bytes,
    ) -> Result<Response<Incoming>, NoReply> {
        let mut request = Request::new(full(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        // The host and the length come to it.
        headers.reserve(self.headers.len() + 2);
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        let reply = upstream.client().request(request);
        upstream.head(self.limit, reply).await
    }
}
