//! Streams of OpenAI Responses: items with a beginning and an end, and all of it once more last.

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
    /// Finds calls in the text that is open.
    finder: Option<TextCallFinder>,
    /// The text of the part that is open or was last, and what of it went on.
    scanned: String,
    released: String,
    /// The part of a message that is open, and those whose text is another one now.
    part: String,
    parts: Vec<(String, String)>,
    calls: Vec<CallItem>,
    pending: PendingCalls<ItemEventRole>,
    /// The items of this reply, for the history.
    said: Vec<HistoryItem>,
    /// The items that the client has, of all replies, each with its place.
    items: Vec<(usize, String)>,
    /// Where the client finds the items of this reply.
    places: HashMap<String, usize>,
    next: usize,
    /// The number of the client's next event.
    sequence: u64,
    /// Ids of items that the client has of earlier replies, and what this reply's equal ones are
    /// called instead.
    old_ids: HashSet<String>,
    new_ids: HashMap<String, String>,
    /// The client's items are not those of the upstream's last event.
    changed: bool,
}

/// One call as it comes.
#[derive(Clone, Debug)]
struct CallItem {
    index: String,
    id: Option<String>,
    call: RawCall,
    arguments: String,
    /// The item when it was done.
    whole: Option<String>,
    open: bool,
    /// It was text; this is what it looked like.
    text: Option<String>,
    /// Its events go on as they come, as this item of the client's.
    streamed: Option<usize>,
    /// It stands only in the last event.
    late: bool,
}

/// What a held event is to the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemEventRole {
    Added(usize),
    Delta(usize),
    Arguments(usize),
    Done(usize),
    Other,
}

/// An item of the reply.
#[derive(Clone, Debug)]
enum HistoryItem {
    Item(String),
    /// It stands only in the last event.
    Late(String),
    Call(usize),
}

impl Responses {
    pub(super) fn new(exchange: &Exchange) -> Self {
        Self {
            finder: None,
            scanned: String::new(),
            released: String::new(),
            part: String::new(),
            parts: Vec::new(),
            calls: Vec::new(),
            pending: PendingCalls::new(Provider::Responses, exchange),
            said: Vec::new(),
            items: Vec::new(),
            places: HashMap::new(),
            next: 0,
            sequence: 0,
            old_ids: HashSet::new(),
            new_ids: HashMap::new(),
            changed: false,
        }
    }

