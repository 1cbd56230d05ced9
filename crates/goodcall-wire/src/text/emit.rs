//! Gives out calls and text in order, and holds back calls that are not certain yet.

use std::ops::Range;

use super::TextPiece;
use super::input::Window;
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

/// What a scanner gives out. Everything before `released` has been given out as text or as calls.
#[derive(Clone, Debug)]
pub(super) struct ScanOutput {
    released: usize,
    held: Vec<HeldCalls>,
    pieces: Vec<TextPiece>,
}

impl ScanOutput {
    pub(super) fn starting_at(base: usize) -> Self {
        Self {
            released: base,
            held: Vec::new(),
            pieces: Vec::new(),
        }
    }

    pub(super) fn take_pieces(&mut self) -> Vec<TextPiece> {
        std::mem::take(&mut self.pieces)
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

    /// Lets the calls count that waited for the end of the message.
    pub(super) fn confirm_uncertain(&mut self) {
        for held in &mut self.held {
            held.if_message_is_calls = false;
        }
    }

    /// Makes text of all held calls.
    pub(super) fn drop_held(&mut self) {
        self.held.clear();
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
        self.pieces.extend(calls.into_iter().map(TextPiece::Call));
    }

    /// Gives out the text up to `end`.
    pub(super) fn release_text(&mut self, input: Window<'_>, end: usize) {
        if end <= self.released {
            return;
        }
        let text = input.slice(self.released..end);
        match self.pieces.last_mut() {
            Some(TextPiece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(TextPiece::Text(text.to_owned())),
        }
        self.released = end;
    }
}
