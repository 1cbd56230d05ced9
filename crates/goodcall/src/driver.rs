//! Drives a run with tokio: calls the model, executes the calls, saves the run, reports events.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::approval::{self, Approval, ApproveFn, ProposedCall};
use crate::definition::Definition;
use crate::error;
use crate::event::{self, ErrorDetail, ErrorEvent, Event, Events, Phase};
use crate::message::{Call, CallOutcome, Reply};
use crate::model::{Model, ModelError, Prompt};
use crate::run::{HaltReason, Run, SequenceError, Step};
use crate::store::Store;
use crate::toolbox::Toolbox;
use crate::{trace, wire};

/// Executes a [`Run`] with a model and a toolbox until it is done, asks the user or stops.
///
/// ```
/// use goodcall::{Call, Driver, Finish, Reply, Run, Script, Toolbox};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let toolbox = Toolbox::new();
/// let model = Script::new([
///     Reply::calls([Call::new("1", "clock", "{}")]),
///     Reply::text("I have no clock."),
/// ]);
/// let mut run = Run::new().user("What is the time?");
/// let finish = Driver::new(&toolbox, &model).drive(&mut run).await?;
/// assert_eq!(finish, Finish::Done("I have no clock.".to_owned()));
/// assert_eq!(run.messages().len(), 4);
/// # Ok(())
/// # }
/// ```
pub struct Driver<'d> {
    toolbox: &'d Toolbox,
    model: &'d dyn Model,
    parallel: usize,
    retries: u32,
    values: bool,
    cancel: CancellationToken,
    store: Option<&'d dyn Store>,
    ask: Option<Box<AskUserFn<'d>>>,
    approve: Option<Box<ApproveFn<'d>>>,
    on_text: Option<Box<TextListener<'d>>>,
    listeners: Vec<Box<EventListener<'d>>>,
}

/// Gets the text of the model while it is streamed.
type TextListener<'d> = dyn Fn(&str) + Send + Sync + 'd;
/// Gets every event.
type EventListener<'d> = dyn Fn(&Event) + Send + Sync + 'd;
/// Asks the user; returns `None` if there is no answer now.
type AskUserFn<'d> = dyn Fn(&HaltReason) -> Option<String> + Send + Sync + 'd;

/// The end of [`Driver::drive`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model gave its final answer.
    Done(String),
    /// The user has to be asked. Hand the answer to [`Run::answered`] and drive again.
    Asking(HaltReason),
    /// The run ended without a final answer.
    Stopped(HaltReason),
}

impl<'d> Driver<'d> {
    /// Returns a driver that makes up to 8 calls in parallel and retries the model twice.
    pub fn new(toolbox: &'d Toolbox, model: &'d dyn Model) -> Self {
        Self {
            toolbox,
            model,
            parallel: 8,
            retries: 2,
            values: false,
            cancel: CancellationToken::new(),
            store: None,
            ask: None,
            approve: None,
            on_text: None,
            listeners: Vec::new(),
        }
    }

    /// Sets how many calls of one reply run at once.
    #[must_use]
    pub fn parallel(mut self, most: usize) -> Self {
        self.parallel = most.max(1);
        self
    }

    /// Sets how many times a model is called again after an error that may pass.
    #[must_use]
    pub fn model_retries(mut self, most: u32) -> Self {
        self.retries = most;
        self
    }

    /// Records arguments and results in spans. They may hold secrets, so this is off by default.
    #[must_use]
    pub fn record_values(mut self) -> Self {
        self.values = true;
        self
    }

    /// Stops the run and cancels its calls when this token is cancelled.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// Saves the run before anything is executed and after every outcome.
    #[must_use]
    pub fn store(mut self, store: &'d dyn Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the function that asks the user.
    #[must_use]
    pub fn ask(mut self, ask: impl Fn(&HaltReason) -> Option<String> + Send + Sync + 'd) -> Self {
        self.ask = Some(Box::new(ask));
        self
    }

    /// Sets the function that allows or denies each call that may run. It gets the arguments that
    /// the tool will get, so that a person can see what a destructive call will do. The calls of a
    /// reply are proposed one after the other, before any of them is made and before the time limits
    /// begin; calls that are refused are not proposed.
    ///
    /// ```
    /// use goodcall::{Approval, Call, Driver, Message, ProposedCall, Reply, Run, Script, Toolbox};
    ///
    /// /// Deletes a file.
    /// #[goodcall::tool(destructive)]
    /// fn delete(path: String) -> String {
    ///     format!("{path} is gone")
    /// }
    ///
    /// async fn ask_a_person(call: ProposedCall) -> Approval {
    ///     if !call.tool().is_destructive() {
    ///         return Approval::Allow;
    ///     }
    ///     println!("{} {}: yes or no?", call.name(), call.arguments());
    ///     Approval::deny("keep it") // what the person said
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut toolbox = Toolbox::new();
    /// toolbox.register(Delete)?;
    /// let model = Script::new([
    ///     Reply::calls([Call::new("1", "delete", r#"{"path": "a.txt"}"#)]),
    ///     Reply::text("I have left the file where it is."),
    /// ]);
    /// let mut run = Run::new().user("Delete a.txt.");
    /// let driver = Driver::new(&toolbox, &model).approve(ask_a_person);
    /// driver.drive(&mut run).await?;
    /// let Message::Tools { outcomes, .. } = &run.messages()[2] else { panic!() };
    /// assert_eq!(
    ///     outcomes[0].text(),
    ///     "The call of `delete` was not allowed, and nothing was run: keep it\n\
    ///      Do not make it again: ask the user, or take another way."
    /// );
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn approve<F, A>(mut self, approve: F) -> Self
    where
        F: Fn(ProposedCall) -> A + Send + Sync + 'd,
        A: Future<Output: Into<Approval>> + Send + 'd,
    {
        self.approve = Some(Box::new(move |call| {
            let answer = approve(call);
            Box::pin(async move { answer.await.into() })
        }));
        self
    }

    /// Sets a function that gets the text of the model while it is streamed.
    #[must_use]
    pub fn on_text(mut self, sink: impl Fn(&str) + Send + Sync + 'd) -> Self {
        self.on_text = Some(Box::new(sink));
        self
    }

    /// Adds a function that gets every event.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'd) -> Self {
        self.listeners.push(Box::new(listener));
        self
    }

