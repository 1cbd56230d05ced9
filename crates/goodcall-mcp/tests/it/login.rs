//! Logins by OAuth, against a fake authorization server.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use goodcall_mcp::{LoginOptions, LoginStore, ProxyOptions, Upstream, list_tools, log_in};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fake_url::{PATIENCE, listen_with};

/// A server that wants a token, and its authorization server at the same address below `/as`.
#[derive(Clone)]
struct Guarded {
    origin: String,
    state: Arc<Mutex<Tokens>>,
    /// Members that are added to the metadata of the authorization server; `null` removes one.
    metadata: Value,
}

#[derive(Default)]
struct Tokens {
    /// The only token that the server takes.
    access: String,
    refresh: String,
    /// How many tokens were issued.
    issued: u32,
    /// Seconds until a token expires.
    expires_in: u64,
    /// The forms of all requests for tokens, and the queries of the authorization endpoint.
    forms: Vec<HashMap<String, String>>,
    authorizations: Vec<HashMap<String, String>>,
}

fn pairs(text: &str) -> HashMap<String, String> {
    let url = Url::parse(&format!("http://x/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

impl Guarded {
    async fn start(metadata: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(Tokens {
            expires_in: 3600,
            ..Tokens::default()
        }));
        let guarded = Self {
            origin,
            state,
            metadata,
        };
        let app = axum::Router::new()
            .fallback(answer)
            .with_state(guarded.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        guarded
    }

    fn url(&self) -> String {
        format!("{}/v1/mcp", self.origin)
    }

    fn upstream(&self, store: &LoginStore) -> Upstream {
        let upstream = Upstream::new(&self.url()).unwrap();
        upstream.login_of(store).unwrap()
    }

    fn forms(&self) -> Vec<HashMap<String, String>> {
        self.state.lock().unwrap().forms.clone()
    }

    /// Logs in. `visit` makes of the address of the login the requests of a browser.
    async fn log_in(
        &self,
        store: &LoginStore,
        options: &LoginOptions,
        visit: fn(String) -> Vec<String>,
    ) -> Result<(), String> {
        let server = Upstream::new(&self.url()).unwrap();
        let browser = |address: &str| {
            let visits = visit(address.to_owned());
            tokio::spawn(async move {
                for address in visits {
                    let response = reqwest::Client::new().get(address).timeout(PATIENCE).send();
                    response.await.unwrap();
                }
            });
        };
        let done = log_in(&server, options, store, browser).await;
        done.map_err(|error| error.to_string())
    }

    /// The answer of the authorization server's metadata.
    fn about(&self) -> Value {
        let at = |path: &str| json!(format!("{}/as/{path}", self.origin));
        let mut document = json!({"issuer": format!("{}/as", self.origin),
            "authorization_endpoint": at("authorize?tenant=1"), "token_endpoint": at("token"),
            "registration_endpoint": at("register"), "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
            "scopes_supported": ["read", "offline_access"], "signed_metadata": "x"});
        for (key, value) in self.metadata.as_object().unwrap() {
            if value.is_null() {
                document.as_object_mut().unwrap().remove(key);
            } else {
                document[key] = value.clone();
            }
        }
        document
    }

    fn token(&self, form: HashMap<String, String>) -> (u16, Value) {
        let mut state = self.state.lock().unwrap();
        let is_right = match form["grant_type"].as_str() {
            "refresh_token" => form["refresh_token"] == state.refresh,
            "authorization_code" => form["code"] == "c0de" && form.contains_key("code_verifier"),
            _ => false,
        };
        state.forms.push(form);
        if !is_right {
            return (400, json!({"error": "invalid_grant"}));
        }
        state.issued += 1;
        state.access = format!("access{}", state.issued);
        // Every refresh token is good for one use.
        state.refresh = format!("refresh{}", state.issued);
        let answer = json!({"access_token": state.access, "refresh_token": state.refresh,
            "token_type": "Bearer", "expires_in": state.expires_in});
        (200, answer)
    }
}

async fn answer(State(guarded): State<Guarded>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let query = parts.uri.query().unwrap_or_default();
    let origin = &guarded.origin;
    let (status, answer) = match parts.uri.path() {
        "/.well-known/oauth-protected-resource/v1/mcp" => {
            let about = json!({"resource": guarded.url(), "scopes_supported": ["read"],
                "authorization_servers": [format!("{origin}/as")]});
            (200, about)
        }
        "/.well-known/oauth-authorization-server/as" => (200, guarded.about()),
        "/as/register" => (201, json!({"client_id": "c1"})),
        "/as/token" => guarded.token(pairs(&text)),
        "/as/authorize" => {
            let query = pairs(query);
            let back = format!(
                "{}?code=c0de&state={}",
                query["redirect_uri"], query["state"]
            );
            guarded.state.lock().unwrap().authorizations.push(query);
            let response = Response::builder().status(302).header("location", back);
            return response.body(Body::empty()).unwrap();
        }
        "/v1/mcp" => {
            let sent = parts
                .headers
                .get("authorization")
                .map(|v| v.to_str().unwrap());
            let wanted = format!("Bearer {}", guarded.state.lock().unwrap().access);
            if sent != Some(&wanted) {
                let response = Response::builder().status(401);
                let response = response.header("www-authenticate", "Bearer scope=\"read write\"");
                return response.body(Body::empty()).unwrap();
            }
            let message: Value = serde_json::from_str(&text).unwrap_or_default();
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "tools": []});
            (
                200,
                json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
            )
        }
        _ => (404, json!({})),
    };
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(answer.to_string()))
        .unwrap()
}

