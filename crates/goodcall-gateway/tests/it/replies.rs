//! Replies through the gateway, as JSON and as streams.

use crate::support::*;
use tokio::sync::oneshot;

#[tokio::test]
async fn good_reply_passes_as_sent() {
    let upstream = Upstream::default();
    let sent = chat_reply(r#"{"a": 1}"#);
    upstream.reply_json(&sent);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, sent.as_str()));
    assert_eq!(reply.header("x-own"), Some("1"));
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=1 mended=0 bad=0 reasked=0")
    );
    let requests = upstream.requests();
    assert!(requests[0].contains("authorization: Bearer secret"));
    assert!(requests[0].ends_with(&chat(false)), "{}", requests[0]);
}

#[tokio::test]
async fn bad_call_is_reasked_and_never_seen() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply(
        "application/json; charset=utf-8",
        &chat_reply(r#"{"a": "2"}"#),
    );
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert!(reply.body.contains(r#"{\"a\":2}"#), "{}", reply.body);
    assert!(
        reply.body.contains(r#""total_tokens":24"#),
        "{}",
        reply.body
    );
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=0 mended=1 bad=1 reasked=1")
    );
    let requests = upstream.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1].contains("add the missing a (an integer)"),
        "{}",
        requests[1]
    );
    assert!(requests[1].contains("authorization: Bearer secret"));
}

#[tokio::test]
async fn refused_reask_keeps_the_last_reply() {
    let upstream = Upstream::default();
    let sent = chat_reply("{}");
    upstream.reply_json(&sent);
    upstream.reply_with(429, "application/json", "{}");
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!((reply.status, reply.body), (200, sent));
}

