//! Reads the strings and numbers of Python.

use goodcall_core::RuleId;

use super::object_writer::push_string;
use super::python_values::{PythonError, PythonReader};
use super::raw_members::skip_blanks;

impl PythonReader<'_> {
    /// Reads one string: in single or triple quotes, or in escaped quotes, where the call itself is
    /// written inside a string.
    pub(crate) fn string(&mut self, out: &mut String, raw: bool) -> Result<(), PythonError> {
        let rest = &self.text[self.at..];
        let (open, escaped) = match rest.strip_prefix('\\') {
            Some(inner) => (inner, true),
            None => (rest, false),
        };
        let Some(mark @ ('"' | '\'')) = open.chars().next() else {
            return Err(PythonError::Expected("a value"));
        };
        let triple = if mark == '"' { "\"\"\"" } else { "'''" };
        let single = if mark == '"' { "\"" } else { "'" };
        let (close, size) = match (escaped, open.starts_with(triple)) {
            (true, _) => (format!("\\{mark}"), 2),
            (false, true) => (triple.to_owned(), 3),
            (false, false) => (single.to_owned(), 1),
        };
        let start = self.at;
        self.at += size;
        let text = self.until(&close, raw)?;
        let from = out.len();
        push_string(&text.decoded, out);
        let sent = &self.text[start..self.at];
        if text.has_inner_quotes {
            self.record(RuleId::InnerQuotes, sent, &out[from..]);
        }
        if text.has_markdown {
            self.record(RuleId::MarkdownEscapes, sent, &out[from..]);
        }
        Ok(())
    }

    fn until(&mut self, close: &str, raw: bool) -> Result<DecodedString, PythonError> {
        let mut text = DecodedString::default();
        let plain = close.len() == 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else {
                return Err(PythonError::Cut);
            };
            if rest.starts_with(close) {
                self.at += close.len();
                if !plain || self.ends_value() {
                    return Ok(text);
                }
                // Nothing that may follow a string follows this quote, so it is part of the text.
                text.has_inner_quotes = true;
                text.decoded.push_str(close);
                continue;
            }
            if c != '\\' || raw {
                self.at += c.len_utf8();
                text.decoded.push(c);
                continue;
            }
            self.at += 1;
            self.escape(&mut text)?;
        }
    }

    /// Returns true if the quote before the cursor ends a string, by what follows it.
    fn ends_value(&self) -> bool {
        let bytes = self.text.as_bytes();
        let next = skip_blanks(bytes, self.at);
        match bytes.get(next) {
            None | Some(b',' | b')' | b']' | b'}' | b':' | b'+' | b'#' | b';' | b'%') => true,
            // The next of several strings, or the quotes around the whole call.
            Some(b'"' | b'\'') => true,
            Some(b'\\' | b'=' | b'*') => true,
            // Without another quote of this kind, this one is the last.
            Some(_) => !self.text[self.at..].contains(&self.text[self.at - 1..self.at]),
        }
    }

    fn escape(&mut self, text: &mut DecodedString) -> Result<(), PythonError> {
        let rest = &self.text[self.at..];
        let c = rest.chars().next().ok_or(PythonError::Cut)?;
        self.at += c.len_utf8();
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\n' => return Ok(()),
            '\\' | '\'' | '"' => c,
            'x' => return self.code(2, text),
            'u' => return self.code(4, text),
            'U' => return self.code(8, text),
            '_' | '*' | '[' | ']' | '#' | '`' | '-' if self.markdown => {
                text.has_markdown = true;
                c
            }
            c => {
                text.decoded.push('\\');
                c
            }
        };
        text.decoded.push(plain);
        Ok(())
    }

    fn code(&mut self, digits: usize, text: &mut DecodedString) -> Result<(), PythonError> {
        let read = |at: usize| {
            let digits = self.text.get(at..at + digits)?;
            u32::from_str_radix(digits, 16).ok()
        };
        let wrong = PythonError::Expected("a valid escape");
        let high = read(self.at).ok_or_else(|| wrong.clone())?;
        self.at += digits;
        let code = match high {
            0xD800..0xDC00 if self.text[self.at..].starts_with("\\u") => {
                let low = read(self.at + 2).and_then(|low| low.checked_sub(0xDC00));
                let low = low
                    .filter(|low| *low < 0x400)
                    .ok_or_else(|| wrong.clone())?;
                self.at += 2 + digits;
                0x10000 + ((high - 0xD800) << 10) + low
            }
            other => other,
        };
        text.decoded.push(char::from_u32(code).ok_or(wrong)?);
        Ok(())
    }

    /// Reads a number and keeps its digits: `1_000`, `.5`, `5.` and `+5` as JSON writes them.
    pub(crate) fn number(&mut self, out: &mut String) -> Result<(), PythonError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |mut at: usize| {
            while matches!(bytes.get(at), Some(b'0'..=b'9' | b'_')) {
                at += 1;
            }
            at
        };
        let mut at = start + usize::from(matches!(bytes[start], b'-' | b'+'));
        let whole = at..digits(at);
        at = whole.end;
        let mut fraction = at..at;
        if bytes.get(at) == Some(&b'.') {
            fraction = at + 1..digits(at + 1);
            at = fraction.end;
        }
        let mut exponent = at..at;
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
            let end = digits(at + 1 + sign);
            if end > at + 1 + sign {
                exponent = at..end;
                at = end;
            }
        }
        self.at = at;
        if whole.is_empty() && fraction.is_empty() {
            return Err(PythonError::Expected("a number"));
        }
        let written = &self.text[whole.clone()];
        // `007` is a number neither in Python nor in JSON.
        if written.len() > 1 && written.starts_with('0') {
            return Err(PythonError::Expected("a number without leading zeros"));
        }
        if bytes[start] == b'-' {
            out.push('-');
        }
        let push = |part: &str, out: &mut String| out.extend(part.chars().filter(|c| *c != '_'));
        push(if written.is_empty() { "0" } else { written }, out);
        if fraction.start > whole.end {
            out.push('.');
            let written = &self.text[fraction];
            push(if written.is_empty() { "0" } else { written }, out);
        }
        push(&self.text[exponent], out);
        Ok(())
    }
}

/// A string without its quotes.
#[derive(Default)]
struct DecodedString {
    decoded: String,
    has_inner_quotes: bool,
    has_markdown: bool,
}
