//! Slow clients, refusing upstreams, and the limits on waiting for both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

#[tokio::test]
async fn slow_headers_time_out() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.limits.header_time = Duration::from_millis(200);
    })
    .await;
    // Nothing at all, the beginning of either version, half a head.
    for start in ["", "P", "PRI * HTTP", "POST / HTTP/1.1\r\nhost: x\r\nx-ha"] {
        let mut socket = TcpStream::connect(running.address).await.unwrap();
        socket.write_all(start.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest).await;
        let rest = String::from_utf8_lossy(&rest).into_owned();
        assert!(
            rest.is_empty() || rest.starts_with("HTTP/1.1 408"),
            "{start:?}: {rest}"
        );
    }
    assert!(upstream.requests().is_empty());
}

#[tokio::test]
async fn stalled_or_endless_request_is_refused() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.limits.request_time = Duration::from_millis(200);
        config.limits.request_bytes = 1000;
    })
    .await;
    let head = format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
    let long = "x".repeat(600);
    for (rest, wanted) in [
        (
            "content-length: 500\r\n\r\n{\"mess".to_owned(),
            "request_broken",
        ),
        // Too long, without a `content-length`.
        (
            format!("transfer-encoding: chunked\r\n\r\n258\r\n{long}\r\n258\r\n{long}\r\n"),
            "request_too_large",
        ),
    ] {
        let mut socket = TcpStream::connect(running.address).await.unwrap();
        socket
            .write_all(format!("{head}{rest}").as_bytes())
            .await
            .unwrap();
        let mut reply = Vec::new();
        let _ = socket.read_to_end(&mut reply).await;
        let reply = String::from_utf8_lossy(&reply).into_owned();
        assert!(reply.contains(wanted), "{wanted}: {reply}");
    }
    assert!(upstream.requests().is_empty());
}

/// Each byte comes in time, and still the request never ends.
#[tokio::test]
async fn dripping_request_is_refused() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.limits.request_total_time = Duration::from_millis(300);
    })
    .await;
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    let head = format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = socket.into_split();
    let drip = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let mut start = [0; 12];
    reader.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 400");
    drip.abort();
}

#[tokio::test]
async fn upstream_errors_pass_unchanged() {
    let upstream = Upstream::default();
    let error = r#"{"error":{"message":"Slow down.","type":"rate_limit_error"}}"#;
    for status in [400, 401, 429, 500, 529] {
        let text = head(status, "application/json", error);
        let text = text.replacen("x-own", "retry-after: 7\r\nx-own", 1);
        upstream.then(vec![Act::Write(text.into_bytes())]);
    }
    let running = gateway(upstream.start().await, |_| {}).await;
    for (status, stream) in [
        (400, false),
        (401, true),
        (429, false),
        (500, true),
        (529, false),
    ] {
        let reply = post(running.address, CHAT, &chat(stream)).await;
        assert_eq!((reply.status, reply.body.as_str()), (status, error));
        assert_eq!(reply.header("retry-after"), Some("7"));
    }
    assert_eq!(upstream.requests().len(), 5, "none was sent twice");
}

#[tokio::test]
async fn failed_reask_keeps_the_first_reply() {
    let upstream = Upstream::default();
    let bad = chat_reply("{}");
    let stream = || {
        vec![
            stream_head(),
            events(&[&chat_call("{}"), CHAT_END, "[DONE]"]),
        ]
    };
    let failures = || {
        [
            vec![Act::Write(head(500, "application/json", "{}").into_bytes())],
            vec![Act::Reset],
            vec![Act::Write(head(200, "text/html", "<p>").into_bytes())],
        ]
    };
    for failure in failures() {
        upstream.reply_json(&bad);
        upstream.then(failure);
    }
    for failure in failures() {
        upstream.then(stream());
        upstream.then(failure);
    }
    let running = gateway(upstream.start().await, |_| {}).await;
    for _ in 0..3 {
        let reply = post(running.address, CHAT, &chat(false)).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, bad.as_str()));
    }
    for _ in 0..3 {
        let reply = post(running.address, CHAT, &chat(true)).await;
        let calls = reply.body.matches("\"name\":\"f\"").count();
        assert!(reply.whole && calls == 1, "{reply:?}");
        assert_eq!(reply.body.matches("[DONE]").count(), 1);
    }
}

