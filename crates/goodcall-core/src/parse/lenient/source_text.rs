//! The raw text, and lexical questions that its bytes alone answer.
//!
//! Nothing here knows what is open or what was read before. Every look ahead stops at the next
//! token, the next line or a fixed number of bytes, so that each byte is looked at a bounded number
//! of times.

use super::string_end::Quote;
use super::typographic::{may_lead, opened_by};
use crate::limits::KEY_BYTES;
use crate::parse::plain_text::plain_end;
use crate::stop::StopReason;
use crate::tree::last_byte;

/// The first UTF-8 byte of U+F000 to U+FFFF, where the full-width forms of ASCII are.
pub(super) const FULL_WIDTH_LEAD: u8 = 0xEF;

/// The text that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceText<'a> {
    text: &'a str,
    is_finished: bool,
    /// The position after the last opening bracket; 0 if there is no bracket.
    last_opener_end: usize,
    /// The last byte that is not white space; 0 if there is none.
    last_visible: u8,
}

impl<'a> SourceText<'a> {
    pub(super) fn new(text: &'a str, stop: StopReason) -> Self {
        let is_opener = |byte: u8| byte == b'{' || byte == b'[';
        Self {
            text,
            is_finished: stop == StopReason::Finished,
            last_opener_end: last_byte(text.as_bytes(), is_opener).map_or(0, |at| at + 1),
            last_visible: text.trim_end().bytes().next_back().unwrap_or(0),
        }
    }

