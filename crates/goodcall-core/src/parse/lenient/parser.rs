//! The state machine: values, members, elements and the brackets around them.
//!
//! No recursion: open containers are a stack of [`OpenContainer`]s. Every step consumes input or closes a
//! frame, so the number of steps is linear.

use super::change_recorder::ChangeRecorder;
use super::rules;
use crate::limits::Limits;
use crate::parse::error::{ParseClass, ParseError};
use crate::parse::{Cut, CutKind};
use crate::report::SyntaxExpectation;
use crate::tree::{Builder, Id, Kind};

/// What opened a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opener {
    Brace,
    Bracket,
    /// A parenthesis: a tuple, or a value in parentheses.
    Paren,
    /// `name(`: one value, an array of values, or an object of named values.
    Call,
    /// Nothing: members without braces.
    Nothing,
}

/// One open container.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenContainer {
    pub(super) opener: Opener,
    pub(super) id: Id,
    pub(super) start: usize,
    /// Members or elements that are complete.
    pub(super) count: u32,
    /// The key that was read last.
    pub(super) key: Option<Id>,
    /// Where the last comma stands, until something follows it.
    pub(super) comma: Option<usize>,
    /// Was the last value a scalar?
    pub(super) scalar: bool,
    /// Is an array in here that has another one after a scalar?
    pub(super) mixed: bool,
    /// The path to it, among those of the notes.
    pub(super) path: Option<u32>,
}

