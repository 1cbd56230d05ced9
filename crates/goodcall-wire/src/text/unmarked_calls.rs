//! Reads candidates that no marker announces: JSON in brackets, or a call in Python's notation.

use std::ops::Range;

use super::budget::ScanBudget;
use super::call_end::{EndFinder, EndRule, EndSearch};
use super::ignored_blocks::{MarkPlace, ignored_mark};
use super::input::{Match, Window};
use super::markers::{MARKERS, Marker};
use super::raw_members::RawObject;
use super::scanner::CandidateOutcome;
use super::turn::Confidence;
use super::{FoundCall, json_calls, python_calls, unreadable_calls};
use crate::call::CallState;
use crate::tools::Tools;

/// Text that may be a call without a marker.
#[derive(Clone, Debug)]
pub(super) struct UnmarkedCandidate {
    start: usize,
    bracket: usize,
    finder: EndFinder,
}

/// What surrounds a candidate, as far as it decides whether the candidate is a call.
pub(super) struct Surroundings<'s> {
    pub(super) tools: &'s Tools,
    pub(super) in_block: bool,
    pub(super) in_fence: bool,
    pub(super) only_calls_so_far: bool,
    pub(super) on_fresh_line: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Brackets,
    /// A name and an object: `f{"a": 1}`, on one line or on two.
    Named,
    Python,
}

/// What ends a candidate that is not a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CandidateEnd {
    Bracket,
    Text,
}

impl UnmarkedCandidate {
    /// A candidate that begins at `start`, and whose first bracket is at `bracket`.
    pub(super) fn new(start: usize, bracket: usize) -> Self {
        Self {
            start,
            bracket,
            finder: EndFinder::new(bracket),
        }
    }

    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The search for its end.
    pub(super) fn finder(&mut self) -> &mut EndFinder {
        &mut self.finder
    }

    pub(super) fn read(
        &mut self,
        input: Window<'_>,
        around: &Surroundings<'_>,
        budget: &mut ScanBudget,
    ) -> CandidateOutcome {
        let notation = match input.byte(self.start) {
            Some(b'{' | b'[') => Notation::Brackets,
            _ if input.byte(self.bracket) == Some(b'{') => Notation::Named,
            _ => Notation::Python,
        };
        let mut ended_by = CandidateEnd::Text;
        let (end, calls) = match self.finder.run(input, EndRule::OneValue) {
            EndSearch::NeedMore if !input.has_ended() => return CandidateOutcome::NeedMore,
            EndSearch::NeedMore => {
                budget.pay_retry();
                let end = input.end();
                (end, self.cut_off_calls(input, notation, around))
            }
            EndSearch::Found(end) => {
                ended_by = CandidateEnd::Bracket;
                let text = input.slice(self.start..end.after);
                let mut calls = match notation {
                    Notation::Named => {
                        around.named_call(text, self.start, self.bracket - self.start)
                    }
                    _ => around.calls(text, self.start, notation),
                };
                // All its brackets are there: what seems cut off is malformed.
                calls.iter_mut().for_each(FoundCall::is_complete);
                (end.after, calls)
            }
            // Not the end of the text: the result must not depend on how much of it is known.
            EndSearch::NotACall => {
                budget.pay_retry();
                (self.finder.reached(), Vec::new())
            }
        };
        if calls.is_empty() {
            return self.reject(input, notation, (end, ended_by), budget);
        }
        CandidateOutcome::Calls {
            span: self.start..end,
            calls,
            confidence: around.confidence(notation),
        }
    }

    /// Rejects the candidate: its start is text, the rest is scanned again for other calls. Not the
    /// arguments of a tool, which are never calls of their own.
    fn reject(
        &self,
        input: Window<'_>,
        notation: Notation,
        (end, ended_by): (usize, CandidateEnd),
        budget: &mut ScanBudget,
    ) -> CandidateOutcome {
        let resume = match notation {
            Notation::Brackets => {
                budget.tried_brackets_to(end);
                self.start + 1
            }
            Notation::Named => self.bracket,
            Notation::Python => {
                let rest = input.from(self.start);
                let behind = python_calls::callee(rest).map_or(1, |callee| callee.bracket + 1);
                let has_arguments = python_calls::is_keyword(&rest[behind..]);
                match ended_by {
                    // Its arguments are what is to be called.
                    _ if python_calls::printed_call(rest).is_some() => self.start + behind,
                    CandidateEnd::Text if !has_arguments => self.start + behind,
                    // A marker announces a call, not an argument.
                    _ => match first_marker(input, self.start..end) {
                        Some(marker) => {
                            budget.skip_unmarked_to(end);
                            marker
                        }
                        None => end,
                    },
                }
            }
        };
        CandidateOutcome::Rejected { resume }
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
            Notation::Named => around.named_call(text, self.start, self.bracket - self.start),
            Notation::Python => python_calls::call(text, self.start, tools)
                .map(|(call, _)| call)
                .into_iter()
                .collect(),
        };
        calls.retain(|call| tools.meant(&call.name).is_some());
        if let Some(last) = calls.last_mut() {
            last.span.end = input.end();
            if last.state == CallState::Whole {
                last.state = CallState::Open;
            }
        }
        calls
    }
}

