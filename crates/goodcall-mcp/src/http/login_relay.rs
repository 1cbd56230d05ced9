//! Stands in for the authorization server of a server behind a URL.
//!
//! A client asks for tokens for the address that it knows, which is the listener's, and many servers
//! take only tokens for their own. So the metadata name the listener as the authorization server,
//! and the two requests that name the resource come here: the browser is sent on, and the request for a
//! token is forwarded, both with the address of the server in place of the listener's. The client is
//! registered with the real authorization server, which knows it and the place to which it returns.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use goodcall_core::stable_hash;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    REFERRER_POLICY, USER_AGENT, WWW_AUTHENTICATE,
};
use reqwest::{Client, Method, StatusCode, Url};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::login::OwnOrigin;
use super::response_reader::read_whole;
use super::responses::{self, plain, read_body, response};
use super::upstream::Upstream;
use crate::json_span::{JsonSpan, splice};
use crate::login::discovery::{
    Challenge, DOCUMENT_LIMIT, MAX_DOCUMENT, ResourceMetadata, SERVER_METADATA, ServerMetadata,
    resource_metadata, server_metadata,
};
use crate::login::http_client;

/// The path below which a listener stands in for authorization servers.
const PATH: &str = "/login/";
const AUTHORIZE: &str = "authorize";
const TOKEN: &str = "token";
/// Authorization servers of one server that are looked at, and that are remembered.
const MAX_ISSUERS: usize = 4;
const MAX_KNOWN: usize = 16;

/// Returns true for the address to which a client sends the user's browser. It only leads on to the
/// authorization server, so it does not matter which page the browser comes from.
pub(crate) fn is_authorize_path(path: &str) -> bool {
    path.strip_prefix(PATH)
        .is_some_and(|rest| rest.ends_with(AUTHORIZE))
}

/// The authorization servers for which a listener stands in.
pub(crate) struct LoginRelay {
    client: Client,
    known: Mutex<HashMap<String, Arc<RelayedIssuer>>>,
}

/// An authorization server for which the listener stands in.
struct RelayedIssuer {
    metadata: ServerMetadata,
    document: Map<String, Value>,
    /// The resource that tokens are for.
    resource: String,
}

impl LoginRelay {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            client: http_client().map_err(io::Error::other)?,
            known: Mutex::default(),
        })
    }

    /// Lets the metadata of the server name the listener in place of its authorization servers,
    /// where it can stand in for them. `body` names the listener as the resource already.
    pub(crate) async fn rewrite(
        &self,
        own: &OwnOrigin,
        original: &[u8],
        body: Vec<u8>,
        server: &Url,
    ) -> Vec<u8> {
        let Ok(metadata) = serde_json::from_slice::<ResourceMetadata>(original) else {
            return body;
        };
        let keys = self.relayed(&metadata, server).await;
        let pairs = metadata.authorization_servers.iter().zip(keys);
        let named: Vec<_> = pairs
            .map(|(issuer, key)| match key {
                Some(key) => own.at(&format!("{PATH}{key}")),
                None => issuer.clone(),
            })
            .collect();
        let document = JsonSpan::document(&body);
        let Some(place) = document.get("authorization_servers") else {
            return body;
        };
        let named = json!(named).to_string();
        splice(&body, vec![(place.range(), named)])
    }

    /// The keys of the authorization servers of a server, in their order; `None` for those that
    /// clients must talk to themselves.
    async fn relayed(&self, metadata: &ResourceMetadata, server: &Url) -> Vec<Option<String>> {
        let mut keys = Vec::new();
        for (index, issuer) in metadata.authorization_servers.iter().enumerate() {
            let found = match index {
                0..MAX_ISSUERS => server_metadata(&self.client, issuer).await,
                _ => Ok(None),
            };
            let found = found.ok().flatten();
            let relayed = found.filter(|(about, _)| can_relay(about, server));
            keys.push(relayed.map(|(about, document)| {
                let key = format!("{:016x}", stable_hash(issuer.bytes()));
                let relayed = RelayedIssuer {
                    metadata: about,
                    document,
                    resource: metadata.resource.clone(),
                };
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                if known.len() >= MAX_KNOWN {
                    known.clear();
                }
                known.insert(key.clone(), Arc::new(relayed));
                key
            }));
        }
        keys
    }

    /// The authorization server with this key. A client may know it from before this listener was
    /// started: then the server is asked for its metadata.
    async fn issuer(&self, key: &str, upstream: &Upstream) -> Option<Arc<RelayedIssuer>> {
        let known = || {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(key).cloned()
        };
        if let Some(issuer) = known() {
            return Some(issuer);
        }
        let challenge = Challenge::ask(upstream).await.ok()?;
        let server = upstream.url();
        let found = resource_metadata(&self.client, server, &challenge).await;
        self.relayed(&found.ok()??, server).await;
        known()
    }

    /// Answers a request to the authorization server for which the listener stands in; `None` if the
    /// path is another one.
    pub(crate) async fn answer(
        &self,
        parts: &Parts,
        body: Body,
        upstream: &Upstream,
    ) -> Option<Response> {
        let own = OwnOrigin::of(&parts.headers)?;
        let path = parts.uri.path();
        let about = path.strip_prefix(SERVER_METADATA);
        let (key, what) = match about.and_then(|rest| rest.strip_prefix(PATH)) {
            Some(key) => (key, ""),
            None => path.strip_prefix(PATH)?.split_once('/')?,
        };
        let Some(issuer) = self.issuer(key, upstream).await else {
            return Some(plain(StatusCode::NOT_FOUND, "there is no such login"));
        };
        let query = parts.uri.query().unwrap_or_default();
        match (&parts.method, what) {
            (&Method::GET, "") => Some(issuer.about(key, &own)),
            (&Method::GET, AUTHORIZE) => Some(issuer.send_on(query, &own)),
            (&Method::POST, TOKEN) => Some(self.token(&issuer, &parts.headers, body, &own).await),
            _ => None,
        }
    }

    /// Forwards a request for a token.
    async fn token(
        &self,
        issuer: &RelayedIssuer,
        headers: &HeaderMap,
        body: Body,
        own: &OwnOrigin,
    ) -> Response {
        let body = match read_body(body, MAX_DOCUMENT).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let Ok(form) = String::from_utf8(body) else {
            return plain(StatusCode::BAD_REQUEST, "expected a form");
        };
        let mut place = issuer.metadata.token_endpoint.clone();
        let mut query = place.clone();
        issuer.name_server(&form, own, &mut query, None);
        let form = query.query().unwrap_or_default().to_owned();
        place.set_fragment(None);
        let passing = [CONTENT_TYPE, ACCEPT, AUTHORIZATION, USER_AGENT];
        let headers = only(headers, &passing);
        let request = self.client.post(place).headers(headers).body(form).send();
        let unreachable = || {
            let text = "the authorization server cannot be reached";
            plain(StatusCode::BAD_GATEWAY, text)
        };
        let Ok(Ok(answer)) = timeout(DOCUMENT_LIMIT, request).await else {
            return unreachable();
        };
        let passing = [CONTENT_TYPE, CACHE_CONTROL, WWW_AUTHENTICATE];
        let (status, headers) = (answer.status(), only(answer.headers(), &passing));
        match timeout(DOCUMENT_LIMIT, read_whole(answer, MAX_DOCUMENT)).await {
            Ok(Ok(body)) => response(status, headers, Body::from(body)),
            _ => unreachable(),
        }
    }
}

