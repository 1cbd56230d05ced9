//! The span of a call, after the GenAI and MCP conventions of OpenTelemetry.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, Tracer};
use opentelemetry::{Array, KeyValue, StringValue, Value, global};

use crate::call_log::{ProxyOutcome, ProxyRecord};

/// Makes the span of a call that has ended. Its parent is the one that the client names in `_meta`.
pub(crate) fn record(call: &ProxyRecord) {
    let context = call.details.trace_context.iter();
    let context = context.map(|(key, value)| ((*key).to_owned(), value.clone()));
    let context: HashMap<String, String> = context.collect();
    let caller = global::get_text_map_propagator(|form| form.extract(&context));
    let began = UNIX_EPOCH + Duration::from_millis(call.time_ms);
    let span = SpanBuilder::from_name(format!("tools/call {}", call.tool))
        .with_kind(SpanKind::Client)
        .with_start_time(began)
        .with_attributes(attributes(call));
    let mut span = global::tracer("goodcall-mcp").build_with_context(span, &caller);
    let failure = match call.outcome {
        ProxyOutcome::Ok => None,
        ProxyOutcome::Refused => call.reason.or(Some(call.outcome.name())),
        other => Some(other.name()),
    };
    if let Some(failure) = failure {
        span.set_attribute(KeyValue::new("error.type", failure));
        span.set_status(Status::error(failure));
    }
    let took = Duration::try_from_secs_f64(call.latency_ms / 1000.0).unwrap_or_default();
    span.end_with_timestamp((began + took).max(began).min(SystemTime::now()));
}

fn attributes(call: &ProxyRecord) -> Vec<KeyValue> {
    let judged = call.judged();
    let mut all = vec![
        KeyValue::new("mcp.method.name", "tools/call"),
        KeyValue::new("gen_ai.operation.name", "execute_tool"),
        KeyValue::new("gen_ai.tool.name", call.tool.clone()),
        KeyValue::new("goodcall.server", call.server.clone()),
        KeyValue::new("goodcall.verdict", judged.verdict.name()),
    ];
    if !call.rules.is_empty() {
        let rules = call.rules.iter().map(|rule| StringValue::from(*rule));
        let rules = Value::Array(Array::String(rules.collect()));
        all.push(KeyValue::new("goodcall.rules", rules));
    }
    if let Some(reason) = call.reason {
        all.push(KeyValue::new("goodcall.reason", reason));
    }
    all
}
