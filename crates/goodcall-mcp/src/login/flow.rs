//! A login: what the server wants, a client for its authorization server, the user's browser, a token.

use std::fmt;
use std::time::Duration;

use oauth2::{AuthorizationCode, CsrfToken, PkceCodeChallenge, RedirectUrl, Scope};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::json;

use super::discovery::{
    Challenge, MAX_DOCUMENT, ResourceMetadata, ServerMetadata, resource_metadata, server_metadata,
};
use super::redirect::{AuthorizationAnswer, RedirectPage};
use super::store::{LoginStore, OAuthClient, StoredLogin};
use super::token_request::{http_client, refusal, requester, send, take_tokens};
use crate::http::{Upstream, describe_error, read_whole};

/// How to log in. Start from [`LoginOptions::default`] and change what you need.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoginOptions {
    /// The scopes to ask for, in place of those that the server names.
    pub scopes: Vec<String>,
    /// The id of a client that is registered already.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<String>,
    /// The port of the page to which the browser returns, or 0 for any.
    pub port: u16,
    /// How long the user may take.
    pub limit: Duration,
}

impl Default for LoginOptions {
    fn default() -> Self {
        Self {
            scopes: Vec::new(),
            client_id: None,
            client_secret: None,
            port: 0,
            limit: Duration::from_secs(300),
        }
    }
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginError(String);

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoginError {}

impl From<String> for LoginError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// What a server wants of those who log in.
struct Demand {
    resource: String,
    issuer: String,
    scopes: Vec<String>,
}

/// Logs in to a server by OAuth, and saves the tokens. `show` gets the address that the user must
/// open in a browser.
///
/// # Errors
/// If the server does not ask for a login, or something on the way to the token fails.
pub async fn log_in(
    server: &Upstream,
    options: &LoginOptions,
    store: &LoginStore,
    show: impl FnOnce(&str),
) -> Result<(), LoginError> {
    let http = http_client()?;
    let demand = demand_of(server, &http).await?;
    let found = server_metadata(&http, &demand.issuer).await?;
    let (metadata, _) = found.ok_or_else(|| {
        let issuer = &demand.issuer;
        format!("the authorization server {issuer} says nothing about itself")
    })?;
    check(&metadata, server.url())?;
    let failure = |error: std::io::Error| error.to_string();
    let page = RedirectPage::open(options.port).await.map_err(failure)?;
    let client = client_of(&http, &metadata, options, page.address()).await?;
    let requester = requester(
        &client,
        &metadata.authorization_endpoint,
        &metadata.token_endpoint,
    );
    let redirect = RedirectUrl::new(page.address().to_owned());
    let redirect = redirect.map_err(|error| error.to_string())?;
    let requester = requester.set_redirect_uri(redirect);
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (address, state) = requester
        .authorize_url(CsrfToken::new_random)
        .add_scopes(scopes(&demand, &metadata, options).map(Scope::new))
        .set_pkce_challenge(challenge)
        .add_extra_param("resource", demand.resource.clone())
        .url();
    show(address.as_str());
    let answer = page.answer(state.secret(), options.limit).await?;
    let code = checked_code(answer, &metadata)?;
    let tokens = requester
        .exchange_code(AuthorizationCode::new(code))
        .set_pkce_verifier(verifier)
        .add_extra_param("resource", demand.resource.clone())
        .request_async(&|request| send(http.clone(), request))
        .await
        .map_err(refusal)?;
    let mut login = StoredLogin {
        resource: demand.resource,
        token_endpoint: metadata.token_endpoint.to_string(),
        client,
        access_token: String::new(),
        refresh_token: None,
        expires_at: None,
    };
    take_tokens(&mut login, &tokens);
    let held = store.lock().map_err(failure)?;
    let saved = store.save(server.url().as_str(), login, &held);
    Ok(saved.map_err(failure)?)
}

/// Asks the server what it wants, with a request that has no token.
async fn demand_of(server: &Upstream, http: &Client) -> Result<Demand, String> {
    let challenge = Challenge::ask(server).await?;
    let url = server.url();
    let found = resource_metadata(http, url, &challenge).await?;
    let Some(metadata) = found else {
        if !challenge.is_refused {
            return Err("the server does not ask for a login".to_owned());
        }
        // Before 2025-06-18 a server was its own authorization server.
        return Ok(Demand {
            resource: url.to_string(),
            issuer: url.origin().ascii_serialization(),
            scopes: words(challenge.scope.as_deref()),
        });
    };
    if !covers(&metadata.resource, url) {
        let resource = &metadata.resource;
        return Err(format!(
            "the server's metadata are about another server: {resource}"
        ));
    }
    let ResourceMetadata {
        resource,
        authorization_servers,
        scopes_supported,
    } = metadata;
    let issuer = authorization_servers.into_iter().next();
    Ok(Demand {
        resource,
        issuer: issuer.ok_or("the server names no authorization server")?,
        scopes: match &challenge.scope {
            Some(scope) => words(Some(scope)),
            None => scopes_supported.unwrap_or_default(),
        },
    })
}

fn words(text: Option<&str>) -> Vec<String> {
    let words = text.unwrap_or_default().split_whitespace();
    words.map(str::to_owned).collect()
}

/// Returns true if a token for this resource is a token for the server: it is the server's address,
/// or one above it.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let (above, path) = (resource.path().trim_end_matches('/'), server.path());
    let rest = path.strip_prefix(above);
    resource.origin() == server.origin()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Refuses an authorization server that cannot be used safely.
fn check(metadata: &ServerMetadata, server: &Url) -> Result<(), String> {
    if !metadata.is_safe_for(server) {
        return Err("the authorization server names an address without TLS".to_owned());
    }
    let methods = &metadata.code_challenge_methods_supported;
    if !methods.iter().any(|method| method == "S256") {
        return Err("the authorization server does not offer PKCE (S256)".to_owned());
    }
    Ok(())
}

/// The scopes to ask for. A token that can be renewed is asked for where that is offered.
fn scopes(
    demand: &Demand,
    metadata: &ServerMetadata,
    options: &LoginOptions,
) -> impl Iterator<Item = String> {
    const OFFLINE: &str = "offline_access";
    let mut scopes = options.scopes.clone();
    if scopes.is_empty() {
        scopes.clone_from(&demand.scopes);
        let is_offered = metadata.scopes_supported.iter().any(|one| one == OFFLINE);
        if is_offered && !scopes.iter().any(|one| one == OFFLINE) {
            scopes.push(OFFLINE.to_owned());
        }
    }
    scopes.into_iter()
}

/// The client that asks for the token: the user's own, or one that is registered now.
async fn client_of(
    http: &Client,
    metadata: &ServerMetadata,
    options: &LoginOptions,
    redirect: &str,
) -> Result<OAuthClient, String> {
    let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
    let offers = |method: &str| methods.is_some_and(|all| all.iter().any(|one| one == method));
    if let Some(id) = &options.client_id {
        return Ok(OAuthClient {
            id: id.clone(),
            secret: options.client_secret.clone(),
            // What an authorization server takes that says nothing about it (RFC 8414).
            by_header: methods.is_none() || offers("client_secret_basic"),
        });
    }
    let Some(endpoint) = &metadata.registration_endpoint else {
        return Err(
            "the authorization server does not register clients: register one with its operator, \
             with the redirect address http://127.0.0.1:PORT/callback, and name it with \
             --client-id and --port"
                .to_owned(),
        );
    };
    let preferred = ["none", "client_secret_post", "client_secret_basic"];
    let method = preferred.into_iter().find(|method| offers(method));
    let wanted = json!({
        "client_name": "goodcall",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.unwrap_or("none"),
        "application_type": "native",
    });
    let registered = register(http, endpoint, &wanted).await?;
    let by_header = match registered.token_endpoint_auth_method.as_deref().or(method) {
        Some(method) => method == "client_secret_basic",
        None => true,
    };
    Ok(OAuthClient {
        id: registered.client_id,
        secret: registered.client_secret,
        by_header,
    })
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// Registers a client (RFC 7591).
async fn register(
    http: &Client,
    endpoint: &Url,
    wanted: &serde_json::Value,
) -> Result<Registered, String> {
    let request = http
        .post(endpoint.clone())
        .header("content-type", "application/json")
        .body(wanted.to_string());
    let failure = |error| {
        let why = describe_error(error);
        format!("the authorization server cannot be reached: {why}")
    };
    let response = request.send().await.map_err(failure)?;
    let status = response.status();
    let body = read_whole(response, MAX_DOCUMENT).await?;
    if !status.is_success() {
        return Err(format!(
            "the authorization server registers no client: it answered {status}"
        ));
    }
    serde_json::from_slice(&body).map_err(|error| format!("the registration of a client: {error}"))
}

/// The code of an answer that comes from the right authorization server (RFC 9207).
fn checked_code(answer: AuthorizationAnswer, metadata: &ServerMetadata) -> Result<String, String> {
    let is_right = match &answer.issuer {
        Some(issuer) => *issuer == metadata.issuer,
        None => !metadata.authorization_response_iss_parameter_supported,
    };
    if !is_right {
        return Err("the answer comes from another authorization server".to_owned());
    }
    answer.code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_covers_the_addresses_below_it() {
        let server = Url::parse("https://s.example/v1/mcp").unwrap();
        for resource in [
            "https://s.example",
            "https://s.example/v1",
            "https://s.example/v1/mcp",
            "https://s.example/v1/mcp/",
        ] {
            assert!(covers(resource, &server), "{resource}");
        }
        for resource in [
            "https://s.example/v1/mc",
            "https://s.example/v2",
            "https://evil.example/v1/mcp",
            "http://s.example/v1/mcp",
            "s.example",
        ] {
            assert!(!covers(resource, &server), "{resource}");
        }
    }
}
