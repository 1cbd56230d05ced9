//! What has happened in the model's turn so far, as far as it decides which calls count.

use std::collections::HashMap;

use crate::call::RawCall;

/// The most equal calls of one message that may be meant; a model that writes more is in a loop.
const MOST_EQUAL_CALLS: usize = 3;

/// The name and the arguments of a call.
pub(super) type CallIdentity = (String, String);

/// How clearly a piece of text is a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidence {
    #[default]
    None,
    /// In Python's notation inside a sentence.
    Mentioned,
    /// In Python's notation on a line of its own, or in a list.
    Standing,
    Json,
    /// Behind a marker, or in a fence.
    Marked,
}

/// The calls and the milestones of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    ended: bool,
    awaiting_observation: bool,
    thinking_closed: bool,
    /// The message is made of parts with headers.
    has_headers: bool,
    /// The part at the cursor is the answer to the user.
    is_answering: bool,
    /// There are only blanks behind the last call.
    behind_call: bool,
    /// There are no words behind the last call.
    in_list: bool,
    /// The highest confidence of any call so far.
    confidence: Confidence,
    /// Names and arguments of the calls so far, with the form and the number of each.
    seen: HashMap<CallIdentity, (Confidence, usize)>,
    /// The model repeats itself without an end.
    is_looping: bool,
}

impl Turn {
    /// Returns true if the model's turn is over, so that everything behind it is text.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns true if there was a call whose result the model must wait for.
    pub(super) fn is_awaiting_observation(&self) -> bool {
        self.awaiting_observation
    }

    /// Returns true if the model's thinking has ended, so that calls are certain at once.
    pub(super) fn has_closed_thinking(&self) -> bool {
        self.thinking_closed
    }

    /// Begins another turn. Once there are calls, what follows is not the model's message.
    pub(super) fn end(&mut self) {
        self.ended |= self.confidence > Confidence::None;
    }

    /// Takes the result of a call that the model wrote itself: everything behind it is made up.
    pub(super) fn observe(&mut self) {
        self.ended = true;
    }

    pub(super) fn await_observation(&mut self) {
        self.awaiting_observation = true;
    }

    /// Begins a part of the message that has a header.
    pub(super) fn begin_message(&mut self, is_answer: bool) {
        (self.has_headers, self.is_answering) = (true, is_answer);
    }

    /// Returns true if calls without a marker count.
    pub(super) fn takes_unmarked(&self) -> bool {
        !self.ended && !self.is_answering
    }

    pub(super) fn enter_call(&mut self) {
        (self.behind_call, self.in_list) = (true, true);
    }

    /// Takes text that is not a call.
    pub(super) fn pass_text(&mut self, text: &[u8]) {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        self.in_list = self.in_list && !text.iter().any(is_word);
    }

    pub(super) fn leave_call(&mut self) {
        self.behind_call = false;
    }

    pub(super) fn is_behind_call(&self) -> bool {
        self.behind_call
    }

    pub(super) fn has_headers(&self) -> bool {
        self.has_headers
    }

    pub(super) fn close_thinking(&mut self) {
        self.thinking_closed = true;
    }

    /// Forgets everything so far, because it was a thought.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Removes calls that were made already in another form, or that the model repeats in a loop.
    pub(super) fn remove_repeats(&mut self, calls: &mut Vec<RawCall>, form: Confidence) {
        if self.seen.is_empty() {
            return;
        }
        let is_python = |form| matches!(form, Confidence::Mentioned | Confidence::Standing);
        let same = |a, b| a == b || (is_python(a) && is_python(b));
        calls.retain(|call| match self.seen.get(&identity(call)) {
            Some((_, count)) if *count >= MOST_EQUAL_CALLS => {
                self.is_looping = true;
                false
            }
            Some((seen, _)) => same(*seen, form),
            None => true,
        });
    }

    /// Returns true if the model repeats a call so often that it cannot be meant.
    pub(super) fn is_looping(&self) -> bool {
        self.is_looping
    }

    /// Removes calls behind prose that were made already without a marker.
    pub(super) fn remove_seen(&self, calls: &mut Vec<RawCall>) {
        calls.retain(|call| !self.seen.contains_key(&identity(call)));
    }

    /// Returns true for a call that is only mentioned after one in a clearer form. Where nothing but
    /// punctuation is between them, it is the next one of a list.
    pub(super) fn is_mention(&self, confidence: Confidence) -> bool {
        confidence < self.confidence.min(Confidence::Json) && !self.in_list
    }

    pub(super) fn count(&mut self, calls: &[RawCall], confidence: Confidence, form: Confidence) {
        self.confidence = self.confidence.max(confidence);
        for call in calls {
            let (_, count) = self.seen.entry(identity(call)).or_insert((form, 0));
            *count += 1;
        }
    }
}

/// The name and the arguments of a call; two calls with the same ones are the same.
pub(super) fn identity(call: &RawCall) -> CallIdentity {
    let arguments = match goodcall_core::Tree::parse(&call.arguments) {
        Ok(tree) => tree.to_json(),
        Err(_) => call.arguments.clone(),
    };
    (call.name.clone(), arguments)
}
