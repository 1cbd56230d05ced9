//! Streams of Anthropic Messages, whose blocks have a first and a last event.

mod encode;

use std::collections::HashMap;

use goodcall_core::{Node, Tree};

use super::exchange::Exchange;
use super::judge::{CallDecision, CallVerdict};
use super::pending_calls::{MessageState, PendingCall, PendingCallStream, PendingCalls};
use super::reask::RefusedReply;
use super::text_call_finder::{ScannedText, TextCallFinder};
use crate::call::RawCall;
use crate::envelope::{Provider, is_safety_stop, stop_named};
use crate::splice::{Splice, quoted};
use crate::sse::SseEvent;

/// The stream of one message.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    /// Finds calls in the text block that is open.
    finder: Option<TextCallFinder>,
    /// The calls of this reply in order; those that are decided come first.
    calls: Vec<CallBlock>,
    pending: PendingCalls<BlockEventRole>,
    /// The blocks of this reply, for the history.
    history: Vec<HistoryBlock>,
    /// The client's index of each block of this reply.
    places: HashMap<String, usize>,
    /// The client's index of the next block.
    next_place: usize,
    /// True once the `message_delta` was written.
    ended: bool,
}

/// A block that is a call.
#[derive(Clone, Debug)]
struct CallBlock {
    index: String,
    call: RawCall,
    /// The block in its first event, and the input in that.
    start: String,
    start_input: Option<String>,
    /// The arguments of all deltas.
    arguments: String,
    open: bool,
    /// The text that the call was, if it was found in text.
    text: Option<String>,
    /// The client's index of the block, if its events are forwarded as they arrive.
    streamed: Option<usize>,
}

/// What a held event is to the calls, which are given by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockEventRole {
    Start(usize),
    Delta(usize),
    Stop(usize),
    Other,
}

