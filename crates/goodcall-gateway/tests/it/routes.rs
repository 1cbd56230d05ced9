//! Routes to several upstreams, policies of single models, and keys of clients.

use std::net::SocketAddr;
use std::path::PathBuf;

use goodcall_core::{Policies, Policy};
use goodcall_gateway::{Gateway, GatewayConfig, RouteConfig};
use sha2::{Digest, Sha256};

use crate::support::*;

fn to(address: SocketAddr) -> GatewayConfig {
    GatewayConfig::new(&format!("http://{address}")).unwrap()
}

async fn ask(address: SocketAddr, path: &str, headers: &str) -> Reply {
    let client = Client::send(address, "POST", path, headers, chat(false)).await;
    client.end().await
}

#[tokio::test]
async fn each_route_has_its_upstream_its_policy_its_reasks_and_its_headers() {
    let (rest, one, two) = (
        Upstream::default(),
        Upstream::default(),
        Upstream::default(),
    );
    for upstream in [&rest, &one, &two] {
        upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    }
    let (one_at, two_at) = (one.start().await, two.start().await);
    let running = gateway(rest.start().await, |config| {
        let mut own = to(one_at);
        own.relay.policies = Policies::new(Policy::strict());
        own.relay.reasks = 0;
        own.upstream.headers = vec![("authorization".to_owned(), "Bearer own".to_owned())];
        let longer = RouteConfig::new("longer", "/one/more", to(two_at));
        config.upstream.routes = vec![RouteConfig::new("one", "/one", own), longer];
    })
    .await;
    let address = running.address;
    let path = format!("/one{CHAT}?api-version=7");
    let reply = ask(address, &path, "authorization: Bearer client\r\n").await;
    let verdict = "good=0 mended=0 bad=1 reasked=0";
    assert_eq!(reply.header("goodcall-verdict"), Some(verdict));
    let request = &one.requests()[0];
    assert!(
        request.starts_with(&format!("POST {CHAT}?api-version=7 ")),
        "{request}"
    );
    assert!(
        request.contains("authorization: Bearer own\r\n"),
        "{request}"
    );
    assert!(!request.contains("Bearer client"), "{request}");

    let mended = Some("good=0 mended=1 bad=0 reasked=0");
    let reply = ask(address, &format!("/one/more{CHAT}"), "").await;
    assert_eq!(
        reply.header("goodcall-verdict"),
        mended,
        "the longer prefix is the closer one"
    );
    // A path that only begins like a route is not below it.
    let reply = ask(address, &format!("/onemore{CHAT}"), "").await;
    assert_eq!(reply.header("goodcall-verdict"), mended);
    assert!(rest.requests()[0].starts_with(&format!("POST /onemore{CHAT} ")));

    let metrics = get(address, "/metrics").await.body;
    for line in [
        r#"goodcall_calls_total{tool="f",verdict="bad",model="m",route="one"} 1"#,
        r#"goodcall_outcomes_total{outcome="mended",model="m",route="longer"} 1"#,
        r#"goodcall_requests_total{protocol="openai",status="200",model="m"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn host_chooses_a_route_and_a_request_without_one_is_refused() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    let address = upstream.start().await;
    let running = gateway(address, |config| {
        let mut route = RouteConfig::new("models", "", to(address));
        route.host = Some("Models.example".to_owned());
        config.upstream.routes = vec![route];
        config.upstream.takes_rest = false;
    })
    .await;
    let reply = ask(running.address, CHAT, "").await;
    assert_eq!(reply.status, 404);
    assert!(
        reply.body.contains(r#""code":"no_route""#),
        "{}",
        reply.body
    );
    let uri = format!("http://models.example:8787{CHAT}");
    let reply = ask(running.address, &uri, "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn routes_are_reloaded_and_unusable_ones_are_refused() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    let address = upstream.start().await;
    let running = gateway(([127, 0, 0, 1], 9).into(), |_| {}).await;
    let mut config = to(([127, 0, 0, 1], 9).into());
    config.upstream.routes = vec![RouteConfig::new("new", "/new", to(address))];
    running.gateway.reload(config).unwrap();
    let reply = ask(running.address, &format!("/new{CHAT}"), "").await;
    assert_eq!(reply.status, 200);
    for (prefix, text) in [
        (
            "new",
            "routes.new: the prefix `new` does not begin with a slash",
        ),
        (
            "/",
            "routes.new: expected a prefix such as `/new`, or a host",
        ),
    ] {
        let mut config = to(address);
        config.upstream.routes = vec![RouteConfig::new("new", prefix, to(address))];
        assert_eq!(Gateway::new(config).unwrap_err().to_string(), text);
    }
}

#[tokio::test]
async fn model_has_a_policy_of_its_own() {
    let upstream = Upstream::default();
    for _ in 0..3 {
        upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    }
    let running = gateway(upstream.start().await, |config| {
        config.relay.reasks = 0;
        config.relay.policies = Policies::new(Policy::strict());
        let safe = Policies::new(Policy::safe());
        config.upstream.models = vec![("small-*".to_owned(), safe)];
    })
    .await;
    for (model, verdict, observe) in [
        ("large", "good=0 mended=0 bad=1 reasked=0", false),
        ("small-7b", "good=0 mended=1 bad=0 reasked=0", false),
    ] {
        let body = chat(observe).replace(r#""model":"m""#, &format!(r#""model":"{model}""#));
        let reply = post(running.address, CHAT, &body).await;
        assert_eq!(reply.header("goodcall-verdict"), Some(verdict), "{model}");
    }
}

/// A route has policies for its models and its tools, whatever those of the gateway are.
#[tokio::test]
async fn route_has_policies_of_its_own_for_models_and_tools() {
    let upstream = Upstream::default();
    for _ in 0..4 {
        upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    }
    let at = upstream.start().await;
    let running = gateway(at, |config| {
        config.relay.reasks = 0;
        let mut own = to(at);
        own.relay.reasks = 0;
        own.relay.policies = Policies::new(Policy::safe()).tool("f", &Policy::strict());
        own.upstream.models = vec![("small".to_owned(), Policies::new(Policy::safe()))];
        config.upstream.routes = vec![RouteConfig::new("one", "/one", own)];
    })
    .await;
    let (mended, bad) = (
        Some("good=0 mended=1 bad=0 reasked=0"),
        Some("good=0 mended=0 bad=1 reasked=0"),
    );
    for (path, model, verdict) in [
        (CHAT.to_owned(), "m", mended),
        (format!("/one{CHAT}"), "m", bad),
        (format!("/one{CHAT}"), "small", mended),
        (CHAT.to_owned(), "small", mended),
    ] {
        let body = chat(false).replace(r#""model":"m""#, &format!(r#""model":"{model}""#));
        let reply = post(running.address, &path, &body).await;
        assert_eq!(reply.header("goodcall-verdict"), verdict, "{path} {model}");
    }
}

/// A file with the keys of clients, which is removed with this.
struct KeyFile(PathBuf);

impl KeyFile {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("goodcall-keys-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn digest(key: &str) -> String {
    let bytes = Sha256::digest(key.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn clients_need_a_key_and_are_named_in_the_metrics() {
    let upstream = Upstream::default();
    for _ in 0..3 {
        upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    }
    let lines = format!(
        "# keys\nada:{}\n\nteam: search:{}\n",
        digest("k-ada"),
        digest("k-team")
    );
    let file = KeyFile::new("some", &lines);
    let path = file.0.clone();
    let running = gateway(upstream.start().await, move |config| {
        config.listener.client_keys = Some(path);
    })
    .await;
    let address = running.address;
    for headers in [
        "",
        "authorization: Bearer wrong\r\n",
        "goodcall-key: wrong\r\nx-api-key: k-ada\r\n",
    ] {
        let reply = ask(address, CHAT, headers).await;
        assert_eq!(reply.status, 401, "{headers}");
        assert!(
            reply.body.contains(r#""code":"client_unknown""#),
            "{}",
            reply.body
        );
    }
    assert!(upstream.requests().is_empty());
    for headers in [
        "authorization: Bearer k-ada\r\n",
        "x-api-key: k-team\r\n",
        "goodcall-key: k-ada\r\nauthorization: Bearer provider\r\n",
    ] {
        assert_eq!(ask(address, CHAT, headers).await.status, 200, "{headers}");
    }
    let requests = upstream.requests();
    assert!(
        requests
            .iter()
            .all(|request| !request.contains("k-ada") && !request.contains("k-team"))
    );
    assert!(requests[2].contains("authorization: Bearer provider\r\n"));
    let metrics = get(address, "/metrics").await.body;
    for line in [
        r#"goodcall_requests_total{protocol="openai",status="200",model="m",client="ada"} 2"#,
        r#"goodcall_tokens_total{kind="input",model="m",client="team: search"} 5"#,
        r#"goodcall_outcomes_total{outcome="good",model="m",client="ada"} 2"#,
        // Those of tools have no client, of whom there may be many.
        r#"goodcall_calls_total{tool="f",verdict="good",model="m"} 3"#,
        r#"goodcall_errors_total{code="client_unknown"} 3"#,
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[test]
fn unusable_key_file_is_refused_without_showing_its_line() {
    let file = KeyFile::new("broken", "ada:not-hashed-secret\n");
    let mut config = to(([127, 0, 0, 1], 9).into());
    config.listener.client_keys = Some(file.0.clone());
    let error = Gateway::new(config).unwrap_err().to_string();
    assert!(
        error.contains("line 1: expected a name, a colon and 64 hexadecimal digits"),
        "{error}"
    );
    assert!(!error.contains("not-hashed-secret"), "{error}");
}

#[test]
fn key_file_without_keys_is_refused() {
    let file = KeyFile::new("empty", "# nobody yet\n");
    let mut config = to(([127, 0, 0, 1], 9).into());
    config.listener.client_keys = Some(file.0.clone());
    let error = Gateway::new(config).unwrap_err().to_string();
    assert!(error.contains("every client would be refused"), "{error}");
}

#[tokio::test]
async fn page_has_route_client_outcome_and_what_the_model_read() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    let file = KeyFile::new("page", &format!("ada:{}\n", digest("k-ada")));
    let (path, at) = (file.0.clone(), upstream.start().await);
    let running = gateway(at, move |config| {
        config.listener.client_keys = Some(path);
        config.store.arguments = true;
        config.upstream.routes = vec![RouteConfig::new("one", "/one", to(at))];
    })
    .await;
    let headers = "authorization: Bearer k-ada\r\n";
    let reply = ask(running.address, &format!("/one{CHAT}"), headers).await;
    assert_eq!(reply.status, 200);
    let data = get(running.address, "/goodcall/requests").await.body;
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let request = &data["requests"][0];
    for (key, value) in [
        ("route", "one"),
        ("client", "ada"),
        ("model", "m"),
        ("protocol", "openai"),
        ("outcome", "cured"),
    ] {
        assert_eq!(request[key], value, "{request}");
    }
    assert_eq!(
        (&request["status"], &request["reasked"]),
        (&200.into(), &1.into())
    );
    // The tokens of both replies, and those of the one that was asked for again.
    assert_eq!(
        (&request["input_tokens"], &request["reask_input_tokens"]),
        (&10.into(), &5.into()),
        "{request}"
    );
    let (bad, mended) = (&request["calls"][0], &request["calls"][1]);
    assert_eq!(bad["arguments"], "{}");
    let told = bad["told"].as_str().unwrap();
    let asked = &upstream.requests()[1];
    assert!(told.contains("missing a"), "{told}");
    assert!(asked.contains("missing a"), "the model read it: {asked}");
    assert_eq!(
        (&mended["arguments"], &mended["passed"]),
        (&r#"{"a": "1"}"#.into(), &r#"{"a":1}"#.into())
    );
}
