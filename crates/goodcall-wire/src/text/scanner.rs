//! Finds calls in text that arrives in pieces.
//!
//! The scanner is in text, behind a marker, or inside a candidate that no marker announced. Text
//! that cannot be part of a call is given out at once. A whole text is scanned as one piece, so
//! that every split gives the same calls.

mod small_pieces;
mod view;

use std::ops::Range;

use super::budget::ScanBudget;
use super::candidates::{AtCursor, Candidate, at_cursor};
use super::code_fence::{CodeFence, FenceMark};
use super::emit::{HeldCalls, ScanOutput, TextClass};
use super::ignored_blocks::{
    IgnoredBlock, IgnoredContents, IgnoredMark, MarkPlace, PROMPTED, ignored_mark, opens_thought,
};
use super::input::{InputBuffer, Window};
use super::line_state::LineState;
use super::turn::{Confidence, Turn};
use super::unmarked_calls::Surroundings;
use super::{Extraction, FoundCall, TextCallScope};
use crate::call::{CallState, RawCall};
use crate::tools::Tools;

/// A piece of a scanned text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextPiece {
    /// Text outside of calls and thoughts.
    Text(String),
    /// Text of a thought.
    Reasoning(String),
    /// All text so far was a thought, whose beginning was part of the prompt.
    TextWasReasoning,
    /// A call.
    Call(RawCall),
}

/// A resumable search for calls in text.
///
/// ```
/// use goodcall_wire::{TextPiece, Scanner, Tools, TextCallScope};
///
/// let tools = Tools::read(r#"{"name": "now", "parameters": {}}"#)?;
/// let mut scanner = Scanner::new(tools, TextCallScope::Explicit);
/// let mut pieces = scanner.push("It is <tool_c");
/// assert_eq!(pieces, [TextPiece::Text("It is ".to_owned())]);
/// pieces = scanner.push("all>{\"name\": \"now\"}</tool_call>");
/// // A `</think>` may still follow and show that this was a thought.
/// assert!(pieces.is_empty());
/// pieces = scanner.finish();
/// assert!(matches!(&pieces[..], [TextPiece::Call(call)] if call.name == "now"));
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    tools: Tools,
    settings: ScannerSettings,
    input: InputBuffer,
    /// The offset of the next byte to look at outside of candidates.
    at: usize,
    state: ScannerState,
    /// The message may turn out to be nothing but calls.
    only_calls_so_far: bool,
    fence: Option<CodeFence>,
    line: LineState,
    turn: Turn,
    budget: ScanBudget,
    output: ScanOutput,
}

#[derive(Clone, Copy, Debug)]
struct ScannerSettings {
    scope: TextCallScope,
    /// Only markers of this dialect count.
    dialect: Option<&'static str>,
    /// The text is the body of a marked block: only unmarked calls count, as if marked.
    in_block: bool,
    /// The prompt has opened a thought.
    thinking: bool,
}

/// Where a scanner is.
#[derive(Clone, Debug)]
enum ScannerState {
    Text,
    Ignored(&'static IgnoredBlock),
    Candidate(Box<Candidate>),
}

/// What became of a candidate.
pub(super) enum CandidateOutcome {
    NeedMore,
    /// It is not a call; the text is scanned again from `resume` on.
    Rejected {
        resume: usize,
    },
    /// It is a section without a call, up to this offset.
    Markup(usize),
    Calls {
        span: Range<usize>,
        calls: Vec<FoundCall>,
        confidence: Confidence,
    },
}

/// Whether a scanner can go on with the text that it has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanProgress {
    Continue,
    NeedMore,
}

impl Scanner {
    /// A scanner for all dialects.
    pub fn new(tools: Tools, scope: TextCallScope) -> Self {
        Self::starting_at(tools, scope, 0)
    }

    /// A scanner for the body of a marked block, which begins at the offset `base`.
    pub(super) fn inner(tools: Tools, scope: TextCallScope, base: usize) -> Self {
        let mut scanner = Self::starting_at(tools, scope, base);
        scanner.settings.in_block = true;
        scanner
    }

    fn starting_at(tools: Tools, scope: TextCallScope, base: usize) -> Self {
        let settings = ScannerSettings {
            scope,
            dialect: None,
            in_block: false,
            thinking: false,
        };
        Self {
            tools,
            settings,
            input: InputBuffer::starting_at(base),
            at: base,
            state: ScannerState::Text,
            only_calls_so_far: true,
            fence: None,
            line: LineState::new(),
            turn: Turn::default(),
            budget: ScanBudget::new(),
            output: ScanOutput::starting_at(base),
        }
    }

