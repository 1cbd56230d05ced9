//! Taking objects and lists apart without reading their values: each value stays the text that it
//! is, so that its own reading can say what is wrong with it.

use std::borrow::Cow;
use std::ops::Range;

/// One member of an object: its key, and where its value stands.
pub(crate) struct Member<'t> {
    pub(crate) key: Cow<'t, str>,
    pub(crate) value: Range<usize>,
    /// Key and value.
    pub(crate) span: Range<usize>,
}

/// The members of the object at the start of `text`, as far as they can be told apart; `None` if
/// it is no object. Tells also if its closing bracket is there.
pub(crate) fn members(text: &str) -> Option<(Vec<Member<'_>>, bool)> {
    let bytes = text.as_bytes();
    let mut at = blank(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    let mut members = Vec::new();
    loop {
        at = blank(bytes, at);
        match bytes.get(at) {
            None => return Some((members, false)),
            Some(b'}') => return Some((members, true)),
            Some(b',') => at += 1,
            Some(_) => {
                let start = at;
                let (key, after) = key(text, at)?;
                at = blank(bytes, after);
                if !matches!(bytes.get(at), Some(b':' | b'=')) {
                    return Some((members, false));
                }
                let from = blank(bytes, at + 1);
                at = skip(bytes, from);
                let value = from..trim_end(bytes, from, at);
                let span = start..value.end;
                members.push(Member { key, value, span });
            }
        }
    }
}

/// Where the elements of the list at the start of `text` stand; `None` if it is no list.
pub(crate) fn elements(text: &str) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let mut at = blank(bytes, 0);
    if !matches!(bytes.get(at), Some(b'[' | b'(')) {
        return None;
    }
    at += 1;
    let mut elements = Vec::new();
    loop {
        at = blank(bytes, at);
        match bytes.get(at) {
            None | Some(b']' | b')') => return Some(elements),
            Some(b',' | b'}') => at += 1,
            Some(_) => {
                let end = skip(bytes, at);
                elements.push(at..trim_end(bytes, at, end));
                at = end.max(at + 1);
            }
        }
    }
}

/// The end of the value that starts at `at`: the next comma or closing bracket outside of it.
pub(crate) fn skip(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    let mut last = 0;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'"' | b'\'' if matches!(last, 0 | b'{' | b'[' | b'(' | b',' | b':' | b'=') => {
                at = string_end(bytes, at);
                last = b'"';
                continue;
            }
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' if depth == 0 => return at,
            b'}' | b']' | b')' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = *byte;
        }
        at += 1;
    }
    at
}

/// Past the string that starts at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A key with or without quotes, and what follows it.
fn key(text: &str, at: usize) -> Option<(Cow<'_, str>, usize)> {
    let bytes = text.as_bytes();
    if matches!(bytes[at], b'"' | b'\'') {
        let end = string_end(bytes, at);
        return Some((unquote(&text[at..end])?, end));
    }
    let size = text[at..].find([':', '=', ',', '}', '\n'])?;
    let key = text[at..at + size].trim_end();
    (!key.is_empty()).then_some((Cow::Borrowed(key), at + size))
}

/// The text of a string in either kind of quotes; `None` if it is none.
pub(crate) fn unquote(text: &str) -> Option<Cow<'_, str>> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some('u') => out.push(unicode(&mut chars)?),
                Some(c @ ('"' | '\'' | '\\' | '/' | '_')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => return None,
            },
            (c, _) => out.push(c),
        }
    }
    Some(Cow::Owned(out))
}

/// The character of `\uXXXX`, or of two such that are a pair.
fn unicode(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let four = |chars: &mut std::str::Chars<'_>| {
        let digits = chars.as_str().get(..4)?;
        let code = u32::from_str_radix(digits, 16).ok()?;
        chars.nth(3);
        Some(code)
    };
    let high = four(chars)?;
    if !(0xD800..0xDC00).contains(&high) {
        return char::from_u32(high);
    }
    if !chars.as_str().starts_with("\\u") {
        return None;
    }
    chars.nth(1);
    let low = four(chars)?
        .checked_sub(0xDC00)
        .filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)
}

/// The first byte from `at` on that is not blank.
pub(crate) fn blank(bytes: &[u8], mut at: usize) -> usize {
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
    fn values_stay_as_they_are() {
        let text = r#"{"name": "f", 'args': {'a': 'x, "y"'}, bare: [1, {}] }"#;
        let (members, closed) = members(text).unwrap();
        let pairs: Vec<_> = members
            .iter()
            .map(|m| (m.key.as_ref(), &text[m.value.clone()]))
            .collect();
        assert!(closed);
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
    fn lists() {
        let text = r#"['f(a=1, b="x")', {"a": [1]}, 5]"#;
        let parts: Vec<_> = elements(text)
            .unwrap()
            .into_iter()
            .map(|r| &text[r])
            .collect();
        assert_eq!(parts, [r#"'f(a=1, b="x")'"#, r#"{"a": [1]}"#, "5"]);
    }

    #[test]
    fn escapes() {
        assert_eq!(unquote(r#""a\"\u00e9\ud83d\ude00""#).unwrap(), "a\"é😀");
        assert_eq!(unquote(r"'a\_b\d'").unwrap(), "a_b\\d");
        assert!(unquote(r#""a"#).is_none() && unquote(r#""\ud83d""#).is_none());
    }
}
