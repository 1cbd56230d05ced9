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
