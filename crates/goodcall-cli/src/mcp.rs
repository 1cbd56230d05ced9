//! `goodcall mcp`: the proxy in front of an MCP server.

mod inspect;
mod wrap;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodcall_core::Policies;
use goodcall_mcp::{
    BridgeEnd, ProxyLog, ProxyOptions, ServerCommand, Upstream, bridge, bridge_url, listen_command,
    listen_url,
};
use goodcall_server::{McpSettings, listen_address};

use crate::input::{self, config_file};
use crate::{Failure, runtime};

/// Stand in front of an MCP server: its tool calls are checked, mended or refused.
///
/// The server is a command that is started here (goodcall mcp -- npx some-server …), or behind a
/// URL (goodcall mcp --url https://…). The client is on standard input and output, or comes to
/// --listen. Everything but tool calls passes through byte for byte.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    task: Option<Task>,
    /// The server's address, for streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header for every request to the URL, as NAME: VALUE; ${VARIABLE} is taken from the
    /// environment
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,
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
    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How calls are guarded.
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
    /// Append one JSON line a call to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    settings: McpSettings,
}

#[derive(clap::Subcommand)]
enum Task {
    /// List a server's tools, with what is wrong with their schemas
    Inspect(inspect::InspectArgs),
}

pub(crate) fn run(args: McpArgs) -> Result<bool, Failure> {
    if let Some(Task::Inspect(args)) = &args.task {
        return inspect::run(args);
    }
    if let Some(path) = &args.wrap_config {
        return wrap::wrap(path, args.yes);
    }
    if let Some(path) = &args.unwrap_config {
        return wrap::unwrap(path, args.yes);
    }
    let name = || match &args.url {
        Some(url) => url.split('/').nth(2).unwrap_or("server").to_owned(),
        None => server_name(&args.command),
    };
    let options = Arc::new(args.guard.options(name)?);
    let log = Arc::new(args.guard.log()?);
    let server = server(
        "goodcall mcp",
        args.url.as_deref(),
        &args.header,
        &args.command,
    )?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        match args.listen {
            Some(address) => serve(address, &server, options, log).await,
            None => stand_between(&server, options, log).await,
        }
    });
    // A read of standard input may still be under way; nobody waits for it.
    runtime.shutdown_background();
    ended
}

/// Where the server is.
enum Server {
    Command(ServerCommand),
    Url(Upstream),
}

/// `asked`: the words before the server on the command line.
fn server(
    asked: &str,
    url: Option<&str>,
    headers: &[String],
    command: &[OsString],
) -> Result<Server, Failure> {
    if let Some(url) = url {
        let mut upstream = Upstream::new(url).map_err(|error| error.to_string())?;
        for header in headers {
            upstream = upstream
                .header(&expanded(header)?)
                .map_err(|error| error.to_string())?;
        }
        return Ok(Server::Url(upstream));
    }
    let Some((program, arguments)) = command.split_first() else {
        return Err(format!(
            "name a server: {asked} -- COMMAND, or {asked} --url URL"
        ));
    };
    let command = ServerCommand::new(program, arguments.iter().cloned());
    Ok(Server::Command(command))
}

/// A header with its variables filled in, so that no secret stands on a command line.
fn expanded(header: &str) -> Result<String, Failure> {
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

async fn stand_between(
    server: &Server,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> Result<bool, Failure> {
    let pipes = (tokio::io::stdin(), tokio::io::stdout());
    let ended = match server {
        Server::Command(command) => bridge(command, options, log, pipes, stop_signal()).await,
        Server::Url(upstream) => bridge_url(upstream, options, log, pipes, stop_signal()).await,
    };
    Ok(ended.map_err(|error| error.to_string())? != BridgeEnd::Server)
}

async fn serve(
    address: SocketAddr,
    server: &Server,
    options: Arc<ProxyOptions>,
    log: Arc<ProxyLog>,
) -> Result<bool, Failure> {
    let wrong = |error: std::io::Error| format!("{address}: {error}");
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .map_err(wrong)?;
    let at = listener.local_addr().map_err(wrong)?;
    // Standard output is the protocol's, even where it is not used.
    log.warn(&format!("listening at http://{at}/mcp"));
    let serving = async {
        match server {
            Server::Command(command) => listen_command(listener, command, options, log).await,
            Server::Url(upstream) => listen_url(listener, upstream.clone(), options, log).await,
        }
    };
    tokio::select! {
        ended = serving => ended.map_err(wrong).map(|()| true),
        () = stop_signal() => Ok(true),
    }
}

impl GuardArgs {
    /// The configuration file, and the flags on top of it.
    fn options(&self, name: impl FnOnce() -> String) -> Result<ProxyOptions, Failure> {
        let file = config_file(self.config.as_deref())?;
        let name = self.name.clone().unwrap_or_else(name);
        let (policies, settings) = file.mcp_server(&name);
        let policies = self.policy.clone().unwrap_or(policies);
        let settings = self.settings.clone().over(settings);
        Ok(ProxyOptions::from_settings(&name, policies, &settings))
    }

    fn log(&self) -> Result<ProxyLog, Failure> {
        match &self.log {
            Some(path) => {
                ProxyLog::to_file(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => Ok(ProxyLog::new()),
        }
    }
}

/// Comes when somebody asks this process to end.
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

/// A name for a server that has none: its program, or what a runner runs.
fn server_name(command: &[OsString]) -> String {
    let words = command.iter().map(|word| word.to_string_lossy());
    let runner = |word: &str| {
        let stem = Path::new(word)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        [
            "npx", "uvx", "node", "python", "deno", "bunx", "docker", "uv",
        ]
        .contains(&stem)
    };
    let mut words = words.filter(|word| !word.starts_with('-') && !runner(word));
    let word = words.next().unwrap_or_default();
    let last = word.rsplit(['/', '\\']).next().unwrap_or_default();
    if last.is_empty() {
        "server".to_owned()
    } else {
        last.to_owned()
    }
}
