//! Streams of Ollama's own chat API: one JSON object per line, and each call whole in one of them.

mod encode;

use goodcall_core::{Node, Tree};

use super::{CallKey, Decisions, EventKind};
use crate::relay::ExtraFields;
use crate::stream::{CallEvent, id_of, push_stop, push_text, push_whole_call};

/// The stream of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Ollama {
    /// The members of a line beside the message, for lines that the relay makes.
    head: Option<String>,
    /// The text outside calls.
    said: String,
    /// Other fields of the message, such as the thinking.
    extra: ExtraFields,
    /// The calls, for the history.
    keys: Vec<CallKey>,
    next_place: usize,
}

fn decode(root: Node<'_>, data: &str) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let message = root.get("message");
    let get = |key| message.and_then(|message| message.get(key));
    push_text(get("content"), &mut out);
    for call in get("tool_calls").into_iter().flat_map(Node::elements) {
        if let Some(function) = call.get("function") {
            let id = id_of(call.get("id"));
            push_whole_call(function, "arguments", id, data, &mut out);
        }
    }
    push_stop(root.get("done_reason"), &mut out);
    out
}
