//! Strict parsing: RFC 8259, nothing else, in one pass.
//!
//! This is the hot path. Every valid call goes through here, and what this accepts is never seen
//! by any code that changes something.

use std::borrow::Cow;

use super::error::{ParseClass, ParseError, Wanted};
use crate::limits::Limits;
use crate::tree::{Builder, Kind, Piece, Text, Tree};

/// A strictly parsed tree, and whether any object repeats a key.
pub(crate) struct Strict<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) repeated_keys: bool,
}

/// Parses `text` by RFC 8259.
pub(crate) fn parse<'a>(text: &'a str, limits: &Limits) -> Result<Strict<'a>, ParseError> {
    if text.len() > limits.bytes() {
        let wanted = Wanted::Bytes(limits.bytes());
        return Err(ParseError::new(
            ParseClass::TooLarge,
            wanted,
            limits.bytes(),
        ));
    }
    // Real arguments have one node for 5 to 9 bytes.
    let nodes = (text.len() / 6 + 4).min(1 << 16);
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        out: Builder::with_capacity(nodes),
        max_depth: limits.depth(),
        repeated_keys: false,
    };
    parser.document()?;
    Ok(Strict {
        tree: parser.out.finish(Cow::Borrowed(text)),
        repeated_keys: parser.repeated_keys,
    })
}

