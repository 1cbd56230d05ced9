//! One JSON-RPC message as bytes: where its parts stand, without changing any of them.
//!
//! The outline of a message is found by a scanner that knows strings and brackets only. It works
//! at any depth and any size, and what it finds are byte ranges: a message is never rebuilt, only
//! spliced.

use std::borrow::Cow;
use std::ops::Range;

/// The bytes of one message, without a line end.
pub type Frame = Vec<u8>;

/// The parts of one JSON-RPC message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The whole object, brackets included.
    pub(crate) span: Range<usize>,
    pub(crate) id: Option<Range<usize>>,
    pub(crate) method: Option<String>,
    pub(crate) params: Option<Range<usize>>,
    pub(crate) result: Option<Range<usize>>,
    pub(crate) error: Option<Range<usize>>,
    /// A key of these stands there twice: two readers may read two messages.
    pub(crate) twice: bool,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// White space.
    Blank,
    /// One message.
    One(Outline),
    /// Several messages in an array.
    Batch(Vec<Outline>),
    /// No message.
    Junk,
}

/// What this line is.
pub(crate) fn kind(frame: &[u8]) -> Kind {
    let start = skip_space(frame, 0);
    match frame.get(start) {
        None => Kind::Blank,
        Some(b'{') => match outline(frame, start) {
            Some(outline) if is_end(frame, outline.span.end) => Kind::One(outline),
            _ => Kind::Junk,
        },
        Some(b'[') => batch(frame, start).map_or(Kind::Junk, Kind::Batch),
        Some(_) => Kind::Junk,
    }
}

fn batch(frame: &[u8], start: usize) -> Option<Vec<Outline>> {
    let mut all = Vec::new();
    for span in elements(frame, &(start..frame.len()))? {
        all.push(outline(frame, span.start)?);
    }
    let end = all.last().map_or(start + 1, |last| last.span.end);
    let end = skip_space(frame, end);
    (!all.is_empty() && frame.get(end) == Some(&b']') && is_end(frame, end + 1)).then_some(all)
}

fn is_end(frame: &[u8], at: usize) -> bool {
    skip_space(frame, at) == frame.len()
}

fn outline(frame: &[u8], start: usize) -> Option<Outline> {
    let mut outline = Outline::default();
    let mut members = Members::new(frame, start)?;
    while let Some((key, value)) = members.next_member()? {
        let method = |value: &Range<usize>| text(frame, value).map(Cow::into_owned);
        let twice = match key.as_ref() {
            "id" => outline.id.replace(value).is_some(),
            "method" => {
                let twice = outline.method.is_some();
                outline.method = method(&value);
                twice
            }
            "params" => outline.params.replace(value).is_some(),
            "result" => outline.result.replace(value).is_some(),
            "error" => outline.error.replace(value).is_some(),
            _ => false,
        };
        outline.twice |= twice;
    }
    outline.span = start..members.at;
    Some(outline)
}

/// The member of the object at `object` with this key; the last one, as most readers have it.
pub(crate) fn member(frame: &[u8], object: &Range<usize>, key: &str) -> Option<Range<usize>> {
    let mut found = None;
    let mut members = Members::new(frame, object.start)?;
    while let Some((name, value)) = members.next_member()? {
        if name == key {
            found = Some(value);
        }
    }
    found
}

/// Does the object have a key of these more than once?
pub(crate) fn has_twice(frame: &[u8], object: &Range<usize>, keys: &[&str]) -> bool {
    let mut seen = vec![false; keys.len()];
    let Some(mut members) = Members::new(frame, object.start) else {
        return false;
    };
    while let Some(Some((name, _))) = members.next_member() {
        if let Some(at) = keys.iter().position(|key| *key == name)
            && std::mem::replace(&mut seen[at], true)
        {
            return true;
        }
    }
    false
}

/// The members of the object at `object`: keys and ranges.
pub(crate) fn members(frame: &[u8], object: &Range<usize>) -> Vec<(String, Range<usize>)> {
    let mut all = Vec::new();
    let Some(mut members) = Members::new(frame, object.start) else {
        return all;
    };
    while let Some(Some((name, value))) = members.next_member() {
        all.push((name.into_owned(), value));
    }
    all
}

