//! Reads candidates that no marker announces: JSON in brackets, or a call in Python's notation.

use super::budget::ScanBudget;
use super::call_end::{EndFinder, EndRule, EndSearch};
use super::input::Window;
use super::scanner::CandidateOutcome;
use super::turn::Confidence;
use super::{FoundCall, TextCallScope, json_calls, python_calls, unreadable_calls};
use crate::call::CallState;
use crate::tools::Tools;

/// Text that may be a call without a marker.
#[derive(Clone, Debug)]
pub(super) struct UnmarkedCandidate {
    start: usize,
    finder: EndFinder,
}

/// What surrounds a candidate, as far as it decides whether the candidate is a call.
pub(super) struct Surroundings<'s> {
    pub(super) tools: &'s Tools,
    pub(super) scope: TextCallScope,
    pub(super) in_block: bool,
    pub(super) in_fence: bool,
    pub(super) only_calls_so_far: bool,
    pub(super) on_fresh_line: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Brackets,
    Python,
}

impl UnmarkedCandidate {
    /// A candidate that begins at `start`, and whose first bracket is at `bracket`.
    pub(super) fn new(start: usize, bracket: usize) -> Self {
        Self {
            start,
            finder: EndFinder::new(bracket),
        }
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn read(
        &mut self,
        input: Window<'_>,
        around: &Surroundings<'_>,
        budget: &mut ScanBudget,
    ) -> CandidateOutcome {
        let notation = match input.byte(self.start) {
            Some(b'{' | b'[') => Notation::Brackets,
            _ => Notation::Python,
        };
        let (end, calls) = match self.finder.run(input, EndRule::OneValue) {
            EndSearch::NeedMore if !input.has_ended() => return CandidateOutcome::NeedMore,
            EndSearch::NeedMore => {
                budget.pay_retry();
                let end = input.end();
                (end, self.cut_off_calls(input, notation, around))
            }
            EndSearch::Found(end) => {
                let text = input.slice(self.start..end.after);
                (end.after, around.calls(text, self.start, notation))
            }
            // Not the end of the text: the result must not depend on how much of it is known.
            EndSearch::NotACall => {
                budget.pay_retry();
                (self.finder.reached(), Vec::new())
            }
        };
        if calls.is_empty() {
            return self.reject(input, notation, end, budget);
        }
        CandidateOutcome::Calls {
            span: self.start..end,
            calls,
            confidence: around.confidence(notation),
        }
    }

    /// Rejects the candidate: its start is text, the rest is scanned again for other calls.
    fn reject(
        &self,
        input: Window<'_>,
        notation: Notation,
        end: usize,
        budget: &mut ScanBudget,
    ) -> CandidateOutcome {
        let skipped = match notation {
            Notation::Brackets => {
                budget.tried_brackets_to(end);
                1
            }
            Notation::Python => {
                let callee = python_calls::callee(input.from(self.start));
                callee.map_or(1, |callee| callee.bracket + 1)
            }
        };
        CandidateOutcome::Rejected {
            resume: self.start + skipped,
        }
    }

    /// The calls of a candidate that the text ends in.
    fn cut_off_calls(
        &self,
        input: Window<'_>,
        notation: Notation,
        around: &Surroundings<'_>,
    ) -> Vec<FoundCall> {
        if !around.only_calls_so_far && !around.in_block && !around.in_fence {
            return Vec::new();
        }
        let (text, tools) = (input.from(self.start), around.tools);
        let mut calls = match notation {
            Notation::Brackets => json_calls::calls(text, self.start, tools),
            Notation::Python => python_calls::call(text, self.start, tools)
                .map(|(call, _)| call)
                .into_iter()
                .collect(),
        };
        calls.retain(|call| tools.meant(&call.name).is_some());
        if let Some(last) = calls.last_mut()
            && last.state == CallState::Whole
        {
            last.state = CallState::Open;
        }
        calls
    }
}

impl Surroundings<'_> {
    fn confidence(&self, notation: Notation) -> Confidence {
        match notation {
            _ if self.in_block => Confidence::Marked,
            Notation::Brackets => Confidence::Json,
            Notation::Python if self.on_fresh_line => Confidence::Standing,
            Notation::Python => Confidence::Mentioned,
        }
    }

    /// The calls of a whole candidate; empty if it is not one.
    fn calls(&self, text: &str, base: usize, notation: Notation) -> Vec<FoundCall> {
        if notation == Notation::Python {
            let call = python_calls::call(text, base, self.tools).map(|(call, _)| call);
            let call = call.filter(|call| self.is_meant(call, text));
            return call.into_iter().collect();
        }
        let mut calls = Vec::new();
        if text.starts_with('[') {
            calls = python_calls::sequence(text, base, self.tools).unwrap_or_default();
        }
        if calls.is_empty() {
            calls = self.unreadable_list(text, base);
        }
        if calls.is_empty() {
            calls = json_calls::calls(text, base, self.tools);
        }
        if !calls.iter().any(|call| call.is_offered(self.tools)) {
            calls.clear();
        }
        calls
    }

    /// The calls of a list in Python's notation some of which cannot be read. In prose, at least
    /// one must be readable.
    fn unreadable_list(&self, text: &str, base: usize) -> Vec<FoundCall> {
        if self.holds_nested_calls(text) {
            return Vec::new();
        }
        let calls = unreadable_calls::list(text, base, self.tools);
        let readable = calls.iter().any(|call| call.state == CallState::Whole);
        if readable || self.is_whole_message(text) {
            calls
        } else {
            Vec::new()
        }
    }

    /// Returns true if a call in Python's notation is to be made, and not only mentioned.
    fn is_meant(&self, call: &FoundCall, text: &str) -> bool {
        let Some(tool) = self.tools.meant(&call.name) else {
            return false;
        };
        let readable = match call.state {
            CallState::Whole => true,
            CallState::Unreadable(_) => self.is_whole_message(text),
            CallState::Open | CallState::Cut => false,
        };
        let standing = self.on_fresh_line || self.in_block || self.in_fence;
        readable && (!call.bare || (tool.has_no_required_parameters() && standing))
    }

    /// Returns true if the candidate may be the whole message, as one call.
    fn is_whole_message(&self, text: &str) -> bool {
        self.only_calls_so_far && !self.in_block && !self.in_fence && !self.holds_nested_calls(text)
    }

    /// Returns true if calls inside this one count, so that it is not read as one call.
    fn holds_nested_calls(&self, text: &str) -> bool {
        self.scope == TextCallScope::Anywhere && unreadable_calls::nests(text)
    }
}
