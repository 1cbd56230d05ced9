//! Calls that the upstream could not read itself. Some servers then answer with an error in which the
//! model's text is quoted: it is read here, under the same policy as any other call.

use goodcall_core::{Node, StopReason, Tree, unread_call_text};

use super::exchange::{Exchange, NextStep};
use super::judge::{CallDecision, CallVerdict};
use super::reask::RefusedReply;
use super::usage::Usage;
use crate::call::RawCall;
use crate::text::{Scanner, TextCallScope};

/// What the model wrote, as the upstream quotes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedGeneration {
    pub(crate) text: String,
    pub(crate) extent: QuotedExtent,
}

/// How much of the model's message is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuotedExtent {
    Whole,
    /// What comes after a part that could be read. That part is lost, and calls may be in it.
    Rest,
    /// The arguments of one call, without the name of its tool.
    Arguments,
}

impl FailedGeneration {
    /// Reads the message of an error: that of Ollama, or of llama.cpp.
    pub(crate) fn in_message(message: &str) -> Option<Self> {
        let (text, extent) =
            if let Some((_, quoted)) = message.split_once("error parsing tool call: raw='") {
                (quoted.rsplit_once("', err=")?.0, QuotedExtent::Arguments)
            } else {
                let (_, quoted) = message.split_once("Failed to parse input at pos ")?;
                let (position, text) = quoted.split_once(": ")?;
                let extent = match position {
                    "0" => QuotedExtent::Whole,
                    _ => QuotedExtent::Rest,
                };
                (text, extent)
            };
        Self::new(text, extent)
    }

    pub(crate) fn new(text: &str, extent: QuotedExtent) -> Option<Self> {
        let is_blank = text.trim().is_empty();
        (!is_blank).then(|| Self {
            text: text.to_owned(),
            extent,
        })
    }

    /// Reads the `error` of a reply.
    pub(crate) fn in_error(error: Node<'_>) -> Option<Self> {
        let get = |key| error.get(key).and_then(Node::as_str);
        match get("failed_generation") {
            Some(text) => Self::new(text, QuotedExtent::Whole),
            None => Self::in_message(error.as_str().or_else(|| get("message"))?),
        }
    }
}

/// The calls of a failed generation, judged.
pub(super) struct RecoveredCalls {
    /// The text beside the calls.
    pub(super) text: String,
    /// Each call with its decision; empty if none could be read.
    pub(super) decisions: Vec<CallDecision>,
}

impl RecoveredCalls {
    /// Returns true if the client may have these calls.
    pub(super) fn is_usable(&self) -> bool {
        let is_valid = |decision: &CallDecision| {
            matches!(decision.verdict, CallVerdict::Good | CallVerdict::Mended)
        };
        !self.decisions.is_empty() && self.decisions.iter().all(is_valid)
    }

    /// The text that tells the model what is wrong.
    pub(super) fn explanation(&self) -> String {
        let bad = self.decisions.iter().filter(|decision| decision.is_bad());
        let texts: Vec<_> = bad.map(|decision| decision.text.as_str()).collect();
        if texts.is_empty() {
            unread_call_text()
        } else {
            texts.join("\n\n")
        }
    }
}

/// A whole reply that takes the place of one whose calls could not be read.
pub(crate) struct RecoveredReply<'r> {
    /// What the reply's id is made of.
    pub(crate) number: String,
    pub(crate) model: &'r str,
    /// The text beside the calls.
    pub(crate) text: &'r str,
    /// The calls in the provider's form, with commas between them.
    pub(crate) calls: String,
}

impl Exchange {
    /// Judges an error that came instead of a reply. Servers that cannot read a model's call quote it
    /// in one: if the call can be read here, [`NextStep::Reply`] has the whole reply with it, to be
    /// sent as a success. `Reply(None)` stands for the error as it arrived.
    pub fn failure(&mut self, text: &str) -> NextStep {
        let tree = Tree::parse(text).ok();
        let root = tree.as_ref().map(Tree::root);
        let failed = root.and_then(|root| self.form().failed_generation(root));
        match root.zip(failed) {
            Some((root, failed)) => self.recover(&failed, root, text),
            None => NextStep::Reply(None),
        }
    }

    /// Reads the calls of a failed generation, or asks for them again.
    pub(super) fn recover(
        &mut self,
        failed: &FailedGeneration,
        root: Node<'_>,
        sent: &str,
    ) -> NextStep {
        let mut recovered = self.read_failed(failed);
        if recovered.is_usable() {
            let calls = recovered.decisions.iter().map(|decision| {
                let (name, arguments) = (&decision.call.name, decision.final_arguments());
                self.form().call(decision.id(), name, arguments)
            });
            let reply = RecoveredReply {
                number: self.made_up_number(0),
                model: self.request.model.as_deref().unwrap_or_default(),
                text: recovered.text.trim(),
                calls: calls.collect::<Vec<_>>().join(","),
            };
            if let Some(reply) = self.form().recovered(sent, root, &reply) {
                self.record(&mut recovered.decisions);
                self.note_repair("failed_generation");
                return NextStep::Reply(Some(self.with_figures(reply)));
            }
        }
        self.record_failed(failed, &mut recovered);
        let refused = RefusedReply::Unread {
            said: failed.text.clone(),
            explanation: recovered.explanation(),
        };
        let mut own = Usage::default();
        if let Some(usage) = self.form().usage(root) {
            own.note(usage);
        }
        if self.may_ask() && self.ask_again(&refused, StopReason::Unknown) {
            self.usage.add(&own);
            return NextStep::Reask;
        }
        NextStep::Reply(None)
    }

    /// Reads and judges the calls of a failed generation.
    pub(super) fn read_failed(&self, failed: &FailedGeneration) -> RecoveredCalls {
        let tools = &self.judge.tools;
        let (text, calls) = match (failed.extent, tools.only()) {
            (QuotedExtent::Whole, _) => {
                let scanner = Scanner::new(tools.clone(), TextCallScope::Explicit);
                let found = scanner.whole(&failed.text);
                (found.text, found.calls)
            }
            (QuotedExtent::Arguments, Some(tool)) => {
                let call = RawCall::new(tools, &tool.name, &failed.text);
                (String::new(), vec![call])
            }
            (QuotedExtent::Rest | QuotedExtent::Arguments, _) => (String::new(), Vec::new()),
        };
        let calls = calls.into_iter().enumerate().map(|(index, call)| {
            let call = call.with_id(self.made_up_id(index));
            self.judge.judge(call, self.attempt, StopReason::Unknown)
        });
        RecoveredCalls {
            decisions: calls.collect(),
            text,
        }
    }

    /// Records the calls of a failed generation; one without a name if none could be read.
    pub(super) fn record_failed(&mut self, failed: &FailedGeneration, found: &mut RecoveredCalls) {
        if found.decisions.is_empty() {
            let mut unread = [self.judge.unread(&failed.text, self.attempt)];
            self.record(&mut unread);
        } else {
            self.record(&mut found.decisions);
        }
    }
}
