//! Streamable HTTP: what passes, what is rewritten, what is answered here.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use goodcall_mcp::{ProxyLog, ProxyOptions, Upstream, bridge_url, listen_url};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// No answer takes so long, also on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that keeps what it was sent.
#[derive(Clone, Default)]
struct Fake {
    seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    /// How it answers calls: `json`, `events`, `cut`.
    manner: Arc<Mutex<String>>,
    /// Sessions that it knows; the number is the next one's.
    session: Arc<Mutex<u32>>,
}

impl Fake {
    async fn start(manner: &str) -> (Self, SocketAddr) {
        let fake = Self::default();
        *fake.manner.lock().unwrap() = manner.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let app = axum::Router::new()
            .fallback(answer)
            .with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        (fake, at)
    }

    fn requests(&self, method: &str) -> Vec<(HeaderMap, Value)> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|(_, body)| body["method"] == method)
            .cloned()
            .collect()
    }
}

async fn answer(State(fake): State<Fake>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let plain = |status: u16| {
        Response::builder()
            .status(status)
            .body(Body::empty())
            .unwrap()
    };
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return plain(405);
    };
    fake.seen
        .lock()
        .unwrap()
        .push((parts.headers.clone(), message.clone()));
    let number = *fake.session.lock().unwrap();
    let sent = parts
        .headers
        .get("mcp-session-id")
        .map(|id| id.to_str().unwrap().to_owned());
    if sent.is_some_and(|sent| sent != format!("s{number}")) {
        return plain(404);
    }
    let id = &message["id"];
    if id.is_null() {
        return plain(202);
    }
    let result = match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        Some("tools/list") => json!({"ttlMs": 60000, "cacheScope": "public", "tools": [
            {"name": "region", "inputSchema": {"type": "object", "required": ["zone"], "properties": {
                "zone": {"type": "integer", "x-mcp-header": "Zone"},
                "name": {"type": "string", "x-mcp-header": "Name"}}}}]}),
        _ => json!({"content": [], "got": message["params"]["arguments"]}),
    };
    let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let manner = fake.manner.lock().unwrap().clone();
    let call = message["method"] == "tools/call";
    let reply = Response::builder()
        .header("mcp-session-id", format!("s{number}"))
        .header("x-own", "kept");
    let events = reply.header(
        "content-type",
        if call && manner != "json" {
            "text/event-stream"
        } else {
            "application/json"
        },
    );
    let body = match (call, manner.as_str()) {
        (true, "events") => format!(
            ": hello\n\nid: 1\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\" }}\n\nevent: message\nid: 2\ndata: {text}\n\n"
        ),
        (true, "cut") => {
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n".to_owned()
        }
        _ => text,
    };
    events.body(Body::from(body)).unwrap()
}

/// A relay in front of a fake server.
async fn relay(manner: &str) -> (Fake, String) {
    let (fake, at) = Fake::start(manner).await;
    (fake, relay_to(&format!("http://{at}/mcp")).await)
}

async fn relay_to(url: &str) -> String {
    let upstream = Upstream::new(url).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let log = Arc::new(ProxyLog::new().quiet());
    tokio::spawn(listen_url(
        listener,
        upstream,
        Arc::new(ProxyOptions::default()),
        log,
    ));
    format!("http://{at}/mcp")
}

/// Sends one message: status, headers, body.
async fn post(url: &str, headers: &[(&str, &str)], message: &Value) -> (u16, HeaderMap, String) {
    let client = reqwest::Client::new();
    let mut request = client.post(url).body(message.to_string()).timeout(PATIENCE);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.text().await.unwrap())
}

fn call(name: &str, arguments: &Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": meta}})
}

#[tokio::test]
async fn mirrored_headers_follow_a_mended_call() {
    let (fake, url) = relay("json").await;
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "Region"),
        ("mcp-param-zone", "seven"),
        ("authorization", "Bearer a"),
    ];
    let message = call("Region", &json!({"zone": "7", "name": "Zürich"}));
    let (status, answered, body) = post(&url, &headers, &message).await;
    assert_eq!(
        (status, &answered["x-own"]),
        (200, &"kept".parse().unwrap())
    );
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["result"]["got"]["zone"], 7);
    let rules: Vec<_> = body["result"]["_meta"]["goodcall/changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["rule"].clone())
        .collect();
    assert_eq!(rules, ["tool-name", "string-to-number"]);
    let (seen, sent) = fake.requests("tools/call").pop().unwrap();
    assert_eq!(sent["params"]["name"], "region");
    for (name, value) in [
        ("mcp-name", "region"),
        ("mcp-param-zone", "7"),
        ("authorization", "Bearer a"),
    ] {
        assert_eq!(seen[name], value);
    }
    assert_eq!(seen["mcp-param-name"], "=?base64?WsO8cmljaA==?=");
    // Our own request is one of the same client.
    let (list, asked) = fake.requests("tools/list").pop().unwrap();
    assert_eq!(
        (&list["mcp-method"], &list["authorization"]),
        (&"tools/list".parse().unwrap(), &"Bearer a".parse().unwrap())
    );
    assert!(!list.contains_key("mcp-name") && !list.contains_key("mcp-param-zone"));
    assert_eq!(
        asked["params"]["_meta"],
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    );
}

