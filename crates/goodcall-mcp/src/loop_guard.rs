//! Finds doom loops in the calls of one session, and refuses the calls that would continue one.
//!
//! The detector works on turns. A session has none, but calls that are in flight at the same time
//! cannot have learned from each other, and so count as one turn.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use goodcall::{
    Call, CallOutcome, Detector, Escalation, LoopReport, LoopRules, Signal, ToolResult,
};
use goodcall_server::McpLoopMode;

/// Calls of one turn; with more in flight the turn is examined as it is.
const MAX_CALLS: usize = 64;
/// Calls that are remembered in order to know which ones a loop consists of.
const RECENT: usize = 16;

/// After this long a mistake is not the same any more: a session may be used by one conversation
/// after another.
const SAME_CONVERSATION: Duration = Duration::from_secs(120);

/// The loop detector of one session.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    mode: McpLoopMode,
    /// Looks at the calls that were forwarded.
    detector: Detector,
    /// Looks at the calls that were refused, for each tool by itself, until one of them is good.
    refusals: HashMap<String, RefusedCalls>,
    turn: Vec<(Call, CallOutcome)>,
    in_flight: usize,
    recent: VecDeque<(String, String)>,
    blocked: Option<BlockedLoop>,
}

/// The refused calls of one tool.
#[derive(Debug)]
struct RefusedCalls {
    detector: Detector,
    last: Instant,
}

/// A loop, and the calls that would continue it.
#[derive(Debug)]
struct BlockedLoop {
    report: LoopReport,
    calls: Vec<(String, String)>,
}

impl LoopGuard {
    pub(crate) fn new(mode: McpLoopMode) -> Self {
        Self {
            mode,
            detector: detector(),
            ..Self::default()
        }
    }

    /// Records a call that was refused. Returns a report if its mistake is not the first of its
    /// kind.
    pub(crate) fn refused(
        &mut self,
        tool: &str,
        arguments: &str,
        result: ToolResult,
        now: Instant,
    ) -> Option<LoopReport> {
        if self.mode == McpLoopMode::Off {
            return None;
        }
        let is_new = |last: Instant| now.saturating_duration_since(last) > SAME_CONVERSATION;
        self.refusals.retain(|_, calls| !is_new(calls.last));
        let calls = self.refusals.entry(tool.to_owned());
        let calls = calls.or_insert_with(|| RefusedCalls {
            detector: detector(),
            last: now,
        });
        calls.last = now;
        let call = Call::new("", tool, arguments);
        let outcome = CallOutcome::new(&call, result);
        let mut report = calls.detector.observe(&[(call, outcome)])?;
        // The model was told as often as it has made this very mistake.
        report.level = u32::try_from(report.times.saturating_sub(1)).unwrap_or(u32::MAX);
        Some(report)
    }

    /// Begins a call that is forwarded whatever it continues.
    pub(crate) fn begin_observed(&mut self) {
        self.in_flight += 1;
    }

