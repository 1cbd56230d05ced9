//! Errors with a code, which JavaScript throws as `GoodcallError`.

use std::fmt::Display;

/// What was wrong, as the `code` of an error.
#[derive(Clone, Copy, Debug)]
pub enum ErrorCode {
    /// Tool definitions that cannot be read.
    BadTools,
    /// A schema that does not compile.
    BadSchema,
    /// An option with an unknown value.
    BadOption,
    /// An event of a stream that is not JSON.
    BadEvent,
    /// A method of an object whose work is over.
    Finished,
}

impl AsRef<str> for ErrorCode {
    fn as_ref(&self) -> &str {
        match self {
            ErrorCode::BadTools => "bad_tools",
            ErrorCode::BadSchema => "bad_schema",
            ErrorCode::BadOption => "bad_option",
            ErrorCode::BadEvent => "bad_event",
            ErrorCode::Finished => "finished",
        }
    }
}

/// The result of a function that JavaScript calls.
pub(crate) type Result<T> = std::result::Result<T, napi::Error<ErrorCode>>;

/// Gives an error its code.
pub(crate) fn coded<E: Display>(code: ErrorCode) -> impl Fn(E) -> napi::Error<ErrorCode> {
    move |error| napi::Error::new(code, error.to_string())
}
