//! The limits of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one run. Start from [`RunLimits::default`] and change what you need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunLimits {
    /// The most model calls (50).
    pub steps: u32,
    /// The most refused calls of one tool in a row (5).
    pub failures_per_tool: u32,
    /// The most refused calls in all (20).
    pub failures: u32,
    /// The time from the first step on, by the host's clock, in milliseconds (no limit).
    pub wall_ms: Option<u64>,
    /// The most tokens of error texts, estimated at four bytes per token (20,000).
    pub feedback_tokens: u64,
    /// The most empty replies of the model in a row (3).
    pub empty_replies: u32,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            steps: 50,
            failures_per_tool: 5,
            failures: 20,
            wall_ms: None,
            feedback_tokens: 20_000,
            empty_replies: 3,
        }
    }
}

impl RunLimits {
    /// Sets the most model calls.
    #[must_use]
    pub fn steps(mut self, most: u32) -> Self {
        self.steps = most;
        self
    }

    /// Sets the most refused calls of one tool in a row.
    #[must_use]
    pub fn failures_per_tool(mut self, most: u32) -> Self {
        self.failures_per_tool = most;
        self
    }

    /// Sets the most refused calls in all.
    #[must_use]
    pub fn failures(mut self, most: u32) -> Self {
        self.failures = most;
        self
    }

    /// Sets how long the run may take.
    #[must_use]
    pub fn wall_time(mut self, most: Duration) -> Self {
        self.wall_ms = Some(u64::try_from(most.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets the most tokens of error texts.
    #[must_use]
    pub fn feedback_tokens(mut self, most: u64) -> Self {
        self.feedback_tokens = most;
        self
    }

    /// Sets the most empty replies of the model in a row.
    #[must_use]
    pub fn empty_replies(mut self, most: u32) -> Self {
        self.empty_replies = most;
        self
    }
}
