//! Upstream, bare proxy and client for benchmarks and the soak test, all on loopback.
//!
//! `load upstream`, `load bare URL`: print the port that they listen on.
//! `load run URL json|sse CONNECTIONS REQUESTS [RATE]`: sends requests, prints latencies. Without a
//! rate each connection sends its next request as soon as it has the reply; with one, so many go
//! out a second, shared by all connections. Headers that a gateway wants are in `LOAD_HEADERS`: a
//! `name: value` a line. `LOAD_MODEL` says which of the `KINDS` the upstream's replies are of
//! (`mended`).
//! `load soak URL SECONDS CONNECTIONS UPSTREAM [PAUSE]`: mixed traffic with the faults of `KINDS`, each
//! connection with a pause of so many milliseconds between its requests. Every reply must be whole and
//! right, or fail as the upstream did, and the upstream must have seen each request as often as it should.
//! `load hold URL STREAMS SECONDS`: so many streams, open at the same time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a tool for tests may fail loudly"
)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

type Error = Box<dyn std::error::Error + Send + Sync>;
type AnyBody = http_body_util::combinators::UnsyncBoxBody<Bytes, Error>;

/// What the upstream does, by the model's name.
const KINDS: [&str; 11] = [
    "good",
    "mended",
    "bad",
    "text",
    "cut",
    "reset",
    "slow",
    "status-429",
    "status-500",
    "reask-500",
    "reask-429",
];

/// How often the upstream sees a request of this kind.
fn attempts(kind: &str, stream: bool) -> u64 {
    match kind {
        "bad" | "reask-500" | "reask-429" => 2,
        "cut" if stream => 2,
        _ => 1,
    }
}

/// How often the upstream saw each request, by its tag, until somebody asks.
static SEEN: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

