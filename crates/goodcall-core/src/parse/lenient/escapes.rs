//! Backslashes: JSON's escapes, those of other languages, and backslashes that are text.

use std::ops::Range;

use super::backslash_words::{continues_name, ends_line, ends_row, is_tex_command, is_whole_word};

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

/// What is known of a string whose escapes are decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EscapedString {
    /// The text ends inside the string: an unfinished escape at its end is left out.
    pub(super) is_cut: bool,
    /// Backticks are its quotes.
    pub(super) in_backticks: bool,
}

/// Appends the decoded `text`. A backslash that starts no valid escape is kept.
pub(super) fn decode(text: &str, string: EscapedString, out: &mut String) -> EscapeFindings {
    let mut found = EscapeFindings::default();
    let bytes = text.as_bytes();
    // What is cut off says nothing about the other backslashes.
    let judged = if string.is_cut {
        &text[..last_escape(text)]
    } else {
        text
    };
    let mut context = Context {
        string,
        style: BackslashStyle::of(judged),
        word: Word::default(),
    };
    let mut copied = 0;
    let mut at = 0;
    while let Some(n) = bytes[at..].iter().position(|b| *b == b'\\') {
        let slash = at + n;
        out.push_str(&text[copied..slash]);
        if slash >= context.word.end {
            context.word = Word::around(judged, at.min(judged.len()), slash.min(judged.len()));
        }
        let width = decode_one(text, slash, context, out, &mut found);
        at = slash + width;
        copied = at;
    }
    out.push_str(&text[copied..]);
    found
}

/// Returns true if every backslash of this text starts `\n`, `\t`, `\"` or `\/`, and none of them can
/// be part of a path or of a command, so that [`decode`] has nothing to find.
pub(super) fn are_plain(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(n) = text[at..].iter().position(|b| *b == b'\\') {
        let slash = at + n;
        let rest = &text[slash + 1..];
        let is_plain = match rest {
            [b'"' | b'/', ..] => true,
            [b'n' | b't', letter, ..] if letter.is_ascii_alphabetic() => !is_tex_command(rest),
            [b'n' | b't', ..] => true,
            _ => false,
        };
        if !is_plain || may_start_path(&text[..slash]) {
            return false;
        }
        at = slash + 2;
    }
    // A path without a drive is one word, and one with a drive may use slashes.
    let has_drive = || text.windows(2).any(|pair| pair == b":/");
    text.contains(&b' ') && (!text.contains(&b':') || !has_drive())
}

/// Returns true for the start of a path before a backslash: `.`, `..` or a drive.
fn may_start_path(before: &[u8]) -> bool {
    match before {
        [.., last, b'.'] => !last.is_ascii_alphanumeric(),
        [.., last] => matches!(last, b'.' | b':'),
        [] => false,
    }
}

/// Appends a text whose escapes [`are_plain`].
pub(super) fn decode_plain(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(slash) = rest.as_bytes().iter().position(|b| *b == b'\\') {
        out.push_str(&rest[..slash]);
        out.push(match rest.as_bytes()[slash + 1] {
            b'n' => '\n',
            b't' => '\t',
            other => char::from(other),
        });
        rest = &rest[slash + 2..];
    }
    out.push_str(rest);
}

/// The start of an escape that the end of the text may have cut off; the end if there is none.
fn last_escape(text: &str) -> usize {
    /// The bytes of the longest escape, `\U0001F600`.
    const LONGEST: usize = 10;
    let bytes = text.as_bytes();
    let Some(slash) = bytes.iter().rposition(|b| *b == b'\\') else {
        return text.len();
    };
    let before = bytes[..slash].iter().rev();
    let is_escaped = before.take_while(|b| **b == b'\\').count() % 2 == 1;
    let is_near = text.len() - slash < LONGEST && bytes[slash..].iter().all(|b| *b > b' ');
    if is_escaped || !is_near {
        text.len()
    } else {
        slash
    }
}

