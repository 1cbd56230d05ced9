//! Calls whose tag is the tool's own name, with an element for each parameter:
//! `<read_file><path>src/a.rs</path></read_file>`.
//!
//! A value is everything between its tags. Its end tag counts where the next element or the end of
//! the call follows; elements of the same name may be nested in it.

use std::ops::Range;

use memchr::memchr;

use super::FoundCall;
use super::input::{Match, Window};
use super::object_writer::ObjectWriter;
use super::scanner::CandidateOutcome;
use super::turn::Confidence;
use super::untyped_values::trim_line_ends;
use crate::call::CallState;
use crate::tools::{ToolDefinition, Tools};

/// The most bytes of a parameter's name.
const MAX_KEY: usize = 128;

/// A resumable search for the end of one call, which collects its members.
#[derive(Clone, Debug)]
pub(super) struct ToolElement {
    /// The tool's name as it was written.
    name: String,
    start: usize,
    /// Where the elements begin.
    body: usize,
    at: usize,
    place: ElementPlace,
    /// Keys and values by their offsets.
    members: Vec<(Range<usize>, Range<usize>)>,
    /// The value has an end tag with more text behind it.
    has_stray_end: bool,
    /// The value holds the end tag of the call.
    holds_call_end: bool,
    /// No end tag is surely the end of the value.
    is_ambiguous: bool,
}

/// Where the search is.
#[derive(Clone, Copy, Debug)]
enum ElementPlace {
    /// Before an element, or the end of the call.
    BetweenElements,
    /// Inside a value, and inside this many nested elements of the same name.
    InValue(usize),
    /// Behind an end tag at this offset, which may still be part of the value.
    BehindEndTag(usize),
}

enum ElementEnd {
    /// The text ends inside the call.
    NeedMore,
    At(usize),
    NotACall,
}

enum OpenTag {
    NeedMore,
    /// A tag of this size around a name.
    OfSize(usize),
    Other,
}

