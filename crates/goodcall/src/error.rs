//! What can go wrong with a call: before the tool ran, or while it ran. The type says which.

use std::fmt;

use goodcall_core::Refusal;
use serde::{Deserialize, Serialize};

use crate::ErrorClass;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolError {
    /// The tool was not run.
    Argument(ToolArgError),
    /// The tool ran, and failed or said no.
    Runtime(ToolRuntimeError),
}

/// A call that was refused: nothing was run, the same call will be refused again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolArgError {
    /// `validation`, `truncated`, `unknown_tool` or `loop`.
    pub class: ErrorClass,
    /// The words that the model reads.
    pub message: String,
    /// Where and what; told apart by loop detection.
    pub faults: Vec<ArgumentFault>,
}

/// One fault of a refused call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArgumentFault {
    /// JSON Pointer.
    pub path: String,
    /// The name of the issue's code.
    pub code: String,
}

impl ArgumentFault {
    /// A fault of this code at this JSON Pointer.
    pub fn new(path: impl Into<String>, code: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            code: code.into(),
        }
    }
}

/// A tool that failed while it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRuntimeError {
    /// How it failed.
    pub cause: Cause,
    /// The words that the model reads.
    pub message: String,
}

/// How a tool failed while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It ran and said no.
    Refused,
    /// It could not do its work.
    Failed,
    /// It panicked.
    Panicked,
    /// It took too long.
    TimedOut,
    /// It was called off, or the host stopped while it ran.
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
    /// An error of this class, in these words.
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

    /// A refusal, in these words.
    pub(crate) fn refusal(bad: &Refusal, message: String) -> Self {
        let fault = |issue: &goodcall_core::Issue| ArgumentFault {
            path: issue.pointer.as_str().to_owned(),
            code: issue.kind.name().to_owned(),
        };
        ToolError::Argument(ToolArgError {
            class: bad.reason.into(),
            message,
            faults: bad.issues.iter().map(fault).collect(),
        })
    }

    /// The class.
    pub fn class(&self) -> ErrorClass {
        match self {
            ToolError::Argument(error) => error.class,
            ToolError::Runtime(error) => error.cause.class(),
        }
    }

    /// The words that the model reads.
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

/// What a tool returns when it does not succeed: words for the model, and what it should do.
///
/// Made by hand the tool *said no* (class `logical`); made by `?` from any error it *failed*
/// (class `runtime`).
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
    /// The tool ran and says no.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(Cause::Refused, message)
    }

    /// The tool could not do its work.
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

    /// One more thing that the model should do.
    #[must_use]
    pub fn recommend(mut self, what: impl Into<String>) -> Self {
        self.recommendations.push(what.into());
        self
    }

    /// A remark for the model.
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
