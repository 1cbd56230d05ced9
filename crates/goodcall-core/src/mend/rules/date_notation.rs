//! Rewrites `2025/03/04` where an RFC 3339 date is expected.

use crate::mend::site::{Proposals, Site};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::NewValue;
use crate::validate::FaultKind;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::DateNotation,
    level: Level::Safe,
    what: "Writes a date, a time or both in the notation of RFC 3339 where `format` asks for \
           it: `2025/03/04`, `20250304`, `March 4, 2025`, `20250304T1200Z`, `2025-03-04 12:00Z`.",
    why: "Only notations with one meaning are read: the year first, or the month by its name.",
    not_when: &[
        "The order of day and month is not known: `03/04/2025` is in March or in April.",
        "The host does not assert formats (`formats = \"assert\"`): then any text is good.",
        "A time zone is missing where one is wanted: none is invented.",
    ],
    example: Example {
        tool: None,
        schema: r#"{"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}"#,
        raw: r#"{"day": "March 4, 2025"}"#,
        mended: r#"{"day":"2025-03-04"}"#,
    },
};

pub(crate) fn propose(site: &Site<'_>, out: &mut Proposals) {
    let (FaultKind::Format(format), Some(text)) = (&site.fault.kind, site.node.as_str()) else {
        return;
    };
    let text = text.trim();
    if text.len() > 64 || !text.is_ascii() {
        return;
    }
    let written = match format.as_str() {
        "date" => date(text),
        "time" => time(text),
        "date-time" => date_time(text),
        _ => None,
    };
    if let Some(written) = written {
        out.whole(&RULE, [site.replace(NewValue::text(written))]);
    }
}

fn date_time(text: &str) -> Option<String> {
    // Split at the first place that leaves a date before it and a time after it.
    text.match_indices(['T', 't', ' ']).find_map(|(at, _)| {
        let (day, clock) = (date(&text[..at])?, time(&text[at + 1..])?);
        Some(format!("{day}T{clock}"))
    })
}

fn date(text: &str) -> Option<String> {
    let (year, month, day) = year_first(text).or_else(|| month_by_name(text))?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days)
        .contains(&day)
        .then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Reads a date such as `2025-3-4`, `2025/03/04`, `2025.03.04` or `20250304`.
fn year_first(text: &str) -> Option<(u32, u32, u32)> {
    if text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some((
            number(&text[..4])?,
            number(&text[4..6])?,
            number(&text[6..])?,
        ));
    }
    let separator = ['-', '/', '.'].into_iter().find(|s| text.contains(*s))?;
    let parts: Vec<_> = text.split(separator).collect();
    let [year, month, day] = parts.as_slice() else {
        return None;
    };
    let short = |part: &str| part.len() <= 2;
    (year.len() == 4 && short(month) && short(day))
        .then(|| Some((number(year)?, number(month)?, number(day)?)))?
}

/// Reads a date such as `March 4, 2025`, `Mar 4th 2025` or `4 March 2025`.
fn month_by_name(text: &str) -> Option<(u32, u32, u32)> {
    let words: Vec<_> = text
        .split([' ', ',', '-', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    let [first, second, year] = words.as_slice() else {
        return None;
    };
    let year = number(year).filter(|_| year.len() == 4)?;
    match (month(first), month(second)) {
        (Some(month), None) => Some((year, month, ordinal(second)?)),
        (None, Some(month)) => Some((year, month, ordinal(first)?)),
        _ => None,
    }
}

fn month(word: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = word.to_ascii_lowercase();
    let short = |name: &str| name.starts_with(&word) && (word.len() == 3 || word == "sept");
    let is_name = |name: &&str| *name == word || short(name);
    let at = MONTHS.iter().position(is_name)?;
    u32::try_from(at + 1).ok()
}

fn ordinal(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th"]
        .into_iter()
        .find_map(|end| word.strip_suffix(end))
        .unwrap_or(word);
    number(digits).filter(|_| digits.len() <= 2)
}

/// Reads a time with its zone, such as `12:00Z`, `1200Z`, `120000+0200` or `12:00:00.5 UTC`.
fn time(text: &str) -> Option<String> {
    let (clock, zone) = zone(text.trim())?;
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, digits)) => (clock, Some(digits)),
        None => (clock, None),
    };
    let plain: String = clock.chars().filter(|c| *c != ':').collect();
    let colons: Vec<_> = clock.match_indices(':').map(|(at, _)| at).collect();
    let (hour, minute, second) = match (plain.len(), colons.as_slice()) {
        // Only seconds may have a fraction.
        (4, [] | [2]) if fraction.is_none() => (number(&plain[..2])?, number(&plain[2..])?, 0),
        (6, [] | [2, 5]) => {
            let second = number(&plain[4..])?;
            (number(&plain[..2])?, number(&plain[2..4])?, second)
        }
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // `09:00-10:30` is more likely a time span than a time with a zone far in the west.
    if zone.starts_with('-') && zone.get(1..3).and_then(number)? >= hour {
        return None;
    }
    let fraction = match fraction {
        Some(digits) => {
            number(digits)?;
            format!(".{digits}")
        }
        None => String::new(),
    };
    Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

/// Splits off the zone and returns it in the notation of RFC 3339, after the time.
fn zone(text: &str) -> Option<(&str, String)> {
    for end in ["Z", "z", "UTC", "GMT"] {
        if let Some(clock) = text.strip_suffix(end) {
            return Some((clock.trim_end(), "Z".to_owned()));
        }
    }
    let at = text.rfind(['+', '-'])?;
    let (clock, offset) = (&text[..at], &text[at + 1..]);
    let digits: String = offset.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match digits.len() {
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        2 => (number(&digits)?, 0),
        _ => return None,
    };
    let sign = &text[at..=at];
    let furthest = if sign == "-" { 12 } else { 14 };
    (hours <= furthest && minutes < 60)
        .then(|| (clock.trim_end(), format!("{sign}{hours:02}:{minutes:02}")))
}

fn number(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unambiguous_dates_are_read() {
        for text in [
            "2025/03/04",
            "2025-3-4",
            "2025.03.04",
            "20250304",
            "March 4, 2025",
            "Mar 4th 2025",
            "4 March 2025",
            "04-Mar-2025",
        ] {
            assert_eq!(date(text).as_deref(), Some("2025-03-04"), "{text}");
        }
        for text in [
            "03/04/2025",
            "04.03.2025",
            "25-03-04",
            "2025-02-30",
            "March 2025",
            "2025",
            "0304",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn time_without_zone_is_not_read() {
        for (text, wanted) in [
            ("20250304T1200Z", "2025-03-04T12:00:00Z"),
            (
                "2025-03-04 12:00:30.25+0200",
                "2025-03-04T12:00:30.25+02:00",
            ),
            ("March 4, 2025 12:00 UTC", "2025-03-04T12:00:00Z"),
            ("2025/03/04T12:00-05:00", "2025-03-04T12:00:00-05:00"),
        ] {
            assert_eq!(date_time(text).as_deref(), Some(wanted), "{text}");
        }
        for text in [
            "2025-03-04 12:00:00",
            "20250304",
            "2025-03-04T25:00Z",
            "12:00",
        ] {
            assert_eq!(date_time(text), None, "{text}");
        }
        for text in [
            "14:00-15:00",
            "09:30-10",
            "09:00-17:30",
            "0930-1030",
            "12:30.5Z",
            "1:234Z",
            "12:00+15:00",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
        assert_eq!(time("0930Z").as_deref(), Some("09:30:00Z"));
        assert_eq!(time("09:30"), None);
    }
}
