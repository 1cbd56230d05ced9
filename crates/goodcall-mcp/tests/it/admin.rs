//! The page, the metrics and the spans of the proxy.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use goodcall_mcp::{
    Engine, EngineOutput, ProxyAdmin, ProxyLog, ProxyOptions, ServerCommand, serve_admin,
};
use goodcall_server::ConfigFile;
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{Array, Value, global};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LIST: &str = r#"{"jsonrpc":"2.0","id":"goodcall:tools:1","result":{"tools":[
    {"name":"f","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}]}}"#;

/// Runs a session with these `params` of calls, each of which the server answers, and logs it.
fn session(log: &ProxyLog, config: &str, calls: &[&str]) {
    let file = ConfigFile::parse(config).unwrap();
    let options = ProxyOptions::from_settings("notes", file.mcp_server("notes"));
    let mut engine = Engine::new(Arc::new(options));
    let now = Instant::now();
    let perform = |outputs: Vec<EngineOutput>| {
        for output in outputs {
            if let EngineOutput::Note(entry) = output {
                log.write(&entry);
            }
        }
    };
    for (id, call) in calls.iter().enumerate() {
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{call}}}"#);
        perform(engine.client_frame(call.into_bytes(), now));
        if id == 0 {
            perform(engine.server_frame(LIST.replace('\n', "").into_bytes(), now));
        }
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
        perform(engine.server_frame(answer.into_bytes(), now));
    }
}

/// Serves the admin address of a proxy in front of this program.
async fn serve(program: &str, token: Option<&str>) -> (Arc<ProxyAdmin>, SocketAddr) {
    let server = ServerCommand::new(program, []);
    let admin = ProxyAdmin::new(server.into(), token.map(str::to_owned));
    let admin = Arc::new(admin);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_admin(listener, Arc::clone(&admin)));
    (admin, address)
}

/// The status and the body of an answer.
async fn get(address: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, body.to_owned())
}

const CALLS: [&str; 3] = [
    r#"{"name":"f","arguments":{"a":1}}"#,
    r#"{"name":"f","arguments":{"a":"17"}}"#,
    r#"{"name":"f","arguments":{"a":"secret"}}"#,
];

