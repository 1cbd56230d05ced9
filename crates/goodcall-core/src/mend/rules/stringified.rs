//! Parses `"[1, 2]"` where an array or an object is expected.

use crate::mend::site::{Proposals, Site};
use crate::parse::{self, ReadOptions};
use crate::report::{Change, Types};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Kind, NewValue, Tree};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Stringified,
    level: Level::Safe,
    what: "Reads a string that holds an array or an object, in JSON or in Python's notation, as \
           that value where one is wanted. The value inside is mended in turn.",
    why: "A string is not allowed there, and the whole text reads as a value of the wanted kind.",
    not_when: &[
        "The text was cut off.",
        "The text reads in two ways.",
        "The text has numbers in another notation (`0x10`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"tags": {"type": "array", "items": {"type": "string"}}}}"#,
        raw: r#"{"tags": "[\"x\", \"y\"]"}"#,
        mended: r#"{"tags":["x","y"]}"#,
    },
};

/// The rules that change the notation of a number.
const NOTATIONS: [RuleId; 4] = [
    RuleId::NumberForm,
    RuleId::Radix,
    RuleId::LeadingZero,
    RuleId::GroupedDigits,
];

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    if looks_stringified(text)
        && let Some(tree) = read(text, wanted, site)
    {
        out.replace(&RULE, site, NewValue::Tree(tree));
    }
}

/// Returns true if the text begins and ends with matching brackets.
pub(super) fn looks_stringified(text: &str) -> bool {
    let text = text.trim();
    matches!(
        (text.bytes().next(), text.bytes().next_back()),
        (Some(b'['), Some(b']')) | (Some(b'{'), Some(b'}')) | (Some(b'('), Some(b')'))
    )
}

/// Parses the text and returns the value if it is of an expected kind. No other rule parses.
pub(super) fn read(text: &str, wanted: Types, site: &Site<'_>) -> Option<Tree<'static>> {
    // The parsed value starts at the depth of the string.
    let mut limits = *site.context.limits;
    let around = site.fault.pointer.depth();
    limits.max_depth = limits.depth().checked_sub(around)?;
    let options = ReadOptions::new()
        .policy(site.context.policy.clone())
        .limits(limits);
    let reading = parse::read(text, &options).ok()?;
    let kind = reading.tree.root().kind();
    let whole = reading.is_complete() && !reading.is_several();
    let container = matches!(kind, Kind::Array | Kind::Object);
    // A string may be expected in place of a number, whose original notation would be lost here.
    let rewritten = |change: &Change| NOTATIONS.contains(&change.rule);
    let exact = !reading.changes.iter().any(rewritten);
    (whole && container && exact && wanted.admits(kind)).then(|| reading.tree.into_owned())
}