/// Appends the meaning of one complete escape; `None` if JSON has no such escape.
pub(in crate::parse) fn decode_escape<'o>(escape: &str, out: &'o mut String) -> Option<&'o str> {
    let start = out.len();
    let found = decode(escape, EscapedString::default(), out);
    let is_json = found.bad.is_none()
        && found.mixed.is_none()
        && found.surrogate.is_none()
        && found.unclear.is_none();
    is_json.then(|| &out[start..])
}

/// Returns true for `C:\Users`, where every backslash is text as soon as one of them must be.
fn is_path(bytes: &[u8]) -> bool {
    starts_with_drive(bytes) && bytes.get(3).is_some_and(|next| *next != b'\\')
}

/// Returns true for `C:\` and what follows it.
fn starts_with_drive(bytes: &[u8]) -> bool {
    matches!(bytes, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic())
}

/// Returns true for one word that starts as paths do (`%TEMP%\x`), or ends as files do (`a\b.txt`).
fn is_relative_path(text: &str) -> bool {
    let is_sign = |b: u8| {
        matches!(
            b,
            b'_' | b'-'
                | b'.'
                | b'~'
                | b'%'
                | b'$'
                | b':'
                | b'('
                | b')'
                | b'{'
                | b'}'
                | b'/'
                | b'\\'
        )
    };
    let is_name = |b: u8| b.is_ascii_alphanumeric() || is_sign(b);
    let Some((root, rest)) = text.split_once('\\').filter(|_| text.bytes().all(is_name)) else {
        return false;
    };
    let variable = root.strip_prefix('$').or_else(|| root.strip_prefix('%'));
    let variable = variable.map(|name| name.trim_matches(['{', '}', '%']));
    let starts_path = root == "~" || variable.is_some_and(|name| !name.is_empty());
    let is_extension = |end: &str| {
        (1..=4).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    starts_path
        || rest
            .rsplit_once('.')
            .is_some_and(|(_, end)| is_extension(end))
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
    /// The text starts with a drive and has no character that a path cannot have.
    is_one_path: bool,
    /// The text is one word of a path that starts with no drive, as `docs\notes.txt`.
    is_relative_path: bool,
    /// One of them must be text, as in `\d`.
    has_text: bool,
    /// One that must be text stands before a word, as in `\alpha`, or is one with its letter, as in
    /// `dir \q`.
    has_words: bool,
    /// The text has several unescaped line ends.
    has_lines: bool,
    /// A drive in the text has its backslash escaped, as in `C:\\Program Files`.
    escapes_drive: bool,
}

impl BackslashStyle {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut style = Self {
            is_path: is_path(bytes) && has_bad_escape(bytes),
            is_one_path: is_path(bytes) && !bytes[2..].iter().any(|b| b"<>:\"|?*\n".contains(b)),
            is_relative_path: is_relative_path(text),
            has_text: false,
            has_words: false,
            has_lines: bytes.iter().filter(|b| **b == b'\n').count() > 1,
            escapes_drive: false,
        };
        let mut at = 0;
        while let Some(n) = bytes
            .get(at..)
            .and_then(|b| b.iter().position(|b| *b == b'\\'))
        {
            let next = at + n + 1;
            style.escapes_drive |=
                bytes.get(next) == Some(&b'\\') && follows_drive(&bytes[..next - 1]);
            if !starts_escape(text, next) {
                style.has_text = true;
                style.has_words |= bytes.get(next + 1).is_some_and(u8::is_ascii_alphabetic)
                    || is_whole_word(bytes, next - 1);
            }
            at = next + 1;
        }
        style
    }
}

/// The part of a text around a backslash, between blanks and quotes, escaped ones included.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    end: usize,
    /// One of its backslashes must be text.
    has_text: bool,
    /// One of its backslashes begins an escape that ends no line, as `\f` in `\new\file`.
    has_other_escape: bool,
    /// It starts with `.\`, `..\` or `\\server\`.
    starts_path: bool,
    /// The paths in it that start with a drive, as `C:\dir`.
    drives: usize,
    /// One of its backslashes is escaped and stands between two names, as in `src\\main`, or it
    /// starts with a drive and a slash, as in `C:/src\main`.
    has_other_separator: bool,
    /// It ends as files do, as in `Files\node.exe`.
    is_file: bool,
}

