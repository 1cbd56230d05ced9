//! What may stand between tokens: white space, comments, ellipses, odd spaces.

use super::parser::Parser;
use super::rules;

impl Parser<'_> {
    /// Skips to the next token; `true` if a line ended on the way.
    #[inline]
    pub(super) fn gap(&mut self) -> bool {
        let mut newline = false;
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') => {
                    newline = true;
                    self.at += 1;
                }
                Some(b'/' | b'#' | b'.' | b'<' | b'-' | 0x0b | 0x0c | 0..=8 | 0x80..) => {
                    let Some((end, rule)) = self.odd_gap() else {
                        return newline;
                    };
                    newline |= self.bytes[self.at..end].contains(&b'\n');
                    let skipped = self.bytes[self.at..end].trim_ascii_end();
                    if end == self.bytes.len() && matches!(skipped.last(), Some(b'}' | b']')) {
                        self.because(rule, self.at..end);
                    }
                    if rule == rules::COMMENT && !newline && self.is_text_of_last(self.at, end) {
                        self.doubt(rule, self.at..end);
                    }
                    self.note(rule, self.at..end, "");
                    self.at = end;
                }
                Some(b'\\') if matches!(self.byte(self.at + 1), b'n' | b't' | b'r') => {
                    newline |= self.byte(self.at + 1) == b'n';
                    self.note(rules::ESCAPED_SPACE, self.at..self.at + 2, "");
                    self.at += 2;
                }
                _ => return newline,
            }
        }
    }

    /// The end of a comment, an ellipsis or an odd space that starts here.
    fn odd_gap(&self) -> Option<(usize, rules::RuleRef)> {
        let rest = &self.bytes[self.at..];
        let line = || self.line_end(self.at);
        match rest {
            [b'/', b'/', ..] => Some((line(), rules::COMMENT)),
            [b'/', b'*', ..] => Some((self.find_from("*/", self.at + 2), rules::COMMENT)),
            [b'#', ..] => Some((line(), rules::COMMENT)),
            [b'<', b'!', b'-', b'-', ..] => {
                Some((self.find_from("-->", self.at + 4), rules::COMMENT))
            }
            [b'-', b'-', b' ', ..] => Some((line(), rules::COMMENT)),
            [b'.', b'.', b'.', ..] => {
                let dots = rest.iter().take_while(|b| **b == b'.').count();
                Some((self.at + dots, rules::ELLIPSIS))
            }
            [0x0b | 0x0c | 0..=8, ..] => Some((self.at + 1, rules::ODD_SPACE)),
            [0x80..=0xFF, ..] => {
                let c = self.text[self.at..].chars().next()?;
                let end = self.at + c.len_utf8();
                match c {
                    '…' => Some((end, rules::ELLIPSIS)),
                    c if is_odd_space(c) => Some((end, rules::ODD_SPACE)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `"text" // more", "key":`: does the comment hold what ends the string before it?
    fn is_text_of_last(&self, start: usize, end: usize) -> bool {
        let text = &self.text[start..end];
        let odd = text.bytes().filter(|b| *b == b'"').count() % 2 == 1;
        self.last_string.is_some() && (odd || text.contains("\":"))
    }

    /// Does a `-- comment` stand at `next`, with space around its dashes?
    pub(super) fn dashes(&self, end: usize, next: usize) -> bool {
        next > end && self.bytes[next..].starts_with(b"-- ")
    }

    pub(super) fn line_end(&self, from: usize) -> usize {
        let rest = &self.bytes[from.min(self.bytes.len())..];
        rest.iter()
            .position(|b| *b == b'\n')
            .map_or(self.bytes.len(), |n| from + n)
    }

    /// The end of the next `what`, or of the text.
    pub(super) fn find_from(&self, what: &str, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.find(what)
            .map_or(self.bytes.len(), |n| from + n + what.len())
    }

    /// The first byte from here that is no white space.
    #[inline]
    pub(super) fn skip_space(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(at) {
            at += 1;
        }
        at
    }

    /// Bytes of the comma (or what stands for one) here; 0 if there is none.
    pub(super) fn comma_width(&self, at: usize) -> usize {
        match self.byte(at) {
            b',' | b';' => 1,
            0xEF if self
                .text
                .get(at..)
                .is_some_and(|rest| rest.starts_with('，')) =>
            {
                3
            }
            _ => 0,
        }
    }

    /// A full-width or otherwise foreign form of ASCII punctuation: what it is, its bytes.
    pub(super) fn wide(&self) -> Option<(u8, usize)> {
        let c = self.text.get(self.at..)?.chars().next()?;
        let plain = match c {
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
        Some((plain, c.len_utf8()))
    }
}

pub(super) fn is_odd_space(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{feff}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'
        )
}
