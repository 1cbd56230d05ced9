//! Definitions for recordings that have none: from files, and from live MCP servers.

use goodcall_mcp::{McpServer, list_tools};
use goodcall_wire::Tools;
use serde_json::{Value, json};

use crate::mcp::server_of;
use crate::{CliError, runtime, tools};

/// Where definitions come from.
#[derive(clap::Args)]
pub(super) struct DefinitionArgs {
    /// Tool definitions for recordings that have none, in any provider's form
    #[arg(long, value_name = "FILE")]
    tools: Vec<String>,
    /// A live MCP server whose tools are asked for: its URL, or the command that starts it
    #[arg(long, value_name = "SERVER")]
    mcp: Vec<String>,
}

impl DefinitionArgs {
    /// All definitions.
    pub(super) fn read(&self) -> Result<Tools, CliError> {
        if self.mcp.is_empty() {
            return tools::read_all(&self.tools);
        }
        let mut texts = tools::texts(&self.tools)?;
        for server in &self.mcp {
            texts.push(asked(server_of(server)?)?);
        }
        Tools::read(&format!("[{}]", texts.join(","))).map_err(|error| error.to_string())
    }
}

/// The definitions of a server, as JSON text.
fn asked(server: McpServer) -> Result<String, CliError> {
    let listed = runtime()?.block_on(list_tools(server))?;
    let definitions = listed.into_iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input,
            "annotations": {"destructiveHint": tool.is_destructive()},
        })
    });
    Ok(Value::from_iter(definitions).to_string())
}
