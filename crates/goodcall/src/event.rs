//! What happens in a run, for callbacks, streams and logs.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::doom::LoopReport;
use crate::message::{Call, CallOutcome, ChangeRecord, Usage};
use crate::run::HaltReason;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// Something went wrong.
    Error(ErrorEvent),
    /// A call has an outcome.
    ToolExecuted(ToolRecord),
    /// Arguments were mended before the tool ran.
    Mended {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What was changed.
        changes: Vec<ChangeRecord>,
    },
    /// The model seems to go in circles.
    LoopSuspected(LoopReport),
    /// The model has replied.
    ModelCalled {
        /// The model.
        model: String,
        /// The so-manieth call of this run.
        step: u32,
        /// How many tools it calls.
        calls: usize,
        /// Tokens, where the provider counts them.
        usage: Option<Usage>,
        /// How long it took.
        duration_ms: u64,
    },
    /// The user is asked.
    AskedUser {
        /// What about.
        why: HaltReason,
        /// The same in words.
        message: String,
    },
    /// The run is over.
    Finished {
        /// Why it stopped; `None` if the model has said its last word.
        why: Option<HaltReason>,
        /// The last word, or why it stopped in words.
        message: String,
    },
}

impl Event {
    /// `error`, `tool_executed`, `mended`, …
    pub fn name(&self) -> &'static str {
        match self {
            Event::Error(_) => "error",
            Event::ToolExecuted(_) => "tool_executed",
            Event::Mended { .. } => "mended",
            Event::LoopSuspected(_) => "loop_suspected",
            Event::ModelCalled { .. } => "model_called",
            Event::AskedUser { .. } => "asked_user",
            Event::Finished { .. } => "finished",
        }
    }
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ErrorEvent {
    /// Where.
    pub phase: Phase,
    /// What, in words.
    pub message: String,
    /// What is known of it.
    pub detail: ErrorDetail,
}

/// Where something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Before the tool ran.
    Validation,
    /// While the tool ran.
    Tool,
    /// While the model was called.
    Model,
    /// While the run was saved.
    Store,
}

/// What is known of an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ErrorDetail {
    /// The class of the error, for one of a call.
    pub error_type: Option<&'static str>,
    /// What the model was told to do.
    pub recommendations: Vec<String>,
    /// The call.
    pub call_id: Option<String>,
    /// The tool.
    pub tool: Option<String>,
}

/// A call that has an outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolRecord {
    /// The tool.
    pub name: String,
    /// The call.
    pub call_id: String,
    /// Did it succeed?
    pub state: ToolRecordState,
    /// The arguments that it got, as JSON text; the raw text, if it was refused.
    pub arguments: String,
    /// What it returned.
    pub result: Option<Value>,
    /// What went wrong.
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// How the arguments were mended.
    pub changes: Vec<ChangeRecord>,
}

/// Did a call succeed?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum ToolRecordState {
    /// Yes.
    Completed,
    /// No.
    Failed,
}

/// The events of one outcome.
pub(crate) fn of_outcome(call: &Call, outcome: &CallOutcome) -> Vec<Event> {
    let mut events = Vec::new();
    let refused = outcome.class().is_some_and(crate::ErrorClass::is_refusal);
    if !outcome.changes.is_empty() && !refused {
        events.push(Event::Mended {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            changes: outcome.changes.clone(),
        });
    }
    if let Some(error) = &outcome.error {
        let structured = outcome.structured();
        events.push(Event::Error(ErrorEvent {
            phase: if refused {
                Phase::Validation
            } else {
                Phase::Tool
            },
            message: error.message().to_owned(),
            detail: ErrorDetail {
                error_type: structured.error_type,
                recommendations: structured.recommendations,
                call_id: Some(call.id.clone()),
                tool: Some(call.name.clone()),
            },
        }));
    }
    let arguments = outcome.mended.as_ref().unwrap_or(&call.arguments);
    events.push(Event::ToolExecuted(ToolRecord {
        name: call.name.clone(),
        call_id: call.id.clone(),
        state: match outcome.is_ok() {
            true => ToolRecordState::Completed,
            false => ToolRecordState::Failed,
        },
        arguments: arguments.clone(),
        result: outcome.is_ok().then(|| outcome.data.clone()),
        error: outcome
            .error
            .as_ref()
            .map(|error| error.message().to_owned()),
        duration_ms: outcome.duration_ms,
        changes: outcome.changes.clone(),
    }));
    events
}

/// The events of a run as a stream; it ends when the driver is gone.
#[derive(Debug)]
pub struct Events(pub(crate) mpsc::UnboundedReceiver<Event>);

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_recv(context)
    }
}
