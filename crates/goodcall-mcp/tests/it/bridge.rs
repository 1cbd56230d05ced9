//! The bridge and the process listener with real pipes and a real process.

use std::sync::Arc;
use std::time::Duration;

use goodcall_mcp::{BridgeEnd, McpServer, ProxyLog, ProxyOptions, ServerCommand, bridge, listen};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// No answer takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    to: Option<WriteHalf<DuplexStream>>,
    from: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    stop: Option<oneshot::Sender<()>>,
    session: JoinHandle<BridgeEnd>,
}

/// The example `fake_server`, which cargo builds together with the tests.
pub(crate) fn fake_server(mode: &str) -> ServerCommand {
    let tests = std::env::current_exe().unwrap();
    let target = tests.parent().unwrap().parent().unwrap();
    let path = target.join("examples/fake_server");
    assert!(path.exists(), "{}: build the examples", path.display());
    ServerCommand::new(path, [mode.into()])
}

impl Client {
    async fn start(mode: &str, change: impl FnOnce(&mut ProxyOptions)) -> Self {
        let mut options = ProxyOptions::default();
        change(&mut options);
        Self::start_with(fake_server(mode), options).await
    }

    pub(crate) async fn start_with(server: impl Into<McpServer>, options: ProxyOptions) -> Self {
        let server = server.into();
        let (near, far) = tokio::io::duplex(1 << 16);
        let (stop, stopped) = oneshot::channel::<()>();
        let session = tokio::spawn(async move {
            let log = Arc::new(ProxyLog::new().quiet());
            let pipes = tokio::io::split(far);
            let stopped = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            bridge(server, Arc::new(options), log, pipes, stopped)
                .await
                .unwrap()
        });
        let (from, to) = tokio::io::split(near);
        Self {
            to: Some(to),
            from: BufReader::new(from).lines(),
            stop: Some(stop),
            session,
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.to
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .await
            .unwrap();
    }

    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await;
    }

    /// Closes the client's side.
    async fn close(&mut self) {
        self.to.take().unwrap().shutdown().await.unwrap();
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.from.next_line())
            .await
            .unwrap()
            .unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn end(self) -> BridgeEnd {
        timeout(PATIENCE, self.session).await.unwrap().unwrap()
    }
}

fn is_running(pid: u64) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn many_calls_in_flight_are_all_answered() {
    let mut client = Client::start("plain", |_| {}).await;
    for id in 0..300_u64 {
        let arguments = if id % 3 == 0 {
            json!({"n": id.to_string()})
        } else {
            json!({"n": id})
        };
        client.call(id, "echo", arguments).await;
    }
    let mut seen = vec![false; 300];
    for _ in 0..300 {
        let answer = client.next().await.unwrap();
        let id = answer["id"].as_u64().unwrap();
        assert_eq!(answer["result"]["got"]["n"], id);
        assert_eq!(
            answer["result"]["_meta"].is_object(),
            id % 3 == 0,
            "{answer}"
        );
        assert!(!std::mem::replace(&mut seen[id as usize], true));
    }
    client.close().await;
    assert_eq!(client.next().await, None);
    assert_eq!(client.end().await, BridgeEnd::Client);
}

#[tokio::test]
async fn requests_before_the_end_of_input_are_answered() {
    let mut client = Client::start("plain", |_| {}).await;
    client.call(1, "echo", json!({"n": 1})).await;
    client.close().await;
    assert_eq!(client.next().await.unwrap()["result"]["got"]["n"], 1);
    assert_eq!(client.end().await, BridgeEnd::Client);
}

#[tokio::test]
async fn exit_of_the_server_answers_open_requests_and_ends_the_session() {
    let mut client = Client::start("plain", |_| {}).await;
    client.call(1, "hang", json!({})).await;
    client.call(2, "die", json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = client.next().await.unwrap();
        assert_eq!(answer["error"]["code"], -32000, "{answer}");
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("exit status: 3")
        );
        ids.push(answer["id"].as_u64().unwrap());
    }
    ids.sort();
    assert_eq!(ids, [1, 2]);
    assert_eq!(client.next().await, None);
    assert_eq!(client.end().await, BridgeEnd::Server);
}

