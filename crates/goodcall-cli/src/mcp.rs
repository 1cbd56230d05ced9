//! `goodcall mcp`: the proxy in front of an MCP server.

mod inspect;
mod wrap;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodcall_core::Policies;
use goodcall_mcp::{
    BridgeEnd, McpServer, ProxyLog, ProxyOptions, ServerCommand, Upstream, bridge, listen,
};
use goodcall_server::{McpSettings, listen_address};

use crate::input::{self, config_file};
use crate::{CliError, runtime};

/// Run a proxy in front of an MCP server that checks, mends or refuses tool calls.
///
/// The server is a command that is started here (goodcall mcp -- npx some-server …), or behind a
/// URL (goodcall mcp --url https://…). The client is on standard input and output, or comes to
/// --listen. Everything but tool calls passes through byte for byte.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    task: Option<Task>,
    #[command(flatten)]
    server: ServerArgs,
    /// Serve streamable HTTP at this address instead of standard input and output
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Rewrite a client's configuration so that its servers go through goodcall
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "command", "listen", "GuardArgs", "McpSettings"])]
    wrap_config: Option<PathBuf>,
    /// Undo --wrap-config
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "command", "listen", "wrap_config", "GuardArgs", "McpSettings"])]
    unwrap_config: Option<PathBuf>,
    /// Write the configuration without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

/// Where the server is.
#[derive(clap::Args)]
struct ServerArgs {
    /// The server's address, for streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header for every request to the URL, as NAME: VALUE; ${VARIABLE} is taken from the
    /// environment
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How calls are judged and logged.
#[derive(clap::Args)]
struct GuardArgs {
    /// The server's name in the configuration and in the log [default: from the command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A configuration file [default: goodcall.toml in this folder, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What may be mended: strict (nothing), safe or eager, with rules switched on and off
    /// (eager,-enum-typo), or a .toml or .json file with a policy for each tool
    #[arg(long, value_parser = input::policies)]
    policy: Option<Policies>,
    /// Append one JSON line per call to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    settings: McpSettings,
}

#[derive(clap::Subcommand)]
enum Task {
    /// List a server's tools and the problems of their schemas
    Inspect(inspect::InspectArgs),
}

/// Runs `goodcall mcp`. `program` is what starts this command from any folder.
pub(crate) fn run(args: McpArgs, program: Option<&OsString>) -> Result<bool, CliError> {
    if let Some(Task::Inspect(args)) = &args.task {
        return inspect::run(args);
    }
    if let Some(path) = &args.wrap_config {
        let program = program.and_then(|path| path.to_str());
        return wrap::wrap(path, args.yes, program.unwrap_or("goodcall"));
    }
    if let Some(path) = &args.unwrap_config {
        return wrap::unwrap(path, args.yes);
    }
    let options = Arc::new(args.guard.options(|| args.server.name())?);
    let log = Arc::new(args.guard.log()?);
    let server = args.server.server("goodcall mcp")?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        match args.listen {
            Some(address) => serve(address, server, options, log).await,
            None => serve_pipes(server, options, log).await,
        }
    });
    // A read of standard input may still be pending, and is not waited for.
    runtime.shutdown_background();
    ended
}

impl ServerArgs {
    /// The server that the arguments name. `command` is how the user called this program, for the
    /// error if they name none.
    fn server(&self, command: &str) -> Result<McpServer, CliError> {
        if let Some(url) = &self.url {
            let mut upstream = Upstream::new(url).map_err(|error| error.to_string())?;
            for header in &self.header {
                let header = expand_variables(header)?;
                upstream = upstream
                    .header(&header)
                    .map_err(|error| error.to_string())?;
            }
            return Ok(upstream.into());
        }
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(format!(
                "the server is missing: expected {command} -- COMMAND, or {command} --url URL"
            ));
        };
        Ok(ServerCommand::new(program, arguments.iter().cloned()).into())
    }

    /// A name for a server to which the user gave none.
    fn name(&self) -> String {
        match &self.url {
            Some(url) => url.split('/').nth(2).unwrap_or("server").to_owned(),
            None => command_name(&self.command),
        }
    }
}

/// Replaces `${VARIABLE}` by its value, so that secrets need not be on the command line.
fn expand_variables(header: &str) -> Result<String, CliError> {
    let mut out = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("--header: `${` without `}`")?;
        let value = std::env::var(name);
        out.push_str(before);
        out.push_str(&value.map_err(|_| format!("--header: the variable {name} is not set"))?);
        rest = after;
    }
    Ok(out + rest)
}

/// Serves the client on standard input and output. Returns false if the server ended first.
async fn serve_pipes(
    server: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> Result<bool, CliError> {
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let ended = bridge(server, options, log, pipes, stop_signal()).await;
    Ok(ended.map_err(|error| error.to_string())? != BridgeEnd::Server)
}

async fn serve(
    address: SocketAddr,
    server: McpServer,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> Result<bool, CliError> {
    let failure = |error: std::io::Error| format!("{address}: {error}");
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(failure)?;
    let bound = listener.local_addr().map_err(failure)?;
    // Standard output is reserved for the protocol, even if it is not used.
    log.warn(&format!("listening at http://{bound}/mcp"));
    tokio::select! {
        ended = listen(listener, server, options, log) => ended.map_err(failure).map(|()| true),
        () = stop_signal() => Ok(true),
    }
}

impl GuardArgs {
    /// The settings of the configuration file, overridden by the flags.
    fn options(&self, name: impl FnOnce() -> String) -> Result<ProxyOptions, CliError> {
        let file = config_file(self.config.as_deref())?;
        let name = self.name.clone().unwrap_or_else(name);
        let (policies, settings) = file.mcp_server(&name);
        let policies = self.policy.clone().unwrap_or(policies);
        let settings = self.settings.clone().over(settings);
        Ok(ProxyOptions::from_settings(&name, policies, &settings))
    }

    fn log(&self) -> Result<ProxyLog, CliError> {
        match &self.log {
            Some(path) => {
                ProxyLog::to_file(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => Ok(ProxyLog::new()),
        }
    }
}

/// Completes when this process is asked to end.
async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
        ];
        let [Ok(mut term), Ok(mut int), Ok(mut hup)] = kinds.map(signal) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hup.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The name of a command: its program, or the package that a runner such as `npx` runs.
fn command_name(command: &[OsString]) -> String {
    let words = command.iter().map(|word| word.to_string_lossy());
    let mut words = words.filter(|word| !word.starts_with('-') && !is_runner(word));
    let word = words.next().unwrap_or_default();
    match word.rsplit(['/', '\\']).next() {
        Some(last) if !last.is_empty() => last.to_owned(),
        _ => "server".to_owned(),
    }
}

fn is_runner(word: &str) -> bool {
    let stem = Path::new(word).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    let name = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let runners = [
        "npx", "uvx", "node", "python", "deno", "bunx", "docker", "uv",
    ];
    runners.contains(&name)
}
