//! Calls that wait for a decision, in streams that mark where a call begins and ends: Anthropic
//! Messages and OpenAI Responses.

use std::collections::HashSet;

use goodcall_core::{StopReason, Tree};

use super::exchange::Exchange;
use super::judge::CallDecision;
use super::usage::Usage;
use crate::call::RawCall;
use crate::envelope::Provider;
use crate::sse::SseEvent;
use crate::stream::Assembler;

/// What happens to the events of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageState {
    /// Calls may still arrive; each is held until it is judged.
    Receiving,
    /// The calls were forwarded, or there are none; everything else is forwarded at once.
    Forwarded,
    /// A call was refused; everything is held until the model has been asked again.
    HeldForReask,
}

/// The calls of one reply, and the events that wait for them. `Role` says what an event is to a
/// call.
#[derive(Clone, Debug)]
pub(super) struct PendingCalls<Role> {
    /// The decisions on the first calls of the reply.
    pub(super) decisions: Vec<CallDecision>,
    /// Checks arguments as they arrive, for calls that are streamed through.
    pub(super) early: Assembler,
    pub(super) held: Vec<(SseEvent, Role)>,
    pub(super) held_bytes: usize,
    /// The number of calls of this reply that the client has.
    pub(super) forwarded: usize,
    /// Name and arguments of each call that the client has, of all replies.
    pub(super) accepted: Vec<(String, String)>,
    /// The ids of calls that the client has seen.
    pub(super) taken_ids: HashSet<String>,
    pub(super) state: MessageState,
    /// The usage that this reply reports.
    pub(super) usage: Usage,
    pub(super) stop: StopReason,
    /// True once the stream's last event has arrived.
    pub(super) done: bool,
}

impl<Role> PendingCalls<Role> {
    pub(super) fn new(provider: Provider, exchange: &Exchange) -> Self {
        let early = Assembler::new(provider, exchange.judge.tools.clone());
        Self {
            decisions: Vec::new(),
            early: early.policy(goodcall_core::Policy::strict()),
            held: Vec::new(),
            held_bytes: 0,
            forwarded: 0,
            accepted: Vec::new(),
            taken_ids: HashSet::new(),
            state: MessageState::Receiving,
            usage: Usage::default(),
            stop: StopReason::Unknown,
            done: false,
        }
    }

    /// Returns the state for the next reply, which keeps what the client has already.
    pub(super) fn for_next_reply(&mut self, provider: Provider, exchange: &mut Exchange) -> Self {
        exchange.usage.add(&self.usage);
        Self {
            accepted: std::mem::take(&mut self.accepted),
            taken_ids: std::mem::take(&mut self.taken_ids),
            ..Self::new(provider, exchange)
        }
    }

    pub(super) fn hold(&mut self, event: SseEvent, role: Role) {
        self.held_bytes += event.size();
        self.held.push((event, role));
    }

    /// Returns true if an event that is not about calls has to wait behind those that are.
    pub(super) fn must_wait(&self) -> bool {
        !self.held.is_empty() || self.state == MessageState::HeldForReask
    }

    /// Notes a call that goes to the client. Returns false for a repetition of a call that the
    /// client has from an earlier reply.
    pub(super) fn accept(&mut self, exchange: &mut Exchange, decision: &CallDecision) -> bool {
        self.forwarded += 1;
        let plain = Tree::parse(decision.final_arguments()).map(|tree| tree.root().to_json());
        let call = (decision.call.name.clone(), plain.unwrap_or_default());
        if exchange.attempt > 0 && !decision.is_bad() && self.accepted.contains(&call) {
            exchange.count_dropped();
            return false;
        }
        self.accepted.push(call);
        self.taken_ids.extend(decision.call.id.clone());
        true
    }

    /// Stores decisions. Returns true if one of them is a refusal.
    fn store(&mut self, exchange: &mut Exchange, mut decisions: Vec<CallDecision>) -> bool {
        exchange.record(&mut decisions);
        let bad = decisions.iter().any(CallDecision::is_bad);
        self.decisions.extend(decisions);
        bad
    }
}

/// A call that is not decided yet.
pub(super) struct PendingCall {
    pub(super) call: RawCall,
    /// True while more of the call may arrive.
    pub(super) open: bool,
    /// True if events of the call were forwarded already.
    pub(super) streamed: bool,
}

/// A stream whose calls wait in a [`PendingCalls`].
pub(super) trait PendingCallStream {
    /// What an event may be to a call.
    type Role;

    fn pending(&mut self) -> &mut PendingCalls<Self::Role>;

    /// The calls after those that are decided, as they are now.
    fn pending_calls(&self) -> Vec<PendingCall>;

    /// Writes everything that is held, each call as it was decided.
    fn write_held(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>);

    fn judge_pending(&mut self, exchange: &Exchange, stop: StopReason) -> Vec<CallDecision> {
        let calls = self.pending_calls();
        let pending = self.pending();
        let (mut taken, first) = (pending.taken_ids.clone(), pending.decisions.len());
        let new = calls.into_iter().enumerate();
        new.map(|(at, call)| exchange.judge_streamed(call, first + at, &mut taken, stop))
            .collect()
    }

    fn has_open_call(&self) -> bool {
        self.pending_calls().iter().any(|call| call.open)
    }

    /// Forwards what is held if every call in it is complete and none is bad. A bad call waits for
    /// the end of the message.
    fn settle(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.pending().held.is_empty() || self.has_open_call() {
            return;
        }
        let decisions = self.judge_pending(exchange, StopReason::Unknown);
        if decisions.iter().any(CallDecision::is_bad) {
            return;
        }
        self.pending().store(exchange, decisions);
        self.write_held(exchange, out);
    }

    /// Decides on the remaining calls at the end of the message.
    fn end_message(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.pending().state != MessageState::Receiving {
            return;
        }
        let stop = self.pending().stop;
        let decisions = self.judge_pending(exchange, stop);
        if self.pending().store(exchange, decisions) && exchange.may_ask() {
            self.pending().state = MessageState::HeldForReask;
        } else {
            self.forward_all(exchange, out);
        }
    }

    /// Ends a stream that broke off: complete good calls are forwarded, an incomplete one is not.
    fn abort(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.pending().state == MessageState::Receiving {
            let open = self.has_open_call();
            let decisions = self.judge_pending(exchange, StopReason::Unknown);
            if self.pending().store(exchange, decisions) || open {
                self.pending().held.clear();
            }
        }
        self.forward_all(exchange, out);
    }

    /// Forwards what is held without judging it, because it is too much.
    fn release_unjudged(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.pending().state == MessageState::Receiving {
            let (attempt, judge) = (exchange.attempt, &exchange.judge);
            let calls = self.pending_calls().into_iter();
            let unjudged = calls.map(|call| judge.unjudged(call.call, attempt));
            let unjudged = unjudged.collect();
            self.pending().store(exchange, unjudged);
        }
        self.forward_all(exchange, out);
    }

    fn forward_all(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.pending().state = MessageState::Forwarded;
        self.write_held(exchange, out);
    }
}
