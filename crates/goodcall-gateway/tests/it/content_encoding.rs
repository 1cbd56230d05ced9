//! Upstreams that compress replies, although they are asked not to.

use std::io::Write;

use crate::support::*;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use tokio::sync::oneshot;

fn gzip(text: &str) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

fn zlib(text: &str) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

fn encoded(encoding: &str, kind: &str, body: &[u8]) -> Act {
    let size = body.len();
    let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: {encoding}\r\ncontent-length: {size}\r\nx-own: 1\r\nconnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    Act::Write(bytes)
}

#[tokio::test]
async fn compressed_json_is_judged_and_passed_uncompressed() {
    let upstream = Upstream::default();
    let mended = chat_reply(r#"{"a": "1"}"#);
    upstream.then(vec![encoded("gzip", "application/json", &gzip(&mended))]);
    upstream.then(vec![encoded("deflate", "application/json", &zlib(&mended))]);
    // A bad one, and the reply to the re-ask.
    let bad = gzip(&chat_reply("{}"));
    upstream.then(vec![encoded("gzip", "application/json", &bad)]);
    upstream.then(vec![encoded("x-gzip", "application/json", &gzip(&mended))]);
    let running = gateway(upstream.start().await, |_| {}).await;
    for verdict in [
        "good=0 mended=1 bad=0 reasked=0",
        "good=0 mended=1 bad=0 reasked=0",
        "good=0 mended=1 bad=1 reasked=1",
    ] {
        let reply = post(running.address, CHAT, &chat(false)).await;
        assert_eq!(reply.header("goodcall-verdict"), Some(verdict), "{reply:?}");
        assert_eq!(reply.header("content-encoding"), None);
        assert_eq!(reply.header("x-own"), Some("1"));
        let size = reply.body.len().to_string();
        assert_eq!(reply.header("content-length"), Some(size.as_str()));
        assert!(reply.body.contains(r#"{\"a\":1}"#), "{reply:?}");
    }
    for request in upstream.requests() {
        assert!(request.contains("accept-encoding: identity"), "{request}");
    }
}

#[tokio::test]
async fn unreadable_replies_pass_and_are_marked_unjudged() {
    let upstream = Upstream::default();
    let half = &gzip(&chat_reply(r#"{"a": "1"}"#))[..40];
    upstream.then(vec![encoded("gzip", "application/json", half)]);
    upstream.then(vec![encoded("br", "application/json", b"abc")]);
    upstream.then(vec![encoded("br", "text/event-stream", b"abc")]);
    // Small, but too large when it is decoded.
    let large = gzip(&format!("\"{}\"", "x".repeat(100_000)));
    upstream.then(vec![encoded("gzip", "application/json", &large)]);
    upstream.reply("text/html", "<p>abc</p>");
    upstream.reply_json("data: no JSON\n\n");
    let running = gateway(upstream.start().await, |config| {
        config.limits.reply_bytes = 50_000;
    })
    .await;
    for (reason, encoding) in [
        ("content_encoding", Some("gzip")),
        ("content_encoding", Some("br")),
        ("content_encoding", Some("br")),
        ("content_encoding", Some("gzip")),
        ("content_type", None),
        ("not_json", None),
    ] {
        let reply = post(running.address, CHAT, &chat(false)).await;
        let verdict = format!("unjudged reason={reason}");
        assert_eq!(
            reply.header("goodcall-verdict"),
            Some(verdict.as_str()),
            "{reply:?}"
        );
        assert_eq!(reply.header("content-encoding"), encoding, "{reply:?}");
        assert_eq!(reply.status, 200);
        let size: usize = reply.header("content-length").unwrap().parse().unwrap();
        assert!(reply.raw_body.len() == size && size > 2, "{reply:?}");
    }
}

#[tokio::test]
async fn compressed_streams_are_judged_as_they_arrive() {
    let upstream = Upstream::default();
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = Vec::new();
    for event in [
        &chat_text("Hm."),
        &chat_call(r#"{"a": "1"}"#),
        CHAT_END,
        "[DONE]",
    ] {
        out.write_all(format!("data: {event}\n\n").as_bytes())
            .unwrap();
        out.flush().unwrap();
        pieces.push(std::mem::take(out.get_mut()));
    }
    pieces.push(out.finish().unwrap());
    let (go, wait) = oneshot::channel();
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
    upstream.then(vec![
        Act::Write(head.to_vec()),
        Act::Write(pieces[0].clone()),
        Act::Wait(wait),
        Act::Write(pieces[1..].concat()),
    ]);
    // The same, broken off.
    upstream.then(vec![
        Act::Write(head.to_vec()),
        Act::Write(pieces[..2].concat()),
    ]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let client = open_stream(running.address).await;
    go.send(()).unwrap();
    let reply = client.end().await;
    assert!(
        reply.whole && reply.body.ends_with("data: [DONE]\n\n"),
        "{reply:?}"
    );
    assert!(reply.body.contains(r#"{\"a\":1}"#), "{reply:?}");
    assert_eq!(reply.header("content-encoding"), None);
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert!(!reply.whole && reply.body.contains("Hm."), "{reply:?}");
}

#[tokio::test]
async fn compressed_request_passes_unread() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    let headers = "content-encoding: gzip\r\n";
    let reply = Client::send(running.address, "POST", CHAT, headers, "abc").await;
    let reply = reply.end().await;
    assert_eq!(reply.body, chat_reply(r#"{"a": "1"}"#));
    assert!(upstream.requests()[0].ends_with("abc"));
}

/// Codex compresses its requests with zstd. A request that is judged is sent uncompressed; one in
/// an encoding that cannot be read passes as it came, and its reply says so.
#[tokio::test]
async fn compressed_requests_are_judged() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |_| {}).await;
    let text = chat(false);
    let zstd = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    let unread = "unjudged reason=request_encoding";
    let mended = "good=0 mended=1 bad=0 reasked=0";
    for (encoding, body, verdict) in [
        ("gzip", gzip(&text), mended),
        ("deflate", zlib(&text), mended),
        ("zstd", zstd, mended),
        ("gzip", b"not gzip".to_vec(), unread),
        ("br", b"anything".to_vec(), unread),
    ] {
        upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
        let headers = format!("content-encoding: {encoding}\r\n");
        let reply = Client::send(running.address, "POST", CHAT, &headers, &body).await;
        let reply = reply.end().await;
        assert_eq!(
            reply.header("goodcall-verdict"),
            Some(verdict),
            "{encoding}"
        );
        let request = upstream.requests().pop().unwrap();
        let is_plain = request.ends_with(&text) && !request.contains("content-encoding");
        assert_eq!(is_plain, verdict == mended, "{request}");
    }
}