/// The elements of the array that starts at `array`.
pub(crate) fn elements(frame: &[u8], array: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut all = Vec::new();
    if frame.get(array.start) != Some(&b'[') {
        return None;
    }
    let mut at = skip_space(frame, array.start + 1);
    if frame.get(at) == Some(&b']') {
        return Some(all);
    }
    loop {
        let end = skip_value(frame, at)?;
        all.push(at..end);
        at = skip_space(frame, end);
        match frame.get(at)? {
            b',' => at = skip_space(frame, at + 1),
            b']' => return Some(all),
            _ => return None,
        }
    }
}

/// The string at this range, decoded.
pub(crate) fn text<'f>(frame: &'f [u8], span: &Range<usize>) -> Option<Cow<'f, str>> {
    let raw = frame.get(span.clone())?;
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice(raw).ok().map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

/// The bytes at this range as text.
pub(crate) fn raw<'f>(frame: &'f [u8], span: &Range<usize>) -> Option<&'f str> {
    std::str::from_utf8(frame.get(span.clone())?).ok()
}

/// Does the word `true` stand at this key of the object?
pub(crate) fn is_true(frame: &[u8], object: &Range<usize>, key: &str) -> bool {
    member(frame, object, key).is_some_and(|span| frame.get(span) == Some(b"true"))
}

/// The frame with ranges replaced. They must not overlap.
pub(crate) fn splice(frame: &[u8], mut edits: Vec<(Range<usize>, String)>) -> Frame {
    edits.sort_by_key(|(span, _)| span.start);
    let mut out = Vec::with_capacity(frame.len() + 64);
    let mut done = 0;
    for (span, text) in edits {
        out.extend_from_slice(frame.get(done..span.start).unwrap_or_default());
        out.extend_from_slice(text.as_bytes());
        done = span.end.max(done);
    }
    out.extend_from_slice(frame.get(done..).unwrap_or_default());
    out
}

/// The edit that adds a member at the end of an object.
pub(crate) fn adding(frame: &[u8], object: &Range<usize>, member: &str) -> (Range<usize>, String) {
    let close = object.end.saturating_sub(1);
    let inner = frame.get(object.start + 1..close).unwrap_or_default();
    let empty = inner.iter().all(u8::is_ascii_whitespace);
    // What follows the last value stays before the bracket.
    let space = inner.iter().rev().take_while(|b| b.is_ascii_whitespace());
    let at = if empty { close } else { close - space.count() };
    let comma = if empty { "" } else { "," };
    (at..at, format!("{comma}{member}"))
}

/// Text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The frame in one line: line ends between tokens become spaces. Inside strings there are none.
pub(crate) fn one_line(mut frame: Frame) -> Frame {
    for byte in &mut frame {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    frame
}

/// The id of a message of which only the beginning and the end are here: at its top level, before
/// a value that does not end, or as the last member.
pub(crate) fn id_in_part(head: &[u8], tail: &[u8]) -> Option<String> {
    let mut members = Members::new(head, skip_space(head, 0))?;
    while let Some(Some((name, value))) = members.next_member() {
        if name == "id" {
            return raw(head, &value).map(str::to_owned);
        }
    }
    let last = tail.windows(4).rposition(|window| window == b"\"id\"")?;
    let rest = raw(tail, &(last + 4..tail.len()))?
        .trim()
        .strip_suffix('}')?;
    let id = rest.trim_start().strip_prefix(':')?.trim();
    let scalar = serde_json::from_str::<serde_json::Value>(id).ok()?;
    (scalar.is_string() || scalar.is_number()).then(|| id.to_owned())
}

struct Members<'f> {
    frame: &'f [u8],
    at: usize,
    first: bool,
}

impl<'f> Members<'f> {
    fn new(frame: &'f [u8], start: usize) -> Option<Self> {
        (frame.get(start) == Some(&b'{')).then_some(Self {
            frame,
            at: start + 1,
            first: true,
        })
    }

