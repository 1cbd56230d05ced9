//! Metrics by route, model, tool, client and outcome.

use goodcall_gateway::RouteConfig;
use serde_json::{Value, json};

use crate::support::*;

/// A request that offers two tools, `f` and `g`.
fn two_tools() -> String {
    let mut request: Value = serde_json::from_str(&chat(false)).unwrap();
    let mut second = request["tools"][0].clone();
    second["function"]["name"] = "g".into();
    request["tools"].as_array_mut().unwrap().push(second);
    request.to_string()
}

/// A reply with calls, each as a tool and its arguments.
fn calls(calls: &[(&str, &str)]) -> String {
    let calls = calls.iter().enumerate().map(|(index, (tool, arguments))| {
        json!({"id": format!("c{index}"), "type": "function",
            "function": {"name": tool, "arguments": arguments}})
    });
    let calls: Vec<_> = calls.collect();
    json!({"id": "r", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": calls}}]})
    .to_string()
}

/// The counted tools of a gateway that sees these replies to one request.
async fn tool_outcomes(replies: &[Option<&[(&str, &str)]>]) -> Vec<String> {
    let upstream = Upstream::default();
    for reply in replies {
        match reply {
            Some([]) => upstream.reply_json(
                r#"{"id":"r","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Sorry."}}]}"#,
            ),
            Some(some) => upstream.reply_json(&calls(some)),
            None => upstream.reply_with(429, "application/json", "{}"),
        }
    }
    let running = gateway(upstream.start().await, |_| {}).await;
    post(running.address, CHAT, &two_tools()).await;
    assert_eq!(upstream.requests().len(), replies.len());
    let metrics = get(running.address, "/metrics").await.body;
    let lines = metrics.lines();
    let lines = lines.filter_map(|line| line.strip_prefix("goodcall_tool_outcomes_total{"));
    let mut lines: Vec<_> = lines
        .map(|line| line.replace(",model=\"m\"}", ""))
        .collect();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn each_tool_is_counted_by_what_became_of_its_calls() {
    let (good, mended, bad) = (r#"{"a": 1}"#, r#"{"a": "1"}"#, "{}");
    let both = tool_outcomes(&[Some(&[("f", good), ("g", mended)])]).await;
    assert_eq!(
        both,
        [
            r#"tool="f",outcome="good" 1"#,
            r#"tool="g",outcome="mended" 1"#
        ]
    );
    // Only the tool whose call was bad is cured.
    let first: &[_] = &[("f", good), ("g", bad)];
    let cured = tool_outcomes(&[Some(first), Some(&[("f", good), ("g", good)])]).await;
    assert_eq!(
        cured,
        [
            r#"tool="f",outcome="good" 1"#,
            r#"tool="g",outcome="cured" 1"#
        ]
    );
    let other = tool_outcomes(&[Some(&[("f", bad)]), Some(&[("g", good)])]).await;
    assert_eq!(
        other,
        [
            r#"tool="f",outcome="cured" 1"#,
            r#"tool="g",outcome="good" 1"#
        ]
    );
    let text = tool_outcomes(&[Some(&[("f", bad)]), Some(&[])]).await;
    assert_eq!(text, [r#"tool="f",outcome="cured" 1"#]);
    let failed = tool_outcomes(&[Some(first), None]).await;
    assert_eq!(
        failed,
        [
            r#"tool="f",outcome="good" 1"#,
            r#"tool="g",outcome="bad" 1"#
        ]
    );
    let still = tool_outcomes(&[Some(&[("f", bad)]), Some(&[("f", bad)]), Some(first)]).await;
    assert_eq!(
        still,
        [
            r#"tool="f",outcome="cured" 1"#,
            r#"tool="g",outcome="bad" 1"#
        ]
    );
}

#[tokio::test]
async fn all_that_a_request_causes_is_counted_by_its_route() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_with(429, "application/json", "{}");
    upstream.then(vec![Act::Reset]);
    let at = upstream.start().await;
    let to = format!("http://{at}");
    let running = gateway(at, |config| {
        let own = goodcall_gateway::GatewayConfig::new(&to).unwrap();
        let mut observed = own.clone();
        observed.observe = true;
        config.upstream.routes = vec![
            RouteConfig::new("one", "/one", own),
            RouteConfig::new("seen", "/seen", observed),
        ];
    })
    .await;
    for _ in 0..3 {
        post(running.address, &format!("/one{CHAT}"), &chat(false)).await;
    }
    upstream.reply_json(&chat_reply(r#"{"a": "1"}"#));
    post(running.address, &format!("/seen{CHAT}"), &chat(false)).await;
    // Each is counted when it is known, some of them after the client has its reply.
    for line in [
        r#"goodcall_observed_total{would="mend",model="m",route="seen"} 1"#,
        r#"goodcall_requests_total{protocol="openai",status="200",model="m",route="one"} 2"#,
        r#"goodcall_calls_total{tool="f",verdict="bad",model="m",route="one"} 2"#,
        r#"goodcall_calls_total{tool="f",verdict="mended",model="m",route="seen"} 1"#,
        r#"goodcall_outcomes_total{outcome="cured",model="m",route="one"} 1"#,
        r#"goodcall_tool_outcomes_total{tool="f",outcome="cured",model="m",route="one"} 1"#,
        r#"goodcall_tool_outcomes_total{tool="f",outcome="bad",model="m",route="one"} 1"#,
        r#"goodcall_mends_total{tool="f",rule="string-to-number",route="one"} 1"#,
        r#"goodcall_refusals_total{tool="f",reason="wrong_shape",route="one"} 2"#,
        r#"goodcall_reasks_total{model="m",route="one"} 2"#,
        r#"goodcall_reask_failures_total{code="status_429",model="m",route="one"} 1"#,
        r#"goodcall_errors_total{code="upstream_broken",route="one"} 1"#,
        r#"goodcall_tokens_total{kind="input",model="m",route="one"} 15"#,
        r#"goodcall_first_byte_seconds_count{model="m",route="one"} 2"#,
        r#"goodcall_upstream_seconds_count{model="m",route="seen"} 1"#,
    ] {
        wait_for_metric(running.address, line).await;
    }
    let metrics = get(running.address, "/metrics").await.body;
    // What was only observed has no outcome.
    let observed = r#"outcome="mended",model="m",route="seen""#;
    assert!(!metrics.contains(observed), "{metrics}");
}

#[tokio::test]
async fn repairs_around_calls_are_told_and_counted() {
    let upstream = Upstream::default();
    let reply = chat_reply(r#"{"a": 1}"#);
    upstream.reply_json(&reply.replace(r#""id":"c1","type""#, r#""type""#).replace(
        r#""finish_reason":"tool_calls""#,
        r#""finish_reason":"stop""#,
    ));
    let running = gateway(upstream.start().await, |_| {}).await;
    let got = post(running.address, CHAT, &chat(false)).await;
    let verdict = "good=1 mended=0 bad=0 reasked=0 repaired=2";
    assert_eq!(
        got.header("goodcall-verdict"),
        Some(verdict),
        "{}",
        got.body
    );
    let metrics = get(running.address, "/metrics").await.body;
    for repair in ["call_id", "finish_reason"] {
        let line = format!("goodcall_repairs_total{{repair=\"{repair}\"}} 1\n");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}
