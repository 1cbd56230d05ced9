//! What the gateway remembers from a reply to the next request.

use crate::support::*;
use serde_json::json;

const RESPONSES: &str = "/v1/responses";

/// Events of a response with text and a call.
fn response(number: u32, arguments: &str) -> Vec<String> {
    let (text, call) = (
        json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Hm.", "annotations": []}]}),
        json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": "f", "arguments": arguments, "status": "completed"}),
    );
    let id = format!("resp_{number}");
    let whole = json!({"id": id, "status": "completed", "output": [text, call]});
    [
        json!({"type": "response.created", "response": {"id": id, "output": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hm."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": text}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
        json!({"type": "response.completed", "response": whole}),
    ]
    .map(|event| event.to_string())
    .into()
}

#[tokio::test]
async fn response_of_the_first_event_leads_to_the_one_with_the_calls() {
    let upstream = Upstream::default();
    for (number, arguments) in [(1, "{}"), (2, r#"{"a":1}"#)] {
        let events = response(number, arguments);
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        upstream.then(vec![stream_head(), named_events(&events)]);
    }
    upstream.reply_json(r#"{"id":"resp_3","status":"completed","output":[]}"#);
    let running = gateway(upstream.start().await, |_| {}).await;
    let tools = json!([{"type": "function", "name": "f", "parameters": {"type": "object",
        "properties": {"a": {"type": "integer"}}, "required": ["a"]}}]);
    let request = json!({"model": "m", "stream": true, "input": "Go.", "tools": tools});
    let reply = post(running.address, RESPONSES, &request.to_string()).await;
    assert!(
        reply.body.contains("resp_1") && reply.body.contains("call_2"),
        "{}",
        reply.body
    );
    let result = json!([{"type": "function_call_output", "call_id": "call_2", "output": "ok"}]);
    let next =
        json!({"model": "m", "previous_response_id": "resp_1", "input": result, "tools": tools});
    post(running.address, RESPONSES, &next.to_string()).await;
    let last = upstream.requests().pop().unwrap();
    assert!(
        last.contains(r#""previous_response_id":"resp_2""#),
        "{last}"
    );
}

#[tokio::test]
async fn dropped_reasoning_is_put_back_on_request() {
    for remember in [false, true] {
        let upstream = Upstream::default();
        let reply = chat_reply(r#"{"a":1}"#).replace(
            r#""content":null"#,
            r#""content":null,"reasoning_content":"So.""#,
        );
        upstream.reply_json(&reply);
        upstream.reply_json(&chat_reply(r#"{"a":1}"#));
        let running = gateway(upstream.start().await, |config| {
            config.history.remember = remember;
        })
        .await;
        post(running.address, CHAT, &chat(false)).await;
        let next = chat(false).replace(
            r#""content":"Go."}"#,
            r#""content":"Go."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}"#,
        );
        post(running.address, CHAT, &next).await;
        let last = upstream.requests().pop().unwrap();
        assert_eq!(
            last.contains(r#""reasoning_content":"So.""#),
            remember,
            "{last}"
        );
    }
}
