//! A call with its raw arguments and the result of reading them.

use goodcall_core::{Change, Kind, ReadOptions, Refusal, Tree, read};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::explain;

/// A tool call of a model: the raw arguments, and the result of reading them.
/// [`Toolbox::read_request`](crate::Toolbox::read_request) fills it in without running the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallRequest {
    /// The name of the tool, as the model wrote it.
    pub tool_name: String,
    /// The provider's id of the call.
    pub tool_call_id: String,
    /// The arguments as sent; always kept.
    pub raw_arguments: String,
    /// The arguments as read. Beside a `parse_error` they are what could be read: the part before a
    /// cut, or an object that does not have the right shape.
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

    /// Fills in arguments that may run, given as JSON text. Numbers that no `Value` holds are named
    /// in the warning, and there are no arguments then.
    pub(crate) fn accept(&mut self, text: &str, changes: &[Change]) {
        self.parse_error = None;
        self.warn(changes);
        let Ok(tree) = Tree::parse(text) else {
            self.arguments = None;
            return;
        };
        match tree.to_value() {
            Ok(value) => self.arguments = Some(value),
            Err(inexact) => {
                self.arguments = None;
                let warnings = self.parse_warning.take().into_iter();
                let warnings: Vec<_> = warnings.chain([inexact.to_string()]).collect();
                self.parse_warning = Some(warnings.join("; "));
            }
        }
    }

    /// Fills in why the call is refused, and the arguments as far as they can be read.
    pub(crate) fn refuse(&mut self, bad: &Refusal, arguments: Option<Value>) {
        self.arguments = arguments;
        self.parse_error = Some(bad.summary());
        self.warn(&bad.changes);
    }

    fn warn(&mut self, changes: &[Change]) {
        let sentences: Vec<_> = changes.iter().map(explain::warning).collect();
        self.parse_warning = (!sentences.is_empty()).then(|| sentences.join("; "));
    }
}

/// Reads arguments that are refused as far as possible: the part before a cut, or an object that
/// does not have the right shape.
pub(crate) fn readable_part(raw: &str, options: &ReadOptions) -> Option<Value> {
    let reading = read(raw, options).ok()?;
    let root = reading.tree.root();
    let is_one_object = root.kind() == Kind::Object && !reading.is_several();
    is_one_object.then(|| root.to_value().ok())?
}