/// A file for logins that does not exist yet.
fn store(name: &str) -> (LoginStore, PathBuf) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let path = folder.join("logins.json");
    (LoginStore::new(&path), path)
}

fn plain_visit(address: String) -> Vec<String> {
    vec![address]
}

#[tokio::test]
async fn login_gets_a_token_for_the_server_and_keeps_it_private() {
    let guarded = Guarded::start(json!({})).await;
    let (store, path) = store("login-plain");
    let options = LoginOptions::default();
    guarded.log_in(&store, &options, plain_visit).await.unwrap();
    let asked = guarded.state.lock().unwrap().authorizations[0].clone();
    // The scopes of the challenge, and the one for a token that can be renewed.
    assert_eq!(asked["scope"], "read write offline_access");
    assert_eq!(asked["resource"], guarded.url());
    assert_eq!(asked["tenant"], "1");
    assert_eq!(
        (&*asked["client_id"], &*asked["code_challenge_method"]),
        ("c1", "S256")
    );
    let form = guarded.forms().remove(0);
    assert_eq!(
        (&*form["client_id"], &*form["resource"]),
        ("c1", &*guarded.url())
    );
    list_tools(guarded.upstream(&store)).await.unwrap();
    #[cfg(unix)]
    for file in fs::read_dir(path.parent().unwrap()).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let server = Upstream::new(&guarded.url()).unwrap();
    assert!(store.remove(&server).unwrap());
    assert!(!store.remove(&server).unwrap());
    assert!(list_tools(guarded.upstream(&store)).await.is_err());
    assert!(!fs::read_to_string(path).unwrap().contains("access1"));
}

#[tokio::test]
async fn answer_with_another_state_is_refused_and_does_not_end_the_login() {
    let guarded = Guarded::start(json!({})).await;
    let (store, _) = store("login-state");
    let visit = |address: String| {
        let redirect = pairs(address.split_once('?').unwrap().1)["redirect_uri"].clone();
        vec![
            format!("{redirect}?code=evil&state=guessed"),
            format!("{redirect}?code=evil"),
            address,
        ]
    };
    let done = guarded
        .log_in(&store, &LoginOptions::default(), visit)
        .await;
    done.unwrap();
    let codes: Vec<_> = guarded
        .forms()
        .iter()
        .map(|form| form["code"].clone())
        .collect();
    assert_eq!(codes, ["c0de"]);
}

