//! The loop as a state machine: it is told what happened and says what to do next. It calls no
//! model, runs no tool and reads no clock, and it can be saved at any step.

mod limits;
mod state;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::time::Duration;

use goodcall_core::StopReason;
use serde::{Deserialize, Serialize};

use crate::doom::{Detector, Escalation, LoopReport, LoopRules};
use crate::explain;
use crate::message::{Call, CallOutcome, Message, Reply};
use crate::wire::{self, ConvertError, Provider};
use state::{MOST_STARTS, Progress, Slot, State};

pub use limits::RunLimits;
pub use step::{HaltReason, Step};

/// One conversation, from the first message to the last word.
///
/// ```
/// use std::time::Duration;
/// use goodcall::{Call, CallOutcome, Reply, Run, Step, ToolResult};
///
/// let mut run = Run::new().system("Be brief.").user("What is the time?");
/// let now = Duration::ZERO; // the host's clock
/// assert!(matches!(run.next(now), Step::CallModel { messages } if messages.len() == 2));
///
/// run.replied(Reply::calls([Call::new("call_1", "clock", "{}")]))?;
/// let saved = serde_json::to_string(&run)?; // before anything is executed
/// run.started("call_1")?;
/// run.executed(CallOutcome::new(&Call::new("call_1", "clock", "{}"), ToolResult::success("noon")))?;
///
/// run.replied(Reply::text("Noon."))?;
/// assert_eq!(run.next(now), Step::Done { text: "Noon." });
///
/// // A host that died before the call was started goes on where it was.
/// let mut run: Run = serde_json::from_str(&saved)?;
/// assert!(matches!(run.next(now), Step::Execute { calls } if calls[0].id == "call_1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    limits: RunLimits,
    detector: Detector,
    history: Vec<Message>,
    state: State,
    /// Every id that was given to a call.
    ids: BTreeSet<String>,
    /// The host's clock at the first step, in milliseconds.
    began_ms: Option<u64>,
    counts: Counts,
    /// The loop that was suspected in the last turn.
    suspicion: Option<LoopReport>,
}

/// What the limits are held against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    steps: u32,
    failures: u32,
    failures_of: BTreeMap<String, u32>,
    feedback_tokens: u64,
    empty_replies: u32,
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

impl Run {
    /// An empty conversation with the default limits.
    pub fn new() -> Self {
        Self {
            limits: RunLimits::default(),
            detector: Detector::default(),
            history: Vec::new(),
            state: State::Model,
            ids: BTreeSet::new(),
            began_ms: None,
            counts: Counts::default(),
            suspicion: None,
        }
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Other thresholds for loops.
    #[must_use]
    pub fn loop_rules(mut self, rules: LoopRules) -> Self {
        self.detector = Detector::new(rules);
        self
    }

    /// Begins with what the model is told about its task.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.history.push(Message::System { text: text.into() });
        self
    }

    /// Begins with a person's words.
    #[must_use]
    pub fn user(mut self, text: impl Into<String>) -> Self {
        self.history.push(Message::User { text: text.into() });
        self
    }

    /// The history: legal at any time, a reply with calls is in it as soon as all have outcomes.
    pub fn messages(&self) -> &[Message] {
        &self.history
    }

    /// The history in a provider's form: a JSON array, legal to send.
    ///
    /// # Errors
    /// If the provider's form cannot say what the messages say.
    pub fn messages_for(&self, provider: Provider) -> Result<String, ConvertError> {
        wire::messages(provider, &self.history)
    }

    /// How often the model was called.
    pub fn steps(&self) -> u32 {
        self.counts.steps
    }

    /// The loop that was suspected in the last turn.
    pub fn suspicion(&self) -> Option<&LoopReport> {
        self.suspicion.as_ref()
    }

