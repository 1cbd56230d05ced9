//! The tools of a server, asked for once.

use std::ops::Range;
use std::time::Duration;

use goodcall_wire::LintedTool;
use serde_json::Value;
use tokio::time::timeout;

use crate::catalogue::MOST_PAGES;
use crate::engine::{Engine, canonical};
use crate::frame::{self, Frame, Kind, Outline};
use crate::http::Upstream;
use crate::json_rpc;
use crate::line_io::InputLine;
use crate::options::ProxyOptions;
use crate::process::ServerCommand;
use crate::server_connection::{McpServer, ServerConnection};

/// How long a server may take for one answer; the first includes its start.
const LIMIT: Duration = Duration::from_secs(60);
/// The revision that is asked for with a handshake.
const HANDSHAKE: &str = "2025-11-25";
/// What a request of the newest revision says of its client.
const CONTEXT: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"goodcall","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The tools of a server that is started for this.
///
/// # Errors
/// If it cannot be started, or does not tell its tools.
pub async fn tools_of_command(command: &ServerCommand) -> Result<Vec<LintedTool>, String> {
    tools(&McpServer::Command(command.clone())).await
}

/// The tools of a server behind a URL.
///
/// # Errors
/// If it cannot be reached, or does not tell its tools.
pub async fn tools_of_url(upstream: &Upstream) -> Result<Vec<LintedTool>, String> {
    tools(&McpServer::Url(upstream.clone())).await
}

async fn tools(place: &McpServer) -> Result<Vec<LintedTool>, String> {
    let options = ProxyOptions::default();
    let started = place.start(options.max_frame);
    let back = started
        .map_err(|error| format!("the server `{}` cannot be started: {error}", place.name()))?;
    let mut asker = ToolLister {
        back,
        engine: Engine::new(options.into()),
    };
    let listed = asker.list().await;
    asker.back.end(false).await;
    listed.map_err(|error| format!("the server `{}` {error}", place.name()))
}

struct ToolLister {
    back: ServerConnection,
    engine: Engine,
}

impl ToolLister {
    async fn list(&mut self) -> Result<Vec<LintedTool>, String> {
        let initialize = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{{\
             \"protocolVersion\":\"{HANDSHAKE}\",\"capabilities\":{{}},\
             \"clientInfo\":{{\"name\":\"goodcall\",\"version\":\"0\"}}}}}}"
        );
        let (_, opened) = self.ask("\"init\"", initialize.into_bytes()).await?;
        // Without a handshake it is a server of the newest revision.
        let context = opened.result.is_none().then_some(CONTEXT);
        if opened.result.is_some() {
            let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            self.back.send(initialized.to_vec(), &self.engine);
        }
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        for page in 0..MOST_PAGES {
            let id = format!("\"list{page}\"");
            let frame = json_rpc::list(&id, cursor.as_deref(), context);
            let (frame, outline) = self.ask(&id, frame).await?;
            let Some(result) = outline.result else {
                let error = outline
                    .error
                    .and_then(|span| frame::raw(&frame, &span).map(str::to_owned));
                return Err(format!(
                    "does not list its tools: {}",
                    error.unwrap_or_default()
                ));
            };
            all.extend(definitions(&frame, &result));
            let next = frame::member(&frame, &result, "nextCursor");
            cursor = next.and_then(|span| frame::text(&frame, &span).map(|text| text.into_owned()));
            if cursor.is_none() {
                return Ok(all);
            }
        }
        Err("gives a list of tools that does not end".to_owned())
    }

    async fn ask(&mut self, id: &str, frame: Frame) -> Result<(Frame, Outline), String> {
        self.back.send(frame, &self.engine);
        let answer = async {
            loop {
                let frame = match self.back.next().await {
                    InputLine::Frame(frame) => frame,
                    InputLine::Oversized { .. } => continue,
                    InputLine::End => {
                        return Err(
                            "ended before it answered: start it alone to see what it says"
                                .to_owned(),
                        );
                    }
                };
                let Kind::One(outline) = frame::kind(&frame) else {
                    continue;
                };
                let found = outline.id.as_ref().filter(|_| outline.method.is_none());
                if found
                    .and_then(|span| frame::raw(&frame, span))
                    .map(canonical)
                    .as_deref()
                    == Some(id)
                {
                    return Ok((frame, outline));
                }
            }
        };
        let answer = timeout(LIMIT, answer).await;
        answer.unwrap_or_else(|_| Err(format!("did not answer within {LIMIT:?}")))
    }
}

fn definitions(frame: &[u8], result: &Range<usize>) -> Vec<LintedTool> {
    let list = frame::member(frame, result, "tools").and_then(|span| frame::elements(frame, &span));
    let read = |span: &Range<usize>| serde_json::from_slice::<Value>(frame.get(span.clone())?).ok();
    let all = list.into_iter().flatten().filter_map(|span| {
        let tool = read(&span)?;
        let text = |key: &str| tool.get(key).and_then(Value::as_str).map(str::to_owned);
        let input = tool.get("inputSchema").cloned().unwrap_or_default();
        let mut linted = LintedTool::new(&text("name")?, input);
        linted.description = text("description");
        linted.output = tool.get("outputSchema").cloned();
        linted.destructive = tool["annotations"]["destructiveHint"] == true;
        Some(linted)
    });
    all.collect()
}
