//! The classes of errors: one row each.

use goodcall_core::Reason;

/// What kind of error a call ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The arguments are wrong; the model must rewrite them.
    Validation,
    /// The arguments were cut off.
    Truncated,
    /// There is no such tool.
    UnknownTool,
    /// The tool failed while it ran.
    Runtime,
    /// The tool ran and said no.
    Logical,
    /// The same thing again and again.
    Loop,
}

impl ErrorClass {
    /// Name, and whether the same call may succeed when it is made again unchanged.
    const fn row(self) -> (&'static str, bool) {
        match self {
            ErrorClass::Validation => ("validation", false),
            ErrorClass::Truncated => ("truncated", false),
            ErrorClass::UnknownTool => ("unknown_tool", false),
            ErrorClass::Runtime => ("runtime", true),
            ErrorClass::Logical => ("logical", true),
            ErrorClass::Loop => ("loop", false),
        }
    }

    /// The name in a structured result.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// May the same call succeed when it is made again unchanged?
    pub const fn retryable(self) -> bool {
        self.row().1
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
