//! `goodcall mcp inspect`: lists a server's tools with the linter's remarks.

use goodcall_mcp::list_tools;

use super::ServerArgs;
use crate::lint::print;
use crate::{CliError, runtime};

/// List a server's tools, with what models stumble over and what providers refuse.
#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object per tool
    #[arg(long)]
    jsonl: bool,
}

pub(crate) fn run(args: &InspectArgs) -> Result<bool, CliError> {
    let server = args.server.server("goodcall mcp inspect")?;
    let tools = runtime()?.block_on(list_tools(server))?;
    print(&tools, args.jsonl);
    Ok(true)
}
