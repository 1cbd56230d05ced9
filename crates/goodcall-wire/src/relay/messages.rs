//! Streams of Anthropic Messages: blocks with a beginning and an end.

mod writing;

use std::collections::HashMap;

use goodcall_core::{Node, Tree};

use super::desk::{AtDesk, Desk, Draft, Stage};
use super::exchange::Exchange;
use super::flow::Refused;
use super::found::{Finder, Found};
use super::judge::{CallDecision, CallVerdict};
use crate::call::RawCall;
use crate::cuts::{Cuts, quoted};
use crate::envelope::{Provider, is_safety_stop, stop_named};
use crate::sse::SseEvent;

/// The stream of one message.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    /// Finds calls in the text block that is open.
    finder: Option<Finder>,
    /// The calls of this reply, in order; those that are ruled come first.
    calls: Vec<Block>,
    desk: Desk<Role>,
    /// What this reply says, for the history.
    said: Vec<Said>,
    /// Where the client finds the blocks of this reply.
    places: HashMap<String, usize>,
    /// The client's next block.
    next: usize,
    ended: bool,
}

/// One call as it comes.
#[derive(Clone, Debug)]
struct Block {
    index: String,
    call: RawCall,
    /// The block as it began, and its input.
    begun: String,
    start: Option<String>,
    arguments: String,
    open: bool,
    /// It was text; this is what it looked like.
    text: Option<String>,
    /// Its events go on as they come, as this block of the client's.
    streamed: Option<usize>,
}

/// What a held event is to the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Start(usize),
    Delta(usize),
    Stop(usize),
    Other,
}

