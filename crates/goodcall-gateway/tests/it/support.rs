//! An upstream that follows a script, a gateway in front of it, and a client, all on loopback.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use goodcall_gateway::{Gateway, GatewayConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// One step of an upstream's script for a request.
pub(crate) enum Act {
    /// Writes bytes.
    Write(Vec<u8>),
    /// Waits for a signal of the test.
    Wait(oneshot::Receiver<()>),
    /// Closes the connection so that the other side sees a reset.
    Reset,
    /// Does nothing more, and keeps the connection open.
    Hang,
}

/// An upstream: the requests that came, and the scripts for the next ones.
#[derive(Clone, Default)]
pub(crate) struct Upstream {
    pub(crate) seen: Arc<Mutex<Vec<String>>>,
    scripts: Arc<Mutex<VecDeque<Vec<Act>>>>,
}

impl Upstream {
    /// Adds a script for the next request.
    pub(crate) fn then(&self, acts: Vec<Act>) {
        self.scripts.lock().unwrap().push_back(acts);
    }

    pub(crate) fn reply(&self, kind: &str, body: &str) {
        self.reply_with(200, kind, body);
    }

    pub(crate) fn reply_json(&self, body: &str) {
        self.reply("application/json", body);
    }

    pub(crate) fn reply_with(&self, status: u16, kind: &str, body: &str) {
        self.then(vec![Act::Write(head(status, kind, body).into_bytes())]);
    }

    /// Adds a stream of these events.
    pub(crate) fn stream(&self, lines: &[&str]) {
        self.then(vec![stream_head(), events(lines)]);
    }

    /// Adds a stream that sends `Hm.`, waits for the signal that is returned, and then sends these
    /// events. [`open_stream`] reads its start.
    pub(crate) fn paused_stream(&self, rest: &[&str]) -> oneshot::Sender<()> {
        let (signal, wait) = oneshot::channel();
        let start = events(&[&chat_text("Hm.")]);
        self.then(vec![stream_head(), start, Act::Wait(wait), events(rest)]);
        signal
    }

    /// Adds a stream that sends `Hm.`, and then nothing more.
    pub(crate) fn stalled_stream(&self) {
        self.then(vec![stream_head(), events(&[&chat_text("Hm.")]), Act::Hang]);
    }

    /// Forgets the scripts for requests that did not come.
    pub(crate) fn drop_scripts(&self) {
        self.scripts.lock().unwrap().clear();
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let own = self.clone();
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                tokio::spawn(own.clone().serve(socket));
            }
        });
        address
    }

    async fn serve(self, mut socket: TcpStream) {
        let Some(request) = read_request(&mut socket).await else {
            return;
        };
        self.seen.lock().unwrap().push(request);
        let acts = self.scripts.lock().unwrap().pop_front();
        let no_script = || {
            vec![Act::Write(
                head(500, "text/plain", "no script").into_bytes(),
            )]
        };
        for act in acts.unwrap_or_else(no_script) {
            match act {
                Act::Write(bytes) => {
                    if socket.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Act::Wait(signal) => {
                    let _ = signal.await;
                }
                Act::Reset => {
                    socket.set_zero_linger().unwrap();
                    return;
                }
                Act::Hang => std::future::pending().await,
            }
        }
        let _ = socket.shutdown().await;
    }
}

pub(crate) fn head(status: u16, kind: &str, body: &str) -> String {
    let size = body.len();
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {size}\r\nx-own: 1\r\nconnection: close\r\n\r\n{body}"
    )
}

/// The head of a stream that ends with the connection.
pub(crate) fn stream_head() -> Act {
    Act::Write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
            .to_vec(),
    )
}

/// Events without a name, as in Chat Completions.
pub(crate) fn events(lines: &[&str]) -> Act {
    let text: String = lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .collect();
    Act::Write(text.into_bytes())
}

/// Events with the name that their `type` has, as in Anthropic Messages.
pub(crate) fn named_events(lines: &[&str]) -> Act {
    let mut text = String::new();
    for line in lines {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        text += &format!(
            "event: {}\ndata: {line}\n\n",
            value["type"].as_str().unwrap()
        );
    }
    Act::Write(text.into_bytes())
}

async fn read_request(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let size = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let whole = match size {
                Some(size) => body.len() >= size,
                None if head.contains("transfer-encoding: chunked") => body.ends_with("0\r\n\r\n"),
                None => true,
            };
            if whole {
                return Some(text);
            }
        }
        let mut chunk = [0; 8192];
        match socket.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(size) => bytes.extend_from_slice(&chunk[..size]),
        }
    }
}

/// A gateway that runs until the test ends.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) gateway: Gateway,
    pub(crate) stop: oneshot::Sender<()>,
    pub(crate) served: tokio::task::JoinHandle<()>,
}

