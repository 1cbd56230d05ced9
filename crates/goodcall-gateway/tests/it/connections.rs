//! Connections to the upstream and to the client: large heads, reuse, paths, signs of life.

use std::time::Duration;

use crate::observe::{path, request, stream};
use crate::support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Proxies such as LiteLLM add kilobytes of headers, and HTTP/1.1 has no limit of its own.
#[tokio::test]
async fn reply_heads_of_many_kilobytes_pass() {
    for size in [500, 2_500, 16_000, 60_000] {
        let upstream = Upstream::default();
        for _ in 0..2 {
            let cookie = format!("x-own: 1\r\nx-large: {}", "x".repeat(size));
            let reply = head(200, "application/json", &chat_reply(r#"{"a": 1}"#));
            let reply = reply.replace("x-own: 1", &cookie);
            upstream.then(vec![Act::Write(reply.into_bytes())]);
        }
        let running = gateway(upstream.start().await, |_| {}).await;
        for path in [CHAT, "/v1/embeddings"] {
            let reply = post(running.address, path, &chat(false)).await;
            assert_eq!(reply.status, 200, "{size} bytes, {path}: {}", reply.body);
        }
    }
}

/// Reads one request from a connection, and answers it unless `answer` is empty.
async fn answer_one(socket: &mut tokio::net::TcpStream, answer: &str) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"]}") {
        let mut chunk = [0; 4096];
        let size = socket.read(&mut chunk).await.unwrap();
        assert!(size > 0, "the gateway left");
        bytes.extend_from_slice(&chunk[..size]);
    }
    socket.write_all(answer.as_bytes()).await.unwrap();
}

/// An upstream that closes an idle connection just as the next request is sent has not answered
/// it: the request is sent again over a new connection. One that closes a fresh connection without
/// a reply has failed.
#[tokio::test]
async fn request_that_meets_a_closed_pooled_connection_is_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let body = chat_reply(r#"{"a": 1}"#);
        let size = body.len();
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n{body}"
        );
        let (mut first, _) = listener.accept().await.unwrap();
        answer_one(&mut first, &reply).await;
        answer_one(&mut first, "").await;
        drop(first);
        let (mut second, _) = listener.accept().await.unwrap();
        answer_one(&mut second, &reply).await;
        drop(second);
        let (mut third, _) = listener.accept().await.unwrap();
        answer_one(&mut third, "").await;
        drop(third);
        listener
    });
    let running = gateway(address, |config| config.listener.threads = 1).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(post(running.address, CHAT, &chat(false)).await.status);
        // The pool sees that a connection was closed only after a moment.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, [200, 200, 502]);
    drop(served.await.unwrap());
}

#[tokio::test]
async fn health_answers_head_requests_and_connect_is_refused() {
    let running = gateway(Upstream::default().start().await, |_| {}).await;
    let reply = Client::send(running.address, "HEAD", "/healthz", "", "").await;
    let reply = reply.end().await;
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    let reply = Client::send(running.address, "CONNECT", "api.example.com:443", "", "").await;
    assert_eq!(reply.end().await.status, 405);
}

#[tokio::test]
async fn path_cannot_leave_the_upstreams_path() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |_| {}).await;
    for path in ["/v1/../../admin", "/v1/%2e%2E/admin", "/v1/x%2f..%2fadmin"] {
        let reply = get(running.address, path).await;
        assert_eq!(reply.status, 400, "{path}");
    }
    assert!(upstream.requests().is_empty());
    for path in ["/v1/files/a..b", "/v1/files/100%25"] {
        upstream.reply_json("{}");
        assert_eq!(get(running.address, path).await.status, 200, "{path}");
    }
}

/// An upstream may be written with the version that the client's path begins with, or without.
#[tokio::test]
async fn version_in_the_upstreams_url_is_not_doubled() {
    for (prefix, expected) in [
        ("", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/openai/v1/", "/openai/v1/chat/completions"),
        ("/v2", "/v2/v1/chat/completions"),
        ("/api", "/api/v1/chat/completions"),
    ] {
        let upstream = Upstream::default();
        upstream.reply_json("{}");
        let address = upstream.start().await;
        let running = gateway(address, |config| {
            let url = format!("http://{address}{prefix}");
            config.set_upstream(&url).unwrap();
        })
        .await;
        post(running.address, CHAT, &chat(false)).await;
        let request = upstream.requests().remove(0);
        let line = format!("POST {expected} HTTP/1.1\r\n");
        assert!(request.starts_with(&line), "{prefix}: {request}");
    }
}

/// While a call is held, the client gets comments, which keep proxies from closing the stream.
#[tokio::test]
async fn held_call_is_bridged_by_heartbeats() {
    let upstream = Upstream::default();
    let (go_on, wait) = tokio::sync::oneshot::channel();
    upstream.then(vec![
        stream_head(),
        events(&[&chat_text("Hm."), &chat_call(r#"{"a": "#)]),
        Act::Wait(wait),
        events(&[&chat_more("1}"), CHAT_END, "[DONE]"]),
    ]);
    let running = gateway(upstream.start().await, |config| {
        config.limits.heartbeat_time = Some(Duration::from_millis(20));
    })
    .await;
    let mut client = open_stream(running.address).await;
    client.until(": goodcall\n\n").await;
    client.until(": goodcall\n\n").await;
    go_on.send(()).unwrap();
    let reply = client.end().await;
    assert!(reply.whole && reply.body.ends_with("data: [DONE]\n\n"));
    let held = r#"goodcall_held_seconds_count 1"#;
    let metrics = wait_for_metric(running.address, held).await;
    assert!(
        !metrics.contains("goodcall_held_seconds_sum 0.0\n"),
        "{metrics}"
    );
}

/// While the model is asked again, nothing comes from the upstream, and the client must not give up.
#[tokio::test]
async fn reask_is_bridged_by_heartbeats_in_every_protocol() {
    // Bedrock has no event that all clients skip.
    let beats = [
        ("chat", ": goodcall\n\n"),
        ("responses", ": goodcall\n\n"),
        ("messages", "event: ping\ndata: {\"type\": \"ping\"}\n\n"),
        ("gemini", "1\r\n\n\r\n"),
        ("ollama", "\"content\":\"\""),
    ];
    for (protocol, beat) in beats {
        let upstream = Upstream::default();
        let (kind, bad) = stream(protocol, "f", "{}");
        let (_, good) = stream(protocol, "f", r#"{"a": 1}"#);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
        let head = head.into_bytes();
        let (go_on, wait) = tokio::sync::oneshot::channel();
        upstream.then(vec![Act::Write(head.clone()), Act::Write(bad)]);
        upstream.then(vec![Act::Wait(wait), Act::Write(head), Act::Write(good)]);
        let running = gateway(upstream.start().await, |config| {
            config.limits.heartbeat_time = Some(Duration::from_millis(20));
        })
        .await;
        let (path, body) = (path(protocol, true), request(protocol, true));
        let mut client = Client::send(running.address, "POST", path, "", &body).await;
        client.until(beat).await;
        go_on.send(()).unwrap();
        let reply = client.end().await;
        assert!(reply.whole, "{protocol}: {reply:?}");
        let line = "goodcall_outcomes_total{outcome=\"cured\",model=\"m\"} 1";
        wait_for_metric(running.address, line).await;
    }
}