/// A block of the reply.
#[derive(Clone, Debug)]
enum Said {
    /// As it began, and what was added under which key.
    Block {
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
            desk: Desk::new(Provider::Anthropic, exchange),
            said: Vec::new(),
            places: HashMap::new(),
            next: 0,
            ended: false,
        }
    }

    pub(super) fn again(&mut self, exchange: &mut Exchange) {
        *self = Self {
            desk: self.desk.again(Provider::Anthropic, exchange),
            next: self.next,
            ..Self::new(exchange)
        };
    }

    pub(super) fn held(&self) -> usize {
        self.desk.bytes
    }

    pub(super) fn event(&mut self, exchange: &mut Exchange, event: SseEvent, out: &mut Vec<u8>) {
        let data = event.data.clone();
        let Some(data) = data.as_deref() else {
            return out.extend_from_slice(&event.raw);
        };
        let Ok(tree) = Tree::parse(data) else {
            return self.other(event, None, out);
        };
        let root = tree.root();
        let index = root.get("index").and_then(Node::digits);
        let kind = root.get("type").and_then(Node::as_str).unwrap_or_default();
        match kind {
            "ping" => out.extend_from_slice(&event.raw),
            "error" => {
                self.cut(exchange, out);
                out.extend_from_slice(&event.raw);
            }
            "message_start" => {
                let usage = root.get("message").and_then(|message| message.get("usage"));
                usage
                    .into_iter()
                    .for_each(|usage| self.desk.own.note(usage));
                if exchange.attempt == 0 {
                    out.extend_from_slice(&event.raw);
                }
            }
            "content_block_start" => self.start(exchange, event, root, data, out),
            "content_block_delta" => self.delta(event, root, out),
            "content_block_stop" => self.stop_block(exchange, event, index, out),
            "message_delta" => self.message_delta(exchange, event, root, out),
            "message_stop" => {
                self.decide(exchange, out);
                self.desk.done = true;
                self.other(event, None, out);
            }
            _ => self.other(event, index, out),
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
            return self.other(event, Some(index), out);
        };
        let text = |key| block.get(key).and_then(Node::as_str);
        let written = |node: Node<'_>| data.get(node.span()).unwrap_or_default().to_owned();
        if text("type") == Some("tool_use") && self.desk.stage == Stage::Open {
            let call = RawCall::new(&exchange.judge.tools, text("name").unwrap_or_default(), "");
            let id = text("id").filter(|id| !id.is_empty());
            let call = id.map_or(call.clone(), |id| call.with_id(id));
            let number = self.calls.len();
            self.calls.push(Block {
                index: index.to_owned(),
                call,
                begun: written(block),
                start: block.get("input").map(written),
                arguments: String::new(),
                open: true,
                text: None,
                streamed: None,
            });
            self.said.push(Said::Call(number));
            if exchange.judge.settings.stream_arguments && self.stream_start(number, &event, out) {
                return;
            }
            return self.desk.hold(event, Role::Start(number));
        }
        self.said.push(Said::Block {
            index: index.to_owned(),
            start: written(block),
            added: Vec::new(),
        });
        if text("type") == Some("text") {
            let place = exchange.looks_in_text();
            self.finder = place.map(|place| Finder::new(&exchange.judge.tools, place));
        }
        self.other(event, Some(index), out);
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
                self.desk
                    .early
                    .fragment(Some(index), None, None, Some(part.to_owned()));
            match self.calls[number].streamed {
                Some(place) if strict && self.desk.held.is_empty() => {
                    return self.pass_at(&event, place, out);
                }
                _ => return self.desk.hold(event, Role::Delta(number)),
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
            self.add(index, writing::LIST, &format!(",{}", citation.to_json()));
        }
        let said = delta.and_then(|delta| delta.get("text"));
        if let (Some(finder), Some(said)) = (&mut self.finder, said)
            && self.desk.held.is_empty()
            && let Some(part) = said.as_str()
        {
            let found = finder.push(part);
            let released = self.found(found);
            if released != part {
                let data = event.data.as_deref().unwrap_or_default();
                let mut cuts = Cuts::new(data);
                cuts.string(said.span(), &released);
                let made = event.of_same_type(cuts.apply());
                if !released.is_empty() {
                    self.pass(&made, Some(index), out);
                }
                return;
            }
        }
        self.other(event, Some(index), out);
    }

    fn found(&mut self, found: Found) -> String {
        for (call, text) in found.calls {
            self.calls.push(Block {
                index: String::new(),
                arguments: call.arguments.clone(),
                call,
                begun: String::new(),
                start: None,
                open: true,
                text: Some(text),
                streamed: None,
            });
        }
        found.text
    }

    fn add(&mut self, index: &str, key: &'static str, part: &str) {
        let last = self.said.iter_mut().rev().find_map(|said| match said {
            Said::Block {
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
            self.desk.hold(event, Role::Stop(number));
            return self.settle(exchange, out);
        }
        let found = self.finish_text(index, out);
        self.other(event, Some(index), out);
        for number in found {
            self.calls[number].open = false;
            self.said.push(Said::Call(number));
            let name = quoted(&self.calls[number].call.name);
            let start = format!(
                r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"","name":{name},"input":{{}}}}}}"#
            );
            self.desk.hold(
                SseEvent::new("content_block_start", start),
                Role::Start(number),
            );
            let stop = r#"{"type":"content_block_stop","index":0}"#.to_owned();
            self.desk.hold(
                SseEvent::new("content_block_stop", stop),
                Role::Stop(number),
            );
        }
        self.settle(exchange, out);
    }

    /// The text block is over: what the scanner kept goes on, the calls in it become blocks.
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
            self.pass(
                &SseEvent::new("content_block_delta", delta),
                Some(index),
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
            self.desk.stop = stop_named(reason);
        }
        root.get("usage")
            .into_iter()
            .for_each(|usage| self.desk.own.note(usage));
        self.decide(exchange, out);
        self.ended = true;
        match self.desk.stage {
            Stage::Refused => self.desk.hold(event, Role::Other),
            _ => self.write_message_delta(exchange, &event, out),
        }
    }

    /// An event that is not about calls: it waits behind those that do.
    fn other(&mut self, event: SseEvent, index: Option<&str>, out: &mut Vec<u8>) {
        match self.desk.waits() {
            true => self.desk.hold(event, Role::Other),
            false => self.pass(&event, index, out),
        }
    }

    pub(super) fn refused(&self) -> Option<Refused<'_>> {
        if self.desk.stage != Stage::Refused {
            return None;
        }
        let blocks = self.said.iter().filter_map(|said| match said {
            Said::Call(number) => {
                let begun = &self.calls.get(*number)?.begun;
                Some(writing::call(begun, self.desk.rulings.get(*number)?))
            }
            Said::Block { start, added, .. } => writing::block(start, added),
        });
        let blocks: Vec<_> = blocks.collect();
        Some(Refused {
            legal: format!(r#"{{"content":[{}]}}"#, blocks.join(",")),
            rulings: &self.desk.rulings,
            passed: self.desk.passed,
        })
    }
}

impl AtDesk for Messages {
    type Role = Role;

    fn desk(&mut self) -> &mut Desk<Role> {
        &mut self.desk
    }

    fn drafts(&self) -> Vec<Draft> {
        let new = self.calls.iter().skip(self.desk.rulings.len());
        let drafts = new.map(|block| {
            let mut call = block.call.clone();
            if block.text.is_none() {
                let empty = block.arguments.trim().is_empty();
                call.arguments = match (&block.start, empty) {
                    (Some(start), true) => start.clone(),
                    _ => block.arguments.clone(),
                };
            }
            Draft {
                call,
                open: block.open,
                streamed: block.streamed.is_some(),
            }
        });
        drafts.collect()
    }

    fn write(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.write_held(exchange, out);
    }
}
