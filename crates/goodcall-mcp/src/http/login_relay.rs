//! Stands in for the authorization server of a server behind a URL.
//!
//! A client asks for tokens for the address that it knows, which is the listener's, and many servers
//! take only tokens for their own. So the metadata name the listener as the authorization server.
//! Registrations, the user's browser and requests for tokens come here and are sent on to the
//! authorization server, with the address of the server as the resource. The browser returns by the
//! listener, too, because the answer may say which authorization server gave it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::request::Parts;
use axum::response::Response;
use goodcall_core::stable_hash;
use goodcall_server::is_loopback_authority;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue,
    LOCATION, REFERRER_POLICY, USER_AGENT, WWW_AUTHENTICATE,
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
const CALLBACK: &str = "callback";
const REGISTER: &str = "register";
const TOKEN: &str = "token";
/// Authorization servers of one server that are looked at, and that are remembered.
const MAX_ISSUERS: usize = 4;
const MAX_KNOWN: usize = 16;
/// Clients whose registration is remembered, and logins that may be under way.
const MAX_CLIENTS: usize = 1024;

/// Returns true for the addresses that the user's browser visits. They only lead on, so it does not
/// matter which page the browser comes from.
pub(crate) fn is_for_browsers(path: &str) -> bool {
    let rest = path
        .strip_prefix(PATH)
        .and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(_, what)| matches!(what, AUTHORIZE | CALLBACK))
}

/// The authorization servers for which a listener stands in.
pub(crate) struct LoginRelay {
    client: Client,
    known: Mutex<HashMap<String, Arc<RelayedIssuer>>>,
    browsers: Browsers,
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
            browsers: Browsers::default(),
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
        let at = RelayedPlace {
            address: own.at(&format!("{PATH}{key}")),
            issuer: &issuer,
            own: &own,
        };
        match (&parts.method, what) {
            (&Method::GET, "") => Some(at.about()),
            (&Method::GET, AUTHORIZE) => Some(at.send_on(query, &self.browsers)),
            (&Method::GET, CALLBACK) => Some(at.send_back(query, &self.browsers)),
            (&Method::POST, REGISTER | TOKEN) => {
                let body = match read_body(body, MAX_DOCUMENT).await {
                    Ok(body) => body,
                    Err(refusal) => return Some(refusal),
                };
                Some(if what == TOKEN {
                    self.token(&at, &parts.headers, body).await
                } else {
                    self.register(&at, &parts.headers, body).await
                })
            }
            _ => None,
        }
    }

    /// Forwards a request for a token.
    async fn token(&self, at: &RelayedPlace<'_>, headers: &HeaderMap, body: Vec<u8>) -> Response {
        let Ok(form) = String::from_utf8(body) else {
            return plain(StatusCode::BAD_REQUEST, "expected a form");
        };
        let mut sent = at.issuer.metadata.token_endpoint.clone();
        let place = sent.clone();
        sent.set_query(Some(&form));
        let pairs = sent.query_pairs().into_owned().map(|(name, value)| {
            let value = match name.as_str() {
                "resource" => at.resource(value),
                "redirect_uri" => at.place(CALLBACK),
                _ => value,
            };
            (name, value)
        });
        let pairs: Vec<_> = pairs.collect();
        sent.query_pairs_mut().clear().extend_pairs(pairs);
        let form = sent.query().unwrap_or_default().to_owned();
        self.post(place, headers, form.into_bytes()).await
    }

    /// Forwards the registration of a client, so that its user may return to the listener.
    async fn register(
        &self,
        at: &RelayedPlace<'_>,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Response {
        let sent = serde_json::from_slice::<Map<String, Value>>(&body).ok();
        let place = at.issuer.metadata.registration_endpoint.clone();
        let (Some(mut sent), Some(place)) = (sent, place) else {
            return plain(StatusCode::BAD_REQUEST, "expected a JSON object");
        };
        let own = json!([at.place(CALLBACK)]);
        let wanted = sent.insert(REDIRECTS.to_owned(), own);
        let wanted = wanted.unwrap_or_else(|| json!([]));
        let body = Value::Object(sent).to_string().into_bytes();
        let answer = self.post(place, headers, body).await;
        let (mut head, body) = answer.into_parts();
        let Ok(body) = read_body(body, MAX_DOCUMENT).await else {
            return plain(StatusCode::BAD_GATEWAY, UNREACHABLE);
        };
        let registered = serde_json::from_slice::<Map<String, Value>>(&body).ok();
        let body = match registered {
            Some(mut registered) if head.status.is_success() => {
                if let Some(id) = registered.get("client_id").and_then(Value::as_str) {
                    self.browsers.registered(id, &wanted);
                }
                registered.insert(REDIRECTS.to_owned(), wanted);
                Value::Object(registered).to_string().into_bytes()
            }
            _ => body,
        };
        head.headers.remove(CONTENT_LENGTH);
        Response::from_parts(head, Body::from(body))
    }

    /// Sends a request of a client to the authorization server, without the operator's headers.
    async fn post(&self, place: Url, headers: &HeaderMap, body: Vec<u8>) -> Response {
        let passing = [CONTENT_TYPE, ACCEPT, AUTHORIZATION, USER_AGENT];
        let headers = only(headers, &passing);
        let request = self.client.post(place).headers(headers).body(body).send();
        let unreachable = || plain(StatusCode::BAD_GATEWAY, UNREACHABLE);
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

const UNREACHABLE: &str = "the authorization server cannot be reached";
const REDIRECTS: &str = "redirect_uris";

/// An authorization server as a client sees it.
struct RelayedPlace<'r> {
    /// The issuer that the client knows.
    address: String,
    issuer: &'r RelayedIssuer,
    own: &'r OwnOrigin,
}