#[tokio::test]
async fn reset_second_reply_breaks_off_the_stream() {
    let upstream = Upstream::default();
    upstream.stream(&[&chat_call("{}"), CHAT_END, "[DONE]"]);
    let chunked =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let half = format!(
        "data: {}\n\ndata: {}\n\n",
        chat_text("Hm."),
        chat_call(r#"{"a": "#)
    );
    upstream.then(vec![
        Act::Write(chunked.to_vec()),
        Act::Write(format!("{:x}\r\n{half}\r\n", half.len()).into_bytes()),
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert!(!reply.whole && reply.body.contains("Hm."), "{reply:?}");
    assert!(!reply.body.contains("tool_calls"), "{reply:?}");
}

/// An upstream that writes `pieces` comments, and counts the bytes that were taken from it.
async fn endless_upstream(pieces: usize, piece: usize) -> (std::net::SocketAddr, Arc<AtomicUsize>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(1 << 19).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let (address, count) = (
        listener.local_addr().unwrap(),
        Arc::new(AtomicUsize::new(0)),
    );
    let taken = Arc::clone(&count);
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = socket.read(&mut request).await.unwrap();
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        socket.write_all(head).await.unwrap();
        let comment = format!(":{}\n\n", "x".repeat(piece - 3));
        for _ in 0..pieces {
            socket.write_all(comment.as_bytes()).await.unwrap();
            taken.fetch_add(piece, Ordering::Relaxed);
        }
        socket.shutdown().await.unwrap();
    });
    (address, count)
}

#[tokio::test]
async fn slow_reader_slows_the_upstream_and_loses_nothing() {
    let (pieces, piece) = (256, 1 << 16);
    let (address, taken) = endless_upstream(pieces, piece).await;
    let running = gateway(address, |_| {}).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1 << 19).unwrap();
    let mut socket = socket.connect(running.address).await.unwrap();
    let (body, size) = (chat(true), chat(true).len());
    let head = format!("POST {CHAT} HTTP/1.0\r\ncontent-length: {size}\r\n\r\n");
    socket
        .write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    // Wait until nothing moves: sockets hold some of it, the gateway next to nothing.
    let mut before = usize::MAX;
    while taken.load(Ordering::Relaxed) != before || before == 0 {
        before = taken.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(
        before < pieces * piece * 3 / 4,
        "{before} bytes were taken from the upstream"
    );
    let mut reply = Vec::new();
    socket.read_to_end(&mut reply).await.unwrap();
    let start = reply.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    assert_eq!(reply.len() - start - 4, pieces * piece);
}

#[tokio::test]
async fn stop_cuts_streams_after_the_drain_time() {
    let upstream = Upstream::default();
    upstream.stalled_stream();
    let running = gateway(upstream.start().await, |config| {
        config.limits.drain_time = Duration::from_millis(200);
    })
    .await;
    // A connection that never sends a request does not delay the stop, either.
    let idle = TcpStream::connect(running.address).await.unwrap();
    let _client = open_stream(running.address).await;
    running.stop.send(()).unwrap();
    running.served.await.unwrap();
    drop(idle);
}

/// The first reply waits for a re-ask, but not for as long as a first reply may take.
#[tokio::test]
async fn hanging_reask_keeps_the_first_reply() {
    for stream in [false, true] {
        let upstream = Upstream::default();
        if stream {
            upstream.stream(&[&chat_call("{}"), CHAT_END, "[DONE]"]);
        } else {
            upstream.reply_json(&chat_reply("{}"));
        }
        upstream.then(vec![Act::Hang]);
        let running = gateway(upstream.start().await, |config| {
            config.limits.reask_time = Duration::from_millis(100);
        })
        .await;
        let reply = post(running.address, CHAT, &chat(stream)).await;
        assert!(
            reply.whole && reply.body.contains(r#""name":"f""#),
            "{reply:?}"
        );
        let line = r#"goodcall_reask_failures_total{code="upstream_timeout",model="m"} 1"#;
        wait_for_metric(running.address, line).await;
    }
}
