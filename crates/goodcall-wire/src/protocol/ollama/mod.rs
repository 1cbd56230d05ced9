//! Streams of Ollama's own chat API: one JSON object per line, and each call whole in one of them.

mod encode;

use goodcall_core::Node;

use super::form::has;
use super::*;
use crate::envelope::{Provider, is_safety_stop};
use crate::relay::{Endpoint, ExtraFields, FailedGeneration, RecoveredReply};
use crate::splice::quoted;
use crate::stream::{CallEvent, id_of, push_stop, push_text, push_whole_call};

/// Whole messages of Ollama.
pub(super) struct OllamaForm;

impl Form for OllamaForm {
    fn provider(&self) -> Provider {
        Provider::Ollama
    }

    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint> {
        let is_own = url.path.ends_with("/api/chat");
        is_own.then(|| Endpoint::new(Provider::Ollama))
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn streams(&self, root: Node<'_>) -> bool {
        root.get("stream").and_then(Node::as_bool) != Some(false)
    }

    fn token_limit<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        let limit = root.get("options")?.get("num_predict");
        limit.filter(|limit| !limit.is_null())
    }

    fn usage<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        // The counts are members of the last line itself.
        let is_last = root.get("done").and_then(Node::as_bool) == Some(true);
        is_last.then_some(root)
    }

    fn is_failure(&self, root: Node<'_>) -> bool {
        has(root, "error") || !has(root, "message")
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        is_safety_stop(root.get("done_reason"))
    }

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t> {
        Layout::Messages(root.get("message").into_iter().collect())
    }

    fn reasoning_key(&self) -> Option<&'static str> {
        Some("thinking")
    }

    fn call(&self, _: &str, name: &str, arguments: &str) -> String {
        let name = quoted(name);
        format!(r#"{{"function":{{"name":{name},"arguments":{arguments}}}}}"#)
    }

    fn failed_generation(&self, root: Node<'_>) -> Option<FailedGeneration> {
        FailedGeneration::in_error(root.get("error")?)
    }

    fn recovered(&self, _: &str, _: Node<'_>, reply: &RecoveredReply<'_>) -> Option<String> {
        let (model, text, calls) = (quoted(reply.model), quoted(reply.text), &reply.calls);
        let message = format!(r#"{{"role":"assistant","content":{text},"tool_calls":[{calls}]}}"#);
        Some(format!(
            r#"{{"model":{model},"message":{message},"done":true,"done_reason":"stop"}}"#
        ))
    }

    fn history_of(&self, root: Node<'_>, legal: &str, _: Node<'_>) -> Option<String> {
        legal.get(root.get("message")?.span()).map(str::to_owned)
    }
}

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
    places: Places,
}

fn decode(root: Node<'_>) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let message = root.get("message");
    let get = |key| message.and_then(|message| message.get(key));
    push_text(get("content"), &mut out);
    for call in get("tool_calls").into_iter().flat_map(Node::elements) {
        if let Some(function) = call.get("function") {
            let id = id_of(call.get("id"));
            push_whole_call(function, "arguments", id, &mut out);
        }
    }
    push_stop(root.get("done_reason"), &mut out);
    out
}
