//! The error that a tool returns, with one text for the model and another for the operator.

use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::error::{self, Cause, ToolError, ToolRuntimeError};
use crate::explain;

/// The error that a tool returns: a message for the model, what it should do, and for the operator
/// the error behind it.
///
/// [`Failure::new`] says that the tool refused (class `logical`), with words for the model; other
/// constructors name the reason ([`Failure::not_found`], [`Failure::rate_limited`], …). So does the
/// `?` operator on a text. The `?` operator on any other error (a `std::error::Error`,
/// `anyhow::Error`, `eyre::Report`) says that the tool failed (class `runtime`). What such an error
/// says may hold paths, addresses and secrets, so the model reads only that the tool failed; the
/// operator finds the error with all its causes in [`ToolRuntimeError::source`](crate::ToolRuntimeError)
/// and in [`Event::Error`](crate::Event). [`ForModel`] gives an error a text for the model, and
/// [`Toolbox::show_errors`](crate::Toolbox::show_errors) shows them all.
///
/// It is not a `std::error::Error` itself, so that `?` can make one of any error. In a function with
/// another error, it leaves as a [`ToolError`]: `.map_err(ToolError::from)?`.
///
/// ```
/// use goodcall::{Failure, ForModel};
///
/// fn read(path: &str) -> Result<String, Failure> {
///     if path.starts_with('/') {
///         return Err(Failure::new("paths are relative to the project")
///             .recommend("call list_files first"));
///     }
///     let text = std::fs::read_to_string(path).for_model("the file cannot be read")?;
///     Ok(text.lines().next().ok_or("the file is empty")?.to_owned())
/// }
/// assert_eq!(read("/etc/passwd").unwrap_err().message(), "paths are relative to the project");
/// let error = read("no such file").unwrap_err();
/// assert_eq!(error.message(), "the file cannot be read");
/// assert!(error.chain().unwrap().starts_with("No such file"));
/// ```
#[derive(Clone, Debug)]
pub struct Failure(Box<FailureParts>);

#[derive(Clone, Debug)]
struct FailureParts {
    cause: Cause,
    message: String,
    note: Option<String>,
    recommendations: Vec<String>,
    data: Value,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// Returns the failure of a tool that ran and refused.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(Cause::Refused, message)
    }

    /// Returns the failure of a tool that could not do its work.
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::of(Cause::Failed, message)
    }

    /// Returns the failure of a tool that was asked for something that does not exist (class
    /// `logical`).
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::of(Cause::NotFound, message)
    }

    /// Returns the failure of a tool that may not do what it was asked for (class `logical`). The
    /// model is told not to make the call again.
    pub fn permission_denied(message: impl Into<String>) -> Self {
        Self::of(Cause::PermissionDenied, message)
    }

    /// Returns the failure of a tool that was called too often (class `runtime`). The model is told
    /// to make the call later.
    pub fn rate_limited(message: impl Into<String>) -> Self {
        Self::of(Cause::RateLimited, message)
    }

    /// Returns the failure of a tool that could not reach what it needs (class `runtime`).
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::of(Cause::Unavailable, message)
    }

    fn of(cause: Cause, message: impl Into<String>) -> Self {
        Self(Box::new(FailureParts {
            cause,
            message: message.into(),
            note: None,
            recommendations: Vec::new(),
            data: Value::Null,
            source: None,
        }))
    }

    /// Adds one thing that the model should do.
    #[must_use]
    pub fn recommend(mut self, what: impl Into<String>) -> Self {
        self.0.recommendations.push(what.into());
        self
    }

    /// Sets a remark for the model.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.0.note = Some(note.into());
        self
    }

    /// Sets the data of the error: what the tool found before it failed.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.0.data = data.into();
        self
    }

    /// Sets the error behind it, for the operator.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// How the tool failed.
    pub fn cause(&self) -> Cause {
        self.0.cause
    }

    /// The text for the model.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error behind it, to be downcast.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }

    /// The error behind it and all its causes, in one line for the operator.
    pub fn chain(&self) -> Option<String> {
        let first: &(dyn Error + 'static) = self.0.source.as_deref()?;
        Some(error::chain(first))
    }

    /// Takes it apart: the error, the note, the recommendations and the data.
    pub(crate) fn into_parts(self) -> (ToolError, Option<String>, Vec<String>, Value) {
        let source = self.chain();
        let parts = *self.0;
        let mut error = ToolError::runtime(parts.cause, parts.message);
        if let ToolError::Runtime(ToolRuntimeError { source: to, .. }) = &mut error {
            *to = source;
        }
        (error, parts.note, parts.recommendations, parts.data)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// A failure as an error of the host.
impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        failure.into_parts().0
    }
}

/// A text is for the model; any other error is for the operator.
impl<E: Into<Box<dyn Error + Send + Sync>> + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        let is_text = any.is::<String>() || any.is::<&str>() || any.is::<Cow<'static, str>>();
        let source: Box<dyn Error + Send + Sync> = error.into();
        if is_text {
            return Self::new(source.to_string());
        }
        Self::runtime(explain::FAILED).caused_by(source)
    }
}

/// Gives the error of a `Result` a text for the model; the error itself is kept for the operator.
pub trait ForModel<T> {
    /// Sets the text.
    ///
    /// # Errors
    /// If there was an error.
    fn for_model(self, text: impl Into<String>) -> Result<T, Failure>;

    /// Shows the model what the error and its causes say.
    ///
    /// # Errors
    /// If there was an error.
    fn shown_to_model(self) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> ForModel<T> for Result<T, E> {
    fn for_model(self, text: impl Into<String>) -> Result<T, Failure> {
        self.map_err(|error| Failure::runtime(text).caused_by(error))
    }

    fn shown_to_model(self) -> Result<T, Failure> {
        self.map_err(|error| {
            let mut failure = Failure::runtime("").caused_by(error);
            failure.0.message = failure.chain().unwrap_or_default();
            failure
        })
    }
}
