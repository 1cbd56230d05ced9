//! Rewrites `5.0` where an integer is expected.

use crate::limits::WRITTEN_DIGITS;
use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Decimal, NewValue};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::WholeNumber,
    level: Level::Safe,
    what: "Writes a number without a fractional part (`5.0`, `1e3`) as an integer, where the \
           schema's draft tells the two apart.",
    why: "It is the same number.",
    not_when: &["The number has a fraction: nothing is rounded."],
    example: Example {
        tool: None,
        schema: r#"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
                    "properties": {"limit": {"type": "integer"}}}"#,
        raw: r#"{"limit": 5.0}"#,
        mended: r#"{"limit":5}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let (Some(digits), Some(wanted)) = (site.node.digits(), site.wanted()) else {
        return;
    };
    let plain = || Decimal::parse(digits)?.to_plain_integer(WRITTEN_DIGITS);
    if wanted.has(JsonType::Integer)
        && let Some(plain) = plain()
    {
        out.replace(&RULE, site, NewValue::number(plain));
    }
}
