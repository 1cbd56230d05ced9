//! Judges the calls of one session and their results, without I/O.
//!
//! Whoever moves messages asks [`Judge::call`] about each `tools/call` request, and
//! [`Judge::result`] about each response to one.

mod approval;
mod result;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goodcall::{LoopReport, ToolResult};
use goodcall_core::{
    Change, Explain, Gate, Issue, IssueKind, Level, Reason, Refusal, RuleId, Schema, Tree, Verdict,
};
use goodcall_wire::relay::CallNote;
use goodcall_wire::{ToolDefinition, Tools};

use serde_json::value::RawValue;

pub(crate) use approval::Approval;

use crate::argument_mirrors::{MirroredHeaders, mirrored};
use crate::call_log::{CallDetails, LogEntry, ProxyOutcome, ProxyRecord, ProxyVerdict, now_ms};
use crate::call_request::{CallRequest, UnreadableCall, fingerprint, without_lone_surrogates};
use crate::catalogue::{Catalogue, Knowledge};
use crate::frame::{Frame, Message};
use crate::json_span::{Splice, quoted, splice};
use crate::loop_guard::LoopGuard;
use crate::options::{CallMode, ProxyOptions};

/// Bytes of arguments that the loop detector keeps; it keeps a fingerprint of longer ones.
const KEPT_ARGUMENTS: usize = 4096;
/// The reason for the refusal of a call that was made too often.
const RATE_LIMITED: &str = "rate_limited";
/// Names of tools that are remembered because the server does not list them.
const MAX_UNLISTED: usize = 1000;

/// The judge of one session.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(crate) options: Arc<ProxyOptions>,
    pub(crate) catalogue: Catalogue,
    loop_guard: LoopGuard,
    /// Whether the user approves the call that is judged next.
    pub(crate) approval: Approval,
    warned: HashSet<String>,
    /// Names of tools that the server did not list when it was asked because of them.
    unlisted: HashSet<String>,
    /// Log entries for whoever does I/O to take and write.
    pub(crate) log: Vec<LogEntry>,
}

/// The judgement on a `tools/call` request.
#[derive(Debug)]
pub(crate) enum CallJudgement {
    /// The list of tools is needed first.
    NeedsTools,
    /// The call is forwarded byte for byte.
    AsSent(Box<ForwardedCall>),
    /// The call is forwarded in this form.
    Rewritten(Frame, Box<ForwardedCall>),
    /// The user is to be asked this first.
    NeedsApproval(String),
    /// The call is not forwarded, but answered with this.
    Answer(Frame),
}

/// A call that was forwarded, as it is remembered until its result comes.
#[derive(Clone, Debug)]
pub(crate) struct ForwardedCall {
    /// The request's id as JSON text.
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The tool's name as sent, where it was cleaned.
    sent_name: Option<String>,
    verdict: ProxyVerdict,
    /// Why the call is bad, if it was forwarded nevertheless.
    reason: Option<&'static str>,
    changes: Vec<Change>,
    came: Arrival,
    /// The arguments, or their fingerprint, for the loop detector.
    loop_key: String,
    details: CallDetails,
    output: Option<Schema>,
    has_result_type: bool,
    /// The headers that mirror the arguments, if the call was rewritten.
    pub(crate) mirrors: MirroredHeaders,
}

/// When a call came.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    /// Milliseconds since 1970.
    time_ms: u64,
}

/// A call before it is decided whether the list of tools is fresh enough to act on it.
enum Assessment<'c> {
    UnknownTool(Refusal),
    Refused { tool: &'c str, refusal: Refusal },
    Accepted(AcceptedCall<'c>),
}

struct AcceptedCall<'c> {
    tool: &'c ToolDefinition,
    verdict: ProxyVerdict,
    changes: Vec<Change>,
    splices: Vec<Splice>,
    /// The arguments after mending; `None` if there are none or they were not read.
    arguments: Option<Tree<'c>>,
}