    #[inline]
    pub(super) fn as_str(&self) -> &'a str {
        self.text
    }

    #[inline]
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The bytes from `at` on; none after the end.
    pub(super) fn bytes_from(&self, at: usize) -> &'a [u8] {
        self.bytes().get(at..).unwrap_or_default()
    }

    /// The text from `at` on; empty after the end, or inside a character.
    pub(super) fn from(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    /// The byte at `at`; 0 after the end.
    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes().get(at).copied().unwrap_or(0)
    }

    /// Returns true if the host says that the model had finished: nothing is cut off, whatever is
    /// missing.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    pub(super) fn last_visible(&self) -> u8 {
        self.last_visible
    }

    /// Returns true if an opening bracket stands after `at`.
    pub(super) fn has_opener_after(&self, at: usize) -> bool {
        self.last_opener_end > at + 1
    }

    /// Returns true if a line ends between these positions.
    pub(super) fn has_newline(&self, start: usize, end: usize) -> bool {
        self.bytes()[start..end].contains(&b'\n')
    }

    /// The width of the character at `at`, or `default` after the end.
    pub(super) fn char_width(&self, at: usize, default: usize) -> usize {
        let next = self.from(at).chars().next();
        next.map_or(default, char::len_utf8)
    }

    /// The first position from `at` on that is not white space.
    #[inline]
    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes().get(at) {
            at += 1;
        }
        at
    }

    /// The next token after white space that is written out, as in `3\n}`; `None` if there is no
    /// such space, or if what follows it does not end a value.
    pub(super) fn after_written_space(&self, from: usize) -> Option<usize> {
        let start = self.skip_space(from);
        let at = self.skip_written_space(from);
        let ends = matches!(self.byte(at), b',' | b'}' | b']' | b')' | 0);
        (at > start && ends).then_some(at)
    }

    /// The first position from `at` on that is not white space, written out or not.
    pub(super) fn skip_written_space(&self, from: usize) -> usize {
        let mut at = self.skip_space(from);
        while self.byte(at) == b'\\' && matches!(self.byte(at + 1), b'n' | b'r' | b't') {
            at = self.skip_space(at + 2);
        }
        at
    }

    pub(super) fn line_end(&self, from: usize) -> usize {
        let newline = self.bytes_from(from).iter().position(|b| *b == b'\n');
        newline.map_or(self.len(), |n| from + n)
    }

    /// The rest of the line from `from` on, at most `most` bytes of it.
    pub(super) fn rest_of_line(&self, from: usize, most: usize) -> &'a [u8] {
        let near = self.bytes_from(from);
        let near = &near[..near.len().min(most)];
        let newline = near.iter().position(|b| *b == b'\n');
        &near[..newline.unwrap_or(near.len())]
    }

    /// The end of the next `needle` from `from` on, or of the text.
    pub(super) fn find_end(&self, needle: &str, from: usize) -> usize {
        let found = self.from(from).find(needle);
        found.map_or(self.len(), |n| from + n + needle.len())
    }

    /// The end of the identifier that starts here. Dashes belong to it.
    pub(super) fn word_end(&self, start: usize) -> usize {
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'-');
        let rest = self.bytes_from(start).iter();
        start + rest.take_while(|b| is_part(b)).count()
    }

    /// The end of a name with dots or letters outside ASCII in it; that of the identifier here if
    /// it does not start with a letter.
    fn name_end(&self, start: usize) -> usize {
        let first = self.byte(start);
        if !first.is_ascii_alphabetic() && first < 0x80 {
            return self.word_end(start);
        }
        let is_sign = |c: char| matches!(c, '_' | '$' | '-' | '.');
        let is_part = |c: &char| c.is_alphanumeric() || is_sign(*c);
        // Nearly every name is short and consists of ASCII letters.
        let window = self.bytes_from(start).iter().take(KEY_BYTES);
        let ascii = window.take_while(|b| b.is_ascii_alphanumeric() || is_sign(char::from(**b)));
        let mut end = start + ascii.count();
        for c in self.from(end).chars().take_while(is_part) {
            if end + c.len_utf8() > start + 4 * KEY_BYTES {
                break;
            }
            end += c.len_utf8();
        }
        end
    }

    /// The end of a key of several words without quotes, with its colon: `due date:`.
    pub(super) fn words_key_end(&self, start: usize) -> Option<usize> {
        let mut at = start;
        for _ in 0..4 {
            let end = self.name_end(at);
            if end == at || end > start + KEY_BYTES {
                return None;
            }
            if self.byte(end) == b':' {
                return (self.byte(end + 1) != b'/').then_some(end);
            }
            if self.byte(end) != b' ' {
                return None;
            }
            at = end + 1;
        }
        None
    }

    /// The end of `name` or `name.name`.
    pub(super) fn dotted_end(&self, start: usize) -> usize {
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.');
        let rest = self.bytes()[start..].iter();
        start + rest.take_while(|b| is_part(b)).count()
    }

    /// The width of the comma (or of another sign in its place) here; 0 if there is none.
    pub(super) fn comma_width(&self, at: usize) -> usize {
        match self.byte(at) {
            b',' | b';' => 1,
            FULL_WIDTH_LEAD if self.from(at).starts_with('，') => 3,
            _ => 0,
        }
    }

    /// The end of a row of commas, the first of which is `width` bytes wide.
    pub(super) fn commas_end(&self, at: usize, width: usize) -> usize {
        let from = at + width;
        let more = self.bytes()[from..].iter().take_while(|b| **b == b',');
        from + more.count()
    }

    /// The ASCII character that a full-width or otherwise foreign punctuation mark stands for, and
    /// the mark's width.
    pub(super) fn foreign_punctuation(&self, at: usize) -> Option<(u8, usize)> {
        let mark = self.text.get(at..)?.chars().next()?;
        let ascii = match mark {
            '：' | '﹕' | '︓' => b':',
            '，' | '、' | '﹐' | '､' | '،' => b',',
            '；' => b';',
            '｛' | '﹛' => b'{',
            '｝' | '﹜' => b'}',
            '［' | '【' | '〔' => b'[',
            '］' | '】' | '〕' => b']',
            '（' => b'(',
            '）' => b')',
            '＝' => b'=',
            _ => return None,
        };
        Some((ascii, mark.len_utf8()))
    }

    /// The punctuation at `at`, in ASCII if it is foreign, and its width.
    #[inline]
    pub(super) fn punctuation(&self, at: usize) -> Option<(u8, usize)> {
        match *self.bytes().get(at)? {
            byte @ 0x80.. => Some(self.foreign_punctuation(at).unwrap_or((byte, 1))),
            byte => Some((byte, 1)),
        }
    }

    /// Returns true if a `-- comment` stands at `next`, with space on both sides of its dashes.
    pub(super) fn is_dash_comment(&self, end: usize, next: usize) -> bool {
        next > end && self.bytes()[next..].starts_with(b"-- ")
    }

    /// The first token from `from` on, after a few short comments.
    pub(super) fn skip_comments(&self, from: usize) -> usize {
        let mut at = self.skip_space(from);
        for _ in 0..4 {
            let rest = &self.bytes()[at..];
            let rest = &rest[..rest.len().min(400)];
            let close: &[u8] = match rest {
                [b'/', b'*', ..] => b"*/",
                [b'/', b'/', ..] | [b'#', ..] | [b'-', b'-', b' ', ..] => b"\n",
                [b'<', b'!', b'-', b'-', ..] => b"-->",
                _ => break,
            };
            let Some(end) = find(rest, close) else {
                break;
            };
            at = self.skip_space(at + end + close.len());
        }
        at
    }
}