    /// Restricts the markers to those of one dialect, by its name in
    /// [`dialects`](crate::dialects). Unmarked calls still count where the scope allows them. An
    /// unknown name changes nothing.
    #[must_use]
    pub fn dialect(mut self, name: &str) -> Self {
        self.settings.dialect = super::dialects().into_iter().find(|known| *known == name);
        self
    }

    /// Takes the end of the prompt that the text follows. If it opens a thought (`<think>`), the text
    /// begins inside that thought. Without this, the text before an end marker alone turns out to be
    /// a thought only when the marker arrives.
    #[must_use]
    pub fn after_prompt(mut self, prompt: &str) -> Self {
        self.settings.thinking = opens_thought(prompt);
        self
    }

    /// Leaves thoughts and the markers around them in the text.
    pub(crate) fn keep_thoughts(mut self) -> Self {
        self.output.keep_thoughts();
        self
    }

    /// Takes the next piece of the text, and returns the text and the calls that are certain now. The
    /// characters of a thought that come one by one are given out up to 64 at a time.
    pub fn push(&mut self, text: &str) -> Vec<TextPiece> {
        self.output.forget_sources();
        match text.as_bytes() {
            [byte] if self.passes_byte(*byte) => Vec::new(),
            _ => self.push_text(text),
        }
    }

    #[inline(never)]
    fn push_text(&mut self, text: &str) -> Vec<TextPiece> {
        let from = self.input.end_offset();
        self.input.push(text);
        if self.goes_on(from, text) || self.lengthens_run(from, text) {
            return Vec::new();
        }
        self.run();
        self.release();
        self.input
            .forget_before(self.output.released().min(self.at));
        self.output.take_pieces()
    }

    /// Ends the text, and returns what was held back.
    pub fn finish(&mut self) -> Vec<TextPiece> {
        self.input.end();
        self.run();
        if let Some(fence) = self.fence.take() {
            self.count_fenced(fence.end(self.settings.scope));
        }
        if self.turn.is_looping() {
            self.output.drop_equal();
        }
        let input = self.input.window();
        self.output.commit(input);
        self.output.release_text(input, input.end());
        self.output.take_pieces()
    }

    /// The text that each call of the last pieces was, markers included.
    pub(crate) fn take_sources(&mut self) -> Vec<Range<usize>> {
        self.output.take_sources()
    }

    /// Scans a whole text, and returns its calls and the rest of it.
    pub fn whole(self, text: &str) -> Extraction {
        let mut extraction = Extraction::default();
        for piece in self.pieces(text) {
            extraction.push(piece);
        }
        extraction
    }

    /// The calls of a whole body of a marked block.
    pub(super) fn found(self, text: &str) -> Vec<FoundCall> {
        let calls = self
            .pieces(text)
            .into_iter()
            .filter_map(|piece| match piece {
                TextPiece::Call(call) => Some(call.into_found()),
                _ => None,
            });
        calls.collect()
    }

    fn pieces(mut self, text: &str) -> Vec<TextPiece> {
        let mut pieces = self.push(text);
        pieces.append(&mut self.finish());
        pieces
    }

    fn run(&mut self) {
        let mut progress = ScanProgress::Continue;
        while progress == ScanProgress::Continue {
            let state = std::mem::replace(&mut self.state, ScannerState::Text);
            progress = match state {
                ScannerState::Text if self.at >= self.window().end() => return,
                ScannerState::Text => self.read_text(),
                ScannerState::Ignored(block) => self.read_ignored(block),
                ScannerState::Candidate(candidate) => self.read_candidate(candidate),
            };
        }
    }

    fn read_text(&mut self) -> ScanProgress {
        if self.settings.thinking {
            return self.begin_thinking();
        }
        match at_cursor(self) {
            AtCursor::NeedMore
            | AtCursor::Fence(FenceMark::NeedMore)
            | AtCursor::Ignored(IgnoredMark::NeedMore) => return ScanProgress::NeedMore,
            AtCursor::Text(end) => self.pass_text(end),
            AtCursor::TurnEnds(end) => {
                self.turn.end();
                self.pass_text(end);
            }
            AtCursor::Observation(end) => {
                self.turn.observe();
                self.pass_text(end);
            }
            AtCursor::Fence(FenceMark::Opens { fence, end }) => {
                self.fence = Some(fence);
                self.pass_block(end);
            }
            AtCursor::Fence(FenceMark::Closes(end)) => self.close_fence(end),
            AtCursor::Ignored(IgnoredMark::Opens(block)) => {
                self.open_ignored(block, self.at + block.open.len());
            }
            AtCursor::Ignored(IgnoredMark::ThoughtEnds(end)) => {
                if !self.settings.in_block && !self.turn.has_closed_thinking() {
                    // Its beginning was part of the prompt: everything so far was the thought.
                    self.output.was_reasoning(self.input.window(), self.at);
                    self.output.classify(self.at..end, TextClass::Markup);
                    self.turn.restart();
                }
                self.end_thought(end);
            }
            AtCursor::Ignored(IgnoredMark::Part(end)) => self.pass_markup(end),
            AtCursor::Message(header) => {
                self.turn.begin_message(header.is_answer);
                match header.thought {
                    Some(thought) => self.open_ignored(thought, header.end),
                    None => self.pass_markup(header.end),
                }
            }
            AtCursor::Candidate(candidate) => {
                self.state = ScannerState::Candidate(Box::new(candidate));
            }
        }
        ScanProgress::Continue
    }

