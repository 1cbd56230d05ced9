//! Limits on re-asks: when they forbid one, the client gets the reply that there is.

use std::net::SocketAddr;
use std::time::Duration;

use goodcall_core::Reason;
use goodcall_gateway::{GatewayConfig, ReaskLimits, RouteConfig};

use crate::support::*;

/// Sends a request whose first reply is bad, and whose second would be good. Returns how many
/// requests the upstream got, and the metrics.
async fn ask(change: impl FnOnce(&mut ReaskLimits), stream: bool) -> (usize, String) {
    let upstream = Upstream::default();
    if stream {
        upstream.stream(&[&chat_call("{}"), CHAT_END, "[DONE]"]);
        upstream.stream(&[&chat_call(r#"{"a": 1}"#), CHAT_END, "[DONE]"]);
    } else {
        upstream.reply_json(&chat_reply("{}"));
        upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    }
    let change = |config: &mut GatewayConfig| change(&mut config.reasks);
    let running = gateway(upstream.start().await, change).await;
    let got = post(running.address, CHAT, &chat(stream)).await;
    assert_eq!((got.status, got.whole), (200, true));
    let line = "goodcall_outcomes_total{";
    let metrics = wait_for_metric(running.address, line).await;
    (upstream.requests().len(), metrics)
}

/// A budget that one route has spent, and a breaker that it has opened, hold for that route alone.
#[tokio::test]
async fn limits_hold_for_each_route_by_itself() {
    let (first, second) = (Upstream::default(), Upstream::default());
    let (first_at, second_at) = (first.start().await, second.start().await);
    let to = |address: SocketAddr| GatewayConfig::new(&format!("http://{address}")).unwrap();
    let running = gateway(first_at, |config| {
        let (mut few, mut fragile) = (to(first_at), to(first_at));
        few.reasks.per_minute = Some(1);
        fragile.reasks.breaker = Some(1);
        config.upstream.routes = vec![
            RouteConfig::new("few", "/few", few),
            RouteConfig::new("fragile", "/fragile", fragile),
            RouteConfig::new("second", "/second", to(second_at)),
        ];
    })
    .await;
    let asked = |upstream: Upstream, route: &'static str, fails: bool| async move {
        let before = upstream.requests().len();
        upstream.reply_json(&chat_reply("{}"));
        if fails {
            upstream.reply_with(429, "application/json", "{}");
        } else {
            upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
        }
        post(running.address, &format!("/{route}{CHAT}"), &chat(false)).await;
        upstream.drop_scripts();
        upstream.requests().len() - before
    };
    assert_eq!(asked(first.clone(), "few", false).await, 2);
    assert_eq!(
        asked(first.clone(), "few", false).await,
        1,
        "its minute is spent"
    );
    assert_eq!(
        asked(first.clone(), "fragile", true).await,
        2,
        "others have theirs"
    );
    assert_eq!(
        asked(first.clone(), "fragile", false).await,
        1,
        "its breaker is open"
    );
    assert_eq!(asked(second.clone(), "second", false).await, 2);
    assert_eq!(asked(second, "second", false).await, 2);
    let metrics = get(running.address, "/metrics").await.body;
    for (limit, route) in [("per_minute", "few"), ("breaker", "fragile")] {
        let line = format!(
            "goodcall_reask_failures_total{{code=\"limit_{limit}\",model=\"m\",route=\"{route}\"}} 1\n"
        );
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn reload_does_not_renew_the_budget() {
    let upstream = Upstream::default();
    let at = upstream.start().await;
    let running = gateway(at, |config| config.reasks.per_minute = Some(1)).await;
    for asked in [2, 3] {
        upstream.reply_json(&chat_reply("{}"));
        upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
        post(running.address, CHAT, &chat(false)).await;
        assert_eq!(upstream.requests().len(), asked);
        let mut config = GatewayConfig::new(&format!("http://{at}")).unwrap();
        config.reasks.per_minute = Some(1);
        running.gateway.reload(config).unwrap();
    }
}

/// Sets one limit.
type Change = fn(&mut ReaskLimits);

#[tokio::test]
async fn limits_forbid_reasks_and_are_named() {
    for stream in [false, true] {
        let (requests, _) = ask(|_| {}, stream).await;
        assert_eq!(requests, 2, "without limits");
        let (requests, _) = ask(|limits| limits.per_minute = Some(1), stream).await;
        assert_eq!(requests, 2, "one is allowed");
        let forbid: [(&str, Change); 3] = [
            ("per_minute", |limits| limits.per_minute = Some(0)),
            ("deadline", |limits| limits.deadline = Some(Duration::ZERO)),
            ("reason", |limits| limits.not_for = vec![Reason::WrongShape]),
        ];
        for (name, change) in forbid {
            let (requests, metrics) = ask(change, stream).await;
            assert_eq!(requests, 1, "{name}");
            let failure =
                format!("goodcall_reask_failures_total{{code=\"limit_{name}\",model=\"m\"}} 1\n");
            assert!(metrics.contains(&failure), "{name}: {metrics}");
            assert!(!metrics.contains("goodcall_reasks_total{"), "{metrics}");
            let outcome = "goodcall_outcomes_total{outcome=\"bad\",model=\"m\"} 1\n";
            assert!(metrics.contains(outcome), "{metrics}");
        }
    }
}

#[tokio::test]
async fn percentage_counts_from_the_eleventh_reask() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.reasks.percent = Some(10);
        config.relay.reasks = 1;
    })
    .await;
    for request in 0..12 {
        upstream.reply_json(&chat_reply("{}"));
        if request < 10 {
            upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
        }
        post(running.address, CHAT, &chat(false)).await;
    }
    let metrics = get(running.address, "/metrics").await.body;
    assert!(
        metrics.contains("goodcall_reasks_total{model=\"m\"} 10\n"),
        "{metrics}"
    );
    let line = "goodcall_reask_failures_total{code=\"limit_percent\",model=\"m\"} 2\n";
    assert!(metrics.contains(line), "{metrics}");
}

#[tokio::test]
async fn breaker_opens_after_failures_in_a_row_and_closes_again() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.reasks.breaker = Some(2);
        config.reasks.breaker_time = Duration::from_secs(3600);
    })
    .await;
    for _ in 0..2 {
        upstream.reply_json(&chat_reply("{}"));
        upstream.reply_with(429, "application/json", "{}");
        post(running.address, CHAT, &chat(false)).await;
    }
    upstream.reply_json(&chat_reply("{}"));
    post(running.address, CHAT, &chat(false)).await;
    assert_eq!(upstream.requests().len(), 5, "no third re-ask");
    let metrics = get(running.address, "/metrics").await.body;
    let line = "goodcall_reask_failures_total{code=\"limit_breaker\",model=\"m\"} 1\n";
    assert!(metrics.contains(line), "{metrics}");

    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.reasks.breaker = Some(1);
        config.reasks.breaker_time = Duration::ZERO;
    })
    .await;
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_with(429, "application/json", "{}");
    post(running.address, CHAT, &chat(false)).await;
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    post(running.address, CHAT, &chat(false)).await;
    assert_eq!(upstream.requests().len(), 4, "the pause is over");
}
