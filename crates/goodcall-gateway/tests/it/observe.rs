//! Observe mode: nothing is changed or held, and the metrics tell what would have been.

use goodcall_gateway::GatewayConfig;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::aws;
use crate::bedrock::unchunked;
use crate::support::*;

/// A call, and what the gateway would have done about it.
const KINDS: [(&str, &str, &str); 6] = [
    ("f", r#"{"a": 1}"#, "pass"),
    ("f", r#"{"a": "1"}"#, "mend"),
    ("f", r#"{"arguments": {"a": 1}}"#, "mend"),
    ("f", "{}", "reask"),
    ("f", r#"{"a": []}"#, "reask"),
    ("nope", r#"{"a": 1}"#, "reask"),
];

pub(crate) const PROTOCOLS: [&str; 6] = [
    "chat",
    "responses",
    "messages",
    "gemini",
    "ollama",
    "bedrock",
];

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
}

pub(crate) fn path(protocol: &str, streams: bool) -> &'static str {
    match (protocol, streams) {
        ("chat", _) => CHAT,
        ("responses", _) => "/v1/responses",
        ("messages", _) => "/v1/messages",
        ("gemini", false) => "/v1beta/models/m:generateContent",
        ("gemini", true) => "/v1beta/models/m:streamGenerateContent?alt=sse",
        ("ollama", _) => "/api/chat",
        (_, false) => "/model/m/converse",
        (_, true) => "/model/m/converse-stream",
    }
}

pub(crate) fn request(protocol: &str, streams: bool) -> String {
    let user = json!([{"role": "user", "content": "Go."}]);
    let function = json!({"name": "f", "parameters": schema()});
    let request = match protocol {
        "chat" | "ollama" => json!({"model": "m", "stream": streams, "messages": user,
            "tools": [{"type": "function", "function": function}]}),
        "responses" => json!({"model": "m", "stream": streams, "input": "Go.",
            "tools": [{"type": "function", "name": "f", "parameters": schema()}]}),
        "messages" => json!({"model": "m", "stream": streams, "messages": user, "max_tokens": 99,
            "tools": [{"name": "f", "input_schema": schema()}]}),
        "gemini" => json!({"contents": [{"role": "user", "parts": [{"text": "Go."}]}],
            "tools": [{"functionDeclarations": [function]}]}),
        _ => json!({"messages": [{"role": "user", "content": [{"text": "Go."}]}], "toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": schema()}}}]}}),
    };
    // Written in a way that no serializer would repeat.
    format!(" {request}\n")
}

fn whole(protocol: &str, name: &str, arguments: &str) -> Vec<u8> {
    let object: Value = serde_json::from_str(arguments).unwrap();
    let reply = match protocol {
        "chat" => {
            json!({"id": "r", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": name, "arguments": arguments}}]}}]})
        }
        "responses" => json!({"id": "r", "object": "response", "status": "completed", "output": [
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": name,
                "arguments": arguments, "status": "completed"}]}),
        "messages" => {
            json!({"id": "r", "type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "c1", "name": name, "input": object}]})
        }
        "gemini" => json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {
            "role": "model", "parts": [{"functionCall": {"name": name, "args": object}}]}}]}),
        "ollama" => json!({"model": "m", "done": true, "done_reason": "stop", "message": {
            "role": "assistant", "content": "", "tool_calls": [
                {"function": {"name": name, "arguments": object}}]}}),
        _ => json!({"output": {"message": {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "c1", "name": name, "input": object}}]}}, "stopReason": "tool_use"}),
    };
    format!(" {reply:#}\r\n").into_bytes()
}

