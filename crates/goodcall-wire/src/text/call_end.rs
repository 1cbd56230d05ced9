//! Finds where a call ends, in text that arrives in pieces.
//!
//! The search knows just enough of JSON, Python and tags to pass over strings and raw values, so
//! that an end marker inside one is ignored. It looks at no byte twice, however the text is split.

use memchr::{memchr, memchr2};

use super::input::{Match, Window};
use super::value_tags::{RAW_VALUES, RawEnd, RawValue, ValueTag, ends_tag_name, value_tag};

/// The deepest nesting of a call.
const MAX_DEPTH: usize = 128;
/// The most bytes before the first bracket of a call that ends with its brackets.
const MAX_HEAD: usize = 256;

/// What ends a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndRule {
    /// One of these markers, or the marker that opens the next call.
    Marker {
        close: &'static [&'static str],
        next: &'static str,
    },
    /// The bracket that closes the first one.
    OneValue,
    /// The last bracket of several values in a row.
    SeveralValues,
}

/// Where a call ends: its body, and the end marker behind it, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallEnd {
    pub(crate) body: usize,
    pub(crate) after: usize,
}

impl CallEnd {
    /// The end of a call without an end marker.
    fn at(end: usize) -> Self {
        Self {
            body: end,
            after: end,
        }
    }
}

/// The result of a search for the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSearch {
    NeedMore,
    Found(CallEnd),
    NotACall,
}

/// The value that a search is inside of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EnclosingValue {
    Nothing,
    Quotes(u8),
    /// A value that ends with this text, whatever it holds.
    Raw(RawValue),
    /// The value of a tag of this name, which may hold whole tags of the same name.
    TagValue {
        name: String,
        depth: usize,
        start: usize,
    },
}

/// A resumable search for the end of one call.
#[derive(Clone, Debug)]
pub(crate) struct EndFinder {
    start: usize,
    at: usize,
    inside: EnclosingValue,
    /// The last byte outside of values that was not blank; 0 where a value may begin.
    last: u8,
    depth: usize,
    /// The end of the last whole value, where another may follow.
    closed: Option<usize>,
}

/// Returns true if a tag inside a value that begins at `start` may be one of the format. A value that
/// begins on a line of its own has its tags at the starts of lines; others are part of its text.
pub(super) fn tag_counts(input: Window<'_>, start: usize, at: usize) -> bool {
    let by_lines = matches!(input.byte(start), Some(b'\n' | b'\r'));
    !by_lines || at == start || input.byte(at - 1) == Some(b'\n')
}

/// What is known of a string, behind its opening quote.
struct StringPart {
    /// The bytes before its closing quote, or those that are read: all but a backslash at the end.
    size: usize,
    is_open: bool,
}

fn string_part(bytes: &[u8], quote: u8) -> StringPart {
    let mut size = 0;
    while let Some(byte) = bytes.get(size) {
        match *byte {
            b'\\' if size + 1 < bytes.len() => size += 2,
            b'\\' => break,
            byte if byte == quote => {
                return StringPart {
                    size,
                    is_open: false,
                };
            }
            _ => size += 1,
        }
    }
    StringPart {
        size,
        is_open: true,
    }
}

/// Returns `Yes` if a text that begins with `<` begins with a start or end tag of this name, perhaps a
/// longer one, and `NeedMore` if it still may.
fn tag_of_value(text: &[u8], name: &str) -> Match {
    let behind = text.strip_prefix(b"</").unwrap_or(&text[1..]);
    let shared = behind.len().min(name.len());
    if behind[..shared] != name.as_bytes()[..shared] {
        return Match::No;
    }
    if shared == name.len() {
        Match::Yes
    } else {
        Match::NeedMore
    }
}

/// Returns `Yes` if an end tag that ends at `at` may be the end of a value: a tag follows, or nothing.
fn behind_end_tag(input: Window<'_>, at: usize) -> Match {
    let mut behind = input.bytes_from(at).iter();
    match behind.find(|byte| !byte.is_ascii_whitespace()) {
        Some(byte) => Match::of(matches!(byte, b'<' | b']')),
        None if input.has_ended() => Match::Yes,
        None => Match::NeedMore,
    }
}

