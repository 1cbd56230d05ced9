//! Bedrock Converse. The events of a stream are objects with one key each, and text has no first event
//! of its own: it begins with its first part.

mod encode;

use std::collections::HashMap;

use goodcall_core::{Kind, Node, Tree};

use super::form::leading_blocks;
use super::{Author, CallKey, Decisions, EventKind, Form, Layout, RequestUrl};
use super::{StopPlace, StopReasons};
use crate::definitions::Definition;
use crate::envelope::{Answer, Provider, is_safety_stop, result};
use crate::relay::{CallDecision, CallMemory, Endpoint, FindCall};
use crate::splice::{Splice, quoted};
use crate::stream::{CallEvent, Fragment, id_of, index_slot, push_stop, push_text, raw, text};

const STOP: StopReasons = StopReasons {
    with_calls: "tool_use",
    without_calls: "end_turn",
};

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
        let role = match author {
            Author::Model => "assistant",
            Author::User => "user",
        };
        format!(
            r#"{{"role":"{role}","content":[{{"text":{}}}]}}"#,
            quoted(text)
        )
    }

    fn memorable(&self, root: Node<'_>, reply: &str) -> Vec<CallMemory> {
        let Some(reasoning) = self.thinking_before(reply) else {
            return Vec::new();
        };
        let blocks = content(root).into_iter().flat_map(Node::elements);
        let calls = blocks.filter_map(|block| {
            let mut memory = call_memory(block)?;
            memory.message.push((String::new(), reasoning.clone()));
            Some(memory)
        });
        calls.collect()
    }

    fn put_back(&self, request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
        let mut splice = Splice::new(request);
        for message in root.get("messages")?.elements() {
            let content = message.get("content").filter(|list| !list.is_empty());
            let Some(content) = content else {
                continue;
            };
            let first = content.element(0);
            if first.is_none_or(is_reasoning) {
                continue;
            }
            let mut calls = content.elements().filter_map(call_memory);
            let known =
                calls.find_map(|call| find(call.id.as_deref(), &call.name, &call.arguments));
            if let Some((_, blocks)) = known.as_ref().and_then(|known| known.message.first()) {
                let start = content.span().start + 1;
                splice.replace(start..start, format!("{blocks},"));
            }
        }
        (!splice.is_empty()).then(|| splice.apply())
    }

    fn history_of(&self, root: Node<'_>, legal: &str, _: Node<'_>) -> Option<String> {
        let is_list = |list: &Node<'_>| list.kind() == Kind::Array;
        let blocks = content(root).filter(is_list)?.elements();
        let is_blank = |block: &Node<'_>| {
            let text = block.get("text").and_then(Node::as_str);
            text.is_some_and(|text| text.trim().is_empty())
        };
        let blocks = blocks.filter(|block| !is_blank(block));
        let blocks: Vec<_> = blocks.filter_map(|block| legal.get(block.span())).collect();
        let blocks = blocks.join(",");
        Some(format!(r#"{{"role":"assistant","content":[{blocks}]}}"#))
    }

    fn results(&self, _: &str, answers: &[(&CallDecision, Answer)]) -> String {
        let results = answers.iter();
        let results =
            results.map(|(decision, answer)| result(Provider::Bedrock, &decision.call, answer));
        let results = results.collect::<Vec<_>>().join(",");
        format!(r#"{{"role":"user","content":[{results}]}}"#)
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
    let call = block.get("toolUse")?;
    let id = call.get("toolUseId").and_then(Node::as_str);
    let arguments = call.get("input").map(Node::to_json);
    let name = call.get("name")?.as_str()?;
    Some(CallMemory::new(id, name, &arguments.unwrap_or_default()))
}

/// The stream of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Bedrock {
    /// The index of the block that the last event was about.
    index: String,
    /// The blocks of this reply, each with its index, for the history.
    history: Vec<(String, HistoryBlock)>,
    /// The client's indexes of the blocks of this reply.
    places: HashMap<String, usize>,
    next_place: usize,
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
    event.get("contentBlockIndex").and_then(Node::digits)
}

/// Reads an event into calls and text.
fn decode(root: Node<'_>, data: &str) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let Some((kind, event)) = event_of(root) else {
        return out;
    };
    let slot = index_slot(event.get("contentBlockIndex"));
    match kind {
        "contentBlockStart" => {
            if let Some(call) = event.get("start").and_then(|start| start.get("toolUse")) {
                let fragment = Fragment {
                    id: id_of(call.get("toolUseId")),
                    name: Some(text(call.get("name")).unwrap_or_default()),
                    arguments: None,
                    span: root.span(),
                };
                out.push(CallEvent::Call(slot, fragment));
            }
        }
        "contentBlockDelta" => {
            let delta = event.get("delta");
            push_text(delta.and_then(|delta| delta.get("text")), &mut out);
            if let Some(call) = delta.and_then(|delta| delta.get("toolUse")) {
                let fragment = Fragment {
                    arguments: raw(call.get("input"), data),
                    span: root.span(),
                    ..Fragment::default()
                };
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
