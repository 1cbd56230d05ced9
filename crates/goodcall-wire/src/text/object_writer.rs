//! Writes the arguments of a call that is not JSON, one member at a time.

use std::ops::Range;

use goodcall_core::{Change, Types};

use super::{FoundCall, untyped_values};
use crate::call::CallState;
use crate::tools::ToolDefinition;

/// A JSON object that grows by members, with the changes that reading them took.
pub(super) struct ObjectWriter<'o> {
    tool: Option<&'o ToolDefinition>,
    json: String,
    changes: Vec<Change>,
}

impl<'o> ObjectWriter<'o> {
    /// An empty object for the arguments of `tool`.
    pub(super) fn new(tool: Option<&'o ToolDefinition>) -> Self {
        Self {
            tool,
            json: String::from("{"),
            changes: Vec::new(),
        }
    }

    /// Writes a key; its value must follow.
    pub(super) fn key(&mut self, key: &str) {
        self.separate();
        push_string(key, &mut self.json);
        self.json.push(':');
    }

    /// Writes the comma before a member, unless it is the first one.
    pub(super) fn separate(&mut self) {
        if self.json.len() > 1 {
            self.json.push(',');
        }
    }

    /// The object so far, to append the value of the last key.
    pub(super) fn json(&mut self) -> &mut String {
        &mut self.json
    }

    /// Writes a value that came as text, by the type that came with it, or else by the types that
    /// the tool declares.
    pub(super) fn untyped_member(&mut self, key: &str, text: &str, kind: Option<&str>) {
        self.key(key);
        let types = kind.map_or_else(|| declared_types(self.tool, key), Types::named);
        let change = untyped_values::write(text, types, &mut self.json);
        self.changes.extend(change);
    }

    pub(super) fn into_json(mut self) -> String {
        self.json.push('}');
        self.json
    }

    /// The call with these arguments. Its changes cover the whole call.
    pub(super) fn finish(mut self, name: &str, span: Range<usize>, state: CallState) -> FoundCall {
        for change in &mut self.changes {
            change.span = span.clone();
        }
        let changes = std::mem::take(&mut self.changes);
        let mut found = FoundCall::translated(name, self.into_json(), span);
        (found.changes, found.state) = (changes, state);
        found
    }
}

/// The types that a tool declares for a parameter; none if the tool is unknown.
pub(super) fn declared_types(tool: Option<&ToolDefinition>, parameter: &str) -> Types {
    tool.map_or_else(Types::default, |tool| tool.types_of(parameter))
}

/// Appends a JSON string.
pub(super) fn push_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
