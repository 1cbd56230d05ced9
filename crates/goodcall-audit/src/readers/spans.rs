//! Traces: OTLP as JSON, and spans alone. Their attributes follow the conventions of OpenTelemetry for
//! generative AI ([`gen_ai`](super::gen_ai)) or OpenInference ([`open_inference`](super::open_inference)).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use goodcall_core::{Kind, Node};

use super::fields::{CUT_OFF, container, elements, is_cut_off_json, text, time};
use super::pending::PendingTurns;
use super::{
    CallsRead, LogFormat, LogRecord, RecordReader, TurnSink, Unreadable, gen_ai, open_inference,
};
use crate::recorded::{RecordedCall, RecordedResult, RecordedTurn};

/// Calls that are remembered, so that none is counted twice.
const MOST_SEEN: usize = 1_000_000;
/// Levels of attributes.
const MOST_DEPTH: usize = 32;

pub(super) struct Spans;

impl LogFormat for Spans {
    fn name(&self) -> &'static str {
        "spans"
    }

    fn recognises(&self, record: Node<'_>) -> bool {
        container(record, "resourceSpans").is_some()
            || Span::read(record).is_some_and(|span| span.is_of_a_model())
    }

    fn reader(&self) -> Box<dyn RecordReader> {
        Box::<SpanReader>::default()
    }
}

/// One span.
#[derive(Debug, Default)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) time: Option<i64>,
    attributes: Vec<(String, Attribute)>,
    pub(super) is_error: bool,
}

/// The value of an attribute.
#[derive(Debug, PartialEq, Eq)]
enum Attribute {
    Text(String),
    /// Anything else, as JSON.
    Json(String),
}

/// A turn that a span holds, and the results that it has seen.
pub(super) struct SpanTurn {
    pub(super) turn: RecordedTurn<'static>,
    pub(super) results: Vec<(String, RecordedResult<'static>)>,
}

/// The run of a tool that a span stands for.
pub(super) struct ToolRun {
    pub(super) call: RecordedCall<'static>,
}

impl Span {
    /// Reads a span; `None` for what is not one.
    fn read(node: Node<'_>) -> Option<Self> {
        let mut attributes = Vec::new();
        match node.get("attributes") {
            // OTLP has a list of keys and values, others an object.
            Some(list) if list.kind() == Kind::Array => {
                for entry in list.elements() {
                    let key = text(entry, "key").unwrap_or_default();
                    if let Some(value) = entry.get("value") {
                        attributes.push((key.to_owned(), otlp_value(value)));
                    }
                }
            }
            Some(object) if object.kind() == Kind::Object => {
                for (key, value) in object.members() {
                    attributes.push((key.to_owned(), plain_value(value)));
                }
            }
            // A row of a table: a column per attribute.
            _ => {
                for (key, value) in node.members() {
                    if let Some(key) = key.strip_prefix("attributes.") {
                        attributes.push((key.to_owned(), plain_value(value)));
                    }
                }
            }
        }
        if attributes.is_empty() {
            return None;
        }
        let context = node.get("context").unwrap_or(node);
        let keys = ["traceId", "trace_id", "context.trace_id"];
        let trace = keys
            .iter()
            .find_map(|key| text(node, key).or_else(|| text(context, key)));
        let status = node.get("status");
        let code =
            status.and_then(|status| status.get("code").or_else(|| status.get("status_code")));
        let code = code.and_then(|code| code.as_str().or_else(|| code.digits()));
        Some(Self {
            trace: trace.unwrap_or_default().to_owned(),
            time: time(
                node,
                &[
                    "startTimeUnixNano",
                    "start_time",
                    "startTime",
                    "start_timestamp",
                ],
            ),
            attributes,
            is_error: matches!(code, Some("2" | "ERROR" | "STATUS_CODE_ERROR")),
        })
    }

