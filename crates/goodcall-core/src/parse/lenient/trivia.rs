//! What may stand between tokens: white space, comments, ellipses, unusual spaces.

use super::numbers::is_number;
use super::parser::Parser;
use super::rules::{self, RuleRef};
use super::source_text::SourceText;
use super::words::literal;

impl Parser<'_> {
    /// Skips to the next token. Returns true if a line ended on the way.
    #[inline]
    pub(super) fn skip_trivia(&mut self) -> bool {
        let bytes = self.source().bytes();
        let mut at = self.at();
        let mut newline = false;
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = bytes.get(at) {
            newline |= *byte == b'\n';
            at += 1;
        }
        self.move_to(at);
        // Nearly every token starts with one of these.
        match bytes.get(at) {
            None | Some(b'"' | b',' | b':' | b'0'..=b'9' | b'{' | b'}' | b'[' | b']') => newline,
            Some(b'A'..=b'Z' | b'a'..=b'z' | b'\'') => newline,
            Some(_) => self.skip_unusual_trivia(newline),
        }
    }

    /// Like [`Parser::skip_trivia`], for a place that may be more than white space.
    fn skip_unusual_trivia(&mut self, mut newline: bool) -> bool {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.advance(1),
                Some(b'\n') => {
                    newline = true;
                    self.advance(1);
                }
                Some(b'/' | b'#' | b'.' | b'<' | b'-' | 0x0b | 0x0c | 0..=8 | 0x80..) => {
                    let Some((end, rule)) = foreign_trivia(self.source(), self.at()) else {
                        return newline;
                    };
                    newline |= self.source().has_newline(self.at(), end);
                    self.skip_foreign_trivia(end, rule, newline);
                }
                Some(b'\\') => match self.source().byte(self.at() + 1) {
                    escaped @ (b'n' | b't' | b'r') => {
                        newline |= escaped == b'n';
                        self.note_and_skip(rules::ESCAPED_SPACE, 2, "");
                    }
                    _ => return newline,
                },
                _ => return newline,
            }
        }
    }

    /// Skips a comment, an ellipsis or an unusual space, unless it may be part of a value.
    fn skip_foreign_trivia(&mut self, end: usize, rule: RuleRef, newline: bool) {
        let (source, start) = (self.source(), self.at());
        let skipped = source.bytes()[start..end].trim_ascii_end();
        if end == source.len() && matches!(skipped.last(), Some(b'}' | b']')) {
            self.note_cut_cause(rule, start..end);
        }
        let is_comment = rule == rules::COMMENT;
        let follows = is_comment && !newline;
        if follows && (self.may_end_last_string(start, end) || self.may_hold_value(start, end))
            || is_comment && self.expects_value() && self.may_be_value(start, end)
            || follows && self.in_array() && self.is_scalar(start, end)
            || rule == rules::ELLIPSIS && self.has_element_after(end)
        {
            self.note_ambiguous(rule, start..end);
        }
        self.note_and_skip(rule, end - start, "");
    }

    /// Returns true for `[1, ..., 9]` behind the dots, which stand for what the list lacks.
    fn has_element_after(&self, end: usize) -> bool {
        let source = self.source();
        let comma = source.skip_space(end);
        let width = source.comma_width(comma);
        let next = source.byte(source.skip_space(comma + width));
        self.in_array() && width > 0 && !matches!(next, b']' | b'}' | b')' | 0)
    }

    /// Returns true for `"text" // more", "key":`, where the comment holds a quote that may end the
    /// string before it.
    fn may_end_last_string(&self, start: usize, end: usize) -> bool {
        let comment = &self.source().as_str()[start..end];
        let quotes = comment.bytes().filter(|b| *b == b'"').count();
        self.last_string().is_some() && (quotes % 2 == 1 || comment.contains("\":"))
    }
}

