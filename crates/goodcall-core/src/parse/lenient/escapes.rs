//! Backslashes: JSON's escapes, those of other languages, and backslashes that are text.

use std::ops::Range;

/// Departures from JSON that decoding met. Each range runs from the first to the last of its kind.
#[derive(Debug, Default)]
pub(super) struct EscapeFindings {
    /// Escapes that JSON does not have.
    pub(super) bad: Option<Range<usize>>,
    /// Backslashes kept as text although JSON has such an escape, or another language has.
    pub(super) mixed: Option<Range<usize>>,
    /// Escapes that may as well be a backslash before a word, as `\n` in `\name`.
    pub(super) unclear: Option<Range<usize>>,
    /// Half of a surrogate pair.
    pub(super) surrogate: Option<Range<usize>>,
}

/// Appends the decoded `text`. A backslash that starts no valid escape is kept. If the text was
/// `cut` off, an unfinished escape at its end is left out.
pub(super) fn decode(text: &str, cut: bool, out: &mut String) -> EscapeFindings {
    let mut found = EscapeFindings::default();
    let bytes = text.as_bytes();
    let style = BackslashStyle::of(text);
    let mut copied = 0;
    let mut at = 0;
    while let Some(n) = bytes[at..].iter().position(|b| *b == b'\\') {
        let slash = at + n;
        out.push_str(&text[copied..slash]);
        let width = decode_one(text, slash, cut, style, out, &mut found);
        at = slash + width;
        copied = at;
    }
    out.push_str(&text[copied..]);
    found
}

/// Appends the meaning of one complete escape; `None` if JSON has no such escape.
pub(in crate::parse) fn decode_escape<'o>(escape: &str, out: &'o mut String) -> Option<&'o str> {
    let start = out.len();
    let found = decode(escape, false, out);
    let is_json = found.bad.is_none() && found.mixed.is_none() && found.surrogate.is_none();
    is_json.then(|| &out[start..])
}

/// Returns true for `C:\Users`, where every backslash is text as soon as one of them must be.
fn is_path(bytes: &[u8]) -> bool {
    matches!(bytes, [drive, b':', b'\\', next, ..] if drive.is_ascii_alphabetic() && *next != b'\\')
}

fn has_bad_escape(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(n) = bytes[at..].iter().position(|b| *b == b'\\') {
        match bytes.get(at + n + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u') => {}
            _ => return true,
        }
        at += n + 2;
        if at > bytes.len() {
            break;
        }
    }
    false
}

/// What the backslashes of a text are, judged by all of them together.
#[derive(Clone, Copy, Debug)]
struct BackslashStyle {
    /// The text is a path and one of them must be text, so all of them are.
    is_path: bool,
    /// One of them must be text, as in `\d`.
    has_text: bool,
    /// One that must be text stands before a word, as in `\alpha`.
    has_words: bool,
    /// The text has several unescaped line ends.
    has_lines: bool,
}

impl BackslashStyle {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut style = Self {
            is_path: is_path(bytes) && has_bad_escape(bytes),
            has_text: false,
            has_words: false,
            has_lines: bytes.iter().filter(|b| **b == b'\n').count() > 1,
        };
        let mut at = 0;
        while let Some(n) = bytes
            .get(at..)
            .and_then(|b| b.iter().position(|b| *b == b'\\'))
        {
            let next = at + n + 1;
            let known = match bytes.get(next) {
                Some(b'u') => hex(text, next + 1, 4).is_some(),
                Some(b'x') => hex(text, next + 1, 2).is_some(),
                Some(byte) => b"\"\\/bfnrt'v\n".contains(byte),
                None => false,
            };
            if !known {
                style.has_text = true;
                style.has_words |= bytes.get(next + 1).is_some_and(u8::is_ascii_alphabetic);
            }
            at = next + 1;
        }
        style
    }
}

/// Decodes one escape at `slash`. Returns its width.
fn decode_one(
    text: &str,
    slash: usize,
    cut: bool,
    style: BackslashStyle,
    out: &mut String,
    found: &mut EscapeFindings,
) -> usize {
    let rest = &text[slash + 1..];
    let Some(next) = rest.chars().next() else {
        if !cut {
            out.push('\\');
            extend(&mut found.bad, slash..slash + 1);
        }
        return 1;
    };
    let escape = matches!(next, 'b' | 'f' | 'n' | 'r' | 't');
    if style.is_path && next != '"' && next != '\\' {
        out.push('\\');
        let kind = if escape {
            &mut found.mixed
        } else {
            &mut found.bad
        };
        extend(kind, slash..slash + 1);
        return 1;
    }
    let foreign = matches!(next, 'v') || next == 'x' && hex(rest, 1, 2).is_some();
    if style.has_text && (matches!(next, 'b' | 'f') || foreign) {
        out.push('\\');
        extend(&mut found.mixed, slash..slash + 1);
        return 1;
    }
    let letter = rest.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
    let network_path = next == '\\' && slash == 0 && letter;
    if style.has_words && (escape && letter || network_path) {
        extend(&mut found.unclear, slash..slash + 2);
    }
    let plain = match next {
        '"' | '\\' | '/' => Some(next),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        _ => None,
    };
    if let Some(plain) = plain {
        out.push(plain);
        return 2;
    }
    match next {
        'u' => unicode(text, slash, cut, out, found),
        '\'' => {
            out.push(next);
            extend(&mut found.bad, slash..slash + 2);
            2
        }
        'x' if hex(rest, 1, 2).is_some() => {
            let code = hex(rest, 1, 2)
                .and_then(char::from_u32)
                .unwrap_or('\u{fffd}');
            out.push(code);
            extend(&mut found.bad, slash..slash + 4);
            4
        }
        '\n' if !style.has_lines => {
            // The line is continued.
            extend(&mut found.bad, slash..slash + 2);
            2
        }
        _ => {
            out.push('\\');
            extend(&mut found.bad, slash..slash + 1);
            1
        }
    }
}

/// Decodes `\uXXXX`, a pair of them, or half of a pair. Returns its width.
fn unicode(
    text: &str,
    slash: usize,
    cut: bool,
    out: &mut String,
    found: &mut EscapeFindings,
) -> usize {
    let rest = &text[slash..];
    let Some(first) = hex(rest, 2, 4) else {
        if cut && rest.len() < 6 && rest[2..].bytes().all(|b| b.is_ascii_hexdigit()) {
            return rest.len();
        }
        out.push('\\');
        extend(&mut found.bad, slash..slash + 1);
        return 1;
    };
    if let Some(c) = char::from_u32(first) {
        out.push(c);
        return 6;
    }
    if first < 0xDC00
        && rest.get(6..8) == Some("\\u")
        && let Some(second) = hex(rest, 8, 4).filter(|code| (0xDC00..0xE000).contains(code))
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
        return 12;
    }
    let partial = rest
        .get(6..)
        .is_some_and(|tail| tail.len() < 6 && ("\\u".starts_with(tail) || tail.starts_with("\\u")));
    if cut && first < 0xDC00 && partial {
        return rest.len();
    }
    out.push('\u{fffd}');
    extend(&mut found.surrogate, slash..slash + 6);
    6
}

fn hex(text: &str, from: usize, digits: usize) -> Option<u32> {
    let digits = text.get(from..from + digits)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

fn extend(range: &mut Option<Range<usize>>, more: Range<usize>) {
    *range = Some(match range.take() {
        Some(range) => range.start..more.end,
        None => more,
    });
}