    pub(super) fn begin_next(&mut self, exchange: &mut Exchange) {
        let pending = self.pending.for_next_reply(Provider::Responses, exchange);
        let items = std::mem::take(&mut self.items);
        let mut old_ids = std::mem::take(&mut self.old_ids);
        old_ids.extend(items.iter().filter_map(|(_, item)| encode::id_of(item)));
        *self = Self {
            pending,
            items,
            old_ids,
            next: self.next,
            sequence: self.sequence,
            changed: true,
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
                if self.finder.is_none() {
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
                self.parts.clear();
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
        self.said.push(HistoryItem::Call(number));
        if exchange.judge.settings.stream_arguments && self.stream_start(number, &event, out) {
            return;
        }
        self.pending.hold(event, ItemEventRole::Added(number));
    }

    /// A part of a message begins: calls are looked for in its text.
    fn part_added(&mut self, exchange: &Exchange, part: &str) {
        let place = exchange.text_call_scope();
        self.finder = place.map(|place| TextCallFinder::new(&exchange.judge.tools, place));
        self.scanned.clear();
        self.released.clear();
        part.clone_into(&mut self.part);
    }

    /// The text of a part is over.
    fn part_done(&mut self) {
        if self.released != self.scanned {
            let part = (self.part.clone(), self.released.clone());
            self.parts.push(part);
        }
    }

    /// The call that an event is about.
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
        // The whole text comes once more; it counts only if fragments got lost.
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
                // It was never announced.
                self.added(exchange, SseEvent::default(), root, out);
                self.pending.held.pop();
                self.changed |= true;
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
        if let Some(content) = content.filter(|_| !self.parts.is_empty()) {
            let mut splice = Splice::new(data);
            for (index, said) in self.parts.drain(..) {
                let part = index.parse().ok().and_then(|index| content.element(index));
                if let Some(text) = part.and_then(|part| part.get("text")) {
                    splice.replace_string(text.span(), &said);
                }
            }
            event = event.of_same_type(splice.apply());
            self.changed = true;
        }
        let data = event.data.as_deref().unwrap_or_default();
        let said = Tree::parse(data).ok();
        let said = said.as_ref().and_then(|tree| tree.root().get("item"));
        let said = said.and_then(|item| data.get(item.span()));
        self.said
            .push(HistoryItem::Item(said.unwrap_or_default().to_owned()));
        self.other(event, out);
        for number in found {
            self.calls[number].open = false;
            self.said.push(HistoryItem::Call(number));
            self.pending
                .hold(SseEvent::default(), ItemEventRole::Done(number));
        }
        self.settle(exchange, out);
    }

    /// Items of the last event that no event told of before. Some servers send only that one.
    fn late(&mut self, exchange: &Exchange, output: Node<'_>, data: &str) {
        let alias = |said: &HistoryItem| matches!(said, HistoryItem::Item(_));
        let silent = !self.said.iter().any(alias);
        for item in output.elements() {
            let text = |key| item.get(key).and_then(Node::as_str).unwrap_or_default();
            let written = data.get(item.span()).unwrap_or_default().to_owned();
            if text("type") != "function_call" {
                if silent {
                    self.said.push(HistoryItem::Late(written));
                }
                continue;
            }
            // Some servers give their items other ids in the last event.
            let alias = self.calls.iter().filter(|call| !call.late).any(|call| {
                let same = |own: Option<&str>, key| own.is_some_and(|own| own == text(key));
                same(call.id.as_deref(), "id")
                    || same(call.call.id.as_deref(), "call_id")
                    || (call.call.name == text("name") && call.arguments == text("arguments"))
            });
            if alias {
                continue;
            }
            let call = RawCall::new(&exchange.judge.tools, text("name"), text("arguments"));
            let id = Some(text("call_id")).filter(|id| !id.is_empty());
            self.said.push(HistoryItem::Call(self.calls.len()));
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
        if let (Some(finder), Some(said)) = (&mut self.finder, said)
            && self.pending.held.is_empty()
            && let Some(part) = said.as_str()
        {
            let found = finder.push(part);
            self.scanned.push_str(part);
            let released = self.found(found);
            if released != part {
                let data = event.data.as_deref().unwrap_or_default();
                let mut splice = Splice::new(data);
                splice.replace_string(said.span(), &released);
                self.changed = true;
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
        self.released.push_str(&found.text);
        found.text
    }

    /// The text is over: what was kept back of it goes on first.
    fn text_done(&mut self, event: SseEvent, root: Node<'_>, out: &mut Vec<u8>) {
        let Some(mut finder) = self.finder.take() else {
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
        let said = self.parts.iter().find(|(own, _)| *own == part);
        if let Some(((_, said), text)) = said.zip(text) {
            let mut splice = Splice::new(event.data.as_deref().unwrap_or_default());
            splice.replace_string(text.span(), said);
            let event = event.of_same_type(splice.apply());
            return self.other(event, out);
        }
        self.other(event, out);
    }

    /// The calls that the text held.
    fn finish_text(&mut self) -> Vec<usize> {
        if let Some(mut finder) = self.finder.take() {
            let found = finder.finish();
            self.found(found);
            self.part_done();
        }
        let found = self.calls.iter().enumerate();
        let found = found.filter(|(_, call)| call.open && call.text.is_some());
        found.map(|(number, _)| number).collect()
    }

    fn other(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        match self.pending.must_wait() {
            true => self.pending.hold(event, ItemEventRole::Other),
            false => self.forward(&event, out),
        }
    }

    pub(super) fn refused(&self) -> Option<RefusedReply<'_>> {
        if self.pending.state != MessageState::HeldForReask {
            return None;
        }
        let items = self.said.iter().filter_map(|said| match said {
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

/// The number of the part that an event is about.
fn part_of(root: Node<'_>) -> String {
    let index = root.get("content_index").and_then(Node::digits);
    index.unwrap_or("0").to_owned()
}

/// Is an event about words of the model, and not about its reasoning or a refusal?
fn is_text(root: Node<'_>) -> bool {
    let part = root.get("part").and_then(|part| part.get("type"));
    let kind = part.and_then(Node::as_str);
    kind.is_none_or(|kind| kind == "output_text")
}
