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
    registrations: Vec<Value>,
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
        "/as/register" => {
            let sent = serde_json::from_str(&text).unwrap();
            guarded.state.lock().unwrap().registrations.push(sent);
            (201, json!({"client_id": "c1"}))
        }
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

/// A listener in front of the server, and the authorization server that it names.
async fn relayed(guarded: &Guarded) -> (String, Value) {
    let upstream = Upstream::new(&guarded.url()).unwrap();
    let url = listen_with(upstream, ProxyOptions::default()).await;
    let own = url.trim_end_matches("/mcp").to_owned();
    let place = format!("{own}/.well-known/oauth-protected-resource/v1/mcp");
    let about = get_json(&place).await;
    assert_eq!(about["resource"], format!("{own}/v1/mcp"));
    let issuer = about["authorization_servers"][0].as_str().unwrap();
    let path = issuer.strip_prefix(&own).unwrap();
    let place = format!("{own}/.well-known/oauth-authorization-server{path}");
    let server = get_json(&place).await;
    assert_eq!(server["issuer"], issuer);
    (own, server)
}

fn without_redirects() -> reqwest::Client {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.build().unwrap()
}

/// Where the browser is sent from this address, as a page of another site would send it there.
async fn visit(address: Url) -> (u16, Option<Url>) {
    let visit = without_redirects().get(address);
    let answer = visit.header("sec-fetch-site", "cross-site").send().await;
    let answer = answer.unwrap();
    let place = answer.headers().get("location");
    let place = place.map(|place| Url::parse(place.to_str().unwrap()).unwrap());
    (answer.status().as_u16(), place)
}

fn with_query(address: &Value, query: &[(&str, &str)]) -> Url {
    Url::parse_with_params(address.as_str().unwrap(), query).unwrap()
}

const BACK: &str = "https://app.example/back?x=1";