impl Word {
    /// The word around the backslash at `slash`, which starts at `from` or later.
    fn around(text: &str, from: usize, slash: usize) -> Self {
        let bytes = text.as_bytes();
        let is_border = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`');
        let before = bytes[from..slash].iter().rposition(is_border);
        let start = before.map_or(from, |n| from + n + 1);
        let mut word = Self {
            starts_path: starts_path(&bytes[start..]),
            has_other_separator: matches!(&bytes[start..], [drive, b':', b'/', ..] if drive.is_ascii_alphabetic()),
            ..Self::default()
        };
        let mut at = start;
        while let Some(byte) = bytes.get(at).filter(|b| !is_border(b)) {
            if *byte != b'\\' {
                at += 1;
                continue;
            }
            if bytes.get(at + 1) == Some(&b'"') {
                break;
            }
            word.has_text |= !starts_escape(text, at + 1);
            word.has_other_escape |= matches!(bytes.get(at + 1), Some(b'b' | b'f' | b't'));
            word.drives += usize::from(follows_drive(&bytes[start..at]));
            word.has_other_separator |= is_escaped_separator(&bytes[start..], at - start);
            at += 2;
        }
        word.end = at.min(bytes.len());
        word.is_file = text.get(start..word.end).is_some_and(is_relative_path);
        word
    }
}

/// Returns true for the escaped backslash at `at` if it stands between two names, as in
/// `src\\main`, or after a drive.
fn is_escaped_separator(word: &[u8], at: usize) -> bool {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let before = word[..at].last();
    word.get(at + 1) == Some(&b'\\')
        && before.is_some_and(|b| is_name(b) || b":)}%~".contains(b))
        && word.get(at + 2).is_some_and(is_name)
}

/// Returns true for `.\x`, `..\x`, `\\server\x` and `\\\\server\x`.
fn starts_path(word: &[u8]) -> bool {
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    match word {
        [b'.', b'\\', ..] | [b'.', b'.', b'\\', ..] => true,
        [b'\\', b'\\', rest @ ..] => {
            let rest = rest.strip_prefix(br"\\").unwrap_or(rest);
            let server = rest.iter().take_while(is_name).count();
            server > 0 && rest.get(server) == Some(&b'\\')
        }
        _ => false,
    }
}

/// Returns true for the text before a backslash that is the root of a drive.
fn follows_drive(before: &[u8]) -> bool {
    let outside = |byte: Option<&u8>| byte.is_none_or(|b| !b.is_ascii_alphanumeric());
    match before {
        [.., b'\\', b'n' | b'r' | b't', drive, b':'] => drive.is_ascii_alphabetic(),
        [rest @ .., drive, b':'] => drive.is_ascii_alphabetic() && outside(rest.last()),
        _ => false,
    }
}

/// Returns true if an escape of some language starts with the character at `at`, after its
/// backslash.
fn starts_escape(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at) {
        Some(b'u') => hex(text, at + 1, 4).is_some() || braced(text, at).is_some(),
        Some(b'U') => wide(text, at).is_some(),
        Some(b'x') => hex(text, at + 1, 2).is_some(),
        Some(byte) => b"\"\\/bfnrt'v\n`$".contains(byte),
        None => false,
    }
}

/// What decides on the meaning of a backslash.
#[derive(Clone, Copy)]
struct Context {
    string: EscapedString,
    style: BackslashStyle,
    word: Word,
}

impl Context {
    /// Returns true if the backslash before this text belongs to a path, as all of its word do.
    fn is_path(&self, rest: &str) -> bool {
        let next = rest.bytes().next();
        let starts_line = next == Some(b'n') && !self.style.is_path;
        let here = self.style.is_path || self.word.has_text && self.word.drives == 1;
        here && !starts_line && !matches!(next, Some(b'"' | b'\\'))
    }

