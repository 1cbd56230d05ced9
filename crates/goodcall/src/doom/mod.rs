//! Doom loops: one detector, five signals, a ladder.
//!
//! It looks at whole turns. Calls that a model makes side by side in one reply cannot have learned
//! from each other, so equal ones count once. It looks at results too: where the result changes,
//! there is progress. And it belongs to one run: it is saved and loaded with it.

mod canonical;
mod memory;
mod rules;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::message::{Call, CallOutcome};
use memory::{Seen, ToolMemory, is_empty};

pub use rules::LoopRules;

/// What looks like a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// The same call with the same result, in a row.
    SameCall,
    /// A few calls in a circle, with the same results.
    Cycle,
    /// The same mistake in the arguments, in a row.
    SameFailure,
    /// The same error, whatever the arguments.
    SameError,
    /// Calls without arguments, in a row.
    EmptyArguments,
}

impl Signal {
    /// The name in events and records.
    pub const fn name(self) -> &'static str {
        match self {
            Signal::SameCall => "same_call",
            Signal::Cycle => "cycle",
            Signal::SameFailure => "same_failure",
            Signal::SameError => "same_error",
            Signal::EmptyArguments => "empty_arguments",
        }
    }
}

/// What is done about a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Escalation {
    /// The model is told differently.
    Steer,
    /// The user is asked.
    Ask,
    /// The run stops.
    Stop,
}

/// A loop that is suspected, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopReport {
    /// What it looks like.
    pub signal: Signal,
    /// What is done about it.
    pub rung: Escalation,
    /// The so-manieth suspicion since there was progress.
    pub level: u32,
    /// The tools that take part, in order.
    pub tools: Vec<String>,
    /// How often it was seen.
    pub times: usize,
    /// The call that gave rise to it.
    pub call_id: String,
    /// Where the mistake is, where it is a mistake in the arguments.
    pub detail: Option<String>,
}

impl LoopReport {
    /// What the model is told: what it did, and what to do instead. For hosts that have no
    /// [`Run`](crate::Run), which tells it by itself.
    pub fn text(&self) -> String {
        crate::explain::steer(self)
    }
}

/// Looks for loops in the turns of one run.
///
/// ```
/// use goodcall::{Call, Detector, LoopRules, CallOutcome, Signal, ToolResult};
///
/// let mut detector = Detector::new(LoopRules::default());
/// let turn = |id: &str, result: &str| {
///     let call = Call::new(id, "status", r#"{"job": 7}"#);
///     let outcome = CallOutcome::new(&call, ToolResult::success(result));
///     vec![(call, outcome)]
/// };
/// // Polling: the result changes.
/// for percent in ["10 %", "20 %", "30 %", "40 %"] {
///     assert!(detector.observe(&turn("a", percent)).is_none());
/// }
/// // A loop: it does not.
/// assert!(detector.observe(&turn("b", "40 %")).is_none());
/// let suspicion = detector.observe(&turn("c", "40 %")).unwrap();
/// assert_eq!(suspicion.signal, Signal::SameCall);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    rules: LoopRules,
    /// The last calls, oldest first: as many as the longest cycle needs.
    window: VecDeque<Seen>,
    tools: BTreeMap<String, ToolMemory>,
    /// Turns in a row whose calls came without arguments and were refused.
    empty: usize,
    /// Suspicions since there was progress.
    level: u32,
    /// Calls until a cycle that was told of may be told of again.
    quiet: usize,
}

/// A signal before a rung is chosen for it.
struct Found {
    signal: Signal,
    tools: Vec<String>,
    times: usize,
    call_id: String,
    detail: Option<String>,
}

