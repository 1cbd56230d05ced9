//! Finding where a call ends, a fragment at a time.
//!
//! The lexer knows just enough of JSON, Python and tags to pass over strings and raw values, so
//! that an end marker inside one is no end. It never looks at a byte twice, whatever the split.

/// Nesting that a call may have.
const MOST_DEPTH: usize = 128;
/// Bytes that a tag may have.
const MOST_TAG: usize = 512;
/// Bytes before the first bracket of a call that ends with its brackets.
const MOST_HEAD: usize = 256;

/// What ends a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// One of these markers, or the marker that opens the next call.
    Marker {
        close: &'static [&'static str],
        next: &'static str,
    },
    /// The bracket that closes the first one; with `several`, another value may follow.
    Brackets { several: bool },
}

/// What was found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing yet.
    More,
    /// The body ends at `body`, and what follows begins at `after`.
    End { body: usize, after: usize },
    /// This is no call.
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Plain,
    Quoted(u8),
    /// A value that ends with this text, whatever it holds.
    Raw(String),
    /// The value of a tag of this name; it may hold whole tags of the same name.
    Value {
        name: String,
        depth: usize,
    },
}

/// A resumable search for the end of one call.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    start: usize,
    at: usize,
    state: State,
    /// The last byte that was neither blank nor part of a value.
    last: u8,
    depth: usize,
    /// The end of the last whole value.
    closed: Option<usize>,
}

/// Does `text` start with `marker`? `None`: it may, when more of it is known.
pub(crate) fn starts(text: &[u8], marker: &str, done: bool) -> Option<bool> {
    let marker = marker.as_bytes();
    if text.starts_with(marker) {
        return Some(true);
    }
    let open = !done && text.len() < marker.len() && marker.starts_with(text);
    if open { None } else { Some(false) }
}

impl Lexer {
    /// A search that begins at `start`, outside strings.
    pub(crate) fn new(start: usize) -> Self {
        Self {
            start,
            at: start,
            state: State::Plain,
            last: 0,
            depth: 0,
            closed: None,
        }
    }

    /// Does the search stand inside a string or a value?
    pub(crate) fn is_inside_value(&self) -> bool {
        self.state != State::Plain
    }

    /// Where the search stands.
    pub(crate) fn reached(&self) -> usize {
        self.at
    }

    /// The text lost this many bytes at its start.
    pub(crate) fn shift(&mut self, by: usize) {
        self.start -= by;
        self.at -= by;
        self.closed = self.closed.map(|at| at - by);
    }

    /// Searches on.
    pub(crate) fn run(&mut self, text: &str, until: Until, done: bool) -> Step {
        let bytes = text.as_bytes();
        while self.at < bytes.len() {
            let step = match &self.state {
                State::Quoted(quote) => self.quoted(bytes, *quote),
                State::Raw(close) => {
                    let close = close.clone();
                    self.raw(text, &close)
                }
                State::Value { name, depth } => {
                    let (name, depth) = (name.clone(), *depth);
                    self.value(text, &name, depth, done)
                }
                State::Plain => self.plain(bytes, until, done),
            };
            match step {
                Some(step) => return step,
                None => continue,
            }
        }
        match (done, self.closed) {
            (true, Some(body)) => Step::End { body, after: body },
            _ => Step::More,
        }
    }

    fn quoted(&mut self, bytes: &[u8], quote: u8) -> Option<Step> {
        while let Some(byte) = bytes.get(self.at) {
            match *byte {
                b'\\' if self.at + 1 < bytes.len() => self.at += 2,
                b'\\' => return Some(Step::More),
                byte if byte == quote => {
                    self.at += 1;
                    self.last = quote;
                    self.state = State::Plain;
                    return None;
                }
                _ => self.at += 1,
            }
        }
        Some(Step::More)
    }

