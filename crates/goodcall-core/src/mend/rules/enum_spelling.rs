//! Replaces `Celsius` by the allowed value `celsius`.

use serde_json::Value;

use crate::mend::site::{Proposals, Site};
use crate::names::Letters;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{NewValue, Node};
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EnumSpelling,
    level: Level::Safe,
    what: "Replaces a value by the allowed one that differs only in case, white space and \
           separators (`In Progress` for `in_progress`), or in being quoted (`\"1\"` for `1`).",
    why: "The value as sent is not allowed, and exactly one allowed value is spelled with the \
          same letters.",
    not_when: &[
        "Two allowed values are spelled with the same letters.",
        "The value is a short code among codes in different cases (`1m` where there are `1d` \
         and `1M`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"status": {"enum": ["open", "in_progress", "done"]}}}"#,
        raw: r#"{"status": "In Progress"}"#,
        mended: r#"{"status":"in_progress"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let allowed = allowed(site);
    if allowed.is_empty() {
        return;
    }
    let letters = site.node.as_str().map(Letters::of);
    for value in allowed {
        // Comparing letter sets first rules out most values of a long list.
        if let (Some(ours), Some(theirs)) = (letters, value.as_str().map(Letters::of))
            && !ours.may_be_same(theirs)
        {
            continue;
        }
        if same_word(site.node, value) && !is_code(site, value) {
            out.whole(&RULE, [site.replace(NewValue::of(value))]);
        }
    }
}

/// Returns the allowed values if the fault is that the value is not among them.
pub(super) fn allowed<'s>(site: &'s Site<'_>) -> &'s [Value] {
    match &site.fault.kind {
        FaultKind::Enum(values) => values.as_array().map_or(&[], Vec::as_slice),
        FaultKind::Const(value) => std::slice::from_ref(value),
        _ => &[],
    }
}

/// The most letters of a short code, in which case may be significant: `mW` and `MW`.
const MOST_CODE: usize = 3;

/// Returns true if this allowed value is a short code that was sent in another case, and the list
/// writes its short codes in different cases. Then case is significant: `1m` is not `1M` where
/// there is `1d`.
fn is_code(site: &Site<'_>, value: &Value) -> bool {
    let letters = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count();
    let is_short = |word: &&str| (1..=MOST_CODE).contains(&letters(word));
    let (Some(sent), Some(value)) = (site.node.as_str(), value.as_str()) else {
        return false;
    };
    if !is_short(&value) || cased(sent).eq(cased(value)) {
        return false;
    }
    let words = allowed(site).iter().filter_map(Value::as_str);
    let mut styles = words.filter(is_short).map(style);
    let first = styles.next().flatten();
    first.is_none() || styles.any(|style| style != first)
}

fn cased(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| c.is_alphabetic())
}

/// Returns whether the first letter and the other letters of a word are in upper case, or `None`
/// for a word in mixed case.
fn style(word: &str) -> Option<(bool, bool)> {
    let mut letters = cased(word);
    let first = letters.next()?.is_uppercase();
    let mut rest = letters.map(char::is_uppercase);
    let upper = rest.next().unwrap_or(first);
    (rest.all(|other| other == upper) && (first || !upper)).then_some((first, upper))
}

fn same_word(sent: Node<'_>, allowed: &Value) -> bool {
    match (sent.as_str(), allowed) {
        (Some(text), Value::String(allowed)) => {
            folded(text).is_some_and(|word| Some(word) == folded(allowed))
        }
        (Some(text), Value::Number(number)) => number.to_string() == text,
        (Some("true" | "True"), Value::Bool(true)) => true,
        (Some("false" | "False"), Value::Bool(false)) => true,
        (Some("null" | "None"), Value::Null) => true,
        (Some(_), _) => false,
        (None, Value::String(allowed)) => {
            (sent.digits().is_some() || sent.as_bool().is_some()) && sent.to_json() == *allowed
        }
        _ => false,
    }
}

/// Removes case and separators from a word. A separator between two digits or at an end is part of
/// the word: `1-2` is not `12`, `-5` is not `5`.
pub(super) fn folded(word: &str) -> Option<String> {
    let letters: Vec<char> = word.trim().chars().flat_map(char::to_lowercase).collect();
    let mut out = String::with_capacity(word.len());
    for (at, c) in letters.iter().enumerate() {
        if !is_separator(*c) {
            out.push(*c);
            continue;
        }
        let before = letters[..at].iter().rev().find(|c| !is_separator(**c));
        let after = letters[at..].iter().find(|c| !is_separator(**c));
        match (before, after) {
            (Some(a), Some(b)) if a.is_alphanumeric() && b.is_alphanumeric() => {
                if a.is_numeric() && b.is_numeric() && !out.ends_with('_') {
                    out.push('_');
                }
            }
            _ => out.push(*c),
        }
    }
    (!out.is_empty()).then_some(out)
}

pub(super) fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_separators_are_kept() {
        assert_eq!(folded("In Progress"), folded("in_progress"));
        assert_eq!(folded("inProgress "), folded("IN-PROGRESS"));
        assert_eq!(folded("1 - 2"), folded("1_2"));
        for (a, b) in [
            ("1-2", "12"),
            ("-5", "5"),
            ("c++", "c"),
            ("<", ">"),
            ("a.b", "ab"),
        ] {
            assert_ne!(folded(a), folded(b), "{a} {b}");
        }
        assert_eq!(folded(" "), None);
    }
}
