//! Servers that speak the old SSE transport.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use goodcall_mcp::{ProxyOptions, Upstream};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::bridge::Client;

/// The stream of the only client.
type ToClient = Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>;

async fn stream(State(to_client): State<ToClient>) -> Response {
    let (sender, mut events) = mpsc::unbounded_channel();
    sender
        .send("event: endpoint\r\ndata: /messages?session=1\r\n\r\n".to_owned())
        .unwrap();
    *to_client.lock().unwrap() = Some(sender);
    let events = futures_util::stream::poll_fn(move |context| events.poll_recv(context));
    let events = futures_util::StreamExt::map(events, Ok::<_, Infallible>);
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(events))
        .unwrap()
}

async fn message(State(to_client): State<ToClient>, headers: HeaderMap, body: Bytes) -> StatusCode {
    assert_eq!(headers["x-key"], "secret");
    let message: Value = serde_json::from_slice(&body).unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let result = match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": "2024-11-05", "capabilities": {}}),
        Some("tools/list") => {
            json!({"tools": [{"name": "echo", "inputSchema": schema}, {"name": "end", "inputSchema": {"type": "object"}}]})
        }
        Some("tools/call") if message["params"]["name"] == "end" => {
            *to_client.lock().unwrap() = None;
            return StatusCode::ACCEPTED;
        }
        Some("tools/call") => json!({"content": [], "got": message["params"]["arguments"]}),
        _ => return StatusCode::ACCEPTED,
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let sender = to_client.lock().unwrap().clone().unwrap();
    sender
        .send(format!("event: message\r\ndata: {answer}\r\n\r\n"))
        .unwrap();
    StatusCode::ACCEPTED
}

/// Starts a server with its stream at this path, and returns its address.
async fn start(path: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new()
        .route(path, get(stream))
        .route("/messages", post(message))
        .with_state(ToClient::default());
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}{path}")
}

/// A server is asked by POST first unless its path says what it speaks, and both lead to the stream.
#[tokio::test]
async fn server_of_the_old_transport_is_used_like_any_other() {
    for path in ["/sse", "/events"] {
        let upstream = Upstream::new(&start(path).await).unwrap();
        let upstream = upstream.header("X-Key: secret").unwrap();
        let mut client = Client::start_with(upstream, ProxyOptions::default()).await;
        client
            .send(&json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}}))
            .await;
        let opened = client.next().await.unwrap();
        assert_eq!(opened["result"]["protocolVersion"], "2024-11-05", "{path}");
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client.call(1, "echo", json!({"n": "5"})).await;
        let answer = client.next().await.unwrap();
        assert_eq!(answer["result"]["got"]["n"], 5, "{path}: {answer}");
        // Whatever is open when the stream ends is answered.
        client.call(2, "end", json!({})).await;
        let answer = client.next().await.unwrap();
        assert_eq!(answer["error"]["code"], -32000, "{path}: {answer}");
        client.call(3, "echo", json!({"n": 1})).await;
        let answer = client.next().await.unwrap();
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("closed its stream"), "{path}: {answer}");
    }
}
