//! The errors of a call. The type says whether the tool was run.

use std::fmt;

use goodcall_core::Refusal;
use serde::{Deserialize, Serialize};

use crate::ErrorClass;

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolError {
    /// The tool was not run.
    Argument(ToolArgError),
    /// The tool ran, and failed or refused.
    Runtime(ToolRuntimeError),
}

/// A call that was refused: nothing was run, and the same call would be refused again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolArgError {
    /// `validation`, `truncated`, `unknown_tool` or `loop`.
    pub class: ErrorClass,
    /// The text that the model reads.
    pub message: String,
    /// The places and kinds of the mistakes, compared by loop detection.
    pub faults: Vec<ArgumentFault>,
}

/// One fault of a refused call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArgumentFault {
    /// The place, as a JSON Pointer.
    pub path: String,
    /// The name of the issue's kind, such as `missing`.
    pub kind: String,
}

impl ArgumentFault {
    /// Returns a fault of this kind at this JSON Pointer.
    pub fn new(path: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            kind: kind.into(),
        }
    }
}

/// A tool that failed while it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRuntimeError {
    /// How it failed.
    pub cause: Cause,
    /// The text that the model reads.
    pub message: String,
}

/// How a tool failed while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It ran and refused.
    Refused,
    /// It could not do its work.
    Failed,
    /// It panicked.
    Panicked,
    /// It took too long.
    TimedOut,
    /// It was cancelled, or the host stopped while it ran.
    Cancelled,
}

impl Cause {
    /// The class of errors with this cause.
    pub const fn class(self) -> ErrorClass {
        match self {
            Cause::Refused => ErrorClass::Logical,
            Cause::Failed | Cause::Panicked | Cause::TimedOut => ErrorClass::Runtime,
            Cause::Cancelled => ErrorClass::Cancelled,
        }
    }
}

impl ToolError {
    /// Returns an error of this class with this message.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let cause = match class {
            ErrorClass::Logical => Cause::Refused,
            ErrorClass::Runtime => Cause::Failed,
            ErrorClass::Cancelled => Cause::Cancelled,
            _ => {
                return ToolError::Argument(ToolArgError {
                    class,
                    message: message.into(),
                    faults: Vec::new(),
                });
            }
        };
        Self::runtime(cause, message)
    }

    pub(crate) fn runtime(cause: Cause, message: impl Into<String>) -> Self {
        let message = message.into();
        ToolError::Runtime(ToolRuntimeError { cause, message })
    }

    /// Returns the error of a refused call with this message.
    pub(crate) fn refusal(bad: &Refusal, message: String) -> Self {
        let fault = |issue: &goodcall_core::Issue| ArgumentFault {
            path: issue.pointer.as_str().to_owned(),
            kind: issue.kind.name().to_owned(),
        };
        ToolError::Argument(ToolArgError {
            class: bad.reason.into(),
            message,
            faults: bad.issues.iter().map(fault).collect(),
        })
    }

    /// The class of this error.
    pub fn class(&self) -> ErrorClass {
        match self {
            ToolError::Argument(error) => error.class,
            ToolError::Runtime(error) => error.cause.class(),
        }
    }

    /// The text that the model reads.
    pub fn message(&self) -> &str {
        match self {
            ToolError::Argument(error) => &error.message,
            ToolError::Runtime(error) => &error.message,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for ToolError {}

/// The error that a tool returns: a message for the model, and what it should do.
///
/// [`Failure::new`] says that the tool refused (class `logical`); the `?` operator on any error says
/// that it failed (class `runtime`).
///
/// ```
/// use goodcall::Failure;
///
/// fn read(path: &str) -> Result<String, Failure> {
///     if path.starts_with('/') {
///         return Err(Failure::new("paths are relative to the project")
///             .recommend("call list_files first"));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
/// assert!(read("/etc/passwd").is_err() && read("no such file").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    pub(crate) note: Option<String>,
    pub(crate) recommendations: Vec<String>,
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

    fn of(cause: Cause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
            note: None,
            recommendations: Vec::new(),
        }
    }

    /// Adds one thing that the model should do.
    #[must_use]
    pub fn recommend(mut self, what: impl Into<String>) -> Self {
        self.recommendations.push(what.into());
        self
    }

    /// Sets a remark for the model.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::runtime(error.to_string())
    }
}
