//! A conversation in no provider's form: messages, calls and outcomes.

use goodcall_core::{Change, Level, StopReason, Structured};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::LoopKey;
use crate::error::{ArgumentFault, ToolError};
use crate::{ErrorClass, ToolResult, explain, tool_result};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// The instructions that the model gets for its task.
    #[non_exhaustive]
    System {
        /// The text.
        text: String,
    },
    /// A message of the user.
    User(UserMessage),
    /// A reply of the model.
    Assistant(AssistantMessage),
    /// The outcomes of the calls of the previous reply, in the order of the calls.
    #[non_exhaustive]
    Tools {
        /// The outcomes.
        outcomes: Vec<CallOutcome>,
    },
}

impl Message {
    /// Returns instructions for the model.
    pub fn system(text: impl Into<String>) -> Self {
        Message::System { text: text.into() }
    }

    /// Returns a message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Message::User(UserMessage::new(text))
    }

    /// Returns a reply of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message::Assistant(AssistantMessage::new(text))
    }

    /// Returns the outcomes of the calls of the reply before it.
    pub fn tools(outcomes: impl IntoIterator<Item = CallOutcome>) -> Self {
        let outcomes = outcomes.into_iter().collect();
        Message::Tools { outcomes }
    }
}

/// A message of the user: a text, and images beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserMessage {
    /// The text.
    pub text: String,
    /// The images, shown after the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl UserMessage {
    /// Returns a message without images.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
        }
    }

    /// Adds an image.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }
}

/// An image in a message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Image {
    /// An image that the provider fetches.
    Url(String),
    /// An image in the message itself.
    #[non_exhaustive]
    Data {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes in base64.
        base64: String,
    },
}

impl Image {
    /// Returns an image of this media type, such as `image/png`, with its bytes in base64.
    pub fn data(media_type: impl Into<String>, base64: impl Into<String>) -> Self {
        Image::Data {
            media_type: media_type.into(),
            base64: base64.into(),
        }
    }
}

/// A reply of the model in a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AssistantMessage {
    /// The text; may be empty where there are calls.
    pub text: String,
    /// The calls that it makes.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// The reasoning before it, in the provider's own blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
}

impl AssistantMessage {
    /// Returns a reply that is only text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Adds calls.
    #[must_use]
    pub fn calls(mut self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.calls.extend(calls);
        self
    }

    /// Adds blocks of reasoning.
    #[must_use]
    pub fn reasoning(mut self, blocks: impl IntoIterator<Item = Reasoning>) -> Self {
        self.reasoning.extend(blocks);
        self
    }
}

/// A block of reasoning, as the provider sent it. Providers sign such blocks and demand them back
/// unchanged, and no other provider can read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reasoning {
    /// The name of the provider.
    pub provider: String,
    /// The block.
    pub block: Value,
}

impl Reasoning {
    /// Returns a block of this provider.
    pub fn new(provider: impl Into<String>, block: Value) -> Self {
        Self {
            provider: provider.into(),
            block,
        }
    }
}

/// A tool call of a model, as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Call {
    /// The id; a [`Run`](crate::Run) replaces one that is empty or not unique.
    #[serde(default)]
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as raw text.
    pub arguments: String,
    /// How the model's message ended.
    #[serde(default, with = "stop", skip_serializing_if = "stop::is_unknown")]
    pub stop: StopReason,
    /// The changes that were made to read the call, such as one of its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRecord>,
    /// The provider's signature on the call, which it demands back in the history (Gemini).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Call {
    /// Converts a call that `goodcall-wire` found.
    pub fn from_wire(call: &goodcall_wire::RawCall) -> Self {
        let id = call.id.clone().unwrap_or_default();
        let mut own = Self::new(id, call.name.clone(), call.arguments.clone());
        own.changes = call.changes.iter().map(ChangeRecord::from).collect();
        own.signature.clone_from(&call.signature);
        own
    }

    /// Returns a call of a tool with these raw arguments.
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
            signature: None,
        }
    }

    /// Sets how the model's message ended.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }
}

/// A reply of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// The text.
    #[serde(default)]
    pub text: String,
    /// The calls that it makes.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// The reasoning before it, in the provider's own blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// How it ended.
    #[serde(default, with = "stop", skip_serializing_if = "stop::is_unknown")]
    pub stop: StopReason,
    /// The tokens that it took, if the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The tokens of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// The tokens that the model read.
    pub input_tokens: u64,
    /// The tokens that the model wrote.
    pub output_tokens: u64,
}

impl Usage {
    /// Returns a usage of this many tokens read and written.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
        }
    }
}

