//! Strict parsing: RFC 8259, nothing else, in one pass.
//!
//! This is the hot path: every valid call goes through here, and no text that this accepts reaches
//! any code that changes something.

use super::error::{ParseClass, ParseError};
use crate::limits::Limits;
use crate::report::SyntaxExpectation;
use crate::tree::{Kind, ScalarText, Tree, TreeBuilder};

/// A strictly parsed tree, and whether any object repeats a key.
pub(crate) struct StrictReading<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) repeated_keys: bool,
}

/// Parses `text` by RFC 8259.
pub(crate) fn parse<'a>(text: &'a str, limits: &Limits) -> Result<StrictReading<'a>, ParseError> {
    if text.len() > limits.bytes() {
        let wanted = SyntaxExpectation::Bytes(limits.bytes());
        return Err(ParseError::new(
            ParseClass::TooLarge,
            wanted,
            limits.bytes(),
        ));
    }
    // Half of all real arguments have 9 bytes per node or more. A smaller buffer would have to grow
    // more often; a buffer for more than 42 nodes leaves the allocator's fast path, so that short
    // texts begin with less.
    let nodes = match text.len() {
        short @ ..1024 => (short / 8 + 4).min(42),
        long => (long / 12).min(1 << 16),
    };
    let parser = Parser {
        text,
        bytes: text.as_bytes(),
        max_depth: limits.depth(),
    };
    let mut out = TreeBuilder::with_capacity(nodes);
    let repeated_keys = parser.document(&mut out)?;
    Ok(StrictReading {
        tree: out.finish(text),
        repeated_keys,
    })
}

/// Converts bytes to text. The error says where they stop being UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|e| {
        ParseError::new(
            ParseClass::NotUtf8,
            SyntaxExpectation::Utf8,
            e.valid_up_to(),
        )
    })
}

/// The text that is read. The position is passed from function to function, so that it stays in a
/// register.
struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    max_depth: usize,
}

