//! A server behind a URL.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};

use super::ENDPOINT;
use crate::login::{ActiveLogin, LoginStore};

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(30);
/// How long an unused connection is kept. Servers in Node and Python close theirs after 5 s, and a
/// request that meets the end of its connection is lost.
const IDLE: Duration = Duration::from_secs(4);

/// How long a server may take to show that it is there.
const READINESS: Duration = Duration::from_secs(2);

/// Redirects of one request that are followed.
const MAX_REDIRECTS: usize = 5;

/// A server behind a URL, and the headers that every request to it carries.
#[derive(Clone, Debug)]
pub struct Upstream {
    client: Client,
    url: Url,
    headers: HeaderMap,
    is_sse: bool,
    /// The user's login, if there is one.
    login: Option<Arc<ActiveLogin>>,
}

/// The error for a URL or header that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamError(String);

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UpstreamError {}

impl Upstream {
    /// The server behind this URL. Nothing is sent yet.
    ///
    /// # Errors
    /// If the text is not an HTTP or HTTPS URL.
    pub fn new(url: &str) -> Result<Self, UpstreamError> {
        // The URL may hold a secret, and is not shown.
        let wrong = |what: &dyn fmt::Display| UpstreamError(format!("the server's URL: {what}"));
        let expected = "expected a URL that begins with http:// or https://";
        let parsed = Url::parse(url).map_err(|error| wrong(&format!("{error}: {expected}")))?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(wrong(&expected));
        }
        // This fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .redirect(reqwest::redirect::Policy::custom(follow_to_same_server))
            .build()
            .map_err(|error| wrong(&error))?;
        Ok(Self {
            client,
            is_sse: parsed.path().trim_end_matches('/').ends_with("/sse"),
            url: parsed,
            headers: HeaderMap::new(),
            login: None,
        })
    }

    /// The server speaks the old SSE transport. Without this, that is tried first only where the
    /// path ends with `/sse`, and else if the server refuses the handshake.
    #[must_use]
    pub fn sse(mut self) -> Self {
        self.is_sse = true;
        self
    }

    pub(crate) fn is_sse(&self) -> bool {
        self.is_sse
    }

    /// Adds a header to every request, written as `Name: value`.
    ///
    /// # Errors
    /// If the text is not a valid header.
    pub fn header(mut self, header: &str) -> Result<Self, UpstreamError> {
        // The value may be a secret, and is not shown.
        let wrong =
            |name: &str| UpstreamError(format!("invalid header `{name}`: expected NAME: VALUE"));
        let (name, value) = header.split_once(':').ok_or_else(|| wrong("…"))?;
        let key = HeaderName::try_from(name.trim()).map_err(|_| wrong(name))?;
        let mut value = HeaderValue::try_from(value.trim()).map_err(|_| wrong(name))?;
        value.set_sensitive(true);
        self.headers.insert(key, value);
        Ok(self)
    }

    /// Uses the login to this server, if there is one and no header replaces it. The token is sent
    /// with requests that carry none, and renewed when it has expired.
    ///
    /// # Errors
    /// If the file with the logins cannot be read.
    pub fn login_of(mut self, store: &LoginStore) -> io::Result<Self> {
        if !self.headers.contains_key(AUTHORIZATION) {
            self.login = ActiveLogin::load(store, self.url.as_str())?.map(Arc::new);
        }
        Ok(self)
    }

    /// The host and the port, without anything of the URL that may be secret.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or("server");
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Returns why the server does not answer a request for the root of its host, which gets none of
    /// the headers.
    pub(crate) async fn answers(&self) -> Result<(), String> {
        let request = self.client.head(self.at("/")).timeout(READINESS);
        let answer = request.send().await;
        answer.map(drop).map_err(describe_error)
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns true if a listener in front of the server serves this path.
    pub(crate) fn is_endpoint(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path == self.url.path().trim_end_matches('/') || path == ENDPOINT
    }

    /// Returns a URL of the same origin with another path.
    pub(crate) fn at(&self, path_and_query: &str) -> Url {
        let mut url = self.url.clone();
        let (path, query) = match path_and_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_and_query, None),
        };
        url.set_path(path);
        url.set_query(query);
        url
    }

    /// Sends a request; the headers of the upstream replace those of the request.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> reqwest::Result<Response> {
        let mut all = headers;
        for (name, value) in &self.headers {
            all.insert(name.clone(), value.clone());
        }
        let login = self.login.as_ref();
        let login = login.filter(|_| !all.contains_key(AUTHORIZATION));
        let mut request = self.client.request(method, url).headers(all);
        if let Some(body) = body {
            request = request.body(body);
        }
        let request = request.build()?;
        if let Some(login) = login
            && let Some(token) = login.header().await
        {
            return self.send_with_token(request, login, token).await;
        }
        self.client.execute(request).await
    }

    /// Sends a request with a token, and once more with another if the server refuses this one.
    async fn send_with_token(
        &self,
        mut request: Request,
        login: &ActiveLogin,
        token: HeaderValue,
    ) -> reqwest::Result<Response> {
        request.headers_mut().insert(AUTHORIZATION, token.clone());
        let mut again = request.try_clone().expect("the body is bytes");
        let response = self.client.execute(request).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(token) = login.other_header(&token).await
        {
            again.headers_mut().insert(AUTHORIZATION, token);
            return self.client.execute(again).await;
        }
        Ok(response)
    }

    /// Requests a public document of the same origin. It is asked for without the headers and the
    /// user of the upstream, which may be secret.
    pub(crate) async fn get_public(
        &self,
        path_and_query: &str,
        headers: HeaderMap,
    ) -> reqwest::Result<Response> {
        let mut url = self.at(path_and_query);
        // These fail only for URLs without a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        self.client.get(url).headers(headers).send().await
    }

    /// Sends one frame.
    pub(crate) async fn post(
        &self,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> reqwest::Result<Response> {
        self.post_to(self.url.clone(), headers, body).await
    }

    /// Sends one frame to another address of the same server.
    pub(crate) async fn post_to(
        &self,
        url: Url,
        mut headers: HeaderMap,
        body: Vec<u8>,
    ) -> reqwest::Result<Response> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        self.send(Method::POST, url, headers, Some(body)).await
    }
}

/// Follows a redirect that keeps method and body, such as one to the same path with a slash. One to
/// another server could carry secret headers there.
fn follow_to_same_server(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_request = matches!(attempt.status().as_u16(), 307 | 308);
    let is_same = attempt.previous().first().is_some_and(|from| {
        let to = attempt.url();
        let is_upgrade = from.scheme() == "http" && to.scheme() == "https";
        let has_ports = from.port().is_some() || to.port().is_some();
        from.origin() == to.origin()
            || (is_upgrade && !has_ports && from.host_str() == to.host_str())
    });
    if keeps_request && is_same && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Says why a request failed, without the URL, which may hold a secret.
pub(crate) fn describe_error(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
