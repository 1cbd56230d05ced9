//! Detects doom loops: a model that makes the same calls again and again.
//!
//! The detector compares whole turns. Calls of one reply cannot have learned from each other, so
//! equal ones count once. It also compares results: a result that changes is progress. It belongs to
//! one run and is saved and loaded with it.

mod canonical_json;
mod history;
mod memory;
mod thresholds;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::message::{Call, CallOutcome};
use memory::{CallFingerprint, ToolMemory, is_empty};

pub use history::loop_in_history;
pub use thresholds::LoopRules;

/// The pattern by which a loop was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// The same call with the same result, in a row.
    SameCall,
    /// A few calls in turn, repeatedly, with the same results.
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

/// The measure that is taken against a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Escalation {
    /// The model gets a different text.
    Steer,
    /// The user is asked.
    Ask,
    /// The run stops.
    Stop,
}

/// A suspected loop, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopReport {
    /// The pattern by which it was found.
    pub signal: Signal,
    /// The measure that is taken.
    pub escalation: Escalation,
    /// The number of reports since there was progress, this one included.
    pub level: u32,
    /// The tools that take part, in order.
    pub tools: Vec<String>,
    /// How many times the pattern was seen.
    pub times: usize,
    /// The id of the call that completed the pattern.
    pub call_id: String,
    /// The place and kind of a repeated mistake in the arguments.
    pub detail: Option<String>,
}

impl LoopReport {
    /// Returns the text for the model: what it did, and what to do instead. A [`Run`](crate::Run)
    /// passes it on by itself; other hosts have to.
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
/// let report = detector.observe(&turn("c", "40 %")).unwrap();
/// assert_eq!(report.signal, Signal::SameCall);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    rules: LoopRules,
    /// The last calls, oldest first: as many as the longest cycle needs.
    window: VecDeque<CallFingerprint>,
    tools: BTreeMap<String, ToolMemory>,
    /// Turns in a row whose calls came without arguments and were refused.
    empty: usize,
    /// The number of reports since there was progress.
    level: u32,
    /// The number of steps of escalation since there was progress.
    #[serde(default)]
    escalated: u32,
    /// The number of calls until a reported cycle may be reported again.
    quiet: usize,
}

/// A signal before an escalation is chosen for it.
struct LoopEvidence {
    signal: Signal,
    tools: Vec<String>,
    times: usize,
    call_id: String,
    detail: Option<String>,
}

impl Detector {
    /// Returns a detector with these thresholds.
    pub fn new(rules: LoopRules) -> Self {
        Self {
            rules,
            ..Self::default()
        }
    }

    /// Takes in the calls of one turn with their outcomes, and reports a loop if there is one.
    pub fn observe(&mut self, turn: &[(Call, CallOutcome)]) -> Option<LoopReport> {
        let mut found = self.empty_arguments(turn);
        let failure = self.same_failure(turn);
        let error = self.same_error(turn);
        let (call, progress) = self.same_calls(turn);
        found = found.or(failure).or(call).or(error);
        if progress {
            (self.level, self.escalated) = (0, 0);
        }
        let found = found?;
        self.level += 1;
        self.escalated = self
            .rules
            .escalated(self.escalated, found.signal, found.times);
        Some(LoopReport {
            signal: found.signal,
            escalation: self.rules.escalation(self.escalated),
            level: self.level,
            tools: found.tools,
            times: found.times,
            call_id: found.call_id,
            detail: found.detail,
        })
    }

    /// Forgets the calls so far, because the user has said something new. The level of escalation
    /// is kept.
    pub fn reset(&mut self) {
        self.window.clear();
        self.tools.clear();
        self.empty = 0;
        self.quiet = 0;
    }

    /// Forgets the calls so far and the level of escalation, because a new task begins.
    pub fn reset_all(&mut self) {
        self.reset();
        (self.level, self.escalated) = (0, 0);
    }

    /// Finds refused calls without arguments, turn after turn.
    fn empty_arguments(&mut self, turn: &[(Call, CallOutcome)]) -> Option<LoopEvidence> {
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
        (self.empty >= self.rules.empty_arguments).then(|| LoopEvidence {
            signal: Signal::EmptyArguments,
            tools: vec![call.name.clone()],
            times: self.empty,
            call_id: call.id.clone(),
            detail: None,
        })
    }

    /// Finds the same mistake in calls of one tool, turn after turn.
    fn same_failure(&mut self, turn: &[(Call, CallOutcome)]) -> Option<LoopEvidence> {
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
                found = Some(LoopEvidence {
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

    /// Finds the same error of one tool with changing arguments, turn after turn.
    fn same_error(&mut self, turn: &[(Call, CallOutcome)]) -> Option<LoopEvidence> {
        let mut found = None;
        for (at, (call, outcome)) in turn.iter().enumerate() {
            // Of several calls of a tool in one turn, the last one counts.
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
                found = Some(LoopEvidence {
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

    /// Finds equal calls with equal results, in a row or in a cycle, and whether there was progress.
    fn same_calls(&mut self, turn: &[(Call, CallOutcome)]) -> (Option<LoopEvidence>, bool) {
        let (mut found, mut progress) = (None, false);
        let mut of_turn: Vec<CallFingerprint> = Vec::new();
        for (call, outcome) in turn {
            let Some(key) = memory::key(call, outcome) else {
                progress |= outcome.is_ok();
                continue;
            };
            let seen = CallFingerprint::new(call, outcome, key);
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

    fn in_a_row(&self, outcome: &CallOutcome) -> Option<LoopEvidence> {
        let last = self.window.back()?;
        let times = self
            .window
            .iter()
            .rev()
            .take_while(|seen| *seen == last)
            .count();
        (times >= self.rules.in_a_row(outcome.class())).then(|| LoopEvidence {
            signal: Signal::SameCall,
            tools: vec![last.tool.clone()],
            times,
            call_id: outcome.call_id.clone(),
            detail: None,
        })
    }

    fn cycle(&mut self, outcome: &CallOutcome) -> Option<LoopEvidence> {
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
        Some(LoopEvidence {
            signal: Signal::Cycle,
            tools,
            times: repeats,
            call_id: outcome.call_id.clone(),
            detail: None,
        })
    }
}