    fn raw(&mut self, text: &str, close: &str) -> Option<Step> {
        let mut from = self.at;
        while !text.is_char_boundary(from) {
            from += 1;
        }
        match text[from..].find(close) {
            Some(at) => {
                self.at = from + at + close.len();
                self.last = b'>';
                self.state = State::Plain;
                None
            }
            None => {
                self.at = from.max((text.len() + 1).saturating_sub(close.len()));
                Some(Step::More)
            }
        }
    }

    fn value(&mut self, text: &str, name: &str, mut depth: usize, done: bool) -> Option<Step> {
        let (open, close) = (format!("<{name}"), format!("</{name}>"));
        let bytes = text.as_bytes();
        while let Some(next) = bytes[self.at..].iter().position(|byte| *byte == b'<') {
            self.at += next;
            let rest = &bytes[self.at..];
            match (starts(rest, &close, done), starts(rest, &open, done)) {
                (Some(true), _) if depth == 0 => {
                    self.at += close.len();
                    self.last = b'>';
                    self.state = State::Plain;
                    return None;
                }
                (Some(true), _) => depth -= 1,
                (None, _) | (_, None) => return self.pause(name, depth),
                (_, Some(true)) if rest.len() == open.len() && !done => {
                    return self.pause(name, depth);
                }
                (_, Some(true)) => depth += usize::from(opens_value(&rest[open.len()..])),
                _ => {}
            }
            self.at += 1;
        }
        self.at = bytes.len();
        self.pause(name, depth)
    }

    fn pause(&mut self, name: &str, depth: usize) -> Option<Step> {
        let name = name.to_owned();
        self.state = State::Value { name, depth };
        Some(Step::More)
    }

    fn plain(&mut self, bytes: &[u8], until: Until, done: bool) -> Option<Step> {
        let rest = &bytes[self.at..];
        let byte = rest[0];
        if let Some(body) = self.closed {
            return self.follow(rest, body, done);
        }
        if let Until::Marker { close, next } = until {
            let mut open = false;
            for marker in close.iter().copied().chain([next]) {
                if marker.as_bytes().first() != Some(&byte) {
                    continue;
                }
                match starts(rest, marker, done) {
                    Some(false) => {}
                    None => open = true,
                    // The next call's own marker is left to it.
                    Some(true) if marker == next && self.at == self.start => {}
                    Some(true) => {
                        let body = self.at;
                        let after = if marker == next {
                            body
                        } else {
                            body + marker.len()
                        };
                        return Some(Step::End { body, after });
                    }
                }
            }
            if open {
                return Some(Step::More);
            }
        }
        match byte {
            b'"' | b'\'' if self.may_quote() => self.open_quote(rest, byte, done),
            b'\\' => self.escape(rest, done),
            b'<' => self.tag(rest, done),
            b'{' | b'[' | b'(' => self.open(rest, done),
            b'}' | b']' | b')' => self.close(until),
            _ => {
                self.at += 1;
                if !byte.is_ascii_whitespace() {
                    self.last = byte;
                }
                let head = self.depth == 0 && self.at - self.start > MOST_HEAD;
                (head && matches!(until, Until::Brackets { .. })).then_some(Step::Fail)
            }
        }
    }

    /// A quote opens a string only where a value may stand: `it's` holds no string.
    fn may_quote(&self) -> bool {
        matches!(self.last, 0 | b'{' | b'[' | b'(' | b',' | b':' | b'=')
    }

    fn open_quote(&mut self, rest: &[u8], quote: u8, done: bool) -> Option<Step> {
        let triple = if quote == b'"' { "\"\"\"" } else { "'''" };
        match starts(rest, triple, done) {
            None => return Some(Step::More),
            Some(true) => {
                self.at += 3;
                self.state = State::Raw(triple.to_owned());
            }
            Some(false) => {
                self.at += 1;
                self.state = State::Quoted(quote);
            }
        }
        None
    }

    /// `\"` opens a string where the call itself stands inside one.
    fn escape(&mut self, rest: &[u8], done: bool) -> Option<Step> {
        match rest.get(1) {
            None if !done => return Some(Step::More),
            Some(quote @ (b'"' | b'\'')) if self.may_quote() => {
                self.state = State::Raw(format!("\\{}", char::from(*quote)));
            }
            _ => {}
        }
        self.at += 2;
        self.last = b'\\';
        None
    }

