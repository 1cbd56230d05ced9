//! Whom a listener serves.

use goodcall_mcp::{ProxyOptions, Upstream};
use reqwest::header::HeaderMap;
use serde_json::json;

use crate::fake_url::{AnswerStyle, Fake, PATIENCE, call, listen_with, post};

/// The status and headers of the response to a request without a body.
async fn request(method: &str, url: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap) {
    let client = reqwest::Client::new();
    let mut request = client.request(method.parse().unwrap(), url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.timeout(PATIENCE).send().await.unwrap();
    (response.status().as_u16(), response.headers().clone())
}

#[tokio::test]
async fn operators_header_reaches_the_endpoint_only() {
    let (fake, at) = Fake::start(AnswerStyle::Json).await;
    let upstream = Upstream::new(&format!("http://user:pass@{at}/mcp")).unwrap();
    let upstream = upstream.header("Authorization: Bearer s3cr3t").unwrap();
    let url = listen_with(upstream, ProxyOptions::default()).await;
    let root = url.trim_end_matches("/mcp");
    for path in ["/admin/delete?all=1", "/", "/mcp/../admin", "/mcpx"] {
        let (status, _) = request("GET", &format!("{root}{path}"), &[]).await;
        assert_eq!(status, 404, "{path}");
        let (status, _) = request("POST", &format!("{root}{path}"), &[]).await;
        assert_eq!(status, 404, "{path}");
    }
    // A picture in a page asks for the endpoint, too, but not for events.
    assert_eq!(request("GET", &url, &[]).await.0, 406);
    let cross = [
        ("accept", "text/event-stream"),
        ("sec-fetch-site", "cross-site"),
    ];
    assert_eq!(request("GET", &url, &cross).await.0, 403);
    assert!(fake.visited.lock().unwrap().is_empty());

    let metadata = format!("{root}/.well-known/oauth-protected-resource/mcp");
    request("GET", &metadata, &[]).await;
    let (path, headers) = fake.visited.lock().unwrap().pop().unwrap();
    assert_eq!(path, "/.well-known/oauth-protected-resource/mcp");
    assert!(!headers.contains_key("authorization"), "{headers:?}");
    request("GET", &url, &[("accept", "text/event-stream")]).await;
    let (_, headers) = fake.visited.lock().unwrap().pop().unwrap();
    assert_eq!(headers["authorization"], "Bearer s3cr3t");
}

#[tokio::test]
async fn listener_with_a_token_serves_nobody_without_it() {
    let (fake, at) = Fake::start(AnswerStyle::Json).await;
    let upstream = Upstream::new(&format!("http://{at}/mcp")).unwrap();
    let mut options = ProxyOptions::default();
    options.listen.token = Some("t0ken".to_owned());
    let url = listen_with(upstream, options).await;
    let message = call("region", &json!({"zone": 7}));
    for wrong in ["Bearer t0kem", "Bearer t0ken2", "Basic t0ken", "t0ken"] {
        let (status, headers, _) = post(&url, &[("authorization", wrong)], &message).await;
        assert_eq!(
            (status, &headers["www-authenticate"]),
            (401, &"Bearer".parse().unwrap())
        );
    }
    assert_eq!(post(&url, &[], &message).await.0, 401);
    assert!(fake.seen.lock().unwrap().is_empty());
    let (status, _, _) = post(&url, &[("authorization", "bearer t0ken")], &message).await;
    assert_eq!(status, 200);
    // The token is not sent to the server.
    let (seen, _) = fake.requests("tools/call").pop().unwrap();
    assert!(!seen.contains_key("authorization"));
}

#[tokio::test]
async fn pages_and_names_are_served_if_the_operator_allows_them() {
    let (_, at) = Fake::start(AnswerStyle::Json).await;
    let upstream = Upstream::new(&format!("http://{at}/mcp")).unwrap();
    let mut options = ProxyOptions::default();
    options.listen.hosts = vec!["box.example".to_owned()];
    options.listen.origins = vec!["https://app.example".to_owned()];
    let url = listen_with(upstream, options).await;
    let message = call("region", &json!({"zone": 7}));
    let page = [
        ("origin", "https://app.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    let (status, headers, _) = post(&url, &page, &message).await;
    assert_eq!(status, 200);
    assert_eq!(
        headers["access-control-allow-origin"],
        "https://app.example"
    );
    let asks = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "content-type, mcp-session-id",
        ),
    ];
    let (status, headers) = request("OPTIONS", &url, &asks).await;
    assert_eq!(status, 204);
    assert_eq!(
        headers["access-control-allow-headers"],
        "content-type, mcp-session-id"
    );
    let other = [("origin", "https://app.example.evil")];
    assert_eq!(post(&url, &other, &message).await.0, 403);
    assert_eq!(request("OPTIONS", &url, &other).await.0, 403);
    for (host, status) in [
        ("box.example:80", 200),
        ("BOX.example", 200),
        ("evil.example", 403),
    ] {
        assert_eq!(
            post(&url, &[("host", host)], &message).await.0,
            status,
            "{host}"
        );
    }
}
