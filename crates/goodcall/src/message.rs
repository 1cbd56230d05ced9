//! The neutral form of a conversation: messages, calls, outcomes. Provider forms are made from it.

use goodcall_core::{Change, Edit, StopReason, Structured};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bound::LoopKey;
use crate::error::{ArgumentFault, ToolError};
use crate::{ErrorClass, ToolResult, explain, result};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the model is told about its task.
    System {
        /// The words.
        text: String,
    },
    /// A person's words.
    User {
        /// The words.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// The words; may be empty where there are calls.
        text: String,
        /// The tools that it calls.
        #[serde(default)]
        calls: Vec<Call>,
    },
    /// One outcome for each call of the reply before, in the order of the calls.
    Tools {
        /// The outcomes.
        outcomes: Vec<CallOutcome>,
    },
}

/// A tool call of a model, as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Call {
    /// The id; a [`Run`](crate::Run) replaces one that is empty or not unique.
    #[serde(default)]
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as raw text.
    pub arguments: String,
    /// How the model's message ended.
    #[serde(default, with = "stop", skip_serializing_if = "stop::is_unknown")]
    pub stop: StopReason,
    /// What was read as something else on the way here, such as the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRecord>,
}

impl Call {
    /// A call as `goodcall-wire` found it.
    pub fn from_wire(call: &goodcall_wire::RawCall) -> Self {
        let id = call.id.clone().unwrap_or_default();
        let mut own = Self::new(id, call.name.clone(), call.arguments.clone());
        own.changes = call.changes.iter().map(ChangeRecord::from).collect();
        own
    }

    /// A call of a tool with these raw arguments.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            stop: StopReason::Unknown,
            changes: Vec::new(),
        }
    }
}

/// A reply of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// Its words.
    #[serde(default)]
    pub text: String,
    /// Its calls.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// How it ended.
    #[serde(default, with = "stop", skip_serializing_if = "stop::is_unknown")]
    pub stop: StopReason,
    /// Tokens, where the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Tokens of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Read.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
}

impl Usage {
    /// So many tokens read and written.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
        }
    }
}

impl Reply {
    /// A reply in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A reply that calls tools.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self {
            calls: calls.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// What a call came to: everything the history keeps of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallOutcome {
    /// The call that this answers.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What the tool returned; `null` for an error. Stored as JSON text, so that no number loses
    /// a digit on the way.
    #[serde(default, with = "exact")]
    pub data: Value,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<ToolError>,
    /// A remark for the model.
    #[serde(default)]
    pub note: Option<String>,
    /// What the model should do next.
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// How the arguments were mended.
    #[serde(default)]
    pub changes: Vec<ChangeRecord>,
    /// The arguments that the tool got, where they are not the ones that were sent.
    #[serde(default)]
    pub mended: Option<String>,
    /// What tells this call from others.
    #[serde(default)]
    pub loop_key: LoopKey,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: u64,
    /// What the run has to say to the model about its going in circles.
    #[serde(default)]
    pub steer: Option<String>,
}

impl CallOutcome {
    /// The outcome of this call.
    pub fn new(call: &Call, result: ToolResult) -> Self {
        let changes = result.changes().iter().map(ChangeRecord::from);
        let changes = call.changes.iter().cloned().chain(changes).collect();
        Self {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            data: result.data().cloned().unwrap_or_default(),
            error: result.tool_error().cloned(),
            note: result.note().map(str::to_owned),
            recommendations: result.recommendations().to_vec(),
            changes,
            mended: None,
            loop_key: result.loop_key().clone(),
            duration_ms: 0,
            steer: None,
        }
    }

    /// Did the tool run and succeed?
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    /// The class of the error.
    pub fn class(&self) -> Option<ErrorClass> {
        self.error.as_ref().map(ToolError::class)
    }

    /// Where and what is wrong with the arguments.
    pub fn faults(&self) -> &[ArgumentFault] {
        match &self.error {
            Some(ToolError::Argument(error)) => &error.faults,
            _ => &[],
        }
    }

    /// The text that the model reads.
    pub fn text(&self) -> String {
        let text = match &self.error {
            Some(error) => explain::error_text(error, self.note.as_deref(), &self.recommendations),
            None => result::data_text(&self.data),
        };
        match &self.steer {
            Some(steer) => format!("{steer}\n\n{text}"),
            None => text,
        }
    }

    /// The outcome as `{ok, data, error, errorType, retryable, note, recommendations}`.
    pub fn structured(&self) -> Structured {
        let outcome = self.error.as_ref().map_or(Ok(&self.data), Err);
        let note = self.steer.as_deref().or(self.note.as_deref());
        result::structured(outcome, note, &self.recommendations)
    }

    /// The structured outcome as a `tool_result` block.
    pub fn tool_result(&self) -> Value {
        result::block(&self.call_id, &self.structured().to_json(), !self.is_ok())
    }
}

/// A [`Change`] in a form that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangeRecord {
    /// The rule that made it.
    pub rule: String,
    /// `safe` or `eager`.
    pub level: String,
    /// JSON Pointer.
    pub path: String,
    /// Where the value was that was moved here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What was there: JSON text.
    pub before: Option<String>,
    /// What is there now: JSON text.
    pub after: Option<String>,
}

impl From<&Change> for ChangeRecord {
    fn from(change: &Change) -> Self {
        let from = match &change.edit {
            Edit::Move { from } => Some(from.as_str().to_owned()),
            _ => None,
        };
        Self {
            rule: change.rule.name().to_owned(),
            level: change.level.name().to_owned(),
            path: change.pointer.as_str().to_owned(),
            from,
            before: change.before.clone().map(Into::into),
            after: change.after.clone().map(Into::into),
        }
    }
}

/// How a message ended, as a name.
mod stop {
    use goodcall_core::StopReason;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands in a reference"
    )]
    pub(super) fn is_unknown(stop: &StopReason) -> bool {
        *stop == StopReason::Unknown
    }

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands in a reference"
    )]
    pub(super) fn serialize<S: Serializer>(stop: &StopReason, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(match stop {
            StopReason::Finished => "finished",
            StopReason::CutOff => "cut_off",
            _ => "unknown",
        })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<StopReason, D::Error> {
        let name = String::deserialize(from)?;
        Ok(match name.as_str() {
            "finished" => StopReason::Finished,
            "cut_off" => StopReason::CutOff,
            _ => StopReason::Unknown,
        })
    }
}

/// A value as JSON text: floats come back as they were.
mod exact {
    use goodcall_core::Tree;
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        let text = String::deserialize(from)?;
        let value = Tree::parse(&text)
            .ok()
            .and_then(|tree| tree.to_value().ok());
        Ok(value.unwrap_or(Value::String(text)))
    }
}
