//! Reads `"null"` as null where null is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::StringToNull,
    level: Level::Safe,
    what: "Reads `\"null\"`, `\"NULL\"` and `\"None\"` as null where null is allowed and a \
           string is not.",
    why: "The text names the value in JSON, in SQL or in Python.",
    not_when: &["A string is allowed."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"limit": {"type": ["integer", "null"]}}}"#,
        raw: r#"{"limit": "None"}"#,
        mended: r#"{"limit":null}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    if matches!(text, "null" | "NULL" | "None") && wanted.has(JsonType::Null) {
        out.replace(&RULE, site, NewValue::Scalar(Kind::Null, String::new()));
    }
}
