//! The calls of one streamed message on their way to the client: received, held, judged, let go, or
//! kept for a re-ask. The same for every provider; how a provider writes is its
//! [`Protocol`](crate::protocol::Protocol).

mod judge;
mod receive;
mod recover;
mod text;
mod write;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use goodcall_core::{Node, Policy, StopReason, Tree};

use super::exchange::Exchange;
use super::failed_generation::FailedGeneration;
use super::judge::{CallDecision, CallVerdict, GiveUp};
use super::reask::RefusedReply;
use super::text_call_finder::{ScannedText, TextCallFinder};
use super::usage::Usage;
use crate::call::RawCall;
use crate::protocol::{
    CallKey, EventKind, EventWriter, FoundFragment, HeldEvent, LateCall, Piece, PieceKind,
    PlacedCall, PlacedPiece, Protocol, StreamHead,
};
use crate::sse::SseEvent;
use crate::stream::{CallEvent, ReceivedCalls};

/// What happens to the events of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageState {
    /// Calls may still arrive; each is held until it is judged.
    Receiving,
    /// A call was refused; everything is held until the model has been asked again.
    Refused,
    /// The calls were forwarded, or there are none; everything else is forwarded at once.
    Forwarded,
}

/// An event, or a call of the text, that waits for the verdicts.
#[derive(Clone, Debug)]
enum Held {
    /// The beginning of a reply, which is not shown if the reply is refused before it says anything.
    Head(SseEvent),
    /// An item that goes only with the one behind it.
    Companion(SseEvent),
    Event {
        event: SseEvent,
        pieces: Vec<Piece>,
        is_last: bool,
    },
    TextCall(usize),
}

/// A call that was judged, and where it was found.
#[derive(Clone, Debug)]
struct DecidedCall {
    key: CallKey,
    outcome: Outcome,
}

/// What becomes of a call that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Undecided,
    /// The client gets it, at this place once it is known.
    Call(Option<usize>),
    /// The client gets this text.
    Text(String),
    /// The client has it from an earlier reply.
    LeftOut,
}

/// What an event says, and what its fragments are part of.
#[derive(Default)]
pub(super) struct Content {
    text: String,
    ends_text: bool,
    ends_item: bool,
    pieces: Vec<Piece>,
    /// What the upstream could not read as calls.
    failed: Option<FailedGeneration>,
}

/// What the client has of all replies to one request.
#[derive(Clone, Debug, Default)]
struct ClientCalls {
    /// Name and arguments of each call of this reply.
    accepted: Vec<(String, String)>,
    /// Those of earlier replies that were not repeated yet.
    earlier: Vec<(String, String)>,
    /// The ids of all calls.
    ids: HashSet<String>,
    /// The calls of this reply, those that were left out included.
    forwarded: usize,
    /// True if the client has the beginning of an earlier reply.
    has_head: bool,
}

impl ClientCalls {
    /// Notes a call that goes to the client. Returns false for a repetition of a call that the
    /// client has from an earlier reply; each of those is repeated once.
    fn accept(&mut self, decision: &CallDecision) -> bool {
        self.forwarded += 1;
        // Arguments that cannot be read are compared as they are.
        let sent = decision.final_arguments();
        let plain = Tree::parse(sent).map_or_else(|_| sent.to_owned(), |tree| tree.to_json());
        let call = (decision.call.name.clone(), plain);
        let repeated = self.earlier.iter().position(|earlier| *earlier == call);
        if let Some(at) = repeated.filter(|_| !decision.is_bad()) {
            self.earlier.swap_remove(at);
            return false;
        }
        self.accepted.push(call);
        self.ids.extend(decision.call.id.clone());
        true
    }
}

/// The calls of one message, and the events that wait for them.
#[derive(Clone, Debug)]
pub(super) struct PendingCalls {
    protocol: Box<dyn Protocol>,
    received: ReceivedCalls,
    state: MessageState,
    held: Vec<Held>,
    held_bytes: usize,
    /// The calls in the order in which they are judged, and how many of them are.
    order: Vec<CallKey>,
    judged: usize,
    decisions: Vec<CallDecision>,
    decided: Vec<DecidedCall>,
    text: TextState,
    client: ClientState,
    /// The usage that this reply reports.
    usage: Usage,
}

/// The text of the message.
#[derive(Clone, Debug, Default)]
struct TextState {
    /// Finds calls in the text that is open.
    finder: Option<TextCallFinder>,
    /// The calls that were found, each with the text that it was.
    calls: Vec<(RawCall, String)>,
    /// The number of them that are held.
    held: usize,
    /// Calls that are only in the last event.
    late: Vec<RawCall>,
}