/// The size of the value in brackets at the start of `text`; `None` if it has no end.
pub(crate) fn value_size(text: &str) -> Option<usize> {
    match EndFinder::new(0).run(Window::whole(text), EndRule::OneValue) {
        EndSearch::Found(end) => Some(end.body),
        EndSearch::NeedMore | EndSearch::NotACall => None,
    }
}

impl EndFinder {
    /// Begins a search at `start`, which must be outside of strings.
    pub(super) fn new(start: usize) -> Self {
        Self {
            start,
            at: start,
            inside: EnclosingValue::Nothing,
            last: 0,
            depth: 0,
            closed: None,
        }
    }

    pub(super) fn is_inside_value(&self) -> bool {
        self.inside != EnclosingValue::Nothing
    }

    /// Returns true if the value of a tag may go on in the text behind an end marker inside it: there
    /// are words, and the value's own end tag follows them.
    pub(super) fn value_may_go_on(&self, behind: &str) -> bool {
        let EnclosingValue::TagValue { name, .. } = &self.inside else {
            return false;
        };
        let behind = behind.trim_start();
        !behind.starts_with('<') && behind.contains(&format!("</{name}>"))
    }

    /// The offset that the search has reached.
    pub(super) fn reached(&self) -> usize {
        self.at
    }

    /// Passes over the text of `input` from `from` on, if it is part of a value whatever follows it.
    pub(super) fn passes_over(&mut self, input: Window<'_>, from: usize) -> bool {
        let text = input.bytes_from(from);
        let Some([first, second]) = self.stops() else {
            return false;
        };
        if self.at == from && memchr2(first, second, text).is_none() {
            self.at += text.len();
            return true;
        }
        // A run of blanks is not gone through again for each of them.
        let is_blank = || text.iter().all(u8::is_ascii_whitespace);
        (self.is_inside_tag() || !is_blank()) && self.stays_inside(input)
    }

    /// Passes over a byte that comes at `from`, if it is part of a value whatever follows it.
    pub(super) fn passes_byte(&mut self, byte: u8, from: usize) -> bool {
        let passes = self.at == from && self.stops().is_some_and(|stops| !stops.contains(&byte));
        self.at += usize::from(passes);
        passes
    }

    /// The bytes inside the value that must be looked at: they may be the start of its end.
    fn stops(&self) -> Option<[u8; 2]> {
        match &self.inside {
            EnclosingValue::Nothing => None,
            EnclosingValue::Quotes(quote) => Some([*quote, b'\\']),
            EnclosingValue::Raw(value) => Some(value.first_bytes),
            EnclosingValue::TagValue { .. } => Some([b'<', b'<']),
        }
    }

    /// Goes on with the search inside a value, and returns false if the value may end.
    fn stays_inside(&mut self, input: Window<'_>) -> bool {
        match &mut self.inside {
            EnclosingValue::Quotes(quote) => {
                let part = string_part(input.bytes_from(self.at), *quote);
                if part.is_open {
                    self.at += part.size;
                }
                part.is_open
            }
            EnclosingValue::Raw(value) => {
                let (mut search, mut at) = (*value, self.at);
                let stays = search.find_end(input, &mut at).is_none();
                if stays {
                    (*value, self.at) = (search, at);
                }
                stays
            }
            EnclosingValue::TagValue { name, .. } => {
                while let Some(next) = memchr(b'<', input.bytes_from(self.at)) {
                    self.at += next;
                    match tag_of_value(input.bytes_from(self.at), name) {
                        Match::Yes => return false,
                        Match::NeedMore => return true,
                        Match::No => self.at += 1,
                    }
                }
                self.at = input.end();
                true
            }
            EnclosingValue::Nothing => false,
        }
    }

    fn is_inside_tag(&self) -> bool {
        matches!(self.inside, EnclosingValue::TagValue { .. })
    }

