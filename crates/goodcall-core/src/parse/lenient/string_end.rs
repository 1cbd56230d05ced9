//! Where a string ends, when its quotes do not say.
//!
//! A quote ends a string if what follows it fits the container around. Looking ahead stops at the
//! next quote, the next line or a fixed number of bytes, so every byte is looked at a bounded
//! number of times. Going back is paid for from [`Parser::fuel`].

use super::lookahead::QuoteFit;
use super::parser::Parser;

/// Bytes of a key that looking ahead accepts.
pub(super) const MOST_KEY: usize = 200;

/// The quotes of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// `"`, `'` or a backtick.
    Plain(u8),
    /// `“`, `”`, `„`, `«`, `»`.
    Smart,
    /// `‘`, `’`, `‚`.
    SmartSingle,
    /// `"""` or `'''`.
    Triple(u8),
    /// `""text""`.
    Doubled(u8),
    /// `\"text\"`.
    Escaped(u8),
}

impl Quote {
    pub(super) fn width(self) -> usize {
        match self {
            Quote::Plain(_) => 1,
            Quote::Doubled(_) | Quote::Escaped(_) => 2,
            Quote::Smart | Quote::SmartSingle | Quote::Triple(_) => 3,
        }
    }
}

/// Where a string stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringRole {
    Key,
    Member,
    Element,
    Root,
}

/// Where a string ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StringEnd {
    /// The end of its text.
    pub(super) text: usize,
    /// Where reading goes on.
    pub(super) after: usize,
    pub(super) closed: bool,
    pub(super) cut: bool,
    /// Has backslashes, or control characters.
    pub(super) escapes: bool,
    pub(super) controls: bool,
    /// From the first unescaped quote inside to the end of the last.
    pub(super) inner: Option<(usize, usize)>,
    /// Did the schema's keys settle where it ends?
    pub(super) settled: bool,
    /// Closed by a quote of another kind than the one that opened it.
    pub(super) mismatched: bool,
    /// Could it as well have ended elsewhere?
    pub(super) torn: bool,
}

/// What is known of a string that is being searched for its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringSearch {
    pub(super) start: usize,
    pub(super) quote: Quote,
    pub(super) role: StringRole,
    pub(super) at: usize,
    pub(super) end: StringEnd,
    pub(super) count: usize,
    /// Quotes inside that could be one of a pair.
    pub(super) pairs: usize,
    pub(super) last: usize,
    /// Brackets opened minus brackets closed, up to `counted`.
    pub(super) balance: i32,
    pub(super) counted: usize,
    pub(super) maybe: Option<usize>,
    /// Could it have ended before, and a member that the schema does not declare follow?
    pub(super) rival: bool,
    /// Does a key that the schema declares stand inside, with its colon?
    pub(super) declared: bool,
    /// The first line end before a quote or a closing bracket.
    pub(super) line: Option<usize>,
    /// The first token after the line end that was looked at last.
    pub(super) token: usize,
}

