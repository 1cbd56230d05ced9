//! Recognizes strings that plainly have a format or match a pattern.
//!
//! A recognizer accepts the usual forms of a format, and strings that a simple pattern matches
//! without backtracking. A string that it does not recognize may still be right: the validator
//! decides.

/// Recognizes most strings that a keyword accepts.
#[derive(Debug)]
pub(super) enum StringRecognizer {
    Date,
    DateTime,
    Email,
    Uri,
    Pattern(Box<SimplePattern>),
}

impl StringRecognizer {
    /// The recognizer for `format` or `pattern` with this value, if there is one.
    pub(super) fn of_keyword(keyword: &str, value: &str) -> Option<Self> {
        Some(match (keyword, value) {
            ("pattern", pattern) => Self::Pattern(Box::new(SimplePattern::parse(pattern)?)),
            ("format", "date") => Self::Date,
            ("format", "date-time") => Self::DateTime,
            ("format", "email") => Self::Email,
            ("format", "uri") => Self::Uri,
            _ => return None,
        })
    }

    /// Returns true if the string is surely right.
    pub(super) fn recognizes(&self, text: &[u8]) -> bool {
        match self {
            Self::Date => text.len() == 10 && is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Pattern(pattern) => pattern.recognizes(text),
        }
    }
}

/// The number that two digits at this offset make.
#[inline]
fn two(text: &[u8], at: usize) -> Option<u8> {
    match text.get(at..)? {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', ..] => Some((a - b'0') * 10 + (b - b'0')),
        _ => None,
    }
}

/// Returns true for `2026-03-02` at the start, on a day that every month has.
fn is_date(text: &[u8]) -> bool {
    let dashes = text.get(4) == Some(&b'-') && text.get(7) == Some(&b'-');
    let year = two(text, 0).is_some() && two(text, 2).is_some();
    let month = two(text, 5).is_some_and(|month| (1..=12).contains(&month));
    let day = two(text, 8).is_some_and(|day| (1..=28).contains(&day));
    dashes && year && month && day
}

/// Returns true for `09:00` at this offset.
fn is_clock(text: &[u8], at: usize) -> bool {
    two(text, at).is_some_and(|hour| hour < 24)
        && text.get(at + 2) == Some(&b':')
        && two(text, at + 3).is_some_and(|minute| minute < 60)
}

/// Returns true for `2026-03-02T09:00:00Z`, or the same with an offset.
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

/// Returns true for dotted labels of letters, digits and single dashes that begin with a letter.
fn is_host(text: &[u8]) -> bool {
    let mut before = b'.';
    for byte in text {
        let fits = match CLASSES[usize::from(*byte)] & (LETTER | DIGIT | HOST_MARK) {
            LETTER => true,
            DIGIT => before != b'.',
            HOST_MARK => before != b'.' && before != b'-',
            _ => false,
        };
        if !fits {
            return false;
        }
        before = *byte;
    }
    // A host of so few bytes has no label that is too long.
    before != b'.' && before != b'-' && text.len() <= 63
}

/// What a byte may be part of, one bit each.
const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const HOST_MARK: u8 = 4;
const MAIL_NAME: u8 = 8;
const URI_PATH: u8 = 16;
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut index = 0;
    while index < classes.len() {
        classes[index] = match index as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER | MAIL_NAME | URI_PATH,
            b'0'..=b'9' => DIGIT | MAIL_NAME | URI_PATH,
            b'-' => HOST_MARK | MAIL_NAME | URI_PATH,
            b'.' => HOST_MARK | URI_PATH,
            b'_' | b'+' => MAIL_NAME | URI_PATH,
            b'~' | b'/' | b'?' | b'=' | b'&' | b',' | b';' | b':' => URI_PATH,
            b'@' | b'!' | b'$' | b'*' => URI_PATH,
            _ => 0,
        };
        index += 1;
    }
    classes
};

fn is_all(text: &[u8], class: u8) -> bool {
    let is_of_class = |byte: &u8| CLASSES[usize::from(*byte)] & class != 0;
    text.iter().all(is_of_class)
}

/// Returns true for `ada.lovelace@example.org`.
fn is_email(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| *byte == b'@') else {
        return false;
    };
    let (name, host) = text.split_at(at);
    let mut parts = name.split(|byte| *byte == b'.');
    parts.all(|part| !part.is_empty() && is_all(part, MAIL_NAME))
        && name.len() <= 60
        && is_host(&host[1..])
}

