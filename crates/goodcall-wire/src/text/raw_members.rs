//! Takes objects and lists apart without reading their values: each value stays text, so that its
//! own reader can say what is wrong with it.

use std::borrow::Cow;
use std::ops::Range;

/// The members of an object, as far as they can be told apart.
pub(crate) struct RawObject<'t> {
    text: &'t str,
    pub(crate) members: Vec<RawMember<'t>>,
    /// The closing bracket is there.
    pub(crate) closed: bool,
}

/// One member of an object: its key, and where it is in the object's text.
pub(crate) struct RawMember<'t> {
    pub(crate) key: Cow<'t, str>,
    pub(crate) value: Range<usize>,
    /// Key and value.
    pub(crate) span: Range<usize>,
}

impl<'t> RawObject<'t> {
    /// Takes apart the object at the start of `text`; `None` if there is none.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut at = skip_blanks(bytes, 0);
        if bytes.get(at) != Some(&b'{') {
            return None;
        }
        at += 1;
        let mut members = Vec::new();
        let closed = loop {
            at = skip_blanks(bytes, at);
            match bytes.get(at) {
                None => break false,
                Some(b'}') => break true,
                Some(b',') => at += 1,
                Some(_) => {
                    let start = at;
                    let (key, after) = key(text, at)?;
                    at = skip_blanks(bytes, after);
                    if !matches!(bytes.get(at), Some(b':' | b'=')) {
                        break false;
                    }
                    let from = skip_blanks(bytes, at + 1);
                    at = value_end(bytes, from);
                    let value = from..trim_end(bytes, from, at);
                    let span = start..value.end;
                    members.push(RawMember { key, value, span });
                }
            }
        };
        Some(Self {
            text,
            members,
            closed,
        })
    }

    /// The text of a member's value.
    pub(crate) fn value(&self, member: &RawMember<'_>) -> &'t str {
        &self.text[member.value.clone()]
    }

    /// The text of a member, key and value.
    pub(crate) fn member_text(&self, member: &RawMember<'_>) -> &'t str {
        &self.text[member.span.clone()]
    }

    /// The index of the first member with this key.
    pub(crate) fn position(&self, key: &str) -> Option<usize> {
        self.members.iter().position(|member| member.key == key)
    }
}

/// Where the elements of the list at the start of `text` are; `None` if there is no list.
pub(crate) fn elements(text: &str) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let mut at = skip_blanks(bytes, 0);
    if !matches!(bytes.get(at), Some(b'[' | b'(')) {
        return None;
    }
    at += 1;
    let mut elements = Vec::new();
    loop {
        at = skip_blanks(bytes, at);
        match bytes.get(at) {
            None | Some(b']' | b')') => return Some(elements),
            Some(b',' | b'}') => at += 1,
            Some(b'#' | b'/') => {
                // A comment up to the end of its line; no value begins so.
                let line = &bytes[at..];
                at += line
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(line.len());
            }
            Some(_) => {
                let end = value_end(bytes, at);
                elements.push(at..trim_end(bytes, at, end));
                at = end.max(at + 1);
            }
        }
    }
}

/// The end of the value that starts at `at`: the next comma or closing bracket outside of it. A
/// parenthesis that nothing opened is text between quotes that are not escaped: `"print("x")"`.
fn value_end(bytes: &[u8], mut at: usize) -> usize {
    let (mut depth, mut parens) = (0usize, 0usize);
    let mut last = 0;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'"' | b'\'' if matches!(last, 0 | b'{' | b'[' | b'(' | b',' | b':' | b'=') => {
                at = string_end(bytes, at).unwrap_or(bytes.len());
                last = b'"';
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'(' => parens += 1,
            b')' if parens > 0 => parens -= 1,
            b'}' | b']' | b')' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth + parens == 0 => return at,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = *byte;
        }
        at += 1;
    }
    at
}

/// The end of the string that starts at `at`, behind its closing quote.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Reads a key with or without quotes, and returns it and the offset behind it.
fn key(text: &str, at: usize) -> Option<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    if matches!(bytes[at], b'"' | b'\'') {
        let end = string_end(bytes, at).unwrap_or(bytes.len());
        return Some((unquote(&text[at..end])?, end));
    }
    let size = text[at..].find([':', '=', ',', '}', '\n'])?;
    let key = text[at..at + size].trim_end();
    (!key.is_empty()).then_some((Cow::Borrowed(key), at + size))
}

/// Decodes a string in either kind of quotes; `None` if `text` is not a string.
pub(crate) fn unquote(text: &str) -> Option<Cow<'_, str>> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => out.push(unicode_escape(&mut chars)?),
            c @ ('"' | '\'' | '\\' | '/' | '_') => out.push(c),
            c => out.extend(['\\', c]),
        }
    }
    Some(Cow::Owned(out))
}

/// Decodes the digits of `\uXXXX`, or of a surrogate pair of two such escapes.
fn unicode_escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let four_digits = |chars: &mut std::str::Chars<'_>| {
        let digits = chars.as_str().get(..4)?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        chars.nth(3);
        Some(code)
    };
    let high = four_digits(chars)?;
    if !(0xD800..0xDC00).contains(&high) {
        return char::from_u32(high);
    }
    if !chars.as_str().starts_with("\\u") {
        return None;
    }
    chars.nth(1);
    let low = four_digits(chars)?
        .checked_sub(0xDC00)
        .filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)
}

/// The first byte from `at` on that is not blank.
pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn trim_end(bytes: &[u8], start: usize, mut end: usize) -> usize {
    while end > start && bytes[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_members_stay_verbatim() {
        let text = r#"{"name": "f", 'args': {'a': 'x, "y"'}, bare: [1, {}] }"#;
        let object = RawObject::parse(text).unwrap();
        let members = object.members.iter();
        let pairs: Vec<_> = members
            .map(|member| (member.key.as_ref(), object.value(member)))
            .collect();
        assert!(object.closed);
        assert_eq!(
            pairs,
            [
                ("name", r#""f""#),
                ("args", r#"{'a': 'x, "y"'}"#),
                ("bare", "[1, {}]")
            ]
        );
    }

    #[test]
    fn elements_of_lists_stay_verbatim() {
        let text = r#"['f(a=1, b="x")', {"a": [1]}, 5]"#;
        let parts: Vec<_> = elements(text)
            .unwrap()
            .into_iter()
            .map(|r| &text[r])
            .collect();
        assert_eq!(parts, [r#"'f(a=1, b="x")'"#, r#"{"a": [1]}"#, "5"]);
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(unquote(r#""a\"\u00e9\ud83d\ude00""#).unwrap(), "a\"é😀");
        assert_eq!(unquote(r"'a\_b\d'").unwrap(), "a_b\\d");
        assert!(unquote(r#""a"#).is_none() && unquote(r#""\ud83d""#).is_none());
    }
}
