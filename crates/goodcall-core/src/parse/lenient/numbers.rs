//! Numbers that JSON writes differently, and text that only starts like one.

use super::parser::{Parser, StepResult};
use super::rules::{self, RuleRef};
use super::source_text::SourceText;
use super::strings::in_source;
use crate::parse::CutKind;
use crate::tree::Kind;

impl Parser<'_> {
    /// Reads a value that starts with a digit or a sign.
    #[inline]
    pub(super) fn number_value(&mut self) -> StepResult {
        let (source, start) = (self.source(), self.at());
        if let Some(end) = strict_end(source.bytes(), start)
            && let b',' | b'}' | b']' | b'\n' | b'\r' = source.byte(end)
            && !self.is_digit_group(start, end)
        {
            self.move_to(end);
            self.tree_mut()
                .scalar(Kind::Number, false, in_source(start, end), (start, end));
            self.forget_last_string();
            return Ok(self.end_scalar());
        }
        self.foreign_number(start)
    }

    /// Returns true for the comma of `1,000` in an object, where a number cannot be a key.
    fn is_digit_group(&self, start: usize, comma: usize) -> bool {
        if self.source().byte(comma) != b',' || comma - start > 3 || !self.in_object() {
            return false;
        }
        let rest = &self.source().bytes()[comma + 1..];
        let three = rest.len() >= 3 && rest[..3].iter().all(u8::is_ascii_digit);
        three
            && !rest
                .get(3)
                .is_some_and(|b| b.is_ascii_digit() || *b == b':')
    }

    /// Reads a number that JSON writes differently; a string without quotes if it is not a number.
    fn foreign_number(&mut self, start: usize) -> StepResult {
        let source = self.source();
        let end = self.foreign_number_end(start);
        let at_end = end == source.len();
        let token = &source.as_str()[start..end];
        let read = if self.number_ends(end) {
            normalise(token, at_end)
        } else {
            None
        };
        let Some((digits, rule)) = read.filter(|(digits, _)| at_end || !digits.is_empty()) else {
            if self.is_before_operator(end) {
                // `7 // 2`: a quotient, or a number and a comment.
                self.note_ambiguous(rules::COMMENT, end..end + 1);
            }
            return self.bare_value();
        };
        if digits.is_empty() {
            self.move_to(source.len());
            self.note_cut_inside();
            return Ok(self.end_of_text(CutKind::Inside));
        }
        self.move_to(end);
        let text = if digits == token {
            in_source(start, end)
        } else {
            if let Some(rule) = rule
                && !at_end
            {
                self.note(rule, start..end, &digits);
            }
            let (text, ()) = self
                .tree_mut()
                .append_text(|buffer| buffer.push_str(&digits));
            text
        };
        self.tree_mut()
            .scalar(Kind::Number, false, text, (start, end));
        self.forget_last_string();
        if at_end {
            self.note_cut_inside();
        }
        Ok(self.end_scalar())
    }

    /// The end of a number in any notation, groups of digits included.
    fn foreign_number_end(&self, start: usize) -> usize {
        let source = self.source();
        let mut end = token_end(source, start);
        if !self.is_digit_group(start, end) {
            return end;
        }
        while source.byte(end) == b','
            && source.bytes()[end + 1..]
                .iter()
                .take(3)
                .all(u8::is_ascii_digit)
        {
            end += 4;
        }
        token_end(source, end.min(source.len()))
    }

    /// Returns true if what follows `end` fits a number that ended there.
    fn number_ends(&self, end: usize) -> bool {
        let source = self.source();
        let next = source.skip_space(end);
        match source.bytes().get(next) {
            None | Some(b',' | b'}' | b']' | b')' | b';' | b'#' | b'`') => true,
            Some(b'{' | b'[' | b'<') => true,
            Some(b'/') if source.byte(next + 1) == b'/' => !self.is_before_operator(end),
            Some(b'/') => source.byte(next + 1) == b'*',
            Some(b'-') if source.is_dash_comment(end, next) => !self.is_before_operator(end),
            Some(b':') => false,
            Some(0x80..) => {
                let after = &source.as_str()[next..];
                after.starts_with(['，', '｝', '］', '）', '\u{a0}', '\u{3000}'])
            }
            Some(b'"' | b'\'') => next > end || source.key_follows(next),
            Some(b'\\') => next > end || source.after_written_space(end).is_some(),
            Some(_) => {
                source.has_newline(end, next)
                    || source.key_follows(next) && next > end
                    || self.element_follows(end, next)
            }
        }
    }

    /// Returns true for what follows the 7 of `7 // 2`: an operator with a number rather than a
    /// comment.
    fn is_before_operator(&self, end: usize) -> bool {
        let source = self.source();
        let next = source.skip_space(end);
        let mark = source.bytes_from(next);
        (mark.starts_with(b"//") || mark.starts_with(b"--")) && is_operand(source, next + 2)
    }

    /// Turns the key that was read last into an element: `{1, true, "a"}`.
    pub(super) fn retype_key(&mut self) {
        let Some(id) = self.innermost().and_then(|container| container.key) else {
            return;
        };
        let Some(slot) = self.tree().slot(id).copied() else {
            return;
        };
        let is_bare = self
            .source()
            .byte(slot.start as usize)
            .is_ascii_alphanumeric();
        let text = self.tree().text(&slot, self.source().as_str());
        if is_bare && is_number(text) {
            let end = slot.end as usize;
            self.tree_mut()
                .replace_scalar(id, Kind::Number, slot.scalar_text(), end);
        }
    }
}