impl RelayedPlace<'_> {
    fn place(&self, what: &str) -> String {
        format!("{}/{what}", self.address)
    }

    /// The resource that a request names, with the server in place of the listener.
    fn resource(&self, named: String) -> String {
        if self.own.has(&named) {
            self.issuer.resource.clone()
        } else {
            named
        }
    }

    /// The metadata of the authorization server, with the listener's addresses.
    fn about(&self) -> Response {
        let mut document = self.issuer.document.clone();
        for key in UNTRUE_HERE {
            document.remove(key);
        }
        if let Some(Value::Array(methods)) = document.get_mut(AUTH_METHODS) {
            methods.retain(|method| method.as_str().is_some_and(is_relayed_method));
        }
        for (name, place) in [
            ("authorization_endpoint", AUTHORIZE),
            ("token_endpoint", TOKEN),
            ("registration_endpoint", REGISTER),
        ] {
            document.insert(name.to_owned(), json!(self.place(place)));
        }
        document.insert("issuer".to_owned(), json!(self.address));
        let body = Value::Object(document).to_string().into_bytes();
        responses::json(StatusCode::OK, body)
    }

    /// Sends the user's browser on to the authorization server, from which it returns here.
    fn send_on(&self, query: &str, browsers: &Browsers) -> Response {
        let mut place = self.issuer.metadata.authorization_endpoint.clone();
        let asked: HashMap<_, _> = form_pairs(query).into_iter().collect();
        let value = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
        let visit = Visit {
            redirect: value("redirect_uri").to_owned(),
            state: asked.get("state").cloned(),
        };
        if !browsers.may_return(value("client_id"), &visit.redirect) {
            let text = "the client has not registered this redirect_uri";
            return plain(StatusCode::BAD_REQUEST, text);
        }
        let Some(nonce) = browsers.begin(visit) else {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "too many logins at once");
        };
        let mut pairs = place.query_pairs_mut();
        for (name, value) in form_pairs(query) {
            let value = match name.as_str() {
                "resource" => self.resource(value),
                "redirect_uri" => self.place(CALLBACK),
                "state" => continue,
                _ => value,
            };
            pairs.append_pair(&name, &value);
        }
        pairs.append_pair("state", &nonce);
        drop(pairs);
        lead_to(&place)
    }

    /// Sends the user's browser back to the client, with the name that the client knows.
    fn send_back(&self, query: &str, browsers: &Browsers) -> Response {
        let pairs = form_pairs(query);
        let nonce = pairs.iter().find(|(name, _)| name == "state");
        let visit = nonce.and_then(|(_, nonce)| browsers.end(nonce));
        let Some(visit) = visit else {
            let text = "this is not the answer to a login that was begun here";
            return plain(StatusCode::BAD_REQUEST, text);
        };
        let Ok(mut place) = Url::parse(&visit.redirect) else {
            return plain(StatusCode::BAD_REQUEST, "the redirect_uri is not valid");
        };
        let mut answer = place.query_pairs_mut();
        for (name, value) in pairs {
            match name.as_str() {
                "state" => continue,
                // Any other name stays, so that the client sees that it is wrong.
                "iss" if value == self.issuer.metadata.issuer => {
                    answer.append_pair("iss", &self.address);
                }
                _ => {
                    answer.append_pair(&name, &value);
                }
            }
        }
        if let Some(state) = &visit.state {
            answer.append_pair("state", state);
        }
        drop(answer);
        lead_to(&place)
    }
}

