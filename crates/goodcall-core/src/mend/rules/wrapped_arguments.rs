//! Unwraps arguments that were sent as `{"arguments": {…}}`.

use super::stringified::looks_stringified;
use crate::mend::site::{Proposals, Site};
use crate::names::{ENVELOPE_NAMES, envelope};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue, Node};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::WrappedArguments,
    level: Level::Safe,
    what: "Takes the arguments out of an envelope: an object that holds them under `arguments`, \
           `parameters`, `args`, `input`, `params`, `properties`, `kwargs`, `tool_input`, \
           `action_input` or the tool's own name, and beside them nothing but the tool's name \
           (as `name`, `tool`, `function`, `action` or the like), a `type` and an `id`.",
    why: "The schema does not declare the outer keys, and the inner value is the one that the \
          schema wants. If the schema allows extra keys, all inner keys are declared.",
    not_when: &[
        "The envelope names another tool.",
        "There are other members beside the arguments.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}}"#,
        raw: r#"{"arguments": {"path": "a.txt"}}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if let Some(inner) = inner(site) {
        out.replace(&RULE, site, NewValue::Node(inner.id));
    }
}

/// Returns the arguments if they are wrapped.
pub(super) fn inner<'s>(site: &Site<'s>) -> Option<Node<'s>> {
    if !site.fault.pointer.is_root() {
        return None;
    }
    let declares = |name: &str| site.declares(name);
    envelope(site.node, &declares, site.context.tool, holds_arguments)
}

fn holds_arguments(value: Node<'_>) -> bool {
    value.kind() == Kind::Object || value.as_str().is_some_and(looks_stringified)
}

/// Returns true if an undeclared member of the object names another tool.
pub(super) fn names_another(site: &Site<'_>) -> bool {
    ENVELOPE_NAMES.iter().any(|key| {
        let text = site.node.get(key).and_then(Node::as_str);
        text.is_some() && text != site.context.tool && !site.declares(key)
    })
}
