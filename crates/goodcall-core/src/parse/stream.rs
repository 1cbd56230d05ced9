//! Reading while the text still arrives: bytes in, in any pieces; events and a partial value out.
//!
//! As long as the text is JSON, each byte is looked at once and the partial value is the tree as
//! built so far. From the first departure on, the text is read leniently, and read again only after
//! it has grown by a quarter, which keeps the work linear. The partial value may then lag behind by
//! that much. [`StreamParser::finish`] reads the whole text once, by [`read`](super::read).

use super::error::{ParseClass, ParseError};
use super::lenient::number_end;
use super::plain_text::plain_end;
use super::{ReadOptions, Reading, refusal};
use crate::report::{Refusal, SyntaxExpectation};
use crate::stop::StopReason;
use crate::tree::{GrowingTree, Kind, Node, OpenText, Tree};

/// An event of a [`StreamParser`]. Events stop at the first departure from JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseEvent<'e> {
    /// An array, an object or a string started.
    Start(Kind),
    /// The key of the member that follows.
    Key(&'e str),
    /// More text of the string that is being read, decoded.
    Text(&'e str),
    /// A whole number, `true`, `false` or `null`, as written.
    Scalar(Kind, &'e str),
    /// The innermost open array, object or string ended.
    End(Kind),
}

/// What the stream expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    Value,
    /// After `[`: a value or the end.
    FirstElement,
    /// After `{`: a key or the end.
    FirstKey,
    /// After a comma.
    Key,
    Colon,
    AfterValue,
    Text(OpenText),
    Number,
    Word(Word),
    Done,
    /// The text is not JSON.
    Lenient,
}

/// A literal that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Word::True => "true",
            Word::False => "false",
            Word::Null => "null",
        }
    }
}

/// Whether the stream can go on with the bytes that have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Made,
    /// More bytes are needed, or the text is not JSON.
    Stopped,
}

/// An escape, as far as it has arrived.
enum Escape {
    Incomplete,
    Invalid,
    Decoded { text: String, width: usize },
}

/// A push parser for arguments that arrive in pieces.
///
/// ```
/// use goodcall_core::{ReadOptions, StreamParser};
///
/// let mut stream = StreamParser::new(ReadOptions::new());
/// stream.push(br#"{"city": "Par"#);
/// assert_eq!(stream.partial().unwrap().to_json(), r#"{"city":"Par"}"#);
/// stream.push(br#"is", "days": 3}"#);
/// let reading = stream.finish().unwrap();
/// assert_eq!(reading.tree.to_json(), r#"{"city":"Paris","days":3}"#);
/// ```
#[derive(Clone, Debug)]
pub struct StreamParser {
    options: ReadOptions,
    /// The text so far is its source.
    tree: GrowingTree,
    state: StreamState,
    at: usize,
    /// Where the token that is being read starts.
    start: usize,
    /// The bytes of a character that is not complete.
    tail: Vec<u8>,
    not_utf8: bool,
    /// The last lenient reading.
    lenient: Option<Tree<'static>>,
    /// The length of text that was last read leniently, whether or not it held a value.
    read_length: usize,
}

impl StreamParser {
    /// Returns a parser that has received nothing.
    pub fn new(options: ReadOptions) -> Self {
        Self {
            options,
            tree: GrowingTree::new(),
            state: StreamState::Value,
            at: 0,
            start: 0,
            tail: Vec::new(),
            not_utf8: false,
            lenient: None,
            read_length: 0,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_with(bytes, |_| ());
    }

    /// Takes the next bytes, and calls `emit` for each event that they complete.
    pub fn push_with(&mut self, bytes: &[u8], mut emit: impl FnMut(ParseEvent<'_>)) {
        self.receive(bytes);
        let length = self.text().len();
        if length > self.options.limits.bytes() {
            self.state = StreamState::Lenient;
            return;
        }
        while !matches!(self.state, StreamState::Done | StreamState::Lenient) {
            if self.step(&mut emit) == Progress::Stopped {
                break;
            }
        }
        if self.state == StreamState::Done {
            self.check_text_after();
        }
        let due = self.read_length + self.read_length / 4 + 32;
        if self.state == StreamState::Lenient && length.max(1) >= due {
            self.read_leniently();
        }
    }

    /// Leaves strict reading if something but white space and a fence follows the value.
    fn check_text_after(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
        let after = &self.text()[self.at..];
        let is_fence = after.len() < 8 && "```".starts_with(after.trim_ascii_end());
        if !after.is_empty() && !is_fence {
            self.state = StreamState::Lenient;
        }
    }

    /// Returns true if the text so far is the beginning of a JSON document by RFC 8259.
    ///
    /// ```
    /// use goodcall_core::{ReadOptions, StreamParser};
    ///
    /// let mut stream = StreamParser::new(ReadOptions::new());
    /// stream.push(br#"{"a": "#);
    /// assert!(stream.is_strict());
    /// stream.push(b"'x'}");
    /// assert!(!stream.is_strict());
    /// ```
    pub fn is_strict(&self) -> bool {
        self.state != StreamState::Lenient
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        self.tree.source()
    }

    /// The value so far, if it has started. Open strings, arrays and objects hold what has arrived;
    /// numbers and literals appear when they are complete.
    pub fn partial(&self) -> Option<Node<'_>> {
        let tree = self.lenient.as_ref().or_else(|| self.tree.tree());
        tree.map(Tree::root)
    }

    /// Reads the whole text, as [`read`](super::read) does.
    ///
    /// # Errors
    /// Those of [`read`](super::read); also if the bytes are not UTF-8.
    pub fn finish(self) -> Result<Reading<'static>, Refusal> {
        let text = self.tree.into_source();
        if self.not_utf8 || !self.tail.is_empty() {
            let error = ParseError::new(ParseClass::NotUtf8, SyntaxExpectation::Utf8, text.len());
            return Err(refusal(&error, &text));
        }
        let reading = super::read(&text, &self.options)?;
        Ok(Reading {
            tree: reading.tree.into_owned(),
            changes: reading.changes,
            cut: reading.cut,
            values: reading.values,
        })
    }

