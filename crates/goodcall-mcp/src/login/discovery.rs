//! Finds out how to log in to a server: what the server says about itself, and what its authorization
//! server says.

use std::time::Duration;

use goodcall_server::is_loopback_authority;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::http::{Upstream, describe_error, read_whole};

/// The path of the metadata about a protected resource, in front of the resource's own path.
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";
/// The path of the metadata about an authorization server, in front of the path of its issuer.
pub(crate) const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";
const OPENID_METADATA: &str = "/.well-known/openid-configuration";

/// Bytes of a document about logins.
pub(crate) const MAX_DOCUMENT: usize = 1 << 20;
/// How long such a document may take.
pub(crate) const DOCUMENT_LIMIT: Duration = Duration::from_secs(30);

/// What a server says about its logins (RFC 9728).
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// What an authorization server says about itself (RFC 8414).
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Url,
    pub(crate) token_endpoint: Url,
    #[serde(default)]
    pub(crate) registration_endpoint: Option<Url>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
    #[serde(default)]
    pub(crate) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(crate) require_pushed_authorization_requests: bool,
}

impl ServerMetadata {
    /// Returns true if a client may talk to this server about the resource behind `server`: the
    /// addresses are encrypted, or on the same machine as the resource.
    pub(crate) fn is_safe_for(&self, server: &Url) -> bool {
        let endpoints = [&self.authorization_endpoint, &self.token_endpoint];
        let mut endpoints = endpoints.into_iter().chain(&self.registration_endpoint);
        endpoints.all(|endpoint| is_safe(endpoint, server))
    }
}

/// Returns true if secrets may be sent to this address for the sake of `server`.
pub(crate) fn is_safe(address: &Url, server: &Url) -> bool {
    let is_local = |url: &Url| url.host_str().is_some_and(is_loopback_authority);
    address.scheme() == "https"
        || (address.scheme() == "http" && is_local(address) && is_local(server))
}

/// What a server demands of a request without a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Whether the request was refused for want of a token.
    pub(crate) is_refused: bool,
    /// Where the metadata of the server are.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub(crate) scope: Option<String>,
}

impl Challenge {
    /// Asks a server what it demands, with a request that has no token of the user.
    pub(crate) async fn ask(server: &Upstream) -> Result<Self, String> {
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "goodcall", "version": env!("CARGO_PKG_VERSION")}}});
        let sent = server.post(HeaderMap::new(), initialize.to_string().into_bytes());
        let response = match timeout(DOCUMENT_LIMIT, sent).await {
            Ok(sent) => sent.map_err(|error| {
                format!("the server cannot be reached: {}", describe_error(error))
            })?,
            Err(_) => return Err("the server did not answer in time".to_owned()),
        };
        Ok(Self {
            is_refused: response.status() == StatusCode::UNAUTHORIZED,
            ..Self::of(response.headers())
        })
    }

    /// Reads the headers of a response with status 401.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let mut values = values.filter_map(|value| value.to_str().ok());
        let bearer = values.find(|value| {
            let scheme = value.split_whitespace().next().unwrap_or_default();
            scheme.eq_ignore_ascii_case("bearer")
        });
        let parameter = |name: &str| parameter(bearer?, name);
        Self {
            is_refused: false,
            resource_metadata: parameter("resource_metadata"),
            scope: parameter("scope"),
        }
    }
}

/// The value of a parameter of a `WWW-Authenticate` header.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header;
    // Quoted texts may hold anything, also what looks like a parameter.
    while let Some((before, after)) = rest.split_once('=') {
        let found = before.rsplit([' ', ',']).next() == Some(name);
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if found {
            return Some(value.trim().to_owned());
        }
        rest = next;
    }
    None
}

/// Fetches a JSON document; `None` if there is none at this address.
pub(crate) async fn fetch<T: DeserializeOwned>(
    client: &Client,
    url: Url,
) -> Result<Option<T>, String> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let json = HeaderValue::from_static("application/json");
    let request = client.get(url).header(ACCEPT, json).send();
    let wrong = |what: &str| format!("{host}: {what}");
    let response = match timeout(DOCUMENT_LIMIT, request).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(wrong(&describe_error(error))),
        Err(_) => return Err(wrong("no answer in time")),
    };
    let status = response.status();
    if !status.is_success() {
        return match status.as_u16() {
            500.. => Err(wrong(&format!("the answer is {status}"))),
            _ => Ok(None),
        };
    }
    match timeout(DOCUMENT_LIMIT, read_whole(response, MAX_DOCUMENT)).await {
        // A page that says that there is nothing is as good as none.
        Ok(Ok(body)) => Ok(serde_json::from_slice(&body).ok()),
        Ok(Err(why)) => Err(wrong(&why)),
        Err(_) => Err(wrong("no answer in time")),
    }
}

