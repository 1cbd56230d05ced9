//! Doom loops in the history of a request. The gateway keeps no state: the request has it all.

use goodcall::{LoopReport, loop_in_history};
use goodcall_wire::Provider;
use goodcall_wire::request::history;

/// Returns the loop that the last turn of a conversation is part of.
pub(crate) fn find(provider: Provider, request: &str) -> Option<LoopReport> {
    loop_in_history(history(provider, request))
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
