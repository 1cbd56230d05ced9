//! The URL listener and the URL client in front of a fake server.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use goodcall_mcp::{ProxyLog, ProxyOptions, Upstream, bridge, listen};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// No answer takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the fake server answers calls.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum AnswerStyle {
    #[default]
    Json,
    Events,
    /// Events whose lines end in `\r` alone.
    CarriageReturns,
    /// A stream that ends without the answer.
    CutStream,
}

/// A server that records its requests.
#[derive(Clone, Default)]
struct Fake {
    seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    /// The paths of requests without a message, with their headers.
    visited: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    style: AnswerStyle,
    /// The number of the only session that it knows.
    session: Arc<Mutex<u32>>,
}

impl Fake {
    async fn start(style: AnswerStyle) -> (Self, SocketAddr) {
        let fake = Self {
            style,
            ..Self::default()
        };
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
        let visit = (parts.uri.to_string(), parts.headers);
        fake.visited.lock().unwrap().push(visit);
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
    let call = message["method"] == "tools/call";
    let reply = Response::builder()
        .header("mcp-session-id", format!("s{number}"))
        .header("x-own", "kept");
    let events = reply.header(
        "content-type",
        if call && fake.style != AnswerStyle::Json {
            "text/event-stream"
        } else {
            "application/json"
        },
    );
    let body = match (call, fake.style) {
        (true, AnswerStyle::Events) => format!(
            ": hello\n\nid: 1\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\" }}\n\nevent: message\nid: 2\ndata: {text}\n\n"
        ),
        (true, AnswerStyle::CarriageReturns) => format!("id: 1\rdata: {text}\r\r: end\r\r"),
        (true, AnswerStyle::CutStream) => {
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n".to_owned()
        }
        _ => text,
    };
    events.body(Body::from(body)).unwrap()
}

/// Starts a listener in front of a fake server, and returns its URL.
async fn start_listener(style: AnswerStyle) -> (Fake, String) {
    let (fake, at) = Fake::start(style).await;
    (fake, listen_to(&format!("http://{at}/mcp")).await)
}

async fn listen_to(url: &str) -> String {
    let upstream = Upstream::new(url).unwrap();
    listen_with(upstream, ProxyOptions::default()).await
}

async fn listen_with(upstream: Upstream, options: ProxyOptions) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let log = Arc::new(ProxyLog::new().quiet());
    tokio::spawn(listen(listener, upstream, Arc::new(options), log));
    format!("http://{at}/mcp")
}

/// Sends one message, and returns the status, headers and body of the response.
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
async fn mended_call_gets_mended_headers() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
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
    // The proxy's own request carries the credentials of the client.
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
async fn good_call_passes_unchanged_and_bad_call_does_not_pass() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
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
            .contains("add the missing zone (an integer)")
    );
    assert_eq!(fake.requests("tools/call").len(), 1);
    assert_eq!(fake.requests("tools/call")[0].1, good);
}

#[tokio::test]
async fn public_list_is_requested_once_for_all_clients() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    for bearer in ["Bearer a", "Bearer b", "Bearer a"] {
        let message = call("Region", &json!({"zone": "7"}));
        let (_, _, body) = post(&url, &[("authorization", bearer)], &message).await;
        assert!(body.contains("goodcall/changes"), "{body}");
    }
    assert_eq!(fake.requests("tools/list").len(), 1);
}

#[tokio::test]
async fn events_pass_byte_for_byte_except_the_answer() {
    let (_, url) = start_listener(AnswerStyle::Events).await;
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
async fn carriage_return_alone_ends_a_line_of_an_event() {
    let (_, url) = start_listener(AnswerStyle::CarriageReturns).await;
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": "7"}))).await;
    assert!(
        body.starts_with("id: 1\ndata: {") && body.contains("goodcall/changes"),
        "{body}"
    );
}

#[tokio::test]
async fn stream_that_ends_early_answers_open_calls_with_errors() {
    let (_, url) = start_listener(AnswerStyle::CutStream).await;
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": 7}))).await;
    assert!(
        body.contains("notifications/x") && body.contains("\"id\":7,\"error\""),
        "{body}"
    );
}

#[tokio::test]
async fn unreachable_server_is_an_error_per_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let url = listen_to(&format!("http://{at}/mcp")).await;
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
async fn request_from_another_site_is_refused() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    let origin = [("origin", "https://evil.example")];
    let (status, _, _) = post(&url, &origin, &call("region", &json!({"zone": 7}))).await;
    assert_eq!(status, 403);
    assert!(fake.seen.lock().unwrap().is_empty());
}

