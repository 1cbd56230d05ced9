//! Removes `""` for an optional member that is not a string.

use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EmptyOptional,
    level: Level::Eager,
    what: "Leaves out an optional member that is an empty string where no string is allowed.",
    why: "An empty string says that there is no value. But it can also stand for an empty list.",
    not_when: &["The member is required."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"limit": {"type": "integer"}}}"#,
        raw: r#"{"limit": ""}"#,
        mended: "{}",
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if let Some((text, _)) = site.mistyped_text()
        && text.trim().is_empty()
        && let Some(edit) = site.leave_out()
    {
        out.whole(&RULE, [edit]);
    }
}
