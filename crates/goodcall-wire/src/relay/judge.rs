//! Judges the calls of a reply, and records the verdicts.

use std::sync::Arc;

use goodcall_core::{
    Change, Explain, Issue, Policies, Reason, StopReason, Style, Verdict, unread_call_text,
};

use crate::call::RawCall;
use crate::envelope::CallRewrite;
use crate::text::TextCallScope;
use crate::tools::Tools;

/// What a gateway may do to replies.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelaySettings {
    /// Which rules may mend the calls of which tools.
    pub policies: Policies,
    /// The style of the text that tells the model what is wrong with a call.
    pub style: Style,
    /// How many times the model may be asked again per request.
    pub reasks: u32,
    /// The most tokens that the model is given when it is asked again for a call that the request's own
    /// limit cut off. `None` does not ask again, since the same limit would cut off the next reply.
    pub continue_cut_off: Option<u64>,
    /// What the client gets for a call that is still bad after that.
    pub give_up: GiveUp,
    /// Where calls written into text are recognized and turned into real calls; `None` for nowhere.
    pub text_calls: Option<TextCallScope>,
    /// Forward arguments while strict validation holds, before the call is complete.
    pub stream_arguments: bool,
    /// The most bytes of one reply that are held back; a larger reply is forwarded unjudged.
    pub max_held: usize,
    /// Which usage the client is told after a re-ask.
    pub usage: UsageMode,
    /// Write the summary of verdicts into the body as well, as the member `goodcall`.
    pub report: bool,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            policies: Policies::default(),
            style: Style::Model,
            reasks: 2,
            continue_cut_off: None,
            give_up: GiveUp::AsSent,
            text_calls: None,
            stream_arguments: false,
            max_held: 8 << 20,
            usage: UsageMode::Sum,
            report: false,
        }
    }
}

/// Which usage the client is told after a re-ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageMode {
    /// That of all replies together, which is what was paid for.
    #[default]
    Sum,
    /// That of the last reply, which tells how full the context is.
    Last,
}

/// What the client gets for a call that stays bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GiveUp {
    /// The call as the model sent it.
    #[default]
    AsSent,
    /// The text that explains to the model what is wrong, in place of the call.
    Text,
}

/// The verdict on one call of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallVerdict {
    /// The call is valid as sent.
    Good,
    /// The call is valid after recorded changes.
    Mended,
    /// The call must not be run.
    Bad,
    /// The call was not judged: its tool has no known schema, or the reply was too large.
    #[default]
    Unjudged,
}

impl CallVerdict {
    /// The name in logs and metrics, such as `good`.
    pub fn name(self) -> &'static str {
        match self {
            CallVerdict::Good => "good",
            CallVerdict::Mended => "mended",
            CallVerdict::Bad => "bad",
            CallVerdict::Unjudged => "unjudged",
        }
    }
}

/// The log entry of one call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallRecord {
    /// The index of the reply that held the call, among the replies to one request.
    pub attempt: u32,
    /// The name of the tool.
    pub tool: String,
    /// The verdict on the call.
    pub verdict: CallVerdict,
    /// The name of the reason why a call is bad.
    pub reason: Option<&'static str>,
    /// The changes that were made, or the issues of a bad call.
    pub notes: Vec<CallNote>,
    /// The arguments as sent; empty for a call that was not judged.
    pub sent: String,
    /// The arguments that were passed on in their place, for a mended call.
    pub passed: Option<String>,
    /// The text that tells the model what is wrong, for a bad call. The model reads it if it is asked
    /// again.
    pub told: Option<String>,
}

/// One change of a mended call, or one issue of a bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallNote {
    /// The rule that made the change, or the name of the issue's kind.
    pub rule: &'static str,
    /// The place in the arguments, such as `edits[0].path`.
    pub field: String,
    /// The value before the change.
    pub before: Option<String>,
    /// The value after the change.
    pub after: Option<String>,
    /// True if a member was only renamed: then `before` and `after` are names, not values.
    pub renamed: bool,
}

impl CallRecord {
    /// The record of a call of this tool.
    pub fn new(tool: impl Into<String>, verdict: CallVerdict) -> Self {
        Self {
            tool: tool.into(),
            verdict,
            ..Self::default()
        }
    }
}

impl CallNote {
    /// The note of a change.
    pub fn of_change(change: &Change) -> Self {
        let field = change.pointer.dotted();
        let (before, after, renamed) = match &change.from {
            Some(from) => (Some(from.dotted()), Some(field.clone()), true),
            None => (
                change.before.clone().map(String::from),
                change.after.clone().map(String::from),
                false,
            ),
        };
        Self {
            rule: change.rule.name(),
            field,
            before,
            after,
            renamed,
        }
    }

    /// The note of an issue.
    pub fn of_issue(issue: &Issue) -> Self {
        Self {
            rule: issue.kind.name(),
            field: issue.pointer.dotted(),
            before: issue.actual.as_ref().map(|actual| actual.short.clone()),
            after: None,
            renamed: false,
        }
    }
}

