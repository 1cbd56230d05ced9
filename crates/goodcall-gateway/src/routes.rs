//! Routes: several upstreams behind one address, by the beginning of the path or by the host.

use std::sync::Arc;

use http::header::HOST;
use http::uri::PathAndQuery;
use http::{Request, Uri};

use crate::config::{GatewayConfig, GatewayConfigError};
use crate::error_reply::ErrorReply;
use crate::proxy::LiveState;
use crate::request_record::RequestRecord;

/// A route to an upstream of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RouteConfig {
    /// The name in the log and the metrics.
    pub name: String,
    /// The beginning of the paths that it takes, such as `/openai`; the upstream does not see it.
    pub prefix: Option<String>,
    /// The host that it takes, without a port.
    pub host: Option<String>,
    /// The settings of its requests. Those of the listener, the log and the store are not used.
    pub config: GatewayConfig,
}

impl RouteConfig {
    /// Returns a route that takes the paths below a prefix.
    pub fn new(name: &str, prefix: &str, config: GatewayConfig) -> Self {
        Self {
            name: name.to_owned(),
            prefix: Some(prefix.to_owned()),
            host: None,
            config,
        }
    }
}

/// A route with what was made from its settings.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: Arc<str>,
    /// Without a slash at its end; empty if the route takes every path.
    prefix: String,
    host: Option<String>,
    pub(crate) live: Arc<LiveState>,
}

impl Route {
    pub(crate) fn new(
        config: &RouteConfig,
        live: Arc<LiveState>,
    ) -> Result<Self, GatewayConfigError> {
        let name = &config.name;
        let prefix = config.prefix.as_deref().unwrap_or_default();
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() && !prefix.starts_with('/') {
            return Err(GatewayConfigError::new(format!(
                "routes.{name}: the prefix `{prefix}` does not begin with a slash"
            )));
        }
        if prefix.is_empty() && config.host.is_none() {
            return Err(GatewayConfigError::new(format!(
                "routes.{name}: expected a prefix such as `/{name}`, or a host"
            )));
        }
        Ok(Self {
            name: name.as_str().into(),
            prefix: prefix.to_owned(),
            host: config.host.as_ref().map(|host| host.to_ascii_lowercase()),
            live,
        })
    }

    fn takes(&self, path: &str, host: &str) -> bool {
        let fits_host = self.host.as_ref().is_none_or(|own| own == host);
        fits_host && rest(path, &self.prefix).is_some()
    }
}

/// Sorts routes so that the first one that takes a request is the closest: one with a host before
/// one without, and a longer prefix before a shorter one.
pub(crate) fn sort(routes: &mut [Route]) {
    routes.sort_by_key(|route| {
        let length = route.prefix.len();
        (route.host.is_none(), std::cmp::Reverse(length))
    });
}

/// Finds out who sends a request, and which upstream it is for.
pub(crate) fn admit<B>(
    live: Arc<LiveState>,
    request: &mut Request<B>,
    record: &mut RequestRecord,
) -> Result<Arc<LiveState>, ErrorReply> {
    if let Some(clients) = &live.clients {
        let name = clients.find(request.headers_mut());
        record.exchange.origin.client = Some(name.ok_or(ErrorReply::ClientUnknown)?);
    }
    if let Some(route) = enter(&live.routes, request) {
        record.exchange.origin.route = Some(Arc::clone(&route.name));
        return Ok(Arc::clone(&route.live));
    }
    if live.config.upstream.takes_rest {
        Ok(live)
    } else {
        Err(ErrorReply::NoRoute)
    }
}

/// Finds the route of a request, and takes its prefix off the path.
fn enter<'r, B>(routes: &'r [Route], request: &mut Request<B>) -> Option<&'r Route> {
    if routes.is_empty() {
        return None;
    }
    let host = host(request);
    let path = request.uri().path();
    let route = routes.iter().find(|route| route.takes(path, &host))?;
    let inner = rest(path, &route.prefix)?;
    let inner = match request.uri().query() {
        Some(query) => format!("{inner}?{query}"),
        None => inner.to_owned(),
    };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(inner.parse::<PathAndQuery>().ok()?);
    *request.uri_mut() = Uri::from_parts(parts).ok()?;
    Some(route)
}

/// The host that a client asks for, in lower case and without a port.
fn host<B>(request: &Request<B>) -> String {
    let header = request.headers().get(HOST);
    let header = header.and_then(|value| value.to_str().ok());
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let host = authority.or(header).unwrap_or_default();
    let end = match host.strip_prefix('[') {
        Some(inner) => inner.find(']').map_or(host.len(), |end| end + 2),
        None => host.find(':').unwrap_or(host.len()),
    };
    host[..end].to_ascii_lowercase()
}

/// Returns what follows a prefix; a slash for nothing. `None` if the path is not below it.
fn rest<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}
