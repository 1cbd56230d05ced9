//! Judges results of calls, and writes the log of a session.

use std::time::Instant;

use goodcall::{ErrorClass, ToolResult};
use goodcall_core::{Explain, Gate, Issue, Pointer, Policy, Refusal, Verdict};
use goodcall_wire::relay::CallNote;

use super::{ForwardedCall, Judge};
use crate::call_log::{LogEntry, OutputCheck, ProxyOutcome, ProxyRecord};
use crate::call_request::{error_text, fingerprint, first_text, text_of};
use crate::frame::{Forwarding, Message};
use crate::json_rpc;
use crate::json_span::JsonSpan;
use crate::loop_guard;

/// Warnings that are remembered so that each is given once; further ones are not given.
const MAX_WARNINGS: usize = 1000;

/// The reason for which only the beginning of a result is shown.
const OVERSIZED: &str = "oversized_result";

impl Judge {
    /// Judges the response to a call, and says how it goes to the client.
    pub(crate) fn result(
        &mut self,
        call: &ForwardedCall,
        response: &Message<'_>,
        now: Instant,
    ) -> Forwarding {
        let Some(result) = response.result() else {
            let text = response.error().and_then(error_text).unwrap_or_default();
            let failure = ToolResult::failure(ErrorClass::Runtime, text);
            self.finish(call, ProxyOutcome::Error, failure, None, now);
            return Forwarding::AsSent;
        };
        if result.get("isError").and_then(JsonSpan::raw) == Some("true") {
            let error = ToolResult::error(first_text(result).unwrap_or_default());
            self.finish(call, ProxyOutcome::ToolError, error, None, now);
            return self.with_changes(response, call);
        }
        if let Some(limit) = self.exceeded(call, result) {
            return self.shorten(call, result, limit, now);
        }
        let mismatch = self.mismatch(call, result);
        let check = call.output.is_some().then_some(match mismatch {
            Some(_) => OutputCheck::Mismatch,
            None => OutputCheck::Match,
        });
        let success = ToolResult::success(fingerprint(result.bytes()));
        self.finish(call, ProxyOutcome::Ok, success, check, now);
        if let Some(refusal) = mismatch {
            let explain = Explain::new(self.options.style).tool(&call.tool);
            let text = explain.output(&refusal);
            let (options, _) = self.of_tool(&call.tool);
            if options.calls.check_output && !self.observes(&call.tool) {
                let reason = "wrong_output";
                let answer = json_rpc::refusal(&call.id, &text, reason, call.has_result_type);
                return Forwarding::Rewritten(answer);
            }
            self.warn_once(&format!("{}#output", call.tool), || text);
        }
        self.with_changes(response, call)
    }

    /// The limit on the size of a result, if it exceeds it.
    fn exceeded(&self, call: &ForwardedCall, result: JsonSpan<'_>) -> Option<usize> {
        let (options, own) = self.of_tool(&call.tool);
        let limit = options.calls.max_result(own)?;
        let length = result.range().len();
        (length > limit && !self.observes(&call.tool)).then_some(limit)
    }

    /// Answers with the beginning of a result that is too large.
    fn shorten(
        &mut self,
        call: &ForwardedCall,
        result: JsonSpan<'_>,
        limit: usize,
        now: Instant,
    ) -> Forwarding {
        let text = text_of(result).unwrap_or_default();
        let mut end = text.len().min(limit);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (bytes, beginning) = (result.range().len(), &text[..end]);
        let text = goodcall_core::oversized_result_text(&call.tool, bytes, limit, beginning);
        let success = ToolResult::success(fingerprint(result.bytes()));
        self.loop_guard.end(&call.tool, &call.loop_key, success);
        self.log_call(ProxyRecord {
            reason: Some(OVERSIZED),
            ..self.record(call, ProxyOutcome::Ok, now)
        });
        let answer = json_rpc::refusal(&call.id, &text, OVERSIZED, call.has_result_type);
        Forwarding::Rewritten(answer)
    }

    /// Forwards a response with the call's changes in its `_meta`, if they were made.
    fn with_changes(&self, response: &Message<'_>, call: &ForwardedCall) -> Forwarding {
        if call.changes.is_empty() || self.observes(&call.tool) {
            return Forwarding::AsSent;
        }
        Forwarding::Rewritten(json_rpc::with_changes(response, &call.changes))
    }

    /// Checks the structured content of a result against the tool's output schema.
    fn mismatch(&self, call: &ForwardedCall, result: JsonSpan<'_>) -> Option<Refusal> {
        let schema = call.output.as_ref()?;
        let Some(content) = result.get("structuredContent") else {
            // Without content it is a task or a question of the server, and not the result yet.
            result.get("content")?;
            let issue = Issue::custom(Pointer::root(), goodcall_core::missing_output_text());
            return Some(Refusal::wrong_shape(vec![issue]));
        };
        let (options, own) = self.of_tool(&call.tool);
        let formats = options.calls.policies.for_tool(own).formats();
        let gate = Gate::new(schema)
            .policy(Policy::strict().with_formats(formats))
            .limits(self.options.limits())
            .keys_as_sent();
        match gate.check(content.raw()?) {
            Verdict::Bad(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Logs a call that the server will not answer any more.
    pub(crate) fn abandon(&mut self, call: &ForwardedCall, outcome: ProxyOutcome, now: Instant) {
        self.loop_guard.forget();
        self.log_call(self.record(call, outcome, now));
    }

    /// Logs a call that the server has answered, and looks for a loop.
    fn finish(
        &mut self,
        call: &ForwardedCall,
        outcome: ProxyOutcome,
        result: ToolResult,
        output: Option<OutputCheck>,
        now: Instant,
    ) {
        let report = self.loop_guard.end(&call.tool, &call.loop_key, result);
        if let Some(report) = report.as_ref().filter(|report| loop_guard::is_news(report)) {
            let text = format!(
                "{}: looks like a loop ({}, {} times): {}",
                self.options.server,
                report.signal.name(),
                report.times,
                report.tools.join(", ")
            );
            self.log.push(LogEntry::Warning(text));
        }
        self.log_call(ProxyRecord {
            r#loop: report.map(|report| report.signal.name()),
            output,
            ..self.record(call, outcome, now)
        });
    }

    pub(super) fn record(
        &self,
        call: &ForwardedCall,
        outcome: ProxyOutcome,
        now: Instant,
    ) -> ProxyRecord {
        let latency = now.saturating_duration_since(call.came.at).as_secs_f64() * 1000.0;
        let mut details = call.details.clone();
        details.is_observed = self.observes(&call.tool);
        if details.notes.is_empty() {
            details.notes = call.changes.iter().map(CallNote::of_change).collect();
        }
        ProxyRecord {
            time_ms: call.came.time_ms,
            server: self.of_tool(&call.tool).0.server.clone(),
            tool: call.tool.clone(),
            sent: call.sent_name.clone(),
            verdict: call.verdict,
            rules: call.changes.iter().map(|one| one.rule.name()).collect(),
            reason: call.reason,
            outcome,
            latency_ms: (latency * 1000.0).round() / 1000.0,
            r#loop: None,
            output: None,
            details,
        }
    }

    pub(super) fn log_call(&mut self, record: ProxyRecord) {
        self.log.push(LogEntry::Call(Box::new(record)));
    }

    pub(super) fn warn_once(&mut self, key: &str, text: impl FnOnce() -> String) {
        if self.warned.len() < MAX_WARNINGS && self.warned.insert(key.to_owned()) {
            let text = format!("{}: {}", self.options.server, text());
            self.log.push(LogEntry::Warning(text));
        }
    }
}
