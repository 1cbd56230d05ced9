//! A server on the loopback with the API of OpenAI's chat completions.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// The response to one request.
pub(crate) enum Respond {
    Whole(Value),
    /// Events in pieces of a few bytes. If `false`, the connection breaks after them.
    Stream(Vec<Value>, bool),
    Status(u16, &'static str),
    /// A body that goes on until the client leaves.
    #[allow(dead_code, reason = "not every test needs it")]
    Endless,
}

/// Serves these responses, one per connection, and keeps the requests.
pub(crate) async fn serve(responses: Vec<Respond>) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    tokio::spawn(async move {
        for respond in responses {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut text = Vec::new();
            let body = loop {
                let mut piece = [0; 4096];
                let read = socket.read(&mut piece).await.unwrap();
                text.extend_from_slice(&piece[..read]);
                let seen = String::from_utf8_lossy(&text).to_lowercase();
                let Some((head, body)) = seen.split_once("\r\n\r\n") else {
                    continue;
                };
                assert!(
                    head.starts_with("post /v1/chat/completions http/1.1"),
                    "{head}"
                );
                let length = head.split("content-length: ").nth(1).unwrap();
                let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
                if body.len() >= length {
                    let start = head.len() + 4;
                    break text[start..start + length].to_vec();
                }
            };
            kept.lock()
                .unwrap()
                .push(serde_json::from_slice(&body).unwrap());
            answer(&mut socket, respond).await;
        }
    });
    (url, requests)
}

async fn answer(socket: &mut tokio::net::TcpStream, respond: Respond) {
    let head = |status: &str, kind: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n")
    };
    match respond {
        Respond::Whole(value) => {
            let (body, head) = (value.to_string(), head("200 OK", "application/json"));
            let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            socket.write_all(text.as_bytes()).await.unwrap();
        }
        Respond::Status(status, body) => {
            let head = head(&format!("{status} No"), "text/plain");
            let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            socket.write_all(text.as_bytes()).await.unwrap();
        }
        Respond::Endless => {
            let head = format!("{}\r\n", head("200 OK", "application/json"));
            socket.write_all(head.as_bytes()).await.unwrap();
            while socket.write_all(&[b' '; 1 << 16]).await.is_ok() {}
        }
        Respond::Stream(events, whole) => {
            let head = head("200 OK", "text/event-stream");
            let head = format!("{head}transfer-encoding: chunked\r\n\r\n");
            socket.write_all(head.as_bytes()).await.unwrap();
            let mut text: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
            if whole {
                text += "data: [DONE]\n\n";
            }
            // The pieces end inside lines and inside characters.
            for piece in text.as_bytes().chunks(7) {
                let size = format!("{:x}\r\n", piece.len());
                socket.write_all(size.as_bytes()).await.unwrap();
                socket.write_all(piece).await.unwrap();
                socket.write_all(b"\r\n").await.unwrap();
            }
            if whole {
                socket.write_all(b"0\r\n\r\n").await.unwrap();
            }
        }
    }
    let _ = socket.shutdown().await;
}
