//! What a run wants next, and why it ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::doom::LoopReport;
use crate::explain;
use crate::message::{Call, Message};

/// What the host has to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<'r> {
    /// Send these messages to the model and hand its reply to [`Run::replied`](crate::Run::replied).
    CallModel {
        /// The whole conversation, legal for every provider.
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
        /// What about.
        why: &'r HaltReason,
    },
    /// The model has said its last word.
    Done {
        /// Its words.
        text: &'r str,
    },
    /// The run is over without a last word.
    Stopped {
        /// Why.
        why: &'r HaltReason,
    },
}

/// Why a run asks the user, or stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HaltReason {
    /// The model goes in circles.
    Loop(LoopReport),
    /// So many calls of the model were made.
    Steps(u32),
    /// So many calls of one tool in a row were refused.
    FailuresOfTool {
        /// The tool.
        tool: String,
        /// The limit.
        most: u32,
    },
    /// So many calls were refused.
    Failures(u32),
    /// So many milliseconds are over.
    WallTime(u64),
    /// So many tokens of error texts were told.
    Feedback(u64),
    /// So many replies in a row were empty.
    EmptyReplies(u32),
    /// The host said so.
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
        f.write_str(&explain::why(self))
    }
}
