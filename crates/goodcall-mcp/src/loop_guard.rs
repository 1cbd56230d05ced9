//! Doom loops in one session.
//!
//! The detector wants turns. A session has none, but calls that are in flight at the same time
//! cannot have learned from each other: they are one turn.

use std::collections::VecDeque;

use goodcall::{
    Call, CallOutcome, Detector, Escalation, LoopReport, LoopRules, Signal, ToolResult,
};

use goodcall_server::McpLoopMode;

/// Calls of one turn; with more in flight the turn is looked at as it is.
const MOST_CALLS: usize = 64;
/// Calls that are remembered to tell which ones a circle is made of.
const RECENT: usize = 16;

/// The circles of one session.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    mode: McpLoopMode,
    detector: Detector,
    turn: Vec<(Call, CallOutcome)>,
    in_flight: usize,
    recent: VecDeque<(String, String)>,
    blocked: Option<Blocked>,
}

/// Calls that would only go on with a circle.
#[derive(Debug)]
struct Blocked {
    suspicion: LoopReport,
    calls: Vec<(String, String)>,
}

impl LoopGuard {
    pub(crate) fn new(mode: McpLoopMode) -> Self {
        // Nobody can be asked here.
        let mut rules = LoopRules::default();
        rules.asks = 0;
        Self {
            mode,
            detector: Detector::new(rules),
            ..Self::default()
        }
    }

    /// A call that may be forwarded. What comes back is to be told instead: the call would only
    /// go on with a circle.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &str) -> Option<LoopReport> {
        if self.mode == McpLoopMode::Refuse
            && let Some(blocked) = &mut self.blocked
        {
            let any = blocked.suspicion.signal == Signal::SameError;
            let same = |(name, sent): &(String, String)| name == tool && (any || sent == arguments);
            if blocked.calls.iter().any(same) {
                let told = blocked.suspicion.clone();
                blocked.suspicion.level += 1;
                blocked.suspicion.times += 1;
                return Some(told);
            }
            self.blocked = None;
        }
        self.in_flight += 1;
        None
    }

    /// A call that was forwarded has ended so.
    pub(crate) fn end(
        &mut self,
        tool: &str,
        arguments: &str,
        result: ToolResult,
    ) -> Option<LoopReport> {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.mode == McpLoopMode::Off {
            return None;
        }
        self.push(tool, arguments, result);
        self.look()
    }

    /// A call that was refused.
    pub(crate) fn refused(
        &mut self,
        tool: &str,
        arguments: &str,
        result: ToolResult,
    ) -> Option<LoopReport> {
        if self.mode == McpLoopMode::Off {
            return None;
        }
        self.push(tool, arguments, result);
        self.look()
    }

    /// A call of which nothing is known any more.
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

    fn look(&mut self) -> Option<LoopReport> {
        if self.in_flight > 0 && self.turn.len() < MOST_CALLS {
            return None;
        }
        let turn = std::mem::take(&mut self.turn);
        let suspicion = self.detector.observe(&turn)?;
        let part = self
            .recent
            .len()
            .saturating_sub(suspicion.tools.len().max(1));
        let part = match suspicion.signal {
            Signal::SameCall | Signal::Cycle | Signal::SameError => part,
            // Nothing was run: the refusal says it.
            _ => return Some(suspicion),
        };
        self.blocked = Some(Blocked {
            suspicion: suspicion.clone(),
            calls: self.recent.range(part..).cloned().collect(),
        });
        Some(suspicion)
    }
}

/// Is this worth a word to the operator? The first one of a row is.
pub(crate) fn is_first(suspicion: &LoopReport) -> bool {
    suspicion.level == 1 || suspicion.escalation == Escalation::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(circles: &mut LoopGuard, arguments: &str, result: &str) -> Option<Signal> {
        assert!(circles.begin("t", arguments).is_none());
        let suspicion = circles.end("t", arguments, ToolResult::success(result));
        suspicion.map(|suspicion| suspicion.signal)
    }

    #[test]
    fn a_circle_is_refused_until_something_else_is_called() {
        let mut circles = LoopGuard::new(McpLoopMode::Refuse);
        assert_eq!(call(&mut circles, "{}", "x"), None);
        assert_eq!(call(&mut circles, "{}", "x"), None);
        assert_eq!(call(&mut circles, "{}", "x"), Some(Signal::SameCall));
        assert!(circles.begin("t", "{}").unwrap().text().contains("3 times"));
        assert_eq!(call(&mut circles, r#"{"a":1}"#, "y"), None);
        assert_eq!(call(&mut circles, "{}", "x"), None);
    }

    #[test]
    fn calls_in_flight_together_are_one_turn() {
        let mut circles = LoopGuard::new(McpLoopMode::Tell);
        for _ in 0..5 {
            assert!(circles.begin("t", "{}").is_none());
        }
        for _ in 0..5 {
            assert!(circles.end("t", "{}", ToolResult::success("x")).is_none());
        }
    }

    #[test]
    fn off_is_off() {
        let mut circles = LoopGuard::new(McpLoopMode::Off);
        for _ in 0..20 {
            assert_eq!(call(&mut circles, "{}", "x"), None);
        }
    }
}
