//! Reads the number in `"1,234"` or `"5 km"` where a number is expected.

use serde_json::Value;

use super::string_to_number::is_number;
use crate::limits::MEND_WIDTH;
use crate::mend::site::{Proposals, Site};
use crate::names::bare;
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::schema::{View, owner};
use crate::tree::{NewValue, is_integer};

/// The signs of currencies that may stand at a number.
const CURRENCIES: [char; 4] = ['$', '€', '£', '¥'];

pub(crate) const RULE: Rule = Rule {
    id: RuleId::NumberInText,
    level: Level::Eager,
    what: "Reads a number that is written for people: with thousands separators, a currency \
           sign before it or a unit after it (`\"1,234\"`, `\"$5\"`, `\"5 km\"`).",
    why: "There is one number in the text. But its unit can be another one than the tool \
          expects.",
    not_when: &[
        "Letters follow the number without a blank (`12px`, `5k`), or words multiply it (`2 dozen`).",
        "A point may separate thousands (`€1.500`).",
        "The word beside it may negate it (`2.35° W`), or is for another member (`5 USD` beside a \
         `currency`).",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"distance": {"type": "number"}}}"#,
        raw: r#"{"distance": "1,234.5 km"}"#,
        mended: r#"{"distance":1234.5}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    let Some(digits) = number(text).filter(|digits| digits != text) else {
        return;
    };
    if belongs_to_other(site, text) {
        return;
    }
    if wanted.has(JsonType::Number) || (wanted.has(JsonType::Integer) && is_integer(&digits)) {
        out.replace(&RULE, site, NewValue::number(digits));
    }
}

/// Returns true if a word beside the number is for another member, whose enum allows it, or the sign of a
/// currency is, where a member is the currency.
fn belongs_to_other(site: &Site<'_>, text: &str) -> bool {
    let Some(around) = owner(site.context.schema.document(), &site.fault.pointer) else {
        return false;
    };
    let words = || {
        text.split(|c: char| !c.is_alphabetic())
            .filter(|w| !w.is_empty())
    };
    let has_sign = text.contains(CURRENCIES);
    let properties = around.object.own_properties().into_iter().flatten();
    properties.take(MEND_WIDTH).any(|(name, schema)| {
        let member = View::new(site.context.schema.document(), schema).resolve();
        let allowed = member.get("enum").and_then(Value::as_array);
        let mut allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
        has_sign && bare(name).contains("currency")
            || allowed.any(|value| words().any(|word| value.eq_ignore_ascii_case(word)))
    })
}

/// Returns the digits of the only number in the text.
fn number(text: &str) -> Option<String> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.trim_start_matches(CURRENCIES).trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.')));
    let (number, unit) = rest.split_at(end.unwrap_or(rest.len()));
    let is_unit =
        |c: char| c.is_alphabetic() || CURRENCIES.contains(&c) || matches!(c, ' ' | '°' | '/');
    // `12px` and `1e` may be anything.
    let is_glued = unit.starts_with(char::is_alphabetic);
    if is_glued
        || !unit.chars().all(is_unit)
        || unit.split_whitespace().count() > 2
        || unit.split_whitespace().any(is_magnitude)
        || unit.split(|c: char| !c.is_alphabetic()).any(negates)
    {
        return None;
    }
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    // `1.500` is one and a half, or fifteen hundred where a comma separates the fraction.
    let thousands = fraction.is_some_and(|f| f.len() == 3) && !whole.contains(',');
    if thousands && whole != "0" && number != text {
        return None;
    }
    let mut groups = whole.split(',');
    let first = groups.next().filter(|g| !g.is_empty())?;
    let grouped = whole.contains(',');
    if grouped && (first.len() > 3 || !groups.all(|group| group.len() == 3)) {
        return None;
    }
    let plain = whole.replace(',', "");
    let digits = match fraction {
        Some(fraction) => format!("{sign}{plain}.{fraction}"),
        None => format!("{sign}{plain}"),
    };
    is_number(&digits).then_some(digits)
}

/// Returns true if the word may make the number negative: `2.35° W`, `3 below zero`, `5 DR`.
fn negates(word: &str) -> bool {
    const WORDS: [&str; 13] = [
        "south", "west", "below", "under", "ago", "before", "bc", "bce", "negative", "minus", "cr",
        "dr", "loss",
    ];
    matches!(word, "S" | "W") || WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns true if the word may multiply the number. A single letter may: `m` is a metre or a
/// million.
fn is_magnitude(word: &str) -> bool {
    const WORDS: [&str; 22] = [
        "k", "m", "g", "t", "b", "mm", "bn", "mn", "tn", "mio", "mrd", "tsd", "hundred",
        "thousand", "million", "billion", "trillion", "dozen", "lakh", "crore", "score", "gross",
    ];
    let word = word.to_lowercase();
    let one = word.strip_suffix('s').unwrap_or(&word);
    let one = one.trim_matches(|c: char| !c.is_alphanumeric());
    WORDS.contains(&one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_number_in_the_text_is_read() {
        for (text, digits) in [
            ("1,234", "1234"),
            ("5 km", "5"),
            ("$5", "5"),
            ("-1,234,567.5 €", "-1234567.5"),
            ("20°C", "20"),
            ("+7", "7"),
        ] {
            assert_eq!(number(text).as_deref(), Some(digits), "{text}");
        }
        for text in [
            "1,23",
            "1.234,5",
            "5-7",
            "50%",
            "five",
            "",
            "1 2",
            "v1.2.3",
            "02134",
            "km 5",
            "5k",
            "5 million",
            "1.5M",
            "€1.500",
            "2 dozen",
            "3 thousands",
            "5m",
            "12px",
            "1e",
            "2.35° W",
            "33.9 S",
            "3 below zero",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
