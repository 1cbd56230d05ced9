//! Streams of Anthropic Messages, whose blocks have a first and a last event.

mod encode;

use std::collections::HashMap;

use goodcall_core::{Node, Tree};

use super::form::{block_history, block_memories, has, leading_blocks};
use super::form::{put_back_blocks, user_results};
use super::*;
use crate::definitions::Definition;
use crate::envelope::{Answer, Provider, is_safety_stop};
use crate::relay::{CallDecision, CallMemory, Endpoint, FindCall};
use crate::splice::{Splice, quoted};
use crate::stream::{CallEvent, Fragment, id_of, index_slot, push_stop, push_text, raw, text};

/// The key of a text block's citations, which arrive one by one.
const CITATIONS: &str = "citations";

const MESSAGES_STOP: StopReasons = StopReasons {
    with_calls: "tool_use",
    without_calls: "end_turn",
};

/// Whole messages of Anthropic.
pub(super) struct MessagesForm;

impl Form for MessagesForm {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn endpoint(&self, url: &RequestUrl<'_>) -> Option<Endpoint> {
        let endpoint = Endpoint::new(Provider::Anthropic);
        // Vertex AI has the model and the way of replying in the path.
        if let Some((head, method)) = url.path.rsplit_once(':') {
            let (_, model) = head.rsplit_once("/publishers/anthropic/models/")?;
            return match method {
                "rawPredict" => Some(endpoint.of_model(model, false)),
                "streamRawPredict" => Some(endpoint.of_model(model, true)),
                _ => None,
            };
        }
        let is_own = url.path.ends_with("/v1/messages")
            || url.path.ends_with("/messages") && (url.has_header)("anthropic-version");
        is_own.then_some(endpoint)
    }

    fn is_function(&self, entry: Node<'_>) -> bool {
        entry.get("input_schema").is_some() && Definition::read(entry).name().is_some()
    }

    fn is_failure(&self, root: Node<'_>) -> bool {
        has(root, "error") || root.get("content").is_none_or(Node::is_empty)
    }

    fn is_settled(&self, root: Node<'_>) -> bool {
        is_safety_stop(root.get("stop_reason"))
    }

