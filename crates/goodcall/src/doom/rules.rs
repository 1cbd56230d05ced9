//! Thresholds and the ladder.

use serde::{Deserialize, Serialize};

use super::Escalation;
use crate::ErrorClass;

/// When a loop is suspected, and what is done about it. A false alarm is worse than a missed turn:
/// raise a threshold rather than lower it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoopRules {
    /// The same call with the same result, in a row (3).
    pub same_call: usize,
    /// The same, where the result is a runtime error: such a call may be made again (5).
    pub retries: usize,
    /// A circle, so often (3).
    pub cycle_repeats: usize,
    /// The longest circle that is looked for (5).
    pub longest_cycle: usize,
    /// The same mistake in the arguments of a tool, in a row (2).
    pub same_failure: usize,
    /// The same error of a tool with other arguments, in a row (4).
    pub same_error: usize,
    /// Turns without arguments where some are needed, in a row (3).
    pub empty_arguments: usize,
    /// How often the model is told before the user is asked (1).
    pub steers: u32,
    /// How often the user is asked before the run stops (1). 0 where nobody can be asked.
    pub asks: u32,
}

impl Default for LoopRules {
    fn default() -> Self {
        Self {
            same_call: 3,
            retries: 5,
            cycle_repeats: 3,
            longest_cycle: 5,
            same_failure: 2,
            same_error: 4,
            empty_arguments: 3,
            steers: 1,
            asks: 1,
        }
    }
}

impl LoopRules {
    /// The rung for the so-manieth suspicion without progress.
    pub(super) fn rung(&self, level: u32) -> Escalation {
        if level <= self.steers {
            Escalation::Steer
        } else if level - self.steers <= self.asks {
            Escalation::Ask
        } else {
            Escalation::Stop
        }
    }

    /// How many equal calls in a row are a loop, if this is what they end in.
    pub(super) fn in_a_row(&self, class: Option<ErrorClass>) -> usize {
        match class {
            Some(ErrorClass::Runtime) => self.retries.max(2),
            _ => self.same_call.max(2),
        }
    }

    /// Calls to remember.
    pub(super) fn window(&self) -> usize {
        let cycle = self.longest_cycle.saturating_mul(self.cycle_repeats.max(2));
        cycle.max(self.retries).max(self.same_call).clamp(2, 1000)
    }
}
