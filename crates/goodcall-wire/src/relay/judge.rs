//! How the calls of a reply are judged, and what is remembered of it.

use std::sync::Arc;

use goodcall_core::{Edit, Explain, Policies, StopReason, Style, Verdict};

use crate::call::RawCall;
use crate::envelope::CallRewrite;
use crate::text::TextCallScope;
use crate::tools::Tools;

/// What a gateway may do to replies.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RelaySettings {
    /// What may be mended.
    pub policies: Policies,
    /// How the text for the model reads.
    pub style: Style,
    /// How often the model is asked again.
    pub reasks: u32,
    /// What becomes of a call that is still bad then.
    pub give_up: GiveUp,
    /// Calls that a model writes into text become real calls.
    pub text_calls: Option<TextCallScope>,
    /// Arguments go on while strict validation holds, before the call is whole.
    pub stream_arguments: bool,
    /// Bytes of one reply that are held back until it is judged.
    pub max_held: usize,
    /// The verdict is written into the body, too.
    pub report: bool,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self {
            policies: Policies::default(),
            style: Style::Model,
            reasks: 2,
            give_up: GiveUp::AsSent,
            text_calls: None,
            stream_arguments: false,
            max_held: 8 << 20,
            report: false,
        }
    }
}

/// What becomes of a call that stays bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GiveUp {
    /// It goes on as it was.
    #[default]
    AsSent,
    /// The text that the model got stands in its place.
    Text,
}

/// The verdict on one call of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallVerdict {
    /// Valid as sent.
    Good,
    /// Valid now.
    Mended,
    /// Not to be run.
    Bad,
    /// Nothing is known about its tool, or it was too large.
    #[default]
    Unjudged,
}

impl CallVerdict {
    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            CallVerdict::Good => "good",
            CallVerdict::Mended => "mended",
            CallVerdict::Bad => "bad",
            CallVerdict::Unjudged => "unjudged",
        }
    }
}

/// What is remembered of one call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallRecord {
    /// In which reply to the same request it came, from 0.
    pub attempt: u32,
    /// The tool.
    pub tool: String,
    /// The verdict.
    pub ruled: CallVerdict,
    /// Why it is bad.
    pub reason: Option<&'static str>,
    /// What was changed, or is wrong.
    pub notes: Vec<CallNote>,
    /// The arguments as sent.
    pub sent: String,
}

/// One change, or one issue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallNote {
    /// The rule that changed something, or the code of the issue.
    pub rule: &'static str,
    /// Where, as `edits[0].path`.
    pub field: String,
    /// What was there.
    pub before: Option<String>,
    /// What is there now.
    pub after: Option<String>,
    /// Only a name changed: `before` and `after` are names, not values.
    pub renamed: bool,
}

/// A call with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct CallDecision {
    pub(crate) call: RawCall,
    pub(crate) ruled: CallVerdict,
    /// The arguments to be written in place of those that came.
    pub(crate) arguments: Option<String>,
    /// What the model is told of a bad one.
    pub(crate) text: String,
    pub(crate) judged: CallRecord,
}

impl CallDecision {
    /// Parts of the call went on before it was whole: it cannot be changed any more, and counts as
    /// bad where it should have been.
    pub(crate) fn went_on(&mut self) {
        if matches!(self.ruled, CallVerdict::Mended | CallVerdict::Bad) {
            self.judged.ruled = CallVerdict::Bad;
            self.judged.reason.get_or_insert("streamed");
            self.ruled = CallVerdict::Unjudged;
            self.arguments = None;
        }
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.ruled == CallVerdict::Bad
    }

    /// How the call is written; a bad one as `bad` says.
    pub(crate) fn due<'a>(&'a self, bad: CallRewrite<'a>) -> CallRewrite<'a> {
        match (self.ruled, &self.arguments) {
            (_, Some(arguments)) => CallRewrite::Write(arguments.as_str().into()),
            (CallVerdict::Bad, None) => bad,
            (CallVerdict::Unjudged, None) => CallRewrite::Untouched,
            _ => CallRewrite::Sent,
        }
    }

    /// The arguments that go on.
    pub(crate) fn final_arguments(&self) -> &str {
        self.arguments.as_deref().unwrap_or(&self.call.arguments)
    }
}

/// Judges the calls of replies to one request.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) settings: Arc<RelaySettings>,
    pub(crate) tools: Tools,
    /// There are tools that we know nothing about.
    pub(crate) opaque: bool,
}

impl Judge {
    /// A call that nobody looked at.
    pub(crate) fn unjudged(&self, call: RawCall, attempt: u32) -> CallDecision {
        let judged = CallRecord {
            attempt,
            tool: call.name.clone(),
            ruled: CallVerdict::Unjudged,
            reason: None,
            notes: Vec::new(),
            sent: String::new(),
        };
        CallDecision {
            call,
            ruled: CallVerdict::Unjudged,
            arguments: None,
            text: String::new(),
            judged,
        }
    }

    pub(crate) fn rule(&self, call: RawCall, attempt: u32, stop: StopReason) -> CallDecision {
        let mut judged = CallRecord {
            attempt,
            tool: call.name.clone(),
            ruled: CallVerdict::Unjudged,
            reason: None,
            notes: Vec::new(),
            sent: String::new(),
        };
        let (mut arguments, mut text) = (None, String::new());
        let tool = self.tools.get(&call.name);
        let judgeable = match tool {
            Some(tool) => tool.schema.is_ok(),
            None => !self.opaque,
        };
        if judgeable {
            let destructive = tool.is_some_and(|tool| tool.is_destructive());
            let policies = &self.settings.policies;
            let policy = if destructive {
                policies.for_destructive_tool(&call.name)
            } else {
                policies.for_tool(&call.name)
            };
            let verdict = call.check(&self.tools, &policy, stop);
            judged.notes = notes(&verdict);
            judged.ruled = match verdict {
                Verdict::Good(_) => CallVerdict::Good,
                Verdict::Mended(mended) => {
                    arguments = Some(mended.arguments.to_json());
                    CallVerdict::Mended
                }
                Verdict::Bad(bad) => {
                    judged.reason = Some(bad.reason.name());
                    let explain =
                        Explain::new(self.settings.style).tool(self.tools.alias_of(&call.name));
                    text = explain.text(&bad);
                    CallVerdict::Bad
                }
            };
        }
        judged.sent.clone_from(&call.arguments);
        CallDecision {
            ruled: judged.ruled,
            call,
            arguments,
            text,
            judged,
        }
    }
}

fn notes(verdict: &Verdict<'_>) -> Vec<CallNote> {
    let changes = match verdict {
        Verdict::Mended(mended) => mended.changes.as_slice(),
        _ => &[],
    };
    let changed = changes.iter().map(|change| {
        let field = change.pointer.dotted();
        let (before, after, renamed) = match &change.edit {
            Edit::Move { from } => (Some(from.dotted()), Some(field.clone()), true),
            _ => (
                change.before.clone().map(String::from),
                change.after.clone().map(String::from),
                false,
            ),
        };
        CallNote {
            rule: change.rule.name(),
            field,
            before,
            after,
            renamed,
        }
    });
    let wrong = verdict.issues().iter().map(|issue| CallNote {
        rule: issue.kind.name(),
        field: issue.pointer.dotted(),
        before: issue.actual.as_ref().map(|got| got.short.clone()),
        after: None,
        renamed: false,
    });
    changed.chain(wrong).collect()
}