    fn open(&mut self, rest: &[u8], done: bool) -> Option<Step> {
        // Tokens of a format, not lists.
        for token in ["[ARGS]", "[CALL_ID]", "[TOOL_CALLS]"] {
            match starts(rest, token, done) {
                None if rest.len() > 1 => return Some(Step::More),
                Some(true) => {
                    self.at += token.len();
                    self.last = 0;
                    let head = self.depth == 0 && self.at - self.start > MOST_HEAD;
                    return head.then_some(Step::Fail);
                }
                _ => {}
            }
        }
        if rest.len() == 1 && rest[0] == b'[' && !done {
            return Some(Step::More);
        }
        self.at += 1;
        self.last = rest[0];
        self.depth += 1;
        (self.depth > MOST_DEPTH).then_some(Step::Fail)
    }

    fn close(&mut self, until: Until) -> Option<Step> {
        self.at += 1;
        self.last = b')';
        self.depth = self.depth.saturating_sub(1);
        match until {
            Until::Brackets { several: false } if self.depth == 0 => {
                let body = self.at;
                Some(Step::End { body, after: body })
            }
            Until::Brackets { several: true } if self.depth == 0 => {
                self.closed = Some(self.at);
                None
            }
            _ => None,
        }
    }

    /// After a whole value: does another follow?
    fn follow(&mut self, rest: &[u8], body: usize, done: bool) -> Option<Step> {
        match rest[0] {
            byte if byte.is_ascii_whitespace() => self.at += 1,
            b';' | b',' if self.last != b';' => {
                self.at += 1;
                self.last = b';';
            }
            b'{' | b'[' | b'<' => {
                let another = starts(rest, "[TOOL_CALLS]", done);
                if another.is_none() {
                    return Some(Step::More);
                }
                if rest[0] == b'{' || another == Some(true) {
                    self.closed = None;
                    self.start = self.at;
                    self.last = 0;
                    return None;
                }
                return Some(Step::End { body, after: body });
            }
            _ => return Some(Step::End { body, after: body }),
        }
        None
    }

    /// A tag that opens a raw value, or any other text with `<`.
    fn tag(&mut self, rest: &[u8], done: bool) -> Option<Step> {
        const QUOTES: [(&str, &str); 5] = [
            ("<![CDATA[", "]]>"),
            ("<|\"|>", "<|\"|>"),
            ("<escape>", "<escape>"),
            ("<arg_value>", "</arg_value>"),
            ("<ifm|arg_value>", "</ifm|arg_value>"),
        ];
        let mut open = false;
        for (marker, close) in QUOTES {
            match starts(rest, marker, done) {
                None => open = true,
                Some(true) => {
                    self.at += marker.len();
                    self.state = State::Raw(close.to_owned());
                    return None;
                }
                Some(false) => {}
            }
        }
        if open {
            return Some(Step::More);
        }
        match value_tag(rest, done) {
            Tag::More => return Some(Step::More),
            Tag::Value { size, name } => {
                self.at += size;
                self.state = State::Value { name, depth: 0 };
            }
            Tag::Raw { size, close } => {
                self.at += size;
                self.state = State::Raw(close);
            }
            Tag::Other => {
                self.at += 1;
                self.last = b'<';
            }
        }
        None
    }
}

enum Tag {
    More,
    Value { size: usize, name: String },
    Raw { size: usize, close: String },
    Other,
}

