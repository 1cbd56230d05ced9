//! Where a string ends, when its quotes do not say.
//!
//! A quote ends a string if what follows it fits the container around. Looking ahead stops at the
//! next quote, the next line or a fixed number of bytes, so every byte is looked at a bounded
//! number of times. Going back is paid for from [`Parser::fuel`].

use super::fit::Fit;
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
pub(super) enum Role {
    Key,
    Member,
    Element,
    Root,
}

/// Where a string ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
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
struct Search {
    start: usize,
    quote: Quote,
    role: Role,
    at: usize,
    end: End,
    count: usize,
    /// Quotes inside that could be one of a pair.
    pairs: usize,
    last: usize,
    /// Brackets opened minus brackets closed, up to `counted`.
    balance: i32,
    counted: usize,
    maybe: Option<usize>,
    /// Could it have ended before, and a member that the schema does not declare follow?
    rival: bool,
    /// Does a key that the schema declares stand inside, with its colon?
    declared: bool,
    /// The first line end before a quote or a closing bracket.
    line: Option<usize>,
    /// The first token after the line end that was looked at last.
    token: usize,
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
    pub(super) fn string_end(&mut self, start: usize, quote: Quote, role: Role) -> End {
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

    fn fixed_end(&self, start: usize, closing: &[u8]) -> End {
        let found = find(&self.bytes[start..], closing);
        let text = found.map_or(self.bytes.len(), |n| start + n);
        let inside = &self.bytes[start..text];
        End {
            text,
            after: found.map_or(text, |_| text + closing.len()),
            closed: found.is_some(),
            cut: found.is_none(),
            escapes: inside.contains(&b'\\'),
            controls: inside.iter().any(|b| *b < 0x20),
            ..End::default()
        }
    }

    /// The end of `\"text\"`: the next quote with at most one backslash.
    fn escaped_end(&self, start: usize, byte: u8) -> End {
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
                return End {
                    text,
                    after: quote + 1,
                    closed: true,
                    escapes,
                    ..End::default()
                };
            }
            at = quote + 1;
        }
        let text = self.bytes.len();
        End {
            text,
            after: text,
            cut: true,
            escapes: true,
            ..End::default()
        }
    }

    fn search(&mut self, start: usize, quote: Quote, role: Role) -> End {
        let mut s = Search {
            start,
            quote,
            role,
            at: start,
            end: End::default(),
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
    fn weigh(&mut self, s: &mut Search, width: usize) -> Option<End> {
        let (at, after) = (s.at, s.at + width);
        let fit = self.fit(after, s.role);
        if s.count == 0 && fit == Fit::Yes || self.fuel == 0 {
            return Some(End {
                text: at,
                after,
                closed: true,
                ..s.end
            });
        }
        if s.role == Role::Key
            && let Some(colon) = find(&self.bytes[s.last..at], b":")
        {
            return Some(self.ends_open(s, s.last + colon));
        }
        if fit == Fit::Colon && s.role == Role::Member && s.count > 0 {
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
            && s.role == Role::Element
            && fit == Fit::Yes
            && let Some(comma) = self.comma_before(s.last, s.start)
        {
            return Some(self.ends_open(s, comma));
        }
        if s.count == 0 && fit == Fit::Maybe {
            return Some(End {
                text: at,
                after,
                closed: true,
                ..s.end
            });
        }
        if s.count > 0 && fit == Fit::Yes {
            self.count_brackets(s, at);
            let known = self.known_key_after(after);
            let even = s.pairs.is_multiple_of(2);
            let paired = even || known.is_none() && self.closes_all(after);
            if known != Some(false) && s.balance <= 0 && paired {
                let settled = even && !self.keys.is_empty() && !s.rival && !s.declared;
                return Some(End {
                    text: at,
                    after,
                    closed: true,
                    settled,
                    ..s.end
                });
            }
        }
        if matches!(fit, Fit::Yes | Fit::Maybe) {
            s.maybe.get_or_insert(at);
            if !s.rival && s.pairs.is_multiple_of(2) {
                self.count_brackets(s, at);
                s.rival = s.balance <= 0 && self.goes_on(after);
                s.end.torn |= s.rival && self.known_key_after(after) == Some(false);
            }
        }
        let first = s.end.inner.map_or(at, |(first, _)| first);
        s.end.inner = Some((first, after));
        s.count += 1;
        s.pairs += usize::from(!self.is_apostrophe(at, width));
        s.last = at;
        s.at = after;
        None
    }

    fn count_brackets(&self, s: &mut Search, to: usize) {
        for byte in self.bytes.get(s.counted..to).unwrap_or_default() {
            match byte {
                b'{' | b'[' => s.balance += 1,
                b'}' | b']' => s.balance -= 1,
                _ => {}
            }
        }
        s.counted = to.max(s.counted);
    }

    /// The string lacks its closing quote and ends at `text`, which is behind the search.
    fn ends_open(&mut self, s: &Search, text: usize) -> End {
        self.fuel = self.fuel.saturating_sub(s.at - text);
        let mut end = text;
        while end > s.start && matches!(self.bytes[end - 1], b' ' | b'\t' | b'\r' | b'\n') {
            end -= 1;
        }
        // `"text], "key":`: the bracket is not text either.
        let mut text = text;
        let mut left = self.frames.len();
        while end > s.start
            && left > 1
            && s.role != Role::Key
            && let Some(opener) = match self.bytes[end - 1] {
                b']' => Some(b'['),
                b'}' => Some(b'{'),
                _ => None,
            }
            && !self.bytes[s.start..end].contains(&opener)
        {
            left -= 1;
            end -= 1;
            text = end;
        }
        // `"text',`: closed by a quote of the other kind.
        let last = self.bytes[end.saturating_sub(1)];
        if end > s.start
            && matches!(last, b'\'' | b'`')
            && !self.bytes[s.start..end - 1].contains(&last)
        {
            return End {
                text: end - 1,
                after: text,
                closed: true,
                mismatched: true,
                inner: self.inner_before(s, end - 1),
                ..s.end
            };
        }
        // `"C:\dir\",`: the backslash is text, the quote after it is the end.
        let mut closed = false;
        if end >= s.start + 2
            && self.bytes[end - 2] == b'\\'
            && self.quote_width(end - 1, s.quote) == 1
        {
            end -= 1;
            closed = true;
        }
        let inner = self.inner_before(s, end);
        End {
            text: end,
            after: text,
            closed,
            inner,
            ..s.end
        }
    }

    /// The quotes inside, of a string that ends before the search did.
    fn inner_before(&self, s: &Search, end: usize) -> Option<(usize, usize)> {
        let (first, last) = s.end.inner?;
        if last <= end {
            return Some((first, last));
        }
        let inside = self.bytes.get(first..end)?;
        let back = (0..inside.len()).rev().map(|n| first + n);
        let (at, width) = back
            .map(|at| (at, self.quote_width(at, s.quote)))
            .find(|(_, width)| *width > 0)?;
        Some((first, at + width))
    }

    /// `"text, "key":`: the string ended before the comma.
    fn ends_before_key(&mut self, s: &mut Search, quote: usize) -> Option<End> {
        let key = self.text.get(s.last + 1..quote)?;
        if key.len() > MOST_KEY || key.contains('\n') {
            return None;
        }
        let comma = self.comma_before(s.last, s.start)?;
        let known = self.is_known(key);
        if s.count > 1 {
            self.count_brackets(s, comma);
            let open = s.balance > 0 || s.pairs.is_multiple_of(2);
            if open || !known && !self.keys.is_empty() {
                return None;
            }
        }
        let mut end = self.ends_open(s, comma);
        // `"say "hi", "key":`: the last quote may be either.
        let quoted = self.quote_width(end.text.saturating_sub(1), s.quote) > 0;
        end.torn |= s.count > 1 && quoted;
        end.settled = known && !s.rival && !s.declared;
        Some(end)
    }

    /// The comma, or else the end of line, that stands before the quote at `quote`.
    fn comma_before(&self, quote: usize, start: usize) -> Option<usize> {
        let mut at = quote;
        let mut line = None;
        while at > start {
            at -= 1;
            match self.bytes[at] {
                b' ' | b'\t' | b'\r' => {}
                b'\n' => line = Some(at),
                b',' => return Some(at),
                0x8C if at >= start + 2 && self.text.is_char_boundary(at - 2) => {
                    return (self.comma_width(at - 2) == 3).then_some(at - 2).or(line);
                }
                _ => break,
            }
        }
        line
    }

    pub(super) fn is_known(&self, key: &str) -> bool {
        self.keys
            .binary_search_by(|known| known.as_str().cmp(key))
            .is_ok()
    }

    /// Is the key after the comma here one of the schema's? `None`: there is no telling.
    fn known_key_after(&self, after: usize) -> Option<bool> {
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

    /// The text ended before the string did.
    fn unterminated(&mut self, s: Search) -> End {
        let length = self.bytes.len();
        if let Some(at) = s
            .maybe
            .filter(|_| s.line.is_none_or(|line| line > at_of(s.maybe)))
        {
            self.fuel = self.fuel.saturating_sub(length - at);
            let inner = s
                .end
                .inner
                .filter(|(first, _)| *first < at)
                .map(|(first, _)| (first, at));
            let after = at + self.quote_width(at, s.quote).max(1);
            return End {
                text: at,
                after,
                closed: true,
                inner,
                ..s.end
            };
        }
        if let Some(line) = s.line {
            self.fuel = self.fuel.saturating_sub(length - line);
            return self.ends_open(
                &Search { at: line, ..s },
                self.comma_before(line, s.start).unwrap_or(line),
            );
        }
        if s.end.inner.is_none() && matches!(s.quote, Quote::Plain(b'\'' | b'`')) {
            // Opened by one kind of quote, closed by the other.
            self.fuel = self.fuel.saturating_sub(length - s.start);
            let end = self.search(s.start, Quote::Plain(b'"'), s.role);
            let follows = self.skip_space(end.after) < length;
            return End {
                mismatched: end.closed && follows,
                closed: end.closed && follows,
                settled: end.settled || self.known_key_after(end.after) == Some(true),
                text: if follows { end.text } else { length },
                after: if follows { end.after } else { length },
                cut: end.cut || !follows,
                ..end
            };
        }
        if let Some((first, _)) = s.end.inner
            && s.role != Role::Key
            && self.before_closers(s.start) < length
        {
            // Everything is closed in the end, so the first quote was the end, and what follows
            // it is stray.
            self.fuel = self.fuel.saturating_sub(length - first);
            let after = first + self.quote_width(first, s.quote).max(1);
            return End {
                text: first,
                after,
                closed: true,
                inner: None,
                ..s.end
            };
        }
        let rest = self.bytes[s.start..].trim_ascii();
        if !rest.is_empty() && rest.iter().all(|b| b" )}]".contains(b)) {
            // `"text""}`: what opens this string should end another.
            self.because(super::rules::INNER_QUOTE, s.start.saturating_sub(1)..length);
        }
        let text = if s.role == Role::Key {
            length
        } else {
            self.before_closers(s.start)
        };
        if text < length && text >= s.start + 2 && self.quote_width(text - 1, s.quote) > 0 {
            // `"C:\dir\"}`: the quote that should end it has a backslash.
            self.because(super::rules::MIXED_ESCAPES, text - 2..text);
        }
        End {
            text,
            after: length,
            cut: true,
            ..s.end
        }
    }

    /// The end of the text without the brackets (and the fence) that close everything.
    fn before_closers(&self, start: usize) -> usize {
        let mut end = start + self.text[start..].trim_end().len();
        if let Some(bare) = self.text[start..end].strip_suffix("```") {
            end = start + bare.trim_end().len();
        }
        let whole = end;
        for frame in &self.frames {
            let trimmed = start + self.text[start..end].trim_end().len();
            if frame.closer() == 0 {
                continue;
            }
            if trimmed <= start || self.bytes[trimmed - 1] != frame.closer() {
                return if whole < self.bytes.trim_ascii_end().len() {
                    whole
                } else {
                    self.bytes.len()
                };
            }
            end = trimmed - 1;
        }
        start + self.text[start..end].trim_end().len()
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

fn at_of(at: Option<usize>) -> usize {
    at.unwrap_or(usize::MAX)
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
