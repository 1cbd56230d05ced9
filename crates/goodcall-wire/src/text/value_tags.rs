//! Recognizes the tags that open a raw value, in text that arrives in pieces.

use memchr::memchr;

use super::input::{Match, Window};

/// The most bytes of a tag.
const MAX_TAG: usize = 512;

/// A tag that opens a value, by its size and what ends the value.
pub(super) enum ValueTag {
    NeedMore,
    Named { size: usize, name: String },
    ClosedBy { size: usize, close: String },
    NotOne,
}

/// Reads a tag like `<parameter=a>`, `<ns:parameter name="a">`, `<｜X｜parameter …>`,
/// `<param name="a">`, or `<|open|>argument …<|sep|>`.
pub(super) fn value_tag(input: Window<'_>, at: usize) -> ValueTag {
    const SEPARATOR: &[u8] = b"<|sep|>";
    let rest = input.bytes_from(at);
    let head = &rest[..rest.len().min(MAX_TAG)];
    match input.match_at(at, "<|open|>argument ") {
        Match::NeedMore => return ValueTag::NeedMore,
        Match::Yes => {
            let mut windows = head.windows(SEPARATOR.len());
            return match windows.position(|part| part == SEPARATOR) {
                Some(start) => ValueTag::ClosedBy {
                    size: start + SEPARATOR.len(),
                    close: "<|close|>argument".to_owned(),
                },
                None if input.has_ended() || rest.len() > MAX_TAG => ValueTag::NotOne,
                None => ValueTag::NeedMore,
            };
        }
        Match::No => {}
    }
    let Some(end) = memchr(b'>', head) else {
        let complete = input.has_ended() || head.len() == MAX_TAG;
        return if complete || !may_become_value_tag(head) {
            ValueTag::NotOne
        } else {
            ValueTag::NeedMore
        };
    };
    let Ok(tag) = std::str::from_utf8(&head[1..end]) else {
        return ValueTag::NotOne;
    };
    match value_tag_name(tag) {
        Some(name) if !tag.ends_with('/') => ValueTag::Named {
            size: end + 1,
            name: name.to_owned(),
        },
        _ => ValueTag::NotOne,
    }
}

/// Returns true if the name of a tag ends before `behind`.
pub(super) fn ends_tag_name(behind: &[u8]) -> bool {
    matches!(behind.first(), Some(b'=' | b' ' | b'\n' | b'\t' | b'>'))
}

fn may_become_value_tag(head: &[u8]) -> bool {
    let name = head.iter().skip(1).take_while(|byte| is_tag_name(**byte));
    let size = name.count() + 1;
    size == head.len() || head[..size].windows(5).any(|part| part == b"param")
}

/// Returns true for the bytes of a tag's name, its namespace included.
fn is_tag_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b' ' | b'-') || byte >= 0x80
}

/// The name of a tag that holds one value, its namespace included.
fn value_tag_name(tag: &str) -> Option<&str> {
    let start = tag.find("param")?;
    let (space, local) = tag.split_at(start);
    let word = local
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(local.len());
    let known = matches!(&local[..word], "parameter" | "param");
    let next = local[word..].chars().next();
    let bounded = matches!(next, None | Some(' ' | '=' | '\n' | '\t'));
    let namespaced = space.is_empty() || space.ends_with(':') || space.trim_end().ends_with('｜');
    // The same bytes as in `may_become_value_tag`, or the result would depend on the split.
    let clean = space.bytes().all(is_tag_name);
    (known && bounded && namespaced && clean).then(|| &tag[..start + word])
}