impl Parser<'_> {
    /// The quote that opens a string here.
    pub(super) fn opening_quote(&self) -> Option<Quote> {
        let rest = &self.bytes[self.at..];
        match *rest {
            [a @ (b'"' | b'\''), b, c, ..] if a == b && b == c => Some(Quote::Triple(a)),
            [a @ (b'"' | b'\''), b, c, ..]
                if a == b && (c.is_ascii_alphanumeric() || c >= 0x80) =>
            {
                Some(Quote::Doubled(a))
            }
            [a @ (b'"' | b'\'' | b'`'), ..] => Some(Quote::Plain(a)),
            [b'\\', a @ (b'"' | b'\''), ..] => Some(Quote::Escaped(a)),
            [0xE2 | 0xC2, ..] => self.smart_quote(self.at).map(|(quote, _)| quote),
            _ => None,
        }
    }

    /// A typographic quote here, and its bytes.
    pub(super) fn smart_quote(&self, at: usize) -> Option<(Quote, usize)> {
        match *self.bytes.get(at..at + 3).unwrap_or(self.bytes.get(at..)?) {
            [0xE2, 0x80, 0x9C..=0x9F] => Some((Quote::Smart, 3)),
            [0xE2, 0x80, 0x98..=0x9B] => Some((Quote::SmartSingle, 3)),
            _ => None,
        }
    }

    /// Finds the end of the string whose text starts at `start`.
    pub(super) fn string_end(&mut self, start: usize, quote: Quote, role: StringRole) -> StringEnd {
        match quote {
            Quote::Triple(byte) => {
                let mut end = self.fixed_end(start, &[byte; 3]);
                // `"""say "bye""""`: the first of four is text.
                while end.closed && self.byte(end.after) == byte {
                    end.inner = Some((end.text, end.text + 1));
                    end.text += 1;
                    end.after += 1;
                }
                end
            }
            Quote::Doubled(byte) => self.fixed_end(start, &[byte; 2]),
            Quote::Escaped(byte) => self.escaped_end(start, byte),
            quote => self.search(start, quote, role),
        }
    }

    /// Do two quotes end the string, on the same line?
    pub(super) fn doubled_closes(&self, start: usize, byte: u8) -> bool {
        let pairs = self.bytes[start..].windows(2);
        let mut line = pairs.take_while(|pair| pair[0] != b'\n');
        line.any(|pair| pair == [byte; 2])
    }

    fn fixed_end(&self, start: usize, closing: &[u8]) -> StringEnd {
        let found = find(&self.bytes[start..], closing);
        let text = found.map_or(self.bytes.len(), |n| start + n);
        let inside = &self.bytes[start..text];
        StringEnd {
            text,
            after: found.map_or(text, |_| text + closing.len()),
            closed: found.is_some(),
            cut: found.is_none(),
            escapes: inside.contains(&b'\\'),
            controls: inside.iter().any(|b| *b < 0x20),
            ..StringEnd::default()
        }
    }

    /// The end of `\"text\"`: the next quote with at most one backslash.
    fn escaped_end(&self, start: usize, byte: u8) -> StringEnd {
        let mut at = start;
        while let Some(n) = self.bytes[at..].iter().position(|b| *b == byte) {
            let quote = at + n;
            let slashes = self.bytes[start..quote]
                .iter()
                .rev()
                .take_while(|b| **b == b'\\')
                .count();
            if slashes < 2 {
                let text = quote - slashes;
                let escapes = self.bytes[start..text].contains(&b'\\');
                return StringEnd {
                    text,
                    after: quote + 1,
                    closed: true,
                    escapes,
                    ..StringEnd::default()
                };
            }
            at = quote + 1;
        }
        let text = self.bytes.len();
        StringEnd {
            text,
            after: text,
            cut: true,
            escapes: true,
            ..StringEnd::default()
        }
    }

    pub(super) fn search(&mut self, start: usize, quote: Quote, role: StringRole) -> StringEnd {
        let mut s = StringSearch {
            start,
            quote,
            role,
            at: start,
            end: StringEnd::default(),
            count: 0,
            pairs: 0,
            last: start,
            balance: 0,
            counted: start,
            maybe: None,
            rival: false,
            declared: false,
            line: None,
            token: 0,
        };
        loop {
            s.at = self.next_special(s.at, quote);
            let Some(byte) = self.bytes.get(s.at).copied() else {
                return self.unterminated(s);
            };
            match byte {
                b'\\' => {
                    s.end.escapes = true;
                    s.at = (s.at + 2).min(self.bytes.len());
                }
                0..0x20 => {
                    s.end.controls = true;
                    if byte == b'\n' && s.line.is_none() && s.at >= s.token {
                        s.token = self.skip_space(s.at);
                        if matches!(self.byte(s.token), b'"' | b'}' | b']' | b'\'') {
                            s.line = Some(s.at);
                        }
                    }
                    s.at += 1;
                }
                _ => {
                    let width = self.quote_width(s.at, quote);
                    if width == 0 {
                        s.at += 1;
                    } else if let Some(end) = self.weigh(&mut s, width) {
                        return end;
                    }
                }
            }
        }
    }

    /// Is the quote here the end? Otherwise it is noted as part of the text.
    fn weigh(&mut self, s: &mut StringSearch, width: usize) -> Option<StringEnd> {
        let (at, after) = (s.at, s.at + width);
        let fit = self.fit(after, s.role);
        if s.count == 0 && fit == QuoteFit::Yes || self.fuel == 0 {
            return Some(StringEnd {
                text: at,
                after,
                closed: true,
                ..s.end
            });
        }
        if s.role == StringRole::Key
            && let Some(colon) = find(&self.bytes[s.last..at], b":")
        {
            return Some(self.ends_open(s, s.last + colon));
        }
        if fit == QuoteFit::Colon && s.role == StringRole::Member && s.count > 0 {
            if let Some(end) = self.ends_before_key(s, at) {
                return Some(end);
            }
            let key = self.text.get(s.last + 1..at).unwrap_or_default();
            if self.is_known(key) {
                s.declared = true;
                self.count_brackets(s, at);
                // Outside of the brackets of the text it is a member.
                s.end.torn |= s.balance <= 0;
            }
        }
        if s.count == 1
            && s.role == StringRole::Element
            && fit == QuoteFit::Yes
            && let Some(comma) = self.comma_before(s.last, s.start)
        {
            return Some(self.ends_open(s, comma));
        }
        if s.count == 0 && fit == QuoteFit::Maybe {
            return Some(StringEnd {
                text: at,
                after,
                closed: true,
                ..s.end
            });
        }
        if s.count > 0 && fit == QuoteFit::Yes {
            self.count_brackets(s, at);
            let known = self.known_key_after(after);
            let even = s.pairs.is_multiple_of(2);
            let paired = even || known.is_none() && self.closes_all(after);
            if known != Some(false) && s.balance <= 0 && paired {
                let settled = even && !self.keys.is_empty() && !s.rival && !s.declared;
                return Some(StringEnd {
                    text: at,
                    after,
                    closed: true,
                    settled,
                    ..s.end
                });
            }
        }
        self.keep(s, fit, width);
        None
    }

    /// The quote here is part of the text.
    fn keep(&self, s: &mut StringSearch, fit: QuoteFit, width: usize) {
        let (at, after) = (s.at, s.at + width);
        if matches!(fit, QuoteFit::Yes | QuoteFit::Maybe) {
            s.maybe.get_or_insert(at);
            if !s.rival && s.pairs.is_multiple_of(2) {
                self.count_brackets(s, at);
                s.rival = s.balance <= 0 && self.goes_on(after);
                s.end.torn |= s.rival && self.known_key_after(after) == Some(false);
            }
        }
        // `"rm", "-rf"`: one string after another, rather than text with quotes in it.
        // `["a""b"]`: two strings, or one; `"key"true, "other":`: a colon is missing.
        s.end.torn |= s.count == 0
            && match s.role {
                StringRole::Member => self.lists_on(after, s.quote),
                StringRole::Element => self.quote_width(after, s.quote) > 0,
                StringRole::Key => {
                    (self.text.get(s.start..at)).is_some_and(|key| self.is_known(key))
                }
                StringRole::Root => false,
            };
        let first = s.end.inner.map_or(at, |(first, _)| first);
        s.end.inner = Some((first, after));
        s.count += 1;
        s.pairs += usize::from(!self.is_apostrophe(at, width));
        s.last = at;
        s.at = after;
    }

    /// Do a comma and a quote follow?
    fn lists_on(&self, after: usize, quote: Quote) -> bool {
        let comma = self.skip_space(after);
        let width = self.comma_width(comma);
        width > 0 && self.quote_width(self.skip_space(comma + width), quote) > 0
    }

    pub(super) fn count_brackets(&self, s: &mut StringSearch, to: usize) {
        for byte in self.bytes.get(s.counted..to).unwrap_or_default() {
            match byte {
                b'{' | b'[' => s.balance += 1,
                b'}' | b']' => s.balance -= 1,
                _ => {}
            }
        }
        s.counted = to.max(s.counted);
    }

    pub(super) fn is_known(&self, key: &str) -> bool {
        self.keys
            .binary_search_by(|known| known.as_str().cmp(key))
            .is_ok()
    }

    /// Is the key after the comma here one of the schema's? `None`: there is no telling.
    pub(super) fn known_key_after(&self, after: usize) -> Option<bool> {
        let comma = self.skip_space(after);
        let width = self.comma_width(comma);
        if self.keys.is_empty() || width == 0 {
            return None;
        }
        let start = self.skip_space(comma + width);
        let end = self.key_end(start)?;
        let key = self.text.get(start..end)?.trim_matches(['"', '\'', '`']);
        Some(self.is_known(key))
    }

    /// The next byte that may matter inside a string.
    #[inline]
    fn next_special(&self, from: usize, quote: Quote) -> usize {
        let rest = &self.bytes[from.min(self.bytes.len())..];
        let found = match quote {
            Quote::Plain(b'"') => return crate::parse::strict::plain_end(self.bytes, from),
            Quote::Plain(byte) => rest
                .iter()
                .position(|b| *b == byte || *b == b'\\' || *b < 0x20),
            _ => rest
                .iter()
                .position(|b| matches!(b, b'"' | b'\'' | b'\\' | 0xE2) || *b < 0x20),
        };
        found.map_or(self.bytes.len(), |n| from + n)
    }

    /// Bytes of the closing quote here; 0 if there is none.
    pub(super) fn quote_width(&self, at: usize, quote: Quote) -> usize {
        match quote {
            Quote::Plain(byte) => usize::from(self.byte(at) == byte),
            Quote::Smart => match self.smart_quote(at) {
                Some((Quote::Smart, width)) => width,
                _ => usize::from(self.byte(at) == b'"'),
            },
            _ => match self.smart_quote(at) {
                Some((Quote::SmartSingle, width)) => width,
                _ => usize::from(self.byte(at) == b'\''),
            },
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
