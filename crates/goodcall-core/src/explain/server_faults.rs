//! Texts about servers that ran a tool, or were to run it, and did not keep to their contract.

use super::{Budget, instruction};
use crate::report::Refusal;
use std::fmt;

/// The text for a call that the server has not answered within its time limit.
///
/// ```
/// assert_eq!(
///     goodcall_core::timed_out_text("search", "5s"),
///     "the server did not answer the call of `search` within 5s"
/// );
/// ```
pub fn timed_out_text(tool: &str, limit: impl fmt::Display) -> String {
    format!("the server did not answer the call of `{tool}` within {limit}")
}

/// The text for a model whose call was not run because the tool was called too often.
///
/// ```
/// assert_eq!(
///     goodcall_core::rate_limited_text("search", 10, 12),
///     "The tool `search` was not run: it may be called 10 times a minute. Wait 12 s before you \
///      call it again, or go on without it."
/// );
/// ```
pub fn rate_limited_text(tool: &str, limit: u32, seconds: u64) -> String {
    let times = match limit {
        1 => "once".to_owned(),
        more => format!("{more} times"),
    };
    format!(
        "The tool `{tool}` was not run: it may be called {times} a minute. Wait {seconds} s before \
         you call it again, or go on without it."
    )
}

/// The text for a model whose call needs the approval of the user, who did not give it.
///
/// ```
/// assert_eq!(
///     goodcall_core::not_approved_text("drop"),
///     "The tool `drop` was not run: the user did not approve this call. Do not call it again unless \
///      the user asks for it."
/// );
/// ```
pub fn not_approved_text(tool: &str) -> String {
    format!(
        "The tool `{tool}` was not run: the user did not approve this call. Do not call it again \
         unless the user asks for it."
    )
}

/// The text for a model that gets only the beginning of a result, because the whole is too large.
///
/// ```
/// assert_eq!(
///     goodcall_core::oversized_result_text("search", 5000, 20, "First line"),
///     "The tool `search` was run, but its result of 5000 bytes exceeds the limit of 20 bytes. Ask \
///      for less. The result begins with:\nFirst line"
/// );
/// ```
pub fn oversized_result_text(tool: &str, bytes: usize, limit: usize, beginning: &str) -> String {
    let mut text = format!(
        "The tool `{tool}` was run, but its result of {bytes} bytes exceeds the limit of {limit} \
         bytes. Ask for less."
    );
    if !beginning.is_empty() {
        text.push_str(" The result begins with:\n");
        text.push_str(beginning);
    }
    text
}

/// The issue with a result that lacks the structured content which the tool's output schema
/// describes.
///
/// ```
/// assert_eq!(goodcall_core::missing_output_text(), "structuredContent is missing");
/// ```
pub fn missing_output_text() -> &'static str {
    "structuredContent is missing"
}

/// Warns that a tool was run and its result does not match its own output schema.
pub(super) fn output_mismatch(bad: &Refusal, tool: Option<&str>, budget: &Budget) -> String {
    let name = tool.map_or_else(
        || "The tool".to_owned(),
        |name| format!("The tool `{name}`"),
    );
    let found = instruction::joined(bad, budget, instruction::line);
    format!(
        "{name} was run, but its result does not match its own output schema ({found}). It may \
         have taken effect: check before you call it again."
    )
}