/// The character that the byte after a backslash stands for; 0 for `u` and for invalid escapes.
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
    /// Reads the whole text. Returns true if some object repeats a key.
    fn document(&self, out: &mut TreeBuilder) -> Result<bool, ParseError> {
        let mut repeated_keys = false;
        let (mut at, mut byte) = self.space(0);
        if at == self.bytes.len() {
            return Err(ParseError::new(
                ParseClass::Empty,
                SyntaxExpectation::Value,
                at,
            ));
        }
        loop {
            if out.in_object() {
                (at, byte) = self.key(out, at, byte)?;
            }
            at = match byte {
                b'"' => self.text(out, at)?,
                b'-' | b'0'..=b'9' => {
                    let end = self.number(at)?;
                    out.scalar(Kind::Number, false, ScalarText::between(at, end), (at, end));
                    end
                }
                b'{' | b'[' => {
                    let (inside, next) = self.open(out, byte, at)?;
                    // In ASCII, the brackets of a pair are two apart.
                    if next != byte + 2 {
                        (at, byte) = (inside, next);
                        continue;
                    }
                    out.close(inside + 1);
                    inside + 1
                }
                b't' => self.literal(out, b"true", (Kind::Boolean, true), at)?,
                b'f' => self.literal(out, b"false", (Kind::Boolean, false), at)?,
                b'n' => self.literal(out, b"null", (Kind::Null, false), at)?,
                _ => return self.fail(at, SyntaxExpectation::Value),
            };
            // Close everything that ends here, up to a comma.
            loop {
                (at, byte) = self.space(at);
                match (byte, out.in_object()) {
                    // Nothing is open around the root.
                    _ if out.depth() == 0 => {
                        if at < self.bytes.len() {
                            return self.fail(at, SyntaxExpectation::End);
                        }
                        return Ok(repeated_keys);
                    }
                    (b',', _) => break,
                    (b'}', true) | (b']', false) => {
                        at += 1;
                        let (object, may_repeat) = out.close(at);
                        repeated_keys |= may_repeat && out.repeats_key(object, self.text);
                    }
                    (_, true) => return self.fail(at, SyntaxExpectation::CommaOrBrace),
                    (_, false) => return self.fail(at, SyntaxExpectation::CommaOrBracket),
                }
            }
            (at, byte) = self.space(at + 1);
        }
    }

    #[cold]
    fn fail<T>(&self, at: usize, wanted: SyntaxExpectation) -> Result<T, ParseError> {
        Err(ParseError::at(self.bytes, at, wanted))
    }

    /// The byte at `at`; 0 at the end, which no token starts with.
    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next place that is not white space, and the byte there.
    #[inline(always)]
    fn space(&self, mut at: usize) -> (usize, u8) {
        let mut byte = self.byte(at);
        // There is nearly always nothing or one blank, which takes no loop.
        if byte == b' ' {
            at += 1;
            byte = self.byte(at);
        }
        match byte {
            ..=b' ' => self.more_space(at),
            _ => (at, byte),
        }
    }

    #[inline(never)]
    fn more_space(&self, mut at: usize) -> (usize, u8) {
        while let b' ' | b'\n' | b'\r' | b'\t' = self.byte(at) {
            at += 1;
        }
        (at, self.byte(at))
    }

    /// Reads an opening bracket and the white space after it.
    #[inline(always)]
    fn open(
        &self,
        out: &mut TreeBuilder,
        bracket: u8,
        at: usize,
    ) -> Result<(usize, u8), ParseError> {
        if out.depth() >= self.max_depth {
            let wanted = SyntaxExpectation::Depth(self.max_depth);
            return Err(ParseError::new(ParseClass::TooDeep, wanted, at));
        }
        let kind = match bracket {
            b'{' => Kind::Object,
            _ => Kind::Array,
        };
        out.open(kind, at);
        Ok(self.space(at + 1))
    }

    /// Reads a key, its colon and the white space around them.
    #[inline(always)]
    fn key(
        &self,
        out: &mut TreeBuilder,
        start: usize,
        byte: u8,
    ) -> Result<(usize, u8), ParseError> {
        if byte != b'"' {
            if out.is_empty() {
                return self.fail(start, SyntaxExpectation::KeyOrEnd);
            }
            return self.fail(start, SyntaxExpectation::Key);
        }
        let plain = plain_end(self.bytes, start + 1);
        let end = match self.byte(plain) {
            b'"' => {
                let ends = (self.byte(start + 1), self.byte(plain - 1));
                out.plain_key(ScalarText::between(start + 1, plain), ends, start);
                plain + 1
            }
            _ => {
                let (piece, end) = self.escaped_string(&mut out.buffer, start + 1, plain)?;
                out.key(piece, start, end);
                end
            }
        };
        let (colon, byte) = self.space(end);
        if byte != b':' {
            return self.fail(colon, SyntaxExpectation::Colon);
        }
        Ok(self.space(colon + 1))
    }

    /// Reads a string as a value, from its opening quote on. Returns its end.
    #[inline(always)]
    fn text(&self, out: &mut TreeBuilder, start: usize) -> Result<usize, ParseError> {
        let end = plain_end(self.bytes, start + 1);
        if self.byte(end) == b'"' {
            let piece = ScalarText::between(start + 1, end);
            out.scalar(Kind::String, false, piece, (start, end + 1));
            return Ok(end + 1);
        }
        let (piece, end) = self.escaped_string(&mut out.buffer, start + 1, end)?;
        out.scalar(Kind::String, false, piece, (start, end));
        Ok(end)
    }

    #[inline(always)]
    fn literal<const N: usize>(
        &self,
        out: &mut TreeBuilder,
        word: &[u8; N],
        (kind, truth): (Kind, bool),
        at: usize,
    ) -> Result<usize, ParseError> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        if rest.first_chunk::<N>() == Some(word) {
            out.scalar(kind, truth, ScalarText::NONE, (at, at + N));
            return Ok(at + N);
        }
        if word.starts_with(rest) {
            return self.fail(self.bytes.len(), SyntaxExpectation::Value);
        }
        self.fail(at, SyntaxExpectation::Value)
    }

    /// The end of a number.
    #[inline(always)]
    fn number(&self, start: usize) -> Result<usize, ParseError> {
        let mut at = start + usize::from(self.byte(start) == b'-');
        at = match self.byte(at) {
            b'0' => at + 1,
            b'1'..=b'9' => self.digits(at + 1),
            _ => return self.fail(at, SyntaxExpectation::Digit),
        };
        match self.byte(at) {
            b'.' | b'e' | b'E' => self.fraction(at),
            _ => Ok(at),
        }
    }

    #[inline(always)]
    fn digits(&self, mut at: usize) -> usize {
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        at
    }

    /// Fraction and exponent.
    fn fraction(&self, mut at: usize) -> Result<usize, ParseError> {
        if self.byte(at) == b'.' {
            at = self.some_digits(at + 1)?;
        }
        if let b'e' | b'E' = self.byte(at) {
            at += 1;
            at += usize::from(matches!(self.byte(at), b'+' | b'-'));
            at = self.some_digits(at)?;
        }
        Ok(at)
    }

    #[inline]
    fn some_digits(&self, start: usize) -> Result<usize, ParseError> {
        let at = self.digits(start);
        if at == start {
            return self.fail(at, SyntaxExpectation::Digit);
        }
        Ok(at)
    }

    /// Decodes a string into the buffer that is not plain up to its closing quote.
    #[inline(never)]
    fn escaped_string(
        &self,
        buffer: &mut String,
        start: usize,
        mut at: usize,
    ) -> Result<(ScalarText, usize), ParseError> {
        let (text, bytes) = (self.text, self.bytes);
        let head = buffer.len();
        let mut copied = start;
        loop {
            let plain = text.get(copied..at).unwrap_or_default();
            match bytes.get(at) {
                Some(b'\\') => {
                    if buffer.capacity() == 0 {
                        // Decoded text is shorter than the rest of the source, and most strings
                        // with escapes are near the end. The bound is for long calls, of which
                        // most is plain.
                        buffer.reserve((bytes.len() - start).min(1 << 10));
                    }
                    buffer.push_str(plain);
                    let escaped = self.byte(at + 1);
                    let character;
                    (character, at) = match SIMPLE_ESCAPES[usize::from(escaped)] {
                        0 if escaped == b'u' => self.unicode_escape(at + 1)?,
                        0 => return self.fail(at + 1, SyntaxExpectation::Escape),
                        simple => (char::from(simple), at + 2),
                    };
                    buffer.push(character);
                    copied = at;
                }
                Some(b'"') => {
                    buffer.push_str(plain);
                    break;
                }
                Some(_) => return self.fail(at, SyntaxExpectation::EscapedControl),
                None => return self.fail(at, SyntaxExpectation::Quote),
            }
            at = plain_end(bytes, at);
        }
        Ok((ScalarText::buffered(head, buffer), at + 1))
    }

    /// Reads `\uXXXX`, or a pair of them, from the `u` on. Returns the character and its end.
    fn unicode_escape(&self, at: usize) -> Result<(char, usize), ParseError> {
        let (first, mut at) = self.hex4(at)?;
        if let Some(decoded) = char::from_u32(first) {
            return Ok((decoded, at));
        }
        if (0xD800..0xDC00).contains(&first) {
            match self.bytes.get(at..) {
                Some([b'\\', b'u', ..]) => {
                    let second;
                    (second, at) = self.hex4(at + 1)?;
                    let low = second.wrapping_sub(0xDC00);
                    let code = (0x10000 + ((first - 0xD800) << 10)).wrapping_add(low);
                    if let (0..0x400, Some(decoded)) = (low, char::from_u32(code)) {
                        return Ok((decoded, at));
                    }
                }
                // Cut off between the halves.
                Some([b'\\']) => at += 1,
                _ => {}
            }
        }
        self.fail(at, SyntaxExpectation::Escape)
    }

    /// Reads the four digits after the `u` at `at`. Returns their value and their end.
    fn hex4(&self, mut at: usize) -> Result<(u32, usize), ParseError> {
        let mut code = 0;
        for _ in 0..4 {
            at += 1;
            let Some(digit) = char::from(self.byte(at)).to_digit(16) else {
                return self.fail(at, SyntaxExpectation::Escape);
            };
            code = code * 16 + digit;
        }
        Ok((code, at + 1))
    }
}

