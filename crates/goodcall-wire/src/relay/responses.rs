//! Streams of OpenAI Responses, whose items have a first and a last event, and whose last event
//! repeats all items.

mod encode;

use std::collections::{HashMap, HashSet};

use goodcall_core::{Node, Tree};

use super::exchange::Exchange;
use super::judge::CallDecision;
use super::pending_calls::{MessageState, PendingCall, PendingCallStream, PendingCalls};
use super::reask::RefusedReply;
use super::reask::{item_id, written_call};
use super::text_call_finder::{ScannedText, TextCallFinder};
use crate::call::RawCall;
use crate::envelope::{Provider, is_client_side_call, is_safety_stop, stop_named};
use crate::splice::{Splice, quoted};
use crate::sse::SseEvent;

/// The stream of one response.
#[derive(Clone, Debug)]
pub(super) struct Responses {
    text: PartText,
    calls: Vec<CallItem>,
    pending: PendingCalls<ItemEventRole>,
    /// The items of this reply, for the history.
    history: Vec<HistoryItem>,
    client: ClientItems,
}

/// The text of the message part that is open, or was last.
#[derive(Clone, Debug, Default)]
struct PartText {
    /// Finds calls in the text, while it is open.
    finder: Option<TextCallFinder>,
    scanned: String,
    /// The text outside calls, which was forwarded.
    released: String,
    /// The index of the part.
    part: String,
    /// The parts of the message whose text changed, with their new text.
    rewritten: Vec<(String, String)>,
}

/// What the client has of all replies.
#[derive(Clone, Debug, Default)]
struct ClientItems {
    /// The items, each with its place.
    items: Vec<(usize, String)>,
    /// The client's place of each item of this reply.
    places: HashMap<String, usize>,
    next_place: usize,
    /// The sequence number of the next event.
    sequence: u64,
    /// The ids of items of earlier replies.
    earlier_ids: HashSet<String>,
    /// The new ids of this reply's items whose ids are taken.
    renamed_ids: HashMap<String, String>,
    /// True if the items differ from those of the upstream's last event.
    changed: bool,
}

/// An item that is a call.
#[derive(Clone, Debug)]
struct CallItem {
    index: String,
    id: Option<String>,
    call: RawCall,
    arguments: String,
    /// The item in its last event.
    whole: Option<String>,
    open: bool,
    /// The text that the call was, if it was found in text.
    text: Option<String>,
    /// The client's place of the item, if its events are forwarded as they arrive.
    streamed: Option<usize>,
    /// True if the call is only in the stream's last event.
    late: bool,
}

/// What a held event is to the calls, which are given by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemEventRole {
    Added(usize),
    Delta(usize),
    Arguments(usize),
    Done(usize),
    Other,
}

/// An item of the reply, as the history needs it.
#[derive(Clone, Debug)]
enum HistoryItem {
    Item(String),
    /// An item that is only in the stream's last event.
    Late(String),
    Call(usize),
}

impl Responses {
    pub(super) fn new(exchange: &Exchange) -> Self {
        Self {
            text: PartText::default(),
            calls: Vec::new(),
            pending: PendingCalls::new(Provider::Responses, exchange),
            history: Vec::new(),
            client: ClientItems::default(),
        }
    }

    pub(super) fn begin_next(&mut self, exchange: &mut Exchange) {
        let pending = self.pending.for_next_reply(Provider::Responses, exchange);
        let mut client = std::mem::take(&mut self.client);
        let ids = client
            .items
            .iter()
            .filter_map(|(_, item)| encode::id_of(item));
        client.earlier_ids.extend(ids.collect::<Vec<_>>());
        client.places.clear();
        client.renamed_ids.clear();
        client.changed = true;
        *self = Self {
            pending,
            client,
            ..Self::new(exchange)
        };
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.pending.held_bytes
    }

