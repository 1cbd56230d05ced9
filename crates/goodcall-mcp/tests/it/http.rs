//! The URL listener and the URL client in front of a fake server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use goodcall_mcp::{ProxyLog, ProxyOptions, Upstream, bridge};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::fake_url::{
    AnswerStyle, Fake, PATIENCE, PipeClient, call, listen_to, post, start_listener,
};

#[tokio::test]
async fn mended_call_gets_mended_headers() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "Region"),
        ("mcp-param-zone", "seven"),
        ("authorization", "Bearer a"),
    ];
    let message = call("Region", &json!({"zone": "7", "name": "Zürich"}));
    let (status, answered, body) = post(&url, &headers, &message).await;
    assert_eq!(
        (status, &answered["x-own"]),
        (200, &"kept".parse().unwrap())
    );
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["result"]["got"]["zone"], 7);
    let rules: Vec<_> = body["result"]["_meta"]["goodcall/changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["rule"].clone())
        .collect();
    assert_eq!(rules, ["tool-name", "string-to-number"]);
    let (seen, sent) = fake.requests("tools/call").pop().unwrap();
    assert_eq!(sent["params"]["name"], "region");
    for (name, value) in [
        ("mcp-name", "region"),
        ("mcp-param-zone", "7"),
        ("authorization", "Bearer a"),
    ] {
        assert_eq!(seen[name], value);
    }
    assert_eq!(seen["mcp-param-name"], "=?base64?WsO8cmljaA==?=");
    // The proxy's own request carries the credentials of the client.
    let (list, asked) = fake.requests("tools/list").pop().unwrap();
    assert_eq!(
        (&list["mcp-method"], &list["authorization"]),
        (&"tools/list".parse().unwrap(), &"Bearer a".parse().unwrap())
    );
    assert!(!list.contains_key("mcp-name") && !list.contains_key("mcp-param-zone"));
    assert_eq!(
        asked["params"]["_meta"],
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    );
}

#[tokio::test]
async fn good_call_passes_unchanged_and_bad_call_does_not_pass() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    let good = call("region", &json!({"zone": 7}));
    let (_, _, body) = post(&url, &[], &good).await;
    assert!(!body.contains("goodcall"), "{body}");
    let (status, _, body) = post(&url, &[], &call("region", &json!({}))).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["result"]["isError"]), (200, &json!(true)));
    assert!(
        body["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("add the missing zone (an integer)")
    );
    assert_eq!(fake.requests("tools/call").len(), 1);
    assert_eq!(fake.requests("tools/call")[0].1, good);
}

#[tokio::test]
async fn public_list_is_requested_once_for_all_clients() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    for bearer in ["Bearer a", "Bearer b", "Bearer a"] {
        let message = call("Region", &json!({"zone": "7"}));
        let (_, _, body) = post(&url, &[("authorization", bearer)], &message).await;
        assert!(body.contains("goodcall/changes"), "{body}");
    }
    assert_eq!(fake.requests("tools/list").len(), 1);
}

#[tokio::test]
async fn events_pass_byte_for_byte_except_the_answer() {
    let (_, url) = start_listener(AnswerStyle::Events).await;
    let (_, headers, body) = post(&url, &[], &call("region", &json!({"zone": "7"}))).await;
    assert_eq!(headers["content-type"], "text/event-stream");
    let head = ": hello\n\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\" }\n\nevent: message\nid: 2\ndata: ";
    assert!(
        body.starts_with(head) && body.contains("goodcall/changes"),
        "{body}"
    );
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": 7}))).await;
    assert!(!body.contains("goodcall"), "{body}");
}

#[tokio::test]
async fn carriage_return_alone_ends_a_line_of_an_event() {
    let (_, url) = start_listener(AnswerStyle::CarriageReturns).await;
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": "7"}))).await;
    assert!(
        body.starts_with("id: 1\ndata: {") && body.contains("goodcall/changes"),
        "{body}"
    );
}

#[tokio::test]
async fn stream_that_ends_early_answers_open_calls_with_errors() {
    let (_, url) = start_listener(AnswerStyle::CutStream).await;
    let (_, _, body) = post(&url, &[], &call("region", &json!({"zone": 7}))).await;
    assert!(
        body.contains("notifications/x") && body.contains("\"id\":7,\"error\""),
        "{body}"
    );
}

#[tokio::test]
async fn unreachable_server_is_an_error_per_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    drop(listener);
    let url = listen_to(&format!("http://{at}/mcp")).await;
    for message in [
        call("region", &json!({})),
        json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}),
    ] {
        let (status, _, body) = post(&url, &[], &message).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, &body["id"], &body["error"]["code"]),
            (502, &json!(7), &json!(-32000))
        );
    }
}

#[tokio::test]
async fn request_from_another_site_is_refused() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    let origin = [("origin", "https://evil.example")];
    let (status, _, _) = post(&url, &origin, &call("region", &json!({"zone": 7}))).await;
    assert_eq!(status, 403);
    assert!(fake.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn batch_is_judged_message_by_message() {
    let (fake, url) = start_listener(AnswerStyle::Json).await;
    let mut bad = call("region", &json!({}));
    bad["id"] = json!(8);
    let (_, _, body) = post(&url, &[], &json!([bad])).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&body[0]["id"], &body[0]["result"]["isError"]),
        (&json!(8), &json!(true))
    );
    assert!(fake.requests("tools/call").is_empty());
}

