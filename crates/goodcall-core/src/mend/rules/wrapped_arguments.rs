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
    what: "Takes the arguments out of an object that holds nothing else, under `arguments`, \
           `parameters`, `args`, `input`, `params`, `properties` or the tool's own name. The \
           tool's name may stand beside them, as `name`, `tool` or `function`.",
    why: "The schema does not declare the outer key, and what is inside is what the schema wants.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"arguments": {"path": "a.txt"}}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

const WRAPPERS: [&str; 6] = [
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "properties",
];

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if let Some(inner) = inner(site) {
        out.replace(&RULE, site, New::Node(inner.id));
    }
}

/// The arguments, if they are wrapped.
pub(super) fn inner<'s>(site: &Site<'s>) -> Option<Node<'s>> {
    if !site.fault.pointer.is_root() || site.node.kind() != Kind::Object || site.node.len() > 2 {
        return None;
    }
    let mut inner = None;
    for (key, value) in site.node.members() {
        let is_wrapper = WRAPPERS.contains(&key) || site.context.tool == Some(key);
        if site.declares(key) {
            return None;
        } else if is_wrapper && inner.is_none() && holds_arguments(value) {
            inner = Some(value);
        } else if !names_tool(key, value, site) {
            return None;
        }
    }
    inner
}

fn holds_arguments(value: Node<'_>) -> bool {
    value.kind() == Kind::Object || value.as_str().is_some_and(looks_stringified)
}

fn names_tool(key: &str, value: Node<'_>, site: &Site<'_>) -> bool {
    matches!(key, "name" | "tool" | "function" | "tool_name")
        && value.as_str().is_some()
        && value.as_str() == site.context.tool
}