    pub(super) fn event(&mut self, exchange: &mut Exchange, event: SseEvent, out: &mut Vec<u8>) {
        let data = event.data.clone();
        let Some(data) = data.as_deref() else {
            return out.extend_from_slice(&event.raw);
        };
        let Ok(tree) = Tree::parse(data) else {
            if data.trim() == "[DONE]" {
                self.end_message(exchange, out);
            }
            return self.other(event, out);
        };
        let root = tree.root();
        let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
        match kind {
            "error" | "response.failed" => {
                self.abort(exchange, out);
                self.forward(&event, out);
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                if exchange.attempt == 0 {
                    self.forward(&event, out);
                }
            }
            "response.output_item.added" => {
                exchange.settled |= root.get("item").is_some_and(is_client_side_call);
                self.added(exchange, event, root, out);
            }
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                self.arguments(event, root, kind.ends_with("done"), out);
            }
            "response.output_item.done" => self.item_done(exchange, event, root, data, out),
            "response.output_text.delta" => self.text(event, root, out),
            "response.content_part.added" if is_text(root) => {
                if self.text.finder.is_none() {
                    self.part_added(exchange, &part_of(root));
                }
                self.other(event, out);
            }
            "response.output_text.done" | "response.content_part.done" if is_text(root) => {
                self.text_done(event, root, out);
            }
            "response.completed" | "response.incomplete" => {
                let response = root.get("response");
                let get = |key| response.and_then(|response| response.get(key));
                if let Some(status) = get("status").and_then(Node::as_str) {
                    self.pending.stop = stop_named(status);
                }
                let extra = get("incomplete_details");
                exchange.settled |= is_safety_stop(extra.and_then(|extra| extra.get("reason")));
                get("usage")
                    .into_iter()
                    .for_each(|usage| self.pending.usage.note(usage));
                if self.pending.state == MessageState::Receiving {
                    get("output")
                        .into_iter()
                        .for_each(|output| self.late(exchange, output, data));
                }
                self.end_message(exchange, out);
                self.pending.done = true;
                match self.pending.state {
                    MessageState::HeldForReask => self.pending.hold(event, ItemEventRole::Other),
                    _ => self.write_last(exchange, &event, out),
                }
            }
            _ => self.other(event, out),
        }
    }

    fn added(&mut self, exchange: &Exchange, event: SseEvent, root: Node<'_>, out: &mut Vec<u8>) {
        let item = root.get("item");
        let text = |key| item.and_then(|item| item.get(key)).and_then(Node::as_str);
        if text("type") != Some("function_call") || self.pending.state != MessageState::Receiving {
            if text("type") == Some("message") {
                self.text.rewritten.clear();
                self.part_added(exchange, "0");
            }
            return self.other(event, out);
        }
        let call = RawCall::new(&exchange.judge.tools, text("name").unwrap_or_default(), "");
        let id = text("call_id").filter(|id| !id.is_empty());
        let call = id.map_or(call.clone(), |id| call.with_id(id));
        let number = self.calls.len();
        self.calls.push(CallItem {
            index: index_of(root),
            id: text("id").map(str::to_owned),
            call,
            arguments: text("arguments").unwrap_or_default().to_owned(),
            whole: None,
            open: true,
            text: None,
            streamed: None,
            late: false,
        });
        self.history.push(HistoryItem::Call(number));
        if exchange.judge.settings.stream_arguments && self.stream_start(number, &event, out) {
            return;
        }
        self.pending.hold(event, ItemEventRole::Added(number));
    }

    /// Begins a part of a message, whose text is searched for calls.
    fn part_added(&mut self, exchange: &Exchange, part: &str) {
        let place = exchange.text_call_scope();
        self.text.finder = place.map(|place| TextCallFinder::new(&exchange.judge.tools, place));
        self.text.scanned.clear();
        self.text.released.clear();
        part.clone_into(&mut self.text.part);
    }

    /// Ends the text of a part.
    fn part_done(&mut self) {
        if self.text.released != self.text.scanned {
            let part = (self.text.part.clone(), self.text.released.clone());
            self.text.rewritten.push(part);
        }
    }

    /// Returns the open call that an event is about.
    fn call_of(&self, root: Node<'_>, id: Option<&str>) -> Option<usize> {
        let index = index_of(root);
        let mut open = self.calls.iter().enumerate().rev();
        let found = open.find(|(_, call)| {
            let same = match (id, call.id.as_deref()) {
                (Some(id), Some(own)) => id == own,
                _ => call.index == index,
            };
            call.open && call.text.is_none() && same
        });
        found.map(|(number, _)| number)
    }

    fn arguments(&mut self, event: SseEvent, root: Node<'_>, done: bool, out: &mut Vec<u8>) {
        let text = |key| root.get(key).and_then(Node::as_str);
        let Some(number) = self.call_of(root, text("item_id")) else {
            return self.other(event, out);
        };
        let call = &mut self.calls[number];
        if !done {
            let part = text("delta").unwrap_or_default();
            call.arguments.push_str(part);
            let place = call.streamed;
            let index = call.index.clone();
            let (_, strict) =
                self.pending
                    .early
                    .fragment(Some(&index), None, None, Some(part.to_owned()));
            match place {
                Some(place) if strict && self.pending.held.is_empty() => {
                    return self.forward_at(&event, place, out);
                }
                _ => return self.pending.hold(event, ItemEventRole::Delta(number)),
            }
        }
        // The event repeats all arguments, which matters only if fragments were lost.
        let whole = text("arguments").unwrap_or_default();
        if whole.len() > call.arguments.len() {
            whole.clone_into(&mut call.arguments);
        }
        self.pending.hold(event, ItemEventRole::Arguments(number));
    }

    fn item_done(
        &mut self,
        exchange: &mut Exchange,
        event: SseEvent,
        root: Node<'_>,
        data: &str,
        out: &mut Vec<u8>,
    ) {
        let item = root.get("item");
        let written = item
            .and_then(|item| data.get(item.span()))
            .unwrap_or_default();
        let text = |key| item.and_then(|item| item.get(key)).and_then(Node::as_str);
        if text("type") == Some("function_call") {
            if self.call_of(root, text("id")).is_none()
                && self.pending.state == MessageState::Receiving
            {
                // The call has no first event.
                self.added(exchange, SseEvent::default(), root, out);
                self.pending.held.pop();
                self.client.changed = true;
            }
            if let Some(number) = self.call_of(root, text("id")) {
                let call = &mut self.calls[number];
                let whole = text("arguments").unwrap_or_default();
                if whole.len() > call.arguments.len() {
                    whole.clone_into(&mut call.arguments);
                }
                call.whole = Some(written.to_owned());
                call.open = false;
                self.pending.hold(event, ItemEventRole::Done(number));
                return self.settle(exchange, out);
            }
        }
        let found = self.finish_text();
        let mut event = event;
        let content = item.and_then(|item| item.get("content"));
        if let Some(content) = content.filter(|_| !self.text.rewritten.is_empty()) {
            let mut splice = Splice::new(data);
            for (index, said) in self.text.rewritten.drain(..) {
                let part = index.parse().ok().and_then(|index| content.element(index));
                if let Some(text) = part.and_then(|part| part.get("text")) {
                    splice.replace_string(text.span(), &said);
                }
            }
            event = event.of_same_type(splice.apply());
            self.client.changed = true;
        }
        let data = event.data.as_deref().unwrap_or_default();
        let said = Tree::parse(data).ok();
        let said = said.as_ref().and_then(|tree| tree.root().get("item"));
        let said = said.and_then(|item| data.get(item.span()));
        self.history
            .push(HistoryItem::Item(said.unwrap_or_default().to_owned()));
        self.other(event, out);
        for number in found {
            self.calls[number].open = false;
            self.history.push(HistoryItem::Call(number));
            self.pending
                .hold(SseEvent::default(), ItemEventRole::Done(number));
        }
        self.settle(exchange, out);
    }

    /// Reads the items of the last event that had no events of their own. Some servers send nothing
    /// else.
    fn late(&mut self, exchange: &Exchange, output: Node<'_>, data: &str) {
        let is_item = |item: &HistoryItem| matches!(item, HistoryItem::Item(_));
        let only_last = !self.history.iter().any(is_item);
        for item in output.elements() {
            let text = |key| item.get(key).and_then(Node::as_str).unwrap_or_default();
            let written = data.get(item.span()).unwrap_or_default().to_owned();
            if text("type") != "function_call" {
                if only_last {
                    self.history.push(HistoryItem::Late(written));
                }
                continue;
            }
            // Some servers give their items other ids in the last event.
            let is_known = self.calls.iter().filter(|call| !call.late).any(|call| {
                let same = |own: Option<&str>, key| own.is_some_and(|own| own == text(key));
                same(call.id.as_deref(), "id")
                    || same(call.call.id.as_deref(), "call_id")
                    || (call.call.name == text("name") && call.arguments == text("arguments"))
            });
            if is_known {
                continue;
            }
            let call = RawCall::new(&exchange.judge.tools, text("name"), text("arguments"));
            let id = Some(text("call_id")).filter(|id| !id.is_empty());
            self.history.push(HistoryItem::Call(self.calls.len()));
            self.calls.push(CallItem {
                index: String::new(),
                id: None,
                call: id.map_or(call.clone(), |id| call.with_id(id)),
                arguments: text("arguments").to_owned(),
                whole: Some(written),
                open: false,
                text: None,
                streamed: None,
                late: true,
            });
        }
    }

    fn text(&mut self, event: SseEvent, root: Node<'_>, out: &mut Vec<u8>) {
        let said = root.get("delta");
        if let (Some(finder), Some(said)) = (&mut self.text.finder, said)
            && self.pending.held.is_empty()
            && let Some(part) = said.as_str()
        {
            let found = finder.push(part);
            self.text.scanned.push_str(part);
            let released = self.found(found);
            if released != part {
                let data = event.data.as_deref().unwrap_or_default();
                let mut splice = Splice::new(data);
                splice.replace_string(said.span(), &released);
                self.client.changed = true;
                if !released.is_empty() {
                    self.forward(&event.of_same_type(splice.apply()), out);
                }
                return;
            }
        }
        self.other(event, out);
    }

    fn found(&mut self, found: ScannedText) -> String {
        for (call, text) in found.calls {
            self.calls.push(CallItem {
                index: String::new(),
                id: None,
                arguments: call.arguments.clone(),
                call,
                whole: None,
                open: true,
                text: Some(text),
                streamed: None,
                late: false,
            });
        }
        self.text.released.push_str(&found.text);
        found.text
    }

    /// Ends a text: what was held of it is forwarded first.
    fn text_done(&mut self, event: SseEvent, root: Node<'_>, out: &mut Vec<u8>) {
        let Some(mut finder) = self.text.finder.take() else {
            return self.rewrite_text(event, root, out);
        };
        let found = finder.finish();
        let rest = self.found(found);
        self.part_done();
        if !rest.is_empty() {
            let get = |key| root.get(key).map(|node: Node<'_>| node.to_json());
            let index = get("output_index").unwrap_or("0".to_owned());
            let item = get("item_id").unwrap_or("\"\"".to_owned());
            let text = quoted(&rest);
            let delta = format!(
                r#"{{"type":"response.output_text.delta","item_id":{item},"output_index":{index},"content_index":0,"delta":{text},"sequence_number":0}}"#
            );
            self.forward(&SseEvent::new("response.output_text.delta", delta), out);
        }
        self.rewrite_text(event, root, out);
    }

    fn rewrite_text(&mut self, event: SseEvent, root: Node<'_>, out: &mut Vec<u8>) {
        let text = root.get("text").or_else(|| root.get("part")?.get("text"));
        let part = part_of(root);
        let said = self.text.rewritten.iter().find(|(own, _)| *own == part);
        if let Some(((_, said), text)) = said.zip(text) {
            let mut splice = Splice::new(event.data.as_deref().unwrap_or_default());
            splice.replace_string(text.span(), said);
            let event = event.of_same_type(splice.apply());
            return self.other(event, out);
        }
        self.other(event, out);
    }

    /// Ends the text of an item, and returns the calls in it.
    fn finish_text(&mut self) -> Vec<usize> {
        if let Some(mut finder) = self.text.finder.take() {
            let found = finder.finish();
            self.found(found);
            self.part_done();
        }
        let found = self.calls.iter().enumerate();
        let found = found.filter(|(_, call)| call.open && call.text.is_some());
        found.map(|(number, _)| number).collect()
    }

    fn other(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        if self.pending.must_wait() {
            self.pending.hold(event, ItemEventRole::Other);
        } else {
            self.forward(&event, out);
        }
    }

    pub(super) fn refused(&self) -> Option<RefusedReply<'_>> {
        if self.pending.state != MessageState::HeldForReask {
            return None;
        }
        let items = self.history.iter().filter_map(|said| match said {
            HistoryItem::Item(item) | HistoryItem::Late(item) => Some(item.clone()),
            HistoryItem::Call(number) => {
                let (item, decision) = (
                    self.calls.get(*number)?,
                    self.pending.decisions.get(*number)?,
                );
                Some(encode::legal_item(item, decision))
            }
        });
        let items: Vec<_> = items.filter(|item| !item.is_empty()).collect();
        Some(RefusedReply {
            legal: format!(r#"{{"output":[{}]}}"#, items.join(",")),
            decisions: &self.pending.decisions,
            forwarded: self.pending.forwarded,
        })
    }
}