/// Quotes.
impl SourceText<'_> {
    /// The quote that opens a string at `at`.
    pub(super) fn opening_quote(&self, at: usize) -> Option<Quote> {
        match self.bytes()[at..] {
            [a @ (b'"' | b'\''), b, c, ..] if a == b && b == c => Some(Quote::Triple(a)),
            [a @ (b'"' | b'\''), b, c, ..]
                if a == b && (c.is_ascii_alphanumeric() || c >= 0x80) =>
            {
                Some(Quote::Doubled(a))
            }
            [a @ (b'"' | b'\'' | b'`'), ..] => Some(Quote::Plain(a)),
            [b'\\', a @ (b'"' | b'\''), ..] => Some(Quote::Escaped(a)),
            _ => self.typographic_quote(at),
        }
    }

    /// The typographic quote at `at`.
    pub(super) fn typographic_quote(&self, at: usize) -> Option<Quote> {
        if !may_lead(self.byte(at)) {
            return None;
        }
        self.text.get(at..)?.chars().next().and_then(opened_by)
    }

    /// The width of the quote that opens a string at `at`.
    pub(super) fn quote_width(&self, at: usize, quote: Quote) -> usize {
        match quote {
            Quote::Plain(_) => 1,
            Quote::Doubled(_) | Quote::Escaped(_) => 2,
            Quote::Triple(_) => 3,
            Quote::Smart | Quote::SmartSingle | Quote::Pair(_) => self.char_width(at, 0),
        }
    }

    /// The width of the quote at `at` that closes a string opened by `quote`; 0 if there is none.
    pub(super) fn closing_width(&self, at: usize, quote: Quote) -> usize {
        let (kind, ascii) = match quote {
            Quote::Plain(byte) => return usize::from(self.byte(at) == byte),
            Quote::Smart => (Quote::Smart, b'"'),
            Quote::Pair(closing) => {
                let closes = self.from(at).starts_with(closing);
                return if closes { closing.len_utf8() } else { 0 };
            }
            _ => (Quote::SmartSingle, b'\''),
        };
        if self.typographic_quote(at) == Some(kind) {
            self.char_width(at, 0)
        } else {
            usize::from(self.byte(at) == ascii)
        }
    }

    /// Returns true if two quotes end the string before its line does. The first may not be escaped.
    pub(super) fn has_doubled_quote(&self, start: usize, quote: u8) -> bool {
        let pairs = self.bytes()[start..].windows(2);
        let mut line = pairs.take_while(|pair| pair[0] != b'\n');
        let found = line.position(|pair| pair == [quote; 2]);
        found.is_some_and(|n| n == 0 || self.byte(start + n - 1) != b'\\')
    }

    /// Returns true for a quote that belongs to no pair: one between two letters, or the inch mark
    /// of `24" wide`. In `10:00"-11:00` it may be the end of one of two texts.
    pub(super) fn is_apostrophe(&self, at: usize, width: usize) -> bool {
        let is_letter = |at: usize| self.byte(at).is_ascii_alphanumeric();
        if self.byte(at) != b'"' {
            // `a”b`: a double quote between letters ends something.
            let is_double = self.typographic_quote(at) == Some(Quote::Smart);
            let before = self
                .as_str()
                .get(..at)
                .and_then(|text| text.chars().next_back());
            let after = self.from(at + width).chars().next();
            return !is_double
                && before
                    .zip(after)
                    .is_some_and(|(a, b)| elides(a) && elides(b));
        }
        let more = match self.byte(at + 1) {
            b' ' => is_letter(at + 2) || self.byte(at + 2) == b'(',
            b'-' => self.byte(at + 2).is_ascii_alphabetic(),
            byte => byte.is_ascii_alphabetic(),
        };
        more && self.ends_length(at)
    }

    /// Returns true if a number stands before this place that is not the end of a time (`10:00`).
    fn ends_length(&self, at: usize) -> bool {
        let digit = |back: usize| self.byte(at.wrapping_sub(back)).is_ascii_digit();
        let is_time = digit(2) && self.byte(at.wrapping_sub(3)) == b':' && digit(4);
        digit(1) && !is_time
    }
}

/// Returns true for a letter or a digit beside which an apostrophe may stand. Chinese, Japanese and
/// Korean have none.
fn elides(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{2e80}'
}