#[tokio::test]
async fn exited_server_is_restarted_for_the_next_request() {
    let mut client = Client::start("plain", |options| options.restart = true).await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}))
        .await;
    assert!(client.next().await.unwrap()["result"].is_object());
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    for round in 1..3_u64 {
        client.call(round * 10, "die", json!({})).await;
        assert_eq!(client.next().await.unwrap()["error"]["code"], -32000);
        client.call(round * 10 + 1, "echo", json!({"n": "7"})).await;
        assert_eq!(client.next().await.unwrap()["result"]["got"]["n"], 7);
    }
    client.close().await;
    assert_eq!(client.end().await, BridgeEnd::Client);
}

#[tokio::test]
async fn call_that_hangs_times_out_and_others_are_answered() {
    let limit = Some(Duration::from_millis(300));
    let mut client = Client::start("plain", |options| options.calls.time_limit = limit).await;
    client.call(1, "hang", json!({})).await;
    let answer = client.next().await.unwrap();
    assert_eq!(answer["error"]["code"], -32001);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}))
        .await;
    assert_eq!(client.next().await.unwrap()["id"], 2);
}

#[tokio::test]
async fn junk_is_dropped_and_line_of_50_megabytes_arrives() {
    let mut client = Client::start("junk", |_| {}).await;
    client.call(1, "big", json!({})).await;
    let answer = client.next().await.unwrap();
    assert_eq!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .len(),
        50 << 20
    );
    client.call(2, "echo", json!({"n": 2})).await;
    assert_eq!(client.next().await.unwrap()["result"]["got"]["n"], 2);
}

#[tokio::test]
async fn request_with_oversized_answer_gets_an_error() {
    let mut client = Client::start("plain", |options| options.max_frame = 1 << 20).await;
    client.call(1, "big", json!({})).await;
    let answer = client.next().await.unwrap();
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("exceeds the limit"),
        "{answer}"
    );
    client.call(2, "echo", json!({"n": 2})).await;
    assert_eq!(client.next().await.unwrap()["result"]["got"]["n"], 2);
}

#[tokio::test]
async fn server_that_ignores_the_end_of_input_is_killed() {
    let mut client = Client::start("stubborn", |_| {}).await;
    client.call(1, "pid", json!({})).await;
    let pid = client.next().await.unwrap()["result"]["pid"]
        .as_u64()
        .unwrap();
    assert!(is_running(pid));
    client.close().await;
    assert_eq!(client.next().await, None);
    assert_eq!(client.end().await, BridgeEnd::Client);
    assert!(!is_running(pid));
}

#[tokio::test]
async fn stop_ends_server_and_session() {
    let mut client = Client::start("stubborn", |_| {}).await;
    client.call(1, "pid", json!({})).await;
    let pid = client.next().await.unwrap()["result"]["pid"]
        .as_u64()
        .unwrap();
    client.call(2, "hang", json!({})).await;
    client.stop.take().unwrap().send(()).unwrap();
    assert_eq!(client.end().await, BridgeEnd::Asked);
    assert!(!is_running(pid));
}

#[tokio::test]
async fn disappearance_of_the_client_ends_the_session() {
    let mut client = Client::start("plain", |_| {}).await;
    client.call(1, "pid", json!({})).await;
    let pid = client.next().await.unwrap()["result"]["pid"]
        .as_u64()
        .unwrap();
    let Client {
        to,
        from,
        session,
        stop,
        ..
    } = client;
    drop((to, from));
    assert_eq!(
        timeout(PATIENCE, session).await.unwrap().unwrap(),
        BridgeEnd::Client
    );
    drop(stop);
    assert!(!is_running(pid));
}

#[tokio::test]
async fn missing_program_is_a_start_error() {
    let command = ServerCommand::new("no-such-server", []);
    let pipes = (tokio::io::empty(), tokio::io::sink());
    let log = Arc::new(ProxyLog::new().quiet());
    let ended = bridge(
        command,
        Arc::new(ProxyOptions::default()),
        log,
        pipes,
        std::future::pending(),
    )
    .await;
    let error = ended.unwrap_err().to_string();
    assert!(
        error.starts_with("the server `no-such-server` cannot be started"),
        "{error}"
    );
}

/// Starts a listener in front of the fake server, and returns its URL.
async fn start_listener() -> String {
    listen_to(fake_server("plain"), |_| {}).await
}

