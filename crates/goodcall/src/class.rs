//! The classes of errors: one row each.

use std::fmt;

use goodcall_core::Reason;
use serde::{Deserialize, Serialize};

/// What kind of error a call ended in.
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
    /// The tool failed while it ran: it threw, panicked, or took too long.
    Runtime,
    /// The tool ran and said no.
    Logical,
    /// The call was called off.
    Cancelled,
    /// The same thing again and again.
    Loop,
}

/// Who has to know of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Audience {
    /// The model: it can do something else.
    pub model: bool,
    /// The person in the conversation.
    pub user: bool,
    /// Who runs the host: something is broken or set too tight.
    pub operator: bool,
}

/// One row of the table.
struct Row {
    name: &'static str,
    retryable: bool,
    told: Audience,
    recommendations: &'static [&'static str],
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
    pub const ALL: [ErrorClass; 7] = [
        ErrorClass::Validation,
        ErrorClass::Truncated,
        ErrorClass::UnknownTool,
        ErrorClass::Runtime,
        ErrorClass::Logical,
        ErrorClass::Cancelled,
        ErrorClass::Loop,
    ];

    const fn row(self) -> Row {
        let (name, retryable, told, recommendations): (_, _, _, &'static [&'static str]) =
            match self {
                ErrorClass::Validation => (
                    "validation",
                    false,
                    MODEL,
                    &["rewrite the arguments as the error says and call the tool again"],
                ),
                ErrorClass::Truncated => (
                    "truncated",
                    false,
                    MODEL_AND_OPERATOR,
                    &["send the complete arguments, or split the work"],
                ),
                ErrorClass::UnknownTool => (
                    "unknown_tool",
                    false,
                    MODEL,
                    &["call one of the tools that are offered"],
                ),
                ErrorClass::Runtime => (
                    "runtime",
                    true,
                    MODEL_AND_OPERATOR,
                    &["make the same call once more; if it fails again, do something else"],
                ),
                ErrorClass::Logical => (
                    "logical",
                    true,
                    MODEL,
                    &["act on the error: change the arguments or call another tool"],
                ),
                ErrorClass::Cancelled => (
                    "cancelled",
                    false,
                    MODEL_AND_USER,
                    &["check what has been done before you call the tool again"],
                ),
                ErrorClass::Loop => (
                    "loop",
                    false,
                    ALL,
                    &["do something different, or say what keeps you from it"],
                ),
            };
        Row {
            name,
            retryable,
            told,
            recommendations,
        }
    }

    /// The name in a structured result.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// May the same call succeed when it is made again unchanged?
    pub const fn retryable(self) -> bool {
        self.row().retryable
    }

    /// Who has to know.
    pub const fn told(self) -> Audience {
        self.row().told
    }

    /// What the model should do, where the tool itself has nothing to recommend.
    pub const fn recommendations(self) -> &'static [&'static str] {
        self.row().recommendations
    }

    /// Was the call refused before anything ran?
    pub const fn is_refusal(self) -> bool {
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
    fn the_serialised_name_is_the_name() {
        for class in ErrorClass::ALL {
            let text = serde_json::to_string(&class).unwrap();
            assert_eq!(text, format!("\"{class}\""));
            assert!(class.told().model && !class.recommendations().is_empty());
        }
    }

    #[test]
    fn only_what_ran_may_be_sent_again_unchanged() {
        for class in ErrorClass::ALL {
            assert!(!(class.is_refusal() && class.retryable()), "{class}");
        }
    }
}
