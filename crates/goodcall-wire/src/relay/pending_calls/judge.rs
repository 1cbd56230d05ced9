//! Judges the calls that have arrived.

use super::*;

impl PendingCalls {
    /// Forwards what is held if every call in it is whole and none is bad. A bad call waits for the
    /// end of the message.
    pub(super) fn settle(&mut self, exchange: &mut Exchange, out: &mut EventWriter) {
        if self.judged == self.order.len() || self.received.has_open() {
            return;
        }
        let is_streamed = !self.client.streamed.is_empty();
        if self.protocol.is_stored_at_once() && exchange.may_ask() && !is_streamed {
            return;
        }
        let judged = self.judge(exchange, StopReason::Unknown);
        if judged.iter().any(|(_, decision)| decision.is_bad()) {
            return;
        }
        self.store(exchange, judged);
        self.write_held(exchange, out);
    }

    /// Judges the calls that were not judged yet.
    pub(super) fn judge(
        &mut self,
        exchange: &Exchange,
        stop: StopReason,
    ) -> Vec<(CallKey, CallDecision)> {
        let mut taken = self.client.calls.ids.clone();
        let first = self.protocol.first_number() + self.decisions.len();
        let mut judged = Vec::new();
        for key in self.order[self.judged..].iter().copied() {
            for call in self.calls_of(key) {
                let is_streamed = self.is_streamed(key);
                let own = call.id.clone();
                let own = own.filter(|id| taken.insert(id.clone()) || is_streamed);
                let id = own.unwrap_or_else(|| {
                    if matches!(key, CallKey::Stream(_)) {
                        self.client.has_made_up_id = true;
                        self.protocol.note_made_up_id();
                    }
                    exchange.made_up_id(first + judged.len())
                });
                let call = call.with_id(id);
                let mut decision = exchange.judge.judge(call, exchange.attempt, stop);
                if let CallKey::Stream(number) = key {
                    let arguments = &decision.call.arguments;
                    if self.received.size(number) != arguments.len() && !decision.is_bad() {
                        // Not all fragments are part of the call.
                        let arguments = arguments.clone();
                        decision.arguments.get_or_insert(arguments);
                    }
                }
                if is_streamed {
                    decision.mark_streamed();
                }
                judged.push((key, decision));
            }
        }
        judged
    }

    /// The calls that a key stands for; none if it has no name where names may follow.
    pub(super) fn calls_of(&self, key: CallKey) -> Vec<RawCall> {
        match key {
            CallKey::Text(number) => vec![self.text.calls[number].0.clone()],
            CallKey::Late(number) => vec![self.text.late[number].clone()],
            CallKey::Stream(number) => {
                let (_, name) = self.received.head(number);
                if name.is_empty() && !self.protocol.marks_begin() {
                    Vec::new()
                } else if self.protocol.joins_calls() {
                    vec![self.received.joined_call(number)]
                } else {
                    self.received.calls(number)
                }
            }
        }
    }

    pub(super) fn is_streamed(&self, key: CallKey) -> bool {
        matches!(key, CallKey::Stream(number) if self.client.streamed.contains_key(&number))
    }

    /// Stores decisions. Returns true if one of them is a refusal.
    pub(super) fn store(
        &mut self,
        exchange: &mut Exchange,
        judged: Vec<(CallKey, CallDecision)>,
    ) -> bool {
        let (keys, mut decisions): (Vec<_>, Vec<_>) = judged.into_iter().unzip();
        exchange.record(&mut decisions);
        let needs_id = exchange.provider.needs_id() && !self.protocol.joins_calls();
        if self.client.has_made_up_id && needs_id {
            exchange.note_repair("call_id");
        }
        let bad = decisions.iter().any(CallDecision::is_bad);
        for (key, decision) in keys.into_iter().zip(&decisions) {
            let outcome = match key {
                CallKey::Stream(number) if self.client.streamed.contains_key(&number) => {
                    self.client.calls.accept(decision);
                    Outcome::Call(self.client.streamed.get(&number).copied())
                }
                _ => Outcome::Undecided,
            };
            self.decided.push(DecidedCall { key, outcome });
        }
        self.decisions.extend(decisions);
        self.judged = self.order.len();
        bad
    }
}
