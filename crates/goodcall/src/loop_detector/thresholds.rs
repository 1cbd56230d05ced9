//! The thresholds of the loop detector, and its escalation.

use serde::{Deserialize, Serialize};

use super::{Escalation, Signal};
use crate::ErrorClass;

/// When a loop is suspected, and what is done about it. A false alarm is worse than a loop that is
/// found one turn later, so raise a threshold rather than lower it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoopRules {
    /// The number of equal calls with equal results in a row (3).
    pub same_call: usize,
    /// The same for calls that end in a runtime error, which may be made again once (2).
    pub retries: usize,
    /// The number of equal calls with equal results in a row at which the user is asked, whatever
    /// the model was told before (3).
    pub ask_at: usize,
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
            retries: 2,
            ask_at: 3,
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

macro_rules! setters {
    ($($name:ident: $ty:ty, $doc:literal;)*) => {
        impl LoopRules {
            $(
                #[doc = $doc]
                #[must_use]
                pub fn $name(mut self, count: $ty) -> Self {
                    self.$name = count;
                    self
                }
            )*
        }
    };
}

setters! {
    same_call: usize, "Sets how many equal calls with equal results in a row are a loop.";
    retries: usize, "Sets the same for calls that end in a runtime error.";
    ask_at: usize, "Sets after how many equal calls the user is asked at the latest.";
    cycle_repeats: usize, "Sets how many repetitions of a cycle are a loop.";
    longest_cycle: usize, "Sets the length of the longest cycle that is looked for.";
    same_failure: usize, "Sets how many equal mistakes in a row are a loop.";
    same_error: usize, "Sets how many equal errors with different arguments in a row are a loop.";
    empty_arguments: usize, "Sets how many turns in a row without arguments are a loop.";
    steers: u32, "Sets how many times the model is told before the user is asked.";
    asks: u32, "Sets how many times the user is asked before the run stops.";
}

impl LoopRules {
    /// The steps of escalation with one more report. The user is asked at the latest when one call
    /// was made `ask_at` times.
    pub(super) fn escalated(&self, before: u32, signal: Signal, times: usize) -> u32 {
        let asks = signal == Signal::SameCall && times >= self.ask_at && self.asks > 0;
        if asks {
            (before + 1).max(self.steers + 1)
        } else {
            before + 1
        }
    }

    /// The measure after these steps.
    pub(super) fn escalation(&self, steps: u32) -> Escalation {
        if steps <= self.steers {
            Escalation::Steer
        } else if steps - self.steers <= self.asks {
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
