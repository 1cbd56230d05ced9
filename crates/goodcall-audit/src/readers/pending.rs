//! Turns whose results come in later records.

use std::collections::VecDeque;

use super::TurnSink;
use crate::recorded::{RecordedCall, RecordedResult, RecordedTurn};

/// Turns that wait for results; then the oldest is passed on without them.
const MOST_WAITING: usize = 64;

/// The turns of one file that are not complete yet, the oldest first.
#[derive(Debug, Default)]
pub(super) struct PendingTurns {
    turns: VecDeque<PendingTurn>,
}

#[derive(Debug)]
struct PendingTurn {
    /// Tells whether a later record continues the turn.
    message: Option<String>,
    turn: RecordedTurn<'static>,
    /// True after the first result: then no further call belongs to the turn.
    has_results: bool,
}

impl PendingTurn {
    fn is_complete(&self) -> bool {
        self.turn.calls.iter().all(|call| call.result.is_some())
    }
}

impl PendingTurns {
    /// The last turn, if it is of this message.
    pub(super) fn of_message(&mut self, message: &str) -> Option<&mut RecordedTurn<'static>> {
        let last =
            self.turns.iter_mut().rev().find(|pending| {
                pending.message.as_deref() == Some(message) && !pending.has_results
            });
        last.map(|pending| &mut pending.turn)
    }

    /// The last turn, if no result of it has come.
    pub(super) fn open(&mut self) -> Option<&mut RecordedTurn<'static>> {
        let last = self.turns.back_mut()?;
        (!last.has_results).then_some(&mut last.turn)
    }

    /// The last turn.
    pub(super) fn last(&mut self) -> Option<&mut RecordedTurn<'static>> {
        self.turns.back_mut().map(|pending| &mut pending.turn)
    }

    /// Begins a turn. Turns before it that are complete are passed on.
    pub(super) fn begin(
        &mut self,
        message: Option<&str>,
        turn: RecordedTurn<'static>,
        out: &mut dyn TurnSink,
    ) -> &mut RecordedTurn<'static> {
        let is_full = self.turns.len() >= MOST_WAITING;
        while let Some(first) = self.turns.front()
            && (first.is_complete() || is_full && self.turns.len() >= MOST_WAITING)
        {
            self.pass_on_first(out);
        }
        self.turns.push_back(PendingTurn {
            message: message.map(str::to_owned),
            turn,
            has_results: false,
        });
        let last = self.turns.back_mut().expect("a turn was pushed");
        &mut last.turn
    }

    /// Takes the result of a call. Returns the call, if it is known.
    pub(super) fn result(
        &mut self,
        id: &str,
        result: RecordedResult<'static>,
    ) -> Option<&mut RecordedCall<'static>> {
        for pending in self.turns.iter_mut().rev() {
            let mut calls = pending.turn.calls.iter_mut();
            let waits = |call: &&mut RecordedCall<'_>| {
                call.id.as_deref() == Some(id) && call.result.is_none()
            };
            if let Some(call) = calls.find(waits) {
                pending.has_results = true;
                call.result = Some(result);
                return Some(call);
            }
        }
        None
    }

    fn pass_on_first(&mut self, out: &mut dyn TurnSink) {
        if let Some(first) = self.turns.pop_front() {
            out.turn(&first.turn);
        }
    }

    /// Passes on all turns.
    pub(super) fn finish(&mut self, out: &mut dyn TurnSink) {
        while !self.turns.is_empty() {
            self.pass_on_first(out);
        }
    }
}