    /// Returns the events as a stream.
    pub fn events(&mut self) -> Events {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.listeners.push(Box::new(move |event: &Event| {
            // An error means that the receiver was dropped.
            let _ = sender.send(event.clone());
        }));
        Events(receiver)
    }

    fn notify(&self, event: &Event) {
        for listener in &self.listeners {
            listener(event);
        }
    }

    /// Drives the run until it is done, asks or stops. A run that was loaded continues where it was:
    /// a call that has an outcome, or may have run, is not made again.
    ///
    /// # Errors
    /// If the model gives no reply or the run cannot be saved; the run can be driven again.
    pub async fn drive(&self, run: &mut Run) -> Result<Finish, DriveError> {
        let tools: Vec<_> = self.toolbox.list().collect();
        let offered = wire::offered(&tools);
        run.resume(|call| {
            let tool = self.toolbox.get(&call.name);
            tool.is_some_and(|tool| tool.is_repeatable())
        });
        loop {
            if self.cancel.is_cancelled() {
                run.stop(HaltReason::Host("cancelled".to_owned()));
            }
            match run.next(now()) {
                Step::CallModel { messages } => {
                    let prompt = Prompt {
                        messages,
                        tools: &tools,
                        on_text: self.on_text.as_deref().map(|sink| sink as _),
                    };
                    let Some((reply, duration_ms)) = self.call_model(prompt).await? else {
                        continue;
                    };
                    // Whatever the model is, names are cleaned and calls in the text are found.
                    self.replied(run, (wire::cleaned(reply, &offered), duration_ms))?;
                }
                Step::Execute { calls } => {
                    let calls = calls.into_iter().cloned().collect();
                    self.execute(run, calls, &tools).await?;
                }
                Step::AskUser { reason } => {
                    let reason = reason.clone();
                    self.notify(&Event::AskedUser {
                        message: reason.to_string(),
                        reason: reason.clone(),
                    });
                    match self.ask.as_ref().and_then(|ask| ask(&reason)) {
                        Some(answer) => run.answered(answer)?,
                        None => return Ok(Finish::Asking(reason)),
                    }
                    self.save(run)?;
                }
                Step::Done { .. } | Step::Stopped { .. } => return self.finish(run),
            }
        }
    }

    fn finish(&self, run: &mut Run) -> Result<Finish, DriveError> {
        self.save(run)?;
        let (finish, reason, message) = match run.next(now()) {
            Step::Stopped { reason } => {
                let reason = reason.clone();
                (
                    Finish::Stopped(reason.clone()),
                    Some(reason.clone()),
                    reason.to_string(),
                )
            }
            Step::Done { text } => (Finish::Done(text.to_owned()), None, text.to_owned()),
            _ => return Err(SequenceError::Reply.into()),
        };
        self.notify(&Event::Finished { reason, message });
        Ok(finish)
    }

