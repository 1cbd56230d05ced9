//! One choice in a stream of OpenAI Chat Completions, which many other servers speak, too.
//!
//! Nothing marks the end of a call, so calls are held until the message ends.

mod encode;
mod parts;

use std::collections::HashSet;

use goodcall_core::{Kind, Node, Policy, StopReason, Tree};

pub(super) use self::parts::Chunk;
use self::parts::{
    CallFragments, CallSource, ChunkShell, ClientView, HeldChunk, MessageText, Piece,
};
use super::exchange::Exchange;
use super::extra_fields::ExtraFields;
use super::judge::CallDecision;
use super::pending_calls::MessageState;
use super::reask::{RefusedReply, legal_call, legal_function_call, legal_message};
use super::reply::calls_key;
use super::text_call_finder::TextCallFinder;
use crate::call::RawCall;
use crate::envelope::{Provider, call_sites, is_client_side_call, stop_named};
use crate::splice::{Splice, quoted};
use crate::sse::SseEvent;
use crate::stream::Assembler;

/// One choice of a stream, which is one message.
#[derive(Clone, Debug)]
pub(super) struct Chat {
    /// The choice's index, once it is known.
    index: Option<String>,
    /// True if the call is in the legacy form: only one, without an index and an id.
    legacy: bool,
    text: MessageText,
    fragments: CallFragments,
    held: Vec<HeldChunk>,
    held_bytes: usize,
    /// A chunk of the first reply without its choices, for chunks that the relay makes.
    shell: Option<ChunkShell>,
    decisions: Vec<CallDecision>,
    /// The source of each decided call.
    sources: Vec<CallSource>,
    client: ClientView,
    state: MessageState,
    /// Set when the message has ended.
    stop: Option<StopReason>,
}

