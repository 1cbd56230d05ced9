//! The admin address: who can open the page and the metrics, and readiness.

use tokio::net::TcpListener;

use crate::support::*;

/// Serves the admin paths of a gateway on an address of their own.
async fn admin_of(running: &Running) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = running.gateway.clone();
    tokio::spawn(async move { gateway.serve_admin(listener).await });
    address
}

#[tokio::test]
async fn own_paths_are_only_on_the_admin_address_if_there_is_one() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.admin.address = Some("127.0.0.1:1".parse().unwrap());
    })
    .await;
    let admin = admin_of(&running).await;
    for path in [
        "/goodcall",
        "/goodcall/requests",
        "/metrics",
        "/healthz",
        "/readyz",
    ] {
        assert_eq!(get(admin, path).await.status, 200, "{path}");
        upstream.reply_with(418, "text/plain", "the upstream's");
        let public = get(running.address, path).await;
        assert_eq!(public.body, "the upstream's", "{path}");
    }
    let other = get(admin, "/v1/models").await;
    assert_eq!((other.status, upstream.requests().len()), (404, 5));
}

#[tokio::test]
async fn page_and_metrics_need_the_token() {
    let upstream = Upstream::default();
    let running = gateway(upstream.start().await, |config| {
        config.admin.token = Some("secret".to_owned());
    })
    .await;
    let ask = async |path: &str, headers: &str| {
        let client = Client::send(running.address, "GET", path, headers, "").await;
        client.end().await
    };
    for path in ["/goodcall", "/goodcall/requests", "/metrics"] {
        let refused = ask(path, "").await;
        assert_eq!(refused.status, 401, "{path}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Basic "), "{challenge}");
        for (headers, status) in [
            ("authorization: Bearer secret\r\n", 200),
            ("authorization: Basic YW55OnNlY3JldA==\r\n", 200),
            ("authorization: Bearer secre\r\n", 401),
            ("authorization: Basic c2VjcmV0\r\n", 401),
            ("authorization: Basic !\r\n", 401),
            ("authorization: secret\r\n", 401),
        ] {
            assert_eq!(ask(path, headers).await.status, status, "{path} {headers}");
        }
    }
    assert_eq!(ask("/healthz", "").await.status, 200);
    assert_eq!(ask("/readyz", "").await.status, 200);
}

#[tokio::test]
async fn readiness_tells_of_an_upstream_that_is_away_and_of_the_end() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let away = closed.local_addr().unwrap();
    drop(closed);
    let running = gateway(away, |_| {}).await;
    let got = get(running.address, "/readyz").await;
    assert_eq!(got.status, 503);
    let text = format!("upstream_unreachable: {away}: ");
    assert!(got.body.starts_with(&text), "{}", got.body);
    assert_eq!(get(running.address, "/healthz").await.body, "ok\n");
    let head = Client::send(running.address, "HEAD", "/readyz", "", "").await;
    assert_eq!(head.end().await.status, 503);

    let upstream = Upstream::default();
    let open = upstream.paused_stream(&["[DONE]"]);
    let running = gateway(upstream.start().await, |_| {}).await;
    let admin = admin_of(&running).await;
    assert_eq!(get(admin, "/readyz").await.body, "ready\n");
    let client = open_stream(running.address).await;
    running.stop.send(()).unwrap();
    let told = loop {
        let told = get(admin, "/readyz").await;
        if told.status != 200 {
            break told;
        }
    };
    assert_eq!((told.status, told.body.as_str()), (503, "stopping\n"));
    open.send(()).unwrap();
    assert!(client.end().await.whole);
    running.served.await.unwrap();
}