impl ToolElement {
    /// A call whose tag, of this name, begins at `start`.
    pub(super) fn new(name: &str, start: usize) -> Self {
        let body = start + name.len() + 2;
        Self {
            name: name.to_owned(),
            start,
            body,
            at: body,
            place: ElementPlace::BetweenElements,
            members: Vec::new(),
            has_stray_end: false,
            holds_call_end: false,
            is_ambiguous: false,
        }
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Passes over the text of `input` from `from` on, if it is part of a value whatever follows it.
    pub(super) fn passes_over(&mut self, input: Window<'_>, from: usize) -> bool {
        let text = input.bytes_from(from);
        let in_value = matches!(self.place, ElementPlace::InValue(_));
        let passes = in_value && self.at == from && memchr(b'<', text).is_none();
        if passes {
            self.at += text.len();
        }
        passes
    }

    /// Passes over a byte that comes at `from`, if it is part of a value whatever follows it.
    pub(super) fn passes_byte(&mut self, byte: u8, from: usize) -> bool {
        let in_value = matches!(self.place, ElementPlace::InValue(_));
        let passes = in_value && self.at == from && byte != b'<';
        self.at += usize::from(passes);
        passes
    }

    pub(super) fn read(&mut self, input: Window<'_>, tools: &Tools) -> CandidateOutcome {
        let tool = tools.by_alias(&self.name);
        let (end, closed) = match self.find_end(input.unended(), tool) {
            ElementEnd::NeedMore if !input.has_ended() => return CandidateOutcome::NeedMore,
            ElementEnd::NeedMore => (input.end(), false),
            ElementEnd::At(end) => (end, true),
            ElementEnd::NotACall => return CandidateOutcome::Rejected { resume: self.body },
        };
        let state = if closed {
            CallState::Whole
        } else {
            self.cut_off(input)
        };
        let span = self.start..end;
        CandidateOutcome::Calls {
            span: span.clone(),
            calls: vec![self.call(input, span, state, tool)],
            confidence: Confidence::Marked,
        }
    }

    fn find_end(&mut self, input: Window<'_>, tool: Option<&ToolDefinition>) -> ElementEnd {
        loop {
            let end = match self.place {
                ElementPlace::BetweenElements => self.between_elements(input, tool),
                ElementPlace::InValue(depth) => self.in_value(input, depth),
                ElementPlace::BehindEndTag(end) => self.behind_end_tag(input, end),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    fn end_tag(&self) -> String {
        format!("</{}>", self.name)
    }

    fn skip_blanks(&mut self, input: Window<'_>) {
        let rest = input.bytes_from(self.at).iter();
        self.at += rest.take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn between_elements(
        &mut self,
        input: Window<'_>,
        tool: Option<&ToolDefinition>,
    ) -> Option<ElementEnd> {
        self.skip_blanks(input);
        let close = self.end_tag();
        match input.match_at(self.at, &close) {
            Match::NeedMore => return Some(ElementEnd::NeedMore),
            Match::Yes => return Some(ElementEnd::At(self.at + close.len())),
            Match::No => {}
        }
        let size = match open_tag(input.from(self.at)) {
            OpenTag::OfSize(size) => size,
            OpenTag::NeedMore => return Some(ElementEnd::NeedMore),
            OpenTag::Other => return Some(ElementEnd::NotACall),
        };
        let key = self.at + 1..self.at + size - 1;
        let takes = |key: &str| tool.is_none_or(|tool| tool.declares(key) || tool.is_open());
        // The first element tells a call from other text with tags.
        if self.members.is_empty() && !takes(input.slice(key.clone())) {
            return Some(ElementEnd::NotACall);
        }
        self.at += size;
        self.members.push((key, self.at..self.at));
        self.has_stray_end = false;
        self.place = ElementPlace::InValue(0);
        None
    }

    fn in_value(&mut self, input: Window<'_>, mut depth: usize) -> Option<ElementEnd> {
        let (key, _) = self.members.last().expect("a value has a key");
        let key = input.slice(key.clone());
        let (open, close) = (format!("<{key}>"), format!("</{key}>"));
        let call_end = self.end_tag();
        while let Some(next) = memchr(b'<', input.bytes_from(self.at)) {
            self.at += next;
            self.place = ElementPlace::InValue(depth);
            match [&open, &close, &call_end].map(|tag| input.match_at(self.at, tag)) {
                [Match::Yes, ..] => depth += 1,
                [_, Match::Yes, _] if depth == 0 => {
                    self.place = ElementPlace::BehindEndTag(self.at);
                    self.at += close.len();
                    return None;
                }
                [_, Match::Yes, _] => depth -= 1,
                [.., Match::Yes] => {
                    self.holds_call_end = true;
                    if self.has_stray_end && depth == 0 {
                        self.is_ambiguous = true;
                        self.set_value_end(self.at);
                        return Some(ElementEnd::At(self.at + call_end.len()));
                    }
                }
                tags if tags.contains(&Match::NeedMore) => return Some(ElementEnd::NeedMore),
                _ => {}
            }
            self.at += 1;
        }
        self.at = input.end();
        self.place = ElementPlace::InValue(depth);
        Some(ElementEnd::NeedMore)
    }

    fn behind_end_tag(&mut self, input: Window<'_>, end: usize) -> Option<ElementEnd> {
        self.skip_blanks(input);
        let call_end = input.match_at(self.at, &self.end_tag());
        match (call_end, open_tag(input.from(self.at))) {
            (Match::NeedMore, _) | (Match::No, OpenTag::NeedMore) => {
                return Some(ElementEnd::NeedMore);
            }
            (Match::Yes, _) | (_, OpenTag::OfSize(_)) => self.end_value(end),
            (_, OpenTag::Other) => {
                self.has_stray_end = true;
                self.place = ElementPlace::InValue(0);
            }
        }
        None
    }

    fn set_value_end(&mut self, end: usize) {
        let (_, value) = self.members.last_mut().expect("a value has a key");
        value.end = end;
    }

    fn end_value(&mut self, end: usize) {
        self.set_value_end(end);
        self.holds_call_end = false;
        self.place = ElementPlace::BetweenElements;
    }

    /// Ends the call where the text ends, and returns how much of it there is.
    fn cut_off(&mut self, input: Window<'_>) -> CallState {
        let at = self.at.min(input.end());
        let is_last_tag = self.end_tag().starts_with(input.from(at));
        match self.place {
            ElementPlace::BehindEndTag(end) if is_last_tag => {
                self.end_value(end);
                return CallState::Open;
            }
            ElementPlace::BetweenElements => {}
            ElementPlace::BehindEndTag(end) => self.set_value_end(end),
            ElementPlace::InValue(_) => self.set_value_end(at),
        }
        self.is_ambiguous = self.holds_call_end;
        CallState::Cut
    }

    fn call(
        &self,
        input: Window<'_>,
        span: Range<usize>,
        state: CallState,
        tool: Option<&ToolDefinition>,
    ) -> FoundCall {
        let mut arguments = ObjectWriter::new(tool);
        let mut last_key = "";
        for (key, value) in &self.members {
            last_key = input.slice(key.clone());
            let value = trim_line_ends(input.slice(value.clone()));
            arguments.untyped_member(last_key, value, None);
        }
        let state = if self.is_ambiguous {
            super::ambiguous_end_tag(last_key)
        } else {
            state
        };
        arguments.finish(&self.name, span, state)
    }
}

/// Reads a tag around nothing but a name.
fn open_tag(rest: &str) -> OpenTag {
    if rest.is_empty() {
        return OpenTag::NeedMore;
    }
    let Some(inner) = rest.strip_prefix('<') else {
        return OpenTag::Other;
    };
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let size = inner.bytes().take(MAX_KEY + 1).take_while(is_word).count();
    match inner.as_bytes().get(size) {
        Some(b'>') if size > 0 => OpenTag::OfSize(size + 2),
        None if size <= MAX_KEY => OpenTag::NeedMore,
        _ => OpenTag::Other,
    }
}
