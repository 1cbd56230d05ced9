//! Gemini's own API through the gateway, whose URL names the model and the form of the reply.

use crate::support::*;
use tokio::sync::oneshot;

const REQUEST: &str = r#"{"contents":[{"role":"user","parts":[{"text":"Go."}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"INTEGER"}},"required":["a"]}}]}]}"#;

fn chunk(parts: &str, reason: &str) -> String {
    format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{reason}}}]}}"#)
}

fn call(arguments: &str) -> String {
    let call = format!(r#"{{"functionCall":{{"name":"f","args":{arguments}}}}}"#);
    chunk(&call, r#","finishReason":"STOP""#)
}

#[tokio::test]
async fn whole_reply_is_reasked() {
    let upstream = Upstream::default();
    upstream.reply_json(&call("{}"));
    upstream.reply_json(&call(r#"{"a":"2"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    let path = "/v1beta/models/gemini-3-pro:generateContent";
    let reply = post(running.address, path, REQUEST).await;
    assert_eq!(reply.body, call(r#"{"a":2}"#));
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=0 mended=1 bad=1 reasked=1")
    );
    let calls = get(running.address, "/goodcall/requests").await.body;
    assert!(calls.contains(r#""model":"gemini-3-pro""#), "{calls}");
}

#[tokio::test]
async fn events_are_judged() {
    let upstream = Upstream::default();
    upstream.stream(&[&chunk(r#"{"text":"Hm."}"#, ""), &call("{}")]);
    upstream.stream(&[&call(r#"{"a":"2"}"#)]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let path = "/v1beta/models/g:streamGenerateContent?alt=sse&key=k";
    let reply = post(running.address, path, REQUEST).await;
    let text = chunk(r#"{"text":"Hm."}"#, "");
    let wanted = format!("data: {text}\n\ndata: {}\n\n", call(r#"{"a":2}"#));
    assert_eq!(reply.body, wanted);
    assert!(upstream.requests()[1].starts_with(&format!("POST {path} ")));
}

#[tokio::test]
async fn elements_of_an_array_pass_one_by_one() {
    let upstream = Upstream::default();
    let (rest, wait) = oneshot::channel();
    let text = chunk(r#"{"text":"Hm."}"#, "");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=UTF-8\r\nconnection: close\r\n\r\n";
    upstream.then(vec![
        Act::Write(format!("{head}[{text}\r\n").into_bytes()),
        Act::Wait(wait),
        Act::Write(format!(",\r\n{}\n]", call(r#"{"a":"2"}"#)).into_bytes()),
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let path = "/v1beta/models/g:streamGenerateContent";
    let mut client = Client::send(running.address, "POST", path, "", REQUEST).await;
    client.until("Hm.").await;
    rest.send(()).unwrap();
    let reply = client.end().await;
    assert_eq!(reply.body, format!("[{text},\n{}]\n", call(r#"{"a":2}"#)));
    assert_eq!(reply.header("goodcall-verdict"), Some("stream"));
}
