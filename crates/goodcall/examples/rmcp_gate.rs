//! The gate in front of an MCP server that has tools of its own: a handler around the server's handler
//! checks each call before it reaches the server. The client is in the same process.
//!
//! `cargo run -p goodcall --example rmcp_gate`

use std::collections::BTreeMap;
use std::sync::Arc;

use goodcall::{Explain, Gate, Schema, SchemaError, Style};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde::Deserialize;
use serde_json::{Value, json};

/// A server as one finds it: it reads its arguments with serde.
struct Files;

#[derive(Deserialize)]
struct ReadArgs {
    file_path: String,
    limit: Option<u32>,
}

impl Files {
    fn tools() -> Vec<Tool> {
        let schema = json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            },
            "required": ["file_path"],
        });
        let schema = schema.as_object().cloned().unwrap_or_default();
        vec![Tool::new("read_file", "Reads a file.", Arc::new(schema))]
    }
}

impl ServerHandler for Files {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(Self::tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let args: ReadArgs = serde_json::from_value(arguments)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let text = format!("{} up to {:?}", args.file_path, args.limit);
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// A handler that checks the calls of another one.
struct Gated<S> {
    inner: S,
    schemas: BTreeMap<String, Schema>,
}

impl<S> Gated<S> {
    fn new(inner: S, tools: &[Tool]) -> Result<Self, SchemaError> {
        let compiled = tools.iter().map(|tool| {
            let schema = Schema::compile(&Value::Object((*tool.input_schema).clone()))?;
            Ok((tool.name.to_string(), schema))
        });
        let schemas = compiled.collect::<Result<_, SchemaError>>()?;
        Ok(Self { inner, schemas })
    }
}

impl<S: ServerHandler> ServerHandler for Gated<S> {
    fn get_info(&self) -> ServerConfig {
        self.inner.get_info()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.inner.list_tools(request, context).await
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(schema) = self.schemas.get(&*request.name) {
            let sent = Value::Object(request.arguments.take().unwrap_or_default());
            let verdict = Gate::new(schema).tool(&request.name).check_value(&sent);
            let refused = match verdict.into_result().map(|tree| tree.to_value()) {
                Ok(Ok(value)) => {
                    request.arguments = value.as_object().cloned();
                    None
                }
                Ok(Err(inexact)) => Some(inexact.to_string()),
                Err(refusal) => Some(
                    Explain::new(Style::Model)
                        .tool(&request.name)
                        .text(&refusal),
                ),
            };
            if let Some(text) = refused {
                // A result that helps the model, not a protocol error.
                return Ok(CallToolResult::error(vec![ContentBlock::text(text)]).into());
            }
        }
        self.inner.call_tool(request, context).await
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = tokio::io::duplex(1 << 16);
    let gated = Gated::new(Files, &Files::tools())?;
    let server = tokio::spawn(async move { gated.serve(far).await });
    let client = ().serve(near).await?;
    for arguments in [
        json!({"file_path": "a.txt", "limit": 5}),
        json!({"filePath": "a.txt", "limit": "5"}),
        json!({"file_path": "a.txt", "limit": 3.0}),
        json!({"limit": 99_999_999_999_u64}),
    ] {
        let sent = arguments.as_object().cloned().unwrap_or_default();
        let params = CallToolRequestParams::new("read_file").with_arguments(sent);
        let answer = client.call_tool(params).await?;
        println!("{arguments}\n{}\n", serde_json::to_string(&answer)?);
    }
    client.cancel().await?;
    drop(server);
    Ok(())
}
