//! Tests that spans reach a collector on the loopback.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use goodcall::{Call, Driver, Reply, Run, Script, Toolbox};
use tracing_subscriber::layer::SubscriberExt;

/// Does nothing.
#[goodcall::tool]
async fn nothing() {}

/// Accepts one request, answers with success, and returns the bytes of the request.
fn collect(listener: &TcpListener) -> Vec<u8> {
    let (mut socket, _) = listener.accept().unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read) = socket.read(&mut piece) {
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..read]);
    }
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    socket.write_all(answer.as_bytes()).unwrap();
    bytes
}

#[test]
fn spans_reach_a_collector() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let collector = std::thread::spawn(move || collect(&listener));
    let (layer, exporter) = goodcall::otlp::layer(&url, "my-agent").unwrap();
    let subscriber = tracing_subscriber::registry().with(layer);
    let mut toolbox = Toolbox::new();
    toolbox.register(Nothing).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let call = Reply::calls([Call::new("call_7", "nothing", "{}")]);
        let model = Script::new([call, Reply::text("done")]);
        let mut run = Run::new().user("u");
        runtime
            .block_on(Driver::new(&toolbox, &model).drive(&mut run))
            .unwrap();
    });
    drop(exporter);
    let bytes = collector.join().unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for part in [
        "POST /v1/traces",
        "my-agent",
        "execute_tool nothing",
        "chat script",
        "call_7",
    ] {
        assert!(text.contains(part), "{part}");
    }
}
