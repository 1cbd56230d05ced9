//! Recognizes the tags that open a raw value, in text that arrives in pieces.

use memchr::{memchr, memchr2};

use super::input::{Match, Window};

/// The most bytes of a tag.
const MAX_TAG: usize = 512;

/// A tag that opens a value, by its size and what ends the value.
pub(super) enum ValueTag {
    NeedMore,
    Named { size: usize, name: String },
    Raw { size: usize, ends: RawEnd },
    NotOne,
}

/// What ends a raw value: this text, if one of `followers` is behind it. The same text with anything
/// else behind it is part of the value, and so is the end of a value that opens inside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawEnd {
    pub(super) open: Option<&'static str>,
    pub(super) close: &'static str,
    pub(super) followers: &'static [&'static str],
}

/// The end of a raw value in a text that is known as a whole.
pub(super) enum RawEnding {
    /// The size of the value, and the text behind its end.
    At(usize, usize),
    /// There are end texts, but none with the right text behind it.
    Ambiguous,
    Missing,
}

/// A resumable search for the end of a raw value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawValue {
    pub(super) ends: RawEnd,
    /// The bytes with which the end text begins, and the text that opens a value inside this one.
    pub(super) first_bytes: [u8; 2],
    /// The number of values that opened inside this one.
    depth: usize,
    has_stray_end: bool,
}

impl RawValue {
    pub(super) fn new(ends: RawEnd) -> Self {
        let first = ends.close.as_bytes()[0];
        let first_open = ends.open.map_or(first, |open| open.as_bytes()[0]);
        Self {
            ends,
            first_bytes: [first, first_open],
            depth: 0,
            has_stray_end: false,
        }
    }

    /// Continues the search from `at` on. Returns where the end text begins, and moves `at` behind
    /// it; or `None` if more of the text is needed.
    pub(super) fn find_end(&mut self, input: Window<'_>, at: &mut usize) -> Option<usize> {
        let RawEnd { open, close, .. } = self.ends;
        let [first, first_open] = self.first_bytes;
        while let Some(next) = memchr2(first, first_open, input.bytes_from(*at)) {
            *at += next;
            let after = *at + close.len();
            match input.match_at(*at, close) {
                Match::NeedMore => return None,
                Match::Yes if self.depth > 0 => {
                    self.depth -= 1;
                    *at = after;
                    continue;
                }
                Match::Yes => match self.ends.is_followed(input, after) {
                    Match::NeedMore => return None,
                    Match::Yes => return Some(std::mem::replace(at, after)),
                    Match::No => {
                        self.has_stray_end = true;
                        *at = after;
                        continue;
                    }
                },
                Match::No => {}
            }
            match open.map_or(Match::No, |open| input.match_at(*at, open)) {
                Match::NeedMore => return None,
                Match::Yes => self.depth += 1,
                Match::No => {}
            }
            *at += 1;
        }
        *at = input.end();
        None
    }
}

impl RawEnd {
    /// Finds the end of the value at the start of `text`.
    pub(super) fn find(self, text: &str) -> RawEnding {
        let mut value = RawValue::new(self);
        let mut at = 0;
        match value.find_end(Window::whole(text), &mut at) {
            Some(size) => RawEnding::At(size, at),
            None if value.has_stray_end || value.depth > 0 => RawEnding::Ambiguous,
            None => RawEnding::Missing,
        }
    }

    /// Returns `Yes` if the text at `at` may follow a value.
    fn is_followed(&self, input: Window<'_>, at: usize) -> Match {
        if self.followers.is_empty() {
            return Match::Yes;
        }
        let blanks = input.bytes_from(at).iter();
        let at = at + blanks.take_while(|byte| byte.is_ascii_whitespace()).count();
        if input.byte(at).is_none() {
            return if input.has_ended() {
                Match::Yes
            } else {
                Match::NeedMore
            };
        }
        let found = self.followers.iter().map(|text| input.match_at(at, text));
        found.fold(Match::No, |all, one| match (all, one) {
            (Match::Yes, _) | (_, Match::Yes) => Match::Yes,
            (Match::NeedMore, _) | (_, Match::NeedMore) => Match::NeedMore,
            _ => Match::No,
        })
    }
}

const PAIR: &[&str] = &[
    "<arg_key>",
    "<tool_call>",
    "</tool_call",
    "<iquest_tool_call>",
    "</iquest_tool_call>",
];
const IFM_PAIR: &[&str] = &["<ifm|arg_key>", "<ifm|tool_call>", "</ifm|tool_call"];
const GEMMA: &[&str] = &[",", "}", "]", ":"];

const fn raw(
    open: Option<&'static str>,
    close: &'static str,
    followers: &'static [&'static str],
) -> RawEnd {
    RawEnd {
        open,
        close,
        followers,
    }
}

/// The raw values between texts that are not tags.
#[rustfmt::skip]
pub(super) static RAW_VALUES: [(&str, RawEnd); 5] = [
    ("<![CDATA[", raw(None, "]]>", &["</"])),
    ("<|\"|>", raw(None, "<|\"|>", GEMMA)),
    ("<escape>", raw(None, "<escape>", GEMMA)),
    ("<arg_value>", raw(Some("<arg_value>"), "</arg_value>", PAIR)),
    ("<ifm|arg_value>", raw(Some("<ifm|arg_value>"), "</ifm|arg_value>", IFM_PAIR)),
];

/// What ends an argument of Kimi K3.
pub(super) const ARGUMENT_END: RawEnd = raw(
    Some("<|open|>argument "),
    "<|close|>argument<|sep|>",
    &["<|open|>argument", "<|close|>call", "<|open|>call"],
);

/// What ends a raw value that this text opens.
pub(super) fn raw_end(open: &str) -> RawEnd {
    let known = RAW_VALUES.iter().find(|(own, _)| *own == open);
    known.map_or(ARGUMENT_END, |(_, end)| *end)
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
                Some(start) => ValueTag::Raw {
                    size: start + SEPARATOR.len(),
                    ends: ARGUMENT_END,
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
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b' ' | b'-' | b'|') || byte >= 0x80
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
    let namespaced =
        space.is_empty() || space.ends_with(':') || space.trim_end().ends_with(['｜', '‖', '|']);
    // The same bytes as in `may_become_value_tag`, or the result would depend on the split.
    let clean = space.bytes().all(is_tag_name);
    (known && bounded && namespaced && clean).then(|| &tag[..start + word])
}
