//! The state machine: values, members, elements and the brackets around them.
//!
//! There is no recursion: the open containers are a stack. Every step consumes input or closes a
//! container, so the number of steps is linear.
//!
//! The other files of this folder add the steps that recover from a departure. They see the parser
//! through the narrow methods at its top only.

use std::ops::Range;

use super::change_recorder::{ChangeRecorder, Place};
use super::containers::{OpenContainer, OpenContainers, Opener};
use super::findings::{Ambiguity, Findings};
use super::known_keys::KnownKeys;
use super::rules::{self, RuleRef};
use super::source_text::SourceText;
use crate::limits::Limits;
use crate::parse::error::{ParseClass, ParseError};
use crate::parse::{Cut, CutKind};
use crate::report::{SyntaxExpectation, TextRef, TextSpan};
use crate::tree::{Id, Kind, TreeBuilder};

/// What the parser expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParserState {
    Value,
    Key,
    /// A comma or a closing bracket.
    AfterValue,
    Done,
}

pub(super) type StepResult = Result<ParserState, ParseError>;

/// The values at the root of the text.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// The complete ones.
    pub(super) ids: Vec<Id>,
    /// The one that is being read.
    pub(super) current: Id,
    /// The next one is an object without braces.
    pub(super) next_is_braceless: bool,
}

/// Reads one text. See the module's documentation.
pub(super) struct Parser<'a> {
    source: SourceText<'a>,
    at: usize,
    tree: TreeBuilder,
    containers: OpenContainers,
    recorder: ChangeRecorder,
    findings: Findings,
    keys: KnownKeys<'a>,
    roots: Roots,
    /// The string that was read last, if nothing came after it.
    last_string: Option<Id>,
    /// Bytes that may still be read a second time. After that the first plausible end of a string
    /// is taken, which keeps the work linear.
    reread_budget: usize,
    max_depth: usize,
    /// The position of a bracket that opened at the greatest depth allowed.
    deepest: Option<usize>,
}

/// What the parser leaves behind.
pub(super) struct Parsed {
    pub(super) tree: TreeBuilder,
    pub(super) recorder: ChangeRecorder,
    pub(super) findings: Findings,
    pub(super) roots: Vec<Id>,
    pub(super) deepest: Option<usize>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: SourceText<'a>, limits: &Limits, keys: KnownKeys<'a>) -> Self {
        Self {
            source,
            at: 0,
            tree: TreeBuilder::with_capacity((source.len() / 6 + 4).min(1 << 16)),
            containers: OpenContainers::default(),
            recorder: ChangeRecorder::new(limits, source.len()),
            findings: Findings::default(),
            keys,
            roots: Roots::default(),
            last_string: None,
            reread_budget: 2 * source.len() + 1024,
            max_depth: limits.depth(),
            deepest: None,
        }
    }

    pub(super) fn finish(self) -> Parsed {
        Parsed {
            tree: self.tree,
            recorder: self.recorder,
            findings: self.findings,
            roots: self.roots.ids,
            deepest: self.deepest,
        }
    }

    #[inline]
    pub(super) fn source(&self) -> SourceText<'a> {
        self.source
    }

    /// The position of the next byte.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.source.bytes().get(self.at).copied()
    }

    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    #[inline]
    pub(super) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.source.len()
    }

    #[inline]
    pub(super) fn tree(&self) -> &TreeBuilder {
        &self.tree
    }

    #[inline]
    pub(super) fn tree_mut(&mut self) -> &mut TreeBuilder {
        &mut self.tree
    }

    pub(super) fn containers(&self) -> &OpenContainers {
        &self.containers
    }

    pub(super) fn innermost(&self) -> Option<&OpenContainer> {
        self.containers.innermost()
    }

    pub(super) fn innermost_mut(&mut self) -> Option<&mut OpenContainer> {
        self.containers.innermost_mut()
    }

    pub(super) fn in_object(&self) -> bool {
        self.tree.container() == Some(Kind::Object)
    }

    pub(super) fn in_array(&self) -> bool {
        self.tree.container() == Some(Kind::Array)
    }

    pub(super) fn recorder(&self) -> &ChangeRecorder {
        &self.recorder
    }

    pub(super) fn findings_mut(&mut self) -> &mut Findings {
        &mut self.findings
    }

    pub(super) fn findings(&self) -> &Findings {
        &self.findings
    }

    pub(super) fn keys(&self) -> KnownKeys<'a> {
        self.keys
    }

    pub(super) fn roots(&self) -> &Roots {
        &self.roots
    }

    pub(super) fn roots_mut(&mut self) -> &mut Roots {
        &mut self.roots
    }

    /// The string that was read last, if nothing came after it.
    pub(super) fn last_string(&self) -> Option<Id> {
        self.last_string
    }

    pub(super) fn set_last_string(&mut self, id: Id) {
        self.last_string = Some(id);
    }

    pub(super) fn forget_last_string(&mut self) {
        self.last_string = None;
    }

    /// Pays for bytes that are read again.
    pub(super) fn pay_reread(&mut self, bytes: usize) {
        self.reread_budget = self.reread_budget.saturating_sub(bytes);
    }

    pub(super) fn can_reread(&self) -> bool {
        self.reread_budget > 0
    }

    /// Notes that these bytes were read as `after`.
    pub(super) fn note(&mut self, rule: RuleRef, span: Range<usize>, after: &str) {
        let place = Place {
            containers: &mut self.containers,
            tree: &self.tree,
            source: self.source,
        };
        self.recorder.record_text(place, rule, span, after);
    }

    /// Notes that a string was read as `text` in quotes.
    pub(super) fn note_string(&mut self, rule: RuleRef, span: Range<usize>, text: Range<usize>) {
        let after = TextRef::Quoted(TextSpan {
            start: text.start as u32,
            size: text.len() as u32,
        });
        let place = Place {
            containers: &mut self.containers,
            tree: &self.tree,
            source: self.source,
        };
        self.recorder.record(place, rule, span, after);
    }

    /// Notes the next `width` bytes and moves behind them.
    pub(super) fn note_and_skip(&mut self, rule: RuleRef, width: usize, after: &str) {
        self.note(rule, self.at..self.at + width, after);
        self.at += width;
    }

    /// Notes that a place has several readings and nothing decides: no value is better than a
    /// wrong one.
    pub(super) fn note_ambiguous(&mut self, rule: RuleRef, span: Range<usize>) {
        let ambiguity = Ambiguity::new(rule, self.place(), span);
        self.findings.add_ambiguity(ambiguity);
    }

    /// Notes why the text only seems to be cut off.
    pub(super) fn note_cut_cause(&mut self, rule: RuleRef, span: Range<usize>) {
        let cause = Ambiguity::new(rule, self.place(), span);
        self.findings.add_cut_cause(cause);
    }

    /// Notes that the value which was just read is cut off.
    pub(super) fn note_cut_inside(&mut self) {
        let cut = Cut {
            pointer: self.place(),
            kind: CutKind::Inside,
            at: self.source.len(),
            root: self.roots.ids.len(),
            because: None,
        };
        self.findings.add_cut(cut);
    }
}