    /// Continues the search in all the text that is known now.
    pub(super) fn run(&mut self, input: Window<'_>, rule: EndRule) -> EndSearch {
        while let Some(byte) = input.byte(self.at) {
            let found = match std::mem::replace(&mut self.inside, EnclosingValue::Nothing) {
                EnclosingValue::Nothing => self.outside(input, byte, rule),
                EnclosingValue::Quotes(quote) => self.quoted(input, quote),
                EnclosingValue::Raw(value) => self.raw_value(input, value),
                EnclosingValue::TagValue { name, depth, start } => {
                    self.tag_value(input, name, depth, start)
                }
            };
            if let Some(found) = found {
                return found;
            }
        }
        match self.closed {
            Some(end) if input.has_ended() => EndSearch::Found(CallEnd::at(end)),
            _ => EndSearch::NeedMore,
        }
    }

    fn quoted(&mut self, input: Window<'_>, quote: u8) -> Option<EndSearch> {
        let part = string_part(input.bytes_from(self.at), quote);
        if !part.is_open {
            self.leave_value(self.at + part.size + 1, quote);
            return None;
        }
        self.at += part.size;
        self.inside = EnclosingValue::Quotes(quote);
        Some(EndSearch::NeedMore)
    }

    fn raw_value(&mut self, input: Window<'_>, mut value: RawValue) -> Option<EndSearch> {
        if value.find_end(input, &mut self.at).is_some() {
            self.leave_value(self.at, b'>');
            return None;
        }
        self.inside = EnclosingValue::Raw(value);
        Some(EndSearch::NeedMore)
    }

    fn tag_value(
        &mut self,
        input: Window<'_>,
        name: String,
        mut depth: usize,
        start: usize,
    ) -> Option<EndSearch> {
        let (open, close) = (format!("<{name}"), format!("</{name}>"));
        while let Some(next) = memchr(b'<', input.bytes_from(self.at)) {
            self.at += next;
            let behind_open = input.bytes_from(self.at).get(open.len()..);
            let counts = tag_counts(input, start, self.at);
            match (
                input.match_at(self.at, &close),
                input.match_at(self.at, &open),
            ) {
                (Match::Yes, _) if depth == 0 || !counts => {
                    let after = self.at + close.len();
                    match behind_end_tag(input, after) {
                        Match::NeedMore => return self.wait_in_tag(name, depth, start),
                        Match::Yes if depth == 0 => {
                            self.leave_value(after, b'>');
                            return None;
                        }
                        _ => {}
                    }
                }
                (Match::Yes, _) => depth -= 1,
                (Match::NeedMore, _) | (_, Match::NeedMore) => {
                    return self.wait_in_tag(name, depth, start);
                }
                (Match::No, Match::Yes) if behind_open == Some(&[]) && !input.has_ended() => {
                    return self.wait_in_tag(name, depth, start);
                }
                (Match::No, Match::Yes) if counts => {
                    let behind_open = behind_open.expect("the start of the tag was matched");
                    depth += usize::from(ends_tag_name(behind_open));
                }
                (Match::No, _) => {}
            }
            self.at += 1;
        }
        self.at = input.end();
        self.wait_in_tag(name, depth, start)
    }

    fn wait_in_tag(&mut self, name: String, depth: usize, start: usize) -> Option<EndSearch> {
        self.inside = EnclosingValue::TagValue { name, depth, start };
        Some(EndSearch::NeedMore)
    }

    fn leave_value(&mut self, end: usize, last: u8) {
        self.at = end;
        self.last = last;
        self.inside = EnclosingValue::Nothing;
    }

    /// Takes one step outside of values.
    fn outside(&mut self, input: Window<'_>, byte: u8, rule: EndRule) -> Option<EndSearch> {
        if let Some(end) = self.closed {
            return self.behind_value(input, byte, end);
        }
        if let EndRule::Marker { close, next } = rule
            && let Some(found) = self.end_marker(input, byte, close, next)
        {
            return Some(found);
        }
        match byte {
            b'"' | b'\'' if self.may_quote() => self.open_quote(input, byte),
            b'\\' => self.backslash(input),
            b'<' => self.open_tag(input),
            b'{' | b'[' | b'(' => self.open_bracket(input, byte),
            b'}' | b']' | b')' => self.close_bracket(rule),
            _ => {
                self.at += 1;
                if !byte.is_ascii_whitespace() {
                    self.last = byte;
                }
                let marked = matches!(rule, EndRule::Marker { .. });
                (self.is_head_too_long() && !marked).then_some(EndSearch::NotACall)
            }
        }
    }