/// A call, and what is to be done with it.
#[derive(Clone, Debug)]
pub(crate) struct CallDecision {
    pub(crate) call: RawCall,
    pub(crate) verdict: CallVerdict,
    /// The arguments that replace those that were sent.
    pub(crate) arguments: Option<String>,
    /// The text that tells the model what is wrong with a bad call.
    pub(crate) text: String,
    pub(crate) record: CallRecord,
}

impl CallDecision {
    /// Notes that parts of the call were forwarded before it was complete. Such a call cannot be
    /// changed any more, and is recorded as bad if it would have had to be.
    pub(crate) fn mark_streamed(&mut self) {
        if matches!(self.verdict, CallVerdict::Mended | CallVerdict::Bad) {
            self.record.verdict = CallVerdict::Bad;
            self.record.reason.get_or_insert("streamed");
            self.record.passed = None;
            self.verdict = CallVerdict::Unjudged;
            self.arguments = None;
        }
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.verdict == CallVerdict::Bad
    }

    /// The id of the call, which is empty in protocols that have none.
    pub(crate) fn id(&self) -> &str {
        self.call.id.as_deref().unwrap_or_default()
    }

    /// Returns how the call is to be written; `if_bad` says so for a bad one.
    pub(crate) fn rewrite<'a>(&'a self, if_bad: CallRewrite<'a>) -> CallRewrite<'a> {
        match (self.verdict, &self.arguments) {
            (_, Some(arguments)) => CallRewrite::Replace(arguments.as_str().into()),
            (CallVerdict::Bad, None) => if_bad,
            (CallVerdict::Unjudged, None) => CallRewrite::Untouched,
            _ => CallRewrite::KeepAsSent,
        }
    }

    /// The arguments that the client gets.
    pub(crate) fn final_arguments(&self) -> &str {
        self.arguments.as_deref().unwrap_or(&self.call.arguments)
    }
}

/// Judges the calls in the replies to one request.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) settings: Arc<RelaySettings>,
    pub(crate) tools: Tools,
    /// True if the request offers tools without a known schema, so that a call of an unknown name
    /// may be one of theirs.
    pub(crate) has_opaque_tools: bool,
}

impl Judge {
    /// Returns the decision on a call that nobody looks at: it is forwarded as it is.
    pub(crate) fn unjudged(&self, call: RawCall, attempt: u32) -> CallDecision {
        let record = CallRecord {
            attempt,
            ..CallRecord::new(&call.name, CallVerdict::Unjudged)
        };
        CallDecision {
            call,
            verdict: CallVerdict::Unjudged,
            arguments: None,
            text: String::new(),
            record,
        }
    }

    /// Returns the record of a text that was meant as a call, but cannot be read as one.
    pub(crate) fn unread(&self, text: &str, attempt: u32) -> CallDecision {
        let mut decision = self.unjudged(RawCall::new(&self.tools, "", text), attempt);
        decision.record.verdict = CallVerdict::Bad;
        decision.record.reason = Some(Reason::Malformed.name());
        text.clone_into(&mut decision.record.sent);
        decision.record.told = Some(unread_call_text());
        decision
    }

    pub(crate) fn judge(&self, call: RawCall, attempt: u32, stop: StopReason) -> CallDecision {
        let mut decision = self.unjudged(call, attempt);
        let (call, record) = (&decision.call, &mut decision.record);
        record.sent.clone_from(&call.arguments);
        let tool = self.tools.get(&call.name);
        let judgeable = match tool {
            Some(tool) => tool.schema().is_ok(),
            None => !self.has_opaque_tools,
        };
        if !judgeable {
            return decision;
        }
        let destructive = tool.is_some_and(|tool| tool.is_destructive());
        let policies = &self.settings.policies;
        let policy = if destructive {
            policies.for_destructive_tool(&call.name)
        } else {
            policies.for_tool(&call.name)
        };
        let verdict = call.check(&self.tools, &policy, stop);
        record.notes = notes(&verdict);
        let verdict = match verdict {
            Verdict::Good(_) => CallVerdict::Good,
            Verdict::Mended(mended) => {
                decision.arguments = Some(mended.arguments.to_json());
                record.passed.clone_from(&decision.arguments);
                CallVerdict::Mended
            }
            Verdict::Bad(refusal) => {
                record.reason = Some(refusal.reason.name());
                let name = self.tools.alias_of(&call.name);
                decision.text = Explain::new(self.settings.style).tool(name).text(&refusal);
                record.told = Some(decision.text.clone());
                CallVerdict::Bad
            }
        };
        (decision.verdict, decision.record.verdict) = (verdict, verdict);
        decision
    }
}

fn notes(verdict: &Verdict<'_>) -> Vec<CallNote> {
    let changes = match verdict {
        Verdict::Mended(mended) => &*mended.changes,
        _ => &[],
    };
    let issues = verdict.issues().iter().map(CallNote::of_issue);
    let changes = changes.iter().map(CallNote::of_change);
    changes.chain(issues).collect()
}