pub(crate) async fn gateway(
    upstream: SocketAddr,
    change: impl FnOnce(&mut GatewayConfig),
) -> Running {
    let mut config = GatewayConfig::new(&format!("http://{upstream}")).unwrap();
    change(&mut config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Gateway::new(config).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let own = gateway.clone();
    let served = tokio::spawn(async move {
        let stopped = async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        own.serve(listener, stopped).await;
    });
    Running {
        address,
        gateway,
        stop,
        served,
    }
}

/// A reply as the client sees it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// The bytes behind the head, as they came.
    pub(crate) raw_body: Vec<u8>,
    /// Whether the connection ended as it should.
    pub(crate) whole: bool,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A connection whose reply is read piece by piece.
pub(crate) struct Client {
    socket: TcpStream,
    pub(crate) raw: Vec<u8>,
}

impl Client {
    pub(crate) async fn send(
        address: SocketAddr,
        method: &str,
        path: &str,
        headers: &str,
        body: impl AsRef<[u8]>,
    ) -> Self {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let body = body.as_ref();
        let size = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n{headers}connection: close\r\n\r\n"
        );
        let request = [request.as_bytes(), body].concat();
        socket.write_all(&request).await.unwrap();
        let raw = Vec::new();
        Self { socket, raw }
    }

    /// Reads until the reply contains this text.
    pub(crate) async fn until(&mut self, text: &str) {
        self.until_bytes(text.as_bytes()).await;
    }

    /// Reads until the reply contains these bytes, for a minute at most.
    pub(crate) async fn until_bytes(&mut self, bytes: &[u8]) {
        while !self.raw.windows(bytes.len()).any(|found| found == bytes) {
            let mut chunk = [0; 4096];
            let read = self.socket.read(&mut chunk);
            let read = tokio::time::timeout(Duration::from_secs(60), read).await;
            let size = read.map_or(0, Result::unwrap);
            assert!(
                size > 0,
                "no {:?} in {}",
                String::from_utf8_lossy(bytes),
                String::from_utf8_lossy(&self.raw)
            );
            self.raw.extend_from_slice(&chunk[..size]);
        }
    }

    /// Reads to the end.
    pub(crate) async fn end(mut self) -> Reply {
        let mut whole = true;
        let mut chunk = [0; 8192];
        loop {
            match self.socket.read(&mut chunk).await {
                Ok(0) => break,
                Ok(size) => self.raw.extend_from_slice(&chunk[..size]),
                Err(_) => {
                    whole = false;
                    break;
                }
            }
        }
        let text = String::from_utf8_lossy(&self.raw).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        let chunked = head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked");
        let body = if chunked {
            whole &= body.ends_with("0\r\n\r\n");
            unchunk(body)
        } else {
            body.to_owned()
        };
        let start = self.raw.windows(4).position(|end| end == b"\r\n\r\n");
        let raw_body = self
            .raw
            .split_off(start.map_or(self.raw.len(), |at| at + 4));
        Reply {
            status,
            head: head.to_owned(),
            body,
            raw_body,
            whole,
        }
    }
}

fn unchunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(data) = rest.get(..size).filter(|_| size > 0) else {
            break;
        };
        out.push_str(data);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    out
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &str) -> Reply {
    Client::send(
        address,
        "POST",
        path,
        "authorization: Bearer secret\r\n",
        body,
    )
    .await
    .end()
    .await
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Reply {
    Client::send(address, "GET", path, "", "").await.end().await
}

/// Asks for a stream, and reads its start (see [`Upstream::paused_stream`]).
pub(crate) async fn open_stream(address: SocketAddr) -> Client {
    let mut client = Client::send(address, "POST", CHAT, "", chat(true)).await;
    client.until("Hm.").await;
    client
}

/// Polls the metrics until they have this line, for a minute at most.
pub(crate) async fn wait_for_metric(address: SocketAddr, line: &str) -> String {
    let started = std::time::Instant::now();
    loop {
        let metrics = get(address, "/metrics").await.body;
        if metrics.contains(line) {
            return metrics;
        }
        let is_late = started.elapsed() > Duration::from_secs(60);
        assert!(!is_late, "no {line} in {metrics}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A chat request that offers one tool, `f`, which needs an integer `a`.
pub(crate) fn chat(stream: bool) -> String {
    format!(
        r#"{{"model":"m","stream":{stream},"messages":[{{"role":"user","content":"Go."}}],"tools":[{{"type":"function","function":{{"name":"f","parameters":{{"type":"object","properties":{{"a":{{"type":"integer"}}}},"required":["a"]}}}}}}]}}"#
    )
}

pub(crate) fn chat_reply(arguments: &str) -> String {
    serde_json::json!({"id": "c1", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": "f", "arguments": arguments}}]}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})
    .to_string()
}

pub(crate) fn chat_text(text: &str) -> String {
    serde_json::json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": text}}]})
        .to_string()
}

pub(crate) fn chat_call(arguments: &str) -> String {
    serde_json::json!({"id": "c1", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0,
        "id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}]}}]})
    .to_string()
}

pub(crate) fn chat_more(arguments: &str) -> String {
    serde_json::json!({"id": "c1", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0,
        "function": {"arguments": arguments}}]}}]})
    .to_string()
}

pub(crate) const CHAT_END: &str =
    r#"{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
