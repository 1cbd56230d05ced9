//! Replaces `celcius` by the allowed value `celsius`.

use serde_json::Value;

use super::enum_spelling::allowed;
use crate::mend::edit::New;
use crate::mend::site::{Proposals, Site};
use crate::names::typo_of;
use crate::rule::{Example, Level, Rule, RuleId};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EnumTypo,
    level: Level::Eager,
    what: "Replaces a value by the allowed one that it is a typo of.",
    why: "One allowed value is one or two letters away, and no other is near. But two words can \
          be neighbours and mean different things.",
    not_when: &["The difference is a prefix that turns the meaning (`external` and `internal`)."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"unit": {"enum": ["celsius", "fahrenheit"]}}}"#,
        raw: r#"{"unit": "celcius"}"#,
        mended: r#"{"unit":"celsius"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some(sent) = site.node.as_str() else {
        return;
    };
    let names = allowed(site).iter().filter_map(Value::as_str);
    if let Some(name) = typo_of(sent, names) {
        out.whole(&RULE, [site.replace(New::text(name))]);
    }
}