    fn layout<'t>(&self, root: Node<'t>) -> Layout<'t> {
        Layout::Blocks(root.get("content").into_iter().collect())
    }

    fn block_texts<'t>(&self, block: Node<'t>) -> Vec<Node<'t>> {
        let is_text = matches!(type_of(block), "text" | "");
        block.get("text").filter(|_| is_text).into_iter().collect()
    }

    fn refuses_empty_text(&self) -> bool {
        true
    }

    fn stop_places<'t>(&self, root: Node<'t>) -> Vec<StopPlace<'t>> {
        vec![StopPlace {
            owner: root,
            key: "stop_reason",
            reasons: &MESSAGES_STOP,
        }]
    }

    fn id_prefix(&self) -> &'static str {
        "toolu_"
    }

    fn call(&self, id: &str, name: &str, arguments: &str) -> String {
        let (id, name) = (quoted(id), quoted(name));
        format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{arguments}}}"#)
    }

    fn text_block(&self, decision: &CallDecision) -> String {
        format!(r#"{{"type":"text","text":{}}}"#, quoted(&decision.text))
    }

    /// With thinking switched on, a history is refused in which a call has no thinking before it.
    fn thinking_before(&self, reply: &str) -> Option<String> {
        leading_blocks(reply, |root| root.get("content"), is_thinking)
    }

    fn memorable(&self, root: Node<'_>, reply: &str) -> Vec<CallMemory> {
        block_memories(
            root.get("content"),
            self.thinking_before(reply),
            call_memory,
        )
    }

    fn put_back(&self, request: &str, root: Node<'_>, find: &FindCall<'_>) -> Option<String> {
        let thinking = root.get("thinking")?.get("type").and_then(Node::as_str);
        if thinking == Some("disabled") {
            return None;
        }
        let is_own =
            |message: &Node<'_>| message.get("role").and_then(Node::as_str) == Some("assistant");
        let lists = root.get("messages")?.elements().filter(is_own);
        let lists = lists.filter_map(|message| message.get("content"));
        put_back_blocks(request, lists, is_thinking, |block| {
            let call = call_memory(block)?;
            find(call.id.as_deref(), &call.name, &call.arguments)
        })
    }

    fn history_of(&self, root: Node<'_>, legal: &str, _: Node<'_>) -> Option<String> {
        // Anthropic refuses a history with an empty text in it.
        let content = block_history(root.get("content")?, legal, |block| {
            let text = block.get("text").and_then(Node::as_str);
            type_of(block) == "text" && text.is_none_or(|text| text.trim().is_empty())
        })?;
        Some(format!(r#"{{"role":"assistant","content":{content}}}"#))
    }

    fn results(&self, _: &str, answers: &[(&CallDecision, Answer)]) -> String {
        user_results(self.provider(), "content", answers)
    }
}

fn is_thinking(block: Node<'_>) -> bool {
    matches!(type_of(block), "thinking" | "redacted_thinking")
}

/// The call of a block, as it is remembered.
fn call_memory(block: Node<'_>) -> Option<CallMemory> {
    let is_call = type_of(block) == "tool_use";
    is_call.then(|| CallMemory::read(block, "id", "input"))?
}

/// The stream of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    /// The index of the block that the last event was about.
    index: String,
    /// The input in the first event of each block that is a call, by the block's index. Fragments
    /// replace it.
    inputs: HashMap<String, String>,
    /// The first event's block of each call, for its other members.
    starts: Vec<CallStart>,
    /// The blocks of this reply, for the history.
    history: Vec<HistoryBlock>,
    /// A text block's first event, until some of its text is forwarded: providers refuse an empty
    /// text in a history.
    waiting: Option<SseEvent>,
    places: Places,
}

/// The first event of a call.
#[derive(Clone, Debug, Default)]
struct CallStart {
    block: String,
    /// True if it may be forwarded at once: with an id, and without input.
    is_regular: bool,
}

/// A block of the reply, as the history needs it.
#[derive(Clone, Debug)]
enum HistoryBlock {
    /// A block that is not a call: its first event, and the text that was added per key.
    Other {
        index: String,
        start: String,
        added: Vec<(&'static str, String)>,
    },
    Call(CallKey),
}

impl Messages {
    fn is_call(root: Node<'_>) -> bool {
        root.get("content_block").map(type_of) == Some("tool_use")
    }

    /// Keeps what a delta adds to a block that is not a call.
    fn note_delta(&mut self, delta: Node<'_>) {
        for (key, of) in [
            ("thinking", "thinking"),
            ("signature", "signature"),
            ("content", "content"),
            ("partial_json", "input"),
        ] {
            if let Some(part) = delta.get(key).and_then(Node::as_str) {
                self.add(of, part);
            }
        }
        if let Some(citation) = delta.get("citation") {
            self.add(CITATIONS, &format!(",{}", citation.to_json()));
        }
    }

    /// Adds text to the block that the last event was about.
    fn add(&mut self, key: &'static str, part: &str) {
        let current = &self.index;
        let mut blocks = self.history.iter_mut().rev();
        let added = blocks.find_map(|block| match block {
            HistoryBlock::Other { index, added, .. } if index == current => Some(added),
            _ => None,
        });
        let Some(added) = added else {
            return;
        };
        match added.iter_mut().find(|(known, _)| *known == key) {
            Some((_, text)) => text.push_str(part),
            None => added.push((key, part.to_owned())),
        }
    }
}

/// A block as the history holds it; `None` for an empty text, which providers refuse.
fn history_block(start: &str, added: &[(&'static str, String)]) -> Option<String> {
    let tree = Tree::parse(start).ok()?;
    let root = tree.root();
    let mut splice = Splice::new(start);
    for (key, text) in added {
        let before = root.get(key).and_then(Node::as_str).unwrap_or_default();
        match *key {
            "input" => splice.set(root, key, &crate::envelope::legal_arguments(text)),
            CITATIONS => {
                let list = text.trim_start_matches(',');
                splice.set(root, key, &format!("[{list}]"));
            }
            key => splice.set(root, key, &quoted(&format!("{before}{text}"))),
        }
    }
    let blank = |text: &str| text.trim().is_empty();
    let is_empty = root.get("text").and_then(Node::as_str).is_none_or(blank)
        && added
            .iter()
            .all(|(key, text)| *key != "text" || blank(text));
    (!(type_of(root) == "text" && is_empty)).then(|| splice.apply())
}

/// Reads the events of one message into calls and text.
fn decode(messages: &mut Messages, root: Node<'_>) -> Vec<CallEvent> {
    let mut out = Vec::new();
    let slot = index_slot(root.get("index"));
    let index = root.get("index").and_then(Node::digits).unwrap_or_default();
    match type_of(root) {
        "content_block_start" => {
            let block = root.get("content_block");
            push_text(block.and_then(|block| block.get("text")), &mut out);
            if let Some(block) = block.filter(|_| Messages::is_call(root)) {
                if let Some(input) = raw(block.get("input")) {
                    messages.inputs.insert(index.to_owned(), input);
                }
                let fragment = Fragment::begin(block.get("id"), block.get("name"), root);
                out.push(CallEvent::Call(slot, fragment));
            }
        }
        "content_block_delta" => {
            let delta = root.get("delta");
            push_text(delta.and_then(|delta| delta.get("text")), &mut out);
            let part = text(delta.and_then(|delta| delta.get("partial_json")));
            if part.is_some() {
                out.push(CallEvent::Call(slot, Fragment::part(part, root)));
            }
        }
        "content_block_stop" => {
            if let Some(arguments) = messages.inputs.remove(index) {
                let slot = slot.clone();
                out.push(CallEvent::Whole { slot, arguments });
            }
            out.push(CallEvent::TextEnd);
            out.push(CallEvent::End(slot));
        }
        "message_delta" => {
            let delta = root.get("delta");
            push_stop(delta.and_then(|delta| delta.get("stop_reason")), &mut out);
        }
        _ => {}
    }
    out
}
