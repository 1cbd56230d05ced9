//! Spans by the conventions of OpenTelemetry for generative AI: `chat MODEL` and `execute_tool NAME`.
//! Structured attributes are values or strings of JSON.

use std::borrow::Cow;

use goodcall_core::{Kind, Node, Tree};
use goodcall_wire::recorded::TokenCount;

use super::fields::{content, elements, stop, text};
use super::spans::{Span, SpanTurn, ToolRun};
use super::{LogRecord, TurnSink};
use crate::recorded::{
    KnownTools, OfferedTools, RecordedCall, RecordedResult, RecordedTurn, SentArguments,
};

/// The message of a model that a span holds.
pub(super) fn turn(span: &Span, record: &LogRecord<'_>, out: &dyn TurnSink) -> Option<SpanTurn> {
    let output = span.json("gen_ai.output.messages")?;
    let tree = Tree::parse(output).ok()?;
    let mut turn = RecordedTurn::new(record.place.clone());
    let named = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| span.text(key))
            .map(str::to_owned)
    };
    let conversation = named(&["gen_ai.conversation.id"]);
    turn.conversation = Some(Cow::Owned(
        conversation.unwrap_or_else(|| span.trace.clone()),
    ));
    turn.model = named(&["gen_ai.response.model", "gen_ai.request.model"]).map(Cow::Owned);
    turn.server =
        named(&["server.address", "gen_ai.provider.name", "gen_ai.system"]).map(Cow::Owned);
    turn.time = span.time;
    turn.tokens = match (
        span.count("gen_ai.usage.input_tokens"),
        span.count("gen_ai.usage.output_tokens"),
    ) {
        (None, None) => None,
        (input, output) => Some(TokenCount::new(input.unwrap_or(0), output.unwrap_or(0))),
    };
    turn.tools = match span.json("gen_ai.tool.definitions") {
        Some(list) => out.judge().offered(list),
        None => OfferedTools::NotRecorded(KnownTools::Some),
    };
    let mut reason = span
        .json("gen_ai.response.finish_reasons")
        .and_then(first_text);
    for message in messages(tree.root()) {
        turn.calls
            .extend(elements(message, "parts").filter_map(call));
        // It was part of the message before it became an attribute.
        reason = reason.or_else(|| text(message, "finish_reason").map(str::to_owned));
    }
    if let Some(reason) = reason {
        turn.stop = stop(&reason);
    }
    let results = span.json("gen_ai.input.messages").map(results);
    Some(SpanTurn {
        turn,
        results: results.unwrap_or_default(),
    })
}

fn messages(root: Node<'_>) -> Vec<Node<'_>> {
    match root.kind() {
        Kind::Array => root.elements().collect(),
        _ => vec![root],
    }
}

fn first_text(json: &str) -> Option<String> {
    let tree = Tree::parse(json).ok()?;
    let first = tree.root().elements().next()?;
    first.as_str().map(str::to_owned)
}

/// A call among the parts of a message. Arguments are a value, a string, or left out.
fn call(part: Node<'_>) -> Option<RecordedCall<'static>> {
    if text(part, "type") != Some("tool_call") {
        return None;
    }
    let arguments = match part.get("arguments") {
        Some(sent) if !sent.is_null() => match sent.as_str() {
            Some(written) => SentArguments::Text(Cow::Owned(written.to_owned())),
            None => SentArguments::Value(Cow::Owned(sent.to_json())),
        },
        _ => SentArguments::NotRecorded,
    };
    let mut call = RecordedCall::new(text(part, "name")?.to_owned(), arguments);
    call.id = text(part, "id").map(|id| Cow::Owned(id.to_owned()));
    Some(call)
}

/// The results among the messages that a model read.
fn results(json: &str) -> Vec<(String, RecordedResult<'static>)> {
    let Ok(tree) = Tree::parse(json) else {
        return Vec::new();
    };
    let parts = tree
        .root()
        .elements()
        .flat_map(|message| elements(message, "parts"));
    let results = parts.filter_map(|part| {
        if text(part, "type") != Some("tool_call_response") {
            return None;
        }
        let said = part.get("response").or_else(|| part.get("result"))?;
        let id = text(part, "id")?.to_owned();
        Some((id, RecordedResult::new(content(said), false)))
    });
    results.collect()
}

/// The run of a tool that a span stands for.
pub(super) fn tool_run(span: &Span) -> Option<ToolRun> {
    let is_run = span.text("gen_ai.operation.name") == Some("execute_tool");
    let name = span.text("gen_ai.tool.name").filter(|_| is_run)?;
    let key = "gen_ai.tool.call.arguments";
    let arguments = match span.text(key) {
        None => SentArguments::NotRecorded,
        Some(sent) if span.is_structured(key) => SentArguments::Value(Cow::Owned(sent.to_owned())),
        Some(sent) => SentArguments::Text(Cow::Owned(sent.to_owned())),
    };
    let mut call = RecordedCall::new(name.to_owned(), arguments);
    call.id = span
        .text("gen_ai.tool.call.id")
        .map(|id| Cow::Owned(id.to_owned()));
    let said = span.text("gen_ai.tool.call.result");
    let error = span.text("error.type");
    let is_error = error.is_some() || span.is_error;
    call.result = said
        .or(error)
        .map(|said| RecordedResult::new(said.to_owned(), is_error));
    Some(ToolRun { call })
}
