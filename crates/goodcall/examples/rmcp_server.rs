//! An MCP server of the official Rust SDK that checks its calls itself: a toolbox in `call_tool`. The
//! client is in the same process.
//!
//! `cargo run -p goodcall --example rmcp_server`

use std::sync::Arc;

use goodcall::Toolbox;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};

/// Adds two numbers.
#[goodcall::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A server whose tools are those of a toolbox.
struct Server(Toolbox);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.list().map(|tool| {
            let schema = tool.parameters.and_then(Value::as_object).cloned();
            let description = tool.description.to_owned();
            Tool::new(
                tool.name.to_owned(),
                description,
                Arc::new(schema.unwrap_or_default()),
            )
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default()).to_string();
        // An unknown tool and wrong arguments are results that help the model, not protocol errors.
        let result = self.0.invoke(&request.name, &arguments).await;
        let content = vec![ContentBlock::text(result.text())];
        if result.is_ok() {
            Ok(CallToolResult::success(content).into())
        } else {
            Ok(CallToolResult::error(content).into())
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(Add)?;
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move { Server(toolbox).serve(far).await });
    let client = ().serve(near).await?;
    for (name, arguments) in [
        ("add", json!({"a": 1, "b": 2})),
        ("add", json!({"a": "1", "b": 2.0})),
        ("add", json!({"a": 1})),
        ("ad", json!({"a": 1, "b": 2})),
    ] {
        let sent = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new(name).with_arguments(sent);
        let answer = client.call_tool(params).await?;
        println!("{name} {arguments}\n{}\n", serde_json::to_string(&answer)?);
    }
    client.cancel().await?;
    drop(server);
    Ok(())
}
