//! Strict parsing: RFC 8259, nothing else, in one pass.
//!
//! This is the hot path: every valid call goes through here, and no text that this accepts reaches
//! any code that changes something.

use super::error::{ParseClass, ParseError};
use super::plain_text::{PlainRun, chunk_at, plain_end_from};
use crate::limits::Limits;
use crate::report::SyntaxExpectation;
use crate::tree::{Id, Kind, ScalarText, Slot, Slots, Tree, pooled, repeats_key};

/// A strictly parsed tree, and whether any object repeats a key.
pub(crate) struct StrictReading<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) repeated_keys: bool,
}

/// Parses `text` by RFC 8259.
#[inline(never)]
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
        // A fence, a tag or prose: it ends here.
        _ if text.starts_with(|c: char| c == '`' || c == '<' || c.is_ascii_alphabetic()) => 0,
        long => (long / 12).min(1 << 16),
    };
    let mut layout = Layout {
        slots: pooled(nodes),
        buffer: String::new(),
        repeated_keys: false,
        max_depth: limits.depth(),
        depth: 0,
        error: None,
    };
    let parser = Parser {
        text,
        bytes: text.as_bytes(),
    };
    match parser.document(&mut layout) {
        Ok(()) => Ok(StrictReading {
            tree: Tree::laid_out(text, layout.slots, layout.buffer),
            repeated_keys: layout.repeated_keys,
        }),
        Err(Failed) => {
            // The lenient parser takes this buffer next.
            drop(Slots::from(layout.slots));
            Err(layout.error.expect("a failure leaves its error"))
        }
    }
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
/// register; it is 32 bits wide, so that adding to it cannot overflow a `usize`, and a bound is
/// checked with one comparison.
#[derive(Clone, Copy)]
struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
}

/// What was read so far.
struct Layout {
    slots: Vec<Slot>,
    /// Decoded strings.
    buffer: String,
    /// True if some object has two equal keys.
    repeated_keys: bool,
    max_depth: usize,
    /// Open arrays and objects.
    depth: usize,
    error: Option<ParseError>,
}

/// The text is not JSON; [`Layout::error`] says why. Small, since it is returned for every value.
struct Failed;

/// The place of a token and its first byte.
type Token = (u32, u8);

