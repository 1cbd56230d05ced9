//! Removes `""` for an optional member whose allowed values do not include it.

use serde_json::Value;

use super::enum_spelling::allowed;
use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EmptyEnum,
    level: Level::Safe,
    what: "Leaves out an optional member that is an empty string where only certain values are \
           allowed.",
    why: "None of the allowed values is empty, and the tool takes the member as not given.",
    not_when: &[
        "The member is required.",
        "An allowed value has no letter or digit: the empty string may stand for it.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"status": {"type": "string", "enum": ["open", "done"]}}}"#,
        raw: r#"{"status": ""}"#,
        mended: "{}",
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let is_word = |value: &Value| {
        value
            .as_str()
            .is_none_or(|text| text.contains(char::is_alphanumeric))
    };
    if !allowed(site).is_empty()
        && allowed(site).iter().all(is_word)
        && site
            .node
            .as_str()
            .is_some_and(|text| text.trim().is_empty())
        && let Some(edit) = site.leave_out()
    {
        out.whole(&RULE, [edit]);
    }
}
