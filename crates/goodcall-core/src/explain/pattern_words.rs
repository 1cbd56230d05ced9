//! Patterns in words. Small models do not read regular expressions.

use fancy_regex::Regex;

use super::phrase::either;

/// A notation, two texts in it, and texts in neighbouring notations that are not in it.
struct Notation {
    noun: &'static str,
    texts: [&'static str; 2],
    others: [&'static str; 3],
}

/// Notations of dates and times, which patterns describe at length.
const NOTATIONS: [Notation; 7] = [
    Notation {
        noun: "a time written hh:mm",
        texts: ["19:30", "08:05"],
        others: ["1930", "8:5x", "19.30"],
    },
    Notation {
        noun: "a time written hh:mm:ss",
        texts: ["19:30:00", "08:05:59"],
        others: ["193000", "8:5", "19.30.00"],
    },
    Notation {
        noun: "a date written YYYY-MM-DD",
        texts: ["2025-03-04", "1999-12-31"],
        others: ["20250304", "04.03.2025", "March 4"],
    },
    Notation {
        noun: "a month written YYYY-MM",
        texts: ["2025-03", "1999-12"],
        others: ["202503", "03/2025", "March"],
    },
    Notation {
        noun: "a date and time written YYYY-MM-DDThh:mm:ss",
        texts: ["2025-03-04T19:30:00", "1999-12-31T08:05:59"],
        others: ["2025-03-04", "04.03.2025", "19:30:00"],
    },
    Notation {
        noun: "a date and time written YYYY-MM-DDThh:mm:ss with its time zone",
        texts: ["2025-03-04T19:30:00Z", "1999-12-31T08:05:59Z"],
        others: ["2025-03-04", "2025-03-04T19:30:00", "19:30:00"],
    },
    Notation {
        noun: "a date and time written YYYY-MM-DDThh:mm:ss.sss with its time zone",
        texts: ["2025-03-04T19:30:00.000Z", "1999-12-31T08:05:59.999Z"],
        others: ["2025-03-04", "2025-03-04T19:30:00Z", "19:30:00"],
    },
];

/// The name of the notation that a pattern describes.
pub(super) fn notation(pattern: &str) -> Option<&'static str> {
    // Only patterns that may match a colon or a dash are tried.
    if !pattern.starts_with('^') || !pattern.contains([':', '-']) {
        return None;
    }
    let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let regex = Regex::new(&translated).ok()?;
    let matches = |text: &&str| regex.is_match(text).unwrap_or(false);
    let found = NOTATIONS.iter().find(|notation| {
        notation.texts.iter().all(matches) && !notation.others.iter().any(&matches)
    });
    found.map(|notation| notation.noun)
}

/// The most parts of a pattern that is written in words.
const MOST_PARTS: usize = 4;

/// Writes a plain pattern in words: `3 capital letters`, `"card_", then digits`. `None` if it has
/// alternatives, groups or no anchors.
pub(super) fn in_words(pattern: &str) -> Option<String> {
    let mut rest = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (set, after) = Set::read(rest)?;
        let (times, after) = Times::read(after)?;
        match (parts.last_mut(), &set, &times) {
            (Some((Set::Text(text), Times::One)), Set::Text(more), Times::One) => {
                text.push_str(more);
            }
            _ => parts.push((set, times)),
        }
        rest = after;
    }
    if parts.is_empty() || parts.len() > MOST_PARTS {
        return None;
    }
    let words: Option<Vec<_>> = parts.iter().map(|(set, times)| set.times(times)).collect();
    Some(words?.join(", then "))
}

/// The characters that one part of a pattern matches.
enum Set {
    Text(String),
    /// Kinds of characters in the plural, and single ones.
    Kinds(Vec<String>),
}

impl Set {
    /// Reads the first part of a pattern, and returns the rest.
    fn read(pattern: &str) -> Option<(Self, &str)> {
        let mut chars = pattern.chars();
        let first = chars.next()?;
        let rest = chars.as_str();
        match first {
            '[' => Self::class(rest),
            '\\' => {
                let escaped = rest.chars().next()?;
                let rest = &rest[escaped.len_utf8()..];
                let set = match escaped {
                    'd' => Set::Kinds(vec!["digits".to_owned()]),
                    'w' => Set::Kinds(vec![
                        "letters".to_owned(),
                        "digits".to_owned(),
                        "_".to_owned(),
                    ]),
                    c if !c.is_alphanumeric() => Set::Text(c.to_string()),
                    _ => return None,
                };
                Some((set, rest))
            }
            c if "(){}|.*+?^$".contains(c) => None,
            c => Some((Set::Text(c.to_string()), rest)),
        }
    }

