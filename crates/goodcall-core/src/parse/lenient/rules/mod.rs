//! The rules of the lenient parser: their levels and catalogue pages.

mod framing;
mod punctuation;
mod values;

pub(in crate::parse) use framing::*;
pub(in crate::parse) use punctuation::*;
pub(in crate::parse) use values::*;

use crate::rule::{Example, Level, Rule, RuleId};

/// A rule, and how sure it is in the case at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::parse) struct RuleRef {
    pub(in crate::parse) id: RuleId,
    pub(in crate::parse) level: Level,
}

const fn safe(id: RuleId) -> RuleRef {
    let level = Level::Safe;
    RuleRef { id, level }
}

const fn eager(id: RuleId) -> RuleRef {
    let level = Level::Eager;
    RuleRef { id, level }
}

/// The page of a rule.
const fn entry(
    rule: RuleRef,
    what: &'static str,
    why: &'static str,
    not_when: &'static [&'static str],
    raw: &'static str,
    mended: &'static str,
) -> Rule {
    Rule {
        id: rule.id,
        level: rule.level,
        what,
        why,
        not_when,
        example: Example {
            tool: None,
            schema: r#"{"type": "object"}"#,
            raw,
            mended,
        },
    }
}

/// Every rule of the lenient parser.
pub(crate) fn all() -> impl Iterator<Item = Rule> {
    let groups = [
        framing::RULES.as_slice(),
        &punctuation::RULES,
        &values::RULES,
    ];
    groups.into_iter().flat_map(<[Rule]>::to_vec)
}
