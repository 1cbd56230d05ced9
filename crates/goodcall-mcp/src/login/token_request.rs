//! Requests for tokens, made with the crate `oauth2` and sent with our own HTTP client.

use std::fmt;
use std::time::Duration;

use axum::http;
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use oauth2::{
    AuthType, AuthUrl, ClientId, ClientSecret, EndpointNotSet, EndpointSet, HttpRequest,
    HttpResponse, RefreshToken, RequestTokenError, TokenResponse, TokenUrl,
};
use reqwest::{Client, Url};

use super::discovery::{DOCUMENT_LIMIT, MAX_DOCUMENT};
use super::store::{OAuthClient, StoredLogin};
use crate::call_log::now_ms;
use crate::http::{describe_error, read_whole};

/// A client of one authorization server.
pub(super) type Requester =
    BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// Why a request for a token was not answered.
#[derive(Debug)]
pub(super) struct SendError(String);

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SendError {}

/// An HTTP client for requests with secrets, which follow no redirects.
pub(crate) fn http_client() -> Result<Client, String> {
    // This fails if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(DOCUMENT_LIMIT);
    client.build().map_err(describe_error)
}

pub(super) fn requester(
    client: &OAuthClient,
    authorization_endpoint: &Url,
    token_endpoint: &Url,
) -> Requester {
    let auth_type = if client.by_header {
        AuthType::BasicAuth
    } else {
        AuthType::RequestBody
    };
    let requester = BasicClient::new(ClientId::new(client.id.clone()));
    let requester = match &client.secret {
        Some(secret) => requester.set_client_secret(ClientSecret::new(secret.clone())),
        None => requester,
    };
    requester
        .set_auth_type(auth_type)
        .set_auth_uri(AuthUrl::from_url(authorization_endpoint.clone()))
        .set_token_uri(TokenUrl::from_url(token_endpoint.clone()))
}

/// Sends one request for a token.
pub(super) async fn send(client: Client, request: HttpRequest) -> Result<HttpResponse, SendError> {
    let failure = |error| SendError(describe_error(error));
    let request = reqwest::Request::try_from(request).map_err(failure)?;
    let response = client.execute(request).await.map_err(failure)?;
    let mut answer = http::Response::new(Vec::new());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = response.headers().clone();
    *answer.body_mut() = read_whole(response, MAX_DOCUMENT)
        .await
        .map_err(SendError)?;
    Ok(answer)
}

/// Says why there is no token, without anything that may be secret.
pub(super) fn refusal(error: RequestTokenError<SendError, BasicErrorResponse>) -> String {
    match error {
        RequestTokenError::ServerResponse(answer) => {
            let what = answer.error().as_ref();
            match answer.error_description() {
                Some(text) => format!("the authorization server refused ({what}): {text}"),
                None => format!("the authorization server refused ({what})"),
            }
        }
        RequestTokenError::Request(error) => {
            format!("the authorization server cannot be reached: {error}")
        }
        _ => "the authorization server did not answer with a token".to_owned(),
    }
}

/// Takes the tokens of an answer over into a login.
pub(super) fn take_tokens(login: &mut StoredLogin, answer: &BasicTokenResponse) {
    login
        .access_token
        .clone_from(answer.access_token().secret());
    login.expires_at = answer.expires_in().map(|time| now() + time.as_secs());
    if let Some(token) = answer.refresh_token() {
        login.refresh_token = Some(token.secret().clone());
    }
}

/// Asks for a new access token.
pub(super) async fn refresh(client: &Client, login: &mut StoredLogin) -> Result<(), String> {
    let endpoint = Url::parse(&login.token_endpoint).map_err(|error| error.to_string())?;
    let Some(token) = login.refresh_token.clone() else {
        return Err("the authorization server gave no token to renew the login with".to_owned());
    };
    let requester = requester(&login.client, &endpoint, &endpoint);
    let answer = requester
        .exchange_refresh_token(&RefreshToken::new(token))
        .add_extra_param("resource", login.resource.clone())
        .request_async(&|request| send(client.clone(), request))
        .await
        .map_err(refusal)?;
    take_tokens(login, &answer);
    Ok(())
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    Duration::from_millis(now_ms()).as_secs()
}
