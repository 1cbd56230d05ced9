//! The span of a request, after the GenAI conventions of OpenTelemetry.

use std::borrow::Cow;
use std::time::SystemTime;

use goodcall_wire::Provider;
use goodcall_wire::relay::CallVerdict;
use http::HeaderMap;
use http::header::HeaderName;
use opentelemetry::global::{self, BoxedSpan};
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};

use crate::observe::WouldHave;
use crate::request_record::{RequestError, RequestRecord};

const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// A span that has begun.
pub(crate) struct RequestSpan {
    span: BoxedSpan,
    context: Context,
}

impl RequestSpan {
    /// Begins the span of a request to this host and port. Its parent is the one that the caller
    /// names in `traceparent`.
    pub(crate) fn begin(
        provider: Provider,
        record: &RequestRecord,
        headers: &HeaderMap,
        (host, port): (&str, u16),
    ) -> Self {
        let caller =
            global::get_text_map_propagator(|form| form.extract(&HeaderExtractor(headers)));
        let operation = operation(provider);
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", operation),
            KeyValue::new("gen_ai.provider.name", vendor(provider)),
            KeyValue::new("server.address", host.to_owned()),
            KeyValue::new("server.port", i64::from(port)),
        ];
        let mut name = Cow::Borrowed(operation);
        if let Some(model) = &record.exchange.model {
            attributes.push(KeyValue::new("gen_ai.request.model", model.clone()));
            name = format!("{operation} {model}").into();
        }
        let span = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Client)
            .with_start_time(SystemTime::now() - record.age())
            .with_attributes(attributes);
        let tracer = global::tracer("goodcall-gateway");
        let span = tracer.build_with_context(span, &caller);
        let context = caller.with_remote_span_context(span.span_context().clone());
        Self { span, context }
    }

    /// Names the span as the parent of what the upstream records.
    pub(crate) fn pass_on(&self, headers: &mut HeaderMap) {
        let mut injector = HeaderInjector(headers);
        global::get_text_map_propagator(|form| {
            form.inject_context(&self.context, &mut injector);
        });
        if headers
            .get(TRACE_STATE)
            .is_some_and(|state| state.is_empty())
        {
            headers.remove(TRACE_STATE);
        }
    }

    /// Ends the span with what became of the request.
    pub(crate) fn end(mut self, record: &RequestRecord) {
        let span = &mut self.span;
        let mut set =
            |key: &'static str, value: Value| span.set_attribute(KeyValue::new(key, value));
        // OpenTelemetry has signed integers only.
        let number = |count: u64| Value::I64(i64::try_from(count).unwrap_or(i64::MAX));
        if record.status > 0 {
            set("http.response.status_code", i64::from(record.status).into());
        }
        let judgement = &record.judgement;
        let (tokens, _) = judgement.tokens;
        for (key, count) in [
            ("gen_ai.usage.input_tokens", tokens.input),
            ("gen_ai.usage.output_tokens", tokens.output),
        ] {
            if count > 0 {
                set(key, number(count));
            }
        }
        if let Some(reply) = &judgement.reply {
            for (key, text) in [
                ("gen_ai.response.id", &reply.id),
                ("gen_ai.response.model", &reply.model),
            ] {
                if let Some(text) = text {
                    set(key, text.clone().into());
                }
            }
            if !reply.stop_reasons.is_empty() {
                let reasons = reply.stop_reasons.iter().map(String::as_str);
                set("gen_ai.response.finish_reasons", list(reasons));
            }
        }
        set("goodcall.reasked", i64::from(judgement.reasked).into());
        let mended = judgement.calls.iter();
        let mended = mended.filter(|call| call.verdict == CallVerdict::Mended);
        let rules: Vec<_> = mended.flat_map(|call| &call.notes).collect();
        if !rules.is_empty() {
            set("goodcall.rules", list(rules.iter().map(|note| note.rule)));
        }
        for (key, word) in [
            ("goodcall.verdict", judgement.outcome()),
            ("goodcall.would", judgement.would_have.map(WouldHave::name)),
            (
                "goodcall.reason",
                judgement.calls.iter().find_map(|call| call.reason),
            ),
        ] {
            if let Some(word) = word {
                set(key, word.into());
            }
        }
        if let Some(error) = error_type(record) {
            set("error.type", error.clone().into());
            span.set_status(Status::error(
                record.cause.clone().map_or(error, Cow::Owned),
            ));
        }
        span.end();
    }
}

/// Why a request failed: a code of the gateway's own, or the upstream's status.
fn error_type(record: &RequestRecord) -> Option<Cow<'static, str>> {
    let own = record.error.map(RequestError::code);
    let status = (record.status >= 400).then(|| record.status.to_string());
    own.map(Cow::Borrowed).or(status.map(Cow::Owned))
}

fn list<'t>(words: impl Iterator<Item = &'t str>) -> Value {
    let words = words.map(|word| StringValue::from(word.to_owned()));
    Value::Array(Array::String(words.collect()))
}

/// The name of the operation in the conventions.
fn operation(provider: Provider) -> &'static str {
    match provider {
        Provider::Gemini => "generate_content",
        _ => "chat",
    }
}

/// The provider's name in the conventions.
fn vendor(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "anthropic",
        Provider::Ollama => "ollama",
        Provider::Gemini => "gcp.gemini",
        Provider::Bedrock => "aws.bedrock",
        _ => "openai",
    }
}
