//! Gives out calls and text in order, and holds back calls that are not certain yet.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use super::TextPiece;
use super::input::Window;
use super::turn::identity;
use crate::call::RawCall;

/// Calls that may still turn out to be text.
#[derive(Clone, Debug)]
pub(super) struct HeldCalls {
    pub(super) span: Range<usize>,
    pub(super) calls: Vec<RawCall>,
    /// They count only if the message holds nothing but calls.
    pub(super) if_message_is_calls: bool,
}

impl HeldCalls {
    /// Calls that count, whatever else the message holds.
    pub(super) fn certain(span: Range<usize>, calls: Vec<RawCall>) -> Self {
        Self {
            span,
            calls,
            if_message_is_calls: false,
        }
    }
}

/// What a part of the text outside of calls is, if it is not the model's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextClass {
    /// The model's thinking.
    Reasoning,
    /// A marker around a thought, or around a part of the message.
    Markup,
}

/// What a scanner gives out. Everything before `released` has been given out as text or as calls.
#[derive(Clone, Debug)]
pub(super) struct ScanOutput {
    released: usize,
    held: Vec<HeldCalls>,
    /// The parts of the text that is still to be given out that are not the answer, in order.
    classes: VecDeque<(Range<usize>, TextClass)>,
    /// Everything outside of calls is given out as text.
    all_is_text: bool,
    pieces: Vec<TextPiece>,
    /// The text that each call of `pieces` was.
    sources: Vec<Range<usize>>,
}

impl ScanOutput {
    pub(super) fn starting_at(base: usize) -> Self {
        Self {
            released: base,
            held: Vec::new(),
            classes: VecDeque::new(),
            all_is_text: false,
            pieces: Vec::new(),
            sources: Vec::new(),
        }
    }

    pub(super) fn keep_thoughts(&mut self) {
        self.all_is_text = true;
    }

    pub(super) fn take_pieces(&mut self) -> Vec<TextPiece> {
        std::mem::take(&mut self.pieces)
    }

    /// The text that each of the last calls was, markers included.
    pub(super) fn take_sources(&mut self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.sources)
    }

    /// Forgets the text that the last calls were, which nobody asked for.
    pub(super) fn forget_sources(&mut self) {
        self.sources.clear();
    }

    pub(super) fn released(&self) -> usize {
        self.released
    }

    pub(super) fn hold(&mut self, held: HeldCalls) {
        self.held.push(held);
    }

    /// Where the first held call begins.
    pub(super) fn held_from(&self) -> Option<usize> {
        self.held.first().map(|held| held.span.start)
    }

    /// The last held calls, if they wait for the end of the message.
    pub(super) fn last_uncertain(&mut self) -> Option<&mut HeldCalls> {
        self.held.last_mut().filter(|held| held.if_message_is_calls)
    }

    /// Makes text of the calls that waited for the end of the message: it holds prose as well.
    pub(super) fn drop_uncertain(&mut self) {
        self.held.retain(|held| !held.if_message_is_calls);
    }

    /// Keeps only the first of equal calls: the model was in a loop.
    pub(super) fn drop_equal(&mut self) {
        let mut seen = HashSet::new();
        for held in &mut self.held {
            held.calls.retain(|call| seen.insert(identity(call)));
        }
        self.held.retain(|held| !held.calls.is_empty());
    }

    /// Lets the calls count that waited for the end of the message.
    pub(super) fn confirm_uncertain(&mut self) {
        for held in &mut self.held {
            held.if_message_is_calls = false;
        }
    }

    /// Gives out the held calls up to the first one that waits for the end of the message.
    pub(super) fn settle(&mut self, input: Window<'_>) {
        let certain = self
            .held
            .iter()
            .take_while(|held| !held.if_message_is_calls);
        let certain: Vec<_> = self.held.drain(..certain.count()).collect();
        for HeldCalls { span, calls, .. } in certain {
            self.emit(input, span, calls);
        }
    }

    /// Gives out all held calls: the message has ended.
    pub(super) fn commit(&mut self, input: Window<'_>) {
        let held = std::mem::take(&mut self.held);
        if let [first, .., last] = &held[..]
            && held.iter().all(|held| held.if_message_is_calls)
        {
            // The message is nothing but calls: the separators between them are not text.
            let span = first.span.start..last.span.end;
            let calls = held.into_iter().flat_map(|held| held.calls).collect();
            return self.emit(input, span, calls);
        }
        for HeldCalls { span, calls, .. } in held {
            self.emit(input, span, calls);
        }
    }

    fn emit(&mut self, input: Window<'_>, span: Range<usize>, calls: Vec<RawCall>) {
        self.release_text(input, span.start);
        self.released = span.end.max(self.released);
        let (mut at, count) = (span.start, calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let own = call.span.end.clamp(at, span.end);
            let end = if index + 1 == count { span.end } else { own };
            self.sources.push(at..end);
            at = end;
            self.pieces.push(TextPiece::Call(call));
        }
    }

    /// Says what the text in `range` is, which follows all ranges so far.
    pub(super) fn classify(&mut self, range: Range<usize>, class: TextClass) {
        if range.is_empty() || self.all_is_text {
            return;
        }
        match self.classes.back_mut() {
            Some((last, known)) if *known == class && last.end == range.start => {
                last.end = range.end;
            }
            _ => self.classes.push_back((range, class)),
        }
    }

    /// Gives out the part of a thought in `range`, at once if nothing before it is still to come.
    pub(super) fn give_reasoning(&mut self, input: Window<'_>, range: Range<usize>) {
        let is_next = range.start == self.released && self.held.is_empty();
        if range.is_empty() || !is_next || self.all_is_text {
            return self.classify(range, TextClass::Reasoning);
        }
        let text = input.slice(range.clone());
        self.released = range.end;
        match self.pieces.last_mut() {
            Some(TextPiece::Reasoning(last)) => last.push_str(text),
            _ => self.pieces.push(TextPiece::Reasoning(text.to_owned())),
        }
    }

    /// Makes reasoning of all text so far: its beginning was part of the prompt.
    pub(super) fn was_reasoning(&mut self, input: Window<'_>, end: usize) {
        self.held.clear();
        self.release_text(input, end);
        if !self.all_is_text {
            self.pieces.push(TextPiece::TextWasReasoning);
        }
    }

    /// Gives out the text up to `end`.
    pub(super) fn release_text(&mut self, input: Window<'_>, end: usize) {
        while self.released < end {
            let (class, until) = match self.classes.front() {
                Some((range, _)) if range.end <= self.released => {
                    self.classes.pop_front();
                    continue;
                }
                Some((range, class)) if range.start <= self.released => (Some(*class), range.end),
                Some((range, _)) => (None, range.start),
                None => (None, end),
            };
            let until = until.min(end);
            let text = input.slice(self.released..until);
            self.released = until;
            match (class, self.pieces.last_mut()) {
                (None, Some(TextPiece::Text(last)))
                | (Some(TextClass::Reasoning), Some(TextPiece::Reasoning(last))) => {
                    last.push_str(text);
                }
                (None, _) => self.pieces.push(TextPiece::Text(text.to_owned())),
                (Some(TextClass::Reasoning), _) => {
                    self.pieces.push(TextPiece::Reasoning(text.to_owned()));
                }
                (Some(TextClass::Markup), _) => {}
            }
        }
    }
}
