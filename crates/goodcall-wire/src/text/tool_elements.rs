//! Calls whose tag is the tool's own name, with an element for each parameter:
//! `<read_file><path>src/a.rs</path></read_file>`.
//!
//! A value is what stands between its tags, whatever that is. Its end tag counts where the next
//! element or the end of the call follows; elements of the same name may stand inside.

use std::ops::Range;

use super::call_end::starts;
use super::python_values::quote;
use super::{Found, untyped_values};
use crate::call::State;
use crate::tools::ToolDefinition;

/// Bytes that the name of a parameter may have.
const MOST_KEY: usize = 128;

/// What was found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing yet; at the end of the text, the call was cut off.
    More,
    /// The call ends here.
    End(usize),
    /// This is no call.
    Fail,
}

/// A resumable search for the end of one call, which keeps its members.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// The tool's name as it was written.
    pub(super) name: String,
    at: usize,
    place: Place,
    /// Keys and values, by their places.
    members: Vec<(Range<usize>, Range<usize>)>,
    /// An end tag of the value stood before more text.
    stray: bool,
    /// The end tag of the call stood inside a value.
    passed: bool,
    torn: bool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Before an element, or the end of the call.
    Between,
    /// Inside a value, and so many elements of the same name.
    Value(usize),
    /// Behind an end tag that stood here, which may be part of the value still.
    Behind(usize),
}

/// What stands at a place where a tag may be.
enum Tag {
    /// A tag of this size around a name.
    Open(usize),
    /// The text ends before it can be told.
    More,
    Other,
}

impl Element {
    /// A search behind the tag of this name.
    pub(super) fn new(name: &str, at: usize) -> Self {
        Self {
            name: name.to_owned(),
            at,
            place: Place::Between,
            members: Vec::new(),
            stray: false,
            passed: false,
            torn: false,
        }
    }

    /// The text lost this many bytes at its start.
    pub(super) fn shift(&mut self, by: usize) {
        self.at -= by;
        if let Place::Behind(end) = &mut self.place {
            *end -= by;
        }
        for (key, value) in &mut self.members {
            *key = key.start - by..key.end - by;
            *value = value.start - by..value.end - by;
        }
    }

