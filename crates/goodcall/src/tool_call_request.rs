//! A call with its raw arguments and the result of reading them.

use goodcall_core::{Change, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call of a model: the raw arguments, and the result of reading them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallRequest {
    /// The name of the tool, as the model wrote it.
    pub tool_name: String,
    /// The provider's id of the call.
    pub tool_call_id: String,
    /// The arguments as sent; always kept.
    pub raw_arguments: String,
    /// The arguments as read, if they are good or could be mended.
    pub arguments: Option<Value>,
    /// The reason why the arguments cannot be used.
    pub parse_error: Option<String>,
    /// The changes that mending made, as sentences joined by `; `.
    pub parse_warning: Option<String>,
}

impl ToolCallRequest {
    /// Returns a call whose arguments have not been read.
    pub fn new(
        tool_name: impl Into<String>,
        tool_call_id: impl Into<String>,
        raw_arguments: impl Into<String>,
    ) -> Self {
        Self {
            tool_name: tool_name.into(),
            tool_call_id: tool_call_id.into(),
            raw_arguments: raw_arguments.into(),
            arguments: None,
            parse_error: None,
            parse_warning: None,
        }
    }

    /// Fills in the result of reading the arguments.
    pub(crate) fn fill(&mut self, read: Result<(&Value, &[Change]), &Refusal>) {
        let changes = match read {
            Ok((value, changes)) => {
                self.arguments = Some(value.clone());
                self.parse_error = None;
                changes
            }
            Err(bad) => {
                self.arguments = None;
                self.parse_error = Some(bad.summary());
                &bad.changes
            }
        };
        let sentences: Vec<_> = changes.iter().map(Change::sentence).collect();
        self.parse_warning = (!sentences.is_empty()).then(|| sentences.join("; "));
    }
}
