//! Unwraps `{"paths": {"paths": [...]}}` to `{"paths": [...]}`.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::DoubledKey,
    level: Level::Safe,
    what: "Takes a value out of an object that holds nothing else, under the key that the \
           object itself has.",
    why: "No object is allowed there, the key says twice what the value is, and the value fits \
          as it is.",
    not_when: &[
        "The inner value is an object or null.",
        "The schema allows an object there.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"paths": {"type": "array", "items": {"type": "string"}}}}"#,
        raw: r#"{"paths": {"paths": ["a.txt"]}}"#,
        mended: r#"{"paths":["a.txt"]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let one = site.node.kind() == Kind::Object && site.node.len() == 1;
    if !one
        || site
            .wanted()
            .is_none_or(|wanted| wanted.has(JsonType::Object))
    {
        return;
    }
    let place = &site.fault.pointer;
    let declared = site.declared_types();
    let object = declared.is_none_or(|types| types.is_empty() || types.has(JsonType::Object));
    if !object
        && let Some((_, name)) = place.split_last()
        && let Some(inner) = site.node.get(&name)
        && !matches!(inner.kind(), Kind::Object | Kind::Null)
    {
        out.whole(&RULE, [site.replace(NewValue::Node(inner.id))]);
    }
}