#[tokio::test]
async fn login_is_refused_where_it_would_not_be_safe() {
    for (name, metadata, expected) in [
        (
            "issuer",
            json!({"issuer": "https://evil.example"}),
            "another issuer",
        ),
        (
            "pkce",
            json!({"code_challenge_methods_supported": null}),
            "PKCE",
        ),
        (
            "tls",
            json!({"token_endpoint": "http://a.example/token"}),
            "without TLS",
        ),
        (
            "register",
            json!({"registration_endpoint": null}),
            "--client-id",
        ),
        (
            "iss",
            json!({"authorization_response_iss_parameter_supported": true}),
            "another authorization server",
        ),
    ] {
        let guarded = Guarded::start(metadata).await;
        let (store, path) = store(&format!("login-{name}"));
        let done = guarded
            .log_in(&store, &LoginOptions::default(), plain_visit)
            .await;
        let error = done.unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(guarded.forms().is_empty() && !path.exists(), "{name}");
    }
}

#[tokio::test]
async fn client_that_is_registered_already_logs_in_without_a_registration() {
    let guarded = Guarded::start(json!({"registration_endpoint": null})).await;
    let (store, _) = store("login-client");
    let mut options = LoginOptions::default();
    options.client_id = Some("mine".to_owned());
    options.client_secret = Some("s3cr3t".to_owned());
    guarded.log_in(&store, &options, plain_visit).await.unwrap();
    let form = guarded.forms().remove(0);
    assert_eq!(
        (&*form["client_id"], &*form["client_secret"]),
        ("mine", "s3cr3t")
    );
}

#[tokio::test]
async fn user_who_refuses_ends_the_login() {
    let guarded = Guarded::start(json!({})).await;
    let (store, _) = store("login-refused");
    let visit = |address: String| {
        let query = pairs(address.split_once('?').unwrap().1);
        let (redirect, state) = (&query["redirect_uri"], &query["state"]);
        vec![format!("{redirect}?error=access_denied&state={state}")]
    };
    let done = guarded
        .log_in(&store, &LoginOptions::default(), visit)
        .await;
    let expected = "the authorization server refused (access_denied)";
    assert_eq!(done.unwrap_err(), expected);
}

#[tokio::test]
async fn token_that_expired_or_was_revoked_is_renewed_and_saved() {
    let guarded = Guarded::start(json!({})).await;
    let (store, path) = store("login-renewed");
    guarded.state.lock().unwrap().expires_in = 1;
    let options = LoginOptions::default();
    guarded.log_in(&store, &options, plain_visit).await.unwrap();
    guarded.state.lock().unwrap().expires_in = 3600;
    // The token has expired before its first use.
    list_tools(guarded.upstream(&store)).await.unwrap();
    let form = guarded.forms().pop().unwrap();
    assert_eq!(form["refresh_token"], "refresh1");
    assert_eq!(form["resource"], guarded.url());
    let saved = fs::read_to_string(&path).unwrap();
    assert!(
        saved.contains("access2") && saved.contains("refresh2"),
        "{saved}"
    );
    // The server refuses a token that should still be valid.
    let one = guarded.upstream(&store);
    let other = guarded.upstream(&store);
    guarded.state.lock().unwrap().access = "revoked".to_owned();
    list_tools(one).await.unwrap();
    assert_eq!(guarded.forms().len(), 3);
    // Another process finds the new token in the file, and does not use the refresh token twice.
    list_tools(other).await.unwrap();
    assert_eq!(guarded.forms().len(), 3);
    // Nothing helps when the refresh token is refused, too.
    {
        let mut state = guarded.state.lock().unwrap();
        state.access = "revoked".to_owned();
        state.refresh = "revoked".to_owned();
    }
    let error = list_tools(guarded.upstream(&store)).await.unwrap_err();
    assert!(error.to_string().contains("goodcall mcp login"), "{error}");
}

