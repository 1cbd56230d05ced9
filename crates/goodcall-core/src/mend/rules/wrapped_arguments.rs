//! `{"arguments": {…}}` as arguments.

use super::stringified::looks_stringified;
use crate::mend::edit::New;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::tree::{Kind, Node};

pub(crate) const RULE: Rule = Rule {
    name: "wrapped-arguments",
    level: Level::Safe,
    what: "Takes the arguments out of an envelope: an object that holds them under `arguments`, \
           `parameters`, `args`, `input`, `params`, `properties`, `kwargs`, `tool_input`, \
           `action_input` or the tool's own name, and beside them nothing but the tool's name \
           (as `name`, `tool`, `function`, `action` or the like), a `type` and an `id`.",
    why: "The schema does not declare the outer keys, what is inside is what the schema wants, \
          and an envelope that names a tool names this one.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"arguments": {"path": "a.txt"}}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

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
const NAMES: [&str; 7] = [
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

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if let Some(inner) = inner(site) {
        out.replace(&RULE, site, New::Node(inner.id));
    }
}

/// The arguments, if they are wrapped.
pub(super) fn inner<'s>(site: &Site<'s>) -> Option<Node<'s>> {
    if !site.fault.pointer.is_root() {
        return None;
    }
    envelope(site, site.node)
}

fn envelope<'s>(site: &Site<'s>, node: Node<'s>) -> Option<Node<'s>> {
    let outer = node.id == site.node.id;
    if node.kind() != Kind::Object || node.len() > 4 {
        return None;
    }
    let (mut inner, mut named) = (None, false);
    for (key, value) in node.members() {
        let is_name = !named && names_tool(key, value, site);
        // The tool's own name is no value for a member of the same name.
        if outer && site.declares(key) && !is_name {
            return None;
        }
        let is_wrapper = WRAPPERS.contains(&key) || site.context.tool == Some(key);
        if is_name {
            named = true;
        } else if is_wrapper && inner.is_none() && holds_arguments(value) {
            inner = Some(value);
        } else if outer && key == "function" && inner.is_none() {
            inner = Some(envelope(site, value)?);
            named = true;
        } else if !is_label(key, value) {
            return None;
        }
    }
    // Without the tool's name nothing may stand beside the arguments.
    (named || outer && node.len() == 1).then_some(inner)?
}

fn holds_arguments(value: Node<'_>) -> bool {
    value.kind() == Kind::Object || value.as_str().is_some_and(looks_stringified)
}

fn names_tool(key: &str, value: Node<'_>, site: &Site<'_>) -> bool {
    NAMES.contains(&key) && value.as_str().is_some() && value.as_str() == site.context.tool
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
pub(super) fn is_envelope_key(key: &str, tool: Option<&str>) -> bool {
    let wraps = WRAPPERS.contains(&key) && key != "properties";
    wraps || OTHERS.contains(&key) || tool == Some(key)
}

/// Does the object say in an undeclared member that it is for another tool?
pub(super) fn names_another(site: &Site<'_>) -> bool {
    let mut names = NAMES.iter().filter(|key| !site.declares(key));
    names.any(|key| {
        let text = site.node.get(key).and_then(Node::as_str);
        text.is_some() && text != site.context.tool
    })
}
