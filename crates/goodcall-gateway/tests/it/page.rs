//! The page and its data, in memory and in a store.

#[cfg(feature = "store")]
use goodcall_gateway::StoreTarget;

use crate::support::*;

#[tokio::test]
async fn page_shows_calls_without_values() {
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": "17"}"#));
    let running = gateway(upstream.start().await, |_| {}).await;
    post(running.address, CHAT, &chat(false)).await;
    let page = get(running.address, "/goodcall").await;
    assert!(page.body.starts_with("<!doctype html>"));
    assert!(
        page.header("content-security-policy")
            .unwrap()
            .starts_with("default-src 'none'")
    );
    for outside in ["http://", "https://"] {
        let found = page.body.matches(outside).count();
        let own = page.body.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(
            found,
            if outside == "http://" { own } else { 0 },
            "nothing from elsewhere"
        );
    }
    let foreign = "origin: http://evil.example\r\n";
    let refused = Client::send(running.address, "GET", "/goodcall/requests", foreign, "").await;
    assert_eq!(refused.end().await.status, 403, "a page of another site");
    let data = get(running.address, "/goodcall/requests").await;
    let data: serde_json::Value = serde_json::from_str(&data.body).unwrap();
    let call = &data["requests"][0]["calls"][0];
    assert_eq!(
        (&call["tool"], &call["verdict"]),
        (&"f".into(), &"mended".into())
    );
    assert_eq!(call["notes"][0]["field"], "a");
    assert_eq!(
        (&call["notes"][0]["before"], &call["notes"][0]["after"]),
        (&"string".into(), &"number".into())
    );
    assert!(
        !call["notes"].to_string().contains("17"),
        "no values: {data}"
    );
    assert!(call.get("arguments").is_none(), "no arguments: {data}");
    let next = data["next"].as_u64().unwrap();
    let data = get(running.address, &format!("/goodcall/requests?after={next}")).await;
    assert!(data.body.contains(r#""requests":[]"#), "{}", data.body);
}

#[cfg(feature = "store")]
#[tokio::test]
async fn stored_calls_survive_a_restart() {
    let folder = std::env::temp_dir().join(format!("goodcall-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("calls.sqlite");
    let _ = std::fs::remove_file(&file);
    let upstream = Upstream::default();
    upstream.reply_json(&chat_reply(r#"{"a": "17"}"#));
    let address = upstream.start().await;
    let store = file.clone();
    let keep = move |config: &mut goodcall_gateway::GatewayConfig| {
        config.store.target = Some(StoreTarget::File(store));
        config.store.arguments = true;
    };
    let running = gateway(address, keep.clone()).await;
    post(running.address, CHAT, &chat(false)).await;
    // The store is written by a thread of its own: another gateway sees the call soon.
    let data = loop {
        let again = gateway(address, keep.clone()).await;
        let data = get(again.address, "/goodcall/requests").await.body;
        if !data.contains(r#""requests":[]"#) {
            break data;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let note = &data["requests"][0]["calls"][0]["notes"][0];
    assert_eq!(
        (&note["before"], &note["after"]),
        (&"\"17\"".into(), &"17".into())
    );
    assert_eq!(
        data["requests"][0]["calls"][0]["arguments"],
        r#"{"a": "17"}"#
    );
    #[cfg(unix)]
    for name in ["calls.sqlite", "calls.sqlite-wal", "calls.sqlite-shm"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(folder.join(name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name} is for its owner only");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
