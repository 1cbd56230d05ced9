//! Reading while the text still arrives: bytes in, in any pieces; events and a partial value out.
//!
//! As long as the text is JSON, each byte is looked at once and the partial value is the tree as
//! built so far. From the first departure on, the text is read leniently, again only after it has
//! grown by a quarter, so that the work in all stays linear; the partial value may then lag behind
//! by that much. [`StreamParser::finish`] reads the whole text once, by [`read`](super::read).

use std::borrow::Cow;

use super::error::{ParseClass, ParseError};
use super::lenient::number_end;
use super::strict::plain_end;
use super::{ReadOptions, Reading, refusal};
use crate::report::Refusal;
use crate::report::SyntaxExpectation;
use crate::tree::{Id, Kind, Node, Slot, Slots, TextStore, Tree};

/// What happened in a [`StreamParser`]. Events stop at the first departure from JSON.
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
    /// The array, object or string that started last and did not end yet, ended.
    End(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    Value,
    /// After `[`: a value or the end.
    First,
    /// After `{`: a key or the end; after a comma: a key.
    Key {
        first: bool,
    },
    Colon,
    After,
    Text {
        key: bool,
    },
    Number,
    Word(&'static str, Kind, bool),
    Done,
    /// The text is not JSON.
    Lenient,
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
    tree: Tree<'static>,
    open: Vec<Id>,
    state: StreamState,
    at: usize,
    /// Where the token that is being read starts.
    start: usize,
    /// A key whose value has not started: its text in source or buffer, and its bytes.
    key: Option<Slot>,
    /// Bytes of the string in the source that are not copied to the buffer yet.
    copied: usize,
    /// Bytes of a character that is not complete.
    tail: Vec<u8>,
    not_utf8: bool,
    /// The last lenient reading.
    lenient: Option<Tree<'static>>,
    /// The length of text that was last read leniently, whether or not a value was in it.
    tried: usize,
}

impl StreamParser {
    /// A stream that has received nothing.
    pub fn new(options: ReadOptions) -> Self {
        Self {
            options,
            tree: Tree {
                source: Cow::Owned(String::new()),
                slots: Slots::default(),
                buffer: String::new(),
                root: 0,
            },
            open: Vec::new(),
            state: StreamState::Value,
            at: 0,
            start: 0,
            key: None,
            copied: 0,
            tail: Vec::new(),
            not_utf8: false,
            lenient: None,
            tried: 0,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_with(bytes, |_| ());
    }

    /// Takes the next bytes, and tells what they brought.
    pub fn push_with(&mut self, bytes: &[u8], mut tell: impl FnMut(ParseEvent<'_>)) {
        self.receive(bytes);
        let before = self.tree.source.len().max(1);
        if self.tree.source.len() > self.options.limits.bytes() {
            self.state = StreamState::Lenient;
            return;
        }
        while !matches!(self.state, StreamState::Done | StreamState::Lenient) {
            if !self.step(&mut tell) {
                break;
            }
        }
        while self.state == StreamState::Done
            && self.peek().is_some_and(|b| b.is_ascii_whitespace())
        {
            self.at += 1;
        }
        let after = &self.tree.source[self.at..];
        let fence = after.len() < 8 && "```".starts_with(after.trim_ascii_end());
        if self.state == StreamState::Done && !after.is_empty() && !fence {
            self.state = StreamState::Lenient;
        }
        let read = self.tried;
        if self.state == StreamState::Lenient && before >= read + read / 4 + 32 {
            self.read_leniently();
        }
    }

    /// Is the text so far the beginning of a JSON document, as RFC 8259 has it?
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
        &self.tree.source
    }

    /// The value so far, if it has started: open strings, arrays and objects hold what has
    /// arrived; numbers and words appear when they are whole.
    pub fn partial(&self) -> Option<Node<'_>> {
        match &self.lenient {
            Some(tree) => Some(tree.root()),
            None => (!self.tree.slots.is_empty()).then(|| self.tree.root()),
        }
    }

    /// Reads the whole text, as [`read`](super::read) does.
    ///
    /// # Errors
    /// Those of [`read`](super::read); also if the bytes are not UTF-8.
    pub fn finish(self) -> Result<Reading<'static>, Refusal> {
        let text = self.tree.source;
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

    /// Appends what is text of the bytes; keeps an unfinished character for later.
    fn receive(&mut self, bytes: &[u8]) {
        if self.not_utf8 || self.tree.source.len() > self.options.limits.bytes() {
            // What comes now cannot change the verdict.
            return;
        }
        let mut joined = std::mem::take(&mut self.tail);
        let bytes = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let source = self.tree.source.to_mut();
        match std::str::from_utf8(bytes) {
            Ok(text) => source.push_str(text),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                source.push_str(std::str::from_utf8(valid).unwrap_or_default());
                match error.error_len() {
                    None => self.tail = rest.to_vec(),
                    Some(_) => self.not_utf8 = true,
                }
            }
        }
    }

    fn read_leniently(&mut self) {
        let text: &str = &self.tree.source;
        let (limits, keys) = (&self.options.limits, &self.options.keys);
        let read = super::lenient::parse(text, limits, keys).ok().flatten();
        let length = text.len();
        if let Some(read) = read {
            self.lenient = Some(read.tree.into_owned());
        }
        self.tried = length;
    }

    fn peek(&self) -> Option<u8> {
        self.tree.source.as_bytes().get(self.at).copied()
    }

    /// Goes on by one token or part of one; `false` if more bytes are needed.
    fn step(&mut self, tell: &mut impl FnMut(ParseEvent<'_>)) -> bool {
        match self.state {
            StreamState::Text { key } => return self.text_part(key, tell),
            StreamState::Number => return self.number_part(tell),
            StreamState::Word(word, kind, truth) => return self.word_part(word, kind, truth, tell),
            _ => {}
        }
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
        let Some(byte) = self.peek() else {
            return false;
        };
        if byte == b'`' && self.tree.slots.is_empty() {
            return self.skip_fence();
        }
        self.start = self.at;
        match (self.state, byte) {
            (StreamState::First, b']') | (StreamState::Key { first: true }, b'}') => {
                self.close(tell)
            }
            (StreamState::Value | StreamState::First, _) => self.value(byte, tell),
            (StreamState::Key { .. }, b'"') => self.open_text(true),
            (StreamState::Colon, b':') => {
                self.at += 1;
                self.state = StreamState::Value;
            }
            (StreamState::After, b',') => {
                self.at += 1;
                self.state = match self.in_object() {
                    true => StreamState::Key { first: false },
                    false => StreamState::Value,
                };
            }
            (StreamState::After, b'}') if self.in_object() => self.close(tell),
            (StreamState::After, b']') if !self.in_object() => self.close(tell),
            _ => self.state = StreamState::Lenient,
        }
        true
    }

    /// Skips the line that opens a code fence; the fence's end is left to [`StreamParser::finish`].
    fn skip_fence(&mut self) -> bool {
        let rest = &self.tree.source[self.at..];
        let Some(line) = rest.find('\n') else {
            if rest.len() > 80 {
                self.state = StreamState::Lenient;
            }
            return false;
        };
        if !rest.starts_with("```") || line > 80 {
            self.state = StreamState::Lenient;
            return false;
        }
        self.at += line + 1;
        true
    }

    fn in_object(&self) -> bool {
        let slot = self.open.last().map(|id| self.tree.slot(*id));
        slot.is_some_and(|slot| slot.kind == Kind::Object)
    }

    fn value(&mut self, byte: u8, tell: &mut impl FnMut(ParseEvent<'_>)) {
        match byte {
            b'"' => {
                tell(ParseEvent::Start(Kind::String));
                self.add(Kind::String, self.at + 1, 0);
                self.open_text(false);
            }
            b'{' | b'[' if self.open.len() >= self.options.limits.depth() => {
                self.state = StreamState::Lenient;
            }
            b'{' | b'[' => {
                let object = byte == b'{';
                let kind = if object { Kind::Object } else { Kind::Array };
                tell(ParseEvent::Start(kind));
                let id = self.add(kind, 0, 0);
                self.tree.slots[id as usize].head = id + 1;
                self.open.push(id);
                self.at += 1;
                self.state = match object {
                    true => StreamState::Key { first: true },
                    false => StreamState::First,
                };
            }
            b'-' | b'0'..=b'9' => self.state = StreamState::Number,
            b't' => self.state = StreamState::Word("true", Kind::Boolean, true),
            b'f' => self.state = StreamState::Word("false", Kind::Boolean, false),
            b'n' => self.state = StreamState::Word("null", Kind::Null, false),
            _ => self.state = StreamState::Lenient,
        }
    }

    /// Adds a node, its key before it.
    fn add(&mut self, kind: Kind, head: usize, size: usize) -> Id {
        let parent = self.open.last().copied();
        if let Some(parent) = parent {
            self.tree.slots[parent as usize].size += 1;
        }
        if let Some(mut key) = self.key.take() {
            key.next = self.tree.slots.len() as Id + 1;
            self.tree.slots.push(key);
        }
        let id = self.tree.slots.len() as Id;
        self.tree.slots.push(Slot {
            kind,
            text: TextStore::Source,
            truth: false,
            next: id + 1,
            head: head as u32,
            size: size as u32,
            start: self.start as u32,
            end: self.at as u32,
        });
        id
    }

    fn close(&mut self, tell: &mut impl FnMut(ParseEvent<'_>)) {
        self.at += 1;
        let following = self.tree.slots.len() as Id;
        if let Some(id) = self.open.pop() {
            let slot = &mut self.tree.slots[id as usize];
            slot.next = following;
            slot.end = self.at as u32;
            tell(ParseEvent::End(slot.kind));
        }
        self.ended();
    }

    fn ended(&mut self) {
        self.state = match self.open.is_empty() {
            true => StreamState::Done,
            false => StreamState::After,
        };
    }

    fn open_text(&mut self, key: bool) {
        self.at += 1;
        self.copied = self.at;
        self.state = StreamState::Text { key };
        if key {
            self.key = Some(Slot {
                kind: Kind::String,
                text: TextStore::Source,
                truth: false,
                next: 0,
                head: self.at as u32,
                size: 0,
                start: self.start as u32,
                end: self.at as u32,
            });
        }
    }

    /// The slot of the string that is being read.
    fn text_slot(&mut self, key: bool) -> Option<&mut Slot> {
        match key {
            true => self.key.as_mut(),
            false => self.tree.slots.last_mut(),
        }
    }

    /// Reads on in a string as far as it goes.
    fn text_part(&mut self, key: bool, tell: &mut impl FnMut(ParseEvent<'_>)) -> bool {
        let from = self.at;
        self.at = plain_end(self.tree.source.as_bytes(), self.at);
        let decoded = self
            .text_slot(key)
            .is_some_and(|slot| slot.text == TextStore::Buffer);
        if !key && self.at > from {
            tell(ParseEvent::Text(&self.tree.source[from..self.at]));
        }
        if decoded {
            let (copied, at) = (self.copied, self.at);
            self.tree.buffer.push_str(&self.tree.source[copied..at]);
            self.copied = at;
        }
        let more = match self.peek() {
            Some(b'"') => true,
            Some(b'\\') => match self.escape(key, tell) {
                Some(more) => return more,
                None => false,
            },
            Some(_) => {
                self.state = StreamState::Lenient;
                false
            }
            None => false,
        };
        self.fit_text(key);
        if more {
            self.at += 1;
            self.end_text(key, tell);
        }
        more
    }

    /// Brings the slot of the open string up to date.
    fn fit_text(&mut self, key: bool) {
        let (at, written) = (self.at, self.tree.buffer.len());
        if let Some(slot) = self.text_slot(key) {
            let end = if slot.text == TextStore::Buffer {
                written
            } else {
                at
            };
            slot.size = (end as u32).saturating_sub(slot.head);
            slot.end = at as u32;
        }
    }

    fn end_text(&mut self, key: bool, tell: &mut impl FnMut(ParseEvent<'_>)) {
        let end = self.at as u32;
        if let Some(slot) = self.text_slot(key) {
            slot.end = end;
        }
        if !key {
            tell(ParseEvent::End(Kind::String));
            return self.ended();
        }
        if let Some(slot) = &self.key {
            tell(ParseEvent::Key(self.tree.text_of(slot)));
        }
        self.state = StreamState::Colon;
    }

    /// Decodes the escape that starts here: `None` if it has not arrived whole.
    fn escape(&mut self, key: bool, tell: &mut impl FnMut(ParseEvent<'_>)) -> Option<bool> {
        let rest = &self.tree.source[self.at..];
        let bytes = rest.as_bytes();
        let pair = matches!(
            bytes.get(2..4),
            Some([b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B'])
        );
        let width = match bytes.get(1)? {
            b'u' if pair && bytes.get(1) == Some(&b'u') => 12,
            b'u' => 6,
            _ => 2,
        };
        if bytes.get(1) == Some(&b'u') && bytes.len() < 4 {
            return None;
        }
        if bytes.len() < width {
            return None;
        }
        let mut decoded = String::new();
        let piece = rest.get(..width)?;
        let Some(text) = super::lenient::decode_escape(piece, &mut decoded) else {
            self.state = StreamState::Lenient;
            return Some(false);
        };
        if !key {
            tell(ParseEvent::Text(text));
        }
        self.move_to_buffer(key);
        self.tree.buffer.push_str(&decoded);
        self.at += width;
        self.copied = self.at;
        self.fit_text(key);
        Some(true)
    }

    /// The open string goes to the buffer, where its decoded text is contiguous.
    fn move_to_buffer(&mut self, key: bool) {
        let head = self.tree.buffer.len() as u32;
        let (copied, at) = (self.copied, self.at);
        let Some(slot) = self.text_slot(key) else {
            return;
        };
        if slot.text == TextStore::Source {
            slot.text = TextStore::Buffer;
            slot.head = head;
            self.tree.buffer.push_str(&self.tree.source[copied..at]);
        }
    }

    fn number_part(&mut self, tell: &mut impl FnMut(ParseEvent<'_>)) -> bool {
        while let Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        if self.peek().is_none() {
            return false;
        }
        let bytes = self.tree.source.as_bytes();
        if number_end(bytes, self.start) != Some(self.at) {
            self.state = StreamState::Lenient;
            return false;
        }
        let (start, at) = (self.start, self.at);
        tell(ParseEvent::Scalar(
            Kind::Number,
            &self.tree.source[start..at],
        ));
        self.add(Kind::Number, start, at - start);
        self.ended();
        true
    }

    fn word_part(
        &mut self,
        word: &'static str,
        kind: Kind,
        truth: bool,
        tell: &mut impl FnMut(ParseEvent<'_>),
    ) -> bool {
        let rest = &self.tree.source[self.start..];
        if rest.starts_with(word) {
            self.at = self.start + word.len();
            tell(ParseEvent::Scalar(kind, word));
            let id = self.add(kind, 0, 0);
            self.tree.slots[id as usize].truth = truth;
            self.ended();
            return true;
        }
        if !word.starts_with(rest) {
            self.state = StreamState::Lenient;
        }
        false
    }
}
