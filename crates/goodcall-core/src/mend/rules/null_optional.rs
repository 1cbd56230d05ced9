//! Removes an optional member that is `null`.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NullOptional,
    level: Level::Safe,
    what: "Leaves out an optional member that is null where null is not allowed, or that is the \
           text `null`, `NULL` or `None` where a string is not allowed either.",
    why: "Null says that there is no value, and so does leaving the member out.",
    not_when: &[
        "The member is required.",
        "The schema allows null.",
        "The member is an entry of a map, whose keys are the caller's own: `{\"DEBUG\": null}` \
         may ask to unset it.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"limit": {"type": "integer"}}}"#,
        raw: r#"{"limit": null}"#,
        mended: "{}",
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let about_value = matches!(
        site.fault.kind,
        FaultKind::Type(_) | FaultKind::Enum(_) | FaultKind::Const(_) | FaultKind::NoBranch(_)
    );
    if about_value
        && (site.node.is_null() && !is_made_up(site) || is_null_text(site))
        && site.is_declared()
        && let Some(edit) = site.leave_out()
    {
        out.whole(&RULE, [edit]);
    }
}

/// Returns true if the text has no value here: what was meant is not known.
fn is_made_up(site: &Site<'_>) -> bool {
    site.node.span().is_empty()
}

/// Returns true if this is the text `null` or `None` where neither a string nor null is allowed.
/// All declarations of the place count, not only the branch that has the fault.
fn is_null_text(site: &Site<'_>) -> bool {
    if !matches!(site.mistyped_text(), Some(("null" | "NULL" | "None", _))) {
        return false;
    }
    site.declared_types().is_some_and(|types| {
        !types.is_empty() && !types.has(JsonType::String) && !types.has(JsonType::Null)
    })
}
