//! Where a run stands.

use serde::{Deserialize, Serialize};

use super::HaltReason;
use crate::error::Cause;
use crate::message::{Call, CallOutcome};
use crate::{ToolResult, explain};

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// The model is to be called.
    Model,
    /// Calls are to be executed. The reply joins the history together with its outcomes, so that
    /// the history is legal at any time.
    Tools { text: String, slots: Vec<Slot> },
    /// The user is to be asked.
    Asking { why: HaltReason },
    /// The model has said its last word.
    Done,
    /// Over.
    Stopped { why: HaltReason },
}

/// One call, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) call: Call,
    pub(super) progress: Progress,
    /// How often it was started: a call that kills its host is not made for ever.
    #[serde(default)]
    pub(super) starts: u32,
}

/// How often a call that may be repeated is started.
pub(super) const MOST_STARTS: u32 = 3;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Progress {
    /// Known, and certainly not run.
    Recorded,
    /// Perhaps run.
    Started,
    /// Run, or refused.
    Executed(Box<CallOutcome>),
}

impl Slot {
    pub(super) fn new(call: Call) -> Self {
        Self {
            call,
            progress: Progress::Recorded,
            starts: 0,
        }
    }

    /// What is told of a call that was never executed or not known to be.
    fn lost(&self) -> CallOutcome {
        let message = match self.progress {
            Progress::Started => explain::interrupted(&self.call.name),
            _ => explain::not_run(&self.call.name),
        };
        CallOutcome::new(&self.call, ToolResult::failed(Cause::Cancelled, message))
    }

    /// Gives the call an outcome that says what is not known.
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