/// The block of an event that is not about calls, by the upstream's index.
#[derive(Clone, Copy, Debug)]
enum EventBlock<'i> {
    /// The event opens the block.
    Opens(&'i str),
    /// The event belongs to the open block.
    Inside(&'i str),
    /// The event is about the message.
    None,
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
    Call(usize),
}

impl Messages {
    pub(super) fn new(exchange: &Exchange) -> Self {
        Self {
            finder: None,
            calls: Vec::new(),
            pending: PendingCalls::new(Provider::Anthropic, exchange),
            history: Vec::new(),
            places: HashMap::new(),
            next_place: 0,
            ended: false,
        }
    }

    pub(super) fn begin_next(&mut self, exchange: &mut Exchange) {
        *self = Self {
            pending: self.pending.for_next_reply(Provider::Anthropic, exchange),
            next_place: self.next_place,
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
            return self.other(event, EventBlock::None, out);
        };
        let root = tree.root();
        let index = root.get("index").and_then(Node::digits);
        let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
        match kind {
            "ping" => out.extend_from_slice(&event.raw),
            "error" => {
                self.abort(exchange, out);
                out.extend_from_slice(&event.raw);
            }
            "message_start" => {
                let usage = root.get("message").and_then(|message| message.get("usage"));
                usage
                    .into_iter()
                    .for_each(|usage| self.pending.usage.note(usage));
                if exchange.attempt == 0 {
                    out.extend_from_slice(&event.raw);
                }
            }
            "content_block_start" => self.start(exchange, event, root, data, out),
            "content_block_delta" => self.delta(event, root, out),
            "content_block_stop" => self.stop_block(exchange, event, index, out),
            "message_delta" => self.message_delta(exchange, event, root, out),
            "message_stop" => {
                self.end_message(exchange, out);
                self.pending.done = true;
                self.other(event, EventBlock::None, out);
            }
            _ => self.other(
                event,
                index.map_or(EventBlock::None, EventBlock::Inside),
                out,
            ),
        }
    }

    fn start(
        &mut self,
        exchange: &Exchange,
        event: SseEvent,
        root: Node<'_>,
        data: &str,
        out: &mut Vec<u8>,
    ) {
        let index = root.get("index").and_then(Node::digits).unwrap_or_default();
        let Some(block) = root.get("content_block") else {
            return self.other(event, EventBlock::Opens(index), out);
        };
        let text = |key| block.get(key).and_then(Node::as_str);
        let written = |node: Node<'_>| data.get(node.span()).unwrap_or_default().to_owned();
        if text("type") == Some("tool_use") && self.pending.state == MessageState::Receiving {
            let call = RawCall::new(&exchange.judge.tools, text("name").unwrap_or_default(), "");
            let id = text("id").filter(|id| !id.is_empty());
            let call = id.map_or(call.clone(), |id| call.with_id(id));
            let number = self.calls.len();
            self.calls.push(CallBlock {
                index: index.to_owned(),
                call,
                start: written(block),
                start_input: block.get("input").map(written),
                arguments: String::new(),
                open: true,
                text: None,
                streamed: None,
            });
            self.history.push(HistoryBlock::Call(number));
            if exchange.judge.settings.stream_arguments && self.stream_start(number, &event, out) {
                return;
            }
            return self.pending.hold(event, BlockEventRole::Start(number));
        }
        self.history.push(HistoryBlock::Other {
            index: index.to_owned(),
            start: written(block),
            added: Vec::new(),
        });
        if text("type") == Some("text") {
            let place = exchange.text_call_scope();
            self.finder = place.map(|place| TextCallFinder::new(&exchange.judge.tools, place));
        }
        self.other(event, EventBlock::Opens(index), out);
    }

    fn delta(&mut self, event: SseEvent, root: Node<'_>, out: &mut Vec<u8>) {
        let index = root.get("index").and_then(Node::digits).unwrap_or_default();
        let delta = root.get("delta");
        let text = |key| {
            delta
                .and_then(|delta| delta.get(key))
                .and_then(Node::as_str)
        };
        let call = self
            .calls
            .iter()
            .rposition(|call| call.open && call.index == index);
        if let Some(number) = call {
            let part = text("partial_json").unwrap_or_default();
            self.calls[number].arguments.push_str(part);
            let (_, strict) =
                self.pending
                    .early
                    .fragment(Some(index), None, None, Some(part.to_owned()));
            match self.calls[number].streamed {
                Some(place) if strict && self.pending.held.is_empty() => {
                    return self.forward_at(&event, place, out);
                }
                _ => return self.pending.hold(event, BlockEventRole::Delta(number)),
            }
        }
        for (key, of) in [
            ("text", "text"),
            ("thinking", "thinking"),
            ("signature", "signature"),
            ("content", "content"),
            ("partial_json", "input"),
        ] {
            if let Some(part) = text(key) {
                self.add(index, of, part);
            }
        }
        if let Some(citation) = delta.and_then(|delta| delta.get("citation")) {
            self.add(
                index,
                encode::CITATIONS,
                &format!(",{}", citation.to_json()),
            );
        }
        let history = delta.and_then(|delta| delta.get("text"));
        if let (Some(finder), Some(history)) = (&mut self.finder, history)
            && self.pending.held.is_empty()
            && let Some(part) = history.as_str()
        {
            let found = finder.push(part);
            let released = self.found(found);
            if released != part {
                let data = event.data.as_deref().unwrap_or_default();
                let mut splice = Splice::new(data);
                splice.replace_string(history.span(), &released);
                let made = event.of_same_type(splice.apply());
                if !released.is_empty() {
                    self.forward(&made, EventBlock::Inside(index), out);
                }
                return;
            }
        }
        self.other(event, EventBlock::Inside(index), out);
    }

    fn found(&mut self, found: ScannedText) -> String {
        for (call, text) in found.calls {
            self.calls.push(CallBlock {
                index: String::new(),
                arguments: call.arguments.clone(),
                call,
                start: String::new(),
                start_input: None,
                open: true,
                text: Some(text),
                streamed: None,
            });
        }
        found.text
    }

    fn add(&mut self, index: &str, key: &'static str, part: &str) {
        let last = self
            .history
            .iter_mut()
            .rev()
            .find_map(|history| match history {
                HistoryBlock::Other {
                    index: own, added, ..
                } if own == index => Some(added),
                _ => None,
            });
        let Some(added) = last else {
            return;
        };
        match added.iter_mut().find(|(known, _)| *known == key) {
            Some((_, text)) => text.push_str(part),
            None => added.push((key, part.to_owned())),
        }
    }

    fn stop_block(
        &mut self,
        exchange: &mut Exchange,
        event: SseEvent,
        index: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let index = index.unwrap_or_default();
        let call = self
            .calls
            .iter()
            .rposition(|call| call.open && call.index == index);
        if let Some(number) = call.filter(|_| !index.is_empty()) {
            self.calls[number].open = false;
            self.pending.hold(event, BlockEventRole::Stop(number));
            return self.settle(exchange, out);
        }
        let found = self.finish_text(index, out);
        self.other(event, EventBlock::Inside(index), out);
        for number in found {
            self.calls[number].open = false;
            self.history.push(HistoryBlock::Call(number));
            let name = quoted(&self.calls[number].call.name);
            let start = format!(
                r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"","name":{name},"input":{{}}}}}}"#
            );
            self.pending.hold(
                SseEvent::new("content_block_start", start),
                BlockEventRole::Start(number),
            );
            let stop = r#"{"type":"content_block_stop","index":0}"#.to_owned();
            self.pending.hold(
                SseEvent::new("content_block_stop", stop),
                BlockEventRole::Stop(number),
            );
        }
        self.settle(exchange, out);
    }

    /// Ends a text block: forwards what the scanner kept, and returns the calls in the text.
    fn finish_text(&mut self, index: &str, out: &mut Vec<u8>) -> Vec<usize> {
        let Some(mut finder) = self.finder.take() else {
            return Vec::new();
        };
        let found = finder.finish();
        let released = self.found(found);
        if !released.is_empty() {
            let text = quoted(&released);
            let delta = format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":{text}}}}}"#
            );
            self.forward(
                &SseEvent::new("content_block_delta", delta),
                EventBlock::Inside(index),
                out,
            );
        }
        let found = self.calls.iter().enumerate();
        let found = found.filter(|(_, call)| call.open && call.index.is_empty());
        let found: Vec<_> = found.map(|(number, _)| number).collect();
        if !found.is_empty() {
            self.without_calls(index);
        }
        found
    }

    fn message_delta(
        &mut self,
        exchange: &mut Exchange,
        event: SseEvent,
        root: Node<'_>,
        out: &mut Vec<u8>,
    ) {
        let delta = root.get("delta");
        let reason = delta.and_then(|delta| delta.get("stop_reason"));
        exchange.settled |= is_safety_stop(reason);
        if let Some(reason) = reason.and_then(Node::as_str) {
            self.pending.stop = stop_named(reason);
        }
        root.get("usage")
            .into_iter()
            .for_each(|usage| self.pending.usage.note(usage));
        self.end_message(exchange, out);
        self.ended = true;
        match self.pending.state {
            MessageState::HeldForReask => self.pending.hold(event, BlockEventRole::Other),
            _ => self.write_message_delta(exchange, &event, out),
        }
    }

    /// Forwards an event that is not about calls, after those that are.
    fn other(&mut self, event: SseEvent, block: EventBlock<'_>, out: &mut Vec<u8>) {
        if self.pending.must_wait() {
            self.pending.hold(event, BlockEventRole::Other);
        } else {
            self.forward(&event, block, out);
        }
    }

    pub(super) fn refused(&self) -> Option<RefusedReply<'_>> {
        if self.pending.state != MessageState::HeldForReask {
            return None;
        }
        let blocks = self.history.iter().filter_map(|history| match history {
            HistoryBlock::Call(number) => {
                let start = &self.calls.get(*number)?.start;
                Some(encode::call(start, self.pending.decisions.get(*number)?))
            }
            HistoryBlock::Other { start, added, .. } => encode::block(start, added),
        });
        let blocks: Vec<_> = blocks.collect();
        Some(RefusedReply {
            legal: format!(r#"{{"content":[{}]}}"#, blocks.join(",")),
            decisions: &self.pending.decisions,
            forwarded: self.pending.forwarded,
        })
    }
}

impl PendingCallStream for Messages {
    type Role = BlockEventRole;

    fn pending(&mut self) -> &mut PendingCalls<BlockEventRole> {
        &mut self.pending
    }

    fn pending_calls(&self) -> Vec<PendingCall> {
        let new = self.calls.iter().skip(self.pending.decisions.len());
        let pending_calls = new.map(|block| {
            let mut call = block.call.clone();
            if block.text.is_none() {
                let empty = block.arguments.trim().is_empty();
                call.arguments = match (&block.start_input, empty) {
                    (Some(start), true) => start.clone(),
                    _ => block.arguments.clone(),
                };
            }
            PendingCall {
                call,
                open: block.open,
                streamed: block.streamed.is_some(),
            }
        });
        pending_calls.collect()
    }

    fn write_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.encode_held(exchange, out);
    }
}
