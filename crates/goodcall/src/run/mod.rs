//! The agent loop as a state machine: the host reports what happened and asks what to do next. It
//! calls no model, runs no tool and reads no clock, and it can be saved at any step.

mod limits;
mod state;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::time::Duration;

use goodcall_core::StopReason;
use serde::{Deserialize, Serialize};

use crate::explain;
use crate::loop_detector::{Detector, Escalation, LoopReport, LoopRules};
use crate::message::{AssistantMessage, Call, CallOutcome, Message, Reply, UserMessage};
use crate::wire::{self, ConvertError, Provider};
use state::{MOST_STARTS, Progress, RunCall, RunState};

pub use limits::RunLimits;
pub use step::{HaltReason, Step};

/// One conversation, from the first message to the final answer.
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
/// // A host that died before the call was started continues where it was.
/// let mut run: Run = serde_json::from_str(&saved)?;
/// assert!(matches!(run.next(now), Step::Execute { calls } if calls[0].id == "call_1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    limits: RunLimits,
    detector: Detector,
    history: Vec<Message>,
    state: RunState,
    /// The ids of all calls.
    ids: BTreeSet<String>,
    /// The host's clock at the first step, in milliseconds.
    began_ms: Option<u64>,
    counts: RunCounts,
    /// The loop that was found in the last turn.
    loop_report: Option<LoopReport>,
}