    /// Is it over?
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Stopped { .. })
    }

    /// What to do next. `now` is the host's clock: the time since any fixed point, such as the
    /// Unix epoch, that survives a restart.
    pub fn next(&mut self, now: Duration) -> Step<'_> {
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let began_ms = *self.began_ms.get_or_insert(now_ms);
        if let Some(most) = self.limits.wall_ms
            && now_ms.saturating_sub(began_ms) >= most
        {
            self.stop(HaltReason::WallTime(most));
        }
        if matches!(self.state, State::Model) && self.counts.steps >= self.limits.steps {
            self.stop(HaltReason::Steps(self.limits.steps));
        }
        match &self.state {
            State::Model => Step::CallModel {
                messages: &self.history,
            },
            State::Tools { slots, .. } => {
                let waiting = |slot: &&Slot| slot.progress == Progress::Recorded;
                let calls = slots.iter().filter(waiting).map(|slot| &slot.call);
                Step::Execute {
                    calls: calls.collect(),
                }
            }
            State::Asking { why } => Step::AskUser { why },
            State::Done => Step::Done {
                text: self.last_words(),
            },
            State::Stopped { why } => Step::Stopped { why },
        }
    }

    fn last_words(&self) -> &str {
        let words = self.history.iter().rev().find_map(|message| match message {
            Message::Assistant { text, .. } => Some(text.as_str()),
            _ => None,
        });
        words.unwrap_or_default()
    }

    /// The model has replied.
    ///
    /// # Errors
    /// If it was not its turn.
    pub fn replied(&mut self, reply: Reply) -> Result<(), SequenceError> {
        if !matches!(self.state, State::Model) {
            return Err(SequenceError::Reply);
        }
        self.counts.steps += 1;
        self.suspicion = None;
        let Reply {
            text, calls, stop, ..
        } = reply;
        if !calls.is_empty() {
            self.counts.empty_replies = 0;
            let slots = calls.into_iter().map(|call| self.admit(call, stop));
            let slots = slots.map(Slot::new).collect();
            self.state = State::Tools { text, slots };
        } else if text.trim().is_empty() {
            // Nothing to put into the history; the model is called again.
            self.counts.empty_replies += 1;
            if self.counts.empty_replies >= self.limits.empty_replies {
                self.stop(HaltReason::EmptyReplies(self.counts.empty_replies));
            }
        } else {
            let calls = Vec::new();
            self.history.push(Message::Assistant { text, calls });
            self.state = State::Done;
        }
        Ok(())
    }

    /// Makes sure that a call has an id of its own: some providers send none, or one twice.
    fn admit(&mut self, mut call: Call, stop: StopReason) -> Call {
        if call.stop == StopReason::Unknown {
            call.stop = stop;
        }
        if call.id.is_empty() || self.ids.contains(&call.id) {
            let free = (self.ids.len() + 1..)
                .map(|number| format!("call_{number}"))
                .find(|id| !self.ids.contains(id));
            call.id = free.unwrap_or_default();
        }
        self.ids.insert(call.id.clone());
        call
    }

    fn slot(&mut self, id: &str) -> Result<&mut Slot, SequenceError> {
        let State::Tools { slots, .. } = &mut self.state else {
            return Err(SequenceError::Outcome);
        };
        let found = slots.iter_mut().find(|slot| slot.call.id == id);
        found.ok_or_else(|| SequenceError::UnknownCall(id.to_owned()))
    }

    /// A call is about to be executed. Save the run between this and executing it: then a call
    /// that may have run is never taken for one that has not.
    ///
    /// # Errors
    /// If there is no such call, or it was started before.
    pub fn started(&mut self, id: &str) -> Result<(), SequenceError> {
        let slot = self.slot(id)?;
        if slot.progress != Progress::Recorded {
            return Err(SequenceError::Twice(id.to_owned()));
        }
        slot.progress = Progress::Started;
        slot.starts += 1;
        Ok(())
    }

    /// A call has an outcome. With the last one of a turn, the turn joins the history.
    ///
    /// # Errors
    /// If there is no such call, or it has an outcome already.
    pub fn executed(&mut self, outcome: CallOutcome) -> Result<(), SequenceError> {
        let slot = self.slot(&outcome.call_id)?;
        if slot.is_executed() {
            return Err(SequenceError::Twice(outcome.call_id));
        }
        slot.progress = Progress::Executed(Box::new(outcome));
        if let State::Tools { slots, .. } = &self.state
            && slots.iter().all(Slot::is_executed)
        {
            self.settle();
        }
        Ok(())
    }

    /// Goes on after a restart: calls that were started and have no outcome may have run. Those
    /// that `repeatable` names are made again, up to three times; of the others the model is told that nobody knows.
    pub fn resume(&mut self, repeatable: impl Fn(&Call) -> bool) {
        let State::Tools { slots, .. } = &mut self.state else {
            return;
        };
        for slot in slots.iter_mut() {
            if slot.progress != Progress::Started {
                continue;
            }
            if slot.starts < MOST_STARTS && repeatable(&slot.call) {
                slot.progress = Progress::Recorded;
            } else {
                slot.give_up();
            }
        }
        if slots.iter().all(Slot::is_executed) {
            self.settle();
        }
    }

    /// The user has answered.
    ///
    /// # Errors
    /// If nothing was asked.
    pub fn answered(&mut self, text: impl Into<String>) -> Result<(), SequenceError> {
        if !matches!(self.state, State::Asking { .. }) {
            return Err(SequenceError::Answer);
        }
        self.history.push(Message::User { text: text.into() });
        self.detector.reset(false);
        self.state = State::Model;
        Ok(())
    }

    /// The user goes on after the last word: a new task, with all limits fresh but the total of
    /// refused calls, the time and the feedback.
    ///
    /// # Errors
    /// If the run is not done.
    pub fn say(&mut self, text: impl Into<String>) -> Result<(), SequenceError> {
        if self.state != State::Done {
            return Err(SequenceError::Answer);
        }
        self.history.push(Message::User { text: text.into() });
        self.detector.reset(true);
        self.counts.steps = 0;
        self.counts.failures_of.clear();
        self.state = State::Model;
        Ok(())
    }

    /// Ends the run. Calls without an outcome get one that says so.
    pub fn stop(&mut self, why: HaltReason) {
        if self.is_over() {
            return;
        }
        if let State::Tools { slots, .. } = &mut self.state {
            slots.iter_mut().for_each(Slot::give_up);
            let (text, turn) = self.take_turn();
            self.record(text, turn);
        }
        self.state = State::Stopped { why };
    }

    /// The reply that is being executed, out of the state.
    fn take_turn(&mut self) -> (String, Vec<(Call, CallOutcome)>) {
        match std::mem::replace(&mut self.state, State::Model) {
            State::Tools { text, slots } => {
                (text, slots.into_iter().map(Slot::into_parts).collect())
            }
            _ => Default::default(),
        }
    }

    fn record(&mut self, text: String, turn: Vec<(Call, CallOutcome)>) {
        let (calls, outcomes) = turn.into_iter().unzip();
        self.history.push(Message::Assistant { text, calls });
        self.history.push(Message::Tools { outcomes });
    }

    /// Every call of the turn has an outcome: look for loops, hold the limits, go on.
    fn settle(&mut self) {
        let (text, mut turn) = self.take_turn();
        let suspicion = self.detector.observe(&turn);
        if let Some(suspicion) = &suspicion {
            let about = turn
                .iter_mut()
                .find(|(call, _)| call.id == suspicion.call_id);
            if let Some((_, outcome)) = about {
                outcome.steer = Some(explain::steer(suspicion));
            }
        }
        let over = self.count(&turn);
        self.record(text, turn);
        self.suspicion.clone_from(&suspicion);
        match (over, suspicion) {
            (_, Some(loops)) if loops.rung == Escalation::Stop => {
                self.stop(HaltReason::Loop(loops))
            }
            (Some(why), _) => self.stop(why),
            (None, Some(loops)) if loops.rung == Escalation::Ask => {
                let why = HaltReason::Loop(loops);
                self.state = State::Asking { why };
            }
            _ => {}
        }
    }

    /// Counts what the limits are about; the limit that is reached, if any.
    fn count(&mut self, turn: &[(Call, CallOutcome)]) -> Option<HaltReason> {
        let (counts, limits) = (&mut self.counts, &self.limits);
        let mut over = None;
        for (call, outcome) in turn {
            let Some(class) = outcome.class() else {
                counts.failures_of.remove(&call.name);
                continue;
            };
            let bytes = u64::try_from(outcome.text().len()).unwrap_or(u64::MAX);
            counts.feedback_tokens = counts.feedback_tokens.saturating_add(bytes.div_ceil(4));
            if !class.is_refusal() {
                counts.failures_of.remove(&call.name);
                continue;
            }
            counts.failures += 1;
            let of_tool = counts.failures_of.entry(call.name.clone()).or_default();
            *of_tool += 1;
            if *of_tool >= limits.failures_per_tool {
                over = Some(HaltReason::FailuresOfTool {
                    tool: call.name.clone(),
                    most: limits.failures_per_tool,
                });
            }
        }
        if counts.failures >= limits.failures {
            over = over.or(Some(HaltReason::Failures(limits.failures)));
        }
        if counts.feedback_tokens > limits.feedback_tokens {
            over = over.or(Some(HaltReason::Feedback(limits.feedback_tokens)));
        }
        over
    }
}

/// Something was handed to a [`Run`] that it had not asked for; the run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceError {
    /// A reply, where no model was to be called.
    Reply,
    /// An outcome, where no call was to be executed.
    Outcome,
    /// An answer, where nothing was asked.
    Answer,
    /// The outcome of a call that the run does not know.
    UnknownCall(String),
    /// A second start or outcome of one call.
    Twice(String),
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceError::Reply => f.write_str("a reply came where no model was to be called"),
            SequenceError::Outcome => {
                f.write_str("an outcome came where no call was to be executed")
            }
            SequenceError::Answer => f.write_str("an answer came where nothing was asked"),
            SequenceError::UnknownCall(id) => write!(f, "there is no call `{id}` to be executed"),
            SequenceError::Twice(id) => write!(f, "the call `{id}` was started or executed before"),
        }
    }
}

impl Error for SequenceError {}
