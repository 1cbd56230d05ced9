//! The gate in front of one server: what becomes of a call, and of its result.
//!
//! No I/O here. Whoever moves messages asks [`Judge::call`] for each `tools/call` and hands the
//! response to [`Judge::answer`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use goodcall::{ErrorClass, LoopReport, ToolResult};
use goodcall_core::{
    Change, Explain, Gate, Level, Policy, Reason, Refusal, RuleId, Schema, Tree, Verdict,
};
use goodcall_wire::ToolDefinition;

use crate::call_log::{LogEntry, ProxyOutcome, ProxyRecord, now_ms};
use crate::call_request::{CallRequest, clip, fingerprint, first_text, mirrored};
use crate::catalogue::{Catalogue, Knowledge};
use crate::frame::{self, Frame, Outline};
use crate::json_rpc;
use crate::loop_guard::{self, LoopGuard};
use crate::options::ProxyOptions;

/// The rule that records a cleaned tool name.
/// Bytes of arguments that the detector of loops keeps; of longer ones it keeps a fingerprint.
const KEPT_ARGUMENTS: usize = 4096;
/// Tools that are warned of once; beyond that nothing more is said.
const MOST_WARNINGS: usize = 1000;

/// The gate in front of one server.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(crate) options: Arc<ProxyOptions>,
    pub(crate) catalogue: Catalogue,
    circles: LoopGuard,
    warned: HashSet<String>,
    /// What is to be written down; taken by whoever does I/O.
    pub(crate) notes: Vec<LogEntry>,
}

/// What becomes of a call.
#[derive(Debug)]
pub(crate) enum CallJudgement {
    /// The list of tools is needed first.
    List,
    /// Forward this; the ticket goes with the answer.
    Forward(Cow<'static, [u8]>, Box<ForwardedCall>),
    /// Forward it as it is.
    AsSent(Box<ForwardedCall>),
    /// Do not forward it; this is the answer.
    Answer(Frame),
}

/// A call on its way.
#[derive(Clone, Debug)]
pub(crate) struct ForwardedCall {
    /// The request's id as JSON text.
    pub(crate) id: String,
    tool: String,
    sent: Option<String>,
    verdict: &'static str,
    changes: Vec<Change>,
    started: Instant,
    time_ms: u64,
    /// What the detector of loops knows of the arguments.
    key: String,
    /// For the log, where asked for.
    arguments: Option<String>,
    output: Option<Schema>,
    typed: bool,
    /// Mirrored arguments after mending: header and value, `None` where there is no value.
    pub(crate) mirrors: Vec<(String, Option<String>)>,
}

impl ForwardedCall {
    /// The name of the tool that is called.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }
}

impl Judge {
    pub(crate) fn new(options: Arc<ProxyOptions>) -> Self {
        Self {
            circles: LoopGuard::new(options.loops),
            options,
            catalogue: Catalogue::default(),
            warned: HashSet::new(),
            notes: Vec::new(),
        }
    }

    /// Judges one `tools/call` request. `listed`: the list was asked for because of this call, so
    /// it is not asked for again.
    pub(crate) fn call(
        &mut self,
        bytes: &[u8],
        outline: &Outline,
        listed: bool,
        now: Instant,
    ) -> CallJudgement {
        let sent = match CallRequest::read(bytes, outline) {
            Ok(sent) => sent,
            Err(answer) => {
                return answer.map_or_else(
                    || self.unchecked(bytes, outline, now),
                    CallJudgement::Answer,
                );
            }
        };
        let knowledge = self.catalogue.knowledge(now);
        if knowledge == Knowledge::Unavailable || (knowledge == Knowledge::Missing && listed) {
            return self.unchecked(bytes, outline, now);
        }
        if knowledge == Knowledge::Missing {
            return CallJudgement::List;
        }
        let fresh = listed || knowledge == Knowledge::Fresh;
        let tools = self.catalogue.tools().clone();
        let Some(tool) = tools.meant(&sent.name) else {
            // The server may have a new tool and not have said so.
            if !listed {
                return CallJudgement::List;
            }
            let bad = tools.unknown(&sent.name);
            return self.refuse(&sent, &sent.name, &bad, now);
        };
        let policies = &self.options.policies;
        let policy = if tool.is_destructive() {
            policies.for_destructive_tool(&tool.name)
        } else {
            policies.for_tool(&tool.name)
        };
        let renamed = tool.name != sent.name;
        if renamed && !fresh {
            return CallJudgement::List;
        }
        if renamed && !policy.allows(RuleId::ToolName, Level::Safe) {
            let bad = tools.unknown(&sent.name);
            return self.refuse(&sent, &sent.name, &bad, now);
        }
        self.check(&sent, tool, policy, fresh, now)
    }

