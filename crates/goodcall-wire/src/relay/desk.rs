//! What streams whose calls have a beginning and an end have in common: Anthropic Messages and
//! OpenAI Responses. Calls lie on a desk until they are ruled, and events wait for them.

use std::collections::HashSet;

use goodcall_core::{StopReason, Tree};

use super::exchange::Exchange;
use super::judge::CallDecision;
use super::usage::Usage;
use crate::call::RawCall;
use crate::envelope::Provider;
use crate::sse::SseEvent;
use crate::stream::Assembler;

/// How far a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Calls may come.
    Open,
    /// Its calls went on, or it has none.
    Passed,
    /// A call was refused: everything is held.
    Refused,
}

/// The calls of one reply, and the events that wait for them, each with its role.
#[derive(Clone, Debug)]
pub(super) struct Desk<Role> {
    /// Of the first calls of the reply.
    pub(super) rulings: Vec<CallDecision>,
    /// Tells whether a call is still valid as it comes.
    pub(super) early: Assembler,
    pub(super) held: Vec<(SseEvent, Role)>,
    /// Bytes that are held.
    pub(super) bytes: usize,
    /// Calls of this reply that the client has.
    pub(super) passed: usize,
    /// Calls that the client has, of all replies.
    pub(super) accepted: Vec<(String, String)>,
    /// Ids that the client has seen.
    pub(super) taken: HashSet<String>,
    pub(super) stage: Stage,
    pub(super) own: Usage,
    pub(super) stop: StopReason,
    pub(super) done: bool,
}

impl<Role> Desk<Role> {
    pub(super) fn new(provider: Provider, exchange: &Exchange) -> Self {
        let early = Assembler::new(provider, exchange.judge.tools.clone());
        Self {
            rulings: Vec::new(),
            early: early.policy(goodcall_core::Policy::strict()),
            held: Vec::new(),
            bytes: 0,
            passed: 0,
            accepted: Vec::new(),
            taken: HashSet::new(),
            stage: Stage::Open,
            own: Usage::default(),
            stop: StopReason::Unknown,
            done: false,
        }
    }

    /// The desk for the next reply: what the client has stays known.
    pub(super) fn again(&mut self, provider: Provider, exchange: &mut Exchange) -> Self {
        exchange.usage.add(&self.own);
        Self {
            accepted: std::mem::take(&mut self.accepted),
            taken: std::mem::take(&mut self.taken),
            ..Self::new(provider, exchange)
        }
    }

    pub(super) fn hold(&mut self, event: SseEvent, role: Role) {
        self.bytes += event.size();
        self.held.push((event, role));
    }

    /// Must an event that is not about calls wait behind those that are?
    pub(super) fn waits(&self) -> bool {
        !self.held.is_empty() || self.stage == Stage::Refused
    }

    /// Takes a call as one that the client has; `false` if the client has it already.
    pub(super) fn accept(&mut self, exchange: &mut Exchange, ruling: &CallDecision) -> bool {
        self.passed += 1;
        let plain = Tree::parse(ruling.final_arguments()).map(|tree| tree.root().to_json());
        let call = (ruling.call.name.clone(), plain.unwrap_or_default());
        if exchange.attempt > 0 && !ruling.is_bad() && self.accepted.contains(&call) {
            exchange.drop_one();
            return false;
        }
        self.accepted.push(call);
        self.taken.extend(ruling.call.id.clone());
        true
    }

    /// Takes rulings in; is one of them bad?
    fn take(&mut self, exchange: &mut Exchange, mut rulings: Vec<CallDecision>) -> bool {
        exchange.remember(&mut rulings);
        let bad = rulings.iter().any(CallDecision::is_bad);
        self.rulings.extend(rulings);
        bad
    }
}

/// A call that is not ruled yet.
pub(super) struct Draft {
    pub(super) call: RawCall,
    /// Is it still to go on?
    pub(super) open: bool,
    /// Did events of it go on already?
    pub(super) streamed: bool,
}

/// A stream that rules on its calls at a desk.
pub(super) trait AtDesk {
    /// What an event may be to the calls.
    type Role;

    fn desk(&mut self) -> &mut Desk<Self::Role>;

    /// The calls behind those that are ruled, as they are now.
    fn drafts(&self) -> Vec<Draft>;

    /// Everything that is held goes on, each call as it was ruled.
    fn write(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>);

    /// The rulings that are still to be made.
    fn rule(&mut self, exchange: &Exchange, stop: StopReason) -> Vec<CallDecision> {
        let drafts = self.drafts();
        let desk = self.desk();
        let (mut taken, first) = (desk.taken.clone(), desk.rulings.len());
        let new = drafts.into_iter().enumerate();
        new.map(|(at, draft)| {
            exchange.rule(draft.call, first + at, draft.streamed, &mut taken, stop)
        })
        .collect()
    }

    /// Is a call still to go on?
    fn is_open(&self) -> bool {
        self.drafts().iter().any(|draft| draft.open)
    }

    /// A call is whole. If it is good, it goes on; if not, the end of the message decides.
    fn settle(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.desk().held.is_empty() || self.is_open() {
            return;
        }
        let rulings = self.rule(exchange, StopReason::Unknown);
        if rulings.iter().any(CallDecision::is_bad) {
            return;
        }
        self.desk().take(exchange, rulings);
        self.write(exchange, out);
    }

    /// The message is over.
    fn decide(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.desk().stage != Stage::Open {
            return;
        }
        let stop = self.desk().stop;
        let rulings = self.rule(exchange, stop);
        if self.desk().take(exchange, rulings) && exchange.may_ask() {
            self.desk().stage = Stage::Refused;
        } else {
            self.pass_all(exchange, out);
        }
    }

    /// The stream broke: what is whole goes on, half a call does not.
    fn cut(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.desk().stage == Stage::Open {
            let open = self.is_open();
            let rulings = self.rule(exchange, StopReason::Unknown);
            if self.desk().take(exchange, rulings) || open {
                self.desk().held.clear();
            }
        }
        self.pass_all(exchange, out);
    }

    /// Too much is held: it goes on as it is.
    fn let_go(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        if self.desk().stage == Stage::Open {
            let (attempt, judge) = (exchange.attempt, &exchange.judge);
            let drafts = self.drafts().into_iter();
            let unjudged = drafts.map(|draft| judge.unjudged(draft.call, attempt));
            let unjudged = unjudged.collect();
            self.desk().take(exchange, unjudged);
        }
        self.pass_all(exchange, out);
    }

    /// What is held goes on, and nothing is refused any more.
    fn pass_all(&mut self, exchange: &mut Exchange, out: &mut Vec<u8>) {
        self.desk().stage = Stage::Passed;
        self.write(exchange, out);
    }
}