    /// Begins inside the thought that the prompt opened, unless the text opens it once more.
    fn begin_thinking(&mut self) -> ScanProgress {
        let place = MarkPlace {
            in_fence: false,
            at_start: true,
        };
        match ignored_mark(self.window(), self.at, place) {
            Some(IgnoredMark::NeedMore) => return ScanProgress::NeedMore,
            Some(_) => {}
            None => self.open_ignored(&PROMPTED, self.at),
        }
        self.settings.thinking = false;
        ScanProgress::Continue
    }

    /// Opens a block in which nothing is a call, and whose contents begin at `end`.
    fn open_ignored(&mut self, block: &'static IgnoredBlock, end: usize) {
        self.output.settle(self.input.window());
        self.note_prose();
        if block.contents == IgnoredContents::Thought {
            self.output.classify(self.at..end, TextClass::Markup);
        }
        self.at = end;
        self.state = ScannerState::Ignored(block);
    }

    fn pass_text(&mut self, end: usize) {
        let text = self.input.window().slice(self.at..end);
        let closes_list = text == "]" && self.turn.is_behind_call();
        let separates = is_separator(text) || closes_list;
        if !separates {
            self.turn.leave_call();
        }
        self.turn.pass_text(text.as_bytes());
        self.line.take_text(text);
        if let Some(fence) = &mut self.fence {
            fence.take_text(text);
        }
        if !separates {
            self.note_prose();
        }
        self.at = end;
    }

    /// Passes over a marker, which is not text of the model.
    fn pass_markup(&mut self, end: usize) {
        if let Some(held) = self
            .output
            .last_uncertain()
            .filter(|_| self.turn.is_behind_call())
        {
            held.span.end = end;
        }
        self.output.classify(self.at..end, TextClass::Markup);
        self.pass_block(end);
    }

    /// Passes over something that is neither prose nor a call.
    fn pass_block(&mut self, end: usize) {
        self.at = end;
        self.line.take_block();
    }

    /// Records text that is not a call, so that the message is not a call as a whole.
    fn note_prose(&mut self) {
        // Only once: to go through all held calls for every piece of text would not be linear.
        if std::mem::take(&mut self.only_calls_so_far) {
            self.output.drop_uncertain();
        }
        if let Some(fence) = &mut self.fence {
            fence.note_prose();
        }
    }

    fn close_fence(&mut self, end: usize) {
        self.pass_block(end);
        let fence = self.fence.take().expect("a fence is open");
        let held = fence.close(self.settings.scope, end);
        if held.is_empty() {
            self.note_prose();
        }
        self.count_fenced(held);
    }

    fn count_fenced(&mut self, held: Vec<(HeldCalls, Confidence)>) {
        for (HeldCalls { span, calls, .. }, form) in held {
            self.count(span, calls, Confidence::Marked, form);
        }
    }

    /// Ends the model's thinking: from here on the message may be a call as a whole.
    fn end_thought(&mut self, end: usize) {
        self.note_prose();
        self.fence = None;
        self.only_calls_so_far = true;
        self.budget.end_arguments();
        self.turn.close_thinking();
        self.pass_block(end);
    }

    /// Passes over an ignored block. Without an end it is all that follows.
    fn read_ignored(&mut self, block: &'static IgnoredBlock) -> ScanProgress {
        let input = self.input.window();
        let is_thought = block.contents == IgnoredContents::Thought;
        let rest = input.from(self.at);
        let may_end = block.may_end_in(rest);
        let found = may_end.then(|| block.find_end(rest)).flatten();
        let end = match found {
            Some((size, _)) => self.at + size,
            None if !may_end || input.has_ended() => input.end(),
            None => {
                let tail = input.end().saturating_sub(block.longest_end() - 1);
                let tail = input.char_start(tail.max(self.at));
                // Only what may be the start of an end marker is kept back.
                let rest = input.from(tail);
                let mut starts = rest.char_indices().map(|(at, _)| at);
                let kept = starts.find(|at| block.may_end_with(&rest[*at..]));
                kept.map_or(input.end(), |at| tail + at)
            }
        };
        if is_thought {
            self.output.give_reasoning(input, self.at..end);
        }
        self.at = end;
        let Some((_, size)) = found else {
            if input.has_ended() {
                return ScanProgress::Continue;
            }
            self.state = ScannerState::Ignored(block);
            return ScanProgress::NeedMore;
        };
        if is_thought {
            self.output.classify(end..end + size, TextClass::Markup);
            self.end_thought(end + size);
        } else {
            self.turn.end();
            self.pass_block(end + size);
        }
        ScanProgress::Continue
    }

