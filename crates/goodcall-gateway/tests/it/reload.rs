//! New settings while the gateway runs.

use crate::support::*;
use goodcall_gateway::GatewayConfig;
#[cfg(feature = "store")]
use goodcall_gateway::StoreTarget;

#[tokio::test]
async fn limits_and_shown_arguments_can_be_reloaded() {
    let upstream = Upstream::default();
    let go = upstream.paused_stream(&["[DONE]"]);
    upstream.reply_json(&chat_reply(r#"{"a": "17"}"#));
    let address = upstream.start().await;
    let running = gateway(address, |config| config.limits.concurrent = 1).await;
    let first = open_stream(running.address).await;
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 503);
    let mut config = GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.limits.concurrent = 2;
    config.store.arguments = true;
    assert!(running.gateway.reload(config.clone()).unwrap().is_empty());
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200);
    let data = Client::send(running.address, "GET", "/goodcall/requests", "", "").await;
    let data = data.end().await.body;
    assert!(data.contains(r#"{\"a\": \"17\"}"#), "{data}");
    // Fewer than are open: no new request is taken, and the open one ends as it should.
    config.limits.concurrent = 1;
    running.gateway.reload(config).unwrap();
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 503);
    go.send(()).unwrap();
    assert!(first.end().await.whole);
}

#[tokio::test]
async fn reload_names_fixed_settings_and_ignores_broken_ones() {
    let upstream = Upstream::default();
    upstream.reply_json("{}");
    let address = upstream.start().await;
    let running = gateway(address, |_| {}).await;
    let mut config = GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.listener.address = "127.0.0.1:1".parse().unwrap();
    config.listener.threads += 1;
    let kept = running.gateway.reload(config.clone()).unwrap();
    assert_eq!(kept, ["listen", "threads"]);
    config.set_upstream("https://127.0.0.1:1").unwrap();
    config.upstream.ca = Some("no/such/file.pem".into());
    assert!(running.gateway.reload(config).is_err());
    let reply = post(running.address, CHAT, &chat(false)).await;
    assert_eq!(reply.status, 200);
}

#[cfg(feature = "store")]
#[tokio::test]
async fn store_can_be_added_by_a_reload() {
    let folder = std::env::temp_dir().join(format!("goodcall-reload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": 1}"#));
    let address = upstream.start().await;
    let running = gateway(address, |_| {}).await;
    let mut config = GatewayConfig::new(&format!("http://{address}")).unwrap();
    config.store.target = Some(StoreTarget::File(folder.join("calls.sqlite")));
    running.gateway.reload(config.clone()).unwrap();
    // The same file is not opened twice.
    running.gateway.reload(config.clone()).unwrap();
    post(running.address, CHAT, &chat(false)).await;
    loop {
        let again = gateway(address, |other| other.store.clone_from(&config.store)).await;
        let data = Client::send(again.address, "GET", "/goodcall/requests", "", "").await;
        if data.end().await.body.contains(r#""verdict":"good""#) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
