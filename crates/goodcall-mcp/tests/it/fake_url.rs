//! A fake server behind a URL, and clients of the proxy in front of it.

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
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How the fake server answers calls.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AnswerStyle {
    #[default]
    Json,
    Events,
    /// Events whose lines end in `\r` alone.
    CarriageReturns,
    /// A stream that ends without the answer.
    CutStream,
    /// Events after a byte order mark, with one that is not a message.
    Pings,
    /// No answer to a call.
    Hang,
    /// A redirect to `/moved` on the same server.
    Redirect,
    /// A redirect to another server.
    Elsewhere,
}

/// A server that records its requests.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    pub(crate) seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
    /// The paths of requests without a message, with their headers.
    pub(crate) visited: Arc<Mutex<Vec<(String, HeaderMap)>>>,
    pub(crate) style: AnswerStyle,
    /// The calls that are not answered.
    pub(crate) open: Arc<Mutex<u32>>,
    /// The number of the only session that it knows.
    pub(crate) session: Arc<Mutex<u32>>,
}

/// A call that the fake server does not answer, until the request is closed.
pub(crate) struct OpenCall(Arc<Mutex<u32>>);

impl OpenCall {
    fn new(fake: &Fake) -> Self {
        *fake.open.lock().unwrap() += 1;
        Self(Arc::clone(&fake.open))
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

impl Fake {
    pub(crate) async fn start(style: AnswerStyle) -> (Self, SocketAddr) {
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

    pub(crate) fn requests(&self, method: &str) -> Vec<(HeaderMap, Value)> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|(_, body)| body["method"] == method)
            .cloned()
            .collect()
    }
}

/// The result of a request.
fn result_of(message: &Value) -> Value {
    match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        Some("tools/list") => json!({"ttlMs": 60000, "cacheScope": "public", "tools": [
            {"name": "region", "inputSchema": {"type": "object", "required": ["zone"], "properties": {
                "zone": {"type": "integer", "x-mcp-header": "Zone"},
                "name": {"type": "string", "x-mcp-header": "Name"}}}}]}),
        _ => json!({"content": [], "got": message["params"]["arguments"]}),
    }
}

/// The body with an answer.
fn body_of(call: bool, style: AnswerStyle, text: String) -> String {
    match (call, style) {
        (true, AnswerStyle::Events) => format!(
            ": hello\n\nid: 1\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\" }}\n\nevent: message\nid: 2\ndata: {text}\n\n"
        ),
        (true, AnswerStyle::CarriageReturns) => format!("id: 1\rdata: {text}\r\r: end\r\r"),
        (true, AnswerStyle::Pings) => {
            format!("\u{feff}event: ping\ndata: {{}}\n\ndata: {text}\n\n")
        }
        (true, AnswerStyle::CutStream) => {
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n".to_owned()
        }
        _ => text,
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
    let redirect = match fake.style {
        AnswerStyle::Redirect => "/moved",
        AnswerStyle::Elsewhere => "http://127.0.0.1:9/mcp",
        _ => "",
    };
    if !redirect.is_empty() && parts.uri.path() != "/moved" {
        let moved = Response::builder().status(307).header("location", redirect);
        return moved.body(Body::empty()).unwrap();
    }
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
    let result = result_of(&message);
    let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let call = message["method"] == "tools/call";
    if call && fake.style == AnswerStyle::Hang {
        let open = OpenCall::new(&fake);
        std::future::pending::<()>().await;
        drop(open);
    }
    let reply = Response::builder()
        .header("mcp-session-id", format!("s{number}"))
        .header("x-own", "kept");
    let events = reply.header(
        "content-type",
        if call && !matches!(fake.style, AnswerStyle::Json | AnswerStyle::Redirect) {
            "text/event-stream"
        } else {
            "application/json"
        },
    );
    let body = body_of(call, fake.style, text);
    events.body(Body::from(body)).unwrap()
}

/// Starts a listener in front of a fake server, and returns its URL.
pub(crate) async fn start_listener(style: AnswerStyle) -> (Fake, String) {
    let (fake, at) = Fake::start(style).await;
    (fake, listen_to(&format!("http://{at}/mcp")).await)
}

pub(crate) async fn listen_to(url: &str) -> String {
    let upstream = Upstream::new(url).unwrap();
    listen_with(upstream, ProxyOptions::default()).await
}

pub(crate) async fn listen_with(upstream: Upstream, options: ProxyOptions) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let log = Arc::new(ProxyLog::new().quiet());
    tokio::spawn(listen(listener, upstream, Arc::new(options), log));
    format!("http://{at}/mcp")
}

/// Sends one message, and returns the status, headers and body of the response.
pub(crate) async fn post(
    url: &str,
    headers: &[(&str, &str)],
    message: &Value,
) -> (u16, HeaderMap, String) {
    let client = reqwest::Client::new();
    let mut request = client.post(url).body(message.to_string()).timeout(PATIENCE);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.text().await.unwrap())
}

pub(crate) fn call(name: &str, arguments: &Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": meta}})
}

/// A client on pipes in front of a URL.
pub(crate) struct PipeClient {
    to: tokio::io::WriteHalf<tokio::io::DuplexStream>,
    from: tokio::io::Lines<BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>>,
}

impl PipeClient {
    pub(crate) fn start(url: &str) -> Self {
        Self::start_with(url, ProxyOptions::default())
    }

    pub(crate) fn start_with(url: &str, options: ProxyOptions) -> Self {
        let upstream = Upstream::new(url).unwrap();
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let log = Arc::new(ProxyLog::new().quiet());
            let pipes = tokio::io::split(far);
            bridge(
                upstream,
                Arc::new(options),
                log,
                pipes,
                std::future::pending(),
            )
            .await
        });
        let (from, to) = tokio::io::split(near);
        Self {
            to,
            from: BufReader::new(from).lines(),
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.to.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = timeout(PATIENCE, self.from.next_line()).await;
        serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap()
    }
}
