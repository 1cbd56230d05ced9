//! Strings that lack their closing quote, and texts that end inside a string.

use super::parser::Parser;
use super::string_end::{MOST_KEY, Quote, StringEnd, StringRole, StringSearch};

impl Parser<'_> {
    /// The string lacks its closing quote and ends at `text`, which is behind the search.
    pub(super) fn ends_open(&mut self, s: &StringSearch, text: usize) -> StringEnd {
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
            && s.role != StringRole::Key
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
            while end > s.start && matches!(self.bytes[end - 1], b' ' | b'\t' | b'\r' | b'\n') {
                end -= 1;
            }
        }
        // `"text',`: closed by a quote of the other kind.
        let last = self.bytes[end.saturating_sub(1)];
        if end > s.start
            && matches!(last, b'\'' | b'`')
            && !self.bytes[s.start..end - 1].contains(&last)
        {
            return StringEnd {
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
            && !self.has_escaped_quote(s, end - 2)
        {
            end -= 1;
            closed = true;
        }
        let inner = self.inner_before(s, end);
        StringEnd {
            text: end,
            after: text,
            closed,
            inner,
            ..s.end
        }
    }

    /// Does the string escape a quote before this place? Then its author knew how, and the last
    /// such quote is text like the others.
    fn has_escaped_quote(&self, s: &StringSearch, to: usize) -> bool {
        let inside = self.bytes.get(s.start..to).unwrap_or_default();
        let mut pairs = inside.windows(2);
        pairs.any(|pair| pair[0] == b'\\' && matches!(pair[1], b'"' | b'\''))
    }

    /// The quotes inside, of a string that ends before the search did.
    fn inner_before(&self, s: &StringSearch, end: usize) -> Option<(usize, usize)> {
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
    pub(super) fn ends_before_key(
        &mut self,
        s: &mut StringSearch,
        quote: usize,
    ) -> Option<StringEnd> {
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
    pub(super) fn comma_before(&self, quote: usize, start: usize) -> Option<usize> {
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

    /// The text ended before the string did.
    pub(super) fn unterminated(&mut self, s: StringSearch) -> StringEnd {
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
            return StringEnd {
                text: at,
                after,
                closed: true,
                inner,
                ..s.end
            };
        }
        if let Some(line) = s.line.filter(|_| !self.closes_itself(s.start)) {
            self.fuel = self.fuel.saturating_sub(length - line);
            return self.ends_open(
                &StringSearch { at: line, ..s },
                self.comma_before(line, s.start).unwrap_or(line),
            );
        }
        if s.end.inner.is_none() && matches!(s.quote, Quote::Plain(b'\'' | b'`')) {
            // Opened by one kind of quote, closed by the other.
            self.fuel = self.fuel.saturating_sub(length - s.start);
            let end = self.search(s.start, Quote::Plain(b'"'), s.role);
            let follows = self.skip_space(end.after) < length;
            return StringEnd {
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
            && s.role != StringRole::Key
            && self.before_closers(s.start) < length
        {
            // Everything is closed in the end, so the first quote was the end, and what follows
            // it is stray.
            self.fuel = self.fuel.saturating_sub(length - first);
            let after = first + self.quote_width(first, s.quote).max(1);
            return StringEnd {
                text: first,
                after,
                closed: true,
                inner: None,
                ..s.end
            };
        }
        let text = if s.role == StringRole::Key {
            length
        } else {
            self.before_closers(s.start)
        };
        self.explain_end(&s, text);
        StringEnd {
            text,
            after: length,
            cut: true,
            ..s.end
        }
    }

    /// Are there brackets in the string up to the end of the text, and each that closes one was
    /// opened there? Then they are its own, and nothing says where it ends.
    fn closes_itself(&self, start: usize) -> bool {
        let count = |bracket: [u8; 2]| {
            let bytes = self.bytes[start..].iter();
            bytes.filter(|byte| bracket.contains(byte)).count()
        };
        let (opened, closed) = (count(*b"{["), count(*b"}]"));
        opened > 0 && closed <= opened
    }

    /// Names what is wrong with the end of the text, if it is not that something was cut off.
    fn explain_end(&mut self, s: &StringSearch, text: usize) {
        let length = self.bytes.len();
        let rest = self.bytes[s.start..].trim_ascii();
        if !rest.is_empty() && rest.iter().all(|b| b" )}]".contains(b)) {
            // `"text""}`: what opens this string should end another.
            self.because(super::rules::INNER_QUOTE, s.start.saturating_sub(1)..length);
        }
        if text < length
            && text >= s.start + 2
            && self.quote_width(text - 1, s.quote) > 0
            && !self.has_escaped_quote(s, text - 2)
        {
            // `"C:\dir\"}`: the quote that should end it has a backslash.
            self.because(super::rules::MIXED_ESCAPES, text - 2..text);
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
}

fn at_of(at: Option<usize>) -> usize {
    at.unwrap_or(usize::MAX)
}