/// The closing quote of a key and its colon, as bytes of a number.
const COLON: u16 = u16::from_le_bytes(*b"\":");
const COLON_BLANK: u32 = u32::from_le_bytes(*b"\": \0");

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
    /// Reads the whole text.
    fn document(self, out: &mut Layout) -> Result<(), Failed> {
        let (at, byte) = self.space(0);
        if at as usize == self.bytes.len() {
            let wanted = SyntaxExpectation::Value;
            return Err(out.fail(ParseError::new(ParseClass::Empty, wanted, at as usize)));
        }
        let end = self.value((at, byte), out)?;
        let (at, _) = self.space(end);
        if (at as usize) < self.bytes.len() {
            return Err(self.fail(out, at, SyntaxExpectation::End));
        }
        Ok(())
    }

    /// Reads a value; its end.
    #[inline]
    fn value(self, (at, byte): Token, out: &mut Layout) -> Result<u32, Failed> {
        if byte == b'"' {
            return self.string(at, plain_end_from(self.bytes, at + 1), out);
        }
        self.other_value((at, byte), out)
    }

    /// Reads a value that is not a string; its end.
    // Without optimisation each copy would enlarge the frame, of which there is one per level.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn other_value(self, (at, byte): Token, out: &mut Layout) -> Result<u32, Failed> {
        match byte {
            b'{' => self.object(at, out),
            b'[' => self.array(at, out),
            b'-' | b'0'..=b'9' => {
                let end = self.number(at, out)?;
                out.scalar((Kind::Number, false), between(at, end), (at, end));
                Ok(end)
            }
            b't' => self.literal(at, b"true", (Kind::Boolean, true), out),
            b'f' => self.literal(at, b"false", (Kind::Boolean, false), out),
            b'n' => self.literal(at, b"null", (Kind::Null, false), out),
            _ => Err(self.fail(out, at, SyntaxExpectation::Value)),
        }
    }

    /// Reads the rest of a string that is plain up to `end`; its end.
    #[inline]
    fn string(self, at: u32, end: u32, out: &mut Layout) -> Result<u32, Failed> {
        let (text, end) = match self.byte(end) {
            b'"' => (between(at + 1, end), end + 1),
            _ => self.escaped_string(at + 1, end, out)?,
        };
        out.scalar((Kind::String, false), text, (at, end));
        Ok(end)
    }

    /// Reads an object from its brace on; its end.
    #[inline(never)]
    fn object(self, start: u32, out: &mut Layout) -> Result<u32, Failed> {
        let id = out.open(Kind::Object, start)?;
        let mut keys = Keys::default();
        let (mut at, mut byte) = self.space(start + 1);
        if byte == b'}' {
            out.close(id, 0, at + 1);
            return Ok(at + 1);
        }
        loop {
            if byte != b'"' {
                return Err(self.fail(out, at, keys.expected()));
            }
            let (value, first) = self.key(at, &mut keys, out)?;
            let end = if first == b'"' {
                let end = plain_end_from(self.bytes, value + 1);
                // A string is nearly always followed by the next key.
                if let Some(next) = self.next_string(end) {
                    let text = between(value + 1, end);
                    out.scalar((Kind::String, false), text, (value, end + 1));
                    at = next;
                    continue;
                }
                self.string(value, end, out)?
            } else {
                self.other_value((value, first), out)?
            };
            (at, byte) = self.space(end);
            match byte {
                b',' => (at, byte) = self.space(at + 1),
                b'}' => break,
                _ => return Err(self.fail(out, at, SyntaxExpectation::CommaOrBrace)),
            }
        }
        out.close(id, keys.count, at + 1);
        if keys.may_repeat {
            out.repeated_keys |= repeats_key(&out.slots, &out.buffer, self.text, id);
        }
        Ok(at + 1)
    }

    /// Reads a key and its colon; the beginning of its value.
    #[inline]
    fn key(self, at: u32, keys: &mut Keys, out: &mut Layout) -> Result<Token, Failed> {
        let run = PlainRun::new(self.bytes, at + 1);
        let following = self.four(run.end);
        if following as u8 != b'"' {
            keys.add_unknown();
            let end = self.string(at, run.end, out)?;
            return Ok(self.colon(end, out));
        }
        keys.add(run.hash);
        let text = between(at + 1, run.end);
        out.scalar((Kind::String, false), text, (at, run.end + 1));
        let value = match following & 0x00FF_FFFF {
            COLON_BLANK => (run.end + 3, (following >> 24) as u8),
            _ if following as u16 == COLON => (run.end + 2, (following >> 16) as u8),
            _ => (run.end, b' '),
        };
        if value.1 > b' ' {
            return Ok(value);
        }
        Ok(self.colon(run.end + 1, out))
    }

    /// Reads a colon and the white space around it; the beginning of the value, which is not one if
    /// there is no colon.
    #[inline(never)]
    fn colon(self, at: u32, out: &mut Layout) -> Token {
        let (colon, byte) = self.space(at);
        if byte != b':' {
            let Failed = self.fail(out, colon, SyntaxExpectation::Colon);
            return (colon, 0);
        }
        self.space(colon + 1)
    }

    /// Reads an array from its bracket on; its end.
    #[inline(never)]
    fn array(self, start: u32, out: &mut Layout) -> Result<u32, Failed> {
        let id = out.open(Kind::Array, start)?;
        let mut size = 0;
        let (mut at, mut byte) = self.space(start + 1);
        if byte == b']' {
            out.close(id, 0, at + 1);
            return Ok(at + 1);
        }
        loop {
            size += 1;
            let end = self.value((at, byte), out)?;
            (at, byte) = self.space(end);
            match byte {
                b',' => (at, byte) = self.space(at + 1),
                b']' => break,
                _ => return Err(self.fail(out, at, SyntaxExpectation::CommaOrBracket)),
            }
        }
        out.close(id, size, at + 1);
        Ok(at + 1)
    }

    #[cold]
    #[inline(never)]
    fn fail(self, out: &mut Layout, at: u32, wanted: SyntaxExpectation) -> Failed {
        out.fail(ParseError::at(self.bytes, at as usize, wanted))
    }

    /// The byte at `at`; 0 at the end, which no token starts with.
    #[inline(always)]
    fn byte(self, at: u32) -> u8 {
        self.bytes.get(at as usize).copied().unwrap_or(0)
    }

    /// Four bytes from `at` on; 0 if there are fewer.
    #[inline(always)]
    fn four(self, at: u32) -> u32 {
        chunk_at(self.bytes, at).map_or(0, |four| u32::from_le_bytes(*four))
    }

    /// The place of the string that follows the closing quote at `end` and a comma.
    #[inline(always)]
    fn next_string(self, end: u32) -> Option<u32> {
        let following = self.four(end);
        if following == u32::from_le_bytes(*b"\", \"") {
            return Some(end + 3);
        }
        (following << 8 == u32::from_le_bytes(*b"\0\",\"")).then_some(end + 2)
    }

    /// The next place that is not white space, and the byte there.
    #[inline(always)]
    fn space(self, mut at: u32) -> Token {
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
    fn more_space(self, mut at: u32) -> Token {
        while let b' ' | b'\n' | b'\r' | b'\t' = self.byte(at) {
            at += 1;
        }
        (at, self.byte(at))
    }

    /// Reads `true`, `false` or `null`; its end.
    #[inline]
    fn literal<const N: usize>(
        self,
        at: u32,
        word: &[u8; N],
        literal: (Kind, bool),
        out: &mut Layout,
    ) -> Result<u32, Failed> {
        if chunk_at(self.bytes, at) == Some(word) {
            let end = at + N as u32;
            out.scalar(literal, ScalarText::NONE, (at, end));
            return Ok(end);
        }
        let rest = &self.bytes[at as usize..];
        if word.starts_with(rest) {
            return Err(self.fail(out, self.bytes.len() as u32, SyntaxExpectation::Value));
        }
        Err(self.fail(out, at, SyntaxExpectation::Value))
    }

    /// The end of a number.
    #[inline]
    fn number(self, start: u32, out: &mut Layout) -> Result<u32, Failed> {
        let mut at = start + u32::from(self.byte(start) == b'-');
        at = match self.byte(at) {
            b'0' => at + 1,
            b'1'..=b'9' => self.digits(at + 1),
            _ => return Err(self.fail(out, at, SyntaxExpectation::Digit)),
        };
        match self.byte(at) {
            b'.' | b'e' | b'E' => self.fraction(at, out),
            _ => Ok(at),
        }
    }

    #[inline]
    fn digits(self, mut at: u32) -> u32 {
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        at
    }

    /// Fraction and exponent.
    #[inline(never)]
    fn fraction(self, mut at: u32, out: &mut Layout) -> Result<u32, Failed> {
        if self.byte(at) == b'.' {
            at = self.some_digits(at + 1, out)?;
        }
        if let b'e' | b'E' = self.byte(at) {
            at += 1;
            at += u32::from(matches!(self.byte(at), b'+' | b'-'));
            at = self.some_digits(at, out)?;
        }
        Ok(at)
    }

    #[inline]
    fn some_digits(self, start: u32, out: &mut Layout) -> Result<u32, Failed> {
        let at = self.digits(start);
        if at == start {
            return Err(self.fail(out, at, SyntaxExpectation::Digit));
        }
        Ok(at)
    }

    /// Decodes a string into the buffer that is not plain up to its closing quote.
    #[inline(never)]
    fn escaped_string(
        self,
        start: u32,
        mut at: u32,
        out: &mut Layout,
    ) -> Result<(ScalarText, u32), Failed> {
        let (text, bytes) = (self.text, self.bytes);
        let head = out.buffer.len();
        let mut copied = start;
        loop {
            let plain = text
                .get(copied as usize..at as usize)
                .expect("runs end at ASCII characters");
            match bytes.get(at as usize) {
                Some(b'\\') => {
                    if out.buffer.capacity() == 0 {
                        // Decoded text is shorter than the rest of the source, and most strings
                        // with escapes are near the end. The bound is for long calls, of which
                        // most is plain.
                        out.buffer
                            .reserve((bytes.len() - start as usize).min(1 << 10));
                    }
                    out.buffer.push_str(plain);
                    let escaped = self.byte(at + 1);
                    let character;
                    (character, at) = match SIMPLE_ESCAPES[usize::from(escaped)] {
                        0 if escaped == b'u' => self.unicode_escape(at + 1, out)?,
                        0 => return Err(self.fail(out, at + 1, SyntaxExpectation::Escape)),
                        simple => (char::from(simple), at + 2),
                    };
                    out.buffer.push(character);
                    copied = at;
                }
                Some(b'"') => {
                    out.buffer.push_str(plain);
                    break;
                }
                Some(_) => return Err(self.fail(out, at, SyntaxExpectation::EscapedControl)),
                None => return Err(self.fail(out, at, SyntaxExpectation::Quote)),
            }
            at = plain_end_from(bytes, at);
        }
        Ok((ScalarText::buffered(head, &out.buffer), at + 1))
    }

    /// Reads `\uXXXX`, or a pair of them, from the `u` on. Returns the character and its end.
    fn unicode_escape(self, at: u32, out: &mut Layout) -> Result<(char, u32), Failed> {
        let (first, mut at) = self.hex4(at, out)?;
        if let Some(decoded) = char::from_u32(first) {
            return Ok((decoded, at));
        }
        if (0xD800..0xDC00).contains(&first) {
            match self.bytes.get(at as usize..) {
                Some([b'\\', b'u', ..]) => {
                    let second;
                    (second, at) = self.hex4(at + 1, out)?;
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
        Err(self.fail(out, at, SyntaxExpectation::Escape))
    }

    /// Reads the four digits after the `u` at `at`. Returns their value and their end.
    fn hex4(self, mut at: u32, out: &mut Layout) -> Result<(u32, u32), Failed> {
        let mut code = 0;
        for _ in 0..4 {
            at += 1;
            let Some(digit) = char::from(self.byte(at)).to_digit(16) else {
                return Err(self.fail(out, at, SyntaxExpectation::Escape));
            };
            code = code * 16 + digit;
        }
        Ok((code, at + 1))
    }
}

impl Layout {
    /// Keeps the error, if it is the first one.
    #[cold]
    fn fail(&mut self, error: ParseError) -> Failed {
        self.error.get_or_insert(error);
        Failed
    }

    #[inline]
    fn scalar(&mut self, kind: (Kind, bool), text: ScalarText, place: (u32, u32)) {
        let id = self.slots.len() as Id;
        self.slots.push(Slot::scalar(id, kind, text, place));
    }

    /// Opens an array or an object; its id.
    #[inline]
    fn open(&mut self, kind: Kind, start: u32) -> Result<Id, Failed> {
        if self.depth >= self.max_depth {
            let wanted = SyntaxExpectation::Depth(self.max_depth);
            let error = ParseError::new(ParseClass::TooDeep, wanted, start as usize);
            return Err(self.fail(error));
        }
        self.depth += 1;
        let id = self.slots.len() as Id;
        self.slots.push(Slot::container(id, kind, start));
        Ok(id)
    }

    #[inline]
    fn close(&mut self, id: Id, size: u32, end: u32) {
        self.depth -= 1;
        let next = self.slots.len() as Id;
        self.slots[id as usize].close(next, size, end);
    }
}

/// The keys of an object so far.
#[derive(Default)]
struct Keys {
    count: u32,
    /// One bit for each hash.
    seen: u64,
    /// True if two keys may be equal.
    may_repeat: bool,
}

impl Keys {
    #[inline(always)]
    fn add(&mut self, hash: u32) {
        self.count += 1;
        let bit = 1_u64.wrapping_shl(hash);
        if self.seen & bit != 0 {
            self.may_repeat = true;
        }
        self.seen |= bit;
    }

    /// Adds a key of which no hash is known.
    fn add_unknown(&mut self) {
        self.count += 1;
        self.may_repeat = true;
    }

    /// What is expected in place of something that is not a key.
    fn expected(&self) -> SyntaxExpectation {
        if self.count == 0 {
            SyntaxExpectation::KeyOrEnd
        } else {
            SyntaxExpectation::Key
        }
    }
}

fn between(start: u32, end: u32) -> ScalarText {
    ScalarText::between(start as usize, end as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are hashed in different ways at the end of a text and before it.
    #[test]
    fn repeated_key_is_seen_wherever_it_stands() {
        let limits = Limits::default();
        for size in 0..40 {
            let key: String = ('a'..='z').cycle().take(size).collect();
            for filler in ["", "x", "a value that takes some space"] {
                for (other, repeats) in [(key.clone(), true), (format!("{key}_"), false)] {
                    let text = format!("{{\"{key}\":1,\"é\":\"{filler}\",\"{other}\":2}}");
                    let read = parse(&text, &limits).expect("JSON");
                    assert_eq!(read.repeated_keys, repeats, "{text}");
                }
            }
        }
    }
}