impl Detector {
    /// A detector with these thresholds.
    pub fn new(rules: LoopRules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// Looks at the calls of one turn with their outcomes, in order.
    pub fn observe(&mut self, turn: &[(Call, CallOutcome)]) -> Option<LoopReport> {
        let mut found = self.empty_arguments(turn);
        let failure = self.same_failure(turn);
        let error = self.same_error(turn);
        let (call, progress) = self.same_calls(turn);
        found = found.or(failure).or(call).or(error);
        if progress {
            self.level = 0;
        }
        let found = found?;
        self.level += 1;
        Some(LoopReport {
            signal: found.signal,
            rung: self.rules.rung(self.level),
            level: self.level,
            tools: found.tools,
            times: found.times,
            call_id: found.call_id,
            detail: found.detail,
        })
    }

    /// Somebody has said something new: what was before is no part of a loop. The ladder is kept,
    /// unless `forgive` says otherwise.
    pub fn reset(&mut self, forgive: bool) {
        self.window.clear();
        self.tools.clear();
        self.empty = 0;
        self.quiet = 0;
        if forgive {
            self.level = 0;
        }
    }

    /// Calls without arguments that were refused, turn after turn.
    fn empty_arguments(&mut self, turn: &[(Call, CallOutcome)]) -> Option<Found> {
        let refused = |(call, outcome): &&(Call, CallOutcome)| {
            is_empty(&call.arguments) && memory::is_refused(outcome)
        };
        let Some((call, _)) = turn.iter().rfind(refused) else {
            if !turn.is_empty() {
                self.empty = 0;
            }
            return None;
        };
        self.empty += 1;
        (self.empty >= self.rules.empty_arguments).then(|| Found {
            signal: Signal::EmptyArguments,
            tools: vec![call.name.clone()],
            times: self.empty,
            call_id: call.id.clone(),
            detail: None,
        })
    }

    /// The same mistake of the same tool, turn after turn.
    fn same_failure(&mut self, turn: &[(Call, CallOutcome)]) -> Option<Found> {
        let mut found = None;
        for (at, (call, _)) in turn.iter().enumerate() {
            if turn[..at]
                .iter()
                .any(|(before, _)| before.name == call.name)
            {
                continue;
            }
            let of_tool = turn.iter().filter(|(other, _)| other.name == call.name);
            let outcomes: Vec<_> = of_tool.map(|(_, outcome)| outcome).collect();
            let memory = self.tools.entry(call.name.clone()).or_default();
            if let Some((fault, times)) = memory.failures(&outcomes)
                && times >= self.rules.same_failure
            {
                let last = outcomes.iter().rfind(|outcome| memory::is_refused(outcome));
                found = Some(Found {
                    signal: Signal::SameFailure,
                    tools: vec![call.name.clone()],
                    times,
                    call_id: last.map_or(&call.id, |last| &last.call_id).clone(),
                    detail: Some(memory::place(&fault)),
                });
            }
        }
        found
    }

    /// The same error of the same tool with other arguments, turn after turn.
    fn same_error(&mut self, turn: &[(Call, CallOutcome)]) -> Option<Found> {
        let mut found = None;
        for (at, (call, outcome)) in turn.iter().enumerate() {
            // Of calls side by side the last one speaks for its tool.
            if turn[at + 1..]
                .iter()
                .any(|(after, _)| after.name == call.name)
            {
                continue;
            }
            let Some(key) = memory::key(call, outcome) else {
                continue;
            };
            let memory = self.tools.entry(call.name.clone()).or_default();
            let times = memory.errors(outcome, key);
            if times >= self.rules.same_error {
                found = Some(Found {
                    signal: Signal::SameError,
                    tools: vec![call.name.clone()],
                    times,
                    call_id: call.id.clone(),
                    detail: None,
                });
            }
        }
        found
    }

    /// Equal calls with equal results, in a row or in a circle; and whether there was progress.
    fn same_calls(&mut self, turn: &[(Call, CallOutcome)]) -> (Option<Found>, bool) {
        let (mut found, mut progress) = (None, false);
        let mut of_turn: Vec<Seen> = Vec::new();
        for (call, outcome) in turn {
            let Some(key) = memory::key(call, outcome) else {
                progress |= outcome.is_ok();
                continue;
            };
            let seen = Seen::new(call, outcome, key);
            if of_turn.contains(&seen) {
                continue;
            }
            of_turn.push(seen.clone());
            progress |= outcome.is_ok() && !self.window.contains(&seen);
            self.window.push_back(seen);
            while self.window.len() > self.rules.window() {
                self.window.pop_front();
            }
            self.quiet = self.quiet.saturating_sub(1);
            let here = self.in_a_row(outcome).or_else(|| self.cycle(outcome));
            found = here.or(found);
        }
        (found, progress)
    }

    fn in_a_row(&self, outcome: &CallOutcome) -> Option<Found> {
        let last = self.window.back()?;
        let times = self
            .window
            .iter()
            .rev()
            .take_while(|seen| *seen == last)
            .count();
        (times >= self.rules.in_a_row(outcome.class())).then(|| Found {
            signal: Signal::SameCall,
            tools: vec![last.tool.clone()],
            times,
            call_id: outcome.call_id.clone(),
            detail: None,
        })
    }

    fn cycle(&mut self, outcome: &CallOutcome) -> Option<Found> {
        if self.quiet > 0 {
            return None;
        }
        let repeats = self.rules.cycle_repeats.max(2);
        let seen = &self.window;
        let period = (2..=self.rules.longest_cycle).find(|period| {
            let needed = period * repeats;
            let Some(start) = seen.len().checked_sub(needed) else {
                return false;
            };
            let turns = (start + period..seen.len()).all(|at| seen[at] == seen[at - period]);
            turns && (start + 1..start + period).any(|at| seen[at] != seen[start])
        })?;
        let tools = seen
            .range(seen.len() - period..)
            .map(|seen| seen.tool.clone());
        let tools = tools.collect();
        self.quiet = period;
        Some(Found {
            signal: Signal::Cycle,
            tools,
            times: repeats,
            call_id: outcome.call_id.clone(),
            detail: None,
        })
    }
}
