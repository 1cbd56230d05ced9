//! Replaces `celcius` by the allowed value `celsius`, and `detail` by `detailed`.

use serde_json::Value;

use super::enum_spelling::allowed;
use crate::limits::LISTED_NAMES;
use crate::mend::site::{Proposals, Site};
use crate::names::{are_antonyms, could_mean, typo_of};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EnumTypo,
    level: Level::Eager,
    what: "Replaces a value by the allowed one that it is a typo of, or that is the same word with \
           another ending (`detail` for `detailed`).",
    why: "One allowed value is one or two letters away, and no other is near. But two words can \
          be neighbours and mean different things (`park` and `parking`).",
    not_when: &[
        "The difference is a prefix that turns the meaning (`external` and `internal`), or a sign \
         that negates or compares (`!open`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"unit": {"enum": ["celsius", "fahrenheit"]}}}"#,
        raw: r#"{"unit": "celcius"}"#,
        mended: r#"{"unit":"celsius"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let allowed = allowed(site);
    let Some(sent) = site.node.as_str().filter(|_| !allowed.is_empty()) else {
        return;
    };
    let names = || allowed.iter().filter_map(Value::as_str);
    if let Some(name) = typo_of(sent, names()).or_else(|| with_other_ending(sent, names())) {
        out.whole(&RULE, [site.replace(NewValue::text(name))]);
    }
}

/// The fewest letters of a word that is recognised with another ending.
const FEWEST_LETTERS: usize = 4;

/// Returns the one name that is the same word with another ending, if no other could be meant. Like
/// [`typo_of`] it finds none in a very long list.
fn with_other_ending<'n>(
    sent: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Option<&'n str> {
    if names.clone().nth(LISTED_NAMES).is_some() {
        return None;
    }
    let mut near = names.filter(|name| could_mean(sent, name) || differ_in_ending(sent, name));
    let (Some(name), None) = (near.next(), near.next()) else {
        return None;
    };
    (differ_in_ending(sent, name) && !are_antonyms(sent, name)).then_some(name)
}

fn differ_in_ending(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let (short, long) = if a.len() < b.len() {
        (&a, &b)
    } else {
        (&b, &a)
    };
    let ending = long.strip_prefix(short.as_str());
    short.chars().count() >= FEWEST_LETTERS
        && short.ends_with(char::is_alphabetic)
        && ending.is_some_and(|end| matches!(end, "s" | "es" | "d" | "ed" | "ing"))
}