impl Chat {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let tools = &exchange.judge.tools;
        let scope = exchange.text_call_scope();
        let assembler = Assembler::new(Provider::OpenAi, tools.clone());
        Self {
            index: None,
            legacy: false,
            text: MessageText {
                finder: scope.map(|scope| TextCallFinder::new(tools, scope)),
                calls: Vec::new(),
                forwarded: String::new(),
                extra: ExtraFields::default(),
            },
            fragments: CallFragments {
                assembler: assembler.policy(Policy::strict()),
                sizes: Vec::new(),
                extras: Vec::new(),
                irregular: false,
                strict: true,
                streamed: HashSet::new(),
            },
            held: Vec::new(),
            held_bytes: 0,
            shell: None,
            decisions: Vec::new(),
            sources: Vec::new(),
            client: ClientView::default(),
            state: MessageState::Receiving,
            stop: None,
        }
    }

    pub(super) fn begin_next(&mut self, exchange: &Exchange) {
        let calls_before = self.client.calls_before + self.fragments.streamed.len();
        let mut next = Self::new(exchange);
        next.shell = self.shell.take();
        next.index = self.index.take();
        next.client.calls_before = calls_before;
        next.client.owes_role = self.client.owes_role;
        next.fragments.irregular = calls_before > 0;
        *self = next;
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Returns true if this is the choice with that index. A choice without one takes the first.
    pub(super) fn has_index(&self, index: &str) -> bool {
        self.index.as_deref().is_none_or(|own| own == index)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.state == MessageState::HeldForReask
    }

    pub(super) fn is_receiving(&self) -> bool {
        self.state == MessageState::Receiving
    }

    pub(super) fn wrote_calls(&self) -> bool {
        self.client.wrote_calls
    }

    /// Handles an event that is not about a choice.
    pub(super) fn other(&mut self, exchange: &Exchange, event: SseEvent, out: &mut Vec<u8>) {
        if self.is_refused() || !self.held.is_empty() {
            self.hold(event, Vec::new());
        } else {
            self.forward(exchange, &event, out);
        }
    }

    /// Handles a chunk that [`Chat::read`] has read.
    pub(super) fn handle(
        &mut self,
        exchange: &mut Exchange,
        mut event: SseEvent,
        chunk: Chunk,
        out: &mut Vec<u8>,
    ) {
        let has_calls = !chunk.pieces.is_empty();
        let plain = self.ends_without_calls(&chunk);
        if !chunk.text.is_empty() && self.held.is_empty() && !plain {
            self.handle_text(exchange, &mut event, &chunk, out);
            if !has_calls && chunk.reason.is_none() {
                return;
            }
        }
        let mut pieces = chunk.pieces;
        if has_calls && event.raw.is_empty() {
            // The text was removed from the chunk, so the fragments have other spans now.
            pieces = self.locate_pieces(&event, &pieces);
        }
        let fragments = &mut self.fragments;
        let streams = exchange.judge.settings.stream_arguments && self.held.is_empty();
        let regular = fragments.strict && !fragments.irregular;
        if has_calls && streams && regular && chunk.reason.is_none() {
            let numbers = pieces.iter().map(|(number, _)| *number);
            fragments.streamed.extend(numbers);
            return self.forward(exchange, &event, out);
        }
        if let Some(reason) = &chunk.reason {
            self.stop = Some(stop_named(reason));
        }
        if has_calls || chunk.reason.is_some() || !self.held.is_empty() {
            self.client.owes_role |= chunk.has_role && chunk.text.is_empty();
            self.hold(event, pieces);
        } else {
            self.forward(exchange, &event, out);
        }
        if chunk.reason.is_some() {
            self.end_message(exchange, out);
        }
    }

    /// Reads what a chunk says about this choice, and gives its fragments to the assembler.
    pub(super) fn read(&mut self, root: Node<'_>, choice: Option<Node<'_>>, data: &str) -> Chunk {
        let mut chunk = Chunk::default();
        let Some(choices) = root.get("choices") else {
            return chunk;
        };
        if self.shell.is_none() && choices.kind() == Kind::Array {
            let span = choices.span();
            let own = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let id = root.get("id").and_then(|id| data.get(id.span()));
            self.shell = Some(ChunkShell {
                before: own(data.get(..span.start)),
                after: own(data.get(span.end..)),
                message_id: id.map(str::to_owned),
            });
        }
        let Some(choice) = choice else {
            return chunk;
        };
        if self.index.is_none() {
            self.index = Some(index_of(choice).to_owned());
        }
        chunk.reason = finish_reason(choice).map(str::to_owned);
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        for (key, value) in delta.into_iter().flat_map(Node::members) {
            match (key, value.as_str()) {
                ("content", Some(text)) => text.clone_into(&mut chunk.text),
                ("role", _) => chunk.has_role = true,
                ("tool_calls", _) if !self.legacy => {
                    for call in value.elements() {
                        let number = self.add_fragment(call, call.get("function"), data);
                        chunk.pieces.push((number, call.span()));
                    }
                }
                ("function_call", _) if value.kind() == Kind::Object => {
                    self.legacy |= self.fragments.assembler.len() == 0;
                    if self.legacy {
                        let number = self.add_fragment(value, Some(value), data);
                        chunk.pieces.push((number, value.span()));
                    }
                }
                ("content" | "tool_calls" | "function_call", _) => {}
                (key, _) => self.text.extra.add(key, value),
            }
        }
        chunk
    }

    /// Adds a fragment to its call, and returns the call's index.
    fn add_fragment(&mut self, call: Node<'_>, function: Option<Node<'_>>, data: &str) -> usize {
        let legacy = self.legacy;
        let text = |node: Option<Node<'_>>| {
            let text = node.and_then(Node::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let fragments = &mut self.fragments;
        let calls_before = fragments.assembler.len();
        let id = text(call.get("id")).filter(|id| id != "null" && !legacy);
        let name = text(function.and_then(|function| function.get("name")));
        let arguments = function.and_then(|function| function.get("arguments"));
        let arguments = arguments.filter(|node| !node.is_null());
        let raw = arguments.and_then(|node| match node.as_str() {
            Some(text) => Some(text.to_owned()),
            None => data.get(node.span()).map(str::to_owned),
        });
        let index = call.get("index").and_then(Node::digits);
        let index = index.filter(|_| !legacy);
        let (has_name, has_id) = (name.is_some(), id.is_some());
        // A legacy message has one call at most, whatever later fragments call it.
        let name = name.filter(|_| !legacy || calls_before == 0);
        let size = raw.as_ref().map_or(0, String::len);
        let (number, strict) = fragments.assembler.fragment(index, id, name, raw);
        fragments.strict &= strict;
        let sizes = &mut fragments.sizes;
        sizes.resize(sizes.len().max(number + 1), 0);
        sizes[number] += size;

        // The first fragment of a call has its name and id, later ones have neither.
        let is_text = arguments.is_none_or(|node| node.as_str().is_some());
        let in_order = legacy || index == Some(number.to_string().as_str());
        let regular = if number >= calls_before {
            (has_name || is_client_side_call(call)) && (has_id || legacy)
        } else {
            !has_name && !has_id
        };
        fragments.irregular |= !(in_order && is_text && regular);
        self.keep_extras(number, call, data);
        number
    }

    /// Keeps the members of a call that are not judged, because they belong into the history.
    fn keep_extras(&mut self, number: usize, call: Node<'_>, data: &str) {
        const JUDGED: [&str; 4] = ["index", "id", "type", "function"];
        let extras = &mut self.fragments.extras;
        extras.resize(extras.len().max(number + 1), Vec::new());
        if self.legacy || is_client_side_call(call) {
            return;
        }
        let own = &mut extras[number];
        for (key, value) in call.members() {
            if JUDGED.contains(&key) || value.is_null() {
                continue;
            }
            let text = data.get(value.span()).unwrap_or_default().to_owned();
            match own.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => *known = text,
                None => own.push((key.to_owned(), text)),
            }
        }
    }

    /// Returns true for the last chunk of a message without calls, which is forwarded as it is.
    fn ends_without_calls(&self, chunk: &Chunk) -> bool {
        let may_have_calls = self.fragments.assembler.len() > 0 || self.text.finder.is_some();
        chunk.reason.is_some() && !may_have_calls && self.held.is_empty()
    }

    /// Forwards text outside calls, and removes all text from the event.
    fn handle_text(
        &mut self,
        exchange: &Exchange,
        event: &mut SseEvent,
        chunk: &Chunk,
        out: &mut Vec<u8>,
    ) {
        let sent = chunk.text.as_str();
        let released = match &mut self.text.finder {
            Some(finder) => {
                let scanned = finder.push(sent);
                self.text.calls.extend(scanned.calls);
                scanned.text
            }
            None => sent.to_owned(),
        };
        self.text.forwarded.push_str(&released);
        let is_alone = chunk.pieces.is_empty() && chunk.reason.is_none();
        if is_alone && released == sent {
            return self.forward(exchange, event, out);
        }
        let data = event.data.take().unwrap_or_default();
        let Ok(tree) = Tree::parse(&data) else {
            return;
        };
        let root = tree.root();
        let Some((choice, delta)) = delta_of(root) else {
            return;
        };
        if !released.is_empty() {
            let mut text = Splice::new(&data);
            if let Some(content) = delta.get("content") {
                text.replace_string(content.span(), &released);
            }
            text.remove(delta, calls_key(self.legacy));
            if let Some(reason) = choice.get("finish_reason") {
                text.replace(reason.span(), "null");
            }
            // The rest of the chunk reports the usage.
            if root.get("usage").is_some_and(|usage| !usage.is_null()) {
                text.remove(root, "usage");
            }
            self.forward(exchange, &event.of_same_type(text.apply()), out);
        }
        let mut rest = Splice::new(&data);
        rest.remove(delta, "content");
        let rest = rest.apply();
        *event = event.of_same_type(rest);
    }

    /// The spans of the fragments in a chunk whose text was removed.
    fn locate_pieces(&self, event: &SseEvent, pieces: &[Piece]) -> Vec<Piece> {
        let data = event.data.as_deref().unwrap_or_default();
        let Ok(tree) = Tree::parse(data) else {
            return Vec::new();
        };
        let calls = delta_of(tree.root()).and_then(|(_, delta)| delta.get(calls_key(self.legacy)));
        let spans: Vec<_> = if self.legacy {
            calls.map(Node::span).into_iter().collect()
        } else {
            let calls = calls.into_iter().flat_map(Node::elements);
            calls.map(Node::span).collect()
        };
        let numbers = pieces.iter().map(|(number, _)| *number);
        numbers.zip(spans).collect()
    }

    fn hold(&mut self, event: SseEvent, pieces: Vec<Piece>) {
        self.held_bytes += event.size();
        self.held.push(HeldChunk { event, pieces });
    }

    /// Judges the calls at the end of the message.
    pub(super) fn end_message(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.state != MessageState::Receiving {
            return;
        }
        self.judge(exchange, out);
        if self.decisions.iter().any(CallDecision::is_bad) && exchange.may_ask() {
            self.state = MessageState::HeldForReask;
        } else {
            self.write_held(exchange, out);
        }
    }

    fn judge(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if let Some(finder) = &mut self.text.finder {
            let scanned = finder.finish();
            self.text.calls.extend(scanned.calls);
            self.text.forwarded.push_str(&scanned.text);
            self.write_text(&scanned.text, out);
        }
        let streamed = self.assembled_calls().into_iter();
        let streamed = streamed.map(|(number, call)| (CallSource::Stream(number), call));
        let in_text = std::mem::take(&mut self.text.calls).into_iter();
        let in_text = in_text.map(|(call, text)| (CallSource::Text(text), call));
        let stop = self.stop.unwrap_or(StopReason::Unknown);
        let mut taken = HashSet::new();
        for (index, (source, call)) in streamed.chain(in_text).enumerate() {
            let own = call.id.clone().filter(|id| taken.insert(id.clone()));
            self.fragments.irregular |= own.is_none() && !self.legacy;
            let id = own.unwrap_or_else(|| exchange.made_up_id(self.first_number() + index));
            let call = call.with_id(id);
            let mut decision = exchange.judge.judge(call, exchange.attempt, stop);
            if let Some(number) = source.stream_index() {
                let size = decision.call.arguments.len();
                if self.fragments.sizes.get(number) != Some(&size) && !decision.is_bad() {
                    // Not all fragments are part of the call.
                    let arguments = decision.call.arguments.clone();
                    decision.arguments.get_or_insert(arguments);
                }
                if self.fragments.streamed.contains(&number) {
                    decision.mark_streamed();
                }
            }
            self.decisions.push(decision);
            self.sources.push(source);
        }
        exchange.record(&mut self.decisions);
    }

    /// The calls of the stream. Two objects cannot be two calls in the legacy form.
    fn assembled_calls(&mut self) -> Vec<(usize, RawCall)> {
        let mut calls = self.fragments.assembler.take_calls();
        if self.legacy {
            for (_, more) in calls.split_off(calls.len().min(1)) {
                calls[0].1.arguments += &more.arguments;
            }
        }
        calls
    }

    /// The number of the first invented id, which differs from choice to choice.
    fn first_number(&self) -> usize {
        let index = self.index.as_deref().unwrap_or_default();
        index
            .parse()
            .map_or(0, |index: u16| usize::from(index) << 32)
    }

    pub(super) fn refused(&self) -> Option<RefusedReply<'_>> {
        if !self.is_refused() {
            return None;
        }
        let calls = self.decisions.iter().zip(&self.sources);
        let calls: Vec<_> = calls
            .map(|(decision, source)| {
                let call = if self.legacy {
                    legal_function_call(decision)
                } else {
                    legal_call(Provider::OpenAi, decision)
                };
                self.with_extras(call, source)
            })
            .collect();
        let calls = if self.legacy {
            calls.concat()
        } else {
            format!("[{}]", calls.join(","))
        };
        let text = Some(self.text.forwarded.as_str()).filter(|text| !text.is_empty());
        Some(RefusedReply {
            legal: legal_message(text, &self.text.extra, calls_key(self.legacy), &calls),
            decisions: &self.decisions,
            forwarded: self.fragments.streamed.len(),
        })
    }

    /// Adds the members of a call that are not judged.
    fn with_extras(&self, call: String, source: &CallSource) -> String {
        let number = source.stream_index();
        let extras = number.and_then(|number| self.fragments.extras.get(number));
        let tree = Tree::parse(&call);
        let (Some(extras), Ok(tree)) = (extras, tree.as_ref().map(Tree::root)) else {
            return call;
        };
        let mut splice = Splice::new(&call);
        for (key, value) in extras {
            splice.set(tree, key, value);
        }
        splice.apply()
    }

    /// Ends a stream that broke off: complete good calls are forwarded, others are not.
    pub(super) fn abort(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        match self.state {
            MessageState::Forwarded => return,
            MessageState::HeldForReask => return self.write_held(exchange, out),
            MessageState::Receiving => {}
        }
        self.judge(exchange, out);
        if self.decisions.iter().any(CallDecision::is_bad) {
            self.held.clear();
        } else {
            self.write_held(exchange, out);
        }
        self.state = MessageState::Forwarded;
    }

    /// Forwards what is held without judging it, because it is too much.
    pub(super) fn release_unjudged(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.is_receiving() {
            let calls = self.assembled_calls().into_iter();
            let attempt = exchange.attempt;
            let unjudged = calls.map(|(_, call)| exchange.judge.unjudged(call, attempt));
            let mut unjudged: Vec<_> = unjudged.collect();
            exchange.record(&mut unjudged);
        }
        for held in std::mem::take(&mut self.held) {
            let renamed = with_canonical_names(&held.event, exchange);
            self.forward(exchange, renamed.as_ref().unwrap_or(&held.event), out);
        }
        self.state = MessageState::Forwarded;
    }
}

