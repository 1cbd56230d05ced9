//! The limits of a run, in one place.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one run. Start from [`RunLimits::default`] and change what you need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunLimits {
    /// Calls of the model (50).
    pub steps: u32,
    /// Calls of one tool in a row with arguments that were refused (5).
    pub failures_per_tool: u32,
    /// Refused calls in all (20).
    pub failures: u32,
    /// Time from the first step on, by the host's clock, in milliseconds. Default: without end.
    pub wall_ms: Option<u64>,
    /// Tokens of error texts, estimated at four bytes a token (20,000).
    pub feedback_tokens: u64,
    /// Empty replies of the model in a row (3).
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
    /// At most so many calls of the model.
    #[must_use]
    pub fn steps(mut self, most: u32) -> Self {
        self.steps = most;
        self
    }

    /// At most so many refused calls of one tool in a row.
    #[must_use]
    pub fn failures_per_tool(mut self, most: u32) -> Self {
        self.failures_per_tool = most;
        self
    }

    /// At most so many refused calls in all.
    #[must_use]
    pub fn failures(mut self, most: u32) -> Self {
        self.failures = most;
        self
    }

    /// At most this long.
    #[must_use]
    pub fn wall_time(mut self, most: Duration) -> Self {
        self.wall_ms = Some(u64::try_from(most.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// At most so many tokens of error texts.
    #[must_use]
    pub fn feedback_tokens(mut self, most: u64) -> Self {
        self.feedback_tokens = most;
        self
    }
}
