//! Letting go of what is certain: calls that count, text that is none.

use std::ops::Range;

use super::scanner::{Held, Scanner, State, Strength, TextPiece};
use super::{Found, TextCallScope};
use crate::call::{RawCall, State as CallState};

/// Bytes of released text that are kept before they are forgotten at once.
const KEEP: usize = 1 << 16;

impl Scanner {
    pub(super) fn strength_of(&self, bracket: bool) -> Strength {
        match (bracket, self.line.fresh) {
            _ if self.inner => Strength::Marked,
            (true, _) => Strength::Json,
            (false, true) => Strength::Standing,
            (false, false) => Strength::Mentioned,
        }
    }

    /// Takes the calls of one place.
    pub(super) fn accept(&mut self, span: Range<usize>, found: Vec<Found>, strength: Strength) {
        self.line.pass();
        let calls = found.into_iter().map(|call| call.into_call(&self.tools));
        let calls: Vec<RawCall> = calls.collect();
        match &mut self.fence {
            // Later, if the fence turns out to hold nothing else.
            Some(fence) => {
                let whole = false;
                fence.call(Held { span, calls, whole }, strength);
            }
            None => {
                self.count(span, calls, strength);
                let marked = strength == Strength::Marked && !self.inner;
                if marked && std::mem::take(&mut self.virgin) {
                    self.held.iter_mut().for_each(|held| held.whole = false);
                }
            }
        }
    }

    /// Counts calls as meant, as far as they are not said again.
    pub(super) fn count(
        &mut self,
        span: Range<usize>,
        mut calls: Vec<RawCall>,
        strength: Strength,
    ) {
        if self.place == TextCallScope::Anywhere && !self.inner {
            // Said again, or said in prose after it was said in form: only a mention.
            if strength < self.strength.min(Strength::Json) {
                calls.clear();
            }
            let seen = &self.seen;
            calls.retain(|call| !seen.contains(&key_of(call)));
        }
        if calls.is_empty() {
            self.soil();
            return;
        }
        self.strength = self.strength.max(strength);
        self.seen.extend(calls.iter().map(key_of));
        let failed = |call: &RawCall| matches!(call.state, CallState::Unreadable(_));
        let only = self.place == TextCallScope::Explicit || calls.iter().all(failed);
        let whole = only && !self.inner && self.virgin && strength < Strength::Marked;
        self.held.push(Held { span, calls, whole });
        if self.reasoned || self.inner {
            self.settle();
        }
    }

    /// What is held and not waiting for the end of the message is certain: it goes out.
    pub(super) fn settle(&mut self) {
        let certain = self.held.iter().take_while(|held| !held.whole).count();
        let certain: Vec<_> = self.held.drain(..certain).collect();
        for Held { span, calls, .. } in certain {
            self.emit(span, calls);
        }
    }

    /// The message is over: what is held goes out as calls.
    pub(super) fn commit(&mut self) {
        let held = std::mem::take(&mut self.held);
        if let [first, .., last] = &held[..]
            && held.iter().all(|held| held.whole)
        {
            // The message is its calls: what stands between them goes with them.
            let span = first.span.start..last.span.end;
            let calls = held.into_iter().flat_map(|held| held.calls).collect();
            return self.emit(span, calls);
        }
        for Held { span, calls, .. } in held {
            self.emit(span, calls);
        }
    }

    pub(super) fn emit(&mut self, span: Range<usize>, calls: Vec<RawCall>) {
        self.released_to(span.start);
        self.released = span.end.max(self.released);
        self.out.extend(calls.into_iter().map(TextPiece::Call));
    }

    pub(super) fn released_to(&mut self, end: usize) {
        if end <= self.released {
            return;
        }
        let text = &self.text[self.released..end];
        match self.out.last_mut() {
            Some(TextPiece::Text(last)) => last.push_str(text),
            _ => self.out.push(TextPiece::Text(text.to_owned())),
        }
        self.released = end;
    }

    /// Releases the text that can be part of no call.
    pub(super) fn release(&mut self) {
        let mut end = match &self.state {
            State::Text | State::Quiet(_) => self.at,
            State::Marked { start, .. }
            | State::Element { start, .. }
            | State::Unmarked { start, .. } => *start,
        };
        if let Some(held) = self.held.first() {
            end = end.min(held.span.start);
        }
        if let Some(fence) = &self.fence {
            let first = fence.calls.first().map(|(held, _)| held.span.start);
            let first = if fence.clean {
                Some(fence.start)
            } else {
                first
            };
            end = end.min(first.unwrap_or(end));
        }
        self.released_to(end);
    }

    /// Forgets released text.
    pub(super) fn compact(&mut self) {
        // The word before the cursor stays, to see that a name does not begin inside one.
        let most = self.released.min(self.at);
        let by = most.saturating_sub(64);
        if by < KEEP || by < self.text.len() / 2 {
            return;
        }
        let mut by = by;
        while !self.text.is_char_boundary(by) {
            by -= 1;
        }
        self.text.drain(..by);
        self.base += by;
        self.at -= by;
        self.released -= by;
        self.tried = self.tried.saturating_sub(by);
        for held in &mut self.held {
            held.span = held.span.start - by..held.span.end - by;
        }
        if let Some(fence) = &mut self.fence {
            fence.start = fence.start.saturating_sub(by);
            for (held, _) in &mut fence.calls {
                held.span = held.span.start - by..held.span.end - by;
            }
        }
        match &mut self.state {
            State::Text | State::Quiet(_) => {}
            State::Marked {
                start, body, lexer, ..
            } => {
                *start -= by;
                *body -= by;
                lexer.shift(by);
            }
            State::Element {
                start,
                body,
                element,
            } => {
                *start -= by;
                *body -= by;
                element.shift(by);
            }
            State::Unmarked { start, lexer } => {
                *start -= by;
                lexer.shift(by);
            }
        }
    }
}

/// What makes two calls the same.
fn key_of(call: &RawCall) -> (String, String) {
    let arguments = match goodcall_core::Tree::parse(&call.arguments) {
        Ok(tree) => tree.to_json(),
        Err(_) => call.arguments.clone(),
    };
    (call.name.clone(), arguments)
}
