//! Errors in which an upstream quotes a call that it could not read itself.

use crate::support::*;

fn groq(generation: &str) -> String {
    let error = serde_json::json!({"message": "Failed to call a function.",
        "code": "tool_use_failed", "failed_generation": generation});
    serde_json::json!({ "error": error }).to_string()
}

#[tokio::test]
async fn quoted_call_becomes_a_reply() {
    let upstream = Upstream::default();
    let error = groq("<function=f>{\"a\": \"1\"}</function>");
    upstream.reply_with(400, "application/json", &error);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.body.contains(r#"{\"a\":1}"#), "{}", reply.body);
    assert_eq!(
        reply.header("goodcall-verdict"),
        Some("good=0 mended=1 bad=0 reasked=0 repaired=1")
    );
    let metrics = get(running.address, "/metrics").await.body;
    assert!(
        metrics.contains(r#"goodcall_repairs_total{repair="failed_generation"} 1"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn quoted_call_becomes_a_stream() {
    let upstream = Upstream::default();
    let error = groq("<function=f>{\"a\": 1}</function>");
    upstream.reply_with(500, "application/json", &error);
    let running = gateway(upstream.start().await, |_| {}).await;
    let reply = post(running.address, CHAT, &chat(true)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert!(
        reply.whole && reply.body.ends_with("data: [DONE]\n\n"),
        "{reply:?}"
    );
    assert!(reply.body.contains(r#"{\"a\": 1}"#), "{}", reply.body);
}

#[tokio::test]
async fn unreadable_call_is_reasked_in_both_forms() {
    for stream in [false, true] {
        let upstream = Upstream::default();
        upstream.reply_with(400, "application/json", &groq("f, please"));
        upstream.reply_with(400, "application/json", &groq("f, really"));
        let call = chat_call(r#"{"a": 2}"#);
        if stream {
            upstream.stream(&[&call, CHAT_END, "[DONE]"]);
        } else {
            upstream.reply_json(&chat_reply(r#"{"a": 2}"#));
        }
        let running = gateway(upstream.start().await, |_| {}).await;
        let reply = post(running.address, CHAT, &chat(stream)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(reply.body.contains(r#"{\"a\": 2}"#), "{}", reply.body);
        let requests = upstream.requests();
        assert!(requests[2].contains(r#"{"role":"assistant","content":"f, really"}"#));
        assert!(requests[2].contains("No tool was run"), "{}", requests[2]);
    }
}

#[tokio::test]
async fn error_passes_as_it_came_where_nothing_helps() {
    for (error, reasks) in [
        (groq("f, please"), 0),
        (groq("f, please"), 1),
        (r#"{"error":{"message":"bad schema"}}"#.to_owned(), 2),
    ] {
        for stream in [false, true] {
            let upstream = Upstream::default();
            upstream.reply_with(400, "application/json", &error);
            upstream.reply_with(429, "application/json", "{}");
            let running = gateway(upstream.start().await, |config| {
                config.relay.reasks = reasks;
            })
            .await;
            let reply = post(running.address, CHAT, &chat(stream)).await;
            let asked = reasks == 1;
            assert_eq!((reply.status, &reply.body), (400, &error));
            assert_eq!(reply.header("content-type"), Some("application/json"));
            assert_eq!(upstream.requests().len(), if asked { 2 } else { 1 });
        }
    }
}