/// What the client has of this message.
#[derive(Clone, Debug, Default)]
struct ClientState {
    calls: ClientCalls,
    /// The places of calls of which fragments were forwarded before they were whole.
    streamed: HashMap<usize, usize>,
    stop: Option<StopReason>,
    /// A text that the upstream could not read as calls, and what the model is told about it.
    unread: Option<(String, String)>,
    /// True if a call of the stream had no id of its own.
    has_made_up_id: bool,
    /// True once the client has the beginning of this reply.
    wrote_head: bool,
    /// True if the calls were read out of an error.
    is_recovered: bool,
    /// True once the event that ends the stream has arrived.
    closed: bool,
}

impl PendingCalls {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let tools = exchange.judge.tools.clone();
        Self {
            protocol: crate::protocol::of(exchange.provider),
            received: ReceivedCalls::new(tools, Policy::strict()),
            state: MessageState::Receiving,
            held: Vec::new(),
            held_bytes: 0,
            order: Vec::new(),
            judged: 0,
            decisions: Vec::new(),
            decided: Vec::new(),
            text: TextState::default(),
            client: ClientState::default(),
            usage: Usage::default(),
        }
    }

    /// Begins the next reply, which keeps what the client has already.
    pub(super) fn begin_next(&mut self, exchange: &mut Exchange) {
        exchange.usage.add(&self.usage);
        let mut next = Self::new(exchange);
        std::mem::swap(&mut next.protocol, &mut self.protocol);
        next.protocol.begin_next();
        let mut calls = std::mem::take(&mut self.client.calls);
        let accepted = std::mem::take(&mut calls.accepted);
        calls.earlier.extend(accepted);
        calls.forwarded = 0;
        calls.has_head |= self.client.wrote_head;
        next.client.calls = calls;
        *self = next;
    }

    pub(super) fn protocol(&self) -> &dyn Protocol {
        self.protocol.as_ref()
    }

    /// What clients skip, as a sign of life.
    pub(super) fn heartbeat(&self) -> Option<String> {
        self.protocol.heartbeat()
    }

    /// What an event at the head of a reply says about it.
    pub(super) fn head(&self, event: &SseEvent) -> StreamHead {
        let Some(data) = event.data.as_deref() else {
            return StreamHead::Undecided;
        };
        match Tree::parse(data) {
            Ok(tree) => self.protocol.head(tree.root()),
            Err(_) if data.trim() == "[DONE]" => StreamHead::Failure,
            Err(_) => StreamHead::Content,
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(super) fn is_refused(&self) -> bool {
        self.state == MessageState::Refused
    }

    /// The usage that this reply has reported.
    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The reason why the message ended.
    pub(super) fn stop(&self) -> StopReason {
        self.client.stop.unwrap_or(StopReason::Unknown)
    }

    /// Returns true if the calls were read out of an error.
    pub(super) fn is_recovered(&self) -> bool {
        self.client.is_recovered
    }

    /// Prepares for a message that has no events of the upstream.
    pub(super) fn begin_alone(&mut self, number: &str, model: &str) {
        self.protocol.begin_alone(number, model);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.closed
    }

    /// The number of calls that the client has of this message.
    pub(super) fn call_count(&self) -> usize {
        self.client.calls.accepted.len()
    }

    /// Handles an event that [`PendingCalls::read`] has read, or one that is not JSON.
    pub(super) fn handle(
        &mut self,
        exchange: &mut Exchange,
        event: SseEvent,
        read: Option<(EventKind, Content)>,
        out: &mut EventWriter,
    ) {
        let Some((kind, content)) = read else {
            if event.data.as_deref().map(str::trim) == Some("[DONE]") {
                self.end_message(exchange, out);
                self.client.closed = true;
            }
            return self.other(exchange, event, out);
        };
        match kind {
            EventKind::Heartbeat => out.raw(&event),
            EventKind::Failure if self.recover(exchange, &event, &content, out) => {}
            EventKind::Failure => {
                self.abort(exchange, out);
                self.client.closed = true;
                self.protocol.forward(exchange, &event, out);
            }
            EventKind::Head if self.client.calls.has_head => {}
            EventKind::Head if self.protocol.is_stored_at_once() && exchange.may_ask() => {
                self.held_bytes += event.size();
                self.held.push(Held::Head(event));
            }
            EventKind::Head => {
                self.client.wrote_head = true;
                self.protocol.forward(exchange, &event, out);
            }
            EventKind::Close => {
                self.end_message(exchange, out);
                self.client.closed = true;
                self.other(exchange, event, out);
            }
            _ if self.state != MessageState::Receiving => {
                let is_last = kind == EventKind::Last;
                if is_last && self.state == MessageState::Forwarded {
                    self.hold(event, Vec::new(), true);
                    self.write_held(exchange, out);
                } else if is_last {
                    self.hold(event, Vec::new(), true);
                } else {
                    self.other(exchange, event, out);
                }
            }
            EventKind::Companion
                if exchange.may_ask() || exchange.given_up_as() == GiveUp::Text =>
            {
                self.held_bytes += event.size();
                self.held.push(Held::Companion(event));
            }
            EventKind::Companion | EventKind::Content => {
                self.content(exchange, event, content, out);
            }
            EventKind::Last => self.last(exchange, event, content, out),
        }
    }

    /// Handles an event of the message that does not end it.
    fn content(
        &mut self,
        exchange: &mut Exchange,
        event: SseEvent,
        mut content: Content,
        out: &mut EventWriter,
    ) {
        let is_alone = content.pieces.is_empty() && !content.ends_text;
        let Some(event) = self.text(exchange, event, &mut content, is_alone, out) else {
            return;
        };
        let event = if content.ends_text {
            self.end_text(out);
            self.with_repeated_text(event)
        } else {
            event
        };
        if content.pieces.is_empty() {
            self.other(exchange, event, out);
        } else if self.may_stream(exchange, &content.pieces) {
            self.stream(exchange, &event, &content.pieces, out);
        } else {
            self.hold(event, content.pieces, false);
        }
        if content.ends_item {
            self.hold_text_calls();
            self.settle(exchange, out);
        }
    }

    /// Handles the event that ends the message.
    fn last(
        &mut self,
        exchange: &mut Exchange,
        event: SseEvent,
        mut content: Content,
        out: &mut EventWriter,
    ) {
        if content.failed.is_some() && self.recover(exchange, &event, &content, out) {
            return;
        }
        let may_have_calls = self.received.len() > 0 || exchange.text_call_scope().is_some();
        let mut event = event;
        if may_have_calls || !self.held.is_empty() {
            match self.text(exchange, event, &mut content, false, out) {
                Some(rest) => event = rest,
                None => return,
            }
        }
        self.end_text(out);
        self.hold_text_calls();
        self.client.stop.get_or_insert(StopReason::Unknown);
        self.hold(event, content.pieces, true);
        self.end_message(exchange, out);
    }

    fn hold(&mut self, event: SseEvent, pieces: Vec<Piece>, is_last: bool) {
        self.held_bytes += event.size();
        self.held.push(Held::Event {
            event,
            pieces,
            is_last,
        });
    }

    /// Returns true if everything that is held only waits for an item behind it.
    fn must_not_wait(&self) -> bool {
        let only_waits = |held: &Held| matches!(held, Held::Head(_) | Held::Companion(_));
        self.state != MessageState::Refused && self.held.iter().all(only_waits)
    }

    /// Forwards what waited for the item that comes now.
    fn write_companions(&mut self, exchange: &Exchange, out: &mut EventWriter) {
        for held in std::mem::take(&mut self.held) {
            self.client.wrote_head |= matches!(held, Held::Head(_));
            if let Held::Head(event) | Held::Companion(event) = held {
                self.held_bytes = self.held_bytes.saturating_sub(event.size());
                self.protocol.forward(exchange, &event, out);
            }
        }
    }

    /// Forwards an event that is not about calls, after those that are.
    fn other(&mut self, exchange: &Exchange, event: SseEvent, out: &mut EventWriter) {
        if self.must_not_wait() {
            self.write_companions(exchange, out);
            self.protocol.forward(exchange, &event, out);
        } else {
            self.hold(event, Vec::new(), false);
        }
    }

    /// Returns true if these fragments may be forwarded before their calls are whole.
    fn may_stream(&self, exchange: &Exchange, pieces: &[Piece]) -> bool {
        let fits = |piece: &Piece| {
            let (id, _) = self.received.head(piece.number);
            let is_known = self.client.streamed.contains_key(&piece.number);
            let is_fresh = id.is_none_or(|id| !self.client.calls.ids.contains(id));
            let may = match piece.kind {
                PieceKind::Begin => is_fresh && self.protocol.may_stream(piece.number),
                PieceKind::Part => is_known,
                PieceKind::Whole | PieceKind::End => false,
            };
            may && self.received.is_strict(piece.number)
        };
        let settings = &exchange.judge.settings;
        let is_free = !self.protocol.is_irregular() && self.must_not_wait();
        settings.stream_arguments && is_free && pieces.iter().all(fits)
    }

    fn stream(
        &mut self,
        exchange: &Exchange,
        event: &SseEvent,
        pieces: &[Piece],
        out: &mut EventWriter,
    ) {
        self.write_companions(exchange, out);
        let mut place = 0;
        for piece in pieces {
            let protocol = &mut self.protocol;
            let entry = self.client.streamed.entry(piece.number);
            place = *entry.or_insert_with(|| protocol.places().take());
        }
        self.protocol.forward_at(exchange, event, place, out);
    }

    /// Decides on the remaining calls at the end of the message.
    pub(super) fn end_message(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        if self.state != MessageState::Receiving {
            return;
        }
        self.end_text(out);
        self.hold_text_calls();
        let stop = self.stop();
        let judged = self.judge(exchange, stop);
        // A call that the client has is answered twice if the provider stores the reply.
        let has_some = self.client.calls.forwarded > 0 || !self.client.streamed.is_empty();
        let is_taken = self.protocol.is_stored_at_once() && has_some;
        if self.store(exchange, judged) && exchange.may_ask_after(stop) && !is_taken {
            self.state = MessageState::Refused;
        } else {
            self.forward_all(exchange, out);
            self.finish(exchange, out);
        }
    }

    pub(super) fn forward_all(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        self.state = MessageState::Forwarded;
        self.write_held(exchange, out);
    }

    /// Ends a stream that broke off: complete good calls are forwarded, an incomplete one is not.
    pub(super) fn abort(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        if self.state == MessageState::Receiving {
            self.end_text(out);
            self.hold_text_calls();
            let is_open = self.protocol.marks_begin() && self.received.has_open();
            let judged = self.judge(exchange, StopReason::Unknown);
            if self.store(exchange, judged) || is_open {
                self.held.retain(|held| matches!(held, Held::Head(_)));
            }
        }
        // No end is made up for a message that broke off.
        self.client.stop.get_or_insert(StopReason::Unknown);
        self.forward_all(exchange, out);
    }

    /// Forwards what is held without judging it, because it is too much.
    pub(super) fn release_unjudged(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        if self.state == MessageState::Receiving {
            if let Some(mut finder) = self.text.finder.take() {
                let scanned = finder.finish();
                self.protocol.write_reasoning(&scanned.reasoning, out);
                let calls = scanned.calls.into_iter().map(|(_, source)| source);
                let rest = calls.chain([scanned.text]).collect::<String>();
                self.protocol.write_text_rest(&rest, out);
            }
            let keys = self.order[self.judged..].to_vec();
            let calls = keys.into_iter().flat_map(|key| {
                let calls = self.calls_of(key).into_iter();
                calls.map(move |call| (key, call))
            });
            let (judge, attempt) = (&exchange.judge, exchange.attempt);
            let judged = calls.map(|(key, call)| (key, judge.unjudged(call, attempt)));
            let judged = judged.collect();
            self.store(exchange, judged);
            self.protocol.pass_rest();
        }
        self.forward_all(exchange, out);
    }

    /// Ends the stream. Writes the end that a server left out, but never one behind a call that
    /// was cut off.
    pub(super) fn finish(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        let has_bad = self.decisions.iter().any(CallDecision::is_bad);
        let has_calls = !self.client.calls.accepted.is_empty();
        if self.client.stop.is_none() && has_calls && !has_bad {
            self.client.stop = Some(StopReason::Finished);
            if self.protocol.write_last(out) && !self.client.is_recovered {
                exchange.note_repair("finish_reason");
            }
        }
    }

    /// Writes the end of the stream that a server left out.
    pub(super) fn close(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        let is_written = self.client.stop.is_some() && self.protocol.write_close(out);
        if is_written && !self.client.is_recovered {
            exchange.note_repair("end_of_stream");
        }
    }

    /// The reply as JSON, every call in a form that a history may hold.
    pub(super) fn reply(&self) -> String {
        let decisions = |key: CallKey| {
            let decided = self.decided.iter().zip(&self.decisions);
            let own = decided.filter(|(decided, _)| decided.key == key);
            own.map(|(_, decision)| decision).collect()
        };
        self.protocol.history(&decisions)
    }

    pub(super) fn refused(&self) -> Option<RefusedReply<'_>> {
        if !self.is_refused() {
            return None;
        }
        if let Some((said, explanation)) = self.client.unread.clone() {
            return Some(RefusedReply::Unread { said, explanation });
        }
        Some(RefusedReply::Calls {
            legal: self.reply(),
            decisions: &self.decisions,
            forwarded: self.client.calls.forwarded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::judge::CallRecord;
    use crate::tools::Tools;

    fn unjudged(arguments: &str) -> CallDecision {
        CallDecision {
            call: RawCall::new(&Tools::default(), "g", arguments),
            verdict: CallVerdict::Unjudged,
            arguments: None,
            text: String::new(),
            record: CallRecord::default(),
        }
    }

    #[test]
    fn calls_with_different_unreadable_arguments_are_not_repetitions() {
        let mut calls = ClientCalls::default();
        assert!(calls.accept(&unjudged("two words")));
        calls.earlier = std::mem::take(&mut calls.accepted);
        assert!(calls.accept(&unjudged("other words")));
        assert!(!calls.accept(&unjudged("two words")));
    }
}
