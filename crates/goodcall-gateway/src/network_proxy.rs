//! The proxy of a network that has no other way out: `HTTPS_PROXY`, or one from the settings.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::config::{GatewayConfigError, NetworkProxy, UpstreamConfig};
use crate::proxy::BoxError;

/// The proxy between the gateway and an upstream.
#[derive(Clone, Debug)]
pub(crate) struct ProxyHop {
    uri: Uri,
    auth: Option<HeaderValue>,
    /// True if requests are sent to the proxy itself, because the upstream has no TLS. A tunnel leads
    /// to one that has.
    pub(crate) forwards: bool,
}

impl ProxyHop {
    /// Returns the proxy on the way to an upstream, if there is one.
    pub(crate) fn find(upstream: &UpstreamConfig) -> Result<Option<Self>, GatewayConfigError> {
        let url = &upstream.url;
        let found = match &upstream.proxy {
            NetworkProxy::None => None,
            NetworkProxy::Url(proxy) => {
                let found = Matcher::builder().all(proxy.as_str()).build();
                let found = found.intercept(url);
                if found.is_none() {
                    return Err(unusable(proxy));
                }
                found
            }
            // What runs on the same machine is not behind a proxy.
            NetworkProxy::Environment if is_loopback(url) => None,
            NetworkProxy::Environment => Matcher::from_env().intercept(url),
        };
        found.map(|found| Self::new(&found, url)).transpose()
    }

    fn new(found: &Intercept, upstream: &Uri) -> Result<Self, GatewayConfigError> {
        let uri = found.uri();
        if uri.scheme_str() != Some("http") {
            return Err(unusable(&uri.to_string()));
        }
        Ok(Self {
            uri: uri.clone(),
            auth: found.basic_auth().cloned(),
            forwards: upstream.scheme_str() == Some("http"),
        })
    }

    /// The host and the port of the proxy.
    pub(crate) fn address(&self) -> (&str, u16) {
        let host = self.uri.host();
        let host = host.expect("a URL with a scheme has a host");
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host, self.uri.port_u16().unwrap_or(80))
    }

    /// What requests must carry that are sent to the proxy itself.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.auth.as_ref().filter(|_| self.forwards)
    }
}

fn unusable(proxy: &str) -> GatewayConfigError {
    // Behind an `@`, so that no password is shown.
    let shown = proxy.rsplit_once('@').map_or(proxy, |(_, shown)| shown);
    GatewayConfigError::new(format!(
        "the proxy `{shown}` cannot be used: expected a URL such as http://proxy.example:3128"
    ))
}

fn is_loopback(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    goodcall_server::is_loopback_authority(host)
}

/// Opens connections to the upstream, directly or through a proxy.
#[derive(Clone, Debug)]
pub(crate) enum HopConnector {
    Direct(HttpConnector),
    Tunnel(Tunnel<HttpConnector>),
    Forward(HttpConnector, Uri),
}

impl HopConnector {
    pub(crate) fn new(http: HttpConnector, hop: Option<&ProxyHop>) -> Self {
        match hop {
            None => HopConnector::Direct(http),
            Some(hop) if hop.forwards => HopConnector::Forward(http, hop.uri.clone()),
            Some(hop) => {
                let tunnel = Tunnel::new(hop.uri.clone(), http);
                HopConnector::Tunnel(match &hop.auth {
                    Some(auth) => tunnel.with_auth(auth.clone()),
                    None => tunnel,
                })
            }
        }
    }
}

impl Service<Uri> for HopConnector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            HopConnector::Direct(http) | HopConnector::Forward(http, _) => {
                http.poll_ready(cx).map_err(BoxError::from)
            }
            HopConnector::Tunnel(tunnel) => tunnel.poll_ready(cx).map_err(BoxError::from),
        }
    }

    fn call(&mut self, upstream: Uri) -> Self::Future {
        match self {
            HopConnector::Direct(http) => {
                let opening = http.call(upstream);
                Box::pin(async move { Ok(opening.await?) })
            }
            HopConnector::Forward(http, proxy) => {
                let opening = http.call(proxy.clone());
                Box::pin(async move { Ok(opening.await?) })
            }
            HopConnector::Tunnel(tunnel) => {
                let opening = tunnel.call(upstream);
                Box::pin(async move { Ok(opening.await?) })
            }
        }
    }
}