async fn listen_to(server: ServerCommand, change: impl FnOnce(&mut ProxyOptions)) -> String {
    // For the client. It fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let mut options = ProxyOptions::default();
    change(&mut options);
    tokio::spawn(async move {
        let log = Arc::new(ProxyLog::new().quiet());
        listen(listener, server, Arc::new(options), log).await
    });
    format!("http://{at}/mcp")
}

/// Sends one message, and returns the status, the session and the last message that comes back.
async fn post(url: &str, session: Option<&str>, message: &Value) -> (u16, Option<String>, Value) {
    let mut request = reqwest::Client::new()
        .post(url)
        .body(message.to_string())
        .timeout(PATIENCE);
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    if let Some(version) =
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str()
    {
        request = request.header("mcp-protocol-version", version);
        request = request.header("mcp-method", message["method"].as_str().unwrap());
        if let Some(name) = message["params"]["name"].as_str() {
            request = request.header("mcp-name", name);
        }
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let session = response
        .headers()
        .get("mcp-session-id")
        .map(|id| id.to_str().unwrap().to_owned());
    let text = response.text().await.unwrap();
    let last = text
        .lines()
        .rfind(|line| line.contains('{'))
        .unwrap_or_default();
    let last = last.strip_prefix("data: ").unwrap_or(last);
    (
        status,
        session,
        serde_json::from_str(last).unwrap_or_default(),
    )
}

#[tokio::test]
async fn each_http_session_has_its_own_process() {
    let url = start_listener().await;
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let pid = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "PID"}});
    let mut pids = Vec::new();
    for _ in 0..2 {
        let (status, session, answer) = post(&url, None, &open).await;
        assert!(status == 200 && answer["result"].is_object(), "{answer}");
        let session = session.unwrap();
        let (_, _, answer) = post(&url, Some(&session), &pid).await;
        assert!(
            answer["result"]["_meta"]["goodcall/changes"].is_array(),
            "{answer}"
        );
        pids.push((session, answer["result"]["pid"].as_u64().unwrap()));
    }
    assert_ne!(pids[0].1, pids[1].1);
    for (session, pid) in pids {
        let ended = reqwest::Client::new()
            .delete(&url)
            .header("mcp-session-id", &session);
        assert_eq!(ended.send().await.unwrap().status(), 200);
        let gone = async {
            while is_running(pid) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, gone).await.unwrap();
        let (status, _, _) = post(&url, Some(&session), &open).await;
        assert_eq!(status, 404);
    }
    let (status, _, _) = post(&url, None, &pid).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn requests_without_session_share_a_process_and_keep_their_ids() {
    let url = start_listener().await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let ask = |n: u64| {
        let params = json!({"name": "echo", "arguments": {"n": n}, "_meta": meta});
        let message =
            json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params});
        let url = url.clone();
        tokio::spawn(async move { (n, post(&url, None, &message).await) })
    };
    let asked: Vec<_> = (0..20).map(ask).collect();
    for one in asked {
        let (n, (status, _, answer)) = one.await.unwrap();
        assert_eq!(
            (status, &answer["id"], &answer["result"]["got"]["n"]),
            (200, &json!("same"), &json!(n))
        );
    }
}

#[tokio::test]
async fn program_that_cannot_start_is_an_error_for_the_request() {
    let url = listen_to(ServerCommand::new("no-such-server", []), |_| {}).await;
    let open = json!({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {}});
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"_meta": meta}});
    for message in [open, ping] {
        let (status, session, answer) = post(&url, None, &message).await;
        assert_eq!((status, session), (502, None));
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(5), &json!(-32000))
        );
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("no-such-server"), "{text}");
    }
}

#[tokio::test]
async fn session_that_nobody_uses_is_ended() {
    let idle = Duration::from_secs(5);
    let url = listen_to(fake_server("plain"), |options| {
        options.listen.session_idle = idle;
    })
    .await;
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let pid = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pid"}});
    let (_, session, _) = post(&url, None, &open).await;
    let (_, _, answer) = post(&url, session.as_deref(), &pid).await;
    let first = answer["result"]["pid"].as_u64().unwrap();
    let gone = async {
        while is_running(first) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, gone).await.unwrap();
    assert_eq!(post(&url, session.as_deref(), &pid).await.0, 404);
}

