//! Keys of envelopes: objects that hold the arguments of a call, with the tool's name and an id.

use super::letters::Words;
use crate::tree::{Kind, Node};

/// Keys that hold the arguments.
const WRAPPERS: [&str; 9] = [
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "properties",
    "kwargs",
    "tool_input",
    "action_input",
];

/// Keys that hold something else than arguments, or cannot be told from such keys.
const OTHERS: [&str; 6] = ["error", "errors", "result", "results", "output", "response"];

/// Keys that hold the tool's name.
pub(crate) const ENVELOPE_NAMES: [&str; 7] = [
    "name",
    "tool",
    "function",
    "tool_name",
    "function_name",
    "action",
    "recipient_name",
];

/// Keys that hold the id of the call.
const IDS: [&str; 2] = ["id", "call_id"];

/// The arguments, if this object is an envelope of a call of `tool`: nothing in it is declared,
/// and without the tool's name there is nothing in it but the arguments.
pub(crate) fn envelope<'t>(
    node: Node<'t>,
    declares: &dyn Fn(&str) -> bool,
    tool: Option<&str>,
    holds_arguments: fn(Node<'_>) -> bool,
) -> Option<Node<'t>> {
    Envelope {
        declares,
        tool,
        holds_arguments,
    }
    .inner(node, true)
}

struct Envelope<'e> {
    declares: &'e dyn Fn(&str) -> bool,
    tool: Option<&'e str>,
    holds_arguments: fn(Node<'_>) -> bool,
}

impl Envelope<'_> {
    fn inner<'t>(&self, node: Node<'t>, outer: bool) -> Option<Node<'t>> {
        if node.kind() != Kind::Object || node.len() > 4 {
            return None;
        }
        let (mut inner, mut named) = (None, false);
        for (key, value) in node.members() {
            if !named && self.names_tool(key, value) {
                named = true;
                continue;
            }
            let is_wrapper = WRAPPERS.contains(&key) || self.tool == Some(key);
            if is_wrapper && inner.is_none() && (self.holds_arguments)(value) {
                inner = Some(value);
            } else if outer && key == "function" && inner.is_none() {
                inner = Some(self.inner(value, false)?);
                named = true;
            } else if !is_label(key, value) {
                return None;
            }
            // Only the tool's own name was not meant as the value of a declared member.
            if outer && (self.declares)(key) {
                return None;
            }
        }
        (named || outer && node.len() == 1).then_some(inner)?
    }

    fn names_tool(&self, key: &str, value: Node<'_>) -> bool {
        ENVELOPE_NAMES.contains(&key) && value.as_str().is_some() && value.as_str() == self.tool
    }
}

/// Returns true if the member only says that this is a call, or which one.
fn is_label(key: &str, value: Node<'_>) -> bool {
    let text = value.as_str();
    match key {
        "type" => matches!(text, Some("function" | "tool" | "tool_call")),
        _ => IDS.contains(&key) && (text.is_some() || value.digits().is_some()),
    }
}

/// Returns true for keys that envelopes have for their content. `properties` is not one of them: it
/// comes from schemas.
pub(crate) fn is_envelope_key(key: &str, tool: Option<&str>) -> bool {
    let wraps = WRAPPERS.contains(&key) && key != "properties";
    wraps || OTHERS.contains(&key) || tool == Some(key)
}

/// Words of keys whose content is not what the call is about: what is left out, what was before,
/// what only may be.
const SET_ASIDE: [&str; 59] = [
    "after",
    "alternative",
    "analysis",
    "avoid",
    "bad",
    "before",
    "but",
    "comment",
    "condition",
    "default",
    "defaults",
    "dont",
    "draft",
    "dry",
    "else",
    "example",
    "examples",
    "except",
    "exclude",
    "expected",
    "fail",
    "failure",
    "fake",
    "fallback",
    "false",
    "history",
    "if",
    "ignore",
    "last",
    "later",
    "maybe",
    "mock",
    "never",
    "next",
    "no",
    "not",
    "note",
    "notes",
    "old",
    "optional",
    "original",
    "plan",
    "previous",
    "reasoning",
    "revert",
    "rollback",
    "sample",
    "schema",
    "simulate",
    "skip",
    "template",
    "thinking",
    "thought",
    "thoughts",
    "todo",
    "undo",
    "unless",
    "without",
    "wrong",
];

/// Returns true for keys of something that was not meant as arguments.
pub(crate) fn holds_other(key: &str) -> bool {
    let is_set_aside = || {
        // `deleted`, `ignored`
        let words = Words::of(key);
        words
            .iter()
            .any(|word| word.ends_with("ed") || SET_ASIDE.contains(&word))
    };
    OTHERS.contains(&key) || is_set_aside()
}