/// The counts that are compared with the limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct RunCounts {
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
    /// Returns an empty conversation with the default limits.
    pub fn new() -> Self {
        Self {
            limits: RunLimits::default(),
            detector: Detector::default(),
            history: Vec::new(),
            state: RunState::Model,
            ids: BTreeSet::new(),
            began_ms: None,
            counts: RunCounts::default(),
            loop_report: None,
        }
    }

    /// Continues a conversation that another program has had. Its last reply may have calls that are
    /// not executed yet; they are executed first.
    ///
    /// ```
    /// use goodcall::{Message, Run};
    ///
    /// let before = [Message::user("What is 1 + 2?"), Message::assistant("3.")];
    /// let mut run = Run::from_messages(before)?;
    /// run.say("And 2 + 2?")?;
    /// assert_eq!(run.messages().len(), 3);
    /// # Ok::<(), goodcall::SequenceError>(())
    /// ```
    ///
    /// # Errors
    /// If outcomes do not answer the calls of the reply before them, or calls have no outcomes and
    /// are not the last.
    pub fn from_messages(
        messages: impl IntoIterator<Item = Message>,
    ) -> Result<Self, SequenceError> {
        let mut run = Self::new();
        for message in messages {
            run.take(message)?;
        }
        Ok(run)
    }

    /// Takes in a message of an earlier conversation.
    fn take(&mut self, message: Message) -> Result<(), SequenceError> {
        match (message, &self.state) {
            (Message::Tools { outcomes }, RunState::Tools { .. }) => {
                for outcome in outcomes {
                    self.executed(outcome)?;
                }
                // The model sees old calls, but they are no loop of this run.
                self.detector.reset_all();
                self.counts = RunCounts::default();
                self.state = match std::mem::replace(&mut self.state, RunState::Model) {
                    pending @ RunState::Tools { .. } => pending,
                    _ => RunState::Model,
                };
            }
            (Message::Tools { .. }, _) => return Err(SequenceError::Outcome),
            (_, RunState::Tools { .. }) => return Err(SequenceError::Reply),
            (Message::Assistant(mut reply), _) => {
                let calls = std::mem::take(&mut reply.calls);
                if calls.is_empty() {
                    self.history.push(Message::Assistant(reply));
                    self.state = RunState::Done;
                    return Ok(());
                }
                let calls = calls.into_iter();
                let calls = calls.map(|call| self.admit(call, StopReason::Unknown));
                let pending = calls.map(RunCall::new).collect();
                self.state = RunState::Tools { reply, pending };
            }
            (message, _) => {
                self.history.push(message);
                self.state = RunState::Model;
            }
        }
        Ok(())
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the thresholds for loops.
    #[must_use]
    pub fn loop_rules(mut self, rules: LoopRules) -> Self {
        self.detector = Detector::new(rules);
        self
    }

    /// Adds a system message at the beginning.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.history.push(Message::system(text));
        self
    }

    /// Adds a message of the user at the beginning.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.user_message(UserMessage::new(text))
    }

    /// Adds a message of the user, with images, at the beginning.
    #[must_use]
    pub fn user_message(mut self, message: UserMessage) -> Self {
        self.history.push(Message::User(message));
        self
    }

    /// The history, which is always valid: a reply with calls joins it once all have outcomes.
    pub fn messages(&self) -> &[Message] {
        &self.history
    }

    /// Returns the history in a provider's form: a JSON array that the provider accepts.
    ///
    /// # Errors
    /// If the provider's form cannot express the messages.
    pub fn messages_for(&self, provider: Provider) -> Result<String, ConvertError> {
        wire::messages(provider, &self.history)
    }

    /// The number of model calls.
    pub fn steps(&self) -> u32 {
        self.counts.steps
    }

    /// The loop that was found in the last turn, if any.
    pub fn loop_report(&self) -> Option<&LoopReport> {
        self.loop_report.as_ref()
    }

    /// Returns true if the run is done or stopped.
    pub fn is_over(&self) -> bool {
        matches!(self.state, RunState::Done | RunState::Stopped { .. })
    }

    /// Returns what to do next. `now` is the time since a fixed point that survives a restart, such
    /// as the Unix epoch.
    pub fn next(&mut self, now: Duration) -> Step<'_> {
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let began_ms = *self.began_ms.get_or_insert(now_ms);
        if let Some(most) = self.limits.wall_ms
            && now_ms.saturating_sub(began_ms) >= most
        {
            self.stop(HaltReason::WallTime(most));
        }
        if matches!(self.state, RunState::Model) && self.counts.steps >= self.limits.steps {
            self.stop(HaltReason::Steps(self.limits.steps));
        }
        match &self.state {
            RunState::Model => Step::CallModel {
                messages: &self.history,
            },
            RunState::Tools { pending, .. } => {
                let waiting = |slot: &&RunCall| slot.progress == Progress::Recorded;
                let calls = pending.iter().filter(waiting).map(|slot| &slot.call);
                Step::Execute {
                    calls: calls.collect(),
                }
            }
            RunState::Asking { reason } => Step::AskUser { reason },
            RunState::Done => Step::Done {
                text: self.last_words(),
            },
            RunState::Stopped { reason } => Step::Stopped { reason },
        }
    }

    fn last_words(&self) -> &str {
        let words = self.history.iter().rev().find_map(|message| match message {
            Message::Assistant(reply) => Some(reply.text.as_str()),
            _ => None,
        });
        words.unwrap_or_default()
    }

    /// Reports the reply of the model.
    ///
    /// # Errors
    /// If the model was not to be called.
    pub fn replied(&mut self, reply: Reply) -> Result<(), SequenceError> {
        if !matches!(self.state, RunState::Model) {
            return Err(SequenceError::Reply);
        }
        self.counts.steps += 1;
        self.loop_report = None;
        let Reply {
            text,
            calls,
            reasoning,
            stop,
            ..
        } = reply;
        let mut reply = AssistantMessage::default();
        (reply.text, reply.reasoning) = (text, reasoning);
        if !calls.is_empty() {
            self.counts.empty_replies = 0;
            let pending = calls.into_iter().map(|call| self.admit(call, stop));
            let pending = pending.map(RunCall::new).collect();
            self.state = RunState::Tools { reply, pending };
        } else if reply.text.trim().is_empty() {
            // The reply does not join the history, and the model is called again.
            self.counts.empty_replies += 1;
            if self.counts.empty_replies >= self.limits.empty_replies {
                self.stop(HaltReason::EmptyReplies(self.counts.empty_replies));
            }
        } else {
            self.history.push(Message::Assistant(reply));
            self.state = RunState::Done;
        }
        Ok(())
    }

    /// Gives a call an id of its own, because some providers send none or the same one twice.
    fn admit(&mut self, mut call: Call, stop: StopReason) -> Call {
        if call.stop == StopReason::Unknown {
            call.stop = stop;
        }
        if call.id.is_empty() || self.ids.contains(&call.id) {
            let free = (self.ids.len() + 1..)
                .map(|number| format!("call_{number}"))
                .find(|id| !self.ids.contains(id));
            call.id = free.expect("there are more numbers than ids");
        }
        self.ids.insert(call.id.clone());
        call
    }

    fn slot(&mut self, id: &str) -> Result<&mut RunCall, SequenceError> {
        let RunState::Tools { pending, .. } = &mut self.state else {
            return Err(SequenceError::Outcome);
        };
        let found = pending.iter_mut().find(|slot| slot.call.id == id);
        found.ok_or_else(|| SequenceError::UnknownCall(id.to_owned()))
    }

    /// Reports that a call is about to be executed. Save the run before executing it, so that a call
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

    /// Reports the outcome of a call. With the last outcome of a turn, the turn joins the history.
    ///
    /// # Errors
    /// If there is no such call, or it has an outcome already.
    pub fn executed(&mut self, outcome: CallOutcome) -> Result<(), SequenceError> {
        let slot = self.slot(&outcome.call_id)?;
        if slot.is_executed() {
            return Err(SequenceError::Twice(outcome.call_id));
        }
        slot.progress = Progress::Executed(Box::new(outcome));
        if let RunState::Tools { pending, .. } = &self.state
            && pending.iter().all(RunCall::is_executed)
        {
            self.settle();
        }
        Ok(())
    }

    /// Continues after a restart. Calls that were started and have no outcome may have run: those
    /// that are `repeatable` are made again, up to three times; the others get an outcome that says
    /// that their effect is unknown.
    pub fn resume(&mut self, repeatable: impl Fn(&Call) -> bool) {
        let RunState::Tools { pending, .. } = &mut self.state else {
            return;
        };
        for slot in pending.iter_mut() {
            if slot.progress != Progress::Started {
                continue;
            }
            if slot.starts < MOST_STARTS && repeatable(&slot.call) {
                slot.progress = Progress::Recorded;
            } else {
                slot.give_up();
            }
        }
        if pending.iter().all(RunCall::is_executed) {
            self.settle();
        }
    }

    /// Reports the answer of the user.
    ///
    /// # Errors
    /// If nothing was asked.
    pub fn answered(&mut self, text: impl Into<String>) -> Result<(), SequenceError> {
        if !matches!(self.state, RunState::Asking { .. }) {
            return Err(SequenceError::Answer);
        }
        self.history.push(Message::user(text));
        self.detector.reset();
        self.state = RunState::Model;
        Ok(())
    }

    /// Continues a finished run with a new task of the user. The limits start afresh, except for the
    /// total of refused calls, the time and the feedback.
    ///
    /// # Errors
    /// If the run is not done.
    pub fn say(&mut self, text: impl Into<String>) -> Result<(), SequenceError> {
        if self.state != RunState::Done {
            return Err(SequenceError::Answer);
        }
        self.history.push(Message::user(text));
        self.detector.reset_all();
        self.counts.steps = 0;
        self.counts.failures_of.clear();
        self.state = RunState::Model;
        Ok(())
    }

    /// Ends the run. Calls without an outcome get one that says so.
    pub fn stop(&mut self, reason: HaltReason) {
        if self.is_over() {
            return;
        }
        if let RunState::Tools { pending, .. } = &mut self.state {
            pending.iter_mut().for_each(RunCall::give_up);
            let (reply, turn) = self.take_turn();
            self.record(reply, turn);
        }
        self.state = RunState::Stopped { reason };
    }

    /// Takes the reply that is being executed out of the state.
    fn take_turn(&mut self) -> (AssistantMessage, Vec<(Call, CallOutcome)>) {
        match std::mem::replace(&mut self.state, RunState::Model) {
            RunState::Tools { reply, pending } => (
                reply,
                pending.into_iter().map(RunCall::into_parts).collect(),
            ),
            _ => Default::default(),
        }
    }

    fn record(&mut self, mut reply: AssistantMessage, turn: Vec<(Call, CallOutcome)>) {
        let (calls, outcomes) = turn.into_iter().unzip();
        reply.calls = calls;
        self.history.push(Message::Assistant(reply));
        self.history.push(Message::Tools { outcomes });
    }

    /// Ends a turn whose calls all have outcomes: looks for loops and compares the limits.
    fn settle(&mut self) {
        let (reply, mut turn) = self.take_turn();
        let report = self.detector.observe(&turn);
        if let Some(report) = &report {
            let about = turn.iter_mut().find(|(call, _)| call.id == report.call_id);
            if let Some((_, outcome)) = about {
                outcome.steer = Some(explain::steer(report));
            }
        }
        let over = self.count(&turn);
        self.record(reply, turn);
        self.loop_report.clone_from(&report);
        match (over, report) {
            (_, Some(loops)) if loops.escalation == Escalation::Stop => {
                self.stop(HaltReason::Loop(loops))
            }
            (Some(reason), _) => self.stop(reason),
            (None, Some(loops)) if loops.escalation == Escalation::Ask => {
                let reason = HaltReason::Loop(loops);
                self.state = RunState::Asking { reason };
            }
            _ => {}
        }
    }

    /// Updates the counts, and returns the limit that is reached, if any.
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
            if !class.is_fault() {
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

/// A report that a [`Run`] had not asked for; the run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceError {
    /// A reply when the model was not to be called.
    Reply,
    /// An outcome when no call was to be executed.
    Outcome,
    /// An answer when nothing was asked.
    Answer,
    /// The outcome of a call that the run does not know.
    UnknownCall(String),
    /// A second start or outcome of one call.
    Twice(String),
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceError::Reply => {
                f.write_str("a reply was reported when the model was not to be called")
            }
            SequenceError::Outcome => {
                f.write_str("an outcome was reported when no call was to be executed")
            }
            SequenceError::Answer => f.write_str("an answer was reported when nothing was asked"),
            SequenceError::UnknownCall(id) => write!(f, "there is no call `{id}` to be executed"),
            SequenceError::Twice(id) => write!(f, "the call `{id}` was started or executed before"),
        }
    }
}

impl Error for SequenceError {}
