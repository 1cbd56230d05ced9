//! Bedrock Converse. The events of a stream are objects with one key each, and text has no first event
//! of its own: it begins with its first part.

mod encode;

use goodcall_core::Node;

use super::form::{block_history, block_memories, leading_blocks, put_back_blocks, user_results};
use super::*;
use crate::definitions::Definition;
use crate::envelope::{Answer, Provider, is_safety_stop};
use crate::relay::{CallDecision, CallMemory, Endpoint, FindCall};
use crate::splice::quoted;
use crate::stream::{CallEvent, Fragment, index_slot, push_stop, push_text, raw};

const STOP: StopReasons = StopReasons {
    with_calls: "tool_use",
    without_calls: "end_turn",
};

/// The key of the index of the block that an event is about.
const INDEX: &str = "contentBlockIndex";

/// Whole messages of Converse.
pub(super) struct BedrockForm;

impl Form for BedrockForm {
    fn provider(&self) -> Provider {
        Provider::Bedrock
    }

    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint> {
        let (head, method) = url.path.rsplit_once('/')?;
        let (_, model) = head.rsplit_once("/model/")?;
        let endpoint = Endpoint::new(Provider::Bedrock);
        match method {
            "converse" => Some(endpoint.of_model(model, false)),
            #[cfg(feature = "event-stream")]
            "converse-stream" => Some(endpoint.of_model(model, true)),
            _ => None,
        }
    }

    #[cfg(feature = "event-stream")]
    fn framing(&self) -> super::Framing {
        super::Framing::Messages
    }

    fn tools<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        root.get("toolConfig")?.get("tools")
    }

    fn is_opaque(&self, entry: Node<'_>) -> bool {
        let is_mark = entry.get("cachePoint").is_some();
        Definition::read(entry).wrapper.is_none() && !is_mark
    }

    fn streams(&self, _: Node<'_>) -> bool {
        false
    }

    fn forbids_calls(&self, _: Node<'_>) -> bool {
        // Converse has no such choice: a request without calls has no tools.
        false
    }

    fn token_limit<'t>(&self, root: Node<'t>) -> Option<Node<'t>> {
        let limit = root.get("inferenceConfig")?.get("maxTokens");
        limit.filter(|limit| !limit.is_null())
    }

    fn is_failure(&self, root: Node<'_>) -> bool {
        content(root).is_none_or(Node::is_empty)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        is_safety_stop(root.get("stopReason"))
    }

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t> {
        Layout::Blocks(content(root).into_iter().collect())
    }

    fn block_texts<'t>(&self, block: Node<'t>) -> Vec<Node<'t>> {
        block.get("text").into_iter().collect()
    }

    fn refuses_empty_text(&self) -> bool {
        true
    }

    fn stop_places<'t>(&self, root: Node<'t>) -> Vec<StopPlace<'t>> {
        vec![StopPlace {
            owner: root,
            key: "stopReason",
            reasons: &STOP,
        }]
    }

    fn id_prefix(&self) -> &'static str {
        "tooluse_"
    }

    fn call(&self, id: &str, name: &str, arguments: &str) -> String {
        let (id, name) = (quoted(id), quoted(name));
        format!(r#"{{"toolUse":{{"toolUseId":{id},"name":{name},"input":{arguments}}}}}"#)
    }

    fn text_block(&self, decision: &CallDecision) -> String {
        format!(r#"{{"text":{}}}"#, quoted(&decision.text))
    }

    /// With reasoning switched on, Claude refuses a history in which a call has none before it.
    fn thinking_before(&self, reply: &str) -> Option<String> {
        leading_blocks(reply, content, is_reasoning)
    }

    fn message(&self, author: Author, text: &str) -> String {
        let (role, text) = (author.role(), quoted(text));
        format!(r#"{{"role":"{role}","content":[{{"text":{text}}}]}}"#)
    }

    fn memorable(&self, root: Node<'_>, reply: &str) -> Vec<CallMemory> {
        block_memories(content(root), self.thinking_before(reply), call_memory)
    }

    fn put_back(&self, request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
        let lists = root.get("messages")?.elements();
        let lists = lists.filter_map(|message| message.get("content"));
        put_back_blocks(request, lists, is_reasoning, |block| {
            let call = call_memory(block)?;
            find(call.id.as_deref(), &call.name, &call.arguments)
        })
    }

    fn history_of(&self, root: Node<'_>, legal: &str, _: Node<'_>) -> Option<String> {
        let content = block_history(content(root)?, legal, |block| {
            let text = block.get("text").and_then(Node::as_str);
            text.is_some_and(|text| text.trim().is_empty())
        })?;
        Some(format!(r#"{{"role":"assistant","content":{content}}}"#))
    }

    fn results(&self, _: &str, answers: &[(&CallDecision, Answer)]) -> String {
        user_results(self.provider(), "content", answers)
    }
}

/// The blocks of a reply.
fn content(root: Node<'_>) -> Option<Node<'_>> {
    root.get("output")?.get("message")?.get("content")
}

fn is_reasoning(block: Node<'_>) -> bool {
    block.get("reasoningContent").is_some()
}

/// The call of a block, as it is remembered.
fn call_memory(block: Node<'_>) -> Option<CallMemory> {
    CallMemory::read(block.get("toolUse")?, "toolUseId", "input")
}

/// The stream of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Bedrock {
    /// The index of the block that the last event was about.
    index: String,
    /// The blocks of this reply, each with its index, for the history.
    history: Vec<(String, HistoryBlock)>,
    places: Places,
}

/// A block of the reply, as the history needs it.
#[derive(Clone, Debug)]
enum HistoryBlock {
    Text(String),
    /// Reasoning, in parts: its text, its signature, or what was redacted.
    Reasoning(Vec<(String, String)>),
    Call(CallKey),
}

/// The key of an event, and its value.
fn event_of<'t>(root: Node<'t>) -> Option<(&'t str, Node<'t>)> {
    root.members().next()
}

/// The index of the block that an event is about.
fn index_of<'t>(event: Node<'t>) -> Option<&'t str> {
    event.get(INDEX).and_then(Node::digits)
}

/// Reads an event into calls and text.
fn decode(root: Node<'_>) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let Some((kind, event)) = event_of(root) else {
        return out;
    };
    let slot = index_slot(event.get(INDEX));
    match kind {
        "contentBlockStart" => {
            if let Some(call) = event.get("start").and_then(|start| start.get("toolUse")) {
                let fragment = Fragment::begin(call.get("toolUseId"), call.get("name"), root);
                out.push(CallEvent::Call(slot, fragment));
            }
        }
        "contentBlockDelta" => {
            let delta = event.get("delta");
            push_text(delta.and_then(|delta| delta.get("text")), &mut out);
            if let Some(call) = delta.and_then(|delta| delta.get("toolUse")) {
                let fragment = Fragment::part(raw(call.get("input")), root);
                out.push(CallEvent::Call(slot, fragment));
            }
        }
        "contentBlockStop" => {
            out.push(CallEvent::TextEnd);
            out.push(CallEvent::End(slot));
        }
        "messageStop" => push_stop(event.get("stopReason"), &mut out),
        _ => {}
    }
    out
}
