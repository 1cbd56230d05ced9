//! Text that was encoded twice: every quote escaped, every quote an HTML entity, or all of it
//! inside a JSON string. It is decoded as a whole and read again; positions are mapped back.

use std::borrow::Cow;

use super::escapes::EscapedString;

/// A decoded text, and where its pieces were in the raw one.
pub(super) struct DecodedText {
    pub(super) text: String,
    /// Ascending pairs: from this position of the decoded text, that position of the raw one.
    places: Vec<(u32, u32)>,
}

impl DecodedText {
    fn new(capacity: usize) -> Self {
        Self {
            text: String::with_capacity(capacity),
            places: Vec::new(),
        }
    }

    fn copy(&mut self, raw: &str, from: usize, to: usize) {
        self.places.push((self.text.len() as u32, from as u32));
        self.text.push_str(&raw[from..to]);
    }

    fn put(&mut self, from: usize, text: &str) {
        self.places.push((self.text.len() as u32, from as u32));
        self.text.push_str(text);
    }

    fn finish(mut self, end: usize) -> Self {
        self.places.push((self.text.len() as u32, end as u32));
        self
    }

    /// Maps a position of the decoded text to the raw one.
    pub(super) fn place(&self, at: u32) -> u32 {
        let index = self.places.partition_point(|(decoded, _)| *decoded <= at);
        let Some((decoded, raw)) = index.checked_sub(1).and_then(|i| self.places.get(i)) else {
            return at;
        };
        let last = self.places.get(index).map_or(u32::MAX, |(_, next)| *next);
        (raw + (at - decoded)).min(last)
    }
}

/// Returns true if all quotes are escaped, from the first bracket on.
pub(super) fn is_escaped(text: &str) -> bool {
    let bytes = text.trim_ascii_start().as_bytes();
    let bytes = bytes.strip_prefix(b"\"").unwrap_or(bytes);
    let Some((b'{' | b'[', inside)) = bytes.split_first() else {
        return false;
    };
    let mut rest = inside.trim_ascii_start();
    while let [b'\\', b'n' | b't' | b'r', more @ ..] | [b'{' | b'[', more @ ..] = rest {
        rest = more.trim_ascii_start();
    }
    if !rest.starts_with(b"\\\"") && !rest.starts_with(b"\\\\") {
        return false;
    }
    let mut slashes = 0;
    let body = text.trim_ascii();
    let body = body.strip_prefix('"').map_or(body, |inner| {
        inner.get(..closing_quote(inner)).unwrap_or(inner)
    });
    for byte in body.bytes() {
        match byte {
            b'\\' => slashes += 1,
            b'"' if slashes == 0 => return false,
            _ => slashes = 0,
        }
    }
    true
}

/// Returns true if the text opens a JSON string that it does not close.
pub(super) fn lacks_quote(text: &str) -> bool {
    let inner = text.trim_ascii().strip_prefix('"');
    inner.is_some_and(|inner| closing_quote(inner) == inner.len())
}

/// The position of the last character if it is the closing quote of a JSON string; else the end of
/// the text.
fn closing_quote(inner: &str) -> usize {
    let Some(bare) = inner.strip_suffix('"') else {
        return inner.len();
    };
    let slashes = bare.len() - bare.trim_end_matches('\\').len();
    bare.len() + slashes % 2
}

/// Returns true if the quotes are HTML entities.
pub(super) fn has_entities(text: &str) -> bool {
    let Some(rest) = text.trim_ascii_start().strip_prefix(['{', '[']) else {
        return false;
    };
    let rest = rest
        .trim_ascii_start()
        .trim_start_matches(['{', '['])
        .trim_ascii_start();
    (rest.starts_with("&quot;")
        || rest.starts_with("&#34;")
        || rest.starts_with("&#x22;")
        || rest.starts_with("&apos;")
        || rest.starts_with("&#39;"))
        && !text.contains('"')
}

/// Removes one level of escapes.
pub(super) fn unescape(raw: &str) -> DecodedText {
    let mut out = DecodedText::new(raw.len());
    let trimmed = raw.trim_ascii();
    let lead = raw.len() - raw.trim_ascii_start().len();
    let (from, to) = match trimmed.strip_prefix('"') {
        Some(inner) => {
            let start = lead + 1;
            (start, start + closing_quote(inner))
        }
        None => (0, raw.len()),
    };
    let bytes = raw.as_bytes();
    let mut copied = from;
    let mut at = from;
    while let Some(n) = bytes[at..to].iter().position(|b| *b == b'\\') {
        let slash = at + n;
        let plain = match bytes.get(slash + 1).filter(|_| slash + 1 < to) {
            Some(b'"') => "\"",
            Some(b'\\') => "\\",
            Some(b'/') => "/",
            Some(b'n') => "\n",
            Some(b'r') => "\r",
            Some(b't') => "\t",
            Some(b'\'') => "'",
            _ => {
                at = slash + 1;
                continue;
            }
        };
        out.copy(raw, copied, slash);
        out.put(slash, plain);
        at = slash + 2;
        copied = at;
    }
    out.copy(raw, copied, to);
    out.finish(to)
}

/// Replaces HTML entities by the characters that they stand for.
pub(super) fn decode_entities(raw: &str) -> DecodedText {
    let mut out = DecodedText::new(raw.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(n) = raw[at..].find('&') {
        let start = at + n;
        at = start + 1;
        let near = raw.as_bytes()[at..]
            .iter()
            .take(10)
            .position(|b| *b == b';');
        let Some(length) = near else {
            continue;
        };
        if let Some(text) = entity(&raw[at..at + length]) {
            out.copy(raw, copied, start);
            out.put(start, &text);
            at += length + 1;
            copied = at;
        }
    }
    out.copy(raw, copied, raw.len());
    out.finish(raw.len())
}

fn entity(name: &str) -> Option<Cow<'static, str>> {
    Some(match name {
        "quot" => "\"".into(),
        "apos" => "'".into(),
        "amp" => "&".into(),
        "lt" => "<".into(),
        "gt" => ">".into(),
        "nbsp" => " ".into(),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?.to_string().into()
        }
    })
}

/// Decodes the text of a JSON string, which is between `start` and `end` of the raw text.
pub(super) fn decode_string(raw: &str, start: usize, end: usize) -> DecodedText {
    let mut out = DecodedText::new(end - start);
    let bytes = raw.as_bytes();
    let mut at = start;
    let mut copied = start;
    while let Some(n) = bytes[at..end].iter().position(|b| *b == b'\\') {
        let slash = at + n;
        out.copy(raw, copied, slash);
        let from = out.text.len();
        out.places.push((from as u32, slash as u32));
        let piece = escape_at(&raw[slash..end]);
        super::escapes::decode(piece, EscapedString::default(), &mut out.text);
        at = slash + piece.len().max(1);
        copied = at;
    }
    out.copy(raw, copied, end);
    out.finish(end)
}

/// The escape that a text starts with. Both halves of a surrogate pair are one escape.
fn escape_at(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let width = match bytes.get(1) {
        Some(b'u')
            if matches!(bytes.get(2), Some(b'd' | b'D'))
                && bytes.get(6..8) == Some(b"\\u".as_slice()) =>
        {
            12
        }
        Some(b'u') => 6,
        Some(b'x') => 4,
        Some(byte) if *byte < 0x80 => 2,
        _ => 1,
    };
    rest.get(..width)
        .unwrap_or_else(|| rest.get(..2).unwrap_or("\\"))
}
