//! Numbers that JSON writes differently, and text that only starts like one.

use super::parser::{Parser, StepResult};
use super::rules::{self, RuleRef};
use super::strings::source;
use crate::tree::{Kind, ScalarText, TextStore};

impl Parser<'_> {
    /// A value that starts with a digit or a sign.
    #[inline]
    pub(super) fn number_value(&mut self) -> StepResult {
        let start = self.at;
        let end = strict_end(self.bytes, start);
        if let Some(end) = end
            && matches!(self.byte(end), b',' | b'}' | b']' | b'\n' | b'\r')
        {
            if self.byte(end) == b',' && self.groups(start, end) {
                return self.odd_number(start);
            }
            self.at = end;
            self.out.number(source(start, end), start, end);
            self.last_string = None;
            return Ok(self.done());
        }
        self.odd_number(start)
    }

    /// `1,000` in an object, where a number cannot be a key.
    fn groups(&self, start: usize, comma: usize) -> bool {
        let rest = &self.bytes[comma + 1..];
        let three = rest.len() >= 3 && rest[..3].iter().all(u8::is_ascii_digit);
        three
            && comma - start <= 3
            && self.out.in_object() == Some(true)
            && !rest
                .get(3)
                .is_some_and(|b| b.is_ascii_digit() || *b == b':')
    }

    fn odd_number(&mut self, start: usize) -> StepResult {
        let mut end = self.number_token(start);
        if self.byte(end) == b',' && self.groups(start, end) {
            while self.byte(end) == b','
                && self.bytes[end + 1..].iter().take(3).all(u8::is_ascii_digit)
            {
                end += 4;
            }
            end = self.number_token(end.min(self.bytes.len()));
        }
        let token = &self.text[start..end];
        let next = self.skip_space(end);
        let ends = match self.bytes.get(next) {
            None | Some(b',' | b'}' | b']' | b')' | b';' | b'#' | b'`') => true,
            Some(b'/') if self.byte(next + 1) == b'/' => !self.is_operand(next + 2),
            Some(b'/') => self.byte(next + 1) == b'*',
            Some(b'-') if self.dashes(end, next) => !self.is_operand(next + 2),
            Some(b':') => false,
            Some(0x80..) => self.wide_at(next),
            Some(b'"' | b'\'') => next > end || self.key_follows(next),
            Some(b'{' | b'[') => true,
            Some(b'\\') => next > end,
            Some(b'<') => true,
            Some(_) => {
                self.bytes[end..next].contains(&b'\n')
                    || self.key_follows(next) && next > end
                    || self.element_follows(end, next)
            }
        };
        let at_end = end == self.bytes.len();
        let read = if ends { normalise(token, at_end) } else { None };
        let Some((digits, rule)) = read.filter(|(digits, _)| at_end || !digits.is_empty()) else {
            return self.bare_value();
        };
        self.at = end;
        let piece = if digits == token {
            source(start, end)
        } else {
            let rule = if at_end { None } else { rule };
            if let Some(rule) = rule {
                self.note(rule, start..end, &digits);
            }
            let head = self.out.buffer.len() as u32;
            self.out.buffer.push_str(&digits);
            ScalarText {
                text: TextStore::Buffer,
                head,
                size: digits.len() as u32,
            }
        };
        if digits.is_empty() {
            self.at = self.bytes.len();
            self.cut_inside();
            return Ok(self.end(crate::parse::CutKind::Inside));
        }
        self.out.number(piece, start, end);
        self.last_string = None;
        if at_end {
            self.cut_inside();
        }
        Ok(self.done())
    }

    /// `7 // 2`: does a number alone stand here? Then what is before it is rather an operator than
    /// the start of a comment.
    fn is_operand(&self, at: usize) -> bool {
        let blank = |at: usize| {
            let rest = self.bytes.get(at..).unwrap_or_default();
            at + rest
                .iter()
                .take_while(|b| matches!(b, b' ' | b'\t'))
                .count()
        };
        let start = blank(at);
        let end = self.number_token(start.min(self.bytes.len()));
        let ends = matches!(
            self.byte(blank(end)),
            b',' | b'}' | b']' | b'\n' | b'\r' | 0
        );
        end > start && ends
    }

    fn wide_at(&self, at: usize) -> bool {
        self.text[at..].starts_with(['，', '｝', '］', '）', '\u{a0}', '\u{3000}'])
    }

    fn number_token(&self, start: usize) -> usize {
        let rest = &self.bytes[start..];
        start + rest.iter().take_while(|b| is_part(**b)).count()
    }

    /// The key that was read last turns out to be an element: `{1, true, "a"}`.
    pub(super) fn retype_key(&mut self) {
        let Some(id) = self.frames.last().and_then(|frame| frame.key) else {
            return;
        };
        let Some(slot) = self.out.slot(id).copied() else {
            return;
        };
        let quoted = !self.byte(slot.start as usize).is_ascii_alphanumeric();
        let text = self.out.text(&slot, self.text);
        if !quoted && is_number(text) {
            let piece = ScalarText {
                text: slot.text,
                head: slot.head,
                size: slot.size,
            };
            self.out.retext(id, Kind::Number, piece, slot.end as usize);
        }
    }
}

/// May this byte stand in a number of any notation?
pub(in crate::parse) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

/// Is this a number as JSON writes it?
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

/// The JSON digits of a number in another notation, and the rule that says so; empty digits for
/// what is only the start of a number. An exponent without digits is no number, unless the text
/// ends there: then it was cut off.
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
    // `1_000`, as programs write it; with any other underscore it is no number.
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
    if body == "Infinity" || body == "inf" {
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
        // Without any digit there is no number, at the end of the text not yet.
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