/// A tag like `<parameter=a>`, `<ns:parameter name="a">`, `<｜X｜parameter …>`, `<param name="a">`,
/// or `<|open|>argument …<|sep|>`: its size, and the text that ends its value.
fn value_tag(rest: &[u8], done: bool) -> Tag {
    let kimi = "<|open|>argument ";
    match starts(rest, kimi, done) {
        None => return Tag::More,
        Some(true) => {
            return match find(rest, b"<|sep|>") {
                Some(at) => Tag::Raw {
                    size: at + "<|sep|>".len(),
                    close: "<|close|>argument".to_owned(),
                },
                None if done || rest.len() > MOST_TAG => Tag::Other,
                None => Tag::More,
            };
        }
        Some(false) => {}
    }
    let head = &rest[..rest.len().min(MOST_TAG)];
    let Some(end) = head.iter().position(|byte| *byte == b'>') else {
        return match done || head.len() == MOST_TAG || !plausible(head) {
            true => Tag::Other,
            false => Tag::More,
        };
    };
    let Ok(tag) = std::str::from_utf8(&head[1..end]) else {
        return Tag::Other;
    };
    match tag_name(tag) {
        Some(name) if !tag.ends_with('/') => Tag::Value {
            size: end + 1,
            name: name.to_owned(),
        },
        _ => Tag::Other,
    }
}

/// Does a tag's name end before this?
pub(super) fn opens_value(behind: &[u8]) -> bool {
    matches!(behind.first(), Some(b'=' | b' ' | b'\n' | b'\t' | b'>'))
}

/// Can this become a tag of a value?
fn plausible(head: &[u8]) -> bool {
    let name = head.iter().skip(1).take_while(|byte| is_name(**byte));
    let size = name.count() + 1;
    size == head.len() || head[..size].windows(5).any(|part| part == b"param")
}

/// Bytes of a tag's name, its namespace included.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b' ' | b'-') || byte >= 0x80
}

/// The name of a tag that holds one value, its namespace included.
fn tag_name(tag: &str) -> Option<&str> {
    let start = tag.find("param")?;
    let (space, local) = tag.split_at(start);
    let word = local
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(local.len());
    let known = matches!(&local[..word], "parameter" | "param");
    let next = local[word..].chars().next();
    let bounded = matches!(next, None | Some(' ' | '=' | '\n' | '\t'));
    let namespaced = space.is_empty() || space.ends_with(':') || space.trim_end().ends_with('｜');
    // As it is judged while it comes in, or a split would matter.
    let clean = space.bytes().all(is_name);
    (known && bounded && namespaced && clean).then(|| &tag[..start + word])
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let most = haystack.len().min(MOST_TAG);
    haystack[..most]
        .windows(needle.len())
        .position(|part| part == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERMES: Until = Until::Marker {
        close: &["</tool_call>"],
        next: "<tool_call>",
    };

    fn body(text: &str, until: Until) -> Option<String> {
        let whole = match Lexer::new(0).run(text, until, true) {
            Step::End { body, .. } => Some(text[..body].to_owned()),
            _ => None,
        };
        let mut lexer = Lexer::new(0);
        let mut stepped = None;
        for (at, c) in text.char_indices() {
            let so_far = &text[..at + c.len_utf8()];
            if let Step::End { body, .. } = lexer.run(so_far, until, so_far.len() == text.len()) {
                stepped = Some(text[..body].to_owned());
                break;
            }
        }
        assert_eq!(whole, stepped, "{text}");
        whole
    }

    #[test]
    fn end_markers_inside_values_are_none() {
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
            ("{} <|x|:parameter></tool_call>", "{} <|x|:parameter>"),
        ] {
            assert_eq!(body(text, HERMES).as_deref(), Some(wanted));
        }
        assert_eq!(body("{\"a\": 1}", HERMES), None);
    }

    #[test]
    fn brackets_end_a_value() {
        let one = Until::Brackets { several: false };
        let many = Until::Brackets { several: true };
        assert_eq!(
            body("(a=')', b=[1]) x", one).as_deref(),
            Some("(a=')', b=[1])")
        );
        assert_eq!(
            body(r#"{"a": 1}; {"b": 2} x"#, many).as_deref(),
            Some(r#"{"a": 1}; {"b": 2}"#)
        );
        assert_eq!(
            body(r#"f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{} "#, many).as_deref(),
            Some(r#"f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}"#)
        );
        assert_eq!(body("('''a)''')", one).as_deref(), Some("('''a)''')"));
    }
}
