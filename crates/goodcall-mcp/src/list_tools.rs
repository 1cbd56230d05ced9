//! Asks a server for its tools, without a client.

use std::time::Duration;

use goodcall_wire::{LintHints, LintedTool};
use serde_json::Value;
use tokio::time::timeout;

use crate::bridge::connect;
use crate::catalogue::{MAX_PAGES, next_cursor};
use crate::engine::Engine;
use crate::frame::{Frame, FrameContent};
use crate::json_rpc;
use crate::json_span::JsonSpan;
use crate::line_io::InputLine;
use crate::options::ProxyOptions;
use crate::process::EndMode;
use crate::server_connection::{McpServer, ServerConnection};

/// How long a server may take for one answer. The first includes its start.
const LIMIT: Duration = Duration::from_secs(30);
/// The protocol version that is offered in the handshake.
const HANDSHAKE_VERSION: &str = "2025-11-25";
/// The `_meta` of a request without a handshake.
const CONTEXT: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"goodcall","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Returns the tools of a server. A command is started for this and ended again.
///
/// # Errors
/// If the server cannot be started or reached, or does not list its tools.
pub async fn list_tools(server: impl Into<McpServer>) -> Result<Vec<LintedTool>, String> {
    let server = server.into();
    let options = ProxyOptions::default();
    let connection = connect(&server, options.max_frame).map_err(|error| error.to_string())?;
    let mut lister = ToolLister {
        connection,
        engine: Engine::new(options.into()),
    };
    let listed = lister.list().await;
    lister.connection.end(EndMode::WhenIdle).await;
    listed.map_err(|error| format!("the server `{}` {error}", server.name()))
}

struct ToolLister {
    connection: ServerConnection,
    engine: Engine,
}

impl ToolLister {
    async fn list(&mut self) -> Result<Vec<LintedTool>, String> {
        let initialize = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{{\
             \"protocolVersion\":\"{HANDSHAKE_VERSION}\",\"capabilities\":{{}},\
             \"clientInfo\":{{\"name\":\"goodcall\",\"version\":\"0\"}}}}}}"
        );
        let answer = self.request("\"init\"", initialize.into_bytes()).await?;
        let message = FrameContent::read(&answer).single();
        // A server of protocol version 2026-07-28 refuses the handshake.
        let context = match message.and_then(|message| message.result()) {
            Some(_) => {
                let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
                self.send(initialized.to_vec());
                None
            }
            None => Some(CONTEXT),
        };
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for page in 0..MAX_PAGES {
            let id = format!("\"list{page}\"");
            let request = json_rpc::list(&id, cursor.as_deref(), context);
            let answer = self.request(&id, request).await?;
            let message = FrameContent::read(&answer).single();
            let Some(result) = message.as_ref().and_then(|message| message.result()) else {
                let error = message.and_then(|message| message.error());
                return Err(format!("does not list its tools: {}", words_of(error)));
            };
            tools.extend(definitions(result));
            cursor = next_cursor(result);
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err("gives a list of tools that does not end".to_owned())
    }

    fn send(&self, frame: Frame) {
        let mirrors = |frame: &[u8]| self.engine.mirrors(frame);
        self.connection.send(frame, mirrors);
    }

    async fn request(&mut self, id: &str, frame: Frame) -> Result<Frame, String> {
        self.send(frame);
        let answer = timeout(LIMIT, self.answer(id)).await;
        answer.unwrap_or_else(|_| Err(format!("did not answer within {LIMIT:?}")))
    }

    async fn answer(&mut self, id: &str) -> Result<Frame, String> {
        loop {
            let frame = match self.connection.next().await {
                InputLine::Frame(frame) => frame,
                InputLine::Oversized { .. } => continue,
                InputLine::End => {
                    let why = "ended before it answered: start it alone to see what it says";
                    return Err(why.to_owned());
                }
            };
            let message = FrameContent::read(&frame).single();
            if message.is_some_and(|message| message.is_answer_to(id)) {
                return Ok(frame);
            }
        }
    }
}

/// The message of an error, or else the whole of it.
fn words_of(error: Option<JsonSpan<'_>>) -> String {
    let Some(error) = error else {
        return "the answer has no result".to_owned();
    };
    let message = error.get("message").and_then(JsonSpan::to_text);
    message.unwrap_or_else(|| String::from_utf8_lossy(error.bytes()).into_owned())
}

fn definitions(result: JsonSpan<'_>) -> Vec<LintedTool> {
    let tools = result.get("tools").and_then(JsonSpan::elements);
    let tools = tools.into_iter().flatten().filter_map(|tool| {
        let tool: Value = serde_json::from_slice(tool.bytes()).ok()?;
        let text = |key: &str| tool.get(key).and_then(Value::as_str).map(str::to_owned);
        let input = tool.get("inputSchema").cloned().unwrap_or_default();
        let mut linted = LintedTool::new(&text("name")?, input);
        linted.description = text("description");
        linted.output = tool.get("outputSchema").cloned();
        linted.hints = Some(LintHints::read(&tool["annotations"]));
        Some(linted)
    });
    tools.collect()
}