    /// The next member; `Some(None)` at the end of the object, `None` if it is broken.
    fn next_member(&mut self) -> Option<Option<(Cow<'f, str>, Range<usize>)>> {
        let frame = self.frame;
        self.at = skip_space(frame, self.at);
        match frame.get(self.at)? {
            b'}' if self.first => {
                self.at += 1;
                return Some(None);
            }
            b'"' if self.first => {}
            b',' if !self.first => self.at = skip_space(frame, self.at + 1),
            b'}' => {
                self.at += 1;
                return Some(None);
            }
            _ => return None,
        }
        self.first = false;
        let key = self.at..skip_string(frame, self.at)?;
        let colon = skip_space(frame, key.end);
        if frame.get(colon) != Some(&b':') {
            return None;
        }
        let start = skip_space(frame, colon + 1);
        self.at = skip_value(frame, start)?;
        // A key that is no text is nobody's.
        let name = text(frame, &key).unwrap_or_default();
        Some(Some((name, start..self.at)))
    }
}

fn skip_space(frame: &[u8], mut at: usize) -> usize {
    while matches!(frame.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The end of the string that starts here.
fn skip_string(frame: &[u8], start: usize) -> Option<usize> {
    if frame.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match frame.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of the value that starts here.
fn skip_value(frame: &[u8], start: usize) -> Option<usize> {
    match frame.get(start)? {
        b'"' => skip_string(frame, start),
        b'{' | b'[' => {
            let (mut depth, mut at) = (0_usize, start);
            loop {
                match frame.get(at)? {
                    b'"' => {
                        at = skip_string(frame, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        b',' | b':' | b'}' | b']' => None,
        _ => {
            let is_end =
                |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
            let rest = frame.get(start..)?;
            Some(start + rest.iter().position(is_end).unwrap_or(rest.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Outline {
        match kind(text.as_bytes()) {
            Kind::One(outline) => outline,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn parts_are_found_wherever_they_stand() {
        let text = r#" {"result" : {"a":[1,{"id":2}]}, "id" :"x\"}" ,"jsonrpc":"2.0"} "#;
        let outline = one(text);
        assert_eq!(&text[outline.id.unwrap()], r#""x\"}""#);
        assert_eq!(
            &text[outline.result.clone().unwrap()],
            r#"{"a":[1,{"id":2}]}"#
        );
        assert!(outline.method.is_none() && !outline.twice);
        assert_eq!(
            one(r#"{"method":"tools\/call"}"#).method.unwrap(),
            "tools/call"
        );
        assert!(one(r#"{"id":1,"id":2}"#).twice);
    }

    #[test]
    fn what_is_no_message_is_junk() {
        for junk in [
            "Server running",
            "{",
            r#"{"a":}"#,
            r#"{"a":1} x"#,
            "[]",
            "[1]",
            "5",
            "{,}",
        ] {
            assert_eq!(kind(junk.as_bytes()), Kind::Junk, "{junk}");
        }
        assert_eq!(kind(b" \r"), Kind::Blank);
        assert!(matches!(kind(br#"[{"id":1}, {"id":2}]"#), Kind::Batch(all) if all.len() == 2));
    }

    #[test]
    fn depth_is_no_matter() {
        let text = format!(
            r#"{{"id":1,"result":{}{}}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        assert!(matches!(kind(text.as_bytes()), Kind::One(_)));
    }

    #[test]
    fn an_id_is_found_in_a_part() {
        let found = |head: &str, tail: &str| id_in_part(head.as_bytes(), tail.as_bytes());
        assert_eq!(
            found(r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, "x"),
            Some("7".to_owned())
        );
        let tail = r#"..."]},"jsonrpc":"2.0","id":"a"}"#;
        assert_eq!(found(r#"{"result":{"a"#, tail), Some("\"a\"".to_owned()));
        assert_eq!(found(r#"{"result":{"a"#, r#"{"id":7}}]}"#), None);
        assert_eq!(found("Hello", "world"), None);
    }

    #[test]
    fn splices_keep_all_other_bytes() {
        let text = r#"{ "a" : {} , "b": {"c":1 } }"#;
        let whole = 0..text.len();
        let a = member(text.as_bytes(), &whole, "a").unwrap();
        let b = member(text.as_bytes(), &whole, "b").unwrap();
        let edits = vec![
            adding(text.as_bytes(), &b, r#""d":2"#),
            adding(text.as_bytes(), &a, r#""d":2"#),
        ];
        let spliced = splice(text.as_bytes(), edits);
        assert_eq!(
            String::from_utf8(spliced).unwrap(),
            r#"{ "a" : {"d":2} , "b": {"c":1,"d":2 } }"#
        );
    }
}
