//! Calls that run only if the user approves them.

use std::time::Instant;

use goodcall_core::{Explain, Refusal, Tree, clip};

use super::{AcceptedCall, CallJudgement, Judge};
use crate::call_log::{ProxyOutcome, ProxyRecord, ProxyVerdict};
use crate::call_request::CallRequest;

/// The reason for the refusal of a call that the user did not approve.
const DENIED: &str = "denied";
/// Characters of arguments that the user is shown.
const SHOWN_ARGUMENTS: usize = 2000;

/// Whether the user approves the call that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    /// The client cannot ask its user.
    Unavailable,
    /// The user can be asked.
    Possible,
    Given,
    Denied,
}

impl Judge {
    /// Forwards a call, if the user approves it or need not be asked.
    pub(super) fn forward_if_approved(
        &mut self,
        request: &CallRequest<'_>,
        accepted: AcceptedCall<'_>,
        now: Instant,
    ) -> CallJudgement {
        let tool = accepted.tool;
        let (options, own) = self.of_tool(&tool.name);
        let is_asked = tool.is_destructive()
            && options.calls.approval(own).covers_destructive()
            && !self.observes(&tool.name);
        match self.approval {
            _ if !is_asked => self.forward(request, accepted, now),
            Approval::Given => self.forward(request, accepted, now),
            Approval::Possible => {
                let arguments = accepted.arguments.as_ref();
                let arguments = arguments.map(Tree::to_json).unwrap_or_default();
                let name = &tool.name;
                let question = format!("Run the tool `{name}`, which may destroy something?");
                CallJudgement::NeedsApproval(with_arguments(&question, &arguments))
            }
            Approval::Denied | Approval::Unavailable => self.deny(request, &tool.name, now),
        }
    }

    /// Refuses a bad call, unless the user wants it to run as it was sent.
    pub(super) fn refuse_unless_approved(
        &mut self,
        request: &CallRequest<'_>,
        tool: &str,
        refusal: &Refusal,
        now: Instant,
    ) -> CallJudgement {
        let (options, own) = self.of_tool(tool);
        let is_asked = options.calls.approval(own).covers_refused();
        match self.approval {
            Approval::Given if is_asked => self.forward_bad(request, tool, refusal, now),
            Approval::Possible if is_asked => {
                let why = Explain::new(self.options.style).tool(tool).text(refusal);
                let raw = request.arguments.as_ref().map_or("", |(_, raw)| raw);
                let question = format!("Run this call of `{tool}` as it was sent? {why}");
                CallJudgement::NeedsApproval(with_arguments(&question, raw))
            }
            _ => self.refuse(request, tool, refusal, now),
        }
    }

    /// Answers a call that the user did not approve.
    fn deny(&mut self, request: &CallRequest<'_>, tool: &str, now: Instant) -> CallJudgement {
        let call = self.forwarded(request, tool, now);
        if self.approval == Approval::Unavailable {
            self.warn_once("#approval", || {
                "the client cannot ask its user, so calls that need approval are refused".to_owned()
            });
        }
        self.loop_guard.forget();
        let record = ProxyRecord {
            verdict: ProxyVerdict::Good,
            reason: Some(DENIED),
            ..self.record(&call, ProxyOutcome::Refused, now)
        };
        self.answer(request, record, goodcall_core::not_approved_text(tool))
    }
}

fn with_arguments(question: &str, arguments: &str) -> String {
    if arguments.is_empty() {
        return question.to_owned();
    }
    format!("{question}\n\n{}", clip(arguments, SHOWN_ARGUMENTS))
}