/// The grammar.
impl Parser<'_> {
    /// Reads one value at the root, from here to its end.
    pub(super) fn root(&mut self) -> Result<(), ParseError> {
        let root = self.tree.next_id();
        self.roots.current = root;
        self.last_string = None;
        let mut state = if std::mem::take(&mut self.roots.next_is_braceless) {
            self.open(Opener::Nothing, Kind::Object)?
        } else {
            ParserState::Value
        };
        while state != ParserState::Done {
            state = match state {
                ParserState::Value => self.value()?,
                ParserState::Key => self.key()?,
                ParserState::AfterValue | ParserState::Done => self.after_value()?,
            };
        }
        if self.tree.next_id() > root {
            self.roots.ids.push(root);
            self.look_for_repeated_keys(root);
            self.recorder.end_value();
        }
        Ok(())
    }

    /// Counts a scalar that is complete.
    #[inline]
    pub(super) fn end_scalar(&mut self) -> ParserState {
        if let Some(container) = self.containers.innermost_mut() {
            container.count += 1;
            container.comma = None;
            container.last_is_scalar = true;
        }
        ParserState::AfterValue
    }

    /// Opens a container and moves behind its bracket.
    pub(super) fn open(&mut self, opener: Opener, kind: Kind) -> StepResult {
        if self.tree.depth() >= self.max_depth {
            let expected = SyntaxExpectation::Depth(self.max_depth);
            return Err(ParseError::new(ParseClass::TooDeep, expected, self.at));
        }
        if self.tree.depth() + 1 == self.max_depth {
            self.deepest = Some(self.at);
        }
        if kind == Kind::Array
            && self.in_array()
            && let Some(around) = self.containers.innermost_mut()
        {
            around.is_mixed |= around.last_is_scalar;
        }
        let id = self.tree.open(kind, self.at);
        let container = OpenContainer::new(opener, id, self.at, 0);
        self.containers.push(container);
        self.last_string = None;
        if opener != Opener::Nothing {
            self.at += 1;
        }
        Ok(match kind {
            Kind::Object => ParserState::Key,
            _ => ParserState::Value,
        })
    }

    /// Opens the last root again, which must be an object and the last value read.
    pub(super) fn reopen_root(&mut self, start: usize) {
        let root = self.roots.current;
        let count = self.tree.slot(root).map_or(0, |slot| slot.size);
        self.tree.reopen_root(root);
        let container = OpenContainer::new(Opener::Brace, root, start, count);
        self.containers.push(container);
    }

    #[inline]
    fn value(&mut self) -> StepResult {
        self.skip_trivia();
        let Some(byte) = self.peek() else {
            return Ok(self.end_of_text(CutKind::Inside));
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
                let next = self.source.byte(self.at + 1);
                if !next.is_ascii_whitespace() && !b"\"'{[".contains(&next) {
                    // `::1`: the colon may be part of the value.
                    self.note_ambiguous(rules::EXTRA_COLON, self.at..self.at + 1);
                }
                self.note_and_skip(rules::EXTRA_COLON, 1, "");
                Ok(ParserState::Value)
            }
            0x80.. => self.non_ascii_value(),
            _ => self.word_value(),
        }
    }

    /// Reads a value that starts with a character outside ASCII.
    fn non_ascii_value(&mut self) -> StepResult {
        if self.source.opening_quote(self.at).is_some() {
            return self.string_value();
        }
        let Some((ascii, width)) = self.source.foreign_punctuation(self.at) else {
            return self.word_value();
        };
        let start = self.at;
        self.note_foreign(ascii, width);
        match ascii {
            b'{' | b'[' | b'(' => {
                let (opener, kind) = match ascii {
                    b'{' => (Opener::Brace, Kind::Object),
                    b'[' => (Opener::Bracket, Kind::Array),
                    _ => (Opener::Paren, Kind::Array),
                };
                let step = self.open(opener, kind);
                self.at = start + width;
                step
            }
            b'}' | b']' | b')' => Ok(self.close_before_value(ascii, width)),
            b',' => Ok(self.comma_before_value(width)),
            _ => {
                self.at += width;
                Ok(ParserState::Value)
            }
        }
    }

    /// Notes that a punctuation mark here stands for one of ASCII.
    fn note_foreign(&mut self, ascii: u8, width: usize) {
        let mut buffer = [0; 4];
        let ascii: &str = char::from(ascii).encode_utf8(&mut buffer);
        self.note(rules::WIDE_PUNCTUATION, self.at..self.at + width, ascii);
    }

    /// Handles a closing bracket where a value should be.
    fn close_before_value(&mut self, bracket: u8, width: usize) -> ParserState {
        if self.in_object() {
            self.missing_value();
            return ParserState::AfterValue;
        }
        if let Some(container) = self.containers.innermost()
            && let Some(comma) = container.comma
            && container.opener != Opener::Paren
        {
            self.note_trailing_comma(comma);
        }
        self.close(bracket, width)
    }

    #[inline]
    fn after_value(&mut self) -> StepResult {
        if self.containers.is_empty() {
            return Ok(self.after_root());
        }
        let newline = self.skip_trivia();
        let Some((byte, width)) = self.source.punctuation(self.at) else {
            return Ok(self.end_of_text(CutKind::Brackets));
        };
        match byte {
            b',' | b';' => {
                if byte == b';' || width > 1 {
                    self.note_foreign(b',', width);
                }
                Ok(self.comma(byte, width))
            }
            b'}' | b']' | b')' => {
                if width > 1 {
                    self.note_foreign(byte, width);
                }
                Ok(self.close(byte, width))
            }
            b':' | b'=' if self.last_string.is_some() => self.late_colon(width),
            b'+' if self.last_string.is_some() => self.join_string(),
            _ if self.at_fence_end(newline) => Ok(self.end_of_text(CutKind::Brackets)),
            _ => self.missing_comma(newline),
        }
    }

    /// Looks for two members with equal keys in a closed value.
    fn look_for_repeated_keys(&mut self, id: Id) {
        let kind = self.tree.slot(id).map(|slot| slot.kind);
        if !self.findings.has_repeated_keys()
            && kind == Some(Kind::Object)
            && self.tree.repeats_key(id, self.source.as_str())
        {
            self.findings.add_repeated_keys();
        }
    }

    /// Closes the innermost container. Parentheses around one value become that value.
    pub(super) fn close_innermost(&mut self, end: usize) {
        let Some(container) = self.containers.pop() else {
            return;
        };
        let is_object = self.in_object();
        let id = self.tree.close(end);
        if is_object {
            // A root may be opened again, many times; it is looked at when it is over.
            if !self.containers.is_empty() {
                self.look_for_repeated_keys(id);
            }
        } else if container.opener.is_paren() {
            if container.is_single() {
                self.tree.collapse(id);
            } else if container.count == 0 && container.opener == Opener::Call {
                self.tree.turn_into_object(id);
            }
        }
        self.last_string = None;
        self.end_scalar();
        if let Some(around) = self.containers.innermost_mut() {
            around.last_is_scalar = false;
            around.is_mixed |= container.is_mixed;
        }
    }
}