async fn shown(address: SocketAddr) -> serde_json::Value {
    let (status, body) = get(address, "/goodcall/requests", "").await;
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn page_shows_calls_with_changes_and_issues_but_no_values() {
    let (admin, address) = serve("/bin/sh", None).await;
    let log = ProxyLog::new().quiet();
    log.show_on(admin);
    session(&log, "", &CALLS);
    let data = shown(address).await;
    assert_eq!(data["server"], "mcp");
    let found: Vec<_> = data["requests"].as_array().unwrap().iter().collect();
    let outcomes: Vec<_> = found.iter().map(|call| &call["outcome"]).collect();
    assert_eq!(outcomes, ["good", "mended", "bad"]);
    assert!(found.iter().all(|call| call["route"] == "notes"));
    let (mended, bad) = (&found[1]["calls"][0], &found[2]["calls"][0]);
    assert_eq!(
        (&mended["tool"], &mended["verdict"]),
        (&"f".into(), &"mended".into())
    );
    assert_eq!(
        mended["notes"],
        serde_json::json!([{"rule": "string-to-number", "field": "a", "before": "string", "after": "number"}])
    );
    assert_eq!(bad["reason"], "wrong_shape");
    assert_eq!(bad["notes"][0]["field"], "a");
    for call in [mended, bad] {
        let text = call.to_string();
        assert!(!text.contains("17") && !text.contains("secret"), "{text}");
    }
    assert!(bad.get("arguments").is_none() && bad.get("told").is_none());

    let (status, page) = get(address, "/goodcall", "").await;
    assert_eq!((status, page.starts_with("<!doctype html>")), (200, true));
}

#[tokio::test]
async fn page_shows_arguments_and_texts_where_they_are_asked_for() {
    let (admin, address) = serve("/bin/sh", None).await;
    let log = ProxyLog::new().quiet();
    log.show_on(admin);
    session(&log, "[mcp]\nlog_arguments = true\n", &CALLS);
    let data = shown(address).await;
    let mended = &data["requests"][1]["calls"][0];
    assert_eq!(mended["arguments"], r#"{"a":"17"}"#);
    assert_eq!(mended["passed"], r#"{"a":17}"#);
    let bad = &data["requests"][2]["calls"][0];
    assert_eq!(bad["arguments"], r#"{"a":"secret"}"#);
    let told = bad["told"].as_str().unwrap();
    assert!(told.contains("was not run"), "{told}");
}

#[tokio::test]
async fn page_tells_what_would_have_been_done() {
    let (admin, address) = serve("/bin/sh", None).await;
    let log = ProxyLog::new().quiet();
    log.show_on(admin);
    session(&log, "[mcp]\nobserve = true\n", &CALLS);
    let data = shown(address).await;
    let calls = data["requests"].as_array().unwrap().iter();
    let would: Vec<_> = calls.map(|call| call["would"].clone()).collect();
    assert_eq!(would, ["pass", "mend", "refuse"]);
}

#[tokio::test]
async fn metrics_count_calls_by_server_and_tool() {
    let (admin, address) = serve("/bin/sh", None).await;
    let log = ProxyLog::new().quiet();
    log.show_on(admin);
    session(&log, "", &CALLS);
    let (status, text) = get(address, "/metrics", "").await;
    assert_eq!(status, 200);
    for line in [
        r#"goodcall_calls_total{tool="f",verdict="mended",server="notes"} 1"#,
        r#"goodcall_mends_total{tool="f",rule="string-to-number",server="notes"} 1"#,
        r#"goodcall_refusals_total{tool="f",reason="wrong_shape",server="notes"} 1"#,
        r#"goodcall_call_outcomes_total{server="notes",outcome="ok"} 2"#,
        r#"goodcall_call_outcomes_total{server="notes",outcome="refused"} 1"#,
        r#"goodcall_call_seconds_count{server="notes"} 3"#,
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn admin_address_asks_for_its_token_and_tells_readiness() {
    let (_, address) = serve("/bin/sh", Some("secret")).await;
    for path in ["/goodcall", "/goodcall/requests", "/metrics"] {
        assert_eq!(get(address, path, "").await.0, 401, "{path}");
        let token = "authorization: Bearer secret\r\n";
        assert_eq!(get(address, path, token).await.0, 200, "{path}");
        let foreign = format!("{token}origin: https://evil.example\r\n");
        assert_eq!(get(address, path, &foreign).await.0, 403, "{path}");
    }
    assert_eq!(get(address, "/healthz", "").await, (200, "ok\n".to_owned()));
    assert_eq!(
        get(address, "/readyz", "").await,
        (200, "ready\n".to_owned())
    );
    assert_eq!(get(address, "/mcp", "").await.0, 404);

    let (_, address) = serve("/no/such/server", None).await;
    let (status, text) = get(address, "/readyz", "").await;
    assert_eq!(status, 503);
    assert!(
        text.starts_with("server_unreachable: /no/such/server: "),
        "{text}"
    );
}

#[derive(Debug)]
struct Collector;

static SPANS: Mutex<Vec<SpanData>> = Mutex::new(Vec::new());

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        SPANS.lock().unwrap().extend(batch);
        Ok(())
    }
}

#[test]
fn span_of_a_call_is_a_child_of_the_one_that_the_client_names() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let provider = SdkTracerProvider::builder().with_simple_exporter(Collector);
    global::set_tracer_provider(provider.build());
    let log = ProxyLog::new().quiet();
    log.trace();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let call = |arguments: &str| {
        format!(
            r#"{{"name":"f","arguments":{arguments},"_meta":{{"traceparent":"00-{trace}-00f067aa0ba902b7-01"}}}}"#
        )
    };
    let calls = [call(r#"{"a":"17"}"#), call("{}")];
    let config = "[mcp]\notlp = \"http://127.0.0.1:1/v1/traces\"\n";
    session(&log, config, &calls.each_ref().map(String::as_str));
    let spans = SPANS.lock().unwrap();
    let [mended, bad] = &spans[..] else {
        panic!("{spans:?}");
    };
    for span in [mended, bad] {
        assert_eq!(span.name, "tools/call f");
        assert_eq!(span.span_kind, SpanKind::Client);
        assert_eq!(span.span_context.trace_id().to_string(), trace);
        assert_eq!(span.parent_span_id.to_string(), "00f067aa0ba902b7");
    }
    let attribute = |span: &SpanData, key: &str| {
        let found = span.attributes.iter();
        let mut found = found.filter(|one| one.key.as_str() == key);
        found.next().map(|one| one.value.clone())
    };
    for (key, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "f"),
        ("goodcall.server", "notes"),
        ("goodcall.verdict", "mended"),
        ("mcp.method.name", "tools/call"),
    ] {
        assert_eq!(attribute(mended, key), Some(Value::from(value)), "{key}");
    }
    let rules = Value::Array(Array::String(vec!["string-to-number".into()]));
    assert_eq!(attribute(mended, "goodcall.rules"), Some(rules));
    assert_eq!(mended.status, Status::Unset);
    assert_eq!(
        attribute(bad, "goodcall.reason"),
        Some(Value::from("wrong_shape"))
    );
    assert_eq!(bad.status, Status::error("wrong_shape"));
}
