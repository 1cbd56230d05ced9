//! Loops in recorded conversations.

use std::collections::{HashMap, VecDeque};

use goodcall::{
    Call, CallOutcome, Detector, Failure, LoopReport, LoopRules, ToolResult, loop_in_history,
};
use goodcall_core::Refusal;
use goodcall_wire::request::HistoryStep;

use crate::recorded::{RecordedCall, RecordedLoop};

/// Conversations that are followed at once; the one that began first makes room for another.
const MOST_CONVERSATIONS: usize = 4096;

/// The detectors of the conversations in one recording.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    detectors: HashMap<Box<str>, Detector>,
    /// The conversations in the order in which they began.
    order: VecDeque<Box<str>>,
}

impl Conversations {
    /// Takes in one turn of a conversation. Returns a report if the turn is part of a loop.
    pub(crate) fn observe(
        &mut self,
        conversation: &str,
        after_user: bool,
        turn: &[(Call, CallOutcome)],
    ) -> Option<LoopReport> {
        if !self.detectors.contains_key(conversation) {
            if self.order.len() >= MOST_CONVERSATIONS
                && let Some(first) = self.order.pop_front()
            {
                self.detectors.remove(&first);
            }
            self.order.push_back(conversation.into());
            let detector = Detector::new(LoopRules::default());
            self.detectors.insert(conversation.into(), detector);
        }
        let detector = self.detectors.get_mut(conversation)?;
        if after_user {
            detector.reset();
        }
        detector.observe(turn)
    }
}

/// What the detector reads of a recorded call.
pub(crate) fn outcome(call: &RecordedCall<'_>, refusal: Option<&Refusal>) -> (Call, CallOutcome) {
    let id = call.id.as_deref().unwrap_or_default();
    let made = Call::new(id, call.tool.as_ref(), call.arguments.text());
    let text = call.result.as_ref().map(|result| result.text.as_ref());
    let text = text.unwrap_or_default();
    let is_error = call.result.as_ref().is_some_and(|result| result.is_error);
    let result = match refusal {
        Some(bad) => ToolResult::refused(bad, text),
        None if is_error => ToolResult::from(Failure::new(text)),
        None => ToolResult::success(text),
    };
    let outcome = CallOutcome::new(&made, result);
    (made, outcome)
}

/// Finds the loop that a history ends in.
pub(crate) fn in_history(steps: Vec<HistoryStep>) -> Option<RecordedLoop> {
    loop_in_history(steps).as_ref().map(RecordedLoop::from)
}
