//! Settings that are read again while the gateway runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod support;

use goodcall_gateway::GatewayConfig;
use support::*;
use tokio::sync::oneshot;

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn how_many_at_a_time_and_what_is_kept() {
    let upstream = Upstream::default();
    let (go, wait) = oneshot::channel();
    upstream.then(vec![
        stream_head(),
        events(&[&chat_text("Hm.")]),
        Act::Wait(wait),
        events(&["[DONE]"]),
    ]);
    upstream.reply("application/json", &chat_reply(r#"{"a": "17"}"#));
    let address = upstream.start().await;
    let running = gateway(address, |config| config.limits.concurrent = 1).await;
    let mut first = Client::send(running.address, "POST", CHAT, "", &chat(true)).await;
    first.until("Hm.").await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 503);
    let mut config = GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.limits.concurrent = 2;
    config.store.arguments = true;
    assert!(running.gateway.reload(config.clone()).unwrap().is_empty());
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200);
    let data = Client::send(running.address, "GET", "/goodcall/calls", "", "").await;
    let data = data.end().await.body;
    assert!(data.contains(r#"{\"a\": \"17\"}"#), "{data}");
    // Fewer than are open: no new ones, and the open one ends well.
    config.limits.concurrent = 1;
    running.gateway.reload(config).unwrap();
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 503);
    go.send(()).unwrap();
    assert!(first.end().await.whole);
}

#[tokio::test]
async fn what_cannot_change_is_named_and_what_is_wrong_changes_nothing() {
    let upstream = Upstream::default();
    upstream.reply("application/json", "{}");
    let address = upstream.start().await;
    let running = gateway(address, |_| {}).await;
    let mut config = GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.listen = "127.0.0.1:1".parse().unwrap();
    config.threads += 1;
    let kept = running.gateway.reload(config.clone()).unwrap();
    assert_eq!(kept, ["listen", "threads"]);
    config.set_upstream("https://127.0.0.1:1").unwrap();
    config.upstream_ca = Some("no/such/file.pem".into());
    assert!(running.gateway.reload(config).is_err());
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200);
}

#[cfg(feature = "store")]
#[tokio::test]
async fn a_store_from_now_on() {
    let folder = std::env::temp_dir().join(format!("goodcall-reload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let upstream = Upstream::default();
    upstream.reply("application/json", &chat_reply(r#"{"a": 1}"#));
    let address = upstream.start().await;
    let running = gateway(address, |_| {}).await;
    let mut config = GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.store.path = Some(folder.join("calls.sqlite"));
    running.gateway.reload(config.clone()).unwrap();
    // The same file is not opened twice.
    running.gateway.reload(config.clone()).unwrap();
    post(running.address, CHAT, &chat(false)).await;
    loop {
        let again = gateway(address, |other| other.store.clone_from(&config.store)).await;
        let data = Client::send(again.address, "GET", "/goodcall/calls", "", "").await;
        if data.end().await.body.contains(r#""verdict":"good""#) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
