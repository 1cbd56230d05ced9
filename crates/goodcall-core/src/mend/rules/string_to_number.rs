//! Reads `"5"` as a number where one is expected.

use crate::mend::site::{Proposals, Site};
use crate::report::JsonType;
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{NewValue, is_integer};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::StringToNumber,
    level: Level::Safe,
    what: "Reads a string as a number where a number is wanted, if the text is exactly a number \
           in JSON's notation. The digits are kept.",
    why: "A string is not allowed there, and the text has no other meaning.",
    not_when: &[
        "The text is not a number in JSON (`\"02134\"`, `\"1,000\"`, `\"5 km\"`).",
        "An integer is wanted and the number has a fraction: nothing is rounded.",
        "The point may separate thousands (`\"1.000\"`), and the schema accepts both numbers.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"limit": {"type": "integer"}}}"#,
        raw: r#"{"limit": "5"}"#,
        mended: r#"{"limit":5}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let Some((text, wanted)) = site.mistyped_text() else {
        return;
    };
    let fits = wanted.has(JsonType::Number) || (wanted.has(JsonType::Integer) && is_integer(text));
    if is_number(text) && fits {
        out.replace(&RULE, site, NewValue::number(text));
        if may_be_grouped(text) {
            // Both are valid or the schema settles it.
            out.replace(&RULE, site, NewValue::number(text.replace('.', "")));
        }
    }
}

/// Returns true for `1.000`, which is a thousand where a point separates thousands.
pub(super) fn may_be_grouped(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    unsigned.split_once('.').is_some_and(|(whole, fraction)| {
        (1..=3).contains(&whole.len())
            && whole != "0"
            && fraction.len() == 3
            && digits(whole)
            && digits(fraction)
    })
}

/// Returns true if the text is a number by RFC 8259.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_numbers_are_accepted() {
        for number in [
            "0",
            "-0",
            "10",
            "1.50",
            "1e5",
            "-2.5E+10",
            "12345678901234567890",
        ] {
            assert!(is_number(number), "{number}");
        }
        for other in [
            "", "-", "02", "+5", "1.", ".5", "1e", "0x10", " 5", "5 ", "1_000", "NaN", "Infinity",
            "1,000", "٣",
        ] {
            assert!(!is_number(other), "{other}");
        }
    }
}
