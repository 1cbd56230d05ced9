//! The events of a run, for callbacks, streams and logs.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::error::ToolError;
use crate::loop_detector::LoopReport;
use crate::message::{Call, CallOutcome, ChangeRecord, Usage};
use crate::run::HaltReason;

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// An error occurred.
    Error(ErrorEvent),
    /// A call has an outcome.
    #[non_exhaustive]
    ToolExecuted {
        /// The call.
        call: ToolRecord,
    },
    /// Arguments were mended before the tool ran.
    #[non_exhaustive]
    Mended {
        /// The id of the call.
        call_id: String,
        /// The name of the tool.
        tool: String,
        /// The changes.
        changes: Vec<ChangeRecord>,
    },
    /// The model seems to repeat itself.
    LoopSuspected(LoopReport),
    /// The model has replied.
    #[non_exhaustive]
    ModelCalled {
        /// The name of the model.
        model: String,
        /// The number of model calls of this run, this one included.
        step: u32,
        /// The number of calls in the reply.
        calls: usize,
        /// The tokens that it took, if the provider counts them.
        usage: Option<Usage>,
        /// The duration of the model call in milliseconds.
        duration_ms: u64,
    },
    /// The user is asked.
    #[non_exhaustive]
    AskedUser {
        /// The reason why.
        reason: HaltReason,
        /// The reason as text.
        message: String,
    },
    /// The run is over.
    #[non_exhaustive]
    Finished {
        /// The reason why it stopped; `None` if the model gave its final answer.
        reason: Option<HaltReason>,
        /// The final answer, or the reason as text.
        message: String,
    },
}

impl Event {
    /// The name of the event: `error`, `tool_executed`, `mended`, …
    pub fn name(&self) -> &'static str {
        match self {
            Event::Error(_) => "error",
            Event::ToolExecuted { .. } => "tool_executed",
            Event::Mended { .. } => "mended",
            Event::LoopSuspected(_) => "loop_suspected",
            Event::ModelCalled { .. } => "model_called",
            Event::AskedUser { .. } => "asked_user",
            Event::Finished { .. } => "finished",
        }
    }
}

/// An error in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ErrorEvent {
    /// Where it occurred.
    pub phase: Phase,
    /// The message.
    pub message: String,
    /// Further details.
    pub detail: ErrorDetail,
}

/// The part of a run in which an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// In a call: before the tool ran or while it ran, as the class in the detail says.
    Tool,
    /// While the model was called.
    Model,
    /// While the run was saved.
    Store,
}

/// The details of an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ErrorDetail {
    /// The name of its class, if it is the error of a call.
    pub error_type: Option<&'static str>,
    /// The recommendations that the model got.
    pub recommendations: Vec<String>,
    /// Whether the person in the conversation has to know of it.
    pub notify_user: bool,
    /// The error behind it with all its causes, for the operator. It may hold secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The id of the call.
    pub call_id: Option<String>,
    /// The name of the tool.
    pub tool: Option<String>,
}

/// A call that has an outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolRecord {
    /// The name of the tool.
    pub name: String,
    /// The id of the call.
    pub call_id: String,
    /// Whether the call succeeded.
    pub state: ToolRecordState,
    /// The arguments that the tool got, as JSON text; the raw text if the call was refused.
    pub arguments: String,
    /// The value that the tool returned; of a call that failed, its structured result.
    pub result: Value,
    /// The message of the error.
    pub error: Option<String>,
    /// The duration of the call in milliseconds.
    pub duration_ms: u64,
    /// The changes that mending made to the arguments.
    pub changes: Vec<ChangeRecord>,
}

/// Whether a call succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum ToolRecordState {
    /// The tool ran and succeeded.
    Completed,
    /// The call was refused, or the tool failed.
    Failed,
}

/// Returns the events of one outcome.
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
            phase: Phase::Tool,
            message: error.message().to_owned(),
            detail: ErrorDetail {
                error_type: structured.error_type,
                recommendations: structured.recommendations,
                notify_user: error.class().audience().user,
                source: match error {
                    ToolError::Runtime(error) => error.source.clone(),
                    ToolError::Argument(_) => None,
                },
                call_id: Some(call.id.clone()),
                tool: Some(call.name.clone()),
            },
        }));
    }
    let arguments = outcome.mended.as_ref().unwrap_or(&call.arguments);
    let result = if outcome.is_ok() {
        outcome.data.clone()
    } else {
        serde_json::to_value(outcome.structured()).expect("a structured result has string keys")
    };
    let record = ToolRecord {
        name: call.name.clone(),
        call_id: call.id.clone(),
        state: if outcome.is_ok() {
            ToolRecordState::Completed
        } else {
            ToolRecordState::Failed
        },
        arguments: arguments.clone(),
        result,
        error: outcome
            .error
            .as_ref()
            .map(|error| error.message().to_owned()),
        duration_ms: outcome.duration_ms,
        changes: outcome.changes.clone(),
    };
    events.push(Event::ToolExecuted { call: record });
    events
}

/// The events of a run as a stream, which ends when the driver is dropped.
#[derive(Debug)]
pub struct Events(pub(crate) mpsc::UnboundedReceiver<Event>);

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_recv(context)
    }
}