/// The first byte from `at` on that ends a run of plain string text: a quote, a backslash, a
/// control character, or the end.
#[inline(always)]
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    // Most runs end within eight bytes; these are worth a copy of the code in each place.
    match first_stop(word_at(bytes, at)) {
        Some(index) => at + index,
        None => long_plain_end(bytes, at + 8),
    }
}

/// Like [`plain_end`], for long runs: a few words, then sixteen bytes at a time.
#[inline(never)]
fn long_plain_end(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..4 {
        if let Some(index) = first_stop(word_at(bytes, at)) {
            return at + index;
        }
        at += 8;
    }
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((chunk, following)) = rest.split_first_chunk::<16>() {
        if chunk.iter().fold(false, |stop, byte| stop | is_stop(*byte)) {
            break;
        }
        rest = following;
    }
    at = bytes.len() - rest.len();
    loop {
        if let Some(index) = first_stop(word_at(bytes, at)) {
            return at + index;
        }
        at += 8;
    }
}

/// Eight bytes from `at` on. Bytes after the end are zeros, which end plain text.
#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => last_word(bytes, at),
    }
}

#[inline(never)]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let left = bytes.len().saturating_sub(at) as u32;
    let last = bytes.last_chunk().map(|chunk| u64::from_le_bytes(*chunk));
    match last {
        // Fewer than eight bytes are left: the last eight without those before `at`.
        Some(word) => word.checked_shr(64 - 8 * left).unwrap_or(0),
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            (rest.iter().rev()).fold(0, |word, byte| (word << 8) | u64::from(*byte))
        }
    }
}

#[inline]
fn is_stop(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// The index of the first of eight bytes that ends plain text.
#[inline(always)]
fn first_stop(word: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // SWAR "has byte less than n" (Bit Twiddling Hacks). Borrows propagate upward only, so the
    // lowest set bit is exact even though higher ones may be false positives.
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
    fn plain_run_ends_at_first_quote_backslash_or_control() {
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