impl OpenContainer {
    pub(super) fn closer(&self) -> u8 {
        match self.opener {
            Opener::Brace => b'}',
            Opener::Bracket => b']',
            Opener::Paren | Opener::Call => b')',
            Opener::Nothing => 0,
        }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParserState {
    Value,
    Key,
    After,
    Done,
}

pub(super) type StepResult = Result<ParserState, ParseError>;

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) out: Builder,
    pub(super) frames: Vec<OpenContainer>,
    pub(super) notes: ChangeRecorder,
    pub(super) keys: &'a [String],
    pub(super) roots: Vec<Id>,
    pub(super) cut: Option<Cut>,
    pub(super) repeated_keys: bool,
    /// The string that was read last, if nothing came after it.
    pub(super) last_string: Option<Id>,
    /// Bytes that may still be read a second time before every doubt is settled at once.
    pub(super) fuel: usize,
    /// Was the end of a string decided by what follows it?
    pub(super) requoted: bool,
    /// A value of which there is no telling what was meant.
    pub(super) doubt: Option<super::Ambiguity>,
    /// What is wrong with the end of the text, other than that it was cut off.
    pub(super) because: Option<super::Ambiguity>,
    /// Where members were found that belong to nothing.
    pub(super) lost: Option<usize>,
    /// The last byte of the text that is no white space.
    pub(super) last_byte: u8,
    /// The last opening bracket of the text.
    pub(super) last_open: usize,
    /// The value being read, at the root.
    pub(super) current: Id,
    /// It is an object without braces.
    pub(super) braceless: bool,
    /// Opening brackets that were dropped, and whose closing ones did not follow yet.
    pub(super) dropped: usize,
    max_depth: usize,
    /// Where a bracket opened at the greatest depth allowed, if one did.
    pub(super) deepest: Option<usize>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, limits: &Limits, keys: &'a [String]) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            out: Builder::with_capacity((text.len() / 6 + 4).min(1 << 16)),
            frames: Vec::new(),
            notes: ChangeRecorder::new(limits, text.len()),
            keys,
            roots: Vec::new(),
            cut: None,
            repeated_keys: false,
            last_string: None,
            fuel: 2 * text.len() + 1024,
            requoted: false,
            doubt: None,
            because: None,
            lost: None,
            last_byte: text.trim_end().bytes().next_back().unwrap_or(0),
            last_open: text.rfind(['{', '[']).map_or(0, |at| at + 1),
            current: 0,
            braceless: false,
            dropped: 0,
            max_depth: limits.depth(),
            deepest: None,
        }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Are only members without braces open?
    pub(super) fn is_braceless(&self) -> bool {
        matches!(self.frames.as_slice(), [only] if only.opener == Opener::Nothing)
    }

    /// Does an opening bracket come after this position?
    pub(super) fn bracket_after(&self, at: usize) -> bool {
        self.last_open > at + 1
    }

    /// Reads one value from here to its end.
    pub(super) fn root(&mut self) -> Result<(), ParseError> {
        let root = self.out.next_id();
        self.current = root;
        self.last_string = None;
        let mut state = match std::mem::take(&mut self.braceless) {
            true => self.open(Opener::Nothing, Kind::Object)?,
            false => ParserState::Value,
        };
        while state != ParserState::Done {
            state = match state {
                ParserState::Value => self.value()?,
                ParserState::Key => self.key()?,
                ParserState::After | ParserState::Done => self.after()?,
            };
        }
        if self.out.next_id() > root {
            self.roots.push(root);
            self.look_for_repeats(root);
            self.notes
                .record
                .borders
                .push(self.notes.record.notes.len());
        }
        Ok(())
    }

    /// A value is complete.
    #[inline]
    pub(super) fn done(&mut self) -> ParserState {
        match self.frames.last_mut() {
            Some(frame) => {
                frame.count += 1;
                frame.comma = None;
                frame.scalar = true;
                ParserState::After
            }
            None => ParserState::After,
        }
    }

    pub(super) fn open(&mut self, opener: Opener, kind: Kind) -> StepResult {
        if self.out.depth() >= self.max_depth {
            let wanted = SyntaxExpectation::Depth(self.max_depth);
            return Err(ParseError::new(ParseClass::TooDeep, wanted, self.at));
        }
        if self.out.depth() + 1 == self.max_depth {
            self.deepest = Some(self.at);
        }
        let id = self.out.next_id();
        if kind == Kind::Array
            && self.out.in_object() == Some(false)
            && let Some(around) = self.frames.last_mut()
        {
            around.mixed |= around.scalar;
        }
        self.out.open(kind, self.at);
        self.frames.push(OpenContainer {
            opener,
            id,
            start: self.at,
            count: 0,
            key: None,
            comma: None,
            scalar: false,
            mixed: false,
            path: None,
        });
        self.last_string = None;
        if opener != Opener::Nothing {
            self.at += 1;
        }
        Ok(match kind {
            Kind::Object => ParserState::Key,
            _ => ParserState::Value,
        })
    }

    #[inline]
    fn value(&mut self) -> StepResult {
        self.gap();
        let Some(byte) = self.peek() else {
            return Ok(self.end(CutKind::Inside));
        };
        match byte {
            b'"' => self.string_value(),
            b'{' => self.open(Opener::Brace, Kind::Object),
            b'[' => self.open(Opener::Bracket, Kind::Array),
            b'0'..=b'9' | b'-' => self.number_value(),
            b'\'' | b'`' => self.string_value(),
            b'(' => {
                self.note(rules::TUPLE, self.at..self.at + 1, "[");
                self.open(Opener::Paren, Kind::Array)
            }
            b'}' | b']' | b')' => Ok(self.close_before_value(byte, 1)),
            b',' | b';' => Ok(self.comma_before_value(1)),
            b':' | b'=' => {
                self.note(rules::EXTRA_COLON, self.at..self.at + 1, "");
                self.at += 1;
                Ok(ParserState::Value)
            }
            0x80.. => self.wide_value(),
            _ => self.word_value(),
        }
    }

    /// A value that starts with a character outside ASCII.
    fn wide_value(&mut self) -> StepResult {
        if self.opening_quote().is_some() {
            return self.string_value();
        }
        let Some((plain, width)) = self.wide() else {
            return self.word_value();
        };
        let span = self.at..self.at + width;
        let mut ascii = [0; 4];
        let ascii: &str = char::from(plain).encode_utf8(&mut ascii);
        self.note(rules::WIDE_PUNCTUATION, span, ascii);
        match plain {
            b'{' | b'[' | b'(' => {
                let start = self.at;
                let (opener, kind) = match plain {
                    b'{' => (Opener::Brace, Kind::Object),
                    b'[' => (Opener::Bracket, Kind::Array),
                    _ => (Opener::Paren, Kind::Array),
                };
                let step = self.open(opener, kind);
                self.at = start + width;
                step
            }
            b'}' | b']' | b')' => Ok(self.close_before_value(plain, width)),
            b',' => Ok(self.comma_before_value(width)),
            _ => {
                self.at += width;
                Ok(ParserState::Value)
            }
        }
    }

    /// A closing bracket where a value should be.
    fn close_before_value(&mut self, byte: u8, width: usize) -> ParserState {
        if self.out.in_object() == Some(true) {
            self.missing_value();
            return ParserState::After;
        }
        if let Some(frame) = self.frames.last()
            && let Some(comma) = frame.comma
            && frame.opener != Opener::Paren
        {
            self.note_trailing(comma);
        }
        self.close(byte, width)
    }

    pub(super) fn note_trailing(&mut self, comma: usize) {
        let rest = self.text.get(comma..).unwrap_or_default();
        let width = rest.chars().next().map_or(0, char::len_utf8);
        self.note(rules::TRAILING_COMMA, comma..comma + width, "");
    }

    /// A comma where a value should be.
    fn comma_before_value(&mut self, width: usize) -> ParserState {
        if self.out.in_object() == Some(true) {
            self.missing_value();
            return ParserState::After;
        }
        let end = self.commas_end(width);
        self.note(rules::EMPTY_ELEMENT, self.at..end, "");
        self.at = end;
        ParserState::Value
    }

    /// The end of a row of commas, the first of which has this many bytes.
    pub(super) fn commas_end(&self, width: usize) -> usize {
        let from = self.at + width;
        let more = self.bytes[from..].iter().take_while(|b| **b == b',');
        from + more.count()
    }

    #[inline]
    fn after(&mut self) -> StepResult {
        if self.frames.is_empty() {
            return Ok(self.after_root());
        }
        let newline = self.gap();
        let Some(byte) = self.peek() else {
            return Ok(self.end(CutKind::Brackets));
        };
        let (byte, width) = match byte {
            0x80.. => self.wide().unwrap_or((byte, 1)),
            byte => (byte, 1),
        };
        match byte {
            b',' | b';' => {
                if byte == b';' || width > 1 {
                    self.note(rules::WIDE_PUNCTUATION, self.at..self.at + width, ",");
                }
                Ok(self.comma(width))
            }
            b'}' | b']' | b')' => {
                if width > 1 {
                    let plain = char::from(byte).to_string();
                    self.note(rules::WIDE_PUNCTUATION, self.at..self.at + width, &plain);
                }
                Ok(self.close(byte, width))
            }
            b':' | b'=' if self.last_string.is_some() => self.late_colon(width),
            b'+' if self.last_string.is_some() => self.join_string(),
            _ if self.at_fence_end(newline) => Ok(self.end(CutKind::Brackets)),
            _ => self.no_comma(newline),
        }
    }

    fn comma(&mut self, width: usize) -> ParserState {
        if let Some(frame) = self.frames.last_mut() {
            frame.comma = Some(self.at);
            frame.key = None;
        }
        self.at += width;
        self.last_string = None;
        match self.out.in_object() {
            Some(true) => ParserState::Key,
            _ => ParserState::Value,
        }
    }

    /// Does this closed object have two members with equal keys? Others have none.
    fn look_for_repeats(&mut self, id: Id) {
        let object = self.out.slot(id).map(|slot| slot.kind) == Some(Kind::Object);
        let known = self.repeated_keys || !object;
        self.repeated_keys |= !known && self.out.repeats_key(id, self.text);
    }

    /// Closes the innermost container, and with it what only it can close.
    pub(super) fn pop(&mut self, end: usize) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let object = self.out.in_object() == Some(true);
        let id = self.out.close(end);
        if object {
            // A root may be opened again, many times; it is looked at when it is over.
            if !self.frames.is_empty() {
                self.look_for_repeats(id);
            }
        } else if matches!(frame.opener, Opener::Paren | Opener::Call) {
            if frame.count == 1 && frame.comma.is_none() {
                self.out.collapse(id);
            } else if frame.count == 0 && frame.opener == Opener::Call {
                self.out.turn_into_object(id);
            }
        }
        self.last_string = None;
        self.done();
        if let Some(around) = self.frames.last_mut() {
            around.scalar = false;
            around.mixed |= frame.mixed;
        }
    }
}