    /// Returns true if the escape before this text may as well be a backslash and a letter.
    fn is_unclear(&self, rest: &str, slash: usize) -> bool {
        let bytes = rest.as_bytes();
        let is_escape = matches!(bytes.first(), Some(b'b' | b'f' | b'n' | b'r' | b't'));
        let letter = bytes.get(1).is_some_and(u8::is_ascii_alphabetic);
        let network_path = rest.starts_with('\\') && slash == 0 && letter;
        // Nobody writes a backspace, a form feed or the return of a carriage without a line end.
        let is_rare =
            matches!(bytes.first(), Some(b'b' | b'f' | b'r')) && !rest.starts_with("r\\n");
        let is_line_of_paths = rest.starts_with('n') && starts_with_drive(&bytes[1..]);
        let is_one_file = self.style.is_relative_path
            || self.style.escapes_drive && self.word.is_file
            || self.word.has_other_separator && continues_name(rest);
        let in_path = self.word.starts_path || is_one_file && !is_line_of_paths;
        let is_rare = is_rare || is_tex_command(bytes);
        is_escape && (self.word.has_text || self.may_follow_drive(rest) || is_rare || in_path)
            || self.style.has_words && (is_escape && letter || network_path)
            || self.style.has_words && ends_row(rest)
            || is_byte_of_character(rest)
            || foreign(rest).is_none() && is_broken(rest)
    }

    /// Returns true if this escape stands in what may be a path: `\t` in `D:\tools`, `\n` in
    /// `copy D:\n there`. The end of a line stands before `This`, as in `A:\nThis`.
    fn may_follow_drive(&self, rest: &str) -> bool {
        let in_path = self.style.has_text || self.style.is_one_path || self.word.has_other_escape;
        self.word.drives > 0 && (in_path || !ends_line(rest))
    }
}

/// Returns true for the first of two escapes that are characters, or the bytes of one character in
/// UTF-8: `\xC3\xA9`.
fn is_byte_of_character(rest: &str) -> bool {
    let is_lead = rest.starts_with('x') && hex(rest, 1, 2).is_some_and(|byte| byte >= 0xC2);
    let next = rest.get(3..).and_then(|next| next.strip_prefix("\\x"));
    is_lead && next.is_some_and(|next| hex(next, 0, 2).is_some_and(|b| (0x80..0xC0).contains(&b)))
}

/// Returns true for `\u00e`, `\u{}` and `\x4`, which name no character, and for `\033`, `\0`,
/// `\v`, `\e[`, `\x{41}` and `\N{DASH}`, which are text or a character, after their backslash.
fn is_broken(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    let octal = bytes
        .iter()
        .take(3)
        .take_while(|b| matches!(b, b'0'..=b'7'))
        .count();
    let (wanted, tail) = match bytes.first() {
        Some(b'u') if !bytes.get(1).is_some_and(u8::is_ascii_alphanumeric) => return true,
        Some(b'U') if hex(rest, 1, 8).is_some() => return true,
        Some(b'x') if bytes.get(1) == Some(&b'{') => return true,
        Some(b'v') => return !bytes.get(1).is_some_and(u8::is_ascii_alphabetic),
        Some(b'u') => (4, &rest[1..]),
        Some(b'U') => (8, &rest[1..]),
        Some(b'x') => (2, &rest[1..]),
        Some(b'0') => return octal == 3 || !bytes.get(1).is_some_and(u8::is_ascii_alphanumeric),
        Some(b'1'..=b'3') => return octal == 3,
        Some(b'e') => return rest.starts_with("e["),
        Some(b'N') => return rest.starts_with("N{"),
        _ => return false,
    };
    let digits = tail.bytes().take_while(u8::is_ascii_hexdigit).count();
    let run = &tail.as_bytes()[..digits];
    let ends = tail
        .as_bytes()
        .get(digits)
        .is_none_or(|b| !b.is_ascii_alphanumeric());
    digits > 0 && digits < wanted && (ends || run.iter().any(u8::is_ascii_digit))
}