/// The status and headers of the response to a request without a body.
async fn request(method: &str, url: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap) {
    let client = reqwest::Client::new();
    let mut request = client.request(method.parse().unwrap(), url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.timeout(PATIENCE).send().await.unwrap();
    (response.status().as_u16(), response.headers().clone())
}

#[tokio::test]
async fn operators_header_reaches_the_endpoint_only() {
    let (fake, at) = Fake::start(AnswerStyle::Json).await;
    let upstream = Upstream::new(&format!("http://user:pass@{at}/mcp")).unwrap();
    let upstream = upstream.header("Authorization: Bearer s3cr3t").unwrap();
    let url = listen_with(upstream, ProxyOptions::default()).await;
    let root = url.trim_end_matches("/mcp");
    for path in ["/admin/delete?all=1", "/", "/mcp/../admin", "/mcpx"] {
        let (status, _) = request("GET", &format!("{root}{path}"), &[]).await;
        assert_eq!(status, 404, "{path}");
        let (status, _) = request("POST", &format!("{root}{path}"), &[]).await;
        assert_eq!(status, 404, "{path}");
    }
    // A picture in a page asks for the endpoint, too, but not for events.
    assert_eq!(request("GET", &url, &[]).await.0, 406);
    let cross = [
        ("accept", "text/event-stream"),
        ("sec-fetch-site", "cross-site"),
    ];
    assert_eq!(request("GET", &url, &cross).await.0, 403);
    assert!(fake.visited.lock().unwrap().is_empty());

    let metadata = format!("{root}/.well-known/oauth-protected-resource/mcp");
    request("GET", &metadata, &[]).await;
    let (path, headers) = fake.visited.lock().unwrap().pop().unwrap();
    assert_eq!(path, "/.well-known/oauth-protected-resource/mcp");
    assert!(!headers.contains_key("authorization"), "{headers:?}");
    request("GET", &url, &[("accept", "text/event-stream")]).await;
    let (_, headers) = fake.visited.lock().unwrap().pop().unwrap();
    assert_eq!(headers["authorization"], "Bearer s3cr3t");
}

#[tokio::test]
async fn listener_with_a_token_serves_nobody_without_it() {
    let (fake, at) = Fake::start(AnswerStyle::Json).await;
    let upstream = Upstream::new(&format!("http://{at}/mcp")).unwrap();
    let mut options = ProxyOptions::default();
    options.listen.token = Some("t0ken".to_owned());
    let url = listen_with(upstream, options).await;
    let message = call("region", &json!({"zone": 7}));
    for wrong in ["Bearer t0kem", "Bearer t0ken2", "Basic t0ken", "t0ken"] {
        let (status, headers, _) = post(&url, &[("authorization", wrong)], &message).await;
        assert_eq!(
            (status, &headers["www-authenticate"]),
            (401, &"Bearer".parse().unwrap())
        );
    }
    assert_eq!(post(&url, &[], &message).await.0, 401);
    assert!(fake.seen.lock().unwrap().is_empty());
    let (status, _, _) = post(&url, &[("authorization", "bearer t0ken")], &message).await;
    assert_eq!(status, 200);
    // The token is not sent to the server.
    let (seen, _) = fake.requests("tools/call").pop().unwrap();
    assert!(!seen.contains_key("authorization"));
}

#[tokio::test]
async fn pages_and_names_are_served_if_the_operator_allows_them() {
    let (_, at) = Fake::start(AnswerStyle::Json).await;
    let upstream = Upstream::new(&format!("http://{at}/mcp")).unwrap();
    let mut options = ProxyOptions::default();
    options.listen.hosts = vec!["box.example".to_owned()];
    options.listen.origins = vec!["https://app.example".to_owned()];
    let url = listen_with(upstream, options).await;
    let message = call("region", &json!({"zone": 7}));
    let page = [
        ("origin", "https://app.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    let (status, headers, _) = post(&url, &page, &message).await;
    assert_eq!(status, 200);
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    let asks = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "content-type, mcp-session-id",
        ),
    ];
    let (status, headers) = request("OPTIONS", &url, &asks).await;
    assert_eq!(status, 204);
    assert_eq!(
        headers["access-control-allow-headers"],
        "content-type, mcp-session-id"
    );
    let other = [("origin", "https://app.example.evil")];
    assert_eq!(post(&url, &other, &message).await.0, 403);
    assert_eq!(request("OPTIONS", &url, &other).await.0, 403);
    for (host, status) in [
        ("box.example:80", 200),
        ("BOX.example", 200),
        ("evil.example", 403),
    ] {
        assert_eq!(
            post(&url, &[("host", host)], &message).await.0,
            status,
            "{host}"
        );
    }
}

#[tokio::test]
async fn batch_is_judged_message_by_message() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
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
async fn client_on_pipes_gets_a_new_session_when_the_server_forgets_it() {
    let (fake, at) = Fake::start(AnswerStyle::Events).await;
    let upstream = Upstream::new(&format!("http://{at}/mcp"))
        .unwrap()
        .header("X-Key: k")
        .unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let session = tokio::spawn(async move {
        let log = Arc::new(ProxyLog::new().quiet());
        let pipes = tokio::io::split(far);
        bridge(
            upstream,
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
            // The server forgets the session.
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