impl Judge {
    pub(crate) fn new(options: Arc<ProxyOptions>) -> Self {
        Self {
            loop_guard: LoopGuard::new(options.loops),
            approval: Approval::Unavailable,
            options,
            catalogue: Catalogue::default(),
            warned: HashSet::new(),
            unlisted: HashSet::new(),
            log: Vec::new(),
        }
    }

    /// Judges one `tools/call` request. `listed` says that the list of tools was asked for because
    /// of this call, so that it is not asked for again.
    pub(crate) fn call(
        &mut self,
        message: &Message<'_>,
        listed: bool,
        now: Instant,
    ) -> CallJudgement {
        let request = match CallRequest::read(message) {
            Ok(request) => request,
            Err(UnreadableCall::Ambiguous(answer)) if !self.options.calls.observe => {
                return CallJudgement::Answer(answer);
            }
            Err(UnreadableCall::Ambiguous(_) | UnreadableCall::Malformed) => {
                return self.forward_unchecked(&CallRequest::malformed(message), now);
            }
        };
        let is_fresh = match self.catalogue.knowledge(now) {
            Knowledge::Unavailable => return self.forward_unchecked(&request, now),
            Knowledge::Missing if listed => return self.forward_unchecked(&request, now),
            Knowledge::Missing => return CallJudgement::NeedsTools,
            Knowledge::Stale => listed,
            Knowledge::Fresh => true,
        };
        let is_recent = listed || (is_fresh && self.catalogue.is_recent(now));
        let tools = self.catalogue.tools().clone();
        match self.assess(&request, &tools) {
            // The server may have a new tool without having announced it.
            Assessment::UnknownTool(_) if !listed && !self.unlisted.contains(&*request.name) => {
                CallJudgement::NeedsTools
            }
            Assessment::UnknownTool(refusal) => self.unknown_tool(&request, &refusal, now),
            Assessment::Refused { .. } if !is_recent => CallJudgement::NeedsTools,
            Assessment::Refused { tool, refusal } => {
                if self.mode(tool) == CallMode::Refuse && !is_left_to_the_server(&refusal) {
                    self.refuse_unless_approved(&request, tool, &refusal, now)
                } else {
                    self.forward_bad(&request, tool, &refusal, now)
                }
            }
            // A stale list is good enough for a call that needs no mending.
            Assessment::Accepted(call) if !is_fresh && !call.splices.is_empty() => {
                CallJudgement::NeedsTools
            }
            Assessment::Accepted(call) => self.forward_if_approved(&request, call, now),
        }
    }

