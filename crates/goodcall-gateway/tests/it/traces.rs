//! Spans: their place in the caller's trace, and what they say, after OpenTelemetry's conventions.

use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{Array, Value, global};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};

use crate::support::*;

static SPANS: Mutex<Vec<SpanData>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Collector;

impl SpanExporter for Collector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        SPANS.lock().unwrap().extend(batch);
        Ok(())
    }
}

fn collect_spans() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        global::set_text_map_propagator(TraceContextPropagator::new());
        let provider = SdkTracerProvider::builder().with_simple_exporter(Collector);
        global::set_tracer_provider(provider.build());
    });
}

/// How long a span may take to arrive after its reply.
const SPAN_TIME: Duration = Duration::from_secs(20);

const CALLER: &str = "00f067aa0ba902b7";

/// Sends a request as part of this trace, and returns its span.
async fn traced(upstream: &Upstream, trace: &str, body: &str, observe: bool) -> SpanData {
    collect_spans();
    let running = gateway(upstream.start().await, |config| {
        config.log.otlp = Some("http://127.0.0.1:1/v1/traces".to_owned());
        config.observe = observe;
    });
    let address = running.await.address;
    let headers = format!("traceparent: 00-{trace}-{CALLER}-01\r\n");
    let client = Client::send(address, "POST", CHAT, &headers, body).await;
    client.end().await;
    let deadline = Instant::now() + SPAN_TIME;
    loop {
        let spans = SPANS.lock().unwrap().clone();
        let mut own = spans.iter();
        let own = own.find(|span| span.span_context.trace_id().to_string() == trace);
        if let Some(span) = own {
            return span.clone();
        }
        assert!(
            Instant::now() < deadline,
            "no span belongs to the trace {trace}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn attribute<'s>(span: &'s SpanData, key: &str) -> Option<&'s Value> {
    let mut all = span.attributes.iter();
    all.find(|attribute| attribute.key.as_str() == key)
        .map(|attribute| &attribute.value)
}

fn words(words: &[&str]) -> Value {
    let words = words.iter().map(|word| (*word).to_owned().into());
    Value::Array(Array::String(words.collect()))
}

#[tokio::test]
async fn a_span_is_a_child_of_the_caller_s_and_the_parent_of_the_upstream_s() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4701";
    let span = traced(&upstream, trace, &chat(false), false).await;
    assert_eq!(span.parent_span_id.to_string(), CALLER);
    assert!(span.parent_span_is_remote);
    let own = span.span_context.span_id();
    let request = &upstream.requests()[0];
    let line = format!("traceparent: 00-{trace}-{own}-01\r\n");
    assert!(request.contains(&line), "{request}");
    assert!(!request.contains("tracestate"), "{request}");
}

#[tokio::test]
async fn observing_leaves_the_caller_s_trace_context_as_it_came() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4702";
    let span = traced(&upstream, trace, &chat(false), true).await;
    assert_eq!(span.parent_span_id.to_string(), CALLER);
    assert_eq!(attribute(&span, "goodcall.would"), Some(&"mend".into()));
    let line = format!("traceparent: 00-{trace}-{CALLER}-01\r\n");
    assert!(upstream.requests()[0].contains(&line));
}

