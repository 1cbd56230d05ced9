//! The page to which the authorization server sends the user's browser back.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use reqwest::Url;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

const PATH: &str = "/callback";

/// A listener on the loopback address that waits for the user's browser.
pub(super) struct RedirectPage {
    listener: TcpListener,
    address: String,
}

/// What the authorization server sends by the browser.
#[derive(Debug)]
pub(super) struct AuthorizationAnswer {
    /// The code, or why there is none.
    pub(super) code: Result<String, String>,
    pub(super) issuer: Option<String>,
}

struct Waiting {
    /// The secret that the answer must repeat.
    state: String,
    answers: mpsc::Sender<AuthorizationAnswer>,
}

impl RedirectPage {
    pub(super) async fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            address: format!("http://127.0.0.1:{port}{PATH}"),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the answer that repeats this secret. Others are refused, and do not end the login:
    /// any page that is open in the browser can send them.
    pub(super) async fn answer(
        self,
        state: &str,
        limit: Duration,
    ) -> Result<AuthorizationAnswer, String> {
        let (answers, mut next) = mpsc::channel(1);
        let state = std::sync::Arc::new(Waiting {
            state: state.to_owned(),
            answers,
        });
        let app = axum::Router::new().fallback(receive).with_state(state);
        let late = || "nobody has logged in in time".to_owned();
        tokio::select! {
            answer = timeout(limit, next.recv()) => answer.ok().flatten().ok_or_else(late),
            ended = axum::serve(self.listener, app) => {
                Err(ended.map_or_else(|error| error.to_string(), |()| late()))
            }
        }
    }
}

async fn receive(State(waiting): State<std::sync::Arc<Waiting>>, request: Request) -> Response {
    let refuse = |text: &'static str| (StatusCode::BAD_REQUEST, text).into_response();
    if request.uri().path() != PATH {
        return (StatusCode::NOT_FOUND, "there is nothing to see here").into_response();
    }
    let query = request.uri().query().unwrap_or_default();
    let Ok(url) = Url::parse(&format!("http://127.0.0.1/?{query}")) else {
        return refuse("this is not an answer to a login");
    };
    let mut values: HashMap<_, _> = url.query_pairs().into_owned().collect();
    if values.get("state") != Some(&waiting.state) {
        return refuse("this is not the answer to the login that was asked for");
    }
    let code = match (values.remove("code"), values.remove("error")) {
        (Some(code), None) => Ok(code),
        (_, Some(error)) => Err(match values.remove("error_description") {
            Some(text) => format!("the authorization server refused ({error}): {text}"),
            None => format!("the authorization server refused ({error})"),
        }),
        (None, None) => return refuse("the answer has neither a code nor an error"),
    };
    let text = match &code {
        Ok(_) => "goodcall has the answer. You can close this page.",
        Err(_) => "The login was refused. You can close this page.",
    };
    let issuer = values.remove("iss");
    // A second answer with the same secret is not wanted any more.
    let _ = waiting
        .answers
        .try_send(AuthorizationAnswer { code, issuer });
    text.into_response()
}
