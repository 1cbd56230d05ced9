//! Bedrock Converse through the gateway, with AWS's binary messages.

use crate::aws;
use crate::support::*;

const REQUEST: &str = r#"{"messages":[{"role":"user","content":[{"text":"Go."}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}}]}}"#;

fn reply(input: &str) -> String {
    format!(
        r#"{{"output":{{"message":{{"role":"assistant","content":[{{"toolUse":{{"toolUseId":"t1","name":"f","input":{input}}}}}]}}}},"stopReason":"tool_use"}}"#
    )
}

fn stream(input: &str) -> Vec<Act> {
    let input = serde_json::Value::from(input);
    let events = [
        r#"{"messageStart":{"role":"assistant"}}"#.to_owned(),
        r#"{"contentBlockStart":{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}}"#.to_owned(),
        format!(r#"{{"contentBlockDelta":{{"contentBlockIndex":0,"delta":{{"toolUse":{{"input":{input}}}}}}}}}"#),
        r#"{"contentBlockStop":{"contentBlockIndex":0}}"#.to_owned(),
        r#"{"messageStop":{"stopReason":"tool_use"}}"#.to_owned(),
    ];
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\nconnection: close\r\n\r\n";
    let bytes = aws::written(events.into_iter());
    vec![Act::Write(head.as_bytes().to_vec()), Act::Write(bytes)]
}

#[tokio::test]
async fn whole_reply_is_reasked() {
    let upstream = Upstream::default();
    upstream.reply_json(&reply("{}"));
    upstream.reply_json(&reply(r#"{"a":"2"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    let path = "/model/anthropic.claude-5%3A0/converse";
    let got = post(running.address, path, REQUEST).await;
    assert_eq!(got.body, reply(r#"{"a":2}"#));
    assert!(upstream.requests()[1].starts_with(&format!("POST {path} ")));
    let calls = get(running.address, "/goodcall/requests").await.body;
    assert!(
        calls.contains(r#""model":"anthropic.claude-5:0""#),
        "{calls}"
    );
}

#[tokio::test]
async fn messages_of_a_stream_are_judged() {
    let upstream = Upstream::default();
    upstream.then(stream("{}"));
    upstream.then(stream(r#"{"a":"2"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    let path = "/model/m/converse-stream";
    let client = Client::send(running.address, "POST", path, "", REQUEST).await;
    let got = client.end().await;
    assert_eq!(got.header("goodcall-verdict"), Some("stream"));
    let events = aws::events(&unchunked(&got.raw_body)).join("\n");
    assert!(events.contains(r#"{\"a\":2}"#), "{events}");
    assert_eq!(events.matches("messageStart").count(), 1, "{events}");
}

/// The body of a reply in chunks, as bytes.
pub(crate) fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(at) = body.windows(2).position(|end| end == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..at]).unwrap(), 16).unwrap();
        out.extend_from_slice(&body[at + 2..at + 2 + size]);
        body = &body[(at + size + 4).min(body.len())..];
    }
    out
}