#[tokio::test]
async fn a_span_has_the_conventions_names_and_types() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    let reply = chat_reply(r#"{"a": "1"}"#).replace(r#""id":"c1","#, r#""id":"r2","model":"m-1","#);
    upstream.reply_json(&reply);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4703";
    let span = traced(&upstream, trace, &chat(false), false).await;
    assert_eq!(span.name, "chat m");
    assert_eq!(span.span_kind, SpanKind::Client);
    assert_eq!(span.status, Status::Unset);
    let mut keys: Vec<_> = span.attributes.iter().collect();
    keys.sort_by_key(|attribute| attribute.key.as_str().to_owned());
    let keys = keys.iter().map(|attribute| attribute.key.as_str());
    assert_eq!(
        keys.collect::<Vec<_>>(),
        [
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.id",
            "gen_ai.response.model",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "goodcall.reasked",
            "goodcall.reason",
            "goodcall.rules",
            "goodcall.verdict",
            "http.response.status_code",
            "server.address",
            "server.port",
        ]
    );
    for (key, value) in [
        ("gen_ai.operation.name", "chat".into()),
        ("gen_ai.provider.name", "openai".into()),
        ("gen_ai.request.model", "m".into()),
        ("gen_ai.response.finish_reasons", words(&["tool_calls"])),
        ("gen_ai.response.id", "r2".into()),
        ("gen_ai.response.model", "m-1".into()),
        // Of both replies: that is what was paid for.
        ("gen_ai.usage.input_tokens", Value::I64(10)),
        ("gen_ai.usage.output_tokens", Value::I64(14)),
        ("goodcall.reasked", Value::I64(1)),
        ("goodcall.rules", words(&["string-to-number"])),
        ("goodcall.verdict", "cured".into()),
        ("http.response.status_code", Value::I64(200)),
        ("server.address", "127.0.0.1".into()),
    ] {
        assert_eq!(attribute(&span, key), Some(&value), "{key}");
    }
    assert!(matches!(
        attribute(&span, "server.port"),
        Some(Value::I64(1..))
    ));
}

#[tokio::test]
async fn the_span_of_a_stream_tells_what_its_events_say() {
    let upstream = Upstream::default();
    let usage = r#"{"id":"c1","model":"m-1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    upstream.stream(&[&chat_call(r#"{"a": 1}"#), CHAT_END, usage, "[DONE]"]);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4704";
    let span = traced(&upstream, trace, &chat(true), false).await;
    for (key, value) in [
        ("gen_ai.response.finish_reasons", words(&["tool_calls"])),
        ("gen_ai.response.id", "c1".into()),
        ("gen_ai.response.model", "m-1".into()),
        ("gen_ai.usage.input_tokens", Value::I64(3)),
        ("goodcall.verdict", "good".into()),
    ] {
        assert_eq!(attribute(&span, key), Some(&value), "{key}");
    }
}

#[tokio::test]
async fn a_failed_request_has_a_span_with_status_error() {
    let upstream = Upstream::default();
    upstream.reply_with(429, "application/json", r#"{"error":{}}"#);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4705";
    let span = traced(&upstream, trace, &chat(false), false).await;
    assert_eq!(span.status, Status::error("429"));
    assert_eq!(attribute(&span, "error.type"), Some(&"429".into()));
    let status = attribute(&span, "http.response.status_code");
    assert_eq!(status, Some(&Value::I64(429)));

    let upstream = Upstream::default();
    upstream.then(vec![Act::Reset]);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4706";
    let span = traced(&upstream, trace, &chat(false), false).await;
    assert_eq!(
        attribute(&span, "error.type"),
        Some(&"upstream_broken".into())
    );
    assert!(matches!(span.status, Status::Error { .. }));
}

/// The cause that the log and the span name: here the head of the reply is too long to be read.
#[tokio::test]
async fn a_broken_reply_has_its_cause() {
    let upstream = Upstream::default();
    let long = format!(
        "HTTP/1.1 200 OK\r\nx-long: {}\r\n\r\n",
        "x".repeat(1_000_000)
    );
    upstream.then(vec![Act::Write(long.into_bytes())]);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4708";
    let span = traced(&upstream, trace, &chat(false), false).await;
    let Status::Error { description } = &span.status else {
        panic!("{:?}", span.status);
    };
    assert!(
        description.contains("message head is too large"),
        "{description}"
    );
}

#[tokio::test]
async fn a_request_without_tools_has_a_span() {
    let upstream = Upstream::default();
    upstream.reply_json(r#"{"id":"r"}"#);
    let body = r#"{"model":"m","messages":[]}"#;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4707";
    let span = traced(&upstream, trace, body, false).await;
    assert_eq!(span.name, "chat m");
    assert_eq!(attribute(&span, "goodcall.verdict"), None);
}