/// Returns true for `https://example.org/path?query`, without port, fragment and percent signs.
fn is_uri(text: &[u8]) -> bool {
    let after = |scheme: &[u8]| text.strip_prefix(scheme);
    let Some(rest) = after(b"https://").or_else(|| after(b"http://")) else {
        return false;
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?'));
    let (host, path) = rest.split_at(end.unwrap_or(rest.len()));
    is_host(host) && is_all(path, URI_PATH)
}

/// A pattern that is a sequence of ASCII character sets, anchored at the start of the string.
#[derive(Debug)]
pub(super) struct SimplePattern {
    pieces: Box<[PatternPiece]>,
    /// True if the pattern is anchored at the end, too.
    whole: bool,
}

#[derive(Debug)]
struct PatternPiece {
    /// The allowed bytes, one bit each.
    set: [u64; 4],
    least: usize,
    most: usize,
}

impl SimplePattern {
    /// Parses `^`, sets and characters with repetitions, and `$`; `None` for anything else.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut rest = pattern.strip_prefix('^')?.as_bytes();
        let mut pieces = Vec::new();
        while !rest.is_empty() && rest != b"$" {
            let set = set(&mut rest)?;
            let (least, most) = repetition(&mut rest)?;
            let set = [set as u64, (set >> 64) as u64, 0, 0];
            pieces.push(PatternPiece { set, least, most });
        }
        Some(Self {
            pieces: pieces.into(),
            whole: !rest.is_empty(),
        })
    }

    /// Returns true if there is one way to match a string, so that one which is not recognized does
    /// not match: no piece that may repeat could leave anything to those behind it.
    pub(super) fn is_exact(&self) -> bool {
        let fixed = |piece: &PatternPiece| piece.least == piece.most;
        let last = self.pieces.len().saturating_sub(1);
        self.pieces.iter().take(last).all(fixed)
    }

    /// Returns whether the pattern matches; `None` for strings beyond ASCII that are not recognized.
    /// The pattern must be exact.
    pub(super) fn decides(&self, text: &[u8]) -> Option<bool> {
        debug_assert!(self.is_exact(), "patterns of keys are exact");
        if self.recognizes(text) {
            return Some(true);
        }
        text.is_ascii().then_some(false)
    }

    /// Lets each piece take as much as it can. That finds no match for some strings that have one,
    /// but never a wrong one.
    fn recognizes(&self, text: &[u8]) -> bool {
        let mut rest = text;
        for piece in &self.pieces {
            let most = rest.get(..piece.most).unwrap_or(rest);
            let is_outside =
                |byte: &u8| piece.set[usize::from(byte >> 6)] & (1 << (byte & 63)) == 0;
            let count = most.iter().position(is_outside).unwrap_or(most.len());
            if count < piece.least {
                return false;
            }
            rest = &rest[count..];
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

/// Parses the characters that are allowed at one position.
fn set(rest: &mut &[u8]) -> Option<u128> {
    match take(rest)? {
        b'\\' => escape(*take(rest)?),
        b'[' => {
            let mut set = 0;
            loop {
                match *take(rest)? {
                    b']' if set != 0 => return Some(set),
                    b'\\' => set |= escape(*take(rest)?)?,
                    // Some engines read these as operators.
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

/// Parses how often a set may repeat.
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
    // A second `?` makes the repetition lazy.
    (rest.first() != Some(&b'?') && times.0 <= times.1).then_some(times)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;
    use crate::tree::Tree;

    /// Asserts that the validator accepts what a recognizer accepts, and refuses what an exact pattern
    /// refuses.
    fn agrees(keyword: &str, value: &str, text: &str) {
        let Some(recognizer) = StringRecognizer::of_keyword(keyword, value) else {
            return;
        };
        let schema = Schema::options()
            .formats(true)
            .compile(&json!({keyword: value}));
        let tree = Tree::of_string(text);
        let valid = schema.expect("a schema").validator_accepts(tree.root());
        let recognized = recognizer.recognizes(text.as_bytes());
        assert!(valid || !recognized, "{value} {text:?}");
        if let StringRecognizer::Pattern(pattern) = recognizer
            && pattern.is_exact()
            && let Some(decided) = pattern.decides(text.as_bytes())
        {
            assert_eq!(decided, valid, "{value} {text:?}");
        }
    }

    #[test]
    fn usual_strings_are_recognized() {
        for (format, text) in [
            ("date", "2026-07-04"),
            ("date-time", "2026-03-02T09:00:00Z"),
            ("date-time", "2026-03-02T12:00:00+01:00"),
            ("email", "ada.lovelace+tag@mail.example.org"),
            ("uri", "https://api.example.org/v2/orders?expand=items&x=1"),
        ] {
            let recognizer = StringRecognizer::of_keyword("format", format).expect("a recognizer");
            assert!(recognizer.recognizes(text.as_bytes()), "{text}");
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
            let recognizer =
                StringRecognizer::of_keyword("pattern", pattern).expect("a recognizer");
            assert!(recognizer.recognizes(text.as_bytes()), "{pattern} {text}");
            agrees("pattern", pattern, text);
        }
    }

    #[test]
    fn complex_patterns_have_no_recognizer() {
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
            let recognizer = StringRecognizer::of_keyword("pattern", pattern);
            assert!(recognizer.is_none(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn format_recognizers_agree_with_validator(
            format in prop::sample::select(vec!["date", "date-time", "email", "uri"]),
            text in "([0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](Z|[+-][0-2][0-9]:[0-9]{2}))?\
                |[a-b0-1.+_-]{0,8}@[a-bx0-1.-]{0,12}|https?://[a-bx0-1.-]{0,9}[/?a%=:@#~]{0,6}|[ -~]{0,12})",
        ) {
            agrees("format", format, &text);
        }

        #[test]
        fn pattern_recognizers_agree_with_validator(
            pattern in "\\^([a-c0-2#]|\\[[a-c0-2_.#@-]{1,5}\\]|\\[a-z0-9_\\]|\\\\[dw.-]){1,4}([*+?]|\\{[0-3]\\}|\\{1,3\\})?\\$?",
            text in "[a-c0-2#@_.\u{e9}-]{0,6}",
        ) {
            // A pattern that does not compile accepts nothing.
            if Schema::compile(&json!({"pattern": pattern})).is_ok() {
                agrees("pattern", &pattern, &text);
            }
        }
    }
}
