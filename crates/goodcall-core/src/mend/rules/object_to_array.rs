//! Wraps `{…}` where an array of objects is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::ObjectToArray,
    level: Level::Eager,
    what: "Puts a single object into an array of one element where an array is wanted.",
    why: "One object in place of a list of objects is a list of that object. But it can also be \
          a map whose values are the elements.",
    not_when: &[
        "The object is empty: it may as well stand for an empty list.",
        "The object is the arguments themselves.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"edits": {"type": "array", "items": {"type": "object"}}}}"#,
        raw: r#"{"edits": {"path": "a.txt"}}"#,
        mended: r#"{"edits":[{"path":"a.txt"}]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let wants_array = site
        .wanted()
        .is_some_and(|wanted| wanted.has(JsonType::Array));
    let object = site.node.kind() == Kind::Object && !site.node.is_empty();
    if wants_array && object && !site.fault.pointer.is_root() {
        out.replace(&RULE, site, NewValue::Wrapped);
    }
}
