//! The errors of a call. The type says whether the tool was run.

use std::error::Error;
use std::fmt;

use goodcall_core::{Explain, Issue, Refusal, Style, clip};
use serde::{Deserialize, Serialize};

use crate::{ErrorClass, explain};

/// The most characters of an error that a model reads.
const MOST_CHARS: usize = 4000;
/// The most characters of an error and its causes that are kept for the operator.
const MOST_CHAIN_CHARS: usize = 8000;

/// Returns an error and all its causes in one line, for the operator.
pub(crate) fn chain(first: &(dyn Error + 'static)) -> String {
    let mut texts = vec![first.to_string()];
    let mut next = first.source();
    while let Some(error) = next {
        let text = error.to_string();
        // Some errors repeat their cause.
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        next = error.source();
    }
    clip(&texts.join(": "), MOST_CHAIN_CHARS)
}

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolError {
    /// The tool was not run.
    Argument(ToolArgError),
    /// The tool ran, and failed or refused.
    Runtime(ToolRuntimeError),
}

/// A call that was refused: nothing was run, and the same call would be refused again. It displays
/// as the text for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolArgError {
    /// `validation`, `truncated`, `unknown_tool`, `denied` or `loop`.
    pub class: ErrorClass,
    /// The text that the model reads.
    pub message: String,
    /// The reason in one line, for a structured result that lists the edits apart.
    #[serde(default)]
    pub summary: String,
    /// The edits that the model should make, one by one.
    #[serde(default)]
    pub recommendations: Vec<String>,
    /// The places and kinds of the mistakes, compared by loop detection.
    pub faults: Vec<ArgumentFault>,
}

impl ToolArgError {
    /// Returns an error of a host's own check, with the text for the model.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            class,
            summary: message.clone(),
            message,
            recommendations: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Returns the error of a refused call with this text for the model.
    pub(crate) fn refused(bad: &Refusal, message: String, tool: Option<&str>) -> Self {
        let explain = Explain::new(Style::Structured);
        let explain = tool.map_or(explain, |name| explain.tool(name));
        let structured = explain.structured(bad);
        let fault = |issue: &Issue| ArgumentFault::new(issue.pointer.as_str(), issue.kind.name());
        Self {
            class: bad.reason.into(),
            message,
            summary: structured.error.unwrap_or_default(),
            recommendations: structured.recommendations,
            faults: bad.issues.iter().map(fault).collect(),
        }
    }
}

impl fmt::Display for ToolArgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolArgError {}

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
    /// The error behind it with all its causes, for the operator. It may hold secrets, so it is
    /// not stored with a run.
    #[serde(default, skip_serializing)]
    pub source: Option<String>,
}

impl fmt::Display for ToolRuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolRuntimeError {}

/// How a tool failed while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It ran and refused.
    Refused,
    /// It ran, and what it was asked for does not exist.
    NotFound,
    /// It ran, and may not do what it was asked for.
    PermissionDenied,
    /// It could not do its work.
    Failed,
    /// It was called too often.
    RateLimited,
    /// It could not reach what it needs.
    Unavailable,
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
            Cause::Refused | Cause::NotFound | Cause::PermissionDenied => ErrorClass::Logical,
            Cause::Failed
            | Cause::RateLimited
            | Cause::Unavailable
            | Cause::Panicked
            | Cause::TimedOut => ErrorClass::Runtime,
            Cause::Cancelled => ErrorClass::Cancelled,
        }
    }

    /// Returns true if the model may call the tool again: as its class says, but never after
    /// [`Cause::PermissionDenied`].
    pub const fn retryable(self) -> bool {
        !matches!(self, Cause::PermissionDenied) && self.class().retryable()
    }
}

impl ToolError {
    /// Returns an error of this class with this message.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        let cause = match class {
            ErrorClass::Logical => Cause::Refused,
            ErrorClass::Runtime => Cause::Failed,
            ErrorClass::Cancelled => Cause::Cancelled,
            _ => return ToolError::Argument(ToolArgError::new(class, message)),
        };
        Self::runtime(cause, message)
    }

    /// Returns an error of a tool that ran. A message of any length may come from elsewhere, so it
    /// is cut to what a model should read.
    pub(crate) fn runtime(cause: Cause, message: impl Into<String>) -> Self {
        ToolError::Runtime(ToolRuntimeError {
            cause,
            message: clip(&message.into(), MOST_CHARS),
            source: None,
        })
    }

    /// The class of this error.
    pub fn class(&self) -> ErrorClass {
        match self {
            ToolError::Argument(error) => error.class,
            ToolError::Runtime(error) => error.cause.class(),
        }
    }

    /// Returns true if the model may call the tool again without its arguments being at fault.
    pub fn retryable(&self) -> bool {
        match self {
            ToolError::Argument(error) => error.class.retryable(),
            ToolError::Runtime(error) => error.cause.retryable(),
        }
    }

    /// What the model should do, used where neither the tool nor the error recommends anything.
    pub(crate) fn recommendations(&self) -> &'static [&'static str] {
        match self {
            ToolError::Argument(error) => error.class.recommendations(),
            ToolError::Runtime(error) => explain::recommendations_for(error.cause),
        }
    }

    /// The text that the model reads, without notes and recommendations.
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

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ToolError::Argument(error) => Some(error),
            ToolError::Runtime(error) => Some(error),
        }
    }
}

impl From<ToolArgError> for ToolError {
    fn from(error: ToolArgError) -> Self {
        ToolError::Argument(error)
    }
}