fn request(model: &str, stream: bool, tag: u64) -> String {
    format!(
        r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"system","content":"You are a helpful agent."}},{{"role":"user","content":"Read the file, tag-{tag}-end."}}],"tools":[{{"type":"function","function":{{"name":"read_file","description":"Reads a file","parameters":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where it is"}},"limit":{{"type":"integer","minimum":1,"maximum":2000}},"tag":{{"type":"integer"}}}},"required":["path","tag"],"additionalProperties":false}}}}}},{{"type":"function","function":{{"name":"write_file","description":"Writes a file","parameters":{{"type":"object","properties":{{"path":{{"type":"string"}},"content":{{"type":"string"}}}},"required":["path","content"]}}}}}}]}}"#
    )
}

/// The arguments that the model of this name writes; right ones where it was told.
fn arguments(model: &str, tag: &str, told: bool) -> String {
    match model {
        "mended" if !told => format!(r#"{{"path": "src/main.rs", "limit": "50", "tag": {tag}}}"#),
        "bad" | "reask-500" | "reask-429" if !told => format!(r#"{{"limit": 50, "tag": {tag}}}"#),
        _ => format!(r#"{{"path": "src/main.rs", "limit": 50, "tag": {tag}}}"#),
    }
}

fn whole(arguments: &str) -> String {
    let arguments = serde_json::Value::from(arguments);
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_1","type":"function","function":{{"name":"read_file","arguments":{arguments}}}}}]}},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}}}"#
    )
}

fn chunk(delta: &str, reason: &str) -> Bytes {
    Bytes::from(format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
    ))
}

/// A stream of about twenty events, as models send them.
fn events(arguments: &str) -> Vec<Bytes> {
    let mut out = vec![chunk(r#"{"role":"assistant","content":""}"#, "null")];
    for word in ["Let", " me", " look", " at", " it", "."] {
        out.push(chunk(&format!(r#"{{"content":"{word}"}}"#), "null"));
    }
    let first = r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read_file","arguments":""}}]}"#;
    out.push(chunk(first, "null"));
    let chars: Vec<char> = arguments.chars().collect();
    for part in chars.chunks(6) {
        let text = serde_json::Value::from(part.iter().collect::<String>());
        let delta =
            format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{text}}}}}]}}"#);
        out.push(chunk(&delta, "null"));
    }
    out.push(chunk("{}", "\"tool_calls\""));
    out.push(Bytes::from_static(b"data: [DONE]\n\n"));
    out
}

/// A body of frames that may break or wait in the end.
struct Frames {
    frames: std::vec::IntoIter<Bytes>,
    end: End,
}

enum End {
    Well,
    /// Breaks off once the frames have had the time to be sent.
    Broken(Pin<Box<tokio::time::Sleep>>),
    Wait(Pin<Box<tokio::time::Sleep>>),
}

impl End {
    fn broken() -> Self {
        End::Broken(Box::pin(tokio::time::sleep(Duration::from_millis(100))))
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if let Some(bytes) = this.frames.next() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        match &mut this.end {
            End::Well => Poll::Ready(None),
            End::Broken(sleep) => {
                std::task::ready!(sleep.as_mut().poll(cx));
                this.end = End::Well;
                Poll::Ready(Some(Err("broken".into())))
            }
            End::Wait(sleep) => sleep.as_mut().poll(cx).map(|()| None),
        }
    }
}

/// A reply that is all there at once.
fn at_once(status: u16, text: String) -> Response<AnyBody> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    let reply = Response::builder().status(status);
    let reply = reply.header("content-type", "application/json");
    reply.body(body.boxed_unsync()).unwrap()
}

async fn reply(request: Request<Incoming>) -> Result<Response<AnyBody>, Infallible> {
    if let Some(tag) = request.uri().path().strip_prefix("/seen/") {
        let count = SEEN.lock().unwrap().remove(&tag.parse().unwrap());
        return Ok(at_once(200, count.unwrap_or_default().to_string()));
    }
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let find = |from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        rest.split_once(to).map(|(found, _)| found.to_owned())
    };
    let model = find(r#""model":""#, "\"").unwrap_or_default();
    let tag = find("tag-", "-end").unwrap_or_default();
    let streams = text.contains(r#""stream":true"#);
    let told = text.contains("was not run");
    if let Ok(tag) = tag.parse() {
        *SEEN.lock().unwrap().entry(tag).or_default() += 1;
    }
    let error = r#"{"error":{"message":"Not now."}}"#;
    match model.as_str() {
        "status-429" => return Ok(at_once(429, error.to_owned())),
        "status-500" => return Ok(at_once(500, error.to_owned())),
        "reask-429" if told => return Ok(at_once(429, error.to_owned())),
        "reask-500" if told => return Ok(at_once(500, error.to_owned())),
        "slow" => tokio::time::sleep(Duration::from_millis(300)).await,
        _ => {}
    }
    let is_reset = model == "reset";
    let arguments = arguments(&model, &tag, told);
    let kind = if streams {
        "text/event-stream"
    } else {
        "application/json"
    };
    let response = Response::builder().header("content-type", kind);
    let body: AnyBody = if streams {
        let mut frames = events(&arguments);
        let end = match model.as_str() {
            "cut" if !told => {
                frames.truncate(frames.len() / 2);
                End::Well
            }
            _ if is_reset => {
                frames.truncate(5);
                End::broken()
            }
            "hold" => {
                frames.truncate(5);
                let seconds = tag.parse().unwrap_or(10);
                End::Wait(Box::pin(tokio::time::sleep(Duration::from_secs(seconds))))
            }
            _ => End::Well,
        };
        let frames = frames.into_iter();
        Frames { frames, end }.boxed_unsync()
    } else {
        let text = whole(&arguments);
        if !is_reset {
            return Ok(at_once(200, text));
        }
        let frames = vec![Bytes::from(text[..60].to_owned())].into_iter();
        let end = End::broken();
        Frames { frames, end }.boxed_unsync()
    };
    Ok(response.body(body).unwrap())
}

/// A reverse proxy that does nothing else: what hyper costs.
async fn bare(
    client: Client<HttpConnector, Incoming>,
    upstream: Arc<Uri>,
    request: Request<Incoming>,
) -> Result<Response<AnyBody>, Infallible> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().unwrap().clone();
    let uri = Uri::builder()
        .scheme("http")
        .authority(upstream.authority().unwrap().clone());
    parts.uri = uri.path_and_query(path).build().unwrap();
    parts.headers.remove("host");
    match client.request(Request::from_parts(parts, body)).await {
        Ok(reply) => Ok(reply.map(|body| body.map_err(Error::from).boxed_unsync())),
        Err(_) => {
            let body = Full::new(Bytes::new()).map_err(|never| match never {});
            Ok(Response::builder()
                .status(502)
                .body(body.boxed_unsync())
                .unwrap())
        }
    }
}

async fn listen<F, S>(service: F)
where
    F: Fn(Request<Incoming>) -> S + Clone + Send + 'static,
    S: Future<Output = Result<Response<AnyBody>, Infallible>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        let _ = socket.set_nodelay(true);
        let service = service_fn(service.clone());
        tokio::spawn(async move {
            let server = hyper::server::conn::http1::Builder::new();
            let _ = server.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

fn client<B>() -> Client<HttpConnector, B>
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(2048)
        .build(connector)
}

type Sender = Client<HttpConnector, Full<Bytes>>;

/// Sends a request; the reply's body, or why there is none.
async fn send(client: &Sender, url: &str, body: String) -> Result<String, String> {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = format!("{url}/v1/chat/completions").parse().unwrap();
    request
        .headers_mut()
        .insert("content-type", "application/json".parse().unwrap());
    for line in std::env::var("LOAD_HEADERS").unwrap_or_default().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        let name: http::HeaderName = name.parse().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let reply = client
        .request(request)
        .await
        .map_err(|error| error.to_string())?;
    let status = reply.status();
    let body = reply
        .into_body()
        .collect()
        .await
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    if status.is_success() {
        Ok(text)
    } else {
        Err(format!("{status}: {text}"))
    }
}

async fn run(url: String, kind: String, connections: usize, requests: usize, rate: Option<f64>) {
    let model = std::env::var("LOAD_MODEL").unwrap_or_else(|_| "mended".to_owned());
    let (client, url) = (client(), Arc::new(url));
    let each = requests.div_ceil(connections);
    let mut tasks = Vec::new();
    let started = Instant::now();
    for connection in 0..connections {
        let (client, url, stream): (Sender, _, _) =
            (client.clone(), Arc::clone(&url), kind == "sse");
        let model = model.clone();
        // Each takes its turn.
        let turns = rate.map(|rate| {
            let one = Duration::from_secs_f64(1.0 / rate);
            let first = tokio::time::Instant::now() + one * connection as u32;
            let mut turns = tokio::time::interval_at(first, one * connections as u32);
            turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            turns
        });
        tasks.push(tokio::spawn(async move {
            let (mut times, mut turns) = (Vec::with_capacity(each), turns);
            for _ in 0..each {
                if let Some(turns) = &mut turns {
                    turns.tick().await;
                }
                let sent = Instant::now();
                let text = send(&client, &url, request(&model, stream, 7))
                    .await
                    .unwrap();
                assert!(text.contains("read_file"), "{text}");
                times.push(sent.elapsed().as_nanos());
            }
            times
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    times.sort_unstable();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize] as f64 / 1000.0;
    println!(
        "{} {} {:.1} {:.1} {:.0}",
        kind,
        times.len(),
        at(0.5),
        at(0.99),
        times.len() as f64 / started.elapsed().as_secs_f64()
    );
}

/// The one call of a reply, put together again.
fn call_of(text: &str, stream: bool) -> Vec<String> {
    let get = |value: &serde_json::Value, key: &str| {
        value["choices"][0][key]["tool_calls"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    if !stream {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let calls = get(&value, "message");
        return calls
            .iter()
            .map(|call| call["function"]["arguments"].as_str().unwrap().to_owned())
            .collect();
    }
    let mut calls: Vec<String> = Vec::new();
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let Ok(value) = serde_json::from_str::<serde_json::Value>(data) else {
            continue;
        };
        for call in get(&value, "delta") {
            let index = call["index"].as_u64().unwrap() as usize;
            calls.resize(calls.len().max(index + 1), String::new());
            calls[index].push_str(call["function"]["arguments"].as_str().unwrap_or_default());
        }
    }
    calls
}

/// What a soak talks to, and what it has counted.
struct Soak {
    client: Sender,
    url: String,
    upstream: String,
    count: AtomicU64,
    failed: AtomicU64,
}

impl Soak {
    /// Sends one request, and checks everything about it.
    async fn exchange(&self, kind: &str, stream: bool) {
        let tag = self.count.fetch_add(1, Ordering::Relaxed);
        let reply = send(&self.client, &self.url, request(kind, stream, tag)).await;
        let seen = self.upstream.clone() + "/seen/" + &tag.to_string();
        let seen = self.client.get(seen.parse().unwrap()).await.unwrap();
        let seen = seen.into_body().collect().await.unwrap().to_bytes();
        let expected = attempts(kind, stream).to_string();
        assert_eq!(
            seen,
            expected.as_bytes(),
            "how often the upstream saw {kind}, stream {stream}: {reply:?}"
        );
        let status = kind.strip_prefix("status-");
        if kind == "reset" || status.is_some() {
            let error = reply.expect_err("a reply that was never whole");
            let error = error.as_str();
            assert!(
                status.is_none_or(|code| error.starts_with(code)),
                "{kind}: {error}"
            );
            self.failed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let text = reply.unwrap_or_else(|error| panic!("{kind}, stream {stream}: {error}"));
        let calls = call_of(&text, stream);
        assert_eq!(calls.len(), 1, "lost or doubled: {kind}: {text}");
        let value: serde_json::Value = serde_json::from_str(&calls[0]).unwrap();
        let of = (&value["limit"], &value["tag"]);
        assert_eq!(of, (&50.into(), &tag.into()), "{kind}: {text}");
        // Where the re-ask failed, the agent gets the first reply.
        let is_first = value.get("path").is_none();
        assert_eq!(is_first, kind.starts_with("reask-"), "{kind}: {text}");
        if stream {
            assert_eq!(text.matches("[DONE]").count(), 1, "{kind}: {text}");
        }
    }
}

async fn soak(soak: Soak, seconds: u64, connections: usize, pause: Duration) {
    let soak = Arc::new(soak);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut tasks = Vec::new();
    for worker in 0..connections {
        let soak = Arc::clone(&soak);
        tasks.push(tokio::spawn(async move {
            let mut turn = worker;
            while Instant::now() < until {
                turn += 1;
                soak.exchange(KINDS[turn % KINDS.len()], turn % 2 == 0)
                    .await;
                tokio::time::sleep(pause).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let [count, failed] = [&soak.count, &soak.failed].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{count} requests, {failed} of them failed by the upstream and seen as that; none lost or doubled"
    );
}

async fn hold(url: String, streams: usize, seconds: u64) {
    let (client, url): (Sender, _) = (client(), Arc::new(url));
    let mut tasks = Vec::new();
    for _ in 0..streams {
        let (client, url) = (client.clone(), Arc::clone(&url));
        let body = request("hold", true, seconds);
        tasks.push(tokio::spawn(async move { send(&client, &url, body).await }));
    }
    let mut whole = 0;
    for task in tasks {
        whole += usize::from(task.await.unwrap().is_ok_and(|text| text.contains(" look")));
    }
    println!("{whole} streams ended well");
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| words.get(index).cloned().unwrap_or_default();
    let number = |index: usize| {
        word(index)
            .parse::<usize>()
            .unwrap_or_else(|_| panic!("a number: {words:?}"))
    };
    match word(0).as_str() {
        "upstream" => listen(reply).await,
        "bare" => {
            let upstream: Arc<Uri> = Arc::new(word(1).parse().unwrap());
            let client = client();
            listen(move |request| bare(client.clone(), Arc::clone(&upstream), request)).await;
        }
        "run" => {
            let rate = words.get(5).map(|rate| rate.parse().unwrap());
            run(word(1), word(2), number(3), number(4), rate).await;
        }
        "soak" => {
            let talk = Soak {
                client: client(),
                url: word(1),
                upstream: word(4),
                count: AtomicU64::new(0),
                failed: AtomicU64::new(0),
            };
            let pause = words.get(5).map_or(0, |_| number(5)) as u64;
            let pause = Duration::from_millis(pause);
            soak(talk, number(2) as u64, number(3), pause).await;
        }
        "hold" => hold(word(1), number(2), number(3) as u64).await,
        other => panic!("`{other}` is not known: upstream, bare, run, soak or hold"),
    }
}
