//! Loops in the history of a conversation.

use goodcall_wire::request::{HistoryCall, HistoryStep};

use super::{Detector, LoopReport, LoopRules};
use crate::failure::Failure;
use crate::message::{Call, CallOutcome};
use crate::tool_result::ToolResult;

/// Returns the loop that the last turn of a conversation is part of, by the default thresholds.
pub fn loop_in_history(steps: impl IntoIterator<Item = HistoryStep>) -> Option<LoopReport> {
    let mut detector = Detector::new(LoopRules::default());
    let mut last = None;
    for step in steps {
        last = match step {
            HistoryStep::Turn(calls) => {
                let turn: Vec<_> = calls.into_iter().filter_map(outcome).collect();
                detector.observe(&turn)
            }
            _ => {
                detector.reset();
                None
            }
        };
    }
    last
}

/// Turns a call of the history into what the detector reads; `None` for one without a result.
fn outcome(past: HistoryCall) -> Option<(Call, CallOutcome)> {
    let result = past.result?;
    let call = Call::new(past.id, past.name, past.arguments);
    let result = if past.is_error {
        ToolResult::from(Failure::new(result))
    } else {
        ToolResult::success(result)
    };
    let outcome = CallOutcome::new(&call, result);
    Some((call, outcome))
}