pub(crate) fn stream(protocol: &str, name: &str, arguments: &str) -> (&'static str, Vec<u8>) {
    let lines = match protocol {
        "chat" => vec![
            json!({"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0,
                "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}]}}]}),
            json!({"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0,
                "function": {"arguments": arguments}}]}}]}),
            json!({"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
        "responses" => {
            let item = |status: &str, arguments: &str| {
                json!({"type": "function_call", "id": "fc",
                "call_id": "c1", "name": name, "arguments": arguments, "status": status})
            };
            let response =
                |output: Value| json!({"id": "r", "object": "response", "output": output});
            vec![
                json!({"type": "response.created", "sequence_number": 0, "response": response(json!([]))}),
                json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0,
                    "item": item("in_progress", "")}),
                json!({"type": "response.function_call_arguments.delta", "sequence_number": 2,
                    "item_id": "fc", "output_index": 0, "delta": arguments}),
                json!({"type": "response.function_call_arguments.done", "sequence_number": 3,
                    "item_id": "fc", "output_index": 0, "arguments": arguments}),
                json!({"type": "response.output_item.done", "sequence_number": 4, "output_index": 0,
                    "item": item("completed", arguments)}),
                json!({"type": "response.completed", "sequence_number": 5,
                    "response": response(json!([item("completed", arguments)]))}),
            ]
        }
        "messages" => vec![
            json!({"type": "message_start", "message": {"id": "r", "role": "assistant", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block":
                {"type": "tool_use", "id": "c1", "name": name, "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta":
                {"type": "input_json_delta", "partial_json": arguments}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}),
            json!({"type": "message_stop"}),
        ],
        "bedrock" => {
            let events = [
                json!({"messageStart": {"role": "assistant"}}),
                json!({"contentBlockStart": {"contentBlockIndex": 0,
                    "start": {"toolUse": {"toolUseId": "c1", "name": name}}}}),
                json!({"contentBlockDelta": {"contentBlockIndex": 0,
                    "delta": {"toolUse": {"input": arguments}}}}),
                json!({"contentBlockStop": {"contentBlockIndex": 0}}),
                json!({"messageStop": {"stopReason": "tool_use"}}),
            ];
            let bytes = aws::written(events.iter().map(Value::to_string));
            return ("application/vnd.amazon.eventstream", bytes);
        }
        other => vec![serde_json::from_slice(&whole(other, name, arguments)).unwrap()],
    };
    if protocol == "ollama" {
        return (
            "application/x-ndjson",
            format!("{} \n", lines[0]).into_bytes(),
        );
    }
    (
        "text/event-stream; charset=utf-8",
        untidy_events(protocol, &lines),
    )
}

/// Writes events with blanks and line ends that a parser would not keep.
fn untidy_events(protocol: &str, lines: &[Value]) -> Vec<u8> {
    let mut text = ": comment\r\n\r\n".to_owned();
    for line in lines {
        if let Some(kind) = line["type"].as_str() {
            text += &format!("event:{kind}\n");
        }
        text += &format!("data:  {line}\r\n\r\n");
    }
    if protocol == "chat" {
        text += "data: [DONE]\n\n";
    }
    text.into_bytes()
}

fn observing(config: &mut GatewayConfig) {
    config.observe = true;
}

/// Every reply comes in two parts: the client has the first one before the second is sent.
#[tokio::test]
async fn every_byte_passes_as_sent_at_its_time_and_the_metrics_tell_what_would_have_been() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, observing).await;
    let mut kinds = 0;
    let mut told = std::collections::BTreeMap::<&str, u32>::new();
    for protocol in PROTOCOLS {
        for (streams, (name, arguments, would)) in [false, true]
            .into_iter()
            .flat_map(|streams| KINDS.map(|kind| (streams, kind)))
        {
            let (kind, sent, length) = if streams {
                let (kind, sent) = stream(protocol, name, arguments);
                (kind, sent, String::new())
            } else {
                let sent = whole(protocol, name, arguments);
                let length = format!("content-length: {}\r\n", sent.len());
                ("application/json", sent, length)
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{length}connection: close\r\n\r\n"
            );
            let (first, second) = sent.split_at(sent.len() / 2);
            let (go_on, wait) = oneshot::channel();
            upstream.then(vec![
                Act::Write([head.as_bytes(), first].concat()),
                Act::Wait(wait),
                Act::Write(second.to_vec()),
            ]);
            let path = path(protocol, streams);
            let body = request(protocol, streams);
            let headers = "accept-encoding: gzip, br\r\n";
            let mut client = Client::send(running.address, "POST", path, headers, &body).await;
            client.until_bytes(&first[first.len() - 20..]).await;
            go_on.send(()).unwrap();
            let got = client.end().await;
            let bytes = if streams {
                unchunked(&got.raw_body)
            } else {
                got.raw_body.clone()
            };
            let what = format!("{protocol}, streams: {streams}, {name} {arguments}");
            assert!(bytes == sent, "{what}: {}", String::from_utf8_lossy(&bytes));
            assert_eq!(got.header("goodcall-verdict"), None, "{what}");
            let seen = upstream.requests().pop().unwrap();
            assert!(seen.ends_with(&format!("\r\n\r\n{body}")), "{what}: {seen}");
            assert!(
                seen.contains("accept-encoding: gzip, br\r\n"),
                "{what}: {seen}"
            );
            let count = told.entry(would).or_default();
            *count += 1;
            let line =
                format!("goodcall_observed_total{{would=\"{would}\",model=\"m\"}} {count}\n");
            wait_for_metric(running.address, &line).await;
            kinds += 1;
        }
    }
    assert_eq!(
        (kinds, upstream.requests().len()),
        (72, 72),
        "nothing is asked again"
    );
}