    fn is_of_a_model(&self) -> bool {
        let is_own = |key: &str| {
            key.starts_with("gen_ai.")
                || key.starts_with("llm.")
                || key == "llm"
                || key.starts_with("openinference.")
        };
        self.attributes.iter().any(|(key, _)| is_own(key))
    }

    /// Returns true if the message of the model is an attribute that was cut: exporters limit the
    /// length of attributes.
    fn is_cut_off(&self) -> bool {
        let keys = ["gen_ai.output.messages", "llm.output_messages"];
        let mut texts = keys.iter().filter_map(|key| self.text(key));
        texts.any(is_cut_off_json)
    }

    fn get(&self, key: &str) -> Option<&Attribute> {
        let mut found = self.attributes.iter().filter(|(own, _)| own == key);
        found.next().map(|(_, value)| value)
    }

    /// The text of an attribute.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Attribute::Text(text) | Attribute::Json(text) => {
                Some(text.as_str()).filter(|t| !t.is_empty())
            }
        }
    }

    /// The JSON of an attribute: its value, or the JSON that its text is.
    pub(super) fn json(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Attribute::Json(json) => Some(json),
            Attribute::Text(text) => {
                let is_json = text.trim_start().starts_with(['{', '[']);
                is_json.then_some(text.as_str())
            }
        }
    }

    /// Returns true if the attribute is structured, and not text.
    pub(super) fn is_structured(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Attribute::Json(_)))
    }

    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// All attributes at and below a key, with dots between the levels and indices as numbers.
    pub(super) fn flat(&self, root: &str) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for (key, value) in &self.attributes {
            if !key.starts_with(root) {
                continue;
            }
            match value {
                Attribute::Text(text) => out.push((key.clone(), text.clone())),
                Attribute::Json(json) => match goodcall_core::Tree::parse(json) {
                    Ok(tree) => flatten(tree.root(), key, 0, &mut out),
                    Err(_) => out.push((key.clone(), json.clone())),
                },
            }
        }
        out
    }
}

/// Writes a value below a key.
fn flatten(node: Node<'_>, key: &str, depth: usize, out: &mut Vec<(String, String)>) {
    match node.kind() {
        Kind::Object if depth < MOST_DEPTH => {
            for (name, value) in node.members() {
                flatten(value, &format!("{key}.{name}"), depth + 1, out);
            }
        }
        Kind::Array if depth < MOST_DEPTH => {
            for (index, value) in node.elements().enumerate() {
                flatten(value, &format!("{key}.{index}"), depth + 1, out);
            }
        }
        Kind::Null => {}
        _ => {
            let text = node.as_str().map(str::to_owned);
            out.push((key.to_owned(), text.unwrap_or_else(|| node.to_json())));
        }
    }
}

fn plain_value(node: Node<'_>) -> Attribute {
    match node.as_str() {
        Some(text) => Attribute::Text(text.to_owned()),
        None => Attribute::Json(node.to_json()),
    }
}

/// The value of an attribute in OTLP: `{"stringValue": …}` and others.
fn otlp_value(value: Node<'_>) -> Attribute {
    if let Some(text) = value.get("stringValue").and_then(Node::as_str) {
        return Attribute::Text(text.to_owned());
    }
    let mut json = String::new();
    write_otlp(value, 0, &mut json);
    Attribute::Json(json)
}

fn write_otlp(value: Node<'_>, depth: usize, out: &mut String) {
    let list = |key: &str| {
        let values = value.get(key).and_then(|list| list.get("values"));
        values.filter(|_| depth < MOST_DEPTH)
    };
    if let Some(values) = list("arrayValue") {
        out.push('[');
        for (index, inner) in values.elements().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            write_otlp(inner, depth + 1, out);
        }
        out.push(']');
    } else if let Some(values) = list("kvlistValue") {
        out.push('{');
        for (index, entry) in values.elements().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            let key = text(entry, "key").unwrap_or_default();
            out.push_str(&serde_json::Value::from(key).to_string());
            out.push(':');
            match entry.get("value") {
                Some(inner) => write_otlp(inner, depth + 1, out),
                None => out.push_str("null"),
            }
        }
        out.push('}');
    } else if let Some(digits) = value.get("intValue").and_then(Node::as_str) {
        // Integers are strings in OTLP.
        let is_number = goodcall_core::Tree::parse(digits).is_ok();
        out.push_str(if is_number { digits } else { "null" });
    } else {
        let scalar = value.members().next().map(|(_, scalar)| scalar);
        out.push_str(&scalar.map_or_else(|| "null".to_owned(), Node::to_json));
    }
}

