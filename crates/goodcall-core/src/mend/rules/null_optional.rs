//! `null` for a member that may be left out.

use crate::mend::site::{Proposals, Site};
use crate::mend::{Example, Rule};
use crate::report::Level;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    name: "null-optional",
    level: Level::Safe,
    what: "Leaves out a member that is null where null is not allowed and the member is optional.",
    why: "Null says that there is no value, and so does leaving the member out. A required member \
          is never left out, and null stays where null is allowed.",
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
        && site.node.is_null()
        && let Some(op) = site.leave_out()
    {
        out.whole(&RULE, [op]);
    }
}
