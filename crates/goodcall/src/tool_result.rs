//! The result of a call.

use goodcall_core::{Change, Refusal, Structured};
use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments::LoopKey;
use crate::error::{Cause, ToolArgError, ToolError};
use crate::{ErrorClass, Failure, Tool, explain};

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
    /// The data of an error.
    payload: Value,
    note: Option<String>,
    recommendations: Vec<String>,
    changes: Vec<Change>,
    loop_key: LoopKey,
}

impl ToolResult {
    /// Returns the result of a tool that succeeded with this data.
    pub fn success(data: impl Into<Value>) -> Self {
        Self::new(Ok(data.into()))
    }

    /// Like [`ToolResult::success`], for anything that serde can serialize.
    pub fn of(data: impl Serialize) -> Self {
        match serde_json::to_value(data) {
            Ok(data) => Self::success(data),
            Err(error) => Self::failed(Cause::Failed, explain::unwritable(&error.to_string())),
        }
    }

    /// Returns the result of a tool that ran and refused.
    pub fn error(message: impl Into<String>) -> Self {
        Self::failure(ErrorClass::Logical, message)
    }

    /// Returns an error of this class.
    pub fn failure(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::new(Err(ToolError::new(class, message)))
    }

    pub(crate) fn failed(cause: Cause, message: impl Into<String>) -> Self {
        Self::new(Err(ToolError::runtime(cause, message)))
    }

    /// Returns the result of a call that was refused; nothing was run.
    pub fn refused(bad: &Refusal, message: impl Into<String>) -> Self {
        ToolArgError::refused(bad, message.into(), None).into()
    }

    fn new(outcome: Result<Value, ToolError>) -> Self {
        Self {
            outcome,
            payload: Value::Null,
            note: None,
            recommendations: Vec::new(),
            changes: Vec::new(),
            loop_key: LoopKey::Arguments,
        }
    }

    /// Sets what the model should do next.
    #[must_use]
    pub fn with_recommendations<S: Into<String>>(
        mut self,
        recommendations: impl IntoIterator<Item = S>,
    ) -> Self {
        self.recommendations = recommendations.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a remark for the model.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Sets the data of an error: what the tool found before it failed.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        match &mut self.outcome {
            Ok(own) => *own = data.into(),
            Err(_) => self.payload = data.into(),
        }
        self
    }

    /// Recommends what the tool itself recommends for this error, if the error does not.
    pub(crate) fn recommended_by(mut self, tool: &dyn Tool) -> Self {
        if let Some(class) = self.class() {
            let own = tool.recommendations(class);
            if self.recommendations.is_empty() || class.is_refusal() {
                self.recommendations.extend(own);
            }
        }
        self
    }

    /// Shows the model what the error behind the failure says.
    pub(crate) fn with_shown_error(mut self) -> Self {
        if let Err(ToolError::Runtime(error)) = &mut self.outcome
            && error.message == explain::FAILED
            && let Some(source) = &error.source
        {
            error.message.clone_from(source);
        }
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

    /// Returns true if the tool ran and succeeded.
    pub fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The data that the tool returned, if it succeeded.
    pub fn data(&self) -> Option<&Value> {
        self.outcome.as_ref().ok()
    }

    /// The data of the result: what the tool returned, or what came with its error.
    pub(crate) fn payload(&self) -> &Value {
        self.outcome.as_ref().unwrap_or(&self.payload)
    }

    /// The error, if there is one; its type says whether the tool ran.
    pub fn tool_error(&self) -> Option<&ToolError> {
        self.outcome.as_ref().err()
    }

    /// The message of the error, without notes and recommendations.
    pub fn message(&self) -> Option<&str> {
        self.tool_error().map(ToolError::message)
    }

    /// The class of the error, if there is one.
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

    /// The changes that mending made before the tool ran; empty if the arguments were good.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The part of the call that loop detection compares.
    pub fn loop_key(&self) -> &LoopKey {
        &self.loop_key
    }

    /// The text that the model reads: the error, or the data (a string as it is, anything else
    /// as JSON), then the note and the recommendations.
    pub fn text(&self) -> String {
        explain::result_text(
            self.outcome.as_ref(),
            self.note.as_deref(),
            &self.recommendations,
        )
    }

    /// Returns the result as `{ok, data, error, errorType, retryable, note, recommendations}`.
    pub fn structured(&self) -> Structured {
        structured(
            self.payload(),
            self.tool_error(),
            self.note.as_deref(),
            &self.recommendations,
        )
    }

    /// Returns the structured result as a `tool_result` block.
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
        let (error, note, recommendations, data) = failure.into_parts();
        let mut result = Self::new(Err(error)).with_data(data);
        result.note = note;
        result.recommendations = recommendations;
        result
    }
}

impl From<ToolArgError> for ToolResult {
    fn from(error: ToolArgError) -> Self {
        let recommendations = error.recommendations.clone();
        Self::new(Err(error.into())).with_recommendations(recommendations)
    }
}

/// Returns a `tool_result` block.
pub(crate) fn block(tool_use_id: &str, content: &str, is_error: bool) -> Value {
    json!({
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": content,
        "is_error": is_error,
    })
}

/// Returns the structured form of a result. The error of a refused call is one line, because its
/// edits are the recommendations.
pub(crate) fn structured(
    data: &Value,
    error: Option<&ToolError>,
    note: Option<&str>,
    recommendations: &[String],
) -> Structured {
    let class = error.map(ToolError::class);
    let recommendations = match error {
        Some(error) if recommendations.is_empty() => error
            .recommendations()
            .iter()
            .map(|text| (*text).to_owned())
            .collect(),
        _ => recommendations.to_vec(),
    };
    let message = |error: &ToolError| match error {
        ToolError::Argument(error) if !error.summary.is_empty() => error.summary.clone(),
        error => error.message().to_owned(),
    };
    let mut structured = Structured::default();
    structured.ok = class.is_none();
    structured.data = data.clone();
    structured.error = error.map(message);
    structured.error_type = class.map(ErrorClass::name);
    structured.retryable = error.is_some_and(ToolError::retryable);
    structured.note = note.map(str::to_owned);
    structured.recommendations = recommendations;
    structured
}