#[derive(Default)]
struct SpanReader {
    turns: PendingTurns,
    /// Calls of messages, so that the run of their tool is not counted as another call.
    seen: HashSet<u64>,
}

impl RecordReader for SpanReader {
    fn read(&mut self, record: &LogRecord<'_>, out: &mut dyn TurnSink) -> CallsRead {
        let spans = spans(record.root);
        if spans.is_empty() && container(record.root, "resourceSpans").is_none() {
            return Err(Unreadable::because("a span without attributes"));
        }
        let mut count = 0;
        // Messages first: the run of a tool may be listed before the message that asked for it.
        for span in &spans {
            let found =
                gen_ai::turn(span, record, out).or_else(|| open_inference::turn(span, record, out));
            let Some(found) = found else {
                if span.is_cut_off() {
                    out.unreadable_part(CUT_OFF, record.place.clone());
                }
                continue;
            };
            for (id, result) in found.results {
                self.turns.result(&id, result);
            }
            let mut turn = found.turn;
            turn.place.call = u32::try_from(count).unwrap_or(u32::MAX);
            for call in &turn.calls {
                self.remember(&span.trace, call.id.as_deref());
            }
            count += turn.calls.len();
            if !turn.calls.is_empty() {
                self.turns.begin(None, turn, out);
            }
        }
        for span in &spans {
            let Some(run) = gen_ai::tool_run(span) else {
                continue;
            };
            count += self.tool_run(span, run, record, count, out);
        }
        Ok(count)
    }

    fn finish(&mut self, out: &mut dyn TurnSink) {
        self.turns.finish(out);
    }
}

impl SpanReader {
    fn remember(&mut self, trace: &str, id: Option<&str>) {
        if let Some(id) = id
            && self.seen.len() < MOST_SEEN
        {
            self.seen.insert(key(trace, id));
        }
    }

    /// Takes the run of a tool: it is the result of a call, or a call of its own if no message with it
    /// was recorded.
    fn tool_run(
        &mut self,
        span: &Span,
        run: ToolRun,
        record: &LogRecord<'_>,
        before: usize,
        out: &mut dyn TurnSink,
    ) -> usize {
        let mut call = run.call;
        if let Some(id) = call.id.as_deref()
            && self.seen.contains(&key(&span.trace, id))
        {
            let result = call.result.take();
            let result = result.unwrap_or_else(|| RecordedResult::new("", span.is_error));
            self.turns.result(id, result);
            return 0;
        }
        let mut turn = RecordedTurn::new(record.place.clone());
        turn.place.call = u32::try_from(before).unwrap_or(u32::MAX);
        turn.conversation = Some(span.trace.clone().into());
        turn.time = span.time;
        turn.calls.push(call);
        self.turns.begin(None, turn, out);
        1
    }
}

fn key(trace: &str, id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (trace, id).hash(&mut hasher);
    hasher.finish()
}

/// The spans of a record.
fn spans(root: Node<'_>) -> Vec<Span> {
    if container(root, "resourceSpans").is_none() {
        return Span::read(root).into_iter().collect();
    }
    let scopes = elements(root, "resourceSpans").flat_map(|resource| {
        // The older name of the list.
        elements(resource, "scopeSpans").chain(elements(resource, "instrumentationLibrarySpans"))
    });
    let spans = scopes.flat_map(|scope| elements(scope, "spans"));
    spans.filter_map(Span::read).collect()
}