/// Where the browsers of users go who log in.
#[derive(Default)]
struct Browsers {
    /// The addresses that clients have registered, by their ids.
    registered: Mutex<HashMap<String, Vec<String>>>,
    /// The logins under way, by the secret that stands for each.
    visits: Mutex<HashMap<String, (Visit, Instant)>>,
}

/// A login under way.
struct Visit {
    redirect: String,
    state: Option<String>,
}

impl Browsers {
    fn registered(&self, client: &str, redirects: &Value) {
        let redirects = redirects.as_array().into_iter().flatten();
        let redirects = redirects.filter_map(|one| Some(one.as_str()?.to_owned()));
        let redirects = redirects.take(MAX_KNOWN).collect();
        let mut registered = self
            .registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if registered.len() >= MAX_CLIENTS {
            registered.clear();
        }
        registered.insert(client.to_owned(), redirects);
    }

    /// Returns true if codes for a client may be sent to this address: the client has registered it,
    /// or it is on the machine of the user, for a client that registered before this listener began.
    fn may_return(&self, client: &str, redirect: &str) -> bool {
        let registered = self
            .registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_local = Url::parse(redirect).is_ok_and(|url| {
            url.scheme() == "http" && url.host_str().is_some_and(is_loopback_authority)
        });
        is_local
            || registered
                .get(client)
                .is_some_and(|known| known.iter().any(|one| one == redirect))
    }

    /// Remembers a login, and returns a secret that stands for it; `None` if there are too many.
    fn begin(&self, visit: Visit) -> Option<String> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).ok()?;
        let secret = format!("{:032x}", u128::from_le_bytes(secret));
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.retain(|_, (_, began)| began.elapsed() < VISIT_LIMIT);
        if visits.len() >= MAX_CLIENTS {
            return None;
        }
        visits.insert(secret.clone(), (visit, Instant::now()));
        Some(secret)
    }

    fn end(&self, secret: &str) -> Option<Visit> {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.remove(secret).map(|(visit, _)| visit)
    }
}

/// How long a user may take to log in.
const VISIT_LIMIT: Duration = Duration::from_secs(900);

fn form_pairs(query: &str) -> Vec<(String, String)> {
    let url = Url::parse("http://x").map(|mut url| {
        url.set_query(Some(query));
        url.query_pairs().into_owned().collect()
    });
    url.unwrap_or_default()
}

/// Sends a browser to an address.
fn lead_to(place: &Url) -> Response {
    let Ok(place) = HeaderValue::try_from(place.as_str()) else {
        return plain(StatusCode::BAD_REQUEST, "the address is not valid");
    };
    let headers = HeaderMap::from_iter([
        (LOCATION, place),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ]);
    response(StatusCode::FOUND, headers, Body::empty())
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

/// Returns true if the listener can stand in for this authorization server. Clients must register
/// there, and by that alone: one whose name is an address returns only to places that are named there.
fn can_relay(metadata: &ServerMetadata, server: &Url) -> bool {
    let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
    let is_possible = methods.is_none_or(|all| all.iter().any(|one| is_relayed_method(one)));
    is_possible
        && metadata.registration_endpoint.is_some()
        && !metadata.client_id_metadata_document_supported
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