#[tokio::test]
async fn events_that_are_not_messages_are_not_delivered() {
    let (_, at) = Fake::start(AnswerStyle::Pings).await;
    let mut client = PipeClient::start(&format!("http://{at}/mcp"));
    client.send(&call("region", &json!({"zone": 7}))).await;
    assert_eq!(client.next().await["result"]["got"]["zone"], 7);
}

/// Waits until the fake server has so many calls without an answer.
async fn open_calls(fake: &Fake, wanted: u32) {
    let reached = async {
        while *fake.open.lock().unwrap() != wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, reached).await.unwrap();
}

#[tokio::test]
async fn cancelling_a_request_of_2026_07_28_closes_it() {
    let (fake, at) = Fake::start(AnswerStyle::Hang).await;
    let mut client = PipeClient::start(&format!("http://{at}/mcp"));
    client.send(&call("region", &json!({"zone": 7}))).await;
    open_calls(&fake, 1).await;
    let params = json!({"requestId": 7});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    client.send(&cancelled).await;
    open_calls(&fake, 0).await;
    assert!(fake.requests("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn time_limit_of_a_request_of_2026_07_28_closes_it() {
    let (fake, at) = Fake::start(AnswerStyle::Hang).await;
    let mut options = ProxyOptions::default();
    options.calls.time_limit = Some(Duration::from_secs(1));
    let mut client = PipeClient::start_with(&format!("http://{at}/mcp"), options);
    client.send(&call("region", &json!({"zone": 7}))).await;
    assert_eq!(client.next().await["error"]["code"], -32001);
    open_calls(&fake, 0).await;
    assert_eq!(fake.requests("tools/call").len(), 1);
    assert!(fake.requests("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn redirect_is_followed_on_the_same_server_only() {
    for style in [AnswerStyle::Redirect, AnswerStyle::Elsewhere] {
        let (fake, at) = Fake::start(style).await;
        let url = format!("http://{at}/mcp");
        let mut client = PipeClient::start(&url);
        let listener = listen_to(&url).await;
        let message = call("region", &json!({"zone": 7}));
        client.send(&message).await;
        let piped = client.next().await;
        let (status, headers, body) = post(&listener, &[], &message).await;
        assert!(!headers.contains_key("location"));
        let body: Value = serde_json::from_str(&body).unwrap();
        if style == AnswerStyle::Redirect {
            assert_eq!((status, &body["result"]["got"]["zone"]), (200, &json!(7)));
            assert_eq!(piped["result"]["got"]["zone"], 7);
        } else {
            assert_eq!((status, &body["id"]), (502, &json!(7)));
            for answer in [&body, &piped] {
                let text = answer["error"]["message"].as_str().unwrap();
                assert!(text.contains("--url"), "{text}");
            }
            assert!(fake.seen.lock().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn client_on_pipes_gets_a_new_session_when_the_server_forgets_it() {
    let (fake, at) = Fake::start(AnswerStyle::Events).await;
    let upstream = Upstream::new(&format!("http://{at}/mcp"))
        .unwrap()
        .header("X-Key: k")
        .unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let session = tokio::spawn(async move {
        let log = Arc::new(ProxyLog::new().quiet());
        let pipes = tokio::io::split(far);
        bridge(
            upstream,
            Arc::new(ProxyOptions::default()),
            log,
            pipes,
            std::future::pending(),
        )
        .await
        .unwrap()
    });
    let (from, mut to) = tokio::io::split(near);
    let mut lines = BufReader::new(from).lines();
    let mut answers: HashMap<String, Value> = HashMap::new();
    let initialize = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let (one, mut two) = (
        call("region", &json!({"zone": 1})),
        call("region", &json!({"zone": "2"})),
    );
    two["id"] = json!("two");
    for (index, message) in [initialize, ready, one, two].iter().enumerate() {
        if index == 3 {
            // The server forgets the session.
            *fake.session.lock().unwrap() += 1;
        }
        to.write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
        while message["id"] != Value::Null && !answers.contains_key(&message["id"].to_string()) {
            let line = timeout(PATIENCE, lines.next_line())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            answers.insert(answer["id"].to_string(), answer);
        }
    }
    assert_eq!(answers["7"]["result"]["got"]["zone"], 1);
    assert_eq!(answers["\"two\""]["result"]["got"]["zone"], 2);
    let (headers, _) = fake.requests("tools/call").pop().unwrap();
    assert_eq!(
        (&headers["mcp-session-id"], &headers["x-key"]),
        (&"s1".parse().unwrap(), &"k".parse().unwrap())
    );
    assert_eq!(
        (&headers["mcp-name"], &headers["mcp-param-zone"]),
        (&"region".parse().unwrap(), &"2".parse().unwrap())
    );
    assert_eq!(fake.requests("initialize").len(), 2);
    to.shutdown().await.unwrap();
    timeout(PATIENCE, session).await.unwrap().unwrap();
}
