//! The official Rust SDK on both ends, with and without a handshake.

use std::sync::Arc;
use std::time::Duration;

use goodcall_mcp::{ProxyLog, ProxyOptions, Upstream, bridge, listen};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, RequestContext, RoleClient, RoleServer, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// No answer takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Adder;

impl Adder {
    fn tool() -> Tool {
        let schema = json!({"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "integer", "x-mcp-header": "First"}, "b": {"type": "integer"}}});
        let Value::Object(schema) = schema else {
            panic!()
        };
        Tool::new("add", "Adds.", Arc::new(schema))
    }
}

impl ServerHandler for Adder {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == "add").then(Self::tool)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Self::tool()]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let number = |key: &str| arguments.get(key).and_then(Value::as_i64);
        match (request.name.as_ref(), number("a"), number("b")) {
            ("add", Some(a), Some(b)) => {
                let text = ContentBlock::text((a + b).to_string());
                Ok(CallToolResult::success(vec![text]).into())
            }
            _ => Err(ErrorData::invalid_params("expected two integers", None)),
        }
    }
}

async fn listener() -> (TcpListener, String) {
    // For the clients. It fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    (listener, format!("http://{at}/mcp"))
}

async fn server() -> String {
    let (listener, url) = listener().await;
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Adder), sessions, Default::default());
    let app = axum::Router::new().fallback_service(service);
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Direct,
    Proxied,
}

/// Makes good, mended and bad calls.
async fn converse(client: RunningService<RoleClient, ()>, path: Path) {
    let tools = timeout(PATIENCE, client.list_all_tools())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(tools, [Adder::tool()]);
    let call = async |name: &'static str, arguments: Value| {
        let Value::Object(arguments) = arguments else {
            panic!()
        };
        let params = CallToolRequestParams::new(name).with_arguments(arguments);
        timeout(PATIENCE, client.call_tool_once(params))
            .await
            .unwrap()
    };
    let shown = |answer: &CallToolResponse| format!("{answer:?}");
    let good = call("add", json!({"a": 1, "b": 2})).await.unwrap();
    assert!(
        shown(&good).contains("\"3\"") && !shown(&good).contains("goodcall"),
        "{good:?}"
    );
    let mended = call("add", json!({"a": "1", "b": 2})).await;
    let bad = call("add", json!({"a": 1})).await;
    if path == Path::Direct {
        assert!(mended.is_err() && bad.is_err());
        return;
    }
    let (mended, bad) = (mended.unwrap(), bad.unwrap());
    assert!(
        shown(&mended).contains("\"3\"") && shown(&mended).contains("goodcall/changes"),
        "{mended:?}"
    );
    assert!(
        shown(&bad).contains("add the missing b (an integer)")
            && shown(&bad).contains("is_error: Some(true)"),
        "{bad:?}"
    );
    timeout(PATIENCE, client.cancel()).await.unwrap().unwrap();
}

fn modes() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions },
    ]
}

async fn connect(url: &str, mode: ClientLifecycleMode) -> RunningService<RoleClient, ()> {
    let transport = StreamableHttpClientTransport::from_uri(url.to_owned());
    timeout(PATIENCE, ().serve_with_lifecycle(transport, mode))
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn sdk_works_from_url_to_url() {
    let upstream = server().await;
    let (listener, relay) = listener().await;
    let server = Upstream::new(&upstream).unwrap();
    let log = Arc::new(ProxyLog::new().quiet());
    tokio::spawn(listen(
        listener,
        server,
        Arc::new(ProxyOptions::default()),
        log,
    ));
    for mode in modes() {
        converse(connect(&upstream, mode.clone()).await, Path::Direct).await;
        converse(connect(&relay, mode).await, Path::Proxied).await;
    }
}

#[tokio::test]
async fn sdk_works_from_pipes_to_url() {
    let upstream = Upstream::new(&server().await).unwrap();
    for mode in modes() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let upstream = upstream.clone();
        let session = tokio::spawn(async move {
            let log = Arc::new(ProxyLog::new().quiet());
            let pipes = tokio::io::split(far);
            let never = std::future::pending();
            bridge(
                upstream,
                Arc::new(ProxyOptions::default()),
                log,
                pipes,
                never,
            )
            .await
        });
        let client = timeout(PATIENCE, ().serve_with_lifecycle(near, mode))
            .await
            .unwrap()
            .unwrap();
        converse(client, Path::Proxied).await;
        timeout(PATIENCE, session).await.unwrap().unwrap().unwrap();
    }
}
