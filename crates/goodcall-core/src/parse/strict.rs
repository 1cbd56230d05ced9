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
    // Half of all real arguments have 9 bytes a node or more. Less room than that would be moved
    // more often, more room would leave the allocator's fast path sooner.
    let nodes = (text.len() / 8 + 4).min(1 << 16);
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        out: Builder::with_capacity(nodes),
        decoded: Vec::new(),
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
    /// The string with escapes that is being read.
    decoded: Vec<u8>,
    max_depth: usize,
    repeated_keys: bool,
}

/// What the byte after a backslash stands for; 0 for `u`, and for what is no escape.
const SIMPLE_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 0x08;
    table[b'f' as usize] = 0x0c;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

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
    #[inline(always)]
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
    #[inline(always)]
    fn string(&mut self) -> Result<Piece, ParseError> {
        let start = self.at + 1;
        let end = plain_end(self.bytes, start);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Piece {
                text: Text::Source,
                head: start as u32,
                size: (end - start) as u32,
            });
        }
        self.at = end;
        self.escaped_string(start)
    }

    /// The rest of a string that is not plain up to its closing quote.
    #[inline(never)]
    fn escaped_string(&mut self, start: usize) -> Result<Piece, ParseError> {
        let bytes = self.bytes;
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        decoded.reserve((bytes.len() - start).min(1 << 12));
        let mut copied = start;
        let mut at = self.at;
        loop {
            match bytes.get(at) {
                Some(b'\\') => {
                    decoded.extend_from_slice(&bytes[copied..at]);
                    let escaped = bytes.get(at + 1).copied().unwrap_or_default();
                    let simple = SIMPLE_ESCAPES[usize::from(escaped)];
                    if simple == 0 {
                        self.at = at;
                        self.other_escape(&mut decoded)?;
                        at = self.at;
                    } else {
                        decoded.push(simple);
                        at += 2;
                    }
                    copied = at;
                }
                Some(b'"') => break,
                stop => {
                    self.at = at;
                    return self.fail(match stop {
                        Some(_) => Wanted::EscapedControl,
                        None => Wanted::Quote,
                    });
                }
            }
            at = plain_end(bytes, at);
        }
        decoded.extend_from_slice(&bytes[copied..at]);
        self.at = at + 1;
        // Whole pieces of text and whole characters: always UTF-8.
        let text = std::str::from_utf8(&decoded).unwrap_or_default();
        let head = self.out.buffer.len();
        self.out.buffer.push_str(text);
        let size = text.len();
        self.decoded = decoded;
        Ok(Piece {
            text: Text::Buffer,
            head: head as u32,
            size: size as u32,
        })
    }

    /// Decodes `\uXXXX`, the parser standing on its backslash; any other escape is none.
    fn other_escape(&mut self, decoded: &mut Vec<u8>) -> Result<(), ParseError> {
        self.at += 1;
        if self.peek() != Some(b'u') {
            return self.fail(Wanted::Escape);
        }
        let character = self.unicode_escape()?;
        decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// `\uXXXX`, or a pair of them; the parser stands on the `u`.
    fn unicode_escape(&mut self) -> Result<char, ParseError> {
        let first = self.hex4()?;
        if let Some(decoded) = char::from_u32(first) {
            return Ok(decoded);
        }
        if (0xD800..0xDC00).contains(&first) {
            match self.bytes.get(self.at..) {
                Some([b'\\', b'u', ..]) => {
                    self.at += 1;
                    let second = self.hex4()?;
                    let low = second.wrapping_sub(0xDC00);
                    let code = (0x10000 + ((first - 0xD800) << 10)).wrapping_add(low);
                    if let (0..0x400, Some(decoded)) = (low, char::from_u32(code)) {
                        return Ok(decoded);
                    }
                }
                // Cut off between the halves.
                Some([b'\\']) => self.at += 1,
                _ => {}
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
/// control character, or the end.
#[inline(always)]
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    // Most runs end within eight bytes; these are worth a copy of the code in each place.
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    match chunk.and_then(|chunk| first_stop(*chunk)) {
        Some(index) => at + index,
        None => long_plain_end(bytes, at),
    }
}

/// Like [`plain_end`], sixteen bytes at once.
#[inline(never)]
fn long_plain_end(bytes: &[u8], at: usize) -> usize {
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((chunk, following)) = rest.split_first_chunk::<16>() {
        if chunk.iter().fold(false, |stop, byte| stop | is_stop(*byte)) {
            break;
        }
        rest = following;
    }
    while let Some((chunk, following)) = rest.split_first_chunk::<8>() {
        if let Some(index) = first_stop(*chunk) {
            return bytes.len() - rest.len() + index;
        }
        rest = following;
    }
    let tail = rest.iter().position(|byte| is_stop(*byte));
    bytes.len() - rest.len() + tail.unwrap_or(rest.len())
}

#[inline]
fn is_stop(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Where the first of eight bytes that ends plain text is.
#[inline(always)]
fn first_stop(chunk: [u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(chunk);
    // A byte below the one that is taken away borrows into its high bit, and only that of a byte
    // which had none counts. A borrow can spoil later bytes only, so the lowest bit is right.
    let control = word.wrapping_sub(ONES * 0x20);
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let found = (control | quote | backslash) & !word & HIGH;
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
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