/// Keys.
impl SourceText<'_> {
    /// Returns true if a key with its colon starts here, or if the text ends inside it.
    pub(super) fn key_follows(&self, start: usize) -> bool {
        self.key_end(start).is_some()
    }

    /// The end of a key that starts here and has its colon.
    pub(super) fn key_end(&self, start: usize) -> Option<usize> {
        let end = match self.byte(start) {
            quote @ (b'"' | b'\'' | b'`') => match self.quoted_key_end(start, quote)? {
                KeyEnd::Closed(end) => end,
                KeyEnd::Open(end) => return Some(end),
            },
            _ => match self.typographic_quote(start) {
                Some(quote) => self.typographic_key_end(start, quote),
                None => self.bare_key_end(start)?,
            },
        };
        let next = self.skip_space(end);
        match self.bytes().get(next) {
            // `https://` is not a key without quotes.
            Some(b':') => (self.byte(start) == b'"' || self.byte(next + 1) != b'/').then_some(end),
            Some(b'=') => Some(end),
            None => {
                let quoted = !self.byte(start).is_ascii_alphanumeric();
                quoted.then_some(end.min(self.len()))
            }
            Some(&FULL_WIDTH_LEAD) => self.from(next).starts_with(['：', '＝']).then_some(end),
            _ => None,
        }
    }

    fn quoted_key_end(&self, start: usize, quote: u8) -> Option<KeyEnd> {
        let limit = (start + KEY_BYTES).min(self.len());
        let mut at = start + 1;
        if quote == b'"' {
            // Nearly every key ends at the first byte that is not plain text.
            let end = plain_end(self.bytes(), at.min(self.len()));
            if end <= limit && self.byte(end) == quote {
                return Some(KeyEnd::Closed(end + 1));
            }
        }
        loop {
            match self.bytes().get(at) {
                // A backslash at the end of the text escapes nothing.
                None => return Some(KeyEnd::Open(at.min(self.len()))),
                Some(byte) if *byte == quote => return Some(KeyEnd::Closed(at + 1)),
                Some(b'\n') => return None,
                Some(b'\\') => at += 2,
                Some(_) if at >= limit => return Some(KeyEnd::Open(at)),
                Some(_) => at += 1,
            }
        }
    }

    fn typographic_key_end(&self, start: usize, quote: Quote) -> usize {
        let limit = (start + KEY_BYTES).min(self.len());
        let mut at = start + self.char_width(start, 0);
        loop {
            let width = self.closing_width(at, quote);
            if width > 0 || at >= limit {
                return at + width;
            }
            at += 1;
        }
    }

    fn bare_key_end(&self, start: usize) -> Option<usize> {
        let limit = (start + KEY_BYTES).min(self.len());
        let end = self.name_end(start).min(limit);
        let quoted = matches!(self.byte(end), b'"' | b'\'');
        (end != start).then_some(end + usize::from(quoted))
    }

    /// Returns true for `"key" value` without a colon and `"key: value` without a closing quote.
    pub(super) fn damaged_key_follows(&self, start: usize) -> bool {
        let Some(quote) = self.opening_quote(start) else {
            return false;
        };
        let name = start + self.quote_width(start, quote);
        let end = self.word_end(name);
        if end == name || end > start + KEY_BYTES {
            return false;
        }
        if self.from(end).starts_with('：') || self.byte(self.skip_space(end)) == b'=' {
            return true;
        }
        if self.byte(end) == b':' {
            return matches!(self.byte(end + 1), b' ' | b'"' | b'[' | b'{' | b'0'..=b'9');
        }
        let width = self.closing_width(end, quote);
        let next = self.skip_space(end + width);
        width > 0 && next > end + width && self.is_clear_value(next)
    }

    /// Returns true for `key 5`: a name without quotes and colon, with a value after it.
    pub(super) fn bare_member_follows(&self, start: usize) -> bool {
        let end = self.word_end(start);
        let value = self.skip_space(end);
        let value_end = super::numbers::strict_end(self.bytes(), value);
        let follows = value_end.map(|end| self.byte(self.skip_space(end)));
        self.byte(start).is_ascii_alphabetic()
            && value > end
            && matches!(follows, Some(b',' | b'}'))
    }

    /// Returns true if a value starts here that no text without quotes starts like.
    fn is_clear_value(&self, at: usize) -> bool {
        let word = self.text.get(at..self.word_end(at)).unwrap_or_default();
        let opens = matches!(self.byte(at), b'[' | b'{' | b'0'..=b'9' | b'-');
        opens || self.opening_quote(at).is_some() || super::words::literal(word).is_some()
    }
}

/// Where a look ahead found the end of a quoted key.
enum KeyEnd {
    /// After its closing quote.
    Closed(usize),
    /// The text, or the bytes that a look ahead may take, end inside it.
    Open(usize),
}

pub(super) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let mut windows = bytes.windows(needle.len());
    windows.position(|window| window == needle)
}
