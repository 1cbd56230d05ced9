//! The dashboard and the alerts under `deploy/` name metrics that exist.

use std::collections::BTreeSet;

use crate::support::*;

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let is_name = |byte: char| byte.is_ascii_alphanumeric() || byte == '_';
    let words = text.split(|byte: char| !is_name(byte));
    words.filter(|word| word.starts_with("goodcall_")).collect()
}

/// The metrics of a gateway that has seen a cured call, a failed re-ask, and an error.
async fn metrics() -> String {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |_| {}).await;
    upstream.stream(&[&chat_call("{}"), CHAT_END, "[DONE]"]);
    upstream.stream(&[&chat_call(r#"{"a": "1"}"#), CHAT_END, "[DONE]"]);
    assert!(post(running.address, CHAT, &chat(true)).await.whole);
    upstream.reply_json(&chat_reply("{}"));
    upstream.reply_with(429, "application/json", "{}");
    post(running.address, CHAT, &chat(false)).await;
    upstream.then(vec![Act::Reset]);
    post(running.address, CHAT, &chat(false)).await;
    let text = wait_for_metric(running.address, "goodcall_errors_total{").await;
    let observing = gateway(upstream.start().await, |config| config.observe = true).await;
    upstream.reply_json(&chat_reply("{}"));
    post(observing.address, CHAT, &chat(false)).await;
    text + &wait_for_metric(observing.address, "goodcall_observed_total{").await
}

#[tokio::test]
async fn dashboard_and_alerts_name_metrics_that_exist() {
    let text = metrics().await;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let samples: String = samples.map(|line| format!("{line}\n")).collect();
    let known = named(&samples);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    for file in ["grafana/gateway.json", "prometheus/alerts.yaml"] {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let wanted = named(&text);
        assert!(wanted.len() >= 5, "{file} names {wanted:?}");
        let missing: Vec<_> = wanted.difference(&known).collect();
        assert!(
            missing.is_empty(),
            "{file} names {missing:?}, there are {known:?}"
        );
    }
    let dashboard = std::fs::read_to_string(format!("{folder}/grafana/gateway.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(
        panels
            .iter()
            .all(|panel| !panel["targets"][0]["expr"].is_null())
    );
}