impl PendingCallStream for Responses {
    type Role = ItemEventRole;

    fn pending(&mut self) -> &mut PendingCalls<ItemEventRole> {
        &mut self.pending
    }

    fn pending_calls(&self) -> Vec<PendingCall> {
        let new = self.calls.iter().skip(self.pending.decisions.len());
        let pending_calls = new.map(|item| {
            let mut call = item.call.clone();
            if item.text.is_none() {
                call.arguments.clone_from(&item.arguments);
            }
            PendingCall {
                call,
                open: item.open,
                streamed: item.streamed.is_some(),
            }
        });
        pending_calls.collect()
    }

    fn write_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.encode_held(exchange, out);
    }
}

fn index_of(root: Node<'_>) -> String {
    let index = root.get("output_index").and_then(Node::digits);
    index.unwrap_or_default().to_owned()
}

/// The index of the part that an event is about.
fn part_of(root: Node<'_>) -> String {
    let index = root.get("content_index").and_then(Node::digits);
    index.unwrap_or("0").to_owned()
}

/// Returns true if an event is about text of the model, and not about reasoning or a refusal.
fn is_text(root: Node<'_>) -> bool {
    let part = root.get("part").and_then(|part| part.get("type"));
    let kind = part.and_then(Node::as_str);
    kind.is_none_or(|kind| kind == "output_text")
}