    /// Reads a class after its opening bracket.
    fn class(pattern: &str) -> Option<(Self, &str)> {
        let (inside, rest) = pattern.split_once(']')?;
        if inside.starts_with('^') || inside.contains('[') {
            return None;
        }
        let mut left = inside.replace(r"\d", "0-9").replace(r"\w", "A-Za-z0-9_");
        let mut take = |range: &str| {
            let found = left.contains(range);
            left = left.replacen(range, "", 1);
            found
        };
        let (lower, upper, digits) = (take("a-z"), take("A-Z"), take("0-9"));
        let mut kinds = Vec::new();
        match (lower, upper) {
            (true, true) => kinds.push("letters".to_owned()),
            (true, false) => kinds.push("lower-case letters".to_owned()),
            (false, true) => kinds.push("capital letters".to_owned()),
            (false, false) => {}
        }
        if digits {
            kinds.push("digits".to_owned());
        }
        let single = left.replace('\\', "");
        // A dash between two characters is another range.
        let dash = single
            .find('-')
            .is_some_and(|at| at > 0 && at + 1 < single.len());
        if dash || single.contains(char::is_alphanumeric) {
            return None;
        }
        kinds.extend(single.chars().map(|c| match c {
            ' ' => "blanks".to_owned(),
            c => c.to_string(),
        }));
        (!kinds.is_empty()).then_some((Set::Kinds(kinds), rest))
    }

    /// Writes the set with the number of its characters.
    fn times(&self, times: &Times) -> Option<String> {
        let kinds = match self {
            Set::Text(text) => {
                return matches!(times, Times::One).then(|| format!("\"{text}\""));
            }
            Set::Kinds(kinds) => kinds,
        };
        let many = either(kinds);
        Some(match times {
            Times::One => match kinds.as_slice() {
                [kind] => format!("one {}", kind.strip_suffix('s').unwrap_or(kind)),
                _ => format!("one of {many}"),
            },
            Times::Many => many,
            Times::Any => format!("any number of {many}"),
            Times::Exactly(count) => format!("{count} {many}"),
            Times::Between(least, most) => format!("{least} to {most} {many}"),
            Times::AtLeast(least) => format!("{least} or more {many}"),
        })
    }
}

/// How often a part of a pattern occurs.
enum Times {
    One,
    /// Once or more.
    Many,
    Any,
    Exactly(u32),
    Between(u32, u32),
    AtLeast(u32),
}

impl Times {
    fn read(pattern: &str) -> Option<(Self, &str)> {
        match pattern.chars().next() {
            Some('+') => Some((Times::Many, &pattern[1..])),
            Some('*') => Some((Times::Any, &pattern[1..])),
            Some('?') => None,
            Some('{') => {
                let (inside, rest) = pattern[1..].split_once('}')?;
                let times = match inside.split_once(',') {
                    None => Times::Exactly(inside.parse().ok()?),
                    Some((least, "")) => Times::AtLeast(least.parse().ok()?),
                    Some((least, most)) => Times::Between(least.parse().ok()?, most.parse().ok()?),
                };
                Some((times, rest))
            }
            _ => Some((Times::One, pattern)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_patterns_are_written_in_words() {
        for (pattern, words) in [
            ("^[A-Z]{3}$", "3 capital letters"),
            ("^card_[0-9]+$", "\"card_\", then digits"),
            (
                "^[a-z][a-z0-9_]{2,15}$",
                "one lower-case letter, then 2 to 15 lower-case letters, digits or _",
            ),
            (r"^\d{5}$", "5 digits"),
            (
                r"^#[a-zA-Z]{2,}\.$",
                "\"#\", then 2 or more letters, then \".\"",
            ),
            ("^[a-z-]*$", "any number of lower-case letters or -"),
        ] {
            assert_eq!(in_words(pattern).as_deref(), Some(words), "{pattern}");
        }
        for pattern in [
            "a+", "^a|b$", "^(a)$", "^.+$", "^[^a]+$", "^[a-f]+$", "^a?$", "^$", "^[+--]$",
        ] {
            assert_eq!(in_words(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn notations_of_dates_and_times_are_recognised() {
        for (pattern, noun) in [
            ("^[0-2][0-9]:[0-5][0-9]$", Some("a time written hh:mm")),
            (r"^\d{2}:\d{2}:\d{2}$", Some("a time written hh:mm:ss")),
            (
                r"^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$",
                Some("a time written hh:mm"),
            ),
            (r"^\d{4}-\d{2}-\d{2}$", Some("a date written YYYY-MM-DD")),
            (r"^\d{4}-(0[1-9]|1[0-2])$", Some("a month written YYYY-MM")),
            ("^[0-9:.-]+$", None),
            ("^.*:.*$", None),
            ("^[a-z]+-[a-z]+$", None),
        ] {
            assert_eq!(notation(pattern), noun, "{pattern}");
        }
    }
}
