//! Tests that histories are valid in every provider's form, whatever the model sent.

use std::time::Duration;

use goodcall::wire::{self, Provider};
use goodcall::{Call, CallOutcome, ErrorClass, Reply, Run, Step, ToolResult};
use proptest::prelude::*;
use serde_json::Value;

/// Collects the ids of calls and of results, in order.
fn ids(value: &Value, calls: &mut Vec<String>, answers: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| ids(item, calls, answers)),
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
            match text("type").as_deref() {
                Some("tool_use" | "function") => calls.extend(text("id")),
                Some("function_call") => calls.extend(text("call_id")),
                Some("function_call_output") => answers.extend(text("call_id")),
                Some("tool_result") => answers.extend(text("tool_use_id")),
                _ => {}
            }
            answers.extend(text("tool_call_id"));
            if let Some(call) = map.get("toolUse") {
                calls.push(call["toolUseId"].as_str().unwrap().to_owned());
            }
            if let Some(answer) = map.get("toolResult") {
                answers.push(answer["toolUseId"].as_str().unwrap().to_owned());
            }
            map.values().for_each(|value| ids(value, calls, answers));
        }
        _ => {}
    }
}

/// Asserts that arguments are objects, or strings that hold objects.
fn arguments(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(arguments),
        Value::Object(map) => {
            for key in ["arguments", "input", "args"] {
                match map.get(key) {
                    Some(Value::String(text)) => {
                        let inner: Value = serde_json::from_str(text).unwrap();
                        assert!(inner.is_object(), "{inner}");
                    }
                    Some(other) => assert!(other.is_object(), "{other}"),
                    None => {}
                }
            }
            map.values().for_each(arguments);
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn history_is_valid_for_every_provider(
        turns in prop::collection::vec(prop::collection::vec((".{0,6}", ".{0,12}"), 1..4), 1..5),
        broken in any::<bool>(),
    ) {
        let mut run = Run::new().system("s").user("u");
        for (at, turn) in turns.into_iter().enumerate() {
            let calls = turn.iter().map(|(id, raw)| {
                let raw = if broken { raw.clone() } else { format!("{{\"n\": {at}.50}}") };
                Call::new(id.as_str(), "read", raw)
            });
            let Step::CallModel { messages } = run.next(Duration::ZERO) else { break };
            for &provider in Provider::ALL {
                if provider == Provider::Mcp {
                    continue;
                }
                let text = wire::messages(provider, messages).unwrap();
                let value: Value = serde_json::from_str(&text).unwrap();
                arguments(&value);
                let (mut called, mut answered) = (Vec::new(), Vec::new());
                ids(&value, &mut called, &mut answered);
                prop_assert_eq!(called, answered, "{}: {}", provider.name(), text);
            }
            run.replied(Reply::calls(calls)).unwrap();
            let Step::Execute { calls } = run.next(Duration::ZERO) else { panic!() };
            let calls: Vec<_> = calls.into_iter().cloned().collect();
            for (n, call) in calls.iter().enumerate() {
                let result = match n % 2 {
                    0 => ToolResult::success(at),
                    _ => ToolResult::failure(ErrorClass::Runtime, format!("down {at}")),
                };
                run.executed(CallOutcome::new(call, result)).unwrap();
            }
        }
    }
}

#[test]
fn digits_are_kept_for_every_provider() {
    let mut run = Run::new().user("u");
    let call = Call::new("c", "read", r#"{"id": 12345678901234567890123, "x": 1.50}"#);
    run.replied(Reply::calls([call.clone()])).unwrap();
    run.executed(CallOutcome::new(&call, ToolResult::error("no")))
        .unwrap();
    for &provider in Provider::ALL {
        let written = wire::messages(provider, run.messages());
        if provider == Provider::Mcp {
            let error = written.unwrap_err().to_string();
            assert!(
                error.starts_with("MCP has no form for a conversation"),
                "{error}"
            );
            continue;
        }
        let text = written.unwrap();
        assert!(text.contains("12345678901234567890123"), "{text}");
        assert!(text.contains("1.50"), "{text}");
    }
    let anthropic = wire::messages(Provider::Anthropic, run.messages()).unwrap();
    assert!(anthropic.contains(r#""tool_use_id":"c""#), "{anthropic}");
}
