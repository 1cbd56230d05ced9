//! Python values as models write them, translated to JSON.

use super::raw_members::blank;
use crate::text::arithmetic;

/// Nesting of values.
const MOST_DEPTH: usize = 64;

/// Why a value cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The text ends inside the value.
    Cut,
    /// What stands there has no value by itself; what is wanted instead.
    NoValue(&'static str),
}

/// What a bare word may be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Text, up to the next argument.
    Text,
    /// Text inside a list; alone they may be a variable.
    Elements,
    /// Nothing.
    Refuse,
}

/// A reader of Python values over one text.
pub(crate) struct Python<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    /// Was `\_` written for `_`, as in Markdown?
    pub(crate) markdown: bool,
    /// May a sum stand for its value? Not where text is wanted: `2019-12-13`.
    pub(crate) sums: bool,
    /// Rules that were needed, with what was read and as what.
    pub(crate) notes: Vec<(&'static str, String, String)>,
}

/// What a value turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Text,
    Number,
    Other,
}

impl<'t> Python<'t> {
    pub(crate) fn new(text: &'t str, at: usize) -> Self {
        Self {
            text,
            at,
            markdown: false,
            sums: true,
            notes: Vec::new(),
        }
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(crate) fn skip_blank(&mut self) {
        loop {
            self.at = blank(self.text.as_bytes(), self.at);
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

    /// A name, with `\_` read as `_`.
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

    /// Writes the value at this place, and stands behind it then.
    pub(crate) fn value(&mut self, out: &mut String, words: Words) -> Result<(), Trouble> {
        self.nested(out, words, 0)
    }

    fn nested(&mut self, out: &mut String, words: Words, depth: usize) -> Result<(), Trouble> {
        if depth > MOST_DEPTH {
            return Err(Trouble::NoValue("fewer nested values"));
        }
        self.skip_blank();
        let (start, from) = (self.at, out.len());
        let read = self.operand(out, words, depth);
        self.skip_blank();
        let ended = match self.byte() {
            Some(b',' | b')' | b']' | b'}') => true,
            Some(b':') => depth > 0,
            None => true,
            Some(_) => false,
        };
        match read {
            Ok(Shape::Number) if !ended && self.sums => {
                if let Some((value, size)) = arithmetic::evaluate(&self.text[start..]) {
                    self.at = start + size;
                    out.truncate(from);
                    let sent = &self.text[start..self.at];
                    self.note("python-sum", sent, &value);
                    out.push_str(&value);
                    return Ok(());
                }
            }
            Ok(_) if ended => return Ok(()),
            Err(Trouble::Cut) => return Err(Trouble::Cut),
            _ => {}
        }
        let refused = words == Words::Refuse || (words == Words::Elements && depth == 0);
        if refused {
            return Err(read.err().unwrap_or(Trouble::NoValue("a value")));
        }
        out.truncate(from);
        self.at = start;
        self.words(out, read.err(), depth > 0)
    }

    fn operand(&mut self, out: &mut String, words: Words, depth: usize) -> Result<Shape, Trouble> {
        let byte = self.byte().ok_or(Trouble::Cut)?;
        match byte {
            b'"' | b'\'' | b'\\' => self.strings(out).map(|()| Shape::Text),
            b'[' => self.list(b']', out, words, depth).map(|_| Shape::Other),
            b'(' => self.tuple(out, words, depth),
            b'{' => self.dict(out, words, depth).map(|()| Shape::Other),
            b'0'..=b'9' | b'-' | b'+' | b'.' => self.number(out).map(|()| Shape::Number),
            b'<' => Err(Trouble::NoValue("a value in place of the placeholder")),
            _ => self.word(out, words, depth),
        }
    }

    /// `True`, `None`, a string with a prefix, `dict(a=1)`; else no value by itself.
    fn word(&mut self, out: &mut String, words: Words, depth: usize) -> Result<Shape, Trouble> {
        let start = self.at;
        let name = self.identifier().ok_or(Trouble::NoValue("a value"))?;
        let json = match name.as_str() {
            "True" | "true" | "TRUE" => Some("true"),
            "False" | "false" | "FALSE" => Some("false"),
            "None" | "null" | "NULL" | "nil" | "undefined" => Some("null"),
            _ => None,
        };
        if let Some(json) = json {
            out.push_str(json);
            return Ok(Shape::Other);
        }
        match self.byte() {
            Some(b'"' | b'\'') if is_prefix(&name) => {
                let raw = name.contains(['r', 'R']);
                let template = name.contains(['f', 'F']);
                let from = out.len();
                self.string(out, raw)?;
                match template && out[from..].contains('{') {
                    true => Err(Trouble::NoValue("the text itself, not a template")),
                    false => Ok(Shape::Text),
                }
            }
            Some(b'(') if name == "dict" => {
                self.at += 1;
                self.keywords(out, words, depth)?;
                Ok(Shape::Other)
            }
            Some(b'(')
                if matches!(
                    name.as_str(),
                    "list" | "tuple" | "set" | "str" | "int" | "float"
                ) =>
            {
                self.tuple(out, words, depth)
            }
            Some(b'(') => Err(Trouble::NoValue("a value, not another call")),
            _ => {
                self.at = start;
                Err(Trouble::NoValue("a value"))
            }
        }
    }

    /// `a=1, b=2)` as an object.
    fn keywords(&mut self, out: &mut String, words: Words, depth: usize) -> Result<(), Trouble> {
        out.push('{');
        let mut first = true;
        loop {
            self.skip_blank();
            if self.eat(b')') {
                out.push('}');
                return Ok(());
            }
            if self.byte().is_none() {
                return Err(Trouble::Cut);
            }
            if !first && !self.eat(b',') {
                return Err(Trouble::NoValue("a comma"));
            }
            self.skip_blank();
            if self.byte() == Some(b')') {
                continue;
            }
            let key = self.identifier().ok_or(Trouble::NoValue("a name"))?;
            self.skip_blank();
            if !self.eat(b'=') {
                return Err(Trouble::NoValue("="));
            }
            comma(out, &mut first);
            quote(&key, out);
            out.push(':');
            self.nested(out, words, depth + 1)?;
        }
    }

    /// The elements up to `end` as a list; how many there are.
    fn list(
        &mut self,
        end: u8,
        out: &mut String,
        words: Words,
        depth: usize,
    ) -> Result<usize, Trouble> {
        self.at += 1;
        out.push('[');
        let mut count = 0;
        loop {
            self.skip_blank();
            if self.eat(end) {
                out.push(']');
                return Ok(count);
            }
            match self.byte() {
                None => return Err(Trouble::Cut),
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            if count > 0 {
                out.push(',');
            }
            self.nested(out, words, depth + 1)?;
            self.skip_blank();
            if !matches!(self.byte(), Some(b',') | None) && self.byte() != Some(end) {
                return Err(Trouble::NoValue("a comma"));
            }
            count += 1;
        }
    }

    /// `(a, b)` is a list, `(a)` is `a`.
    fn tuple(&mut self, out: &mut String, words: Words, depth: usize) -> Result<Shape, Trouble> {
        let (from, start) = (out.len(), self.at);
        let count = self.list(b')', out, words, depth)?;
        let inner = &self.text[start..self.at];
        let comma = inner.trim_end_matches(')').trim_end().ends_with(',');
        if count != 1 || comma {
            return Ok(Shape::Other);
        }
        out.pop();
        out.remove(from);
        Ok(match out.as_bytes().get(from) {
            Some(b'"') => Shape::Text,
            Some(b'0'..=b'9' | b'-') => Shape::Number,
            _ => Shape::Other,
        })
    }

    /// A dictionary, or a set as a list.
    fn dict(&mut self, out: &mut String, words: Words, depth: usize) -> Result<(), Trouble> {
        let (from, start) = (out.len(), self.at);
        self.at += 1;
        out.push('{');
        let mut first = true;
        loop {
            self.skip_blank();
            match self.byte() {
                None => return Err(Trouble::Cut),
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
                    quote(&digits, &mut key);
                }
                _ => {
                    let name = self.identifier().ok_or(Trouble::NoValue("a key"))?;
                    quote(&name, &mut key);
                }
            }
            self.skip_blank();
            if !matches!(self.byte(), Some(b':' | b'=')) {
                if !first {
                    return Err(Trouble::NoValue("a colon"));
                }
                // A set.
                out.truncate(from);
                self.at = start;
                return self.list(b'}', out, words, depth).map(|_| ());
            }
            self.at += 1;
            comma(out, &mut first);
            out.push_str(&key);
            out.push(':');
            self.nested(out, words, depth + 1)?;
        }
    }

    /// One string, or several that Python joins.
    fn strings(&mut self, out: &mut String) -> Result<(), Trouble> {
        self.string(out, false)?;
        loop {
            let behind = self.at;
            self.skip_blank();
            if !matches!(self.byte(), Some(b'"' | b'\'')) {
                self.at = behind;
                return Ok(());
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

    pub(crate) fn note(&mut self, rule: &'static str, sent: &str, read: &str) {
        self.notes.push((rule, sent.to_owned(), read.to_owned()));
    }

    /// Text without quotes: up to the next argument, or to the end of the list.
    fn words(
        &mut self,
        out: &mut String,
        trouble: Option<Trouble>,
        element: bool,
    ) -> Result<(), Trouble> {
        let rest = &self.text[self.at..];
        let size = match element {
            true => rest.find([',', ')', ']', '}', '\n']).unwrap_or(rest.len()),
            false => words_size(rest),
        };
        let text = rest[..size].trim();
        let placeholder = text.contains(['(', '{', '[', '<', '"', '\'', '=']) || text.is_empty();
        if placeholder || size == rest.len() {
            return Err(trouble.unwrap_or(Trouble::NoValue("a value")));
        }
        self.at += size;
        let from = out.len();
        quote(text, out);
        let read = out[from..].to_owned();
        self.note("bare-words", text, &read);
        Ok(())
    }
}

/// The size of words that are no value: up to a closing bracket, or a comma before the next
/// argument.
fn words_size(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b')' | b']' | b'}' | b'\n' => return at,
            b',' => {
                let next = blank(bytes, at + 1);
                let name = identifier_size(&rest[next..]);
                let after = blank(bytes, next + name);
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

fn is_prefix(name: &str) -> bool {
    name.len() <= 2 && name.chars().all(|c| "rRbBuUfF".contains(c))
}

fn comma(out: &mut String, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(',');
    }
}

/// Bytes of the name at the start of `text`; `\_` counts as part of it.
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

/// Appends a JSON string.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
