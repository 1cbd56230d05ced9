//! `goodcall mcp inspect`: a server's tools, and what a linter says of them.

use std::ffi::OsString;

use goodcall_mcp::{tools_of_command, tools_of_url};

use super::{Server, server};
use crate::lint::print;
use crate::{Failure, runtime};

/// List a server's tools, with what models stumble over and what providers refuse.
#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    /// The server's address, for streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header for every request to the URL, as NAME: VALUE
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    /// Print one JSON object a tool
    #[arg(long)]
    jsonl: bool,
    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &InspectArgs) -> Result<bool, Failure> {
    let server = server(
        "goodcall mcp inspect",
        args.url.as_deref(),
        &args.header,
        &args.command,
    )?;
    let tools = runtime()?.block_on(async {
        match &server {
            Server::Command(command) => tools_of_command(command).await,
            Server::Url(upstream) => tools_of_url(upstream).await,
        }
    })?;
    print(&tools, args.jsonl);
    Ok(true)
}
