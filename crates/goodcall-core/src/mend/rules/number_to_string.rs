//! `5` where a string is wanted.

use crate::mend::edit::New;
use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;

pub(crate) const RULE: Rule = Rule {
    name: "number-to-string",
    level: Level::Safe,
    what: "Writes a number or a boolean as a string where a string is wanted, with exactly the \
           characters that were sent.",
    why: "Nothing but quotes is added. An identifier of any length keeps all its digits.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"id": {"type": "string"}}}"#,
        raw: r#"{"id": 12345678901234567890}"#,
        mended: r#"{"id":"12345678901234567890"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if !site.wanted().is_some_and(|wanted| wanted.has("string")) {
        return;
    }
    let text = match (site.node.digits(), site.node.as_bool()) {
        (Some(digits), _) => digits,
        (_, Some(true)) => "true",
        (_, Some(false)) => "false",
        _ => return,
    };
    out.replace(&RULE, site, New::text(text));
}
