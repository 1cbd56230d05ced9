//! Spans that follow the OpenTelemetry GenAI conventions. The values of arguments and results are
//! recorded only if the host asks for it.

use tracing::Span;
use tracing::field::Empty;

use crate::ErrorClass;
use crate::message::{Call, CallOutcome, Reply};

/// Returns the span of one model call.
pub(crate) fn chat(model: &str, provider: &str) -> Span {
    tracing::info_span!(
        "chat",
        otel.name = %format_args!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        "error.type" = Empty,
    )
}

pub(crate) fn replied(span: &Span, reply: &Reply) {
    let reason = match (reply.stop, reply.calls.is_empty()) {
        (goodcall_core::StopReason::CutOff, _) => "length",
        (_, false) => "tool_calls",
        (_, true) => "stop",
    };
    span.record("gen_ai.response.finish_reasons", reason);
    if let Some(usage) = reply.usage {
        span.record("gen_ai.usage.input_tokens", usage.input_tokens);
        span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    }
}

/// Returns the span of one tool call.
pub(crate) fn execute_tool(call: &Call, description: &str, values: bool) -> Span {
    let (name, id) = (&call.name, &call.id);
    let span = tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {name}"),
        otel.kind = "internal",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        gen_ai.tool.call.id = id,
        "gen_ai.tool.type" = "function",
        gen_ai.tool.description = description,
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        "error.type" = Empty,
        goodcall.verdict = Empty,
        goodcall.rules = Empty,
        goodcall.reason = Empty,
    );
    if values {
        span.record("gen_ai.tool.call.arguments", call.arguments.as_str());
    }
    span
}

pub(crate) fn executed(span: &Span, outcome: &CallOutcome, values: bool) {
    if span.is_disabled() {
        return;
    }
    let verdict = if outcome.class().is_some_and(ErrorClass::is_fault) {
        "bad"
    } else if outcome.changes.is_empty() {
        "good"
    } else {
        "mended"
    };
    span.record("goodcall.verdict", verdict);
    if !outcome.changes.is_empty() {
        let rules: Vec<_> = outcome
            .changes
            .iter()
            .map(|change| change.rule.as_str())
            .collect();
        span.record("goodcall.rules", rules.join(","));
    }
    if let Some(class) = outcome.class() {
        span.record("error.type", class.name());
    }
    if let Some(fault) = outcome.faults().first() {
        span.record("goodcall.reason", fault.kind.as_str());
    }
    if values {
        span.record("gen_ai.tool.call.result", outcome.text());
    }
}