/// The bytes as text, or an error that says where they stop being UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes)
        .map_err(|e| ParseError::new(ParseClass::NotUtf8, Wanted::Utf8, e.valid_up_to()))
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    out: Builder,
    max_depth: usize,
    repeated_keys: bool,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), ParseError> {
        self.space();
        if self.at == self.bytes.len() {
            return Err(ParseError::new(ParseClass::Empty, Wanted::Value, self.at));
        }
        loop {
            if self.value()? {
                // An object or array was opened and is not empty: its first value follows.
                continue;
            }
            if !self.after_value()? {
                break;
            }
        }
        self.space();
        if self.at < self.bytes.len() {
            return self.fail(Wanted::End);
        }
        Ok(())
    }

    #[cold]
    fn fail<T>(&self, wanted: Wanted) -> Result<T, ParseError> {
        Err(ParseError::at(self.bytes, self.at, wanted))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Reads one value up to its first inner value: `true` if a container was opened and the
    /// parser now stands before its first element or (after key and colon) member value.
    #[inline]
    fn value(&mut self) -> Result<bool, ParseError> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let piece = self.string()?;
                self.out.string(piece, start, self.at);
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                let piece = Piece {
                    text: Text::Source,
                    head: start as u32,
                    size: (self.at - start) as u32,
                };
                self.out.number(piece, start, self.at);
            }
            Some(b'{') => return self.container(Kind::Object, b'}'),
            Some(b'[') => return self.container(Kind::Array, b']'),
            Some(b't') => self.literal("true", Kind::Boolean, true)?,
            Some(b'f') => self.literal("false", Kind::Boolean, false)?,
            Some(b'n') => self.literal("null", Kind::Null, false)?,
            _ => return self.fail(Wanted::Value),
        }
        Ok(false)
    }

    #[inline]
    fn container(&mut self, kind: Kind, end: u8) -> Result<bool, ParseError> {
        if self.out.depth() >= self.max_depth {
            let wanted = Wanted::Depth(self.max_depth);
            return Err(ParseError::new(ParseClass::TooDeep, wanted, self.at));
        }
        self.out.open(kind, self.at);
        self.at += 1;
        self.space();
        if self.peek() == Some(end) {
            self.at += 1;
            self.out.close(self.at);
            return Ok(false);
        }
        if kind == Kind::Object {
            self.key(Wanted::KeyOrEnd)?;
        }
        Ok(true)
    }

    /// Key, colon and the white space around them.
    #[inline]
    fn key(&mut self, wanted: Wanted) -> Result<(), ParseError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.fail(wanted);
        }
        let piece = self.string()?;
        self.out.key(piece, start, self.at);
        self.space();
        if self.peek() != Some(b':') {
            return self.fail(Wanted::Colon);
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Closes what ends here; `true` if another value follows, `false` at the end of the root.
    #[inline]
    fn after_value(&mut self) -> Result<bool, ParseError> {
        while let Some(in_object) = self.out.in_object() {
            self.space();
            match (self.peek(), in_object) {
                (Some(b','), _) => {
                    self.at += 1;
                    self.space();
                    if in_object {
                        self.key(Wanted::Key)?;
                    }
                    return Ok(true);
                }
                (Some(b'}'), true) => {
                    self.at += 1;
                    let id = self.out.close(self.at);
                    self.repeated_keys |= self.out.repeats_key(id, self.text);
                }
                (Some(b']'), false) => {
                    self.at += 1;
                    self.out.close(self.at);
                }
                (_, true) => return self.fail(Wanted::CommaOrBrace),
                (_, false) => return self.fail(Wanted::CommaOrBracket),
            }
        }
        Ok(false)
    }

    fn literal(&mut self, word: &str, kind: Kind, truth: bool) -> Result<(), ParseError> {
        let start = self.at;
        let rest = &self.bytes[start..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            self.out.literal(kind, truth, start, self.at);
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            self.at = self.bytes.len();
        }
        self.fail(Wanted::Value)
    }

    #[inline]
    fn number(&mut self) -> Result<(), ParseError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fail(Wanted::Digit),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        self.digits();
        if self.at == start {
            return self.fail(Wanted::Digit);
        }
        Ok(())
    }

    /// Reads a string, the parser standing on its opening quote.
    #[inline]
    fn string(&mut self) -> Result<Piece, ParseError> {
        let start = self.at + 1;
        self.at = plain_end(self.bytes, start);
        if self.peek() == Some(b'"') {
            let size = self.at - start;
            self.at += 1;
            return Ok(Piece {
                text: Text::Source,
                head: start as u32,
                size: size as u32,
            });
        }
        self.escaped_string(start)
    }

    /// The rest of a string that is not plain up to its closing quote.
    fn escaped_string(&mut self, start: usize) -> Result<Piece, ParseError> {
        let head = self.out.buffer.len();
        let mut copied = start;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.out.buffer.push_str(&self.text[copied..self.at]);
                    let decoded = self.escape()?;
                    self.out.buffer.push(decoded);
                    copied = self.at;
                }
                Some(_) => return self.fail(Wanted::EscapedControl),
                None => return self.fail(Wanted::Quote),
            }
            self.at = plain_end(self.bytes, self.at);
        }
        self.out.buffer.push_str(&self.text[copied..self.at]);
        self.at += 1;
        Ok(Piece {
            text: Text::Buffer,
            head: head as u32,
            size: (self.out.buffer.len() - head) as u32,
        })
    }

    /// Decodes one escape, the parser standing on its backslash.
    fn escape(&mut self) -> Result<char, ParseError> {
        self.at += 1;
        let decoded = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return self.fail(Wanted::Escape),
        };
        self.at += 1;
        Ok(decoded)
    }

    /// `\uXXXX`, or a pair of them; the parser stands on the `u`.
    fn unicode_escape(&mut self) -> Result<char, ParseError> {
        let first = self.hex4()?;
        if let Some(decoded) = char::from_u32(first) {
            return Ok(decoded);
        }
        if (0xD800..0xDC00).contains(&first)
            && self.bytes.get(self.at..self.at + 2) == Some(b"\\u".as_slice())
        {
            self.at += 1;
            let second = self.hex4()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                if let Some(decoded) = char::from_u32(code) {
                    return Ok(decoded);
                }
            }
        }
        self.fail(Wanted::Escape)
    }

    fn hex4(&mut self) -> Result<u32, ParseError> {
        let mut code = 0;
        for _ in 0..4 {
            self.at += 1;
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else {
                return self.fail(Wanted::Escape);
            };
            code = code * 16 + digit;
        }
        self.at += 1;
        Ok(code)
    }
}

/// The first byte from `at` on that ends a run of plain string text: a quote, a backslash, a
/// control character, or the end. Eight bytes at a time.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // In each term the lowest high bit set marks the first byte that matches.
        let found = (word.wrapping_sub(ONES * 0x20) & !word
            | quote.wrapping_sub(ONES) & !quote
            | backslash.wrapping_sub(ONES) & !backslash)
            & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_runs_end_where_they_should() {
        for stop in ["\"", "\\", "\n", "\u{1f}", ""] {
            for lead in 0..20 {
                let text = format!(
                    "{}{stop}\"more",
                    "é".repeat(lead / 2) + &"a".repeat(lead % 2)
                );
                let expected = text.find(['"', '\\', '\n', '\u{1f}']).unwrap();
                assert_eq!(plain_end(text.as_bytes(), 0), expected, "{text:?}");
            }
        }
        assert_eq!(plain_end(b"", 0), 0);
        assert_eq!(plain_end("ÿ\u{7f}~".as_bytes(), 0), 4);
    }
}
