//! What follows a quote: does it fit a string that ended there?
//!
//! Every look ahead stops at the next token, the next line or a fixed number of bytes.

use super::parser::Parser;
use super::string_end::{MOST_KEY, StringRole};
use crate::tree::Kind;

/// How sure it is that a quote ends its string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteFit {
    No,
    Maybe,
    Yes,
    /// A colon follows: this quote ends a key.
    Colon,
}

impl Parser<'_> {
    /// Does what follows a quote fit a string that ended there?
    pub(super) fn fit(&self, after: usize, role: StringRole) -> QuoteFit {
        let next = self.skip_space(after);
        let spaced = next > after;
        let Some(byte) = self.bytes.get(next).copied() else {
            return QuoteFit::Yes;
        };
        if role == StringRole::Key {
            return match byte {
                b':' | b'=' | b'}' | b',' => QuoteFit::Yes,
                0xEF => QuoteFit::Yes,
                b'"' | b'\'' | b'{' | b'[' | b'0'..=b'9' if spaced => QuoteFit::Yes,
                b'{' | b'[' => QuoteFit::Yes,
                b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'-' if spaced => QuoteFit::Maybe,
                _ => QuoteFit::No,
            };
        }
        match byte {
            b':' if role == StringRole::Member => QuoteFit::Colon,
            b':' => QuoteFit::Yes,
            b',' | b';' => self.fit_comma(next, role),
            b'}' | b']' | b')' => self.fit_closers(next),
            b'/' if matches!(self.byte(next + 1), b'/' | b'*') => QuoteFit::Yes,
            b'#' if spaced => QuoteFit::Maybe,
            b'-' if self.dashes(after, next) => QuoteFit::Maybe,
            b'+' if matches!(self.byte(self.skip_space(next + 1)), b'"' | b'\'' | b'`') => {
                QuoteFit::Maybe
            }
            b'`' if self.bytes[next..].starts_with(b"```") => QuoteFit::Yes,
            b'"' | b'\'' if !spaced && role == StringRole::Member && self.key_follows(next) => {
                QuoteFit::Yes
            }
            b'"' | b'\'' | b'`' | 0xE2 if spaced => match role {
                StringRole::Member if self.key_follows(next) => QuoteFit::Yes,
                StringRole::Member | StringRole::Root => QuoteFit::Maybe,
                _ => QuoteFit::Yes,
            },
            b'{' | b'[' if role == StringRole::Element && spaced => QuoteFit::Maybe,
            b'0'..=b'9' | b'-' if role == StringRole::Element && spaced => self.fit_number(next),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' if role == StringRole::Member && spaced => {
                self.fit_word(after, next)
            }
            0xEF => self.fit_wide(next, role),
            _ if role == StringRole::Root => QuoteFit::Maybe,
            _ if role == StringRole::Member && self.bytes[after..next].contains(&b'\n') => {
                if self.key_follows(next) {
                    QuoteFit::Yes
                } else {
                    QuoteFit::No
                }
            }
            _ => QuoteFit::No,
        }
    }

    /// `["a" 2]`: does a number follow, and nothing else?
    fn fit_number(&self, at: usize) -> QuoteFit {
        let Some(end) = super::numbers::strict_end(self.bytes, at) else {
            return QuoteFit::No;
        };
        match self.byte(self.skip_space(end)) {
            0 | b',' | b']' => QuoteFit::Maybe,
            _ => QuoteFit::No,
        }
    }

    /// `"text" key: 5`: does a key without quotes follow, and a value that is no such word?
    fn fit_word(&self, after: usize, at: usize) -> QuoteFit {
        let Some(end) = self.key_end(at) else {
            return QuoteFit::No;
        };
        if self.bytes[after..at].contains(&b'\n') {
            return QuoteFit::Yes;
        }
        let value = self.skip_space(self.skip_space(end) + 1);
        let word = self.text.get(value..self.word_end(value));
        let literal = word.is_some_and(|word| super::words::literal(word).is_some());
        match self.byte(value) {
            b'"' | b'\'' | b'{' | b'[' | b'0'..=b'9' | b'-' => QuoteFit::Maybe,
            _ if literal => QuoteFit::Maybe,
            _ => QuoteFit::No,
        }
    }

    fn fit_wide(&self, at: usize, role: StringRole) -> QuoteFit {
        match self.text.get(at..).and_then(|rest| rest.chars().next()) {
            Some('，') => self.fit_comma(at, role),
            Some('：') if role == StringRole::Member => QuoteFit::Colon,
            Some('｝' | '］' | '）' | '：') => QuoteFit::Yes,
            _ => QuoteFit::No,
        }
    }

    fn fit_comma(&self, comma: usize, role: StringRole) -> QuoteFit {
        let next = self.skip_space(comma + self.comma_width(comma).max(1));
        let Some(byte) = self.bytes.get(next).copied() else {
            return QuoteFit::Yes;
        };
        match (byte, role) {
            (b'}' | b']' | b')' | b',' | b'/' | b'#', _) => QuoteFit::Yes,
            (b'.', _) if self.bytes[next..].starts_with(b"...") => QuoteFit::Yes,
            (b'-', _) if self.dashes(comma, next) => QuoteFit::Yes,
            (_, StringRole::Member) if self.key_follows(next) => QuoteFit::Yes,
            (b'"' | b'\'', StringRole::Member) if self.bytes[comma..next].contains(&b'\n') => {
                QuoteFit::Maybe
            }
            (b'"' | b'\'', StringRole::Member) if self.damaged_key_follows(next) => QuoteFit::Maybe,
            (b'{', StringRole::Member) => QuoteFit::Maybe,
            (_, StringRole::Member) => QuoteFit::No,
            (b'"' | b'\'' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'(' | b'`', _) => QuoteFit::Yes,
            (b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'u' | b'I', _) => {
                let end = self.word_end(next);
                let word = &self.text[next..end];
                if end == self.bytes.len() || super::words::literal(word).is_some() {
                    QuoteFit::Yes
                } else {
                    QuoteFit::Maybe
                }
            }
            (0xE2, _) if self.smart_quote(next).is_some() => QuoteFit::Yes,
            (_, StringRole::Root) => QuoteFit::Maybe,
            _ => QuoteFit::Maybe,
        }
    }

    /// Closing brackets follow: do they close what is open?
    fn fit_closers(&self, at: usize) -> QuoteFit {
        let (at, left, right) = self.closers(at);
        if !right {
            return QuoteFit::Maybe;
        }
        match (self.bytes.get(at), left) {
            (None | Some(b',' | b';'), _) => QuoteFit::Yes,
            (Some(b'{' | b'[' | b'`' | b'<' | b')' | b'}' | b']'), 0) => QuoteFit::Yes,
            (Some(_), 0) if self.byte(at - 1) == b'\n' => QuoteFit::Yes,
            (Some(b'/' | b'#' | b'"' | b'{' | b'['), 1..) => QuoteFit::Yes,
            _ => QuoteFit::Maybe,
        }
    }

    /// Do only brackets follow, up to the end?
    pub(super) fn closes_all(&self, at: usize) -> bool {
        let (at, left, right) = self.closers(self.skip_space(at));
        right && left == 0 && at == self.bytes.len()
    }

    /// Skips a few closing brackets: where they end, how many stay open, and whether each fits.
    pub(super) fn closers(&self, mut at: usize) -> (usize, usize, bool) {
        let mut left = self.frames.len();
        let mut right = true;
        for _ in 0..16 {
            let byte = self.byte(at);
            if !matches!(byte, b'}' | b']' | b')') {
                break;
            }
            if left > 0 && self.frames[left - 1].closer() == byte {
                left -= 1;
            } else if left > 0 {
                right = false;
                break;
            } else {
                break;
            }
            at = self.skip_space(at + 1);
        }
        (at, left, right)
    }

    /// `"key" value` without a colon, or `"key: value` without the closing quote?
    fn damaged_key_follows(&self, start: usize) -> bool {
        let quote = self.byte(start);
        let end = self.word_end(start + 1);
        let next = self.skip_space(end + 1);
        if end == start + 1 || end > start + MOST_KEY {
            return false;
        }
        let sign = self.skip_space(end);
        if self
            .text
            .get(end..)
            .is_some_and(|rest| rest.starts_with('：'))
            || self.byte(sign) == b'='
        {
            return true;
        }
        if self.byte(end) == b':' {
            return matches!(self.byte(end + 1), b' ' | b'"' | b'[' | b'{' | b'0'..=b'9');
        }
        let word = self.text.get(next..self.word_end(next)).unwrap_or_default();
        self.byte(end) == quote
            && next > end + 1
            && (matches!(
                self.byte(next),
                b'"' | b'\'' | b'[' | b'{' | b'0'..=b'9' | b'-'
            ) || super::words::literal(word).is_some())
    }

    /// Does a key with its colon start here? Also if the text ends inside it.
    pub(super) fn key_follows(&self, start: usize) -> bool {
        self.key_end(start).is_some()
    }

    /// The end of a key that starts here and has its colon.
    pub(super) fn key_end(&self, start: usize) -> Option<usize> {
        let limit = (start + MOST_KEY).min(self.bytes.len());
        let mut at = start;
        match self.byte(start) {
            quote @ (b'"' | b'\'' | b'`') => {
                at += 1;
                loop {
                    match self.bytes.get(at) {
                        None => return Some(at),
                        Some(byte) if *byte == quote => break,
                        Some(b'\n') => return None,
                        Some(b'\\') => at += 2,
                        Some(_) if at >= limit => return Some(at),
                        Some(_) => at += 1,
                    }
                }
                at += 1;
            }
            0xE2 if self.smart_quote(start).is_some() => {
                at = start + 3;
                while at < limit && self.smart_quote(at).is_none() && self.bytes[at] != b'"' {
                    at += 1;
                }
                at += if self.byte(at) == b'"' { 1 } else { 3 };
            }
            _ => {
                at = self.word_end(start).min(limit);
                if at == start {
                    return None;
                }
                if self.byte(at) == b'"' || self.byte(at) == b'\'' {
                    at += 1;
                }
            }
        }
        let next = self.skip_space(at);
        match self.bytes.get(next) {
            Some(b':') => (self.byte(start) == b'"' || self.byte(next + 1) != b'/').then_some(at),
            Some(b'=') => Some(at),
            None => {
                let quoted = !self.byte(start).is_ascii_alphanumeric();
                quoted.then_some(at.min(self.bytes.len()))
            }
            Some(0xEF) => self.text[next..].starts_with(['：', '＝']).then_some(at),
            _ => None,
        }
    }

    /// The end of the identifier that starts here.
    pub(super) fn word_end(&self, start: usize) -> usize {
        let rest = &self.bytes[start.min(self.bytes.len())..];
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'-');
        start + rest.iter().take_while(|b| is_part(b)).count()
    }

    pub(super) fn role(&self) -> StringRole {
        match self.frames.last().and_then(|frame| self.out.slot(frame.id)) {
            None => StringRole::Root,
            Some(slot) if slot.kind == Kind::Object => StringRole::Member,
            Some(_) => StringRole::Element,
        }
    }
}
