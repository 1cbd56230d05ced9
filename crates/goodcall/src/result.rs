//! What comes back from a call.

use goodcall_core::{Change, Structured};
use serde_json::Value;

use crate::ErrorClass;

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
    outcome: Result<Value, (ErrorClass, String)>,
    note: Option<String>,
    recommendations: Vec<String>,
    changes: Vec<Change>,
}

impl ToolResult {
    /// The tool ran and has this to say.
    pub fn success(data: impl Into<Value>) -> Self {
        Self::new(Ok(data.into()))
    }

    /// The tool ran and said no.
    pub fn error(message: impl Into<String>) -> Self {
        Self::failure(ErrorClass::Logical, message)
    }

    /// An error of this class.
    pub fn failure(class: ErrorClass, message: impl Into<String>) -> Self {
        Self::new(Err((class, message.into())))
    }

    fn new(outcome: Result<Value, (ErrorClass, String)>) -> Self {
        Self {
            outcome,
            note: None,
            recommendations: Vec::new(),
            changes: Vec::new(),
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

    /// Did the tool run and succeed?
    pub fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    /// What the tool returned.
    pub fn data(&self) -> Option<&Value> {
        self.outcome.as_ref().ok()
    }

    /// What went wrong, in the words that the model reads.
    pub fn message(&self) -> Option<&str> {
        self.outcome
            .as_ref()
            .err()
            .map(|(_, message)| message.as_str())
    }

    /// The class of the error.
    pub fn class(&self) -> Option<ErrorClass> {
        self.outcome.as_ref().err().map(|(class, _)| *class)
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

    /// The text that the model reads: the error, or the data (a string as it is, anything else
    /// as JSON).
    pub fn text(&self) -> String {
        match &self.outcome {
            Ok(Value::String(text)) => text.clone(),
            Ok(data) => data.to_string(),
            Err((_, message)) => message.clone(),
        }
    }

    /// The result as `{ok, data, error, errorType, retryable, note, recommendations}`.
    pub fn structured(&self) -> Structured {
        let (data, error, class) = match &self.outcome {
            Ok(data) => (data.clone(), None, None),
            Err((class, message)) => (Value::Null, Some(message.clone()), Some(*class)),
        };
        Structured {
            ok: class.is_none(),
            data,
            error,
            error_type: class.map(ErrorClass::name),
            retryable: class.is_some_and(ErrorClass::retryable),
            note: self.note.clone(),
            recommendations: self.recommendations.clone(),
        }
    }
}
