//! Doom loops in the history of a request. The gateway keeps no state: the request has it all.

use goodcall::{Call, CallOutcome, Detector, Failure, LoopReport, LoopRules, ToolResult};
use goodcall_wire::Provider;
use goodcall_wire::request::{HistoryCall, HistoryStep, history};

/// Returns the loop that the last turn of a conversation is part of.
pub(crate) fn find(provider: Provider, request: &str) -> Option<LoopReport> {
    let mut detector = Detector::new(LoopRules::default());
    let mut last = None;
    for step in history(provider, request) {
        last = match step {
            HistoryStep::Turn(calls) => {
                let turn: Vec<_> = calls.into_iter().filter_map(outcome).collect();
                detector.observe(&turn)
            }
            _ => {
                detector.reset();
                None
            }
        };
    }
    last
}

/// Turns a call of the history into what the detector reads; `None` for one without a result.
fn outcome(past: HistoryCall) -> Option<(Call, CallOutcome)> {
    let result = past.result?;
    let call = Call::new(past.id, past.name, past.arguments);
    let result = if past.is_error {
        ToolResult::from(Failure::new(result))
    } else {
        ToolResult::success(result)
    };
    let outcome = CallOutcome::new(&call, result);
    Some((call, outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(turns: &[(&str, &str)]) -> String {
        let mut messages = vec![serde_json::json!({"role": "user", "content": "Go."})];
        for (index, (arguments, result)) in turns.iter().enumerate() {
            let id = format!("c{index}");
            messages.push(serde_json::json!({"role": "assistant", "tool_calls": [
                {"id": id, "function": {"name": "f", "arguments": arguments}}]}));
            messages
                .push(serde_json::json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
        serde_json::json!({ "messages": messages }).to_string()
    }

    #[test]
    fn repeated_call_with_equal_results_is_a_loop() {
        let same = [("{}", "busy"); 3];
        let found = find(Provider::OpenAi, &chat(&same)).unwrap();
        assert_eq!(found.signal.name(), "same_call");
        assert!(found.text().contains("3 times in a row"));
        let polling = [("{}", "1 %"), ("{}", "2 %"), ("{}", "3 %")];
        assert!(find(Provider::OpenAi, &chat(&polling)).is_none());
        assert!(find(Provider::OpenAi, "not JSON").is_none());
    }
}
