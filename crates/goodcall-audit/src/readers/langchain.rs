//! Messages of LangChain, as its tracers and others write them: `tool_calls` are parsed, and what the
//! model wrote is at best in `additional_kwargs`.

use std::borrow::Cow;

use goodcall_core::{Kind, Node};
use goodcall_wire::recorded::TokenCount;

use super::LogRecord;
use super::fields::{elements, stop, text};
use crate::recorded::{RecordedCall, RecordedTurn, SentArguments};

/// The members of a message: its own, or those of a serialized object.
fn members(message: Node<'_>) -> Node<'_> {
    let is_object = |node: &Node<'_>| node.kind() == Kind::Object;
    message.get("kwargs").filter(is_object).unwrap_or(message)
}

/// Returns true for a message with calls in LangChain's form.
pub(super) fn has_calls(message: Node<'_>) -> bool {
    let message = members(message);
    let calls = elements(message, "tool_calls").chain(elements(message, "invalid_tool_calls"));
    calls
        .into_iter()
        .any(|call| call.get("args").is_some() && call.get("name").is_some())
}

/// Adds the calls of a message to a turn, and how it ended.
pub(super) fn read_message(record: &LogRecord<'_>, message: Node<'_>, turn: &mut RecordedTurn<'_>) {
    let message = members(message);
    let raw: Vec<_> = message
        .get("additional_kwargs")
        .into_iter()
        .flat_map(|more| elements(more, "tool_calls"))
        .collect();
    for call in elements(message, "tool_calls") {
        let id = text(call, "id");
        let written = raw
            .iter()
            .find(|raw| id.is_some() && text(**raw, "id") == id);
        let written = written.and_then(|raw| text(raw.get("function")?, "arguments"));
        let arguments = match (written, call.get("args")) {
            (Some(written), _) => SentArguments::Text(Cow::Owned(written.to_owned())),
            (None, Some(args)) => SentArguments::Value(Cow::Owned(record.part(args).to_owned())),
            (None, None) => SentArguments::NotRecorded,
        };
        turn.calls.push(made(call, arguments));
    }
    for call in elements(message, "invalid_tool_calls") {
        let written = call.get("args").and_then(Node::as_str).unwrap_or_default();
        let arguments = SentArguments::Text(Cow::Owned(written.to_owned()));
        turn.calls.push(made(call, arguments));
    }
    let metadata = message.get("response_metadata");
    let reason =
        metadata.and_then(|of| text(of, "finish_reason").or_else(|| text(of, "stop_reason")));
    if let Some(reason) = reason {
        turn.stop = stop(reason);
    }
    if turn.model.is_none() {
        let named = metadata.and_then(|of| text(of, "model_name").or_else(|| text(of, "model")));
        turn.model = named.map(|model| Cow::Owned(model.to_owned()));
    }
    let usage = message.get("usage_metadata").and_then(TokenCount::read);
    turn.tokens = usage.or(turn.tokens);
}

fn made(call: Node<'_>, arguments: SentArguments<'static>) -> RecordedCall<'static> {
    let name = text(call, "name").unwrap_or_default().to_owned();
    let mut made = RecordedCall::new(name, arguments);
    made.id = text(call, "id").map(|id| Cow::Owned(id.to_owned()));
    made
}
