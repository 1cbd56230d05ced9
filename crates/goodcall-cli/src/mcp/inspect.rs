//! `goodcall mcp inspect`: lists a server's tools with the linter's remarks.

use std::path::{Path, PathBuf};

use goodcall_mcp::{McpServer, configured_servers, list_tools};

use super::ServerArgs;
use crate::lint::LintView;
use crate::{CliError, runtime};

/// List a server's tools, with what models stumble over and what providers refuse.
///
/// The exit code is 1 if there is an error among the remarks: then requests with these tools are
/// refused, or their calls cannot be checked.
#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Inspect all servers of a client's configuration
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "url_env", "command"])]
    all: Option<PathBuf>,
    #[command(flatten)]
    view: LintView,
}

pub(crate) fn run(args: &InspectArgs) -> Result<bool, CliError> {
    if let Some(file) = &args.all {
        return inspect_all(file, &args.view);
    }
    let server = args.server.server("goodcall mcp inspect")?;
    inspect(server, None, &args.view)
}

fn inspect(server: McpServer, name: Option<&str>, view: &LintView) -> Result<bool, CliError> {
    let tools = runtime()?.block_on(list_tools(server))?;
    Ok(view.print(&tools, name))
}

/// Inspects one server after another. One that cannot be reached is an error, too.
fn inspect_all(file: &Path, view: &LintView) -> Result<bool, CliError> {
    let failure = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| failure(&error))?;
    let servers = configured_servers(&text, file).map_err(|error| failure(&error))?;
    let mut is_clean = true;
    for configured in servers {
        let name = &configured.name;
        let reached = configured.server;
        let inspected = reached.and_then(|server| inspect(server, Some(name), view));
        is_clean &= inspected.unwrap_or_else(|error| {
            anstream::eprintln!("{name}: {error}");
            false
        });
    }
    Ok(is_clean)
}
