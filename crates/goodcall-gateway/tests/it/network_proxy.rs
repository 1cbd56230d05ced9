//! A proxy between the gateway and its upstream.

use std::sync::{Arc, Mutex};

use crate::support::*;
use crate::tls::tls_upstream;
use goodcall_gateway::{Gateway, GatewayConfig, NetworkProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Starts a proxy that opens tunnels. Returns its port and the heads of the requests that came.
async fn tunnelling_proxy() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let address = head.split(' ').nth(1).unwrap().to_owned();
                seen.lock().unwrap().push(head);
                let mut upstream = TcpStream::connect(address).await.unwrap();
                client
                    .write_all(b"HTTP/1.1 200 Connected\r\n\r\n")
                    .await
                    .unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut upstream).await;
            });
        }
    });
    (port, heads)
}

#[tokio::test]
async fn upstream_with_tls_is_reached_through_a_tunnel() {
    let upstream = tls_upstream().await;
    let (proxy, heads) = tunnelling_proxy().await;
    let (port, ca) = (upstream.port, upstream.certificate.clone());
    let running = gateway(([127, 0, 0, 1], port).into(), move |config| {
        config
            .set_upstream(&format!("https://localhost:{port}"))
            .unwrap();
        config.upstream.ca = Some(ca);
        config.upstream.proxy = NetworkProxy::Url(format!("http://ada:secret@127.0.0.1:{proxy}"));
    })
    .await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert!(reply.body.contains(r#"{\"a\":8}"#), "{}", reply.body);
    let heads = heads.lock().unwrap().clone();
    assert_eq!(heads.len(), 1);
    let line = format!("CONNECT localhost:{port} HTTP/1.1\r\n");
    assert!(heads[0].starts_with(&line), "{}", heads[0]);
    assert!(heads[0].contains("Proxy-Authorization: Basic YWRhOnNlY3JldA==\r\n"));
}

#[tokio::test]
async fn request_to_an_upstream_without_tls_is_sent_to_the_proxy() {
    let proxy = Upstream::default();
    proxy.reply_json(&chat_reply(r#"{"a": 1}"#));
    let address = proxy.start().await;
    let running = gateway(address, move |config| {
        config.set_upstream("http://api.example/base").unwrap();
        config.upstream.proxy = NetworkProxy::Url(format!("http://ada:secret@{address}"));
    })
    .await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let request = &proxy.requests()[0];
    let line = "POST http://api.example/base/v1/chat/completions HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(
        request.contains("proxy-authorization: Basic YWRhOnNlY3JldA==\r\n"),
        "{request}"
    );
}

#[test]
fn unusable_proxy_is_refused_without_its_password() {
    for url in [
        "https://ada:secret@proxy.example",
        "socks5://ada:secret@proxy.example",
    ] {
        let mut config = GatewayConfig::new("https://api.openai.com").unwrap();
        config.upstream.proxy = NetworkProxy::Url(url.to_owned());
        let error = Gateway::new(config).unwrap_err().to_string();
        assert!(
            error.contains("expected a URL such as http://proxy.example:3128"),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}
