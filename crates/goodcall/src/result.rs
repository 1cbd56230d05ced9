//! What comes back from a call.

use goodcall_core::{Change, Refusal, Structured};
use serde::Serialize;
use serde_json::{Value, json};

use crate::bound::LoopKey;
use crate::error::{Cause, Failure, ToolError};
use crate::{ErrorClass, explain};

/// The result of a call: data, or an error that the model can act on.
///
/// ```
/// use goodcall::ToolResult;
///
/// let result = ToolResult::error("no such file: a.txt")
///     .with_recommendations(["call list_files first"])
///     .with_note("paths are relative to the project");
/// assert_eq!(
///     result.structured().to_json(),
///     r#"{"ok":false,"data":null,"error":"no such file: a.txt","errorType":"logical","retryable":true,"note":"paths are relative to the project","recommendations":["call list_files first"]}"#
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    outcome: Result<Value, ToolError>,
    note: Option<String>,
    recommendations: Vec<String>,
    changes: Vec<Change>,
    loop_key: LoopKey,
}

impl ToolResult {
    /// The tool ran and has this to say.
    pub fn success(data: impl Into<Value>) -> Self {
        Self::new(Ok(data.into()))
    }

    /// Like [`ToolResult::success`], for anything that serde can write.
    pub fn of(data: impl Serialize) -> Self {
        match serde_json::to_value(data) {
            Ok(data) => Self::success(data),
            Err(error) => Self::failed(Cause::Failed, explain::unwritable(&error.to_string())),
        }
    }

    /// The tool ran and said no.
    pub fn error(message: impl Into<String>) -> Self {
        Self::failure(ErrorClass::Logical, message)
    }

    /// An error of this class.
    pub fn failure(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::new(Err(ToolError::new(class, message)))
    }

    pub(crate) fn failed(cause: Cause, message: impl Into<String>) -> Self {
        Self::new(Err(ToolError::runtime(cause, message)))
    }

    /// A call that was refused, in these words; nothing was run.
    pub fn refused(bad: &Refusal, message: impl Into<String>) -> Self {
        Self::new(Err(ToolError::refusal(bad, message.into())))
    }

    fn new(outcome: Result<Value, ToolError>) -> Self {
        Self {
            outcome,
            note: None,
            recommendations: Vec::new(),
            changes: Vec::new(),
            loop_key: LoopKey::Arguments,
        }
    }

    /// What the model should do next.
    #[must_use]
    pub fn with_recommendations<S: Into<String>>(
        mut self,
        recommendations: impl IntoIterator<Item = S>,
    ) -> Self {
        self.recommendations = recommendations.into_iter().map(Into::into).collect();
        self
    }

    /// A remark for the model.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    pub(crate) fn with_changes(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }

    pub(crate) fn with_loop_key(mut self, key: LoopKey) -> Self {
        self.loop_key = key;
        self
    }

    /// Did the tool run and succeed?
    pub fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    /// What the tool returned.
    pub fn data(&self) -> Option<&Value> {
        self.outcome.as_ref().ok()
    }

    /// What went wrong: before the tool ran, or while it ran.
    pub fn tool_error(&self) -> Option<&ToolError> {
        self.outcome.as_ref().err()
    }

    /// What went wrong, in the words that the model reads.
    pub fn message(&self) -> Option<&str> {
        self.tool_error().map(ToolError::message)
    }

    /// The class of the error.
    pub fn class(&self) -> Option<ErrorClass> {
        self.tool_error().map(ToolError::class)
    }

    /// A remark for the model.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// What the model should do next.
    pub fn recommendations(&self) -> &[String] {
        &self.recommendations
    }

    /// How the arguments were mended before the tool ran; empty if they were good.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What tells this call from others when loops are looked for.
    pub fn loop_key(&self) -> &LoopKey {
        &self.loop_key
    }

    /// The text that the model reads: the error, or the data (a string as it is, anything else
    /// as JSON).
    pub fn text(&self) -> String {
        match &self.outcome {
            Ok(data) => data_text(data),
            Err(error) => error.message().to_owned(),
        }
    }

    /// The result as `{ok, data, error, errorType, retryable, note, recommendations}`.
    pub fn structured(&self) -> Structured {
        structured(
            self.outcome.as_ref(),
            self.note.as_deref(),
            &self.recommendations,
        )
    }

    /// The structured result as a `tool_result` block.
    ///
    /// ```
    /// use goodcall::ToolResult;
    ///
    /// let block = ToolResult::success("done").tool_result("toolu_1");
    /// assert_eq!(block["tool_use_id"], "toolu_1");
    /// assert_eq!(block["is_error"], false);
    /// assert!(block["content"].as_str().unwrap().starts_with(r#"{"ok":true,"data":"done""#));
    /// ```
    pub fn tool_result(&self, tool_use_id: &str) -> Value {
        block(tool_use_id, &self.structured().to_json(), !self.is_ok())
    }
}

impl From<Failure> for ToolResult {
    fn from(failure: Failure) -> Self {
        let mut result = Self::failed(failure.cause, failure.message)
            .with_recommendations(failure.recommendations);
        result.note = failure.note;
        result
    }
}

/// A result block: what it answers, what it says, whether that is an error.
pub(crate) fn block(tool_use_id: &str, content: &str, is_error: bool) -> Value {
    json!({
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": content,
        "is_error": is_error,
    })
}

/// A string as it is, anything else as JSON.
pub(crate) fn data_text(data: &Value) -> String {
    match data {
        Value::String(text) => text.clone(),
        data => data.to_string(),
    }
}

pub(crate) fn structured(
    outcome: Result<&Value, &ToolError>,
    note: Option<&str>,
    recommendations: &[String],
) -> Structured {
    let class = outcome.err().map(ToolError::class);
    let own = recommendations.iter().cloned();
    let recommendations = match class {
        Some(class) if recommendations.is_empty() => class
            .recommendations()
            .iter()
            .map(|text| (*text).to_owned())
            .collect(),
        _ => own.collect(),
    };
    let mut structured = Structured::default();
    structured.ok = class.is_none();
    structured.data = outcome.cloned().unwrap_or(Value::Null);
    structured.error = outcome.err().map(|error| error.message().to_owned());
    structured.error_type = class.map(ErrorClass::name);
    structured.retryable = class.is_some_and(ErrorClass::retryable);
    structured.note = note.map(str::to_owned);
    structured.recommendations = recommendations;
    structured
}