impl Reply {
    /// Returns a reply that is only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Returns a reply that is only calls.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self {
            calls: calls.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets how the reply ended.
    #[must_use]
    pub fn stop(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the tokens that it took.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

/// The outcome of a call: everything that the history keeps of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallOutcome {
    /// The id of the call that this answers.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The value that the tool returned, or that came with its error. Stored as JSON text, so that no number
    /// loses a digit.
    #[serde(default, with = "exact")]
    pub data: Value,
    /// The error of a call that failed.
    #[serde(default)]
    pub error: Option<ToolError>,
    /// A remark for the model.
    #[serde(default)]
    pub note: Option<String>,
    /// What the model should do next.
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// The changes that mending made to the arguments.
    #[serde(default)]
    pub changes: Vec<ChangeRecord>,
    /// The arguments that the tool got, if they differ from the ones that were sent.
    #[serde(default)]
    pub mended: Option<String>,
    /// The part of the call that loop detection compares.
    #[serde(default)]
    pub loop_key: LoopKey,
    /// The duration of the call in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The text that tells the model that it repeats itself.
    #[serde(default)]
    pub steer: Option<String>,
}

impl CallOutcome {
    /// Returns the outcome of this call.
    pub fn new(call: &Call, result: ToolResult) -> Self {
        let changes = result.changes().iter().map(ChangeRecord::from);
        let changes = call.changes.iter().cloned().chain(changes).collect();
        Self {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            data: result.payload().clone(),
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

    /// Returns true if the tool ran and succeeded.
    pub fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    /// The class of the error, if there is one.
    pub fn class(&self) -> Option<ErrorClass> {
        self.error.as_ref().map(ToolError::class)
    }

    /// The mistakes in the arguments of a refused call.
    pub fn faults(&self) -> &[ArgumentFault] {
        match &self.error {
            Some(ToolError::Argument(error)) => &error.faults,
            _ => &[],
        }
    }

    /// The text that the model reads.
    pub fn text(&self) -> String {
        let outcome = self.error.as_ref().map_or(Ok(&self.data), Err);
        let text = explain::result_text(outcome, self.note.as_deref(), &self.recommendations);
        match &self.steer {
            Some(steer) => format!("{steer}\n\n{text}"),
            None => text,
        }
    }

    /// Returns the outcome as `{ok, data, error, errorType, retryable, note, recommendations}`.
    pub fn structured(&self) -> Structured {
        let note = self.steer.as_deref().or(self.note.as_deref());
        tool_result::structured(&self.data, self.error.as_ref(), note, &self.recommendations)
    }

    /// Returns the structured outcome as a `tool_result` block.
    pub fn tool_result(&self) -> Value {
        tool_result::block(&self.call_id, &self.structured().to_json(), !self.is_ok())
    }
}

/// A [`Change`] in a form that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangeRecord {
    /// The name of the rule that made it.
    pub rule: String,
    /// The level of the rule.
    #[serde(with = "level")]
    pub level: Level,
    /// The place, as a JSON Pointer.
    pub path: String,
    /// The place from which the value was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The JSON text before the change.
    pub before: Option<String>,
    /// The JSON text after the change.
    pub after: Option<String>,
}

impl From<&Change> for ChangeRecord {
    fn from(change: &Change) -> Self {
        Self {
            rule: change.rule.name().to_owned(),
            level: change.level,
            path: change.pointer.as_str().to_owned(),
            from: change.from.as_ref().map(|from| from.as_str().to_owned()),
            before: change.before.clone().map(Into::into),
            after: change.after.clone().map(Into::into),
        }
    }
}

/// Serializes a [`Level`] as its name.
mod level {
    use goodcall_core::Level;
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands in a reference"
    )]
    pub(super) fn serialize<S: Serializer>(level: &Level, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(level.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
        match String::deserialize(from)?.as_str() {
            "safe" => Ok(Level::Safe),
            "eager" => Ok(Level::Eager),
            other => Err(de::Error::unknown_variant(other, &["safe", "eager"])),
        }
    }
}

/// Serializes a [`StopReason`] as its name.
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
        to.serialize_str(stop.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<StopReason, D::Error> {
        let name = String::deserialize(from)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// Serializes a value as JSON text, so that floats come back as they were.
mod exact {
    use goodcall_core::{Inexact, Kind, Node, Tree};
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::{Number, Value};

    pub(super) fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        let text = String::deserialize(from)?;
        match Tree::parse(&text) {
            Ok(tree) => value(tree.root()).map_err(serde::de::Error::custom),
            Err(_) => Ok(Value::String(text)),
        }
    }

    /// The value of a node; a number that was a float is one again.
    fn value(node: Node<'_>) -> Result<Value, Inexact> {
        match node.kind() {
            Kind::Array => node.elements().map(value).collect(),
            Kind::Object => {
                let members = node.members();
                let members = members.map(|(key, node)| Ok((key.to_owned(), value(node)?)));
                members.collect::<Result<_, _>>().map(Value::Object)
            }
            Kind::Number => {
                let digits = node.digits().expect("the node is a number");
                let float = digits
                    .parse()
                    .ok()
                    .filter(|_| digits.contains(['.', 'e', 'E']));
                match float.and_then(Number::from_f64) {
                    Some(float) => Ok(Value::Number(float)),
                    None => node.to_value(),
                }
            }
            _ => node.to_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_data_that_cannot_be_restored_is_refused() {
        let call =
            |stop: &str| format!(r#"{{"id":"1","name":"f","arguments":"{{}}","stop":"{stop}"}}"#);
        let read = |stop: &str| serde_json::from_str::<Call>(&call(stop));
        assert_eq!(read("cut_off").unwrap().stop, StopReason::CutOff);
        let error = read("gone").unwrap_err().to_string();
        assert!(error.starts_with("unknown stop reason `gone`"), "{error}");

        let restored = |text: &str| {
            let from = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
            exact::deserialize(from)
        };
        assert_eq!(restored("[1, 1.0]"), Ok(serde_json::json!([1, 1.0])));
        assert!(restored("[123456789012345678901234567890]").is_err());
    }
}
