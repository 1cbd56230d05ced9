//! Reads `"true"` as a boolean where one is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::StringToBoolean,
    level: Level::Safe,
    what: "Reads `\"true\"`, `\"True\"`, `\"TRUE\"` and the same of `false` as booleans where a \
           boolean is wanted.",
    why: "A string is not allowed there, and the text names the value in JSON, in Python or in \
          SQL.",
    not_when: &["The text is another word (`yes`, `on`): see `word-to-boolean`."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"recursive": {"type": "boolean"}}}"#,
        raw: r#"{"recursive": "True"}"#,
        mended: r#"{"recursive":true}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    let truth = match text {
        "true" | "True" | "TRUE" => true,
        "false" | "False" | "FALSE" => false,
        _ => return,
    };
    if wanted.has(JsonType::Boolean) {
        out.replace(&RULE, site, NewValue::boolean(truth));
    }
}
