//! Connections that switch to another protocol.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const UPGRADE: &str = "GET /v1/realtime?model=m HTTP/1.1\r\nhost: gateway\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n\r\n";

/// An upstream that switches protocols, sends `hello`, and then sends everything back in capitals.
/// The receiver gets the heads of requests.
async fn upstream() -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, heads) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let sender = sender.clone();
            tokio::spawn(async move {
                let head = until(&mut socket, "\r\n\r\n").await;
                sender.send(head).unwrap();
                let reply = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: xyz\r\n\r\nhello";
                socket.write_all(reply.as_bytes()).await.unwrap();
                let mut bytes = [0; 1024];
                while let Ok(size @ 1..) = socket.read(&mut bytes).await {
                    let back = bytes[..size].to_ascii_uppercase();
                    socket.write_all(&back).await.unwrap();
                }
                let _ = socket.shutdown().await;
            });
        }
    });
    (address, heads)
}

async fn until(socket: &mut TcpStream, end: &str) -> String {
    let mut all = Vec::new();
    while !String::from_utf8_lossy(&all).ends_with(end) {
        let byte = socket.read_u8().await;
        let Ok(byte) = byte else {
            panic!("the end before {end:?}: {}", String::from_utf8_lossy(&all));
        };
        all.push(byte);
    }
    String::from_utf8(all).unwrap()
}

async fn open_tunnel(address: SocketAddr) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(UPGRADE.as_bytes()).await.unwrap();
    let head = until(&mut socket, "hello").await;
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    for line in [
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-accept: xyz",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    socket
}

#[tokio::test]
async fn tunnel_passes_bytes_both_ways_and_counts_as_open() {
    let (address, mut heads) = upstream().await;
    let running = gateway(address, |config| config.limits.concurrent = 1).await;
    let mut socket = open_tunnel(running.address).await;
    let head = heads.recv().await.unwrap();
    assert!(
        head.starts_with("GET /v1/realtime?model=m HTTP/1.1"),
        "{head}"
    );
    for line in [
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-key: abc",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    // Bytes that are neither text nor HTTP.
    socket.write_all(b"\x00\xffabc\r\n\r\n").await.unwrap();
    let mut back = [0; 9];
    socket.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"\x00\xffABC\r\n\r\n");
    // It is one of the requests that are open.
    let reply = post(running.address, "/v1/embeddings", "{}").await;
    assert_eq!(reply.status, 503);
    // Its end is passed on, both ways.
    socket.shutdown().await.unwrap();
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
    wait_for_metric(running.address, "goodcall_active_requests 0").await;
}

#[tokio::test]
async fn stop_waits_for_tunnels_and_then_cuts_them() {
    let (address, _heads) = upstream().await;
    let running = gateway(address, |_| {}).await;
    let mut socket = open_tunnel(running.address).await;
    running.stop.send(()).unwrap();
    while TcpStream::connect(running.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    socket.write_all(b"abc").await.unwrap();
    until(&mut socket, "ABC").await;
    assert!(!running.served.is_finished());
    socket.shutdown().await.unwrap();
    running.served.await.unwrap();

    let running = gateway(address, |config| {
        config.limits.drain_time = Duration::from_millis(200);
    })
    .await;
    let mut socket = open_tunnel(running.address).await;
    running.stop.send(()).unwrap();
    running.served.await.unwrap();
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
}

#[tokio::test]
async fn idle_tunnel_is_closed() {
    let (address, _heads) = upstream().await;
    let running = gateway(address, |config| {
        config.limits.idle_time = Duration::from_millis(200);
    })
    .await;
    let mut socket = open_tunnel(running.address).await;
    let mut rest = Vec::new();
    // Neither side sends anything; without a limit this would wait for ever.
    let _ = socket.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    let line = r#"goodcall_errors_total{code="upgrade_idle"} 1"#;
    wait_for_metric(running.address, line).await;
}

#[tokio::test]
async fn refused_upgrade_is_an_ordinary_reply() {
    let upstream = Upstream::default();
    upstream.reply_json(r#"{"error":"no"}"#);
    // An offer of HTTP/2 is passed over: the call is judged.
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    let mut socket = TcpStream::connect(running.address).await.unwrap();
    socket.write_all(UPGRADE.as_bytes()).await.unwrap();
    let head = until(&mut socket, r#"{"error":"no"}"#).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let offer = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAM\r\n";
    let reply = Client::send(running.address, "POST", CHAT, offer, &chat(false))
        .await
        .end()
        .await;
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=0 mended=1 bad=0 reasked=0"),
        "{reply:?}"
    );
    assert!(!upstream.requests()[1].contains("h2c"));
}
