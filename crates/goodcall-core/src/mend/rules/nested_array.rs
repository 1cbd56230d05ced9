//! Unwraps `[[…]]` where `[…]` is expected.

use crate::mend::edit::{New, Op};
use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::Kind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NestedArray,
    level: Level::Safe,
    what: "Takes the inner array out of an array that holds nothing else, where no element may \
           be an array.",
    why: "The inner array fits as it is, and the outer one adds nothing to it.",
    not_when: &["The outer array has other elements, or the inner one does not fit."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"tags": {"type": "array", "items": {"type": "string"}}}}"#,
        raw: r#"{"tags": [["x", "y"]]}"#,
        mended: r#"{"tags":["x","y"]}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    // A single value in two arrays is left to `array-to-scalar`.
    if site.node.kind() != Kind::Array || site.node.len() < 2 || site.wanted().is_none() {
        return;
    }
    let Some((place, _)) = site.fault.pointer.split_last() else {
        return;
    };
    let outer = site.node.tree.at(&place);
    if let Some(outer) = outer.filter(|o| o.kind() == Kind::Array && o.len() == 1) {
        let (at, with) = (outer.id, New::Node(site.node.id));
        out.whole(&RULE, [Op::Replace { at, place, with }]);
    }
}