impl RelayedIssuer {
    /// The metadata of the authorization server, with the listener's addresses.
    fn about(&self, key: &str, own: &OwnOrigin) -> Response {
        let mut document = self.document.clone();
        for key in UNTRUE_HERE {
            document.remove(key);
        }
        if let Some(Value::Array(methods)) = document.get_mut(AUTH_METHODS) {
            methods.retain(|method| method.as_str().is_some_and(is_relayed_method));
        }
        let issuer = own.at(&format!("{PATH}{key}"));
        for (name, place) in [
            ("authorization_endpoint", AUTHORIZE),
            ("token_endpoint", TOKEN),
        ] {
            document.insert(name.to_owned(), json!(format!("{issuer}/{place}")));
        }
        document.insert("issuer".to_owned(), json!(issuer));
        let body = Value::Object(document).to_string().into_bytes();
        responses::json(StatusCode::OK, body)
    }

    /// Sends the user's browser on to the authorization server.
    fn send_on(&self, query: &str, own: &OwnOrigin) -> Response {
        let mut place = self.metadata.authorization_endpoint.clone();
        let before = place.query().map(str::to_owned);
        self.name_server(query, own, &mut place, before.as_deref());
        let Ok(place) = HeaderValue::try_from(place.as_str()) else {
            return plain(StatusCode::BAD_REQUEST, "the query is not valid");
        };
        let headers = HeaderMap::from_iter([
            (LOCATION, place),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ]);
        response(StatusCode::FOUND, headers, Body::empty())
    }

    /// Writes a form into the query of a URL, behind what was there `before`, with the server in
    /// place of the listener as the resource.
    fn name_server(&self, form: &str, own: &OwnOrigin, url: &mut Url, before: Option<&str>) {
        let mut sent = url.clone();
        sent.set_query(Some(form));
        url.set_query(before);
        let mut pairs = url.query_pairs_mut();
        for (name, value) in sent.query_pairs() {
            if name == "resource" && own.has(&value) {
                pairs.append_pair(&name, &self.resource);
            } else {
                pairs.append_pair(&name, &value);
            }
        }
    }
}

const AUTH_METHODS: &str = "token_endpoint_auth_methods_supported";

/// Members of metadata that hold for the authorization server itself only: proofs that name its
/// address, and ways to ask for a token that pass by here.
const UNTRUE_HERE: [&str; 5] = [
    "signed_metadata",
    "dpop_signing_alg_values_supported",
    "pushed_authorization_request_endpoint",
    "device_authorization_endpoint",
    "mtls_endpoint_aliases",
];

/// Returns true if a client can prove who it is through the listener: not by a signature that names
/// the address of the authorization server, nor by the certificate of its connection.
fn is_relayed_method(method: &str) -> bool {
    !method.ends_with("_jwt") && !method.ends_with("tls_client_auth")
}

/// Returns true if the listener can stand in for this authorization server. One that says in its
/// answers who it is would say another name than the client expects, and a client that cannot register
/// itself is known there under a name that belongs to that server alone.
fn can_relay(metadata: &ServerMetadata, server: &Url) -> bool {
    let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
    let is_possible = methods.is_none_or(|all| all.iter().any(|one| is_relayed_method(one)));
    let can_register =
        metadata.registration_endpoint.is_some() || metadata.client_id_metadata_document_supported;
    is_possible
        && can_register
        && !metadata.authorization_response_iss_parameter_supported
        && !metadata.require_pushed_authorization_requests
        && metadata.is_safe_for(server)
}

fn only(headers: &HeaderMap, names: &[reqwest::header::HeaderName]) -> HeaderMap {
    let mut out = HeaderMap::new();
    for name in names {
        for value in headers.get_all(name) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}
