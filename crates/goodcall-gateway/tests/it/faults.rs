//! Upstreams that break, clients that leave, limits that are exceeded.

use std::time::Duration;

use crate::support::*;
use tokio::sync::oneshot;

#[tokio::test]
async fn unreachable_upstream_is_502() {
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
async fn broken_json_reply_is_502() {
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
async fn reset_stream_breaks_off_without_half_a_call() {
    let upstream = Upstream::default();
    let (reset, wait) = oneshot::channel();
    upstream.then(vec![
        Act::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()),
        chunk(&format!("data: {}\n\ndata: {}\n\n", chat_text("Hm."), chat_call(r#"{"a": "#))),
        Act::Wait(wait),
        Act::Reset,
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let client = open_stream(running.address).await;
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
async fn stream_that_ends_within_a_call_is_reasked() {
    let upstream = Upstream::default();
    upstream.stream(&[&chat_call(r#"{"a": 1, "b": "x"#)]);
    upstream.stream(&[&chat_call(r#"{"a": 1}"#), CHAT_END, "[DONE]"]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert!(
        reply.whole && reply.body.contains(r#"{\"a\": 1}"#),
        "{reply:?}"
    );
}

#[tokio::test]
async fn hanging_upstream_times_out() {
    let upstream = Upstream::default();
    upstream.then(vec![Act::Hang]);
    upstream.stalled_stream();
    let at = upstream.start().await;
    let running = gateway(at, |config| {
        config.limits.first_byte_time = Duration::from_millis(300);
    })
    .await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 504, "{reply:?}");
    // A limit of its own, since a busy machine may need longer for a first byte.
    let running = gateway(at, |config| {
        config.limits.idle_time = Duration::from_secs(1);
    })
    .await;
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert!(!reply.whole && reply.body.contains("Hm."), "{reply:?}");
}

#[tokio::test]
async fn large_request_is_refused_and_large_reply_passes_unjudged() {
    let upstream = Upstream::default();
    let long = chat_reply(&"x".repeat(3000));
    upstream.reply_json(&long);
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
async fn requests_beyond_the_limit_are_503() {
    let upstream = Upstream::default();
    let go = upstream.paused_stream(&["[DONE]"]);
    upstream.reply_json("{}");
    let running = gateway(upstream.start().await, |config| {
        config.limits.concurrent = 1
    })
    .await;
    let first = open_stream(running.address).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.header("retry-after"), Some("1"));
    let health = get(running.address, "/healthz").await;
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    go.send(()).unwrap();
    let reply = first.end().await;
    assert!(reply.whole, "{reply:?}");
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn stop_waits_for_streams() {
    let upstream = Upstream::default();
    let go = upstream.paused_stream(&[&chat_call(r#"{"a": 1}"#), CHAT_END, "[DONE]"]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let client = open_stream(running.address).await;
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
async fn client_that_leaves_closes_the_upstream() {
    let upstream = Upstream::default();
    upstream.stalled_stream();
    let running = gateway(upstream.start().await, |_| {}).await;
    let client = open_stream(running.address).await;
    drop(client);
    let line = r#"goodcall_errors_total{code="client_left"} 1"#;
    let metrics = wait_for_metric(running.address, line).await;
    assert!(metrics.contains("goodcall_active_requests 0"), "{metrics}");
}

/// Both kinds of stalled replies break off and count as an error: judged streams, and replies that
/// pass through.
#[tokio::test]
async fn stalled_reply_is_recorded_as_broken() {
    let upstream = Upstream::default();
    upstream.stalled_stream();
    upstream.stalled_stream();
    let running = gateway(upstream.start().await, |config| {
        config.limits.idle_time = Duration::from_millis(200);
    })
    .await;
    for (path, count) in [(CHAT, 1), ("/v1/embeddings", 2)] {
        let reply = post(running.address, path, &chat(true)).await;
        assert!(!reply.whole && reply.body.contains("Hm."), "{reply:?}");
        let line = format!(r#"goodcall_errors_total{{code="upstream_broken"}} {count}"#);
        wait_for_metric(running.address, &line).await;
    }
}

#[tokio::test]
async fn metrics_count_verdicts_and_reasks() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    post(running.address, CHAT, &chat(false)).await;
    let page = get(running.address, "/metrics").await;
    for line in [
        r#"goodcall_calls_total{tool="f",verdict="bad",model="m"} 1"#,
        r#"goodcall_calls_total{tool="f",verdict="mended",model="m"} 1"#,
        r#"goodcall_mends_total{tool="f",rule="string-to-number"} 1"#,
        r#"goodcall_refusals_total{tool="f",reason="wrong_shape"} 1"#,
        r#"goodcall_reasks_total{model="m"} 1"#,
        r#"goodcall_outcomes_total{outcome="cured",model="m"} 1"#,
        r#"goodcall_tool_outcomes_total{tool="f",outcome="cured",model="m"} 1"#,
        r#"goodcall_requests_total{protocol="openai",status="200",model="m"} 1"#,
        r#"goodcall_tokens_total{kind="input",model="m"} 10"#,
        r#"goodcall_tokens_total{kind="refused_output",model="m"} 7"#,
        r#"goodcall_first_byte_seconds_count{model="m"} 1"#,
        "goodcall_added_seconds_count 1",
    ] {
        assert!(page.body.contains(line), "{line}: {}", page.body);
    }
}

#[tokio::test]
async fn http_1_0_upstream_is_answered_in_http_1_1() {
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

/// A re-ask that fails is counted with its cause, and the outcome is what the client got.
#[tokio::test]
async fn failed_reasks_are_counted_by_cause() {
    let upstream = Upstream::default();
    for stream in [false, true] {
        if stream {
            upstream.stream(&[&chat_call("{}"), CHAT_END, "[DONE]"]);
        } else {
            upstream.reply_json(&chat_reply("{}"));
        }
        upstream.reply_with(429, "application/json", "{}");
    }
    let running = gateway(upstream.start().await, |_| {}).await;
    for stream in [false, true] {
        let reply = post(running.address, CHAT, &chat(stream)).await;
        assert_eq!(reply.status, 200);
    }
    let line = r#"goodcall_outcomes_total{outcome="bad",model="m"} 2"#;
    let page = wait_for_metric(running.address, line).await;
    let line = r#"goodcall_reask_failures_total{code="status_429",model="m"} 2"#;
    assert!(page.contains(line), "{page}");
}

/// The client of a JSON reply that leaves during a re-ask has caused the calls before it.
#[tokio::test]
async fn client_that_leaves_during_a_reask_has_its_calls_counted() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    upstream.then(vec![Act::Hang]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let client = Client::send(running.address, "POST", CHAT, "", chat(false)).await;
    while upstream.requests().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    let line = r#"goodcall_calls_total{tool="f",verdict="bad",model="m"} 1"#;
    let page = wait_for_metric(running.address, line).await;
    let line = r#"goodcall_errors_total{code="client_left"} 1"#;
    assert!(page.contains(line), "{page}");
    assert!(
        page.contains(r#"goodcall_reasks_total{model="m"} 1"#),
        "{page}"
    );
    // Nobody knows whether the re-ask would have brought a good call.
    assert!(!page.contains("outcome="), "{page}");
}

/// The time of a passing stream is the upstream's, not the gateway's.
#[tokio::test]
async fn own_time_of_a_passing_stream_is_small() {
    let upstream = Upstream::default();
    let go = upstream.paused_stream(&["[DONE]"]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let body = r#"{"model":"m","stream":true,"messages":[]}"#;
    let mut client = Client::send(running.address, "POST", CHAT, "", body).await;
    client.until("Hm.").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    go.send(()).unwrap();
    client.end().await;
    let page = wait_for_metric(running.address, "goodcall_added_seconds_count 1").await;
    assert!(page.contains(r#"goodcall_added_seconds_bucket{le="0.1"} 1"#));
    assert!(page.contains(r#"goodcall_upstream_seconds_bucket{le="0.25",model="m"} 0"#));
}

/// So is the time of a reply that its client did not wait for.
#[tokio::test]
async fn own_time_of_a_reply_that_nobody_waited_for_is_small() {
    let upstream = Upstream::default();
    upstream.then(vec![Act::Hang]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let client = Client::send(running.address, "POST", CHAT, "", chat(false)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(client);
    let page = wait_for_metric(running.address, "goodcall_added_seconds_count 1").await;
    assert!(page.contains(r#"goodcall_added_seconds_bucket{le="0.1"} 1"#));
    assert!(page.contains(r#"goodcall_upstream_seconds_bucket{le="0.25",model="m"} 0"#));
}

/// A stream that is cut when the gateway stops is not one that its client left.
#[tokio::test]
async fn streams_that_a_stop_cuts_are_not_the_clients_fault() {
    let upstream = Upstream::default();
    upstream.stalled_stream();
    let running = gateway(upstream.start().await, |config| {
        config.limits.drain_time = Duration::from_millis(50);
    })
    .await;
    let client = open_stream(running.address).await;
    running.stop.send(()).unwrap();
    running.served.await.unwrap();
    drop(client);
    // The counters outlive the listener: a second one shows them.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = running.gateway.clone();
    tokio::spawn(async move { gateway.serve(listener, std::future::pending()).await });
    let line = r#"goodcall_errors_total{code="stopped"} 1"#;
    wait_for_metric(address, line).await;
}
