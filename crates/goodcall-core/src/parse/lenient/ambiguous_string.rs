//! Strings whose quotes or brackets do not come out even: what was meant is not known.

use super::parser::Parser;
use super::string_end::{Quote, StringEnd};

impl Parser<'_> {
    /// An apostrophe belongs to no pair.
    pub(super) fn is_apostrophe(&self, at: usize, width: usize) -> bool {
        let letters = |at: usize| self.byte(at).is_ascii_alphanumeric();
        self.byte(at) != b'"' && letters(at + width) && letters(at.wrapping_sub(1))
    }

    /// A quote that may end its string stands before this: would all that follows be read, too?
    pub(super) fn goes_on(&self, after: usize) -> bool {
        let next = self.skip_space(after);
        if !matches!(self.byte(next), b'}' | b']' | b')') {
            return true;
        }
        let (end, _, right) = self.closers(next);
        right && matches!(self.byte(end), 0 | b'{' | b'[' | b',' | b';' | b'<' | b'`')
    }

    /// Quotes inside that have no partner, or brackets that stay open, or an expression: is it
    /// certain that this is not the text that was meant?
    pub(super) fn is_torn(&self, start: usize, quote: Quote, end: &StringEnd) -> bool {
        if end.cut || end.closed && end.inner.is_none() {
            return false;
        }
        if end.torn {
            return true;
        }
        let quote = match quote {
            Quote::Triple(byte) => Quote::Plain(byte),
            quote => quote,
        };
        let (mut at, mut balance) = (start, 0);
        let mut quotes = Vec::new();
        while at < end.text {
            match self.bytes[at] {
                b'\\' => at += 1,
                b'{' | b'[' => balance += 1,
                b'}' | b']' => balance -= 1,
                _ => {
                    let width = self.quote_width(at, quote);
                    if width > 0 && !self.is_apostrophe(at, width) {
                        quotes.push((at, at + width));
                    }
                }
            }
            at += 1;
        }
        balance > 0 || quotes.len() % 2 == 1 || self.is_expression(start, &quotes)
    }

    /// `"a" + name + "b"`, `"a" if x else "b"`: what stands between strings is no text.
    fn is_expression(&self, start: usize, quotes: &[(usize, usize)]) -> bool {
        let first = |byte: u8| byte.is_ascii_whitespace() || b"+-*/%|&?:=<>!".contains(&byte);
        let part =
            |byte: &u8| first(*byte) || byte.is_ascii_alphanumeric() || b"_.,()[]$".contains(byte);
        !quotes.is_empty()
            && quotes.chunks_exact(2).all(|pair| {
                let (from, to) = (pair[0].1, pair[1].0);
                let before = self.byte(pair[0].0.wrapping_sub(1));
                let opens = pair[0].0 > start
                    && (before.is_ascii_whitespace() || b"([{=,:<>".contains(&before));
                let between = self.bytes.get(from..to).unwrap_or_default();
                let ends = between.first().zip(between.last());
                !opens
                    && ends.is_some_and(|(head, tail)| first(*head) && first(*tail))
                    && between.iter().all(part)
            })
    }
}
