//! Writes the arguments of a call that is not JSON, one member at a time.

use std::ops::Range;

use goodcall_core::{Change, Types};

use super::{FoundCall, untyped_values};
use crate::call::State;

/// A JSON object that grows by members, with the changes that reading them took.
pub(super) struct ObjectWriter {
    json: String,
    changes: Vec<Change>,
}

impl ObjectWriter {
    pub(super) fn new() -> Self {
        Self {
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

    /// Writes a value that came as text, by its declared types.
    pub(super) fn untyped_member(&mut self, key: &str, text: &str, types: Types) {
        self.key(key);
        let change = untyped_values::write(text, types, &mut self.json);
        self.changes.extend(change);
    }

    pub(super) fn into_json(mut self) -> String {
        self.json.push('}');
        self.json
    }

    /// The call with these arguments. Its changes cover the whole call.
    pub(super) fn finish(mut self, name: &str, span: Range<usize>, state: State) -> FoundCall {
        for change in &mut self.changes {
            change.span = span.clone();
        }
        let changes = std::mem::take(&mut self.changes);
        let mut found = FoundCall::translated(name, self.into_json(), span);
        (found.changes, found.state) = (changes, state);
        found
    }
}

/// Appends a JSON string.
pub(super) fn push_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
