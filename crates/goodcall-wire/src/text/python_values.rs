//! Translates Python values, as models write them, to JSON.

use std::ops::Range;

use goodcall_core::{Change, Level, RuleId};

use super::arithmetic;
use super::object_writer::push_string;
use super::python_ranges;
use super::raw_members::skip_blanks;

/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;

/// Why a value cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PythonError {
    /// The text ends inside the value.
    Cut,
    /// The text is not a value by itself; this is expected instead.
    Expected(&'static str),
}

/// Whether words without quotes are read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BareWords {
    /// They are text, up to the next argument.
    Text,
    /// They are text inside a list; elsewhere they may be a variable.
    TextInLists,
    Refused,
}

/// A reader of Python values over one text.
pub(crate) struct PythonReader<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    /// The text escapes for Markdown: `\_` is `_`.
    pub(crate) markdown: bool,
    /// Arithmetic is evaluated. Not where text is expected: `2019-12-13`.
    pub(crate) evaluates: bool,
    words: BareWords,
    changes: Vec<Change>,
}

/// Whether a value may be the first operand of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Number,
    Other,
}

impl<'t> PythonReader<'t> {
    pub(crate) fn new(text: &'t str, at: usize) -> Self {
        Self {
            text,
            at,
            markdown: false,
            evaluates: true,
            words: BareWords::Refused,
            changes: Vec::new(),
        }
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(crate) fn skip_blanks_and_comments(&mut self) {
        loop {
            self.at = skip_blanks(self.text.as_bytes(), self.at);
            // A comment up to the end of its line, or a line joined by a backslash.
            match self.byte() {
                Some(b'#') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                Some(b'\\') if self.text[self.at..].starts_with("\\\n") => self.at += 2,
                _ => return,
            }
        }
    }

    /// Takes this byte, if it is next.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Reads a name, with `\_` as `_`.
    pub(crate) fn identifier(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let size = identifier_size(rest);
        if size == 0 {
            return None;
        }
        self.at += size;
        let name = &rest[..size];
        if name.contains('\\') {
            self.markdown = true;
        }
        Some(name.replace("\\_", "_"))
    }

    /// Reads the value at the cursor, and appends it to `out` as JSON.
    pub(crate) fn value(&mut self, out: &mut String, words: BareWords) -> Result<(), PythonError> {
        self.words = words;
        self.nested(out, 0)
    }

    fn nested(&mut self, out: &mut String, depth: usize) -> Result<(), PythonError> {
        if depth > MAX_DEPTH {
            return Err(PythonError::Expected("fewer nested values"));
        }
        self.skip_blanks_and_comments();
        let (start, from) = (self.at, out.len());
        let read = self.operand(out, depth);
        self.skip_blanks_and_comments();
        let ended = match self.byte() {
            Some(b',' | b')' | b']' | b'}') => true,
            Some(b':') => depth > 0,
            None => true,
            Some(_) => false,
        };
        match read {
            Ok(ValueKind::Number) if !ended && self.evaluates => {
                if let Some((value, size)) = arithmetic::evaluate(&self.text[start..]) {
                    self.at = start + size;
                    out.truncate(from);
                    let sent = &self.text[start..self.at];
                    self.record(RuleId::PythonSum, sent, &value);
                    out.push_str(&value);
                    return Ok(());
                }
            }
            Ok(_) if ended => return Ok(()),
            Err(PythonError::Cut) => return Err(PythonError::Cut),
            _ => {}
        }
        let refused = match self.words {
            BareWords::Text => false,
            BareWords::TextInLists => depth == 0,
            BareWords::Refused => true,
        };
        if refused {
            return Err(read.err().unwrap_or(PythonError::Expected("a value")));
        }
        out.truncate(from);
        self.at = start;
        self.bare_words(out, read.err(), depth > 0)
    }

    fn operand(&mut self, out: &mut String, depth: usize) -> Result<ValueKind, PythonError> {
        let byte = self.byte().ok_or(PythonError::Cut)?;
        match byte {
            b'"' | b'\'' | b'\\' => self.strings(out).map(|()| ValueKind::Other),
            b'[' if self.written_out(self.at, python_ranges::comprehension, out) => {
                Ok(ValueKind::Other)
            }
            b'[' => self.list(b']', out, depth).map(|_| ValueKind::Other),
            b'(' => self.tuple(out, depth),
            b'{' => self.dict(out, depth).map(|()| ValueKind::Other),
            b'0'..=b'9' | b'-' | b'+' | b'.' => self.number(out).map(|()| ValueKind::Number),
            b'<' => Err(PythonError::Expected("a value in place of the placeholder")),
            _ => self.word(out, depth),
        }
    }

    /// Reads `True`, `None`, a string with a prefix, or `dict(a=1)`.
    fn word(&mut self, out: &mut String, depth: usize) -> Result<ValueKind, PythonError> {
        let start = self.at;
        let name = self.identifier().ok_or(PythonError::Expected("a value"))?;
        let json = match name.as_str() {
            "True" | "true" | "TRUE" => Some("true"),
            "False" | "false" | "FALSE" => Some("false"),
            "None" | "null" | "NULL" | "nil" | "undefined" => Some("null"),
            _ => None,
        };
        if let Some(json) = json {
            out.push_str(json);
            return Ok(ValueKind::Other);
        }
        match self.byte() {
            Some(b'"' | b'\'') if is_prefix(&name) => {
                let raw = name.contains(['r', 'R']);
                let template = name.contains(['f', 'F']);
                let from = out.len();
                self.string(out, raw)?;
                if template && out[from..].contains('{') {
                    return Err(PythonError::Expected("the text itself, not a template"));
                }
                Ok(ValueKind::Other)
            }
            Some(b'(') if name == "dict" => {
                self.at += 1;
                self.keywords(out, depth)?;
                Ok(ValueKind::Other)
            }
            Some(b'(')
                if matches!(
                    name.as_str(),
                    "list" | "tuple" | "set" | "str" | "int" | "float"
                ) =>
            {
                self.tuple(out, depth)
            }
            Some(b'(') if name == "range" && self.written_out(start, python_ranges::range, out) => {
                Ok(ValueKind::Other)
            }
            Some(b'(') => Err(PythonError::Expected("a value, not another call")),
            _ => {
                self.at = start;
                Err(PythonError::Expected("a value"))
            }
        }
    }

    /// Appends the elements of the range at the cursor, where a list of numbers may be expected, and
    /// returns true if there is one. Its text began at `start`.
    fn written_out(
        &mut self,
        start: usize,
        read: fn(&str) -> Option<(String, usize)>,
        out: &mut String,
    ) -> bool {
        let written = read(&self.text[self.at..]).filter(|_| self.evaluates);
        let Some((json, size)) = written else {
            return false;
        };
        self.at += size;
        let sent = &self.text[start..self.at];
        self.record(RuleId::PythonRange, sent, &json);
        out.push_str(&json);
        true
    }

    /// Reads `a=1, b=2)` as an object.
    fn keywords(&mut self, out: &mut String, depth: usize) -> Result<(), PythonError> {
        out.push('{');
        let mut first = true;
        loop {
            self.skip_blanks_and_comments();
            if self.eat(b')') {
                out.push('}');
                return Ok(());
            }
            if self.byte().is_none() {
                return Err(PythonError::Cut);
            }
            if !first && !self.eat(b',') {
                return Err(PythonError::Expected("a comma"));
            }
            self.skip_blanks_and_comments();
            if self.byte() == Some(b')') {
                continue;
            }
            let key = self.identifier().ok_or(PythonError::Expected("a name"))?;
            self.skip_blanks_and_comments();
            if !self.eat(b'=') {
                return Err(PythonError::Expected("="));
            }
            comma(out, &mut first);
            push_string(&key, out);
            out.push(':');
            self.nested(out, depth + 1)?;
        }
    }

    /// Reads the elements up to `end` as a list, and returns how many there are.
    fn list(&mut self, end: u8, out: &mut String, depth: usize) -> Result<usize, PythonError> {
        self.at += 1;
        out.push('[');
        let mut count = 0;
        loop {
            self.skip_blanks_and_comments();
            if self.eat(end) {
                out.push(']');
                return Ok(count);
            }
            match self.byte() {
                None => return Err(PythonError::Cut),
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            if count > 0 {
                out.push(',');
            }
            self.nested(out, depth + 1)?;
            self.skip_blanks_and_comments();
            if !matches!(self.byte(), Some(b',') | None) && self.byte() != Some(end) {
                return Err(PythonError::Expected("a comma"));
            }
            count += 1;
        }
    }

    /// Reads `(a, b)` as a list, and `(a)` as `a`.
    fn tuple(&mut self, out: &mut String, depth: usize) -> Result<ValueKind, PythonError> {
        let (from, start) = (out.len(), self.at);
        let count = self.list(b')', out, depth)?;
        let inner = &self.text[start..self.at];
        let comma = inner.trim_end_matches(')').trim_end().ends_with(',');
        if count != 1 || comma {
            return Ok(ValueKind::Other);
        }
        out.pop();
        out.remove(from);
        Ok(match out.as_bytes().get(from) {
            Some(b'0'..=b'9' | b'-') => ValueKind::Number,
            _ => ValueKind::Other,
        })
    }

    /// Reads a dictionary, or a set as a list.
    fn dict(&mut self, out: &mut String, depth: usize) -> Result<(), PythonError> {
        let (from, start) = (out.len(), self.at);
        self.at += 1;
        out.push('{');
        let mut first = true;
        loop {
            self.skip_blanks_and_comments();
            match self.byte() {
                None => return Err(PythonError::Cut),
                Some(b'}') => {
                    self.at += 1;
                    out.push('}');
                    return Ok(());
                }
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let mut key = String::new();
            match self.byte() {
                Some(b'"' | b'\'' | b'\\') => self.strings(&mut key)?,
                Some(b'0'..=b'9' | b'-') => {
                    let mut digits = String::new();
                    self.number(&mut digits)?;
                    push_string(&digits, &mut key);
                }
                _ => {
                    let name = self.identifier().ok_or(PythonError::Expected("a key"))?;
                    push_string(&name, &mut key);
                }
            }
            self.skip_blanks_and_comments();
            if !matches!(self.byte(), Some(b':' | b'=')) {
                if !first {
                    return Err(PythonError::Expected("a colon"));
                }
                // A set.
                out.truncate(from);
                self.at = start;
                return self.list(b'}', out, depth).map(|_| ());
            }
            self.at += 1;
            comma(out, &mut first);
            out.push_str(&key);
            out.push(':');
            self.nested(out, depth + 1)?;
        }
    }

    /// Reads one string, or several in a row, which Python joins.
    fn strings(&mut self, out: &mut String) -> Result<(), PythonError> {
        self.string(out, false)?;
        loop {
            let behind = self.at;
            self.skip_blanks_and_comments();
            let Some(quote @ (b'"' | b'\'')) = self.byte() else {
                self.at = behind;
                return Ok(());
            };
            // SQL writes a quote inside a text so; to Python, it is two texts without the quote.
            if self.at == behind && self.text.as_bytes()[..behind].ends_with(&[quote]) {
                return Err(PythonError::Expected(
                    "a backslash before the quote in the text",
                ));
            }
            let closing = out.pop();
            let mut next = String::new();
            if self.string(&mut next, false).is_err() {
                self.at = behind;
                out.extend(closing);
                return Ok(());
            }
            out.push_str(&next[1..]);
        }
    }

    /// Records that `sent` was read as `read`.
    pub(crate) fn record(&mut self, rule: RuleId, sent: &str, read: &str) {
        let change = Change::text(rule, Level::Safe, sent, read, 0..0);
        self.changes.push(change);
    }

    /// The changes that reading took, which cover `span`.
    pub(crate) fn changes(mut self, span: &Range<usize>) -> Vec<Change> {
        for change in &mut self.changes {
            change.span = span.clone();
        }
        self.changes
    }

    /// Reads text without quotes, up to the next argument or the next element of a list.
    fn bare_words(
        &mut self,
        out: &mut String,
        error: Option<PythonError>,
        is_element: bool,
    ) -> Result<(), PythonError> {
        let rest = &self.text[self.at..];
        let size = if is_element {
            rest.find([',', ')', ']', '}', '\n']).unwrap_or(rest.len())
        } else {
            words_size(rest)
        };
        let text = rest[..size].trim();
        let placeholder = text.contains(['(', '{', '[', '<', '"', '=']) || text.is_empty();
        let placeholder = placeholder || holds_quote(text);
        if placeholder || size == rest.len() {
            return Err(error.unwrap_or(PythonError::Expected("a value")));
        }
        self.at += size;
        let from = out.len();
        if self.markdown {
            push_string(&text.replace("\\_", "_"), out);
        } else {
            push_string(text, out);
        }
        self.record(RuleId::BareWords, text, &out[from..]);
        Ok(())
    }
}

/// Returns true if words hold a single quote that is not the apostrophe of a word like `it's`.
fn holds_quote(words: &str) -> bool {
    let is_letter =
        |byte: Option<&u8>| byte.is_some_and(|byte| !byte.is_ascii() || byte.is_ascii_alphabetic());
    let bytes = words.as_bytes();
    let mut quotes = words.match_indices('\'').map(|(at, _)| at);
    quotes.any(|at| at == 0 || !is_letter(bytes.get(at - 1)) || !is_letter(bytes.get(at + 1)))
}

/// The size of words without quotes: up to a closing bracket, or to a comma before the next
/// argument.
fn words_size(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b')' | b']' | b'}' | b'\n' => return at,
            b',' => {
                let next = skip_blanks(bytes, at + 1);
                let name = identifier_size(&rest[next..]);
                let after = skip_blanks(bytes, next + name);
                let argument = name > 0 && matches!(bytes.get(after), Some(b'='));
                let element = matches!(bytes.get(next), Some(b'"' | b'\'' | b'[' | b'{'));
                if argument || element || next == bytes.len() {
                    return at;
                }
            }
            _ => {}
        }
    }
    rest.len()
}

/// Returns true for the prefix of a string, as in `r"…"`.
fn is_prefix(name: &str) -> bool {
    name.len() <= 2 && name.chars().all(|c| "rRbBuUfF".contains(c))
}

fn comma(out: &mut String, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

/// The size of the name at the start of `text`, which may hold `\_`.
pub(crate) fn identifier_size(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\\' if bytes.get(at + 1) == Some(&b'_') => at += 2,
            '_' => at += 1,
            c if c.is_alphabetic() || (at > 0 && c.is_numeric()) => at += c.len_utf8(),
            _ => break,
        }
    }
    at
}
