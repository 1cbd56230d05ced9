//! Unwraps arguments that were sent as `[{…}]`.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::RootArray,
    level: Level::Safe,
    what: "Takes the arguments out of an array that holds nothing else.",
    why: "Arguments are an object, and there is exactly one.",
    not_when: &["The array holds several objects: they may be several calls."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#,
        raw: r#"[{"path": "a.txt"}]"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if !site.fault.pointer.is_root()
        || !site
            .wanted()
            .is_some_and(|wanted| wanted.has(JsonType::Object))
    {
        return;
    }
    let mut elements = site.node.elements();
    if let (Some(only), None) = (elements.next(), elements.next())
        && only.kind() == Kind::Object
    {
        out.replace(&RULE, site, NewValue::Node(only.id));
    }
}