    /// Searches on.
    pub(super) fn run(&mut self, text: &str, tool: Option<&ToolDefinition>) -> Step {
        loop {
            let step = match self.place {
                Place::Between => self.between(text, tool),
                Place::Value(depth) => self.value(text, depth),
                Place::Behind(end) => self.behind(text, end),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn blanks(&mut self, text: &str) {
        let rest = text.as_bytes()[self.at..].iter();
        self.at += rest.take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn between(&mut self, text: &str, tool: Option<&ToolDefinition>) -> Option<Step> {
        self.blanks(text);
        let close = format!("</{}>", self.name);
        match starts(&text.as_bytes()[self.at..], &close, false) {
            None => return Some(Step::More),
            Some(true) => return Some(Step::End(self.at + close.len())),
            Some(false) => {}
        }
        let size = match open_tag(&text[self.at..]) {
            Tag::Open(size) => size,
            Tag::More => return Some(Step::More),
            Tag::Other => return Some(Step::Fail),
        };
        let key = self.at + 1..self.at + size - 1;
        let known = |key: &str| tool.is_none_or(|tool| tool.declares(key) || tool.is_open());
        // The first element tells a call from other text with tags.
        if self.members.is_empty() && !known(&text[key.clone()]) {
            return Some(Step::Fail);
        }
        self.at += size;
        self.members.push((key, self.at..self.at));
        (self.stray, self.place) = (false, Place::Value(0));
        None
    }

    fn value(&mut self, text: &str, mut depth: usize) -> Option<Step> {
        let Some((key, _)) = self.members.last() else {
            return Some(Step::Fail);
        };
        let key = &text[key.clone()];
        let (open, close) = (format!("<{key}>"), format!("</{key}>"));
        let end = format!("</{}>", self.name);
        let bytes = text.as_bytes();
        while let Some(next) = bytes[self.at..].iter().position(|byte| *byte == b'<') {
            self.at += next;
            self.place = Place::Value(depth);
            let rest = &bytes[self.at..];
            let tags = [&open, &close, &end].map(|tag| starts(rest, tag, false));
            match tags {
                [Some(true), ..] => depth += 1,
                [_, Some(true), _] if depth == 0 => {
                    self.place = Place::Behind(self.at);
                    self.at += close.len();
                    return None;
                }
                [_, Some(true), _] => depth -= 1,
                [.., Some(true)] => {
                    self.passed = true;
                    if self.stray && depth == 0 {
                        self.torn = true;
                        return Some(Step::End(self.at + end.len()));
                    }
                }
                tags if tags.contains(&None) => return Some(Step::More),
                _ => {}
            }
            self.at += 1;
        }
        self.at = bytes.len();
        self.place = Place::Value(depth);
        Some(Step::More)
    }

    fn behind(&mut self, text: &str, end: usize) -> Option<Step> {
        self.blanks(text);
        let close = format!("</{}>", self.name);
        let closes = starts(&text.as_bytes()[self.at..], &close, false);
        let ends = match (closes, open_tag(&text[self.at..])) {
            (None, _) | (Some(false), Tag::More) => return Some(Step::More),
            (Some(true), _) | (_, Tag::Open(_)) => true,
            (_, Tag::Other) => false,
        };
        if ends {
            self.end_value(end);
        } else {
            (self.stray, self.place) = (true, Place::Value(0));
        }
        None
    }

    fn end_value(&mut self, end: usize) {
        if let Some((_, value)) = self.members.last_mut() {
            value.end = end;
        }
        (self.passed, self.place) = (false, Place::Between);
    }

    /// The call, which begins at `span.start` and ends with the text or with its end tag.
    pub(super) fn found(
        mut self,
        text: &str,
        base: usize,
        span: Range<usize>,
        closed: bool,
        tool: Option<&ToolDefinition>,
    ) -> Found {
        let mut state = State::Whole;
        if !closed {
            let rest = &text[self.at.min(text.len())..];
            let close = format!("</{}>", self.name);
            let ending = close.starts_with(rest);
            if let (Place::Behind(end), true) = (self.place, ending) {
                self.end_value(end);
                state = State::Open;
            } else {
                state = State::Cut;
                self.torn = self.passed;
            }
        }
        // What there is of a value that does not end.
        let stop = match self.place {
            Place::Between => None,
            Place::Behind(end) => Some(end),
            Place::Value(_) => Some(self.at.min(text.len())),
        };
        if let Some((stop, (_, value))) = stop.zip(self.members.last_mut()) {
            value.end = stop;
        }
        let span = base + span.start..base + span.end;
        let (mut out, mut changes) = (String::from("{"), Vec::new());
        let mut last = "";
        for (count, (key, value)) in self.members.iter().enumerate() {
            let (key, value) = (&text[key.clone()], &text[value.clone()]);
            if count > 0 {
                out.push(',');
            }
            quote(key, &mut out);
            out.push(':');
            let types = tool.map(|tool| tool.types_of(key)).unwrap_or_default();
            changes.extend(untyped_values::write(
                untyped_values::inside(value),
                types,
                &mut out,
            ));
            last = key;
        }
        if self.torn {
            let words = format!("one end tag, and none inside the value of `{last}`");
            state = State::Unreadable(words);
        }
        out.push('}');
        changes
            .iter_mut()
            .for_each(|change| change.span = span.clone());
        let mut found = Found::translated(&self.name, out, span);
        (found.changes, found.state) = (changes, state);
        found
    }
}

/// Does a tag around nothing but a name stand here?
fn open_tag(rest: &str) -> Tag {
    let Some(inner) = rest.strip_prefix('<') else {
        return match rest.is_empty() {
            true => Tag::More,
            false => Tag::Other,
        };
    };
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let size = inner.bytes().take(MOST_KEY + 1).take_while(word).count();
    match inner.as_bytes().get(size) {
        Some(b'>') if size > 0 => Tag::Open(size + 2),
        None if size <= MOST_KEY => Tag::More,
        _ => Tag::Other,
    }
}