/// Comments behind a value, and where a value should be.
impl Parser<'_> {
    /// Returns true for a comment to the end of the line behind a value that may be part of it
    /// (`3#4`, `6 // 2 = 3`), or that may end earlier: `"a" // first, "b"`.
    fn may_hold_value(&self, start: usize, end: usize) -> bool {
        let container = self.innermost();
        let source = self.source();
        let mark = source.byte(start);
        let is_line = mark == b'#' || mark == source.byte(start + 1);
        let follows_value = container.is_some_and(|container| {
            container.comma.is_none() && !self.expects_value() && container.count > 0
        });
        if !is_line || !follows_value {
            return false;
        }
        let comment = source.as_str()[start..end].trim_start_matches(['#', '/', '-']);
        let before = source.as_str()[..start].trim_end_matches(' ');
        let is_glued = before.len() == start && before.ends_with(char::is_alphanumeric);
        let starts_with_digit = comment
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit());
        let is_quotient = mark == b'/' && before.ends_with(|c: char| c.is_ascii_digit());
        let mut pieces = comment.split(',').skip(1).map(str::trim_start);
        is_glued
            || is_quotient && starts_with_digit
            || pieces.any(|piece| piece.starts_with(['"', '{', '[']))
    }

    /// Returns true for `# 4` and `// "b",`: the comment is a whole value, which may be an element.
    fn is_scalar(&self, start: usize, end: usize) -> bool {
        let comment = self.source().as_str()[start..end].trim_start_matches(['#', '/', '-']);
        let value = comment.trim().trim_end_matches(',');
        let inner = value
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        self.expects_value()
            && (is_number(value)
                || literal(value).is_some()
                || inner.is_some_and(|text| !text.contains('"')))
    }

    /// Returns true if the next token should be a value.
    fn expects_value(&self) -> bool {
        let last = self.tree().next_id().checked_sub(1);
        self.innermost().is_some_and(|container| {
            if self.in_object() {
                container.key.is_some() && container.key == last
            } else {
                container.count == 0 || container.comma.is_some()
            }
        })
    }

    /// Returns true for `#tag`, `//host/path` and `-- x`, which may be text, and for a comment in
    /// place of the value of a member.
    fn may_be_value(&self, start: usize, end: usize) -> bool {
        let source = self.source();
        let mark = source.byte(start);
        let width = match mark {
            b'#' => 1,
            b'/' | b'-' if source.byte(start + 1) == mark => 2,
            _ => return false,
        };
        let first = source.byte(start + width);
        let is_glued = first.is_ascii_alphanumeric() || first == b'_' || first >= 0x80;
        let next = source.skip_comments(end);
        let ends = matches!(source.byte(next), b',' | b'}' | b']') || source.key_follows(next);
        is_glued || mark == b'-' || self.in_object() && ends
    }
}

/// The end of a comment, an ellipsis or an unusual space that starts at `at`, and its rule.
fn foreign_trivia(source: SourceText<'_>, at: usize) -> Option<(usize, RuleRef)> {
    let rest = &source.bytes()[at..];
    match rest {
        [b'/', b'/', ..] | [b'#', ..] | [b'-', b'-', b' ', ..] => {
            Some((source.line_end(at), rules::COMMENT))
        }
        [b'/', b'*', ..] => Some((source.find_end("*/", at + 2), rules::COMMENT)),
        [b'<', b'!', b'-', b'-', ..] => Some((source.find_end("-->", at + 4), rules::COMMENT)),
        [b'.', b'.', b'.', ..] => {
            let dots = rest.iter().take_while(|b| **b == b'.').count();
            Some((at + dots, rules::ELLIPSIS))
        }
        [0x0b | 0x0c | 0..=8, ..] => Some((at + 1, rules::ODD_SPACE)),
        [0x80..=0xFF, ..] => {
            let c = source.as_str()[at..].chars().next()?;
            let end = at + c.len_utf8();
            match c {
                '…' => Some((end, rules::ELLIPSIS)),
                c if is_unusual_space(c) => Some((end, rules::ODD_SPACE)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_unusual_space(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{feff}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'
        )
}
