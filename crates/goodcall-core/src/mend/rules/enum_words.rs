//! Replaces `last six months` by the allowed value `six_months`.

use super::enum_spelling::{allowed, folded, is_separator};
use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::NewValue;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::EnumWords,
    level: Level::Safe,
    what: "Replaces a value by the allowed one that has the same words but for an article at the \
           start, for a number in digits, or for `last` or `past` before a span of time (`the \
           last 6 months` for `six_months`).",
    why: "The value as sent is not allowed, and no other allowed value has these words.",
    not_when: &[
        "Another word is left over or missing (`next year`, `not open`, `vitamin`).",
        "`last` stands before a span without a number (`last year` may be the calendar year), \
         and the allowed values are not spans of time, some with a number.",
        "Another allowed value is about the same span (`this_year`).",
        "The article is an allowed value itself (`a b`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties":
                    {"span": {"enum": ["six_months", "year", "five_years"]}}}"#,
        raw: r#"{"span": "the last 5 years"}"#,
        mended: r#"{"span":"five_years"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    if allowed(site).is_empty() {
        return;
    }
    // `-price` may sort the other way round.
    let text = site.node.as_str().map(str::trim);
    let Some(text) = text.filter(|text| text.starts_with(char::is_alphanumeric)) else {
        return;
    };
    let mut sent = words(text);
    let first = sent.first().map_or("", String::as_str);
    let is_article = matches!(first, "a" | "an" | "the");
    // Without one of these, the same words are the same letters, which is another rule's matter. Most
    // values end here, before thousands of allowed ones are looked at.
    let has_number = sent.iter().any(|word| NUMBERS.contains(&word.as_str()));
    if !is_article && !has_number && !matches!(first, "last" | "past") {
        return;
    }
    let names = || allowed(site).iter().filter_map(|value| value.as_str());
    if is_article && !names().any(|name| has_words(name, &sent[..1])) {
        sent.remove(0);
    }
    let are_spans =
        names().all(|name| is_span(&words(name))) && names().any(|name| words(name).len() == 2);
    let span = past_span(&sent, are_spans);
    for name in names() {
        let is_same = !sent.is_empty() && has_words(name, &sent);
        // `this_week` is a rival of `week`.
        let is_past = |span| {
            let rivals = names().filter(|other| words(other).ends_with(span));
            has_words(name, span) && rivals.count() == 1
        };
        if (is_same || span.is_some_and(is_past)) && folded(text) != folded(name) {
            out.whole(&RULE, [site.replace(NewValue::text(name))]);
        }
    }
}

/// Returns true if the words of a text are these. It stops at the first that differs.
fn has_words(text: &str, words: &[String]) -> bool {
    let mut split = text.split(is_separator).filter(|word| !word.is_empty());
    let mut meant = words.iter();
    split.all(|word| {
        let word = word.to_lowercase();
        meant
            .next()
            .is_some_and(|meant| meant == spelled_out(&word))
    }) && meant.next().is_none()
}

/// The words of a text in lower case, with small numbers in letters.
fn words(text: &str) -> Vec<String> {
    let split = text.split(is_separator);
    let lower = split.filter(|word| !word.is_empty()).map(str::to_lowercase);
    lower.map(|word| spelled_out(&word).to_owned()).collect()
}

/// Returns the words after `last` or `past` if they are a span of time that ends now: `last six
/// months`, `past year`, and `last year` where only spans are allowed.
fn past_span(words: &[String], only_spans: bool) -> Option<&[String]> {
    let (first, span) = words.split_first()?;
    let is_past = first == "past" || first == "last" && (span.len() == 2 || only_spans);
    (is_past && is_span(span)).then_some(span)
}

/// Returns true for `year` and `six months`.
fn is_span(words: &[String]) -> bool {
    let (unit, is_counted) = match words {
        [unit] => (unit, true),
        [number, unit] => (unit, NUMBERS.contains(&number.as_str())),
        _ => return false,
    };
    is_counted && SPANS.contains(&unit.strip_suffix('s').unwrap_or(unit))
}

const SPANS: [&str; 9] = [
    "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century",
];

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// A small number in letters.
fn spelled_out(word: &str) -> &str {
    let number = word.parse::<usize>().ok();
    let number = number.filter(|number| number.to_string() == word);
    number
        .and_then(|number| NUMBERS.get(number))
        .unwrap_or(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_of_time_ends_now() {
        for (sent, span) in [
            ("last six months", Some("six months")),
            ("past 5 years", Some("five years")),
            ("past year", Some("year")),
            ("last year", None),
            ("next 5 years", None),
            ("last 05 years", None),
            ("last few years", None),
            ("past tense", None),
            ("year", None),
            ("past", None),
        ] {
            let sent = words(sent);
            let found = past_span(&sent, false).map(|words| words.join(" "));
            assert_eq!(found.as_deref(), span, "{sent:?}");
        }
    }
}
