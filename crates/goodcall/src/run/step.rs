//! The next step of a run, and the reasons why one ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::explain;
use crate::loop_detector::LoopReport;
use crate::message::{Call, Message};

/// The next thing that the host has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'r> {
    /// Send these messages to the model and hand its reply to [`Run::replied`](crate::Run::replied).
    CallModel {
        /// The whole conversation, valid for every provider.
        messages: &'r [Message],
    },
    /// Save the run, then execute these calls, each between [`Run::started`](crate::Run::started)
    /// and [`Run::executed`](crate::Run::executed).
    Execute {
        /// The calls that have no outcome yet, in order.
        calls: Vec<&'r Call>,
    },
    /// Ask the user and hand the answer to [`Run::answered`](crate::Run::answered).
    AskUser {
        /// The reason why.
        reason: &'r HaltReason,
    },
    /// The model gave its final answer.
    Done {
        /// The text of the answer.
        text: &'r str,
    },
    /// The run ended without a final answer.
    Stopped {
        /// The reason why.
        reason: &'r HaltReason,
    },
}

/// The reason why a run asks the user, or stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HaltReason {
    /// The model repeats itself.
    Loop(LoopReport),
    /// This many model calls were made.
    Steps(u32),
    /// Too many calls of one tool in a row were refused.
    #[non_exhaustive]
    FailuresOfTool {
        /// The name of the tool.
        tool: String,
        /// The limit.
        most: u32,
    },
    /// This many calls were refused.
    Failures(u32),
    /// This many milliseconds have passed.
    WallTime(u64),
    /// The model got this many tokens of error texts.
    Feedback(u64),
    /// This many replies in a row were empty.
    EmptyReplies(u32),
    /// The host stopped the run, for this reason.
    Host(String),
}

impl HaltReason {
    /// The name in events and records.
    pub fn name(&self) -> &'static str {
        match self {
            HaltReason::Loop(_) => "loop",
            HaltReason::Steps(_) => "steps",
            HaltReason::FailuresOfTool { .. } => "failures_of_tool",
            HaltReason::Failures(_) => "failures",
            HaltReason::WallTime(_) => "wall_time",
            HaltReason::Feedback(_) => "feedback",
            HaltReason::EmptyReplies(_) => "empty_replies",
            HaltReason::Host(_) => "host",
        }
    }
}

impl fmt::Display for HaltReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&explain::halt_reason(self))
    }
}