/// Where the first marker in a range begins that announces a call, or a thought. One that may go on
/// behind the range counts, too: the result must not depend on how much of the text is known.
fn first_marker(input: Window<'_>, range: Range<usize>) -> Option<usize> {
    let input = input.until(range.end);
    let place = MarkPlace {
        in_fence: false,
        at_start: false,
    };
    range.into_iter().find(|at| {
        let byte = input.byte(*at);
        let opens = |marker: &Marker| input.match_at(*at, marker.open) != Match::No;
        let may_begin = byte.is_some_and(|byte| matches!(byte, b'<' | b'[' | b']' | 0xe2));
        may_begin && (MARKERS.iter().any(opens) || ignored_mark(input, *at, place).is_some())
    })
}

impl Surroundings<'_> {
    fn confidence(&self, notation: Notation) -> Confidence {
        match notation {
            _ if self.in_block => Confidence::Marked,
            Notation::Brackets | Notation::Named => Confidence::Json,
            Notation::Python if self.on_fresh_line => Confidence::Standing,
            Notation::Python => Confidence::Mentioned,
        }
    }

    /// The calls of a whole candidate; empty if it is not one.
    fn calls(&self, text: &str, base: usize, notation: Notation) -> Vec<FoundCall> {
        if notation == Notation::Python {
            let call = || python_calls::call(text, base, self.tools).map(|(call, _)| vec![call]);
            let calls = python_calls::printed(text, base, self.tools).or_else(call);
            let calls = calls.filter(|calls| calls.iter().all(|call| self.is_meant(call)));
            let mut calls = calls.unwrap_or_default();
            if let Some(last) = calls.last_mut() {
                // Where reading stopped inside it, the call still ends with its bracket.
                last.span.end = base + text.len();
            }
            return calls;
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
        let is_unreadable =
            |call: &FoundCall| call.python && matches!(call.state, CallState::Unreadable(_));
        let only_unreadable = calls.iter().all(is_unreadable) && !self.is_whole_message();
        if only_unreadable || !calls.iter().any(|call| call.is_offered(self.tools)) {
            calls.clear();
        }
        calls
    }

    /// The call of a name and the object of its arguments at `bracket`.
    fn named_call(&self, text: &str, base: usize, bracket: usize) -> Vec<FoundCall> {
        let (name, arguments) = (text[..bracket].trim(), &text[bracket..]);
        let (Some(tool), Some(object)) = (self.tools.meant(name), RawObject::parse(arguments))
        else {
            return Vec::new();
        };
        let members = &object.members;
        let fits = members.iter().any(|member| tool.declares(&member.key));
        let empty = members.is_empty() && tool.has_no_required_parameters();
        if !fits && !empty {
            return Vec::new();
        }
        let span = base..base + text.len();
        let mut found = FoundCall::verbatim(name, arguments, base + bracket, span);
        found.name_span = base..base + name.len();
        vec![found]
    }

    /// The calls of a list in Python's notation some of which cannot be read. In prose, at least
    /// one must be readable.
    fn unreadable_list(&self, text: &str, base: usize) -> Vec<FoundCall> {
        let calls = unreadable_calls::list(text, base, self.tools);
        let readable = calls.iter().any(|call| call.state == CallState::Whole);
        if readable || self.is_whole_message() {
            calls
        } else {
            Vec::new()
        }
    }

    /// Returns true if a call in Python's notation is to be made, and not only mentioned.
    fn is_meant(&self, call: &FoundCall) -> bool {
        let Some(tool) = self.tools.meant(&call.name) else {
            return false;
        };
        let readable = match call.state {
            CallState::Whole => true,
            CallState::Unreadable(_) => self.is_whole_message(),
            CallState::Open | CallState::Cut => false,
        };
        let standing = self.on_fresh_line || self.in_block || self.in_fence;
        readable && (!call.bare || (tool.has_no_required_parameters() && standing))
    }

    /// Returns true if the candidate may be the whole message, as one call.
    fn is_whole_message(&self) -> bool {
        self.only_calls_so_far && !self.in_block && !self.in_fence
    }
}