    fn assess<'c>(&self, request: &'c CallRequest<'_>, tools: &'c Tools) -> Assessment<'c> {
        let Some(tool) = tools.meant(&request.name) else {
            let raw = request.arguments.as_ref().map_or("", |(_, raw)| raw);
            return Assessment::UnknownTool(tools.unknown_call(&request.name, raw));
        };
        let (options, own) = self.of_tool(&tool.name);
        let policy = options.calls.policy(tool, own);
        let mut call = AcceptedCall {
            tool,
            verdict: ProxyVerdict::Good,
            changes: Vec::new(),
            splices: Vec::new(),
            arguments: None,
        };
        if tool.name != request.name {
            if !policy.allows(RuleId::ToolName, Level::Safe) {
                let refusal = tools.unknown(&request.name);
                let tool = &*request.name;
                return Assessment::Refused { tool, refusal };
            }
            call.rename(request);
        }
        let Ok(schema) = tool.schema() else {
            call.verdict = ProxyVerdict::Unchecked;
            return Assessment::Accepted(call);
        };
        let gate = Gate::new(schema)
            .policy(policy)
            .limits(self.options.limits())
            .tool(&tool.name);
        let verdict = match &request.arguments {
            Some((_, raw)) => gate.check(raw),
            None if schema.accepts_empty_object() => return Assessment::Accepted(call),
            None => gate.check(""),
        };
        match verdict {
            Verdict::Good(arguments) => call.arguments = Some(arguments),
            Verdict::Mended(mended) => {
                call.splices
                    .push(argument_splice(request, &mended.arguments));
                call.changes.extend(mended.changes.into_vec());
                call.verdict = ProxyVerdict::Mended;
                call.arguments = Some(mended.arguments);
            }
            Verdict::Bad(refusal) => {
                let raw = request.arguments.as_ref().map_or("", |(_, raw)| *raw);
                let is_good = |text: String| matches!(gate.check(&text), Verdict::Good(_));
                // Half a character is the reason only if the call is good with another one there.
                if !without_lone_surrogates(raw).is_some_and(is_good) {
                    let tool = &tool.name;
                    return Assessment::Refused { tool, refusal };
                }
            }
        }
        Assessment::Accepted(call)
    }

    fn forward(
        &mut self,
        request: &CallRequest<'_>,
        accepted: AcceptedCall<'_>,
        now: Instant,
    ) -> CallJudgement {
        let tool = accepted.tool;
        if let Err(error) = tool.schema() {
            self.warn_once(&tool.name, || format!("{error}; its calls are not checked"));
        }
        let mut call = self.forwarded(request, &tool.name, now);
        call.verdict = accepted.verdict;
        call.changes = accepted.changes;
        if let Some(refused) = self.begin(request, &call, now) {
            return refused;
        }
        if let Some(extras) = self.catalogue.extras(&tool.name) {
            call.output = extras.output.clone();
            if !accepted.splices.is_empty() {
                call.mirrors = mirrored(&extras.mirrors, accepted.arguments.as_ref());
            }
        }
        if accepted.splices.is_empty() || self.observes(&tool.name) {
            return CallJudgement::AsSent(Box::new(call));
        }
        if self.options.log.arguments {
            call.details.passed = accepted.arguments.as_ref().map(Tree::to_json);
        }
        let rewritten = splice(request.bytes, accepted.splices);
        CallJudgement::Rewritten(rewritten, Box::new(call))
    }

    /// Forwards a call whose tool is not known.
    fn forward_unchecked(&mut self, request: &CallRequest<'_>, now: Instant) -> CallJudgement {
        let call = self.forwarded(request, &request.name, now);
        let refused = self.begin(request, &call, now);
        refused.unwrap_or_else(|| CallJudgement::AsSent(Box::new(call)))
    }

    /// Judges a call of a tool that the server does not list. Some servers have tools that they do
    /// not list, so only a name that resembles a listed one is refused.
    fn unknown_tool(
        &mut self,
        request: &CallRequest<'_>,
        refusal: &Refusal,
        now: Instant,
    ) -> CallJudgement {
        let tools = self.catalogue.tools();
        let offered = tools.names().count();
        // By its name alone: arguments that fit a listed tool do not make it that tool.
        let by_name = tools.unknown(&request.name);
        let resembles =
            |issue: &Issue| issue.nearest.is_some() || issue.expected.allowed.len() < offered;
        if !by_name.issues.iter().any(resembles) {
            if self.unlisted.len() < MAX_UNLISTED {
                self.unlisted.insert(request.name.to_string());
            }
            return self.forward_unchecked(request, now);
        }
        if self.mode(&request.name) == CallMode::Refuse {
            self.refuse(request, &request.name, refusal, now)
        } else {
            self.forward_bad(request, &request.name, refusal, now)
        }
    }

    /// Forwards a bad call as it was sent, and notes that it is bad.
    fn forward_bad(
        &mut self,
        request: &CallRequest<'_>,
        tool: &str,
        refusal: &Refusal,
        now: Instant,
    ) -> CallJudgement {
        let mut call = self.forwarded(request, tool, now);
        call.verdict = ProxyVerdict::Bad;
        call.reason = Some(refusal.reason.name());
        call.details.notes = issue_notes(refusal);
        if let Some(refused) = self.begin(request, &call, now) {
            return refused;
        }
        if let Some(extras) = self.catalogue.extras(tool) {
            call.output = extras.output.clone();
        }
        CallJudgement::AsSent(Box::new(call))
    }

    /// Begins a call that is about to be forwarded. Returns the answer if it must be refused, because
    /// it would continue a loop, or was made too often.
    fn begin(
        &mut self,
        request: &CallRequest<'_>,
        call: &ForwardedCall,
        now: Instant,
    ) -> Option<CallJudgement> {
        if self.observes(&call.tool) {
            self.loop_guard.begin_observed();
            return None;
        }
        if let Some(report) = self.loop_guard.begin(&call.tool, &call.loop_key) {
            return Some(self.refuse_loop(request, call, &report, now));
        }
        let (options, own) = self.of_tool(&call.tool);
        let limit = options.calls.rate_limit(own)?;
        let wait = self.options.rates.count(&call.tool, limit, now).err()?;
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let text = goodcall_core::rate_limited_text(&call.tool, limit, seconds);
        self.loop_guard.forget();
        let record = ProxyRecord {
            reason: Some(RATE_LIMITED),
            ..self.record(call, ProxyOutcome::Refused, now)
        };
        Some(self.answer(request, record, text))
    }

    fn observes(&self, tool: &str) -> bool {
        self.mode(tool) == CallMode::Observe
    }

    /// The options of the server that has a tool, and the tool's own name there.
    fn of_tool<'j>(&'j self, tool: &'j str) -> (&'j ProxyOptions, &'j str) {
        let extras = self.catalogue.extras(tool);
        let server = extras.and_then(|extras| extras.server.as_deref());
        self.options.of_tool(tool, server)
    }

    fn mode(&self, tool: &str) -> CallMode {
        let (options, own) = self.of_tool(tool);
        options.calls.mode(own)
    }

    /// How long a call of this tool may take without an answer or a report of its progress.
    pub(crate) fn time_limit(&self, tool: &str) -> Option<Duration> {
        let (options, own) = self.of_tool(tool);
        options.calls.time_limit(own)
    }

    fn refuse(
        &mut self,
        request: &CallRequest<'_>,
        tool: &str,
        refusal: &Refusal,
        now: Instant,
    ) -> CallJudgement {
        let mut text = Explain::new(self.options.style).tool(tool).text(refusal);
        let mut call = self.forwarded(request, tool, now);
        call.verdict = ProxyVerdict::Bad;
        call.changes = refusal.changes.clone();
        call.details.notes = issue_notes(refusal);
        let result = ToolResult::refused(refusal, text.clone());
        let report = self.loop_guard.refused(tool, &call.loop_key, result, now);
        if let Some(report) = &report {
            text = format!("{}\n\n{text}", report.text());
        }
        let record = ProxyRecord {
            reason: Some(refusal.reason.name()),
            r#loop: report.map(|report| report.signal.name()),
            ..self.record(&call, ProxyOutcome::Refused, now)
        };
        self.answer(request, record, text)
    }

    fn refuse_loop(
        &mut self,
        request: &CallRequest<'_>,
        call: &ForwardedCall,
        report: &LoopReport,
        now: Instant,
    ) -> CallJudgement {
        let record = ProxyRecord {
            verdict: ProxyVerdict::Bad,
            reason: Some(Reason::Loop.name()),
            r#loop: Some(report.signal.name()),
            ..self.record(call, ProxyOutcome::Refused, now)
        };
        self.answer(request, record, report.text())
    }

    /// Logs a call that is not forwarded, and answers it with this text.
    fn answer(
        &mut self,
        request: &CallRequest<'_>,
        mut record: ProxyRecord,
        text: String,
    ) -> CallJudgement {
        let answer = request.refusal(&text, record.reason.unwrap_or_default());
        record.details.told = self.options.log.arguments.then_some(text);
        self.log_call(record);
        CallJudgement::Answer(answer)
    }

    /// The headers that mirror the arguments of a call that is forwarded as it is.
    pub(crate) fn mirrors(&self, message: &Message<'_>) -> MirroredHeaders {
        mirrors_in(&self.catalogue, message)
    }

    fn forwarded(&self, request: &CallRequest<'_>, tool: &str, now: Instant) -> ForwardedCall {
        let raw = request.arguments.as_ref().map_or("", |(_, raw)| *raw);
        let loop_key = if raw.len() > KEPT_ARGUMENTS {
            quoted(&fingerprint(raw.as_bytes()))
        } else {
            raw.to_owned()
        };
        ForwardedCall {
            id: request.id.to_owned(),
            tool: tool.to_owned(),
            sent_name: (tool != request.name).then(|| request.name.to_string()),
            verdict: ProxyVerdict::Unchecked,
            reason: None,
            changes: Vec::new(),
            came: Arrival {
                at: now,
                time_ms: now_ms(),
            },
            loop_key,
            details: self.details(request, raw),
            output: None,
            has_result_type: request.has_result_type,
            mirrors: Vec::new(),
        }
    }
}