#[tokio::test]
async fn sessions_beyond_the_limit_are_refused() {
    let url = listen_to(fake_server("plain"), |options| {
        options.listen.max_sessions = 2;
    })
    .await;
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    for status in [200, 200, 503] {
        assert_eq!(post(&url, None, &open).await.0, status);
    }
}

#[tokio::test]
async fn answer_without_notifications_is_plain_json() {
    let url = start_listener().await;
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let (_, session, _) = post(&url, None, &open).await;
    let echo =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}});
    let response = reqwest::Client::new()
        .post(&url)
        .header("mcp-session-id", session.unwrap())
        .body(echo.to_string())
        .timeout(PATIENCE)
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    assert_eq!(answer["id"], 1);
}

/// A request of protocol version 2026-07-28.
fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const CALL: (&str, &str) = ("mcp-method", "tools/call");

/// Sends a request with these headers. Returns the status and the code of the error.
async fn post_with(url: &str, message: &Value, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = reqwest::Client::new().post(url).body(message.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.timeout(PATIENCE).send().await.unwrap();
    let status = response.status().as_u16();
    let answer: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    (status, answer["error"]["code"].clone())
}

#[tokio::test]
async fn headers_of_2026_07_28_are_demanded() {
    let url = start_listener().await;
    let call = modern("tools/call", json!({"name": "echo", "arguments": {}}));
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let open = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let modern_open = modern("initialize", json!({}));
    let name = |name: &'static str| ("mcp-name", name);
    let opens = ("mcp-method", "initialize");
    let old = ("mcp-protocol-version", "1999-01-01");
    for (message, headers, status, code) in [
        (&call, &[VERSION, CALL, name("echo")][..], 200, Value::Null),
        (
            &call,
            &[VERSION, CALL, name("=?base64?ZWNobw==?=")],
            200,
            Value::Null,
        ),
        (&call, &[VERSION, CALL], 400, json!(-32020)),
        (&call, &[VERSION, name("echo")], 400, json!(-32020)),
        (&call, &[VERSION, CALL, name("other")], 400, json!(-32020)),
        (&bare, &[VERSION], 400, json!(-32602)),
        (&open, &[VERSION], 404, json!(-32601)),
        (&modern_open, &[VERSION, opens], 404, json!(-32601)),
        (&open, &[old], 400, json!(-32022)),
    ] {
        let answer = post_with(&url, message, headers).await;
        assert_eq!(answer, (status, code), "{headers:?}");
    }
}

#[tokio::test]
async fn versions_sessions_and_paths_that_do_not_exist_are_refused() {
    let url = start_listener().await;
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    let (_, session, _) = post(&url, None, &open).await;
    let session = session.unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let known = ("mcp-session-id", session.as_str());
    let bogus = ("mcp-protocol-version", "1999-01-01");
    assert_eq!(post_with(&url, &ping, &[known]).await.0, 200);
    assert_eq!(post_with(&url, &ping, &[known, bogus]).await.0, 400);
    let stream = reqwest::Client::new()
        .get(&url)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", "unknown");
    assert_eq!(stream.send().await.unwrap().status(), 404);
    let elsewhere = reqwest::Client::new()
        .post(url.replace("/mcp", "/other"))
        .header("mcp-session-id", session.as_str())
        .body(ping.to_string());
    assert_eq!(elsewhere.send().await.unwrap().status(), 404);
    assert_eq!(post_with(&format!("{url}/"), &ping, &[known]).await.0, 200);
}

#[tokio::test]
async fn headers_that_mirror_arguments_are_demanded() {
    let url = start_listener().await;
    let arguments = json!({"name": "region", "arguments": {"n": 42}});
    let call = modern("tools/call", arguments);
    let name = ("mcp-name", "region");
    for (mirror, expected) in [
        (Some("42"), (200, Value::Null)),
        (None, (400, json!(-32020))),
        (Some("43"), (400, json!(-32020))),
        (Some("=?base64?NDI?="), (400, json!(-32020))),
    ] {
        let mut headers = vec![VERSION, CALL, name];
        headers.extend(mirror.map(|value| ("mcp-param-n", value)));
        let answer = post_with(&url, &call, &headers).await;
        assert_eq!(answer, expected, "{mirror:?}");
    }
}
