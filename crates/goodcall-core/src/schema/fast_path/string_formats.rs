//! Strings that plainly have a format or match a pattern.
//!
//! A witness says yes to the usual forms of a format, and to strings that a simple pattern matches
//! without going back. What it does not say yes to may well be right: the validator knows.

/// A short way to see that a string has what a keyword wants.
#[derive(Debug)]
pub(super) enum Witness {
    Date,
    DateTime,
    Email,
    Uri,
    Pattern(Box<Pattern>),
}

impl Witness {
    /// A witness for a format, if there is one.
    pub(super) fn of_format(name: &str) -> Option<Self> {
        Some(match name {
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            "email" => Self::Email,
            "uri" => Self::Uri,
            _ => return None,
        })
    }

    /// A witness for a pattern, if it is a simple one.
    pub(super) fn of_pattern(pattern: &str) -> Option<Self> {
        Some(Self::Pattern(Box::new(Pattern::parse(pattern)?)))
    }

    /// Is the string surely right?
    pub(super) fn is_sure(&self, text: &[u8]) -> bool {
        match self {
            Self::Date => text.len() == 10 && is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Pattern(pattern) => pattern.is_sure(text),
        }
    }
}

/// Two digits at a place.
#[inline]
fn two(text: &[u8], at: usize) -> Option<u8> {
    match text.get(at..)? {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', ..] => Some((a - b'0') * 10 + (b - b'0')),
        _ => None,
    }
}

/// `2026-03-02` at the start, on a day that every month has.
fn is_date(text: &[u8]) -> bool {
    let dashes = text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    let year = two(text, 0).is_some() && two(text, 2).is_some();
    let month = two(text, 5).is_some_and(|month| (1..=12).contains(&month));
    let day = two(text, 8).is_some_and(|day| (1..=28).contains(&day));
    dashes && year && month && day
}

/// `09:00` at a place.
fn is_clock(text: &[u8], at: usize) -> bool {
    two(text, at).is_some_and(|hour| hour < 24)
        && text.get(at + 2) == Some(&b':')
        && two(text, at + 3).is_some_and(|minute| minute < 60)
}

/// `2026-03-02T09:00:00Z`, or with an offset.
fn is_date_time(text: &[u8]) -> bool {
    let clock = is_date(text) && text.get(10) == Some(&b'T') && is_clock(text, 11);
    let seconds = text.get(16) == Some(&b':') && two(text, 17).is_some_and(|s| s < 60);
    let zone = match text.get(19..) {
        Some(b"Z") => true,
        Some([b'+' | b'-', offset @ ..]) => offset.len() == 5 && is_clock(offset, 0),
        _ => false,
    };
    clock && seconds && zone
}

/// Dotted labels of letters, digits and single dashes, each of which begins with a letter.
fn is_host(text: &[u8]) -> bool {
    let mut before = b'.';
    let mut label = 0;
    for byte in text {
        let fits = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => true,
            b'0'..=b'9' => before != b'.',
            b'-' | b'.' => before != b'.' && before != b'-',
            _ => false,
        };
        label = if *byte == b'.' { 0 } else { label + 1 };
        if !fits || label > 63 {
            return false;
        }
        before = *byte;
    }
    before != b'.' && before != b'-' && text.len() <= 190
}

/// `ada.lovelace@example.org`
fn is_email(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| *byte == b'@') else {
        return false;
    };
    let (name, host) = text.split_at(at);
    let mut before = b'.';
    for byte in name {
        let fits = match byte {
            b'.' => before != b'.',
            b'_' | b'-' | b'+' => true,
            other => other.is_ascii_alphanumeric(),
        };
        if !fits {
            return false;
        }
        before = *byte;
    }
    before != b'.' && name.len() <= 60 && is_host(host.get(1..).unwrap_or_default())
}

