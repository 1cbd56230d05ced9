//! Upstreams that break, clients that leave, limits that are passed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod support;

use std::time::Duration;

use support::*;
use tokio::sync::oneshot;

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn an_upstream_that_is_not_there() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let running = gateway(address, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 502);
    assert!(
        reply.body.contains(r#""code":"upstream_unreachable""#),
        "{}",
        reply.body
    );
    let reply = post(running.address, "/v1/embeddings", "{}").await;
    assert_eq!(reply.status, 502);
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_no_reply() {
    let upstream = Upstream::default();
    let half =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{\"cho";
    upstream.then(vec![Act::Write(half.as_bytes().to_vec())]);
    upstream.then(vec![Act::Reset]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 502);
    assert!(reply.body.contains("upstream_broken"), "{}", reply.body);
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 502);
}

#[tokio::test]
async fn a_stream_that_is_reset_is_seen_as_that_and_half_a_call_is_not_seen() {
    let upstream = Upstream::default();
    let (reset, wait) = oneshot::channel();
    upstream.then(vec![
        Act::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()),
        chunk(&format!("data: {}\n\ndata: {}\n\n", chat_text("Hm."), chat_call(r#"{"a": "#))),
        Act::Wait(wait),
        Act::Reset,
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let mut client = Client::send(running.address, "POST", CHAT, "", &chat(true)).await;
    client.until("Hm.").await;
    reset.send(()).unwrap();
    let reply = client.end().await;
    assert!(!reply.whole, "{reply:?}");
    assert!(
        !String::from_utf8_lossy(reply.body.as_bytes()).contains("tool_calls"),
        "{}",
        reply.body
    );
}

fn chunk(text: &str) -> Act {
    Act::Write(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

#[tokio::test]
async fn half_a_stream_is_asked_for_again_where_a_call_was_cut() {
    let upstream = Upstream::default();
    upstream.then(vec![
        stream_head(),
        events(&[&chat_call(r#"{"a": 1, "b": "x"#)]),
    ]);
    upstream.then(vec![
        stream_head(),
        events(&[&chat_call(r#"{"a": 1}"#), CHAT_END, "[DONE]"]),
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert!(
        reply.whole && reply.body.contains(r#"{\"a\": 1}"#),
        "{reply:?}"
    );
}

#[tokio::test]
async fn an_upstream_that_hangs_is_given_up() {
    let upstream = Upstream::default();
    upstream.then(vec![Act::Hang]);
    upstream.then(vec![stream_head(), events(&[&chat_text("Hm.")]), Act::Hang]);
    let running = gateway(upstream.start().await, |config| {
        config.limits.first_byte_time = Duration::from_millis(300);
        config.limits.idle_time = Duration::from_millis(300);
    })
    .await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 504, "{reply:?}");
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert!(!reply.whole && reply.body.contains("Hm."), "{reply:?}");
}

#[tokio::test]
async fn what_is_too_large_is_refused_or_not_judged() {
    let upstream = Upstream::default();
    let long = chat_reply(&"x".repeat(3000));
    upstream.reply("application/json", &long);
    let running = gateway(upstream.start().await, |config| {
        config.limits.request_bytes = 1000;
        config.limits.reply_bytes = 2000;
    })
    .await;
    let big = chat(false).replace("Go.", &"x".repeat(2000));
    let reply = post(running.address, CHAT, &big).await;
    assert_eq!(reply.status, 413);
    assert!(upstream.requests().is_empty());
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!((reply.status, reply.body), (200, long));
}

#[tokio::test]
async fn only_so_many_at_a_time() {
    let upstream = Upstream::default();
    let (go, wait) = oneshot::channel();
    upstream.then(vec![
        stream_head(),
        events(&[&chat_text("Hm.")]),
        Act::Wait(wait),
        events(&["[DONE]"]),
    ]);
    upstream.reply("application/json", "{}");
    let running = gateway(upstream.start().await, |config| {
        config.limits.concurrent = 1
    })
    .await;
    let mut first = Client::send(running.address, "POST", CHAT, "", &chat(true)).await;
    first.until("Hm.").await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.header("retry-after"), Some("1"));
    let health = Client::send(running.address, "GET", "/healthz", "", "")
        .await
        .end()
        .await;
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    go.send(()).unwrap();
    let reply = first.end().await;
    assert!(reply.whole, "{reply:?}");
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_stop_lets_streams_end() {
    let upstream = Upstream::default();
    let (go, wait) = oneshot::channel();
    upstream.then(vec![
        stream_head(),
        events(&[&chat_text("Hm.")]),
        Act::Wait(wait),
        events(&[&chat_call(r#"{"a": 1}"#), CHAT_END, "[DONE]"]),
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let mut client = Client::send(running.address, "POST", CHAT, "", &chat(true)).await;
    client.until("Hm.").await;
    running.stop.send(()).unwrap();
    // No new connection is taken: the listener is gone as soon as the stop was seen.
    while tokio::net::TcpStream::connect(running.address)
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    go.send(()).unwrap();
    let reply = client.end().await;
    assert!(reply.whole && reply.body.contains("[DONE]"), "{reply:?}");
    running.served.await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_takes_the_upstreams_stream_with_it() {
    let upstream = Upstream::default();
    upstream.then(vec![stream_head(), events(&[&chat_text("Hm.")]), Act::Hang]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let mut client = Client::send(running.address, "POST", CHAT, "", &chat(true)).await;
    client.until("Hm.").await;
    drop(client);
    // The request is counted as ended when the gateway has seen that.
    loop {
        let page = Client::send(running.address, "GET", "/metrics", "", "")
            .await
            .end()
            .await;
        if page
            .body
            .contains("goodcall_errors_total{code=\"client_left\"} 1")
        {
            assert!(
                page.body.contains("goodcall_active_requests 0"),
                "{}",
                page.body
            );
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn metrics_tell_what_was_done() {
    let upstream = Upstream::default();
    upstream.reply("application/json", &chat_reply("{}"));
    upstream.reply("application/json", &chat_reply(r#"{"a": "1"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    post(running.address, CHAT, &chat(false)).await;
    let page = Client::send(running.address, "GET", "/metrics", "", "")
        .await
        .end()
        .await;
    for line in [
        r#"goodcall_calls_total{tool="f",verdict="bad"} 1"#,
        r#"goodcall_calls_total{tool="f",verdict="mended"} 1"#,
        r#"goodcall_mends_total{tool="f",rule="string-to-number"} 1"#,
        r#"goodcall_refusals_total{tool="f",reason="wrong_shape"} 1"#,
        "goodcall_reasks_total 1",
        "goodcall_added_seconds_count 1",
    ] {
        assert!(page.body.contains(line), "{line}: {}", page.body);
    }
}

#[tokio::test]
async fn an_upstream_with_an_old_http_is_answered_in_ours() {
    let upstream = Upstream::default();
    let old = "HTTP/1.0 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    for _ in 0..2 {
        upstream.then(vec![Act::Write(old.as_bytes().to_vec())]);
    }
    let running = gateway(upstream.start().await, |_| {}).await;
    for path in [CHAT, "/v1/embeddings"] {
        let reply = post(running.address, path, &chat(false)).await;
        assert!(reply.head.starts_with("HTTP/1.1 200"), "{}", reply.head);
    }
}
