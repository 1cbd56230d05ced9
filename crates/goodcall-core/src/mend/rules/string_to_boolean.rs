//! `"true"` where a boolean is wanted.

use crate::mend::edit::New;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;

pub(crate) const RULE: Rule = Rule {
    name: "string-to-boolean",
    level: Level::Safe,
    what: "Reads `\"true\"`, `\"True\"`, `\"false\"` and `\"False\"` as booleans where a boolean is \
           wanted.",
    why: "A string is not allowed there, and the text names the value in JSON or in Python.",
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
        "true" | "True" => true,
        "false" | "False" => false,
        _ => return,
    };
    if wanted.has("boolean") {
        out.replace(&RULE, site, New::boolean(truth));
    }
}
