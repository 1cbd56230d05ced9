//! Words without quotes: literals of other languages, calls, keys, strings.

use super::parser::{Opener, Parser, ParserState, StepResult};
use super::rules::{self, RuleRef};
use super::strings::source;
use crate::parse::CutKind;
use crate::tree::Kind;

/// What a word means in JSON, and the rule that says so.
pub(super) fn literal(word: &str) -> Option<(Kind, bool, Option<RuleRef>)> {
    let python = Some(rules::PYTHON_LITERAL);
    Some(match word {
        "true" => (Kind::Boolean, true, None),
        "false" => (Kind::Boolean, false, None),
        "null" => (Kind::Null, false, None),
        "True" => (Kind::Boolean, true, python),
        "False" => (Kind::Boolean, false, python),
        "None" => (Kind::Null, false, python),
        "TRUE" => (Kind::Boolean, true, Some(rules::LITERAL_CASE)),
        "FALSE" => (Kind::Boolean, false, Some(rules::LITERAL_CASE)),
        "NULL" | "Null" | "NONE" => (Kind::Null, false, Some(rules::LITERAL_CASE)),
        "undefined" => (Kind::Null, false, Some(rules::UNDEFINED)),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A value that starts with a letter, or with anything that starts no other value.
    pub(super) fn word_value(&mut self) -> StepResult {
        let start = self.at;
        if matches!(self.peek(), Some(b'+' | b'.')) {
            return self.number_value();
        }
        if self.prefix() || self.opening_quote().is_some() {
            let raw = self.bytes[start..self.at]
                .iter()
                .any(|b| matches!(b, b'r' | b'R'));
            if raw {
                return self.raw_string(start);
            }
            return self.string_value();
        }
        if self.peek() == Some(b'/') {
            return Ok(self.regex());
        }
        let end = self.dotted_end(start);
        let word = &self.text[start..end];
        if let Some((kind, truth, rule)) = literal(word)
            && self.value_ends(end)
        {
            if let Some(rule) = rule {
                self.note(
                    rule,
                    start..end,
                    if kind == Kind::Null {
                        "null"
                    } else if truth {
                        "true"
                    } else {
                        "false"
                    },
                );
            }
            self.at = end;
            self.out.literal(kind, truth, start, end);
            if self.is_braceless() {
                self.cut_at_end();
            }
            self.last_string = None;
            return Ok(self.done());
        }
        if end == self.bytes.len()
            && end > start
            && !self.frames.is_empty()
            && let Some(whole) = ["true", "false", "null", "True", "False", "None"]
                .iter()
                .find(|w| w.starts_with(word))
            && let Some((kind, truth, _)) = literal(whole)
        {
            self.at = end;
            self.out.literal(kind, truth, start, end);
            self.last_string = None;
            self.cut_inside();
            return Ok(self.done());
        }
        if let Some(step) = self.call(start, end) {
            return step;
        }
        self.bare_value()
    }

    /// Does a value that ends here end there?
    fn value_ends(&self, end: usize) -> bool {
        let next = self.skip_space(end);
        match self.bytes.get(next) {
            None | Some(b',' | b'}' | b']' | b')' | b';' | b'#' | b'`' | b'<') => true,
            Some(b'/') => matches!(self.byte(next + 1), b'/' | b'*'),
            Some(b'-') if self.dashes(end, next) => true,
            Some(b'"' | b'\'') => next > end || self.key_follows(next),
            Some(0x80..) => true,
            Some(_) => {
                self.bytes[end..next].contains(&b'\n')
                    || self.key_follows(next)
                    || self.element_follows(end, next)
            }
        }
    }

    /// `[1 2]`, `[true false]`: does another element stand here?
    pub(super) fn element_follows(&self, end: usize, next: usize) -> bool {
        let word = self
            .text
            .get(next..self.dotted_end(next))
            .unwrap_or_default();
        let number = super::numbers::strict_end(self.bytes, next) == Some(next + word.len());
        next > end
            && self.out.in_object() == Some(false)
            && (literal(word).is_some() || (number && !word.is_empty()))
    }

    /// The end of `name`, `name.name`.
    fn dotted_end(&self, start: usize) -> usize {
        let rest = &self.bytes[start..];
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.');
        start + rest.iter().take_while(|b| part(b)).count()
    }

    /// `name(` or `new Name(`: opens a call.
    pub(super) fn call(&mut self, start: usize, end: usize) -> Option<StepResult> {
        let mut end = end;
        if &self.text[start..end] == "new" && self.byte(end) == b' ' {
            end = self.dotted_end(self.skip_space(end));
        }
        if end == start || self.byte(end) != b'(' || self.byte(start).is_ascii_digit() {
            return None;
        }
        let inside = self.skip_space(end + 1);
        if matches!(self.byte(inside), b')' | b',') && !self.frames.is_empty() {
            // What it would give is not known.
            return None;
        }
        let name = self.word_end(inside);
        let equals = self.skip_space(name);
        let named = name > inside
            && self.byte(equals) == b'='
            && self.byte(equals + 1) != b'='
            && !self.byte(inside).is_ascii_digit();
        let kind = if named { Kind::Object } else { Kind::Array };
        self.note(rules::CALL, start..end + 1, "");
        self.at = end;
        let step = self.open(Opener::Call, kind);
        if let Some(frame) = self.frames.last_mut() {
            frame.start = start;
        }
        Some(step)
    }

    /// Skips `f`, `r`, `b`, `u` before a quote.
    pub(super) fn prefix(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let letters = rest
            .iter()
            .take_while(|b| b"fFrRbBuU".contains(b))
            .take(2)
            .count();
        let text = !matches!(
            rest.get(letters + 1),
            None | Some(b'}' | b']' | b',' | b':')
        );
        if letters == 0 || !matches!(rest.get(letters), Some(b'"' | b'\'')) || !text {
            return false;
        }
        self.note(rules::STRING_PREFIX, self.at..self.at + letters, "");
        self.at += letters;
        true
    }

    fn raw_string(&mut self, start: usize) -> StepResult {
        let role = self.role();
        let (piece, end) = self.string(role, true);
        let id = self.out.next_id();
        self.out.string(piece, start, self.at);
        if end.cut {
            self.cut_inside();
        }
        let state = self.done();
        self.last_string = Some(id);
        Ok(state)
    }

    /// `/pattern/flags`, left as text.
    fn regex(&mut self) -> ParserState {
        let start = self.at;
        let mut at = start + 1;
        while !matches!(self.byte(at), b'/' | b'\n' | 0) {
            at += if self.byte(at) == b'\\' { 2 } else { 1 };
        }
        let end = match self.byte(at) {
            b'/' => self.word_end(at + 1),
            _ => self.bare_end(start).0.max(start + 1),
        };
        self.bare_string(start, end);
        self.done()
    }

    /// A string without quotes, or with only the closing one.
    pub(super) fn bare_value(&mut self) -> StepResult {
        let start = self.at;
        let (mut end, quoted) = self.bare_end(start);
        if end == start {
            // Nothing that could be a value: skip one character.
            let width = self.text[start..].chars().next().map_or(1, char::len_utf8);
            self.note(rules::STRAY_TEXT, start..start + width, "");
            self.at = start + width;
            return Ok(ParserState::Value);
        }
        let text = self.text[start..end].trim_end();
        end = start + text.len();
        if quoted {
            self.note(rules::MISSING_QUOTE, start..start, "\"");
            if self.byte(self.at - 1) == b'\'' {
                self.note(rules::OTHER_QUOTES, self.at - 1..self.at, "\"");
            }
            let piece = self.decode_bare(start, end);
            self.out.string(piece, start, self.at);
            self.cut_at_end();
            self.last_string = None;
            return Ok(self.done());
        }
        let rule = match text {
            "NaN" | "Infinity" | "-Infinity" => rules::NOT_A_NUMBER,
            text if is_arithmetic(text) => rules::ARITHMETIC,
            _ => rules::UNQUOTED_STRING,
        };
        self.note_quoted(rule, start, end);
        self.out.string(source(start, end), start, end);
        self.cut_at_end();
        self.last_string = None;
        Ok(self.done())
    }

    fn bare_string(&mut self, start: usize, end: usize) {
        self.note_quoted(rules::UNQUOTED_STRING, start, end);
        self.out.string(source(start, end), start, end);
        self.at = end;
        self.cut_at_end();
        self.last_string = None;
    }

    /// A word that nothing follows may have been longer.
    fn cut_at_end(&mut self) {
        if self.at == self.bytes.len() {
            if self.frames.is_empty() {
                self.because(rules::UNQUOTED_STRING, 0..self.at);
            }
            self.cut_inside();
        }
    }

    /// The end of a string without quotes, and whether a closing quote stands there; the parser
    /// moves behind it.
    fn bare_end(&mut self, start: usize) -> (usize, bool) {
        let in_object = self.out.in_object() == Some(true);
        let mut at = start;
        let mut depth = 0;
        let mut pair = 0;
        while let Some(byte) = self.bytes.get(at).copied() {
            match byte {
                b'\n' | b'\r' => break,
                b'(' | b'{' | b'[' => depth += 1,
                b')' | b'}' | b']' if depth > 0 => depth -= 1,
                b'\\' => at += 1,
                b')' if self.frames.last().is_some_and(|f| f.closer() == b')') => break,
                b'}' | b']' => break,
                b',' if depth > 0 => {}
                b',' if !in_object => break,
                b',' => {
                    let next = self.skip_space(at + 1);
                    if matches!(self.bytes.get(next), None | Some(b'}' | b']' | b'/' | b','))
                        || self.bytes[at..next].contains(&b'\n')
                        || self.key_follows(next)
                    {
                        break;
                    }
                }
                b';' if depth == 0 && self.key_follows(self.skip_space(at + 1)) => break,
                b';' if matches!(self.byte(at + 1), b'\n' | b'\r' | 0) => break,
                b'/' if at > start
                    && self.byte(at - 1) == b' '
                    && matches!(self.byte(at + 1), b'/' | b'*') =>
                {
                    break;
                }
                b'#' if at > start && self.byte(at - 1) == b' ' && self.byte(at + 1) == b' ' => {
                    break;
                }
                b'"' | b'\'' if at > start && byte == pair => pair = 0,
                b'"' | b'\'' if in_object && at > start && self.next_key(at) => break,
                b'"' | b'\'' if at > start => {
                    let next = self.skip_space(at + 1);
                    if matches!(self.bytes.get(next), None | Some(b',' | b'}' | b']'))
                        || self.comma_width(next) > 0
                        || next > at + 1 && self.key_follows(next)
                    {
                        self.at = at + 1;
                        return (at, true);
                    }
                    // `say "hi"`: the first of two inside. An apostrophe has no second.
                    if pair == 0 && !self.bytes[at - 1].is_ascii_alphanumeric() {
                        pair = byte;
                    }
                }
                0xEF if self.text[at..].starts_with(['，', '｝', '］']) => break,
                _ => {}
            }
            at += 1;
        }
        at = at.min(self.bytes.len());
        self.at = at;
        (at, false)
    }

    /// `value "key":`: does the next key stand here, after a space?
    fn next_key(&self, at: usize) -> bool {
        matches!(self.bytes[at - 1], b' ' | b'\t') && self.key_follows(at)
    }

    /// A key without quotes, or with only the closing one.
    pub(super) fn bare_key(&mut self) -> StepResult {
        let start = self.at;
        let mut at = start;
        // What no name starts with is stray.
        let odd = |b: u8| b.is_ascii_punctuation() && !b"_$@.-<&\\".contains(&b);
        while let Some(byte) = self.bytes.get(at).copied() {
            match byte {
                _ if at == start && odd(byte) => break,
                b':' | b'=' | b',' | b'}' | b']' | b'{' | b'[' | b'\n' | b'"' | b'\'' | b')' => {
                    break;
                }
                0xEF if self.text[at..].starts_with(['：', '，', '｝', '］', '＝']) => break,
                _ => at += 1,
            }
        }
        let end = start + self.text[start..at].trim_end().len();
        if at == self.bytes.len() {
            self.at = at;
            self.cut_inside();
            return Ok(self.end(CutKind::Inside));
        }
        if end == start {
            let width = self.text[start..].chars().next().map_or(1, char::len_utf8);
            self.note(rules::STRAY_TEXT, start..start + width, "");
            self.at = start + width;
            return Ok(ParserState::Key);
        }
        self.at = at;
        if let Some(space) = self.text[start..end].find(' ')
            && matches!(
                self.byte(self.skip_space(at)),
                b',' | b'}' | b'"' | b'{' | b'[' | b'\n'
            )
        {
            let end = start + space;
            self.note_quoted(rules::UNQUOTED_KEY, start, end);
            self.at = end;
            self.add_key(source(start, end), start, end);
            return self.colon();
        }
        if matches!(self.peek(), Some(b'"' | b'\'')) {
            self.at += 1;
            self.note(rules::MISSING_QUOTE, start..start, "\"");
        } else {
            self.note_quoted(rules::UNQUOTED_KEY, start, end);
        }
        self.add_key(source(start, end), start, self.at);
        self.colon()
    }
}

/// `5 * 3`: numbers and operators, which nobody evaluates here.
fn is_arithmetic(text: &str) -> bool {
    let operator = |b: u8| matches!(b, b'+' | b'*' | b'/' | b'-' | b'%');
    let allowed =
        |b: u8| b.is_ascii_digit() || operator(b) || matches!(b, b'.' | b' ' | b'(' | b')');
    text.bytes().all(allowed)
        && text
            .bytes()
            .skip(1)
            .any(|b| matches!(b, b'+' | b'*' | b'/' | b'%'))
}