/// Rewrites aliased tool names back to the client's names. Returns `None` if nothing needs
/// rewriting.
fn with_canonical_names(event: &SseEvent, exchange: &Exchange) -> Option<SseEvent> {
    let tools = &exchange.judge.tools;
    let data = event.data.as_deref().filter(|_| tools.has_aliases())?;
    let tree = Tree::parse(data).ok()?;
    let mut splice = Splice::new(data);
    for site in call_sites(Provider::OpenAi, tree.root()) {
        if let Some(name) = tools.canonical_name(&site.name) {
            splice.replace_string(site.name_span, name);
        }
    }
    (!splice.is_empty()).then(|| event.of_same_type(splice.apply()))
}

/// The index of a choice, which servers with only one choice may omit.
pub(super) fn index_of(choice: Node<'_>) -> &str {
    let index = choice.get("index").and_then(Node::digits);
    index.unwrap_or("0")
}

/// The first choice and its delta.
fn delta_of(root: Node<'_>) -> Option<(Node<'_>, Node<'_>)> {
    let choice = root.get("choices")?.element(0)?;
    let delta = choice.get("delta").or_else(|| choice.get("message"))?;
    Some((choice, delta))
}

/// The finish reason of a choice, if it has ended.
fn finish_reason(choice: Node<'_>) -> Option<&str> {
    let reason = choice.get("finish_reason").and_then(Node::as_str);
    reason.filter(|reason| !reason.is_empty())
}
