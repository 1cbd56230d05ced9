//! The thresholds of the loop detector, and its escalation.

use serde::{Deserialize, Serialize};

use super::Escalation;
use crate::ErrorClass;

/// When a loop is suspected, and what is done about it. A false alarm is worse than a loop that is
/// found one turn later, so raise a threshold rather than lower it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoopRules {
    /// The number of equal calls with equal results in a row (3).
    pub same_call: usize,
    /// The same for calls that end in a runtime error, which may be made again (5).
    pub retries: usize,
    /// The number of repetitions of a cycle (3).
    pub cycle_repeats: usize,
    /// The length of the longest cycle that is looked for (5).
    pub longest_cycle: usize,
    /// The number of equal mistakes in the arguments of a tool in a row (2).
    pub same_failure: usize,
    /// The number of equal errors of a tool with different arguments in a row (4).
    pub same_error: usize,
    /// The number of turns in a row without the arguments that are needed (3).
    pub empty_arguments: usize,
    /// How many times the model is told before the user is asked (1).
    pub steers: u32,
    /// How many times the user is asked before the run stops (1); 0 if nobody can be asked.
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
    /// The measure for this many reports without progress.
    pub(super) fn escalation(&self, level: u32) -> Escalation {
        if level <= self.steers {
            Escalation::Steer
        } else if level - self.steers <= self.asks {
            Escalation::Ask
        } else {
            Escalation::Stop
        }
    }

    /// The number of equal calls in a row that are a loop, if they end in this error.
    pub(super) fn in_a_row(&self, class: Option<ErrorClass>) -> usize {
        match class {
            Some(ErrorClass::Runtime) => self.retries.max(2),
            _ => self.same_call.max(2),
        }
    }

    /// The number of calls to remember.
    pub(super) fn window(&self) -> usize {
        let cycle = self.longest_cycle.saturating_mul(self.cycle_repeats.max(2));
        cycle.max(self.retries).max(self.same_call).clamp(2, 1000)
    }
}