    /// Appends the bytes to the text, and keeps an incomplete character for later.
    fn receive(&mut self, bytes: &[u8]) {
        if self.not_utf8 || self.text().len() > self.options.limits.bytes() {
            // More bytes cannot change the verdict.
            return;
        }
        let mut joined = std::mem::take(&mut self.tail);
        let bytes = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let source = self.tree.source_mut();
        match std::str::from_utf8(bytes) {
            Ok(text) => source.push_str(text),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                source.push_str(std::str::from_utf8(valid).expect("bytes that are valid UTF-8"));
                match error.error_len() {
                    None => self.tail = rest.to_vec(),
                    Some(_) => self.not_utf8 = true,
                }
            }
        }
    }

    fn read_leniently(&mut self) {
        let text = self.tree.source();
        self.read_length = text.len();
        let settings = super::lenient::Settings {
            // More of the text may follow.
            stop: StopReason::Unknown,
            ..self.options.for_lenient(&self.options.keys)
        };
        if let Ok(Some(read)) = super::lenient::parse(text, settings) {
            self.lenient = Some(read.tree.into_owned());
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text().as_bytes().get(self.at).copied()
    }

    /// Leaves strict reading for good.
    fn depart(&mut self) -> Progress {
        self.state = StreamState::Lenient;
        Progress::Stopped
    }

    /// Reads one token or part of one.
    fn step(&mut self, emit: &mut impl FnMut(ParseEvent<'_>)) -> Progress {
        match self.state {
            StreamState::Text(which) => return self.text_part(which, emit),
            StreamState::Number => return self.number_part(emit),
            StreamState::Word(word) => return self.word_part(word, emit),
            _ => {}
        }
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
        let Some(byte) = self.peek() else {
            return Progress::Stopped;
        };
        if byte == b'`' && self.tree.tree().is_none() {
            return self.skip_fence();
        }
        self.start = self.at;
        match (self.state, byte) {
            (StreamState::FirstElement, b']') | (StreamState::FirstKey, b'}') => self.close(emit),
            (StreamState::Value | StreamState::FirstElement, _) => self.value(byte, emit),
            (StreamState::FirstKey | StreamState::Key, b'"') => self.open_text(OpenText::Key),
            (StreamState::Colon, b':') => {
                self.at += 1;
                self.state = StreamState::Value;
            }
            (StreamState::AfterValue, b',') => {
                self.at += 1;
                self.state = if self.tree.in_object() {
                    StreamState::Key
                } else {
                    StreamState::Value
                };
            }
            (StreamState::AfterValue, b'}') if self.tree.in_object() => self.close(emit),
            (StreamState::AfterValue, b']') if !self.tree.in_object() => self.close(emit),
            _ => self.state = StreamState::Lenient,
        }
        Progress::Made
    }

    /// Skips the line that opens a code fence. The fence's end is left to
    /// [`StreamParser::finish`].
    fn skip_fence(&mut self) -> Progress {
        let rest = &self.text()[self.at..];
        match rest.find('\n') {
            Some(line) if line <= 80 && rest.starts_with("```") => {
                self.at += line + 1;
                Progress::Made
            }
            None if rest.len() <= 80 => Progress::Stopped,
            _ => self.depart(),
        }
    }

    fn value(&mut self, byte: u8, emit: &mut impl FnMut(ParseEvent<'_>)) {
        match byte {
            b'"' => {
                emit(ParseEvent::Start(Kind::String));
                self.open_text(OpenText::Value);
            }
            b'{' | b'[' if self.tree.depth() >= self.options.limits.depth() => {
                self.state = StreamState::Lenient;
            }
            b'{' => self.open(Kind::Object, StreamState::FirstKey, emit),
            b'[' => self.open(Kind::Array, StreamState::FirstElement, emit),
            b'-' | b'0'..=b'9' => self.state = StreamState::Number,
            b't' => self.state = StreamState::Word(Word::True),
            b'f' => self.state = StreamState::Word(Word::False),
            b'n' => self.state = StreamState::Word(Word::Null),
            _ => self.state = StreamState::Lenient,
        }
    }

    fn open(&mut self, kind: Kind, next: StreamState, emit: &mut impl FnMut(ParseEvent<'_>)) {
        emit(ParseEvent::Start(kind));
        self.tree.open(kind, self.at);
        self.at += 1;
        self.state = next;
    }

    fn close(&mut self, emit: &mut impl FnMut(ParseEvent<'_>)) {
        self.at += 1;
        if let Some(kind) = self.tree.close(self.at) {
            emit(ParseEvent::End(kind));
        }
        self.end_value();
    }

    fn end_value(&mut self) {
        self.state = if self.tree.depth() == 0 {
            StreamState::Done
        } else {
            StreamState::AfterValue
        };
    }

    fn open_text(&mut self, which: OpenText) {
        self.tree.open_text(which, self.at);
        self.at += 1;
        self.state = StreamState::Text(which);
    }

    /// Reads on in a string as far as it has arrived.
    fn text_part(&mut self, which: OpenText, emit: &mut impl FnMut(ParseEvent<'_>)) -> Progress {
        let from = self.at;
        self.at = plain_end(self.text().as_bytes(), from);
        if which == OpenText::Value && self.at > from {
            emit(ParseEvent::Text(&self.text()[from..self.at]));
        }
        match self.peek() {
            None => {
                self.tree.extend_text(which, self.at);
                Progress::Stopped
            }
            Some(b'"') => {
                self.tree.extend_text(which, self.at);
                self.at += 1;
                self.close_text(which, emit);
                Progress::Made
            }
            Some(b'\\') => match self.escape() {
                Escape::Incomplete => {
                    self.tree.extend_text(which, self.at);
                    Progress::Stopped
                }
                Escape::Invalid => self.depart(),
                Escape::Decoded { text, width } => {
                    if which == OpenText::Value {
                        emit(ParseEvent::Text(&text));
                    }
                    self.tree.extend_text(which, self.at);
                    let start = self.at;
                    self.at += width;
                    self.tree.extend_decoded(which, &text, (start, self.at));
                    Progress::Made
                }
            },
            Some(_) => {
                self.tree.extend_text(which, self.at);
                self.depart()
            }
        }
    }

    fn close_text(&mut self, which: OpenText, emit: &mut impl FnMut(ParseEvent<'_>)) {
        self.tree.close_text(which, self.at);
        match which {
            OpenText::Value => {
                emit(ParseEvent::End(Kind::String));
                self.end_value();
            }
            OpenText::Key => {
                if let Some(key) = self.tree.key() {
                    emit(ParseEvent::Key(key));
                }
                self.state = StreamState::Colon;
            }
        }
    }

    /// Decodes the escape that starts here. Both halves of a surrogate pair are one escape.
    fn escape(&self) -> Escape {
        let rest = &self.text()[self.at..];
        let width = match rest.as_bytes() {
            [
                _,
                b'u',
                b'd' | b'D',
                b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B',
                ..,
            ] => 12,
            [_, b'u', _, _, ..] => 6,
            [_] | [_, b'u', ..] => return Escape::Incomplete,
            _ => 2,
        };
        let Some(escape) = rest.get(..width) else {
            return Escape::Incomplete;
        };
        let mut text = String::new();
        if super::lenient::decode_escape(escape, &mut text).is_none() {
            return Escape::Invalid;
        }
        Escape::Decoded { text, width }
    }

    fn number_part(&mut self, emit: &mut impl FnMut(ParseEvent<'_>)) -> Progress {
        while let Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        if self.peek().is_none() {
            return Progress::Stopped;
        }
        if number_end(self.text().as_bytes(), self.start) != Some(self.at) {
            return self.depart();
        }
        let digits = &self.text()[self.start..self.at];
        emit(ParseEvent::Scalar(Kind::Number, digits));
        self.tree
            .add_scalar(Kind::Number, false, self.start, self.at);
        self.end_value();
        Progress::Made
    }

    fn word_part(&mut self, word: Word, emit: &mut impl FnMut(ParseEvent<'_>)) -> Progress {
        let rest = &self.text()[self.start..];
        if !rest.starts_with(word.as_str()) {
            if word.as_str().starts_with(rest) {
                return Progress::Stopped;
            }
            return self.depart();
        }
        self.at = self.start + word.as_str().len();
        let kind = match word {
            Word::Null => Kind::Null,
            Word::True | Word::False => Kind::Boolean,
        };
        emit(ParseEvent::Scalar(kind, word.as_str()));
        self.tree
            .add_scalar(kind, word == Word::True, self.start, self.at);
        self.end_value();
        Progress::Made
    }
}
