//! Unwraps `[[…]]` where `[…]` is expected.

use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Edit, Kind, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NestedArray,
    level: Level::Safe,
    what: "Takes the inner array out of an array that holds nothing else, where the schema wants \
           one array less.",
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
    if site.node.kind() != Kind::Array || site.wanted().is_none() {
        return;
    }
    // The array that is one too many may be around the rows of a list of lists: `[[[1, 2], [3, 4]]]`.
    let (mut inner, mut pointer) = (site.node, site.fault.pointer.clone());
    while let Some((place, _)) = pointer.split_last() {
        let outer = site.node.tree.at(&place);
        let Some(outer) = outer.filter(|outer| outer.kind() == Kind::Array) else {
            return;
        };
        // A single value in two arrays is left to `array-to-scalar`.
        if outer.len() == 1 && inner.len() > 1 {
            let (at, value) = (outer.id, NewValue::Node(inner.id));
            out.whole(&RULE, [Edit::Replace { at, place, value }]);
            return;
        }
        (inner, pointer) = (outer, place);
    }
}