    fn check(
        &mut self,
        sent: &CallRequest<'_>,
        tool: &ToolDefinition,
        policy: Policy,
        fresh: bool,
        now: Instant,
    ) -> CallJudgement {
        let mut changes = Vec::new();
        let mut edits = Vec::new();
        if tool.name != sent.name {
            let span = sent.name_span.clone();
            changes.push(Change::text(
                RuleId::ToolName,
                Level::Safe,
                &*sent.name,
                &*tool.name,
                span.clone(),
            ));
            edits.push((span, frame::quoted(&tool.name)));
        }
        let schema = match &tool.schema {
            Ok(schema) => schema,
            Err(error) => {
                self.warn_once(&tool.name, || format!("{error}; its calls are not checked"));
                return self.forward(sent, tool, "unchecked", changes, edits, None, now);
            }
        };
        let gate = Gate::new(schema)
            .policy(policy)
            .limits(self.options.limits());
        let verdict = match &sent.arguments {
            Some((_, raw)) => gate.tool(&tool.name).check(raw),
            None if schema.accepts_empty_object() => {
                return self.forward(sent, tool, "good", changes, edits, None, now);
            }
            None => gate.check(""),
        };
        if !fresh && !matches!(verdict, Verdict::Good(_)) {
            return CallJudgement::List;
        }
        match verdict {
            Verdict::Good(tree) => {
                self.forward(sent, tool, "good", changes, edits, Some(tree), now)
            }
            Verdict::Mended(mended) => {
                let text = mended.arguments.to_json();
                edits.push(match &sent.arguments {
                    Some((span, _)) => (span.clone(), text),
                    None => {
                        let member = format!("\"arguments\":{text}");
                        frame::adding(sent.bytes, &sent.params, &member)
                    }
                });
                changes.extend(mended.changes);
                self.forward(
                    sent,
                    tool,
                    "mended",
                    changes,
                    edits,
                    Some(mended.arguments),
                    now,
                )
            }
            Verdict::Bad(bad) => self.refuse(sent, &tool.name, &bad, now),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn forward(
        &mut self,
        sent: &CallRequest<'_>,
        tool: &ToolDefinition,
        verdict: &'static str,
        changes: Vec<Change>,
        edits: Vec<(Range<usize>, String)>,
        arguments: Option<Tree<'_>>,
        now: Instant,
    ) -> CallJudgement {
        let mut ticket = self.ticket(sent, &tool.name, now);
        ticket.verdict = match verdict {
            "good" if !changes.is_empty() => "mended",
            other => other,
        };
        ticket.changes = changes;
        if let Some(suspicion) = self.circles.begin(&tool.name, &ticket.key) {
            return self.refuse_circle(sent, ticket, &suspicion, now);
        }
        if let Some(extra) = self.catalogue.extra(&tool.name) {
            ticket.output = extra.output.clone();
            if !edits.is_empty() {
                ticket.mirrors = mirrored(&extra.mirrors, arguments.as_ref());
            }
        }
        match edits.is_empty() {
            true => CallJudgement::AsSent(Box::new(ticket)),
            false => {
                let frame = frame::splice(sent.bytes, edits);
                CallJudgement::Forward(Cow::Owned(frame), Box::new(ticket))
            }
        }
    }

    /// Forwards a call of which nothing is known.
    fn unchecked(&mut self, bytes: &[u8], outline: &Outline, now: Instant) -> CallJudgement {
        let sent = match CallRequest::read(bytes, outline) {
            Ok(sent) => sent,
            // Not what the protocol asks for: the server says so itself.
            Err(_) => CallRequest::unreadable(bytes, outline),
        };
        let name = sent.name.clone().into_owned();
        let ticket = self.ticket(&sent, &name, now);
        // Where nothing is known of the tool, the detector still sees its results.
        match self.circles.begin(&name, &ticket.key) {
            Some(suspicion) => self.refuse_circle(&sent, ticket, &suspicion, now),
            None => CallJudgement::AsSent(Box::new(ticket)),
        }
    }

    fn refuse(
        &mut self,
        sent: &CallRequest<'_>,
        tool: &str,
        bad: &Refusal,
        now: Instant,
    ) -> CallJudgement {
        let explain = Explain::new(self.options.style).tool(tool);
        let mut text = explain.text(bad);
        let mut ticket = self.ticket(sent, tool, now);
        ticket.verdict = "bad";
        ticket.changes = bad.changes.clone();
        let result = ToolResult::refused(bad, text.clone());
        let suspicion = self.circles.refused(tool, &ticket.key, result);
        if let Some(suspicion) = &suspicion {
            text = format!("{}\n\n{text}", suspicion.text());
        }
        let record = self.record(&ticket, ProxyOutcome::Refused, now);
        let record = ProxyRecord {
            reason: Some(json_rpc::reason(bad)),
            r#loop: suspicion.map(|suspicion| suspicion.signal.name()),
            ..record
        };
        self.notes.push(LogEntry::Call(Box::new(record)));
        CallJudgement::Answer(sent.refusal(&text, json_rpc::reason(bad)))
    }

    fn refuse_circle(
        &mut self,
        sent: &CallRequest<'_>,
        ticket: ForwardedCall,
        suspicion: &LoopReport,
        now: Instant,
    ) -> CallJudgement {
        let reason = Reason::Loop.name();
        let record = ProxyRecord {
            verdict: "bad",
            reason: Some(reason),
            r#loop: Some(suspicion.signal.name()),
            ..self.record(&ticket, ProxyOutcome::Refused, now)
        };
        self.notes.push(LogEntry::Call(Box::new(record)));
        CallJudgement::Answer(sent.refusal(&suspicion.text(), reason))
    }

    /// The mirrored arguments of a call, for whoever writes headers.
    pub(crate) fn mirrors(&self, bytes: &[u8], outline: &Outline) -> Vec<(String, Option<String>)> {
        let Ok(sent) = CallRequest::read(bytes, outline) else {
            return Vec::new();
        };
        let extra = self.catalogue.extra(&sent.name);
        let Some(extra) = extra.filter(|extra| !extra.mirrors.is_empty()) else {
            return Vec::new();
        };
        let arguments = sent.arguments.and_then(|(_, raw)| Tree::parse(raw).ok());
        mirrored(&extra.mirrors, arguments.as_ref())
    }

    /// Takes in the response to a call; what comes back goes to the client.
    pub(crate) fn answer(
        &mut self,
        ticket: &ForwardedCall,
        bytes: Frame,
        outline: &Outline,
        now: Instant,
    ) -> Frame {
        let Some(result) = outline.result.clone() else {
            let said = outline.error.as_ref().and_then(|error| {
                let message = frame::member(&bytes, error, "message")?;
                frame::text(&bytes, &message).map(|text| clip(&text))
            });
            let failed = ToolResult::failure(ErrorClass::Runtime, said.unwrap_or_default());
            self.ended(ticket, ProxyOutcome::Error, failed, None, now);
            return bytes;
        };
        let is_error = frame::is_true(&bytes, &result, "isError");
        let (came, outcome) = match is_error {
            true => {
                let said = first_text(&bytes, &result).unwrap_or_default();
                (ToolResult::error(said), ProxyOutcome::ToolError)
            }
            false => (
                ToolResult::success(fingerprint(&bytes[result.clone()])),
                ProxyOutcome::Ok,
            ),
        };
        let mismatch = match is_error {
            true => None,
            false => self.mismatch(ticket, &bytes, &result),
        };
        let output = ticket.output.as_ref().filter(|_| !is_error);
        let output = output.map(|_| {
            if mismatch.is_some() {
                "mismatch"
            } else {
                "match"
            }
        });
        self.ended(ticket, outcome, came, output, now);
        if let Some(bad) = mismatch {
            let explain = Explain::new(self.options.style).tool(&ticket.tool);
            if self.options.check_output {
                return json_rpc::refusal(
                    &ticket.id,
                    &explain.output(&bad),
                    "wrong_output",
                    ticket.typed,
                );
            }
            let text = explain.output(&bad);
            self.warn_once(&format!("{}#output", ticket.tool), || text);
        }
        match ticket.changes.is_empty() {
            true => bytes,
            false => json_rpc::with_changes(&bytes, &result, &ticket.changes),
        }
    }

    /// What is wrong with the structured content of a result.
    fn mismatch(
        &self,
        ticket: &ForwardedCall,
        bytes: &[u8],
        result: &Range<usize>,
    ) -> Option<Refusal> {
        let schema = ticket.output.as_ref()?;
        let content = frame::member(bytes, result, "structuredContent");
        let Some(content) = content else {
            // A task or a question is not the result yet.
            let plain = frame::member(bytes, result, "content").is_some();
            let bad = Refusal::wrong_shape(vec![goodcall_core::Issue::custom(
                goodcall_core::Pointer::root(),
                "structuredContent is missing",
            )]);
            return plain.then_some(bad);
        };
        let text = frame::raw(bytes, &content)?;
        let gate = Gate::new(schema)
            .policy(Policy::strict())
            .limits(self.options.limits());
        match gate.check(text) {
            Verdict::Bad(bad) => Some(bad),
            _ => None,
        }
    }

    /// A call that will not be answered by the server any more.
    pub(crate) fn lost(&mut self, ticket: &ForwardedCall, outcome: ProxyOutcome, now: Instant) {
        self.circles.forget();
        let record = self.record(ticket, outcome, now);
        self.notes.push(LogEntry::Call(Box::new(record)));
    }

    fn ended(
        &mut self,
        ticket: &ForwardedCall,
        outcome: ProxyOutcome,
        result: ToolResult,
        output: Option<&'static str>,
        now: Instant,
    ) {
        let suspicion = self.circles.end(&ticket.tool, &ticket.key, result);
        if let Some(suspicion) = suspicion
            .as_ref()
            .filter(|suspicion| loop_guard::is_first(suspicion))
        {
            let text = format!(
                "{}: looks like a loop ({}, {} times): {}",
                self.options.server,
                suspicion.signal.name(),
                suspicion.times,
                suspicion.tools.join(", ")
            );
            self.notes.push(LogEntry::Warning(text));
        }
        let record = ProxyRecord {
            r#loop: suspicion.map(|suspicion| suspicion.signal.name()),
            output,
            ..self.record(ticket, outcome, now)
        };
        self.notes.push(LogEntry::Call(Box::new(record)));
    }

    fn ticket(&self, sent: &CallRequest<'_>, tool: &str, now: Instant) -> ForwardedCall {
        let raw = sent.arguments.as_ref().map_or("", |(_, raw)| *raw);
        let key = match raw.len() > KEPT_ARGUMENTS {
            true => frame::quoted(&fingerprint(raw.as_bytes())),
            false => raw.to_owned(),
        };
        ForwardedCall {
            id: sent.id.to_owned(),
            tool: tool.to_owned(),
            sent: (tool != sent.name).then(|| sent.name.to_string()),
            verdict: "unchecked",
            changes: Vec::new(),
            started: now,
            time_ms: now_ms(),
            key,
            arguments: self.options.log_arguments.then(|| raw.to_owned()),
            output: None,
            typed: sent.typed,
            mirrors: Vec::new(),
        }
    }

    fn record(&self, ticket: &ForwardedCall, outcome: ProxyOutcome, now: Instant) -> ProxyRecord {
        let latency = now.saturating_duration_since(ticket.started).as_secs_f64() * 1000.0;
        let arguments = ticket.arguments.clone();
        ProxyRecord {
            time_ms: ticket.time_ms,
            server: self.options.server.clone(),
            tool: ticket.tool.clone(),
            sent: ticket.sent.clone(),
            verdict: ticket.verdict,
            rules: ticket
                .changes
                .iter()
                .map(|change| change.rule.name())
                .collect(),
            reason: None,
            outcome,
            latency_ms: (latency * 1000.0).round() / 1000.0,
            r#loop: None,
            output: None,
            arguments: arguments
                .and_then(|text| serde_json::value::RawValue::from_string(text).ok()),
        }
    }

    fn warn_once(&mut self, key: &str, text: impl FnOnce() -> String) {
        if self.warned.len() < MOST_WARNINGS && self.warned.insert(key.to_owned()) {
            let text = format!("{}: {}", self.options.server, text());
            self.notes.push(LogEntry::Warning(text));
        }
    }
}