#[tokio::test]
async fn a_good_call_passes_as_it_is_and_a_bad_one_does_not() {
    let (fake, url) = relay("json").await;
    let good = call("region", &json!({"zone": 7}));
    let (_, _, body) = post(&url, &[], &good).await;
    assert!(!body.contains("goodcall"), "{body}");
    let (status, _, body) = post(&url, &[], &call("region", &json!({}))).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["result"]["isError"]), (200, &json!(true)));
    assert!(
        body["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("add zone: an integer")
    );
    assert_eq!(fake.requests("tools/call").len(), 1);
    assert_eq!(fake.requests("tools/call")[0].1, good);
}

#[tokio::test]
async fn a_list_that_everybody_may_see_is_asked_for_once() {
    let (fake, url) = relay("json").await;
    for bearer in ["Bearer a", "Bearer b", "Bearer a"] {
        let message = call("Region", &json!({"zone": "7"}));
        let (_, _, body) = post(&url, &[("authorization", bearer)], &message).await;
        assert!(body.contains("goodcall/changes"), "{body}");
    }
    assert_eq!(fake.requests("tools/list").len(), 1);
}

#[tokio::test]
async fn events_pass_byte_for_byte_but_for_the_answer() {
    let (_, url) = relay("events").await;
    let (_, headers, body) = post(&url, &[], &call("region", &json!({"zone": "7"}))).await;
    assert_eq!(headers["content-type"], "text/event-stream");
    let head = ": hello\n\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\" }\n\nevent: message\nid: 2\ndata: ";
    assert!(
        body.starts_with(head) && body.contains("goodcall/changes"),
        "{body}"
    );
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": 7}))).await;
    assert!(!body.contains("goodcall"), "{body}");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_answered_for() {
    let (_, url) = relay("cut").await;
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": 7}))).await;
    assert!(
        body.contains("notifications/x") && body.contains("\"id\":7,\"error\""),
        "{body}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_of() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let url = relay_to(&format!("http://{at}/mcp")).await;
    for message in [
        call("region", &json!({})),
        json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}),
    ] {
        let (status, _, body) = post(&url, &[], &message).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, &body["id"], &body["error"]["code"]),
            (502, &json!(7), &json!(-32000))
        );
    }
}

#[tokio::test]
async fn pages_of_foreign_sites_are_refused() {
    let (fake, url) = relay("json").await;
    let origin = [("origin", "https://evil.example")];
    let (status, _, _) = post(&url, &origin, &call("region", &json!({"zone": 7}))).await;
    assert_eq!(status, 403);
    assert!(fake.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_batch_is_judged_message_by_message() {
    let (fake, url) = relay("json").await;
    let mut bad = call("region", &json!({}));
    bad["id"] = json!(8);
    let (_, _, body) = post(&url, &[], &json!([bad])).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&body[0]["id"], &body[0]["result"]["isError"]),
        (&json!(8), &json!(true))
    );
    assert!(fake.requests("tools/call").is_empty());
}

#[tokio::test]
async fn a_client_on_pipes_has_a_session_and_gets_another_one_when_it_is_lost() {
    let (fake, at) = Fake::start("events").await;
    let upstream = Upstream::new(&format!("http://{at}/mcp"))
        .unwrap()
        .header("X-Key: k")
        .unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let session = tokio::spawn(async move {
        let log = Arc::new(ProxyLog::new().quiet());
        let pipes = tokio::io::split(far);
        bridge_url(
            &upstream,
            Arc::new(ProxyOptions::default()),
            log,
            pipes,
            std::future::pending(),
        )
        .await
        .unwrap()
    });
    let (from, mut to) = tokio::io::split(near);
    let mut lines = BufReader::new(from).lines();
    let mut answers: HashMap<String, Value> = HashMap::new();
    let initialize = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let (one, mut two) = (
        call("region", &json!({"zone": 1})),
        call("region", &json!({"zone": "2"})),
    );
    two["id"] = json!("two");
    for (index, message) in [initialize, ready, one, two].iter().enumerate() {
        if index == 3 {
            // The server forgets.
            *fake.session.lock().unwrap() += 1;
        }
        to.write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
        while message["id"] != Value::Null && !answers.contains_key(&message["id"].to_string()) {
            let line = timeout(PATIENCE, lines.next_line())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            answers.insert(answer["id"].to_string(), answer);
        }
    }
    assert_eq!(answers["7"]["result"]["got"]["zone"], 1);
    assert_eq!(answers["\"two\""]["result"]["got"]["zone"], 2);
    let (headers, _) = fake.requests("tools/call").pop().unwrap();
    assert_eq!(
        (&headers["mcp-session-id"], &headers["x-key"]),
        (&"s1".parse().unwrap(), &"k".parse().unwrap())
    );
    assert_eq!(
        (&headers["mcp-name"], &headers["mcp-param-zone"]),
        (&"region".parse().unwrap(), &"2".parse().unwrap())
    );
    assert_eq!(fake.requests("initialize").len(), 2);
    to.shutdown().await.unwrap();
    timeout(PATIENCE, session).await.unwrap().unwrap();
}