/// `https://example.org/path?query`, without port, fragment and percent signs.
fn is_uri(text: &[u8]) -> bool {
    let rest = text.strip_prefix(b"http").unwrap_or_default();
    let rest = rest.strip_prefix(b"s").unwrap_or(rest);
    let Some(rest) = rest.strip_prefix(b"://") else {
        return false;
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let (host, path) = rest.split_at(end.unwrap_or(rest.len()));
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/?=&+,;:@!$*".contains(byte);
    is_host(host) && path.iter().all(plain)
}

/// Sets of ASCII characters in a row, from the start of a string on.
#[derive(Debug)]
pub(super) struct Pattern {
    pieces: Box<[Piece]>,
    /// Nothing may follow.
    whole: bool,
}

#[derive(Debug)]
struct Piece {
    /// One bit for each character.
    set: u128,
    least: usize,
    most: usize,
}

impl Pattern {
    /// Reads `^`, sets and characters with repetitions, and `$`. Anything else is not simple.
    fn parse(pattern: &str) -> Option<Self> {
        let mut rest = pattern.strip_prefix('^')?.as_bytes();
        let mut pieces = Vec::new();
        while !rest.is_empty() && rest != b"$" {
            let set = set(&mut rest)?;
            let (least, most) = repetition(&mut rest)?;
            pieces.push(Piece { set, least, most });
        }
        Some(Self {
            pieces: pieces.into(),
            whole: !rest.is_empty(),
        })
    }

    /// Each piece takes as much as it can: what is matched so, is matched.
    fn is_sure(&self, text: &[u8]) -> bool {
        let mut rest = text;
        for piece in &self.pieces {
            let mut count = 0;
            while let [byte, following @ ..] = rest
                && count < piece.most
                && *byte < 128
                && piece.set & (1 << byte) != 0
            {
                rest = following;
                count += 1;
            }
            if count < piece.least {
                return false;
            }
        }
        rest.is_empty() || !self.whole
    }
}

fn take<'p>(rest: &mut &'p [u8]) -> Option<&'p u8> {
    let (first, following) = rest.split_first()?;
    *rest = following;
    Some(first)
}

fn one(byte: u8) -> Option<u128> {
    byte.is_ascii_graphic().then(|| 1 << byte)
}

fn span(from: u8, to: u8) -> Option<u128> {
    (from <= to).then(|| (from..=to).fold(0, |set, byte| set | 1 << byte))
}

/// The characters that may stand in one place.
fn set(rest: &mut &[u8]) -> Option<u128> {
    match take(rest)? {
        b'\\' => escape(*take(rest)?),
        b'[' => {
            let mut set = 0;
            loop {
                match *take(rest)? {
                    b']' if set != 0 => return Some(set),
                    b'\\' => set |= escape(*take(rest)?)?,
                    // What looks like a range or an operation to some engine is not simple.
                    b'^' | b'[' | b']' | b'&' | b'~' => return None,
                    b'-' if set != 0 && rest.first() != Some(&b']') => return None,
                    from => match **rest {
                        [b'-', to, ..] if to.is_ascii_alphanumeric() => {
                            if !from.is_ascii_alphanumeric() {
                                return None;
                            }
                            set |= span(from, to)?;
                            *rest = rest.get(2..)?;
                        }
                        [b'-', b']', ..] | [b']', ..] => set |= one(from)?,
                        [b'-', ..] => return None,
                        _ => set |= one(from)?,
                    },
                }
            }
        }
        byte if b".]{}()*+?|^$".contains(byte) => None,
        byte => one(*byte),
    }
}

fn escape(byte: u8) -> Option<u128> {
    match byte {
        b'd' => span(b'0', b'9'),
        b'w' => Some(span(b'0', b'9')? | span(b'a', b'z')? | span(b'A', b'Z')? | one(b'_')?),
        byte if byte.is_ascii_punctuation() => one(byte),
        _ => None,
    }
}