    fn end_marker(
        &self,
        input: Window<'_>,
        byte: u8,
        close: &'static [&'static str],
        next: &'static str,
    ) -> Option<EndSearch> {
        let mut need_more = false;
        for marker in close.iter().copied().chain([next]) {
            if marker.as_bytes().first() != Some(&byte) {
                continue;
            }
            match input.match_at(self.at, marker) {
                Match::No => {}
                Match::NeedMore => need_more = true,
                // The next call keeps its own marker.
                Match::Yes if marker == next && self.at == self.start => {}
                Match::Yes if marker == next => {
                    return Some(EndSearch::Found(CallEnd::at(self.at)));
                }
                Match::Yes => {
                    return Some(EndSearch::Found(CallEnd {
                        body: self.at,
                        after: self.at + marker.len(),
                    }));
                }
            }
        }
        need_more.then_some(EndSearch::NeedMore)
    }

    fn is_head_too_long(&self) -> bool {
        self.depth == 0 && self.at - self.start > MAX_HEAD
    }

    /// Returns true where a value may begin: the quote of `it's` opens no string.
    fn may_quote(&self) -> bool {
        matches!(self.last, 0 | b'{' | b'[' | b'(' | b',' | b':' | b'=')
    }

    fn open_quote(&mut self, input: Window<'_>, quote: u8) -> Option<EndSearch> {
        let triple = if quote == b'"' { "\"\"\"" } else { "'''" };
        match input.match_at(self.at, triple) {
            Match::NeedMore => return Some(EndSearch::NeedMore),
            Match::Yes => {
                self.at += 3;
                self.enter_raw(triple);
            }
            Match::No => {
                self.at += 1;
                self.inside = EnclosingValue::Quotes(quote);
            }
        }
        None
    }

    /// Enters a value that ends with the next of this text.
    fn enter_raw(&mut self, close: &'static str) {
        let ends = RawEnd {
            open: None,
            close,
            followers: &[],
        };
        self.inside = EnclosingValue::Raw(RawValue::new(ends));
    }

    /// Passes over an escape. `\"` opens a string where the call itself is written inside one.
    fn backslash(&mut self, input: Window<'_>) -> Option<EndSearch> {
        match input.byte(self.at + 1) {
            None if !input.has_ended() => return Some(EndSearch::NeedMore),
            Some(b'"') if self.may_quote() => self.enter_raw("\\\""),
            Some(b'\'') if self.may_quote() => self.enter_raw("\\'"),
            _ => {}
        }
        self.at += 2;
        self.last = b'\\';
        None
    }

    fn open_bracket(&mut self, input: Window<'_>, bracket: u8) -> Option<EndSearch> {
        let alone = input.bytes_from(self.at).len() == 1;
        // Tokens of a dialect, not lists.
        for token in ["[ARGS]", "[CALL_ID]", "[TOOL_CALLS]"] {
            match input.match_at(self.at, token) {
                Match::NeedMore if !alone => return Some(EndSearch::NeedMore),
                Match::Yes => {
                    self.at += token.len();
                    self.last = 0;
                    return self.is_head_too_long().then_some(EndSearch::NotACall);
                }
                Match::NeedMore | Match::No => {}
            }
        }
        if alone && bracket == b'[' && !input.has_ended() {
            return Some(EndSearch::NeedMore);
        }
        self.at += 1;
        self.last = bracket;
        self.depth += 1;
        (self.depth > MAX_DEPTH).then_some(EndSearch::NotACall)
    }

    fn close_bracket(&mut self, rule: EndRule) -> Option<EndSearch> {
        self.at += 1;
        self.last = b')';
        self.depth = self.depth.saturating_sub(1);
        match rule {
            EndRule::OneValue if self.depth == 0 => Some(EndSearch::Found(CallEnd::at(self.at))),
            EndRule::SeveralValues if self.depth == 0 => {
                self.closed = Some(self.at);
                None
            }
            _ => None,
        }
    }

    /// Looks for another value behind the one that ends at `end`.
    fn behind_value(&mut self, input: Window<'_>, byte: u8, end: usize) -> Option<EndSearch> {
        let ended = Some(EndSearch::Found(CallEnd::at(end)));
        match byte {
            byte if byte.is_ascii_whitespace() => self.at += 1,
            b';' | b',' if self.last != b';' => {
                self.at += 1;
                self.last = b';';
            }
            b'{' | b'[' | b'<' => {
                let another = input.match_at(self.at, "[TOOL_CALLS]");
                if another == Match::NeedMore {
                    return Some(EndSearch::NeedMore);
                }
                if byte != b'{' && another == Match::No {
                    return ended;
                }
                self.closed = None;
                self.start = self.at;
                self.last = 0;
            }
            _ => return ended,
        }
        None
    }

    /// Passes over a tag that opens a raw value, or over the `<` of any other text.
    fn open_tag(&mut self, input: Window<'_>) -> Option<EndSearch> {
        let mut need_more = false;
        for (open, ends) in &RAW_VALUES {
            match input.match_at(self.at, open) {
                Match::NeedMore => need_more = true,
                Match::Yes => {
                    self.at += open.len();
                    self.inside = EnclosingValue::Raw(RawValue::new(*ends));
                    return None;
                }
                Match::No => {}
            }
        }
        if need_more {
            return Some(EndSearch::NeedMore);
        }
        match value_tag(input, self.at) {
            ValueTag::NeedMore => return Some(EndSearch::NeedMore),
            ValueTag::Named { size, name } => {
                self.at += size;
                let (depth, start) = (0, self.at);
                self.inside = EnclosingValue::TagValue { name, depth, start };
            }
            ValueTag::Raw { size, ends } => {
                self.at += size;
                self.inside = EnclosingValue::Raw(RawValue::new(ends));
            }
            ValueTag::NotOne => {
                self.at += 1;
                self.last = b'<';
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERMES: EndRule = EndRule::Marker {
        close: &["</tool_call>"],
        next: "<tool_call>",
    };

    /// The body of the call at the start of `text`, whole and one character at a time.
    fn body(text: &str, rule: EndRule) -> Option<&str> {
        let body = |search| match search {
            EndSearch::Found(end) => Some(&text[..end.body]),
            EndSearch::NeedMore | EndSearch::NotACall => None,
        };
        let whole = body(EndFinder::new(0).run(Window::whole(text), rule));
        let mut finder = EndFinder::new(0);
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let stepped = ends.map(|end| {
            let window = Window::whole(&text[..end]);
            let window = if end < text.len() {
                window.unended()
            } else {
                window
            };
            body(finder.run(window, rule))
        });
        assert_eq!(whole, stepped.flatten().next(), "{text}");
        whole
    }

    #[test]
    fn end_markers_inside_values_are_ignored() {
        for (text, wanted) in [
            (
                r#"{"a": "</tool_call>"}</tool_call>x"#,
                r#"{"a": "</tool_call>"}"#,
            ),
            ("{'a': 'it'}</tool_call>", "{'a': 'it'}"),
            ("it's</tool_call>", "it's"),
            (
                "<function=f><parameter=a>\n</tool_call>\n</parameter></function></tool_call>",
                "<function=f><parameter=a>\n</tool_call>\n</parameter></function>",
            ),
            (
                "f<arg_key>a</arg_key><arg_value></tool_call></arg_value></tool_call>",
                "f<arg_key>a</arg_key><arg_value></tool_call></arg_value>",
            ),
            ("{\"a\": 1}\n<tool_call>{", "{\"a\": 1}\n"),
            ("{} <$x$:parameter></tool_call>", "{} <$x$:parameter>"),
        ] {
            assert_eq!(body(text, HERMES), Some(wanted));
        }
        assert_eq!(body("{\"a\": 1}", HERMES), None);
    }

    #[test]
    fn closing_brackets_end_a_value() {
        let one = EndRule::OneValue;
        let many = EndRule::SeveralValues;
        assert_eq!(body("(a=')', b=[1]) x", one), Some("(a=')', b=[1])"));
        assert_eq!(
            body(r#"{"a": 1}; {"b": 2} x"#, many),
            Some(r#"{"a": 1}; {"b": 2}"#)
        );
        assert_eq!(
            body(r#"f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{} "#, many),
            Some(r#"f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}"#)
        );
        assert_eq!(body("('''a)''')", one), Some("('''a)''')"));
    }
}