/// Returns true if a number alone stands here, up to the end of the line or of the value.
fn is_operand(source: SourceText<'_>, at: usize) -> bool {
    let skip_blanks = |at: usize| {
        let rest = source.bytes_from(at).iter();
        at + rest.take_while(|b| matches!(b, b' ' | b'\t')).count()
    };
    let start = skip_blanks(at);
    let end = token_end(source, start.min(source.len()));
    let follows = source.byte(skip_blanks(end));
    let is_number = source.as_str().get(start..end).is_some_and(is_number);
    is_number && matches!(follows, b',' | b'}' | b']' | b'\n' | b'\r' | 0)
}

/// The end of the bytes from `start` on that may be part of a number.
fn token_end(source: SourceText<'_>, start: usize) -> usize {
    let rest = source.bytes()[start..].iter();
    start + rest.take_while(|b| is_part(**b)).count()
}

/// Returns true if a number of some notation may hold this byte.
pub(in crate::parse) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

/// Returns true if this is a number as JSON writes it.
pub(in crate::parse) fn is_number(token: &str) -> bool {
    !token.is_empty() && strict_end(token.as_bytes(), 0) == Some(token.len())
}

/// The end of the JSON number that starts here.
#[inline]
pub(in crate::parse) fn strict_end(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let whole = start + usize::from(bytes.get(start) == Some(&b'-'));
    let mut at = digits(whole);
    if at == whole || (bytes[whole] == b'0' && at > whole + 1) {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == at + 1 {
            return None;
        }
        at = fraction;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(sign);
        if exponent == sign {
            return None;
        }
        at = exponent;
    }
    Some(at)
}

/// The JSON digits of a number in another notation, and the rule that reads it. The digits are
/// empty if the token is only the start of a number. An exponent without digits is accepted only
/// at the end of the text, where it may have been cut off.
pub(super) fn normalise(token: &str, at_end: bool) -> Option<(String, Option<RuleRef>)> {
    if is_number(token) {
        return Some((token.to_owned(), None));
    }
    let (sign, body) = match token.as_bytes().first()? {
        b'-' => ("-", &token[1..]),
        b'+' => ("", &token[1..]),
        _ => ("", token),
    };
    if body.is_empty() {
        return Some((String::new(), None));
    }
    // `1_000`, as programs write it; any other underscore makes it text.
    let joins = |part: fn(&u8) -> bool| {
        let bytes = body.as_bytes();
        let mut places = (0..bytes.len()).filter(|at| bytes[*at] == b'_');
        places.all(|at| at > 0 && part(&bytes[at - 1]) && bytes.get(at + 1).is_some_and(part))
    };
    for (prefixes, radix) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        if let Some(digits) = prefixes.iter().find_map(|prefix| body.strip_prefix(prefix)) {
            let value = u128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
            let joined = joins(u8::is_ascii_alphanumeric);
            return joined.then_some((format!("{sign}{value}"), Some(rules::RADIX)));
        }
    }
    if body == "Infinity" || body == "inf" || body.starts_with('-') {
        return None;
    }
    let grouped = body.contains(',');
    let mut digits = body.replace(['_', ','], "");
    let mut rule = if grouped {
        rules::GROUPED_DIGITS
    } else {
        rules::NUMBER_FORM
    };
    if !joins(u8::is_ascii_digit) {
        return None;
    }
    if let Some(bare) = digits.strip_suffix(['n', 'L', 'l']) {
        digits = bare.to_owned();
    }
    if let Some(fraction) = digits.strip_prefix('.') {
        // A dot without digits is at best the start of a number.
        if !fraction.starts_with(|c: char| c.is_ascii_digit()) {
            return Some((String::new(), None));
        }
        digits.insert(0, '0');
    }
    let zeros = digits.bytes().take_while(|b| *b == b'0').count();
    if zeros > 0 && digits.as_bytes().get(zeros).is_some_and(u8::is_ascii_digit) {
        digits.drain(..zeros);
        rule = rules::LEADING_ZERO;
    } else if zeros > 1 {
        digits.drain(..zeros - 1);
        rule = rules::LEADING_ZERO;
    }
    if let Some(dot) = digits.find('.') {
        let after = digits.as_bytes().get(dot + 1);
        if matches!(after, None | Some(b'e' | b'E')) {
            digits.remove(dot);
        }
    }
    let unfinished = digits.trim_end_matches(['+', '-']);
    if let Some(bare) = unfinished.strip_suffix(['e', 'E'])
        && bare.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    {
        if !at_end {
            return None;
        }
        digits = bare.to_owned();
    }
    let number = format!("{sign}{digits}");
    is_number(&number).then_some((number, Some(rule)))
}
