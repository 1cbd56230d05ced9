//! Tests that histories are valid in every provider's form, whatever the model sent.

use std::time::Duration;

use goodcall::wire::{self, Provider};
use goodcall::{
    Call, CallOutcome, Definition, ErrorClass, Image, Message, Reply, Run, Step, ToolResult,
    UserMessage,
};
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

#[test]
fn images_are_sent_in_the_form_of_each_provider() {
    let image = Image::data("image/png", "AAAA");
    let run = Run::new().user_message(UserMessage::new("What is it?").image(image));
    for (provider, form) in [
        (
            Provider::OpenAi,
            r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#,
        ),
        (
            Provider::Responses,
            r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA"}"#,
        ),
        (
            Provider::Anthropic,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#,
        ),
        (
            Provider::Gemini,
            r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#,
        ),
        (
            Provider::Bedrock,
            r#"{"image":{"format":"png","source":{"bytes":"AAAA"}}}"#,
        ),
        (Provider::Ollama, r#""images":["AAAA"]"#),
    ] {
        let text = run.messages_for(provider).unwrap();
        assert!(text.contains(form), "{text}");
        assert!(text.contains(r#""What is it?""#), "{text}");
        serde_json::from_str::<Value>(&text).unwrap();
    }
    let by_url = UserMessage::new("").image(Image::Url("https://example.org/a.png".to_owned()));
    let run = Run::new().user_message(by_url);
    let anthropic = run.messages_for(Provider::Anthropic).unwrap();
    assert!(anthropic.contains(r#""url":"https://example.org/a.png""#));
    let error = run.messages_for(Provider::Gemini).unwrap_err();
    assert!(error.to_string().contains("no image by URL"), "{error}");
}

/// Providers sign their reasoning and refuse a conversation in which it is missing or changed.
#[test]
fn reasoning_goes_back_to_its_provider_and_to_no_other() {
    let tools = [Definition::new("read", "", None)];
    for (provider, body, kept) in [
        (
            Provider::Anthropic,
            r#"{"content": [{"type": "thinking", "thinking": "hm", "signature": "SIG"},
                {"type": "tool_use", "id": "t", "name": "read", "input": {}}]}"#,
            r#"[{"signature":"SIG","thinking":"hm","type":"thinking"},{"type":"tool_use""#,
        ),
        (
            Provider::Bedrock,
            r#"{"output": {"message": {"content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "SIG"}}},
                {"toolUse": {"toolUseId": "t", "name": "read", "input": {}}}]}}}"#,
            r#"[{"reasoningContent":{"reasoningText":{"signature":"SIG","text":"hm"}}},{"toolUse""#,
        ),
        (
            Provider::Responses,
            r#"{"output": [{"type": "reasoning", "id": "rs", "summary": [],
                "encrypted_content": "SIG", "content": [{"type": "reasoning_text", "text": "hm"}]},
                {"type": "function_call", "call_id": "t", "name": "read", "arguments": "{}"}]}"#,
            r#""encrypted_content":"SIG","id":"rs","summary":[],"type":"reasoning"},{"type":"function_call""#,
        ),
        (
            Provider::Gemini,
            r#"{"candidates": [{"content": {"parts": [{"text": "hm", "thought": true},
                {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "SIG"}]}}]}"#,
            r#"{"functionCall":{"name":"read","args":{}},"thoughtSignature":"SIG"}"#,
        ),
        (
            Provider::OpenAi,
            r#"{"choices": [{"message": {"content": null, "reasoning_content": "SIG",
                "tool_calls": [{"id": "t", "type": "function",
                "function": {"name": "read", "arguments": "{}"}}]}}]}"#,
            r#","reasoning_content":"SIG"}"#,
        ),
    ] {
        let reply = wire::reply(provider, body, &tools).unwrap();
        assert_eq!(reply.text, "", "{provider:?}");
        let call = reply.calls[0].clone();
        let mut run = Run::new().user("u");
        run.replied(reply).unwrap();
        let mut result = CallOutcome::new(&call, ToolResult::success("ok"));
        let Step::Execute { calls } = run.next(Duration::ZERO) else {
            panic!("no calls")
        };
        result.call_id.clone_from(&calls[0].id);
        run.executed(result).unwrap();
        // A saved run keeps it.
        let saved = serde_json::to_string(&run).unwrap();
        let run: Run = serde_json::from_str(&saved).unwrap();
        let sent = run.messages_for(provider).unwrap();
        assert!(sent.contains(kept), "{provider:?}: {sent}");
        for &other in Provider::ALL {
            if other != provider && other != Provider::Mcp {
                let sent = run.messages_for(other).unwrap();
                assert!(!sent.contains("SIG"), "{other:?}: {sent}");
            }
        }
    }
}

#[test]
fn run_begins_with_messages_that_exist() {
    let run = Run::new().user("u");
    let mut earlier = run.clone();
    earlier
        .replied(Reply::calls([Call::new("1", "block", "{}")]))
        .unwrap();
    let outcome = CallOutcome::new(&Call::new("1", "block", "{}"), ToolResult::success(1));
    earlier.executed(outcome).unwrap();
    let mut later = Run::from_messages(earlier.messages().to_vec()).unwrap();
    assert_eq!(later.messages(), earlier.messages());
    later.replied(Reply::text("done")).unwrap();
    assert!(later.is_over());
    assert!(Run::from_messages([Message::tools([])]).is_err());
}
