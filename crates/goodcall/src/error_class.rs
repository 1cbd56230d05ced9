//! The classes of errors, and what each means for the model, the user and the operator.

use std::fmt;

use goodcall_core::Reason;
use serde::{Deserialize, Serialize};

use crate::explain;

/// The kind of error in which a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorClass {
    /// The arguments are wrong; the model must rewrite them.
    Validation,
    /// The arguments were cut off.
    Truncated,
    /// There is no such tool.
    UnknownTool,
    /// The tool failed while it ran: it returned an error, panicked, or took too long.
    Runtime,
    /// The tool ran and said no.
    Logical,
    /// The call was cancelled.
    Cancelled,
    /// The user or the host does not allow the call.
    Denied,
    /// The model repeats itself.
    Loop,
}

/// Who has to know of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Audience {
    /// The model, which can do something else.
    pub model: bool,
    /// The person in the conversation.
    pub user: bool,
    /// The operator of the host: something is broken or a limit is too tight.
    pub operator: bool,
}

const MODEL: Audience = Audience {
    model: true,
    user: false,
    operator: false,
};
const MODEL_AND_USER: Audience = Audience {
    user: true,
    ..MODEL
};
const MODEL_AND_OPERATOR: Audience = Audience {
    operator: true,
    ..MODEL
};
const ALL: Audience = Audience {
    user: true,
    ..MODEL_AND_OPERATOR
};

impl ErrorClass {
    /// Every class.
    pub const ALL: &'static [ErrorClass] = &[
        ErrorClass::Validation,
        ErrorClass::Truncated,
        ErrorClass::UnknownTool,
        ErrorClass::Runtime,
        ErrorClass::Logical,
        ErrorClass::Cancelled,
        ErrorClass::Denied,
        ErrorClass::Loop,
    ];

    /// The name in a structured result.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorClass::Validation => "validation",
            ErrorClass::Truncated => "truncated",
            ErrorClass::UnknownTool => "unknown_tool",
            ErrorClass::Runtime => "runtime",
            ErrorClass::Logical => "logical",
            ErrorClass::Cancelled => "cancelled",
            ErrorClass::Denied => "denied",
            ErrorClass::Loop => "loop",
        }
    }

    /// Returns true if the model may call the tool again without its arguments being at fault.
    ///
    /// After a `runtime` error the same call may succeed. After a `logical` error the tool ran with
    /// valid arguments and said no: another call may succeed once the model has acted on the error,
    /// mostly with other arguments.
    pub const fn retryable(self) -> bool {
        matches!(self, ErrorClass::Runtime | ErrorClass::Logical)
    }

    /// Who has to know of an error of this class.
    pub const fn audience(self) -> Audience {
        match self {
            ErrorClass::Validation
            | ErrorClass::UnknownTool
            | ErrorClass::Logical
            | ErrorClass::Denied => MODEL,
            ErrorClass::Truncated => MODEL_AND_OPERATOR,
            ErrorClass::Cancelled => MODEL_AND_USER,
            ErrorClass::Runtime | ErrorClass::Loop => ALL,
        }
    }

    /// What the model should do, used where the tool itself recommends nothing.
    pub const fn recommendations(self) -> &'static [&'static str] {
        explain::recommendations(self)
    }

    /// Returns true if the call was refused before anything ran.
    pub const fn is_refusal(self) -> bool {
        self.is_fault() || matches!(self, ErrorClass::Denied)
    }

    /// Returns true if the call itself was at fault, so that it was refused.
    pub(crate) const fn is_fault(self) -> bool {
        matches!(
            self,
            ErrorClass::Validation
                | ErrorClass::Truncated
                | ErrorClass::UnknownTool
                | ErrorClass::Loop
        )
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Reason> for ErrorClass {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Truncated => ErrorClass::Truncated,
            Reason::UnknownTool => ErrorClass::UnknownTool,
            Reason::Loop => ErrorClass::Loop,
            _ => ErrorClass::Validation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialized_form_is_the_name() {
        for class in ErrorClass::ALL {
            let text = serde_json::to_string(class).unwrap();
            assert_eq!(text, format!("\"{class}\""));
            assert!(class.audience().model && !class.recommendations().is_empty());
        }
    }

    #[test]
    fn refusals_are_not_retryable() {
        for class in ErrorClass::ALL {
            assert!(!(class.is_refusal() && class.retryable()), "{class}");
        }
    }
}