#[tokio::test]
async fn half_a_call_reaches_the_client_before_the_rest_is_sent() {
    let upstream = Upstream::default();
    let (go_on, wait) = oneshot::channel();
    let start = events(&[&chat_call("{\"a\":")]);
    let rest = events(&[&chat_more("\"1\"}"), CHAT_END, "[DONE]"]);
    upstream.then(vec![stream_head(), start, Act::Wait(wait), rest]);
    let running = gateway(upstream.start().await, observing).await;
    let mut client = Client::send(running.address, "POST", CHAT, "", chat(true)).await;
    client.until(r#""arguments":"{\"a\":""#).await;
    go_on.send(()).unwrap();
    assert!(client.end().await.body.ends_with("data: [DONE]\n\n"));
    wait_for_metric(
        running.address,
        "goodcall_observed_total{would=\"mend\",model=\"m\"} 1",
    )
    .await;
    let calls = get(running.address, "/goodcall/requests").await.body;
    assert!(calls.contains(r#""verdict":"mended""#), "{calls}");
}

#[tokio::test]
async fn compressed_replies_are_judged_and_pass_compressed() {
    let upstream = Upstream::default();
    let sent = chat_reply(r#"{"a": "1"}"#);
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut out, sent.as_bytes()).unwrap();
    let bytes = out.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        bytes.len()
    );
    upstream.then(vec![
        Act::Write(head.into_bytes()),
        Act::Write(bytes.clone()),
    ]);
    let running = gateway(upstream.start().await, observing).await;
    let got = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(got.header("content-encoding"), Some("gzip"));
    assert!(got.raw_body == bytes, "the reply as it came");
    wait_for_metric(
        running.address,
        "goodcall_observed_total{would=\"mend\",model=\"m\"} 1",
    )
    .await;
}

#[tokio::test]
async fn request_that_is_too_large_to_judge_passes() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    let running = gateway(upstream.start().await, |config| {
        config.observe = true;
        config.limits.request_bytes = 10;
    })
    .await;
    let got = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(got.status, 200);
    assert!(upstream.requests()[0].ends_with(&chat(false)));
}

#[tokio::test]
async fn quoted_call_of_an_error_stays_an_error() {
    let upstream = Upstream::default();
    let quoted = r#"<function=f>{"a": 1}</function>"#;
    let error = json!({"error": {"message": "Failed to call a function.", "code": "tool_use_failed",
        "failed_generation": quoted}});
    upstream.reply_with(400, "application/json", &error.to_string());
    let running = gateway(upstream.start().await, observing).await;
    let got = post(running.address, CHAT, &chat(false)).await;
    assert_eq!((got.status, got.body), (400, error.to_string()));
    wait_for_metric(
        running.address,
        "goodcall_observed_total{would=\"mend\",model=\"m\"} 1",
    )
    .await;
}
