//! Spans by the conventions of OpenInference (Phoenix, Arize): lists are flattened into keys with
//! indices, or nested.

use std::borrow::Cow;
use std::collections::HashMap;

use goodcall_wire::recorded::TokenCount;

use super::fields::stop;
use super::spans::{Span, SpanTurn};
use super::{LogRecord, TurnSink};
use crate::recorded::{
    KnownTools, OfferedTools, RecordedCall, RecordedResult, RecordedTurn, SentArguments,
};

/// Messages, calls and tools of a span that are looked for.
const MOST: usize = 10_000;

/// The attributes below `llm`, flattened.
struct Flat(HashMap<String, String>);

impl Flat {
    fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    fn has(&self, prefix: &str) -> bool {
        self.0.keys().any(|key| key.starts_with(prefix))
    }
}

/// The message of a model that a span holds.
pub(super) fn turn(span: &Span, record: &LogRecord<'_>, out: &dyn TurnSink) -> Option<SpanTurn> {
    let flat = Flat(span.flat("llm").into_iter().collect());
    if !flat.has("llm.output_messages.") {
        return None;
    }
    let mut turn = RecordedTurn::new(record.place.clone());
    let owned = |key: &str| flat.get(key).map(|text| Cow::Owned(text.to_owned()));
    let session = span.text("session.id").unwrap_or(&span.trace);
    turn.conversation = Some(Cow::Owned(session.to_owned()));
    turn.model = owned("llm.model_name");
    turn.server = owned("llm.provider").or_else(|| owned("llm.system"));
    turn.time = span.time;
    let count = |key: &str| flat.get(key).and_then(|text| text.parse::<u64>().ok());
    let (read, written) = (
        count("llm.token_count.prompt"),
        count("llm.token_count.completion"),
    );
    turn.tokens = (read.is_some() || written.is_some())
        .then(|| TokenCount::new(read.unwrap_or(0), written.unwrap_or(0)));
    if let Some(reason) = flat.get("llm.finish_reason") {
        turn.stop = stop(reason);
    }
    turn.tools = tools(&flat).map_or(OfferedTools::NotRecorded(KnownTools::Some), |list| {
        out.judge().offered(&list)
    });
    for index in 0..MOST {
        let message = format!("llm.output_messages.{index}.");
        if !flat.has(&message) {
            break;
        }
        turn.calls.extend(calls(&flat, &message));
    }
    Some(SpanTurn {
        turn,
        results: results(&flat),
    })
}

/// The definitions, each of which is JSON in a string.
fn tools(flat: &Flat) -> Option<String> {
    let definitions = (0..MOST).map_while(|index| {
        let key = format!("llm.tools.{index}.tool.json_schema");
        flat.get(&key)
    });
    let definitions: Vec<&str> = definitions.collect();
    (!definitions.is_empty()).then(|| format!("[{}]", definitions.join(",")))
}

/// The calls of a message: in its list of calls, or among its parts.
fn calls(flat: &Flat, message: &str) -> Vec<RecordedCall<'static>> {
    let mut found = Vec::new();
    for list in ["tool_calls", "contents"] {
        for index in 0..MOST {
            let base = format!("{message}message.{list}.{index}.");
            if !flat.has(&base) {
                break;
            }
            // Parts of a message have a prefix of their own in some versions.
            let inner = format!("{base}message_content.");
            let base = if flat.has(&inner) { inner } else { base };
            let key = |name: &str| format!("{base}tool_call.{name}");
            let Some(name) = flat.get(&key("function.name")) else {
                continue;
            };
            let sent = flat.get(&key("function.arguments"));
            let arguments = sent.map_or(SentArguments::NotRecorded, |sent| {
                SentArguments::Text(Cow::Owned(sent.to_owned()))
            });
            let mut call = RecordedCall::new(name.to_owned(), arguments);
            call.id = flat.get(&key("id")).map(|id| Cow::Owned(id.to_owned()));
            found.push(call);
        }
        if !found.is_empty() {
            // Both lists have the same calls.
            break;
        }
    }
    found
}

/// The results among the messages that the model read.
fn results(flat: &Flat) -> Vec<(String, RecordedResult<'static>)> {
    let mut found = Vec::new();
    for index in 0..MOST {
        let base = format!("llm.input_messages.{index}.");
        if !flat.has(&base) {
            break;
        }
        let key = |name: &str| format!("{base}message.{name}");
        if flat.get(&key("role")) == Some("tool")
            && let Some(id) = flat.get(&key("tool_call_id"))
        {
            let said = flat.get(&key("content")).unwrap_or_default();
            found.push((id.to_owned(), RecordedResult::new(said.to_owned(), false)));
        }
    }
    found
}