/// How often a set may repeat.
fn repetition(rest: &mut &[u8]) -> Option<(usize, usize)> {
    let times = match rest.first() {
        Some(b'*') => (0, usize::MAX),
        Some(b'+') => (1, usize::MAX),
        Some(b'?') => (0, 1),
        Some(b'{') => {
            let end = rest.iter().position(|byte| *byte == b'}')?;
            let inner = std::str::from_utf8(rest.get(1..end)?).ok()?;
            let times = match inner.split_once(',') {
                None => inner.parse().ok().map(|times| (times, times))?,
                Some((least, "")) => (least.parse().ok()?, usize::MAX),
                Some((least, most)) => (least.parse().ok()?, most.parse().ok()?),
            };
            *rest = rest.get(end..)?;
            times
        }
        _ => return Some((1, 1)),
    };
    take(rest)?;
    // Lazy repetitions.
    (rest.first() != Some(&b'?') && times.0 <= times.1).then_some(times)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;
    use crate::tree::Tree;

    /// What a witness is sure of, the validator takes.
    fn agrees(keyword: &str, value: &str, text: &str) {
        let witness = match keyword {
            "format" => Witness::of_format(value),
            _ => Witness::of_pattern(value),
        };
        if witness.is_some_and(|witness| witness.is_sure(text.as_bytes())) {
            let schema = Schema::compile(&json!({keyword: value})).expect("a schema");
            let tree = Tree::of_string(text);
            assert!(schema.truly_accepts(tree.root()), "{value} {text:?}");
        }
    }

    #[test]
    fn usual_forms_are_seen() {
        for (format, text) in [
            ("date", "2026-07-04"),
            ("date-time", "2026-03-02T09:00:00Z"),
            ("date-time", "2026-03-02T12:00:00+01:00"),
            ("email", "ada.lovelace+tag@mail.example.org"),
            ("uri", "https://api.example.org/v2/orders?expand=items&x=1"),
        ] {
            let witness = Witness::of_format(format).expect("a witness");
            assert!(witness.is_sure(text.as_bytes()), "{text}");
            agrees("format", format, text);
        }
        for (pattern, text) in [
            ("^[a-z_][a-z0-9_]*$", "invoices_2"),
            ("^[A-Z]-[0-9]{3}$", "A-100"),
            ("^#[0-9a-f]{6}$", "#00ff7f"),
            ("^[#@]", "#release"),
            ("^\\d{1,3}\\.\\d+$", "12.5"),
            ("^[A-Za-z_-]+$", "a-b"),
            ("^v?\\w{2,}", "v1_"),
        ] {
            let witness = Witness::of_pattern(pattern).expect("a witness");
            assert!(witness.is_sure(text.as_bytes()), "{pattern} {text}");
            agrees("pattern", pattern, text);
        }
    }

    #[test]
    fn what_is_not_simple_has_no_witness() {
        for pattern in [
            "a",
            "^a|b",
            "^(a)$",
            "^a.b",
            "^[^a]$",
            "^a*?",
            "^\\s",
            "^\\bx",
            "^[a-z&&b]",
            "^a{2",
            "^[a",
            "^[]a]",
            "^a$b",
            "^a{3,2}",
            "^[\\d-z]",
            "^[+--]",
            "^a++",
            "^é",
        ] {
            assert!(Witness::of_pattern(pattern).is_none(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn formats_agree(
            format in prop::sample::select(vec!["date", "date-time", "email", "uri"]),
            text in "([0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](Z|[+-][0-2][0-9]:[0-9]{2}))?\
                |[a-b0-1.+_-]{0,8}@[a-bx0-1.-]{0,12}|https?://[a-bx0-1.-]{0,9}[/?a%=:@#~]{0,6}|[ -~]{0,12})",
        ) {
            agrees("format", format, &text);
        }

        #[test]
        fn patterns_agree(
            pattern in "\\^([a-c0-2#]|\\[[a-c0-2_.#@-]{1,5}\\]|\\[a-z0-9_\\]|\\\\[dw.-]){1,4}([*+?]|\\{[0-3]\\}|\\{1,3\\})?\\$?",
            text in "[a-c0-2#@_.\u{e9}-]{0,6}",
        ) {
            // What no engine takes needs no agreement.
            if Schema::compile(&json!({"pattern": pattern})).is_ok() {
                agrees("pattern", &pattern, &text);
            }
        }
    }
}