async fn get_json(url: &str) -> Value {
    let response = reqwest::get(url).await.unwrap();
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

#[tokio::test]
async fn client_of_a_listener_gets_a_token_for_the_server() {
    let guarded = Guarded::start(json!({})).await;
    let upstream = Upstream::new(&guarded.url()).unwrap();
    let url = listen_with(upstream, ProxyOptions::default()).await;
    let own = url.trim_end_matches("/mcp");
    let place = format!("{own}/.well-known/oauth-protected-resource/v1/mcp");
    let about = get_json(&place).await;
    assert_eq!(about["resource"], format!("{own}/v1/mcp"));
    let issuer = about["authorization_servers"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let key = issuer.strip_prefix(&format!("{own}/login/")).unwrap();
    let place = format!("{own}/.well-known/oauth-authorization-server/login/{key}");
    let server = get_json(&place).await;
    assert_eq!(server["issuer"], issuer);
    assert_eq!(
        server["registration_endpoint"],
        guarded.about()["registration_endpoint"]
    );
    // A signature names the address for which it is good.
    assert_eq!(
        server["token_endpoint_auth_methods_supported"],
        json!(["none"])
    );
    assert!(server.get("signed_metadata").is_none());

    let authorize = server["authorization_endpoint"].as_str().unwrap();
    let resource = format!("{own}/v1/mcp");
    let query = [
        ("redirect_uri", "http://127.0.0.1:9/back"),
        ("state", "s t&u"),
        ("resource", &resource),
    ];
    let address = Url::parse_with_params(authorize, query).unwrap();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.build().unwrap();
    // A browser says that it comes from another site when a page has sent it here.
    let visit = client.get(address).header("sec-fetch-site", "cross-site");
    let sent_on = visit.send().await.unwrap();
    assert_eq!(sent_on.status(), 302);
    let place = Url::parse(sent_on.headers()["location"].to_str().unwrap()).unwrap();
    assert_eq!(place.path(), "/as/authorize");
    let query = pairs(place.query().unwrap());
    assert_eq!(query["resource"], guarded.url());
    assert_eq!((&*query["tenant"], &*query["state"]), ("1", "s t&u"));

    let form = Url::parse_with_params(
        "http://x",
        [
            ("grant_type", "authorization_code"),
            ("code", "c0de"),
            ("code_verifier", "v+&="),
            ("resource", &resource),
        ],
    );
    let form = form.unwrap().query().unwrap().to_owned();
    // A listener that was started anew knows the client's address, too.
    let upstream = Upstream::new(&guarded.url()).unwrap();
    let later = listen_with(upstream, ProxyOptions::default()).await;
    let later = later.trim_end_matches("/mcp");
    for at in [own, later] {
        let token = format!("{at}/login/{key}/token");
        let form = form.replace(
            &own.replace(':', "%3A").replace('/', "%2F"),
            &at.replace(':', "%3A").replace('/', "%2F"),
        );
        let sent = client.post(token).body(form).send().await.unwrap();
        assert_eq!(sent.status(), 200);
        let used = guarded.forms().pop().unwrap();
        assert_eq!(
            (&used["resource"], &*used["code_verifier"]),
            (&guarded.url(), "v+&=")
        );
    }
    let unknown = format!("{own}/login/0123456789abcdef/token");
    assert_eq!(client.post(unknown).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn listener_leaves_clients_to_servers_that_it_cannot_stand_in_for() {
    for metadata in [
        json!({"authorization_response_iss_parameter_supported": true}),
        json!({"require_pushed_authorization_requests": true}),
        json!({"registration_endpoint": null}),
        json!({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}),
        json!({"issuer": "https://evil.example"}),
        json!({"token_endpoint": "http://a.example/token"}),
    ] {
        let guarded = Guarded::start(metadata.clone()).await;
        let upstream = Upstream::new(&guarded.url()).unwrap();
        let url = listen_with(upstream, ProxyOptions::default()).await;
        let own = url.trim_end_matches("/mcp");
        let place = format!("{own}/.well-known/oauth-protected-resource/v1/mcp");
        let about = get_json(&place).await;
        let issuer = format!("{}/as", guarded.origin);
        assert_eq!(
            about["authorization_servers"],
            json!([issuer]),
            "{metadata}"
        );
        assert_eq!(about["resource"], format!("{own}/v1/mcp"));
    }
}