#[tokio::test]
async fn text_passes_at_once_and_a_call_is_held_until_its_end() {
    let upstream = Upstream::default();
    let (more, wait) = oneshot::channel();
    let (end, wait_end) = oneshot::channel();
    upstream.then(vec![
        stream_head(),
        events(&[&chat_text("Let me see.")]),
        Act::Wait(wait),
        events(&[&chat_call(r#"{"a": "#), &chat_text(" (thinking)")]),
        Act::Wait(wait_end),
        events(&[&chat_more(r#""3"}"#), CHAT_END, "[DONE]"]),
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let mut client = Client::send(running.address, "POST", CHAT, "", &chat(true)).await;
    client.until("Let me see.").await;
    more.send(()).unwrap();
    end.send(()).unwrap();
    let reply = client.end().await;
    assert!(
        reply.whole && reply.body.ends_with("data: [DONE]\n\n"),
        "{reply:?}"
    );
    assert!(reply.body.contains(r#"{\"a\":3}"#), "{}", reply.body);
    assert_eq!(
        reply.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
}

#[tokio::test]
async fn stream_continues_with_the_second_reply() {
    let upstream = Upstream::default();
    upstream.stream(&[&chat_text("Hm. "), &chat_call("{}"), CHAT_END, "[DONE]"]);
    upstream.stream(&[
        &chat_text("Sorry."),
        &chat_call(r#"{"a": 4}"#),
        CHAT_END,
        "[DONE]",
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert_eq!(reply.body.matches("[DONE]").count(), 1);
    assert_eq!(
        reply.body.matches("tool_calls\":[").count(),
        1,
        "{}",
        reply.body
    );
    assert!(reply.body.contains("Hm. ") && reply.body.contains("Sorry."));
    assert!(reply.body.contains(r#"{\"a\": 4}"#));
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn anthropic_and_responses_are_judged() {
    let upstream = Upstream::default();
    upstream.then(vec![
        stream_head(),
        named_events(&[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"5\"}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}"#,
            r#"{"type":"message_stop"}"#,
        ]),
    ]);
    let response = r#"{"id":"r","status":"completed","output":[{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{\"a\":\"6\"}"}]}"#;
    upstream.reply_json(response);
    let running = gateway(upstream.start().await, |_| {}).await;
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#;
    let messages = format!(
        r#"{{"model":"m","stream":true,"max_tokens":9,"messages":[],"tools":[{{"name":"f","input_schema":{schema}}}]}}"#
    );
    let reply = post(running.address, "/v1/messages", &messages).await;
    assert!(reply.body.contains(r#"{\"a\":5}"#), "{}", reply.body);
    let input = format!(
        r#"{{"model":"m","input":"Go.","tools":[{{"type":"function","name":"f","parameters":{schema}}}]}}"#
    );
    let reply = post(running.address, "/v1/responses", &input).await;
    assert!(reply.body.contains(r#"{\"a\":6}"#), "{}", reply.body);
}

#[tokio::test]
async fn json_of_any_media_type_is_judged() {
    let upstream = Upstream::default();
    upstream.reply(
        "application/vnd.api+json; charset=utf-8",
        &chat_reply(r#"{"a": "1"}"#),
    );
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    let verdict = "good=0 mended=1 bad=0 reasked=0";
    assert_eq!(reply.header("goodcall-verdict"), Some(verdict));
}

#[tokio::test]
async fn unjudged_requests_and_replies_pass_untouched() {
    let upstream = Upstream::default();
    let not_judged = chat(false).replace("\"tools\"", "\"x\"");
    upstream.reply_json(r#"{"data": [1.50]}"#);
    upstream.reply_json(&chat_reply("not JSON"));
    upstream.reply_with(
        429,
        "application/json",
        r#"{"error":{"message":"slow down"}}"#,
    );
    upstream.reply("text/html", "<p>not JSON at all</p>");
    upstream.reply_json("not JSON at all");
    let address = upstream.start().await;
    let running = gateway(address, |config| {
        config
            .set_upstream(&format!("http://{address}/base/"))
            .unwrap();
    })
    .await;
    let client = Client::send(
        running.address,
        "GET",
        "/v1/models?limit=2",
        "x-a: b\r\n",
        "",
    )
    .await;
    let reply = client.end().await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (200, r#"{"data": [1.50]}"#)
    );
    let seen = &upstream.requests()[0];
    assert!(
        seen.starts_with("GET /base/v1/models?limit=2 HTTP/1.1\r\n"),
        "{seen}"
    );
    assert!(seen.contains("x-a: b"), "{seen}");
    assert!(seen.contains(&format!("host: {address}")), "{seen}");
    // Without tools, an error, another type, not JSON.
    let reply = post(running.address, CHAT, &not_judged).await;
    assert_eq!(reply.body, chat_reply("not JSON"));
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (429, r#"{"error":{"message":"slow down"}}"#)
    );
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.body, "<p>not JSON at all</p>");
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.body, "not JSON at all");
}

#[tokio::test]
async fn request_history_is_fixed_adapted_and_steered() {
    let upstream = Upstream::default();
    upstream.reply_json(
        &chat_reply(r#"{"a": 1}"#).replace(r#"{\"a\": 1}"#, r#"{\"a\": 1, \"b\": null}"#),
    );
    let running = gateway(upstream.start().await, |config| {
        config.history.fix = true;
        config.history.loops = goodcall_gateway::GatewayLoopMode::Steer;
        config.adapt = Some("openai-strict".parse().unwrap());
    })
    .await;
    let mut messages = vec![serde_json::json!({"role": "user", "content": "Go."})];
    for id in ["1", "2", "3"] {
        messages.push(serde_json::json!({"role": "assistant", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1"}}]}));
        messages.push(serde_json::json!({"role": "tool", "tool_call_id": id, "content": "busy"}));
    }
    let request = serde_json::json!({"model": "m", "messages": messages, "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}}}]});
    let reply = post(running.address, CHAT, &request.to_string()).await;
    assert_eq!(reply.header("goodcall-loop"), Some("same_call"));
    // The null that strict mode asks for is removed again.
    assert!(reply.body.contains(r#"{\"a\":1}"#), "{}", reply.body);
    let seen = &upstream.requests()[0];
    let (_, body) = seen.split_once("\r\n\r\n").unwrap();
    let sent: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        sent["messages"][1]["tool_calls"][0]["function"]["arguments"],
        "{}"
    );
    let last = sent["messages"][6]["content"].as_str().unwrap();
    assert!(
        last.starts_with("busy\n\nYou have called `f` 3 times"),
        "{last}"
    );
    assert_eq!(sent["tools"][0]["function"]["strict"], true);
    assert_eq!(
        sent["tools"][0]["function"]["parameters"]["required"][1],
        "b"
    );
}

#[tokio::test]
async fn reloaded_settings_apply_to_later_requests() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    let address = upstream.start().await;
    let running = gateway(address, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=0 mended=1 bad=0 reasked=0")
    );
    let mut config = goodcall_gateway::GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.relay.policies = serde_json::from_str(r#"{"level": "strict"}"#).unwrap();
    config.relay.reasks = 0;
    running.gateway.reload(config).unwrap();
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=0 mended=0 bad=1 reasked=0")
    );
}

/// Ollama streams lines of JSON instead of events.
#[tokio::test]
async fn ollama_is_judged_in_lines() {
    let upstream = Upstream::default();
    let line = |arguments: &str, done: bool| {
        format!(
            r#"{{"model":"m","message":{{"role":"assistant","content":"","tool_calls":[{{"function":{{"name":"f","arguments":{arguments}}}}}]}},"done":{done}}}"#
        )
    };
    let end = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true}"#;
    for arguments in ["{}", r#"{"a":"1"}"#] {
        let lines = format!("{}\n{end}\n", line(arguments, false));
        upstream.reply("application/x-ndjson", &lines);
    }
    upstream.reply_json(&line(r#"{"a":"1"}"#, true));
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, "/api/chat", &chat(true)).await;
    assert_eq!(
        reply.body,
        format!("{}\n{end}\n", line(r#"{"a":1}"#, false))
    );
    assert!(upstream.requests()[1].contains(r#""tool_name":"f""#));
    let reply = post(running.address, "/api/chat", &chat(false)).await;
    assert_eq!(reply.body, line(r#"{"a":1}"#, true));
}