/// Registers a client by the listener.
async fn register(guarded: &Guarded, server: &Value) {
    let callback = format!("{}/callback", server["issuer"].as_str().unwrap());
    let redirects = json!([BACK]);
    let place = server["registration_endpoint"].as_str().unwrap();
    let wanted = json!({"redirect_uris": redirects, "client_name": "n"});
    let client = without_redirects();
    let sent = client.post(place).body(wanted.to_string()).send();
    let answer: Value = serde_json::from_str(&sent.await.unwrap().text().await.unwrap()).unwrap();
    let expected = json!({"client_id": "c1", "redirect_uris": redirects});
    assert_eq!(answer, expected);
    let seen = guarded.state.lock().unwrap().registrations[0].clone();
    let expected = json!({"redirect_uris": [callback], "client_name": "n"});
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn client_of_a_listener_gets_a_token_for_the_server() {
    let supported = json!({"authorization_response_iss_parameter_supported": true});
    let guarded = Guarded::start(supported).await;
    let (own, server) = relayed(&guarded).await;
    // A signature names the address for which it is good.
    assert_eq!(
        server["token_endpoint_auth_methods_supported"],
        json!(["none"])
    );
    assert!(server.get("signed_metadata").is_none());
    let issuer = server["issuer"].as_str().unwrap();
    let callback = format!("{issuer}/callback");
    let client = without_redirects();

    register(&guarded, &server).await;

    let resource = format!("{own}/v1/mcp");
    let mut query = vec![
        ("client_id", "c1"),
        ("redirect_uri", BACK),
        ("state", "s t&u"),
        ("resource", &resource),
    ];
    let (status, place) = visit(with_query(&server["authorization_endpoint"], &query)).await;
    let place = place.unwrap();
    assert_eq!((status, place.path()), (302, "/as/authorize"));
    let asked = pairs(place.query().unwrap());
    assert_eq!(
        (&asked["resource"], &asked["redirect_uri"]),
        (&guarded.url(), &callback)
    );
    assert_eq!(asked["tenant"], "1");
    // Codes go where the client has registered, or to the user's own machine.
    query[1].1 = "https://evil.example/";
    let (status, _) = visit(with_query(&server["authorization_endpoint"], &query)).await;
    assert_eq!(status, 400);

    let real = format!("{}/as", guarded.origin);
    let answer = [("code", "c0de"), ("state", &asked["state"]), ("iss", &real)];
    let back = with_query(&json!(callback), &answer);
    let (status, place) = visit(back.clone()).await;
    let place = place.unwrap();
    assert_eq!((status, place.host_str()), (302, Some("app.example")));
    let got = pairs(place.query().unwrap());
    assert_eq!(
        (&*got["code"], &*got["state"], &*got["iss"]),
        ("c0de", "s t&u", issuer)
    );
    assert_eq!(got["x"], "1");
    // The same answer is not taken twice.
    assert_eq!(visit(back).await.0, 400);

    let form = [
        ("grant_type", "authorization_code"),
        ("code", "c0de"),
        ("code_verifier", "v+&="),
        ("redirect_uri", BACK),
        ("resource", &resource),
    ];
    let form = with_query(&json!("http://x"), &form);
    let token = server["token_endpoint"].as_str().unwrap();
    let sent = client
        .post(token)
        .body(form.query().unwrap().to_owned())
        .send();
    assert_eq!(sent.await.unwrap().status(), 200);
    let used = guarded.forms().pop().unwrap();
    assert_eq!(
        (&used["resource"], &used["redirect_uri"]),
        (&guarded.url(), &callback)
    );
    assert_eq!(used["code_verifier"], "v+&=");
}

#[tokio::test]
async fn answer_of_another_issuer_reaches_the_client_as_it_is() {
    let guarded = Guarded::start(json!({})).await;
    let (_, server) = relayed(&guarded).await;
    // A client that registered before the listener was started returns to the user's machine.
    let query = [
        ("client_id", "old"),
        ("redirect_uri", "http://127.0.0.1:9/back"),
    ];
    let (_, place) = visit(with_query(&server["authorization_endpoint"], &query)).await;
    let asked = pairs(place.unwrap().query().unwrap());
    let callback = json!(asked["redirect_uri"]);
    let answer = [
        ("error", "no"),
        ("state", &*asked["state"]),
        ("iss", "https://evil.example"),
    ];
    let (_, place) = visit(with_query(&callback, &answer)).await;
    let got = pairs(place.unwrap().query().unwrap());
    assert_eq!(
        (&*got["error"], &*got["iss"]),
        ("no", "https://evil.example")
    );
    assert!(!got.contains_key("state"));
}

#[tokio::test]
async fn refresh_after_a_restart_of_the_listener_finds_the_authorization_server() {
    let guarded = Guarded::start(json!({})).await;
    guarded.state.lock().unwrap().refresh = "r0".to_owned();
    let (own, server) = relayed(&guarded).await;
    let upstream = Upstream::new(&guarded.url()).unwrap();
    let later = listen_with(upstream, ProxyOptions::default()).await;
    let later = later.trim_end_matches("/mcp");
    let place = server["token_endpoint"].as_str().unwrap();
    let place = place.replace(&own, later);
    let resource = format!("{later}/v1/mcp");
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "r0"),
        ("resource", &resource),
    ];
    let form = with_query(&json!("http://x"), &form);
    let client = without_redirects();
    let sent = client
        .post(place)
        .body(form.query().unwrap().to_owned())
        .send();
    assert_eq!(sent.await.unwrap().status(), 200);
    assert_eq!(guarded.forms()[0]["resource"], guarded.url());
    let unknown = format!("{later}/login/0123456789abcdef/token");
    assert_eq!(client.post(unknown).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn listener_leaves_clients_to_servers_that_it_cannot_stand_in_for() {
    for metadata in [
        json!({"client_id_metadata_document_supported": true}),
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