    /// Calls the model, again after an error that may pass; `None` if the run was cancelled.
    async fn call_model(&self, prompt: Prompt<'_>) -> Result<Option<(Reply, u64)>, DriveError> {
        let mut failed = 0;
        loop {
            let started = Instant::now();
            let span = trace::chat(self.model.name(), self.model.provider());
            let reply = self.model.reply(prompt).instrument(span.clone());
            let reply = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(None),
                reply = reply => reply,
            };
            match reply {
                Ok(reply) => {
                    trace::replied(&span, &reply);
                    return Ok(Some((reply, millis(started.elapsed()))));
                }
                Err(error) => {
                    span.record("error.type", "model");
                    self.error(Phase::Model, &error);
                    if !error.is_retryable() || failed >= self.retries {
                        return Err(DriveError::Model(error));
                    }
                    failed += 1;
                    let pause = Duration::from_millis(250 << failed.min(6));
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    fn replied(&self, run: &mut Run, (reply, duration_ms): (Reply, u64)) -> Result<(), DriveError> {
        let (calls, usage) = (reply.calls.len(), reply.usage);
        run.replied(reply)?;
        self.save(run)?;
        self.notify(&Event::ModelCalled {
            model: self.model.name().to_owned(),
            step: run.steps(),
            calls,
            usage,
            duration_ms,
        });
        Ok(())
    }

    /// Executes the calls of one reply. Each is saved as started before it runs, and its outcome is
    /// saved as soon as it is known.
    async fn execute(
        &self,
        run: &mut Run,
        calls: Vec<Call>,
        tools: &[Definition<'_>],
    ) -> Result<(), DriveError> {
        let calls = self.approved(run, &calls).await?;
        let mut waiting = calls.into_iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < self.parallel
                && let Some(call) = waiting.next()
            {
                run.started(&call.id)?;
                self.save(run)?;
                running.push(self.call(call, tools));
            }
            let Some((call, outcome)) = running.next().await else {
                return Ok(());
            };
            self.executed(run, call, outcome)?;
        }
    }

    /// Returns the calls that are allowed, and reports the others to the run. If the run is
    /// cancelled meanwhile, none is allowed.
    async fn approved<'c>(
        &self,
        run: &mut Run,
        calls: &'c [Call],
    ) -> Result<Vec<&'c Call>, DriveError> {
        let Some(approve) = &self.approve else {
            return Ok(calls.iter().collect());
        };
        let mut allowed = Vec::new();
        for call in calls {
            let proposed = match self.toolbox.admit(call) {
                Ok(prepared) => ProposedCall::new(call, &prepared),
                // The call is refused when it is made.
                Err(_) => {
                    allowed.push(call);
                    continue;
                }
            };
            let approval = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(Vec::new()),
                approval = approve(proposed) => approval,
            };
            match approval {
                Approval::Allow => allowed.push(call),
                Approval::Deny(reason) => {
                    self.executed(run, call, approval::denied(call, &reason))?;
                }
            }
        }
        Ok(allowed)
    }

    /// Reports an outcome to the run, the store and the listeners.
    fn executed(&self, run: &mut Run, call: &Call, outcome: CallOutcome) -> Result<(), DriveError> {
        let events = if self.listeners.is_empty() {
            Vec::new()
        } else {
            event::of_outcome(call, &outcome)
        };
        run.executed(outcome)?;
        self.save(run)?;
        events.iter().for_each(|event| self.notify(event));
        if let Some(report) = run.loop_report() {
            self.notify(&Event::LoopSuspected(report.clone()));
        }
        Ok(())
    }

    async fn call<'c>(&self, call: &'c Call, tools: &[Definition<'_>]) -> (&'c Call, CallOutcome) {
        let known = tools.iter().find(|tool| tool.name == call.name);
        let description = known.map_or("", |tool| tool.description);
        let span = trace::execute_tool(call, description, self.values);
        let work = self.toolbox.call(call, &self.cancel);
        let outcome = work.instrument(span.clone()).await;
        trace::executed(&span, &outcome, self.values);
        (call, outcome)
    }

    fn save(&self, run: &Run) -> Result<(), DriveError> {
        let Some(store) = self.store else {
            return Ok(());
        };
        store.save(run).map_err(|error| {
            self.error(Phase::Store, &error);
            DriveError::Store(error)
        })
    }

    fn error(&self, phase: Phase, error: &(dyn Error + 'static)) {
        let detail = ErrorDetail {
            source: error.source().map(error::chain),
            ..ErrorDetail::default()
        };
        self.notify(&Event::Error(ErrorEvent {
            phase,
            message: error.to_string(),
            detail,
        }));
    }
}

impl fmt::Debug for Driver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("model", &self.model.name())
            .field("parallel", &self.parallel)
            .finish_non_exhaustive()
    }
}

/// The time by the wall clock, which survives a restart.
fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The reason why a run could not be driven further. It can be driven again.
#[derive(Debug)]
#[non_exhaustive]
pub enum DriveError {
    /// The model gave no reply.
    Model(ModelError),
    /// The run could not be saved; nothing was executed.
    Store(io::Error),
    /// The driver handed the run something it had not asked for.
    Sequence(SequenceError),
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriveError::Model(error) => write!(f, "the model gave no reply: {error}"),
            DriveError::Store(error) => write!(f, "the run could not be saved: {error}"),
            DriveError::Sequence(error) => error.fmt(f),
        }
    }
}

impl Error for DriveError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DriveError::Model(error) => Some(error),
            DriveError::Store(error) => Some(error),
            DriveError::Sequence(error) => Some(error),
        }
    }
}

impl From<SequenceError> for DriveError {
    fn from(error: SequenceError) -> Self {
        DriveError::Sequence(error)
    }
}
