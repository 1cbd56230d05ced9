//! The state of a run.

use serde::{Deserialize, Serialize};

use super::HaltReason;
use crate::error::Cause;
use crate::message::{AssistantMessage, Call, CallOutcome};
use crate::{ToolResult, explain};

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunState {
    /// The model has to be called.
    Model,
    /// Calls have to be executed. The reply joins the history together with its outcomes, so that
    /// the history is always valid.
    Tools {
        /// The reply without its calls.
        reply: AssistantMessage,
        pending: Vec<RunCall>,
    },
    /// The user has to be asked.
    Asking { reason: HaltReason },
    /// The model gave its final answer.
    Done,
    /// The run ended without a final answer.
    Stopped { reason: HaltReason },
}

/// One call of the current reply, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunCall {
    pub(super) call: Call,
    pub(super) progress: Progress,
    /// How many times it was started. This is limited because the call may kill its host.
    #[serde(default)]
    pub(super) starts: u32,
}

/// The most times that a repeatable call is started.
pub(super) const MOST_STARTS: u32 = 3;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Progress {
    /// Not started.
    Recorded,
    /// Started; it may have run.
    Started,
    /// Run or refused.
    Executed(Box<CallOutcome>),
}

impl RunCall {
    pub(super) fn new(call: Call) -> Self {
        Self {
            call,
            progress: Progress::Recorded,
            starts: 0,
        }
    }

    /// Returns the outcome of a call that was not executed, or may have been.
    fn lost(&self) -> CallOutcome {
        let message = match self.progress {
            Progress::Started => explain::interrupted(&self.call.name),
            _ => explain::not_run(&self.call.name),
        };
        CallOutcome::new(&self.call, ToolResult::failed(Cause::Cancelled, message))
    }

    /// Gives a call without an outcome one that says so.
    pub(super) fn give_up(&mut self) {
        if !self.is_executed() {
            self.progress = Progress::Executed(Box::new(self.lost()));
        }
    }

    pub(super) fn is_executed(&self) -> bool {
        matches!(self.progress, Progress::Executed(_))
    }

    pub(super) fn into_parts(self) -> (Call, CallOutcome) {
        let lost = self.lost();
        match self.progress {
            Progress::Executed(outcome) => (self.call, *outcome),
            _ => (self.call, lost),
        }
    }
}
