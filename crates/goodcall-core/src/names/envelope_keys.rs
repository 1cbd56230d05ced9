//! Envelopes: objects that hold the arguments of a call, and beside them which call it is.

use crate::tree::{Kind, Node};

/// What holds the arguments.
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

/// What holds something that was not meant as arguments, or cannot be told from that.
const OTHERS: [&str; 7] = [
    "payload", "error", "errors", "result", "results", "output", "response",
];

/// What names the tool.
pub(crate) const ENVELOPE_NAMES: [&str; 7] = [
    "name",
    "tool",
    "function",
    "tool_name",
    "function_name",
    "action",
    "recipient_name",
];

/// Keys that say which call it is.
const IDS: [&str; 2] = ["id", "call_id"];

/// The arguments, if this object is an envelope of a call of `tool`: nothing in it is declared,
/// and without the tool's name nothing stands beside the arguments.
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
            let is_name = !named && self.names_tool(key, value);
            // The tool's own name is no value for a member of the same name.
            if outer && (self.declares)(key) && !is_name {
                return None;
            }
            let is_wrapper = WRAPPERS.contains(&key) || self.tool == Some(key);
            if is_name {
                named = true;
            } else if is_wrapper && inner.is_none() && (self.holds_arguments)(value) {
                inner = Some(value);
            } else if outer && key == "function" && inner.is_none() {
                inner = Some(self.inner(value, false)?);
                named = true;
            } else if !is_label(key, value) {
                return None;
            }
        }
        // Without the tool's name nothing may stand beside the arguments.
        (named || outer && node.len() == 1).then_some(inner)?
    }

    fn names_tool(&self, key: &str, value: Node<'_>) -> bool {
        ENVELOPE_NAMES.contains(&key) && value.as_str().is_some() && value.as_str() == self.tool
    }
}

/// Does the member only say that this is a call, or which?
fn is_label(key: &str, value: Node<'_>) -> bool {
    let text = value.as_str();
    match key {
        "type" => matches!(text, Some("function" | "tool" | "tool_call")),
        _ => IDS.contains(&key) && (text.is_some() || value.digits().is_some()),
    }
}

/// Is this a key that envelopes have for what is inside? `properties` is a schema's word: no
/// envelope of a call has it.
pub(crate) fn is_envelope_key(key: &str, tool: Option<&str>) -> bool {
    let wraps = WRAPPERS.contains(&key) && key != "properties";
    wraps || OTHERS.contains(&key) || tool == Some(key)
}

/// Is this a key of what was not meant as arguments?
pub(crate) fn holds_other(key: &str) -> bool {
    OTHERS.contains(&key)
}
