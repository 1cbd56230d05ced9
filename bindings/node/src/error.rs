//! Errors with a code, which JavaScript throws as `GoodcallError`.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
    /// A bug of goodcall.
    Internal,
}

impl AsRef<str> for ErrorCode {
    fn as_ref(&self) -> &str {
        match self {
            ErrorCode::BadTools => "bad_tools",
            ErrorCode::BadSchema => "bad_schema",
            ErrorCode::BadOption => "bad_option",
            ErrorCode::BadEvent => "bad_event",
            ErrorCode::Finished => "finished",
            ErrorCode::Internal => "internal",
        }
    }
}

/// The result of a function that JavaScript calls.
pub(crate) type Result<T> = std::result::Result<T, napi::Error<ErrorCode>>;

/// Gives an error its code.
pub(crate) fn coded<E: Display>(code: ErrorCode) -> impl Fn(E) -> napi::Error<ErrorCode> {
    move |error| napi::Error::new(code, error.to_string())
}

/// Runs work of the engine; a panic becomes an error, so that none ends the process.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let words = panic.downcast_ref::<&str>().copied();
        let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!(
            "goodcall has a bug, please report it: {}",
            words.unwrap_or_default()
        );
        napi::Error::new(ErrorCode::Internal, message)
    })
}