/// Returns true for one of several backslashes in a row that may stand for fewer or more of them.
fn is_unclear_run(text: &str, slash: usize, word: Word) -> bool {
    let (before, after) = (&text.as_bytes()[..slash], &text[slash + 1..]);
    // `C:\\\src`: one backslash, or two.
    let is_odd = before.ends_with(b"\\") && !starts_escape(text, slash + 1);
    // `C:\\\\x\y`: two backslashes, or one that was escaped twice.
    is_odd || word.has_text && follows_drive(before) && after.starts_with(r"\\\")
}

/// Decodes one escape at `slash`. Returns its width.
fn decode_one(
    text: &str,
    slash: usize,
    context: Context,
    out: &mut String,
    found: &mut EscapeFindings,
) -> usize {
    let (style, cut) = (context.style, context.string.is_cut);
    let rest = &text[slash + 1..];
    let Some(next) = rest.chars().next() else {
        if !cut {
            out.push('\\');
            extend(&mut found.bad, slash..slash + 1);
        }
        return 1;
    };
    if is_unclear_run(text, slash, context.word) {
        extend(&mut found.unclear, slash..slash + 1);
    }
    let is_foreign = foreign(rest).is_some();
    let is_kept =
        context.is_path(rest) || style.has_text && (matches!(next, 'b' | 'f' | 'v') || is_foreign);
    if is_kept {
        out.push('\\');
        let kind = if starts_escape(text, slash + 1) {
            &mut found.mixed
        } else {
            &mut found.bad
        };
        extend(kind, slash..slash + 1);
        return 1;
    }
    if context.is_unclear(rest, slash) {
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
    if let Some((character, width)) = foreign(rest) {
        out.push(character);
        extend(&mut found.bad, slash..slash + 1 + width);
        return 1 + width;
    }
    match next {
        'u' => unicode(text, slash, cut, out, found),
        '\'' => {
            out.push(next);
            extend(&mut found.bad, slash..slash + 2);
            2
        }
        '`' | '$' if context.string.in_backticks => {
            out.push(next);
            extend(&mut found.bad, slash..slash + 2);
            2
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

/// The character of `\x41`, `\u{e9}` or `\U0001F600`, after its backslash, and its width.
fn foreign(rest: &str) -> Option<(char, usize)> {
    match rest.as_bytes().first()? {
        b'x' => Some((char::from_u32(hex(rest, 1, 2)?)?, 3)),
        b'u' => braced(rest, 0),
        b'U' => Some((wide(rest, 0)?, 9)),
        _ => None,
    }
}

/// The character of `u{e9}` at `at`, and its width.
fn braced(text: &str, at: usize) -> Option<(char, usize)> {
    let inside = text.get(at..)?.strip_prefix("u{")?;
    let digits = inside.bytes().take(7).position(|b| b == b'}')?;
    Some((char::from_u32(hex(inside, 0, digits)?)?, digits + 3))
}

/// The character of `U0001F600` at `at`.
fn wide(text: &str, at: usize) -> Option<char> {
    char::from_u32(hex(text, at + 1, 8)?)
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
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_escapes_hold_nothing_that_decoding_would_find() {
        const PIECES: [&str; 15] = [
            "\\n", "\\t", "\\\"", "\\/", "\\\\", " ", "a", "eq", "imes", "C:", "/", ".", "..", "~",
            "x.txt",
        ];
        let mut texts = vec![String::new()];
        let mut plain = 0;
        for _ in 0..4 {
            let longer = |text: &String| PIECES.map(|piece| format!("{text}{piece}"));
            texts = texts.iter().flat_map(longer).collect();
            for text in texts.iter().filter(|text| are_plain(text.as_bytes())) {
                let (mut short, mut long) = (String::new(), String::new());
                decode_plain(text, &mut short);
                let found = decode(text, EscapedString::default(), &mut long);
                assert_eq!(short, long, "{text}");
                let findings = [found.bad, found.mixed, found.unclear, found.surrogate];
                assert_eq!(findings, [None, None, None, None], "{text}");
                plain += usize::from(text.contains('\\'));
            }
        }
        assert!(plain > 1_000, "only {plain} texts were plain");
    }
}