    /// Begins a call that is about to be forwarded. Returns a report if the call must be refused,
    /// because it would continue a loop.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &str) -> Option<LoopReport> {
        if self.mode == McpLoopMode::Refuse
            && let Some(blocked) = &mut self.blocked
        {
            let any_arguments = blocked.report.signal == Signal::SameError;
            let continues = blocked
                .calls
                .iter()
                .any(|(name, sent)| name == tool && (any_arguments || sent == arguments));
            if continues {
                let report = blocked.report.clone();
                blocked.report.level += 1;
                blocked.report.times += 1;
                return Some(report);
            }
            self.blocked = None;
        }
        self.refusals.remove(tool);
        self.in_flight += 1;
        None
    }

    /// Ends a call that was forwarded.
    pub(crate) fn end(
        &mut self,
        tool: &str,
        arguments: &str,
        result: ToolResult,
    ) -> Option<LoopReport> {
        self.forget();
        self.observe(tool, arguments, result)
    }

    /// Records the result of a call, and looks for a loop once the turn is over.
    fn observe(&mut self, tool: &str, arguments: &str, result: ToolResult) -> Option<LoopReport> {
        if self.mode == McpLoopMode::Off {
            return None;
        }
        self.push(tool, arguments, result);
        self.examine()
    }

    /// Ends a call that was forwarded and whose result will not be known.
    pub(crate) fn forget(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    fn push(&mut self, tool: &str, arguments: &str, result: ToolResult) {
        let call = Call::new("", tool, arguments);
        let outcome = CallOutcome::new(&call, result);
        self.turn.push((call, outcome));
        self.recent
            .push_back((tool.to_owned(), arguments.to_owned()));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    fn examine(&mut self) -> Option<LoopReport> {
        if self.in_flight > 0 && self.turn.len() < MAX_CALLS {
            return None;
        }
        let turn = std::mem::take(&mut self.turn);
        let report = self.detector.observe(&turn)?;
        if !matches!(
            report.signal,
            Signal::SameCall | Signal::Cycle | Signal::SameError
        ) {
            // The calls were refused anyway.
            return Some(report);
        }
        let length = report.tools.len().max(1);
        let start = self.recent.len().saturating_sub(length);
        self.blocked = Some(BlockedLoop {
            report: report.clone(),
            calls: self.recent.range(start..).cloned().collect(),
        });
        Some(report)
    }
}

/// A detector whose reports ask nobody, because there is nobody to ask.
fn detector() -> Detector {
    let mut rules = LoopRules::default();
    rules.asks = 0;
    Detector::new(rules)
}

/// Returns true if the operator is to be warned: the report is the first of its row.
pub(crate) fn is_news(report: &LoopReport) -> bool {
    report.level == 1 || report.escalation == Escalation::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(guard: &mut LoopGuard, arguments: &str, result: &str) -> Option<Signal> {
        assert!(guard.begin("t", arguments).is_none());
        let report = guard.end("t", arguments, ToolResult::success(result));
        report.map(|report| report.signal)
    }

    #[test]
    fn loop_is_refused_until_something_else_is_called() {
        let mut guard = LoopGuard::new(McpLoopMode::Refuse);
        assert_eq!(call(&mut guard, "{}", "x"), None);
        assert_eq!(call(&mut guard, "{}", "x"), None);
        assert_eq!(call(&mut guard, "{}", "x"), Some(Signal::SameCall));
        assert!(guard.begin("t", "{}").unwrap().text().contains("3 times"));
        assert_eq!(call(&mut guard, r#"{"a":1}"#, "y"), None);
        assert_eq!(call(&mut guard, "{}", "x"), None);
    }

    #[test]
    fn mistakes_are_counted_for_each_tool_and_conversation() {
        use goodcall_core::{Issue, Pointer, Refusal};
        let mut guard = LoopGuard::new(McpLoopMode::Tell);
        let mut now = Instant::now();
        let refuse = |guard: &mut LoopGuard, tool: &str, now: Instant| {
            let issue = Issue::custom(Pointer::root(), "x");
            let result = ToolResult::refused(&Refusal::wrong_shape(vec![issue]), "x".to_owned());
            let report = guard.refused(tool, "{\"a\":1}", result, now);
            report.map(|report| (report.times, report.level))
        };
        assert_eq!(refuse(&mut guard, "a", now), None);
        assert_eq!(refuse(&mut guard, "b", now), None);
        assert_eq!(refuse(&mut guard, "a", now), Some((2, 1)));
        assert_eq!(refuse(&mut guard, "b", now), Some((2, 1)));
        assert_eq!(refuse(&mut guard, "a", now), Some((3, 2)));
        // A good call of the tool ends the row, and so does time.
        assert!(guard.begin("a", "{}").is_none());
        assert_eq!(refuse(&mut guard, "a", now), None);
        now += Duration::from_secs(300);
        assert_eq!(refuse(&mut guard, "b", now), None);
    }

    #[test]
    fn calls_in_flight_at_once_are_one_turn() {
        let mut guard = LoopGuard::new(McpLoopMode::Tell);
        for _ in 0..5 {
            assert!(guard.begin("t", "{}").is_none());
        }
        for _ in 0..5 {
            assert!(guard.end("t", "{}", ToolResult::success("x")).is_none());
        }
    }

    #[test]
    fn mode_off_reports_nothing() {
        let mut guard = LoopGuard::new(McpLoopMode::Off);
        for _ in 0..20 {
            assert_eq!(call(&mut guard, "{}", "x"), None);
        }
    }
}