    fn read_candidate(&mut self, mut candidate: Box<Candidate>) -> ScanProgress {
        let input = self.input.window();
        let outcome = match candidate.as_mut() {
            Candidate::Marked(block) => block.read(input, &self.tools, &mut self.budget),
            Candidate::Element(element) => element.read(input, &self.tools),
            Candidate::Unmarked(unmarked) => {
                let around = Surroundings {
                    tools: &self.tools,
                    in_block: self.settings.in_block,
                    in_fence: self.fence.is_some(),
                    only_calls_so_far: self.only_calls_so_far,
                    on_fresh_line: self.line.is_fresh(),
                };
                unmarked.read(input, &around, &mut self.budget)
            }
        };
        match outcome {
            CandidateOutcome::NeedMore => {
                self.state = ScannerState::Candidate(candidate);
                return ScanProgress::NeedMore;
            }
            CandidateOutcome::Rejected { resume } => {
                let text = self.input.window().bytes_from(self.at);
                self.turn.pass_text(&text[..resume - self.at]);
                self.at = resume;
                self.note_prose();
            }
            CandidateOutcome::Markup(end) => self.pass_markup(end),
            CandidateOutcome::Calls {
                span,
                calls,
                confidence,
            } => {
                if matches!(&*candidate, Candidate::Marked(block) if block.awaits_observation()) {
                    self.turn.await_observation();
                }
                self.pass_block(span.end);
                self.accept(span, calls, confidence);
            }
        }
        ScanProgress::Continue
    }

    /// Takes the calls of one candidate.
    fn accept(&mut self, span: Range<usize>, found: Vec<FoundCall>, confidence: Confidence) {
        let calls = found
            .into_iter()
            .flat_map(|call| call.into_calls(&self.tools));
        let calls: Vec<RawCall> = calls.collect();
        if let Some(fence) = &mut self.fence {
            // They count later, if the fence turns out to hold nothing else.
            return fence.take_calls(HeldCalls::certain(span, calls), confidence);
        }
        self.count(span, calls, confidence, confidence);
        let marked = confidence == Confidence::Marked && !self.settings.in_block;
        if marked && std::mem::take(&mut self.only_calls_so_far) {
            self.output.confirm_uncertain();
        }
    }

    /// Counts the calls that are to be made, which are not those that only repeat another.
    fn count(
        &mut self,
        span: Range<usize>,
        mut calls: Vec<RawCall>,
        confidence: Confidence,
        form: Confidence,
    ) {
        let ScannerSettings {
            scope, in_block, ..
        } = self.settings;
        if !in_block {
            self.turn.remove_repeats(&mut calls, form);
        }
        if !in_block && !self.only_calls_so_far {
            if form < Confidence::Marked {
                self.turn.remove_seen(&mut calls);
            }
            if scope == TextCallScope::Anywhere && self.turn.is_mention(confidence) {
                calls.clear();
            }
        }
        if calls.is_empty() {
            self.note_prose();
            return;
        }
        self.turn.count(&calls, confidence, form);
        self.turn.enter_call();
        let is_unreadable = |call: &RawCall| matches!(call.state, CallState::Unreadable(_));
        let only_alone = scope == TextCallScope::Explicit || calls.iter().all(is_unreadable);
        let if_message_is_calls =
            only_alone && !in_block && self.only_calls_so_far && confidence < Confidence::Marked;
        self.output.hold(HeldCalls {
            span,
            calls,
            if_message_is_calls,
        });
        if in_block || self.turn.has_closed_thinking() {
            self.output.settle(self.input.window());
        }
    }

    /// Gives out the text that cannot be part of a call.
    fn release(&mut self) {
        let cursor = match &self.state {
            ScannerState::Text | ScannerState::Ignored(_) => self.at,
            ScannerState::Candidate(candidate) => candidate.start(),
        };
        let fenced = self.fence.as_ref().and_then(CodeFence::held_from);
        let held = [self.output.held_from(), fenced].into_iter().flatten();
        let end = held.fold(cursor, usize::min);
        self.output.release_text(self.input.window(), end);
    }
}

/// Returns true if this may separate the calls of a message that is nothing but calls.
fn is_separator(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || matches!(c, ',' | ';'))
        || (text.starts_with("<|") && text.ends_with("|>"))
        || matches!(text, "<s>" | "</s>" | "assistant")
}
