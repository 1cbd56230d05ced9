//! Results for calls that were not run because another one was refused, or that have no result.

/// The result of a good call that was not run, because another call of the same reply was refused.
///
/// ```
/// assert_eq!(
///     goodcall_core::not_run_text("read"),
///     "The tool `read` was not run, because another call of the same reply was refused. Send \
///      this call again, together with the corrected one."
/// );
/// ```
pub fn not_run_text(tool: &str) -> String {
    format!(
        "The tool `{tool}` was not run, because another call of the same reply was refused. Send \
         this call again, together with the corrected one."
    )
}

/// The result of a good call that was forwarded already when another one was refused.
///
/// ```
/// assert!(goodcall_core::accepted_text("read").contains("Do not send it again"));
/// ```
pub fn accepted_text(tool: &str) -> String {
    format!(
        "The call of `{tool}` is accepted and will be run. Do not send it again: send only what \
         was refused, corrected."
    )
}

/// The result for a call of a history that lacks one.
///
/// ```
/// assert!(goodcall_core::no_result_text("read").starts_with("There is no result of `read`"));
/// ```
pub fn no_result_text(tool: &str) -> String {
    format!(
        "There is no result of `{tool}`: it was not run, or its result got lost. Call it again if \
         you need it."
    )
}

/// What the model reads after a message whose calls the server could not read.
///
/// ```
/// assert!(goodcall_core::unread_call_text().starts_with("No tool was run"));
/// ```
pub fn unread_call_text() -> String {
    "No tool was run: the call in your last message could not be read. Call the tool again."
        .to_owned()
}