/// Finds the metadata of a server: where its challenge says, or else where clients look for them.
pub(crate) async fn resource_metadata(
    client: &Client,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, String> {
    let mut places = Vec::new();
    match &challenge.resource_metadata {
        Some(place) => {
            let place = Url::parse(place).ok().filter(|url| is_safe(url, server));
            places.push(place.ok_or("the server names metadata at an address that is not safe")?);
        }
        None => {
            let path = server.path().trim_end_matches('/');
            places.push(at(server, &format!("{RESOURCE_METADATA}{path}")));
            if !path.is_empty() {
                places.push(at(server, RESOURCE_METADATA));
            }
        }
    }
    for place in places {
        if let Some(found) = fetch(client, place).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Finds the metadata of an authorization server, and returns them with the whole document. Those
/// that name another issuer are not used.
pub(crate) async fn server_metadata(
    client: &Client,
    issuer: &str,
) -> Result<Option<(ServerMetadata, Map<String, Value>)>, String> {
    let url = Url::parse(issuer).map_err(|_| "the authorization server has no valid address")?;
    for place in metadata_places(&url) {
        let Some(document) = fetch::<Map<String, Value>>(client, place).await? else {
            continue;
        };
        let read = serde_json::from_value::<ServerMetadata>(Value::Object(document.clone()));
        let metadata =
            read.map_err(|error| format!("the metadata of the authorization server: {error}"))?;
        if metadata.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err("the authorization server names another issuer than itself".to_owned());
        }
        return Ok(Some((metadata, document)));
    }
    Ok(None)
}

/// Where the metadata of an authorization server may be, in the order in which clients look.
fn metadata_places(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut places = vec![
        at(issuer, &format!("{SERVER_METADATA}{path}")),
        at(issuer, &format!("{OPENID_METADATA}{path}")),
    ];
    if !path.is_empty() {
        places.push(at(issuer, &format!("{path}{OPENID_METADATA}")));
    }
    places
}

/// Another address of the same origin, without user and password.
fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    // These fail only for URLs without a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_is_read_from_quoted_and_plain_parameters() {
        for (sent, metadata, scope) in [
            (
                r#"Bearer resource_metadata="https://s/m", scope="a b""#,
                Some("https://s/m"),
                Some("a b"),
            ),
            (
                r#"bearer error="x scope=y", resource_metadata=https://s/m"#,
                Some("https://s/m"),
                None,
            ),
            (
                r#"Bearer realm="scope=evil, resource_metadata=https://evil""#,
                None,
                None,
            ),
            ("Basic scope=x", None, None),
            ("Bearer", None, None),
        ] {
            let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, sent.parse().unwrap())]);
            let challenge = Challenge::of(&headers);
            assert_eq!(challenge.resource_metadata.as_deref(), metadata, "{sent}");
            assert_eq!(challenge.scope.as_deref(), scope, "{sent}");
        }
    }

    #[test]
    fn metadata_of_an_issuer_with_a_path_have_three_places() {
        let places = |issuer: &str| -> Vec<_> {
            let places = metadata_places(&Url::parse(issuer).unwrap());
            places.iter().map(Url::to_string).collect()
        };
        assert_eq!(
            places("https://a.example/"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            places("https://a.example/t/1"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn plain_http_is_for_servers_on_this_machine() {
        let safe = |address: &str, server: &str| {
            is_safe(&Url::parse(address).unwrap(), &Url::parse(server).unwrap())
        };
        assert!(safe("https://a.example/t", "https://s.example/mcp"));
        assert!(safe("http://127.0.0.1:1/t", "http://localhost:2/mcp"));
        // A server elsewhere must not send secrets to the user's own machine.
        assert!(!safe("http://127.0.0.1:1/t", "https://s.example/mcp"));
        assert!(!safe("http://a.example/t", "https://s.example/mcp"));
        assert!(!safe("file:///etc/passwd", "http://localhost:2/mcp"));
    }
}