impl Judge {
    /// What the log, the page and spans have of a request, as far as the host wants it.
    fn details(&self, request: &CallRequest<'_>, raw: &str) -> CallDetails {
        let mut details = CallDetails::default();
        if self.options.log.arguments {
            details.arguments = RawValue::from_string(raw.to_owned()).ok();
        }
        if self.options.log.trace_context {
            details.trace_context = request.trace_context();
        }
        details
    }
}

/// The issues of a bad call, as the page shows them.
fn issue_notes(refusal: &Refusal) -> Vec<CallNote> {
    refusal.issues.iter().map(CallNote::of_issue).collect()
}

impl AcceptedCall<'_> {
    /// Replaces the name as sent by the tool's own.
    fn rename(&mut self, request: &CallRequest<'_>) {
        let range = request.name_span.range();
        self.changes.push(Change::text(
            RuleId::ToolName,
            Level::Safe,
            &*request.name,
            &*self.tool.name,
            range.clone(),
        ));
        self.splices.push((range, quoted(&self.tool.name)));
        self.verdict = ProxyVerdict::Mended;
    }
}

/// The headers that mirror the arguments of a call of one of these tools.
pub(crate) fn mirrors_in(catalogue: &Catalogue, message: &Message<'_>) -> MirroredHeaders {
    let Ok(request) = CallRequest::read(message) else {
        return Vec::new();
    };
    let extras = catalogue.extras(&request.name);
    let Some(extras) = extras.filter(|extras| !extras.mirrors.is_empty()) else {
        return Vec::new();
    };
    let arguments = request.arguments.and_then(|(_, raw)| Tree::parse(raw).ok());
    mirrored(&extras.mirrors, arguments.as_ref())
}

/// The splice that writes mended arguments into a request.
fn argument_splice(request: &CallRequest<'_>, arguments: &Tree<'_>) -> Splice {
    let text = arguments.to_json();
    match &request.arguments {
        Some((span, _)) => (span.range(), text),
        None => {
            let member = format!("\"arguments\":{text}");
            request.params.append_member(&member)
        }
    }
}

/// Returns true if the server itself is to decide about a bad call: it has keys that the schema does
/// not know, which most servers ignore and clients add for their own ends, and nothing else is wrong
/// with it; or it exceeds a limit of the reader.
fn is_left_to_the_server(refusal: &Refusal) -> bool {
    let is_extra = |issue: &Issue| {
        issue.kind == IssueKind::UnknownKey
            && issue.nearest.is_none()
            && issue.moved.is_none()
            && issue.places.is_empty()
    };
    match refusal.reason {
        Reason::TooLarge => true,
        Reason::WrongShape => refusal.more == 0 && refusal.issues.iter().all(is_extra),
        _ => false,
    }
}
