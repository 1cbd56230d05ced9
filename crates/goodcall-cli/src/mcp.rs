//! `goodcall mcp`: the proxy in front of an MCP server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use goodcall_core::{Policies, Style};
use goodcall_mcp::{Config, End, Log, LoopMode, Options, ServerCommand, bridge};

use crate::{Failure, input};

/// The configuration that is read where none is named.
const CONFIG: &str = "goodcall.toml";

/// Stand in front of an MCP server: its tool calls are checked, mended or refused.
///
/// The server is a command that is started here (goodcall mcp -- npx some-server …). Everything
/// but tool calls passes through byte for byte.
#[derive(clap::Args)]
pub(crate) struct McpArgs {
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
    /// How refusals read: model, instruction, numbered, plain, structured, record
    #[arg(long)]
    style: Option<Style>,
    /// What is done about a model that goes in circles: off, tell, refuse
    #[arg(long)]
    loops: Option<LoopMode>,
    /// Refuse results that do not match the tool's output schema
    #[arg(long)]
    check_output: bool,
    /// Seconds that a call may take without an answer or a sign of progress; 0 for no limit
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// Start the server again for the next request after it has ended
    #[arg(long)]
    restart: bool,
    /// Append one JSON line a call to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write arguments into the log, too
    #[arg(long)]
    log_arguments: bool,
}

pub(crate) fn run(args: McpArgs) -> Result<bool, Failure> {
    let options = args.guard.options(|| server_name(&args.command))?;
    let log = args.guard.log()?;
    let Some((program, arguments)) = args.command.split_first() else {
        return Err("name a server: goodcall mcp -- COMMAND".to_owned());
    };
    let command = ServerCommand {
        program: program.clone(),
        arguments: arguments.to_vec(),
    };
    let runtime = runtime()?;
    let end = runtime.block_on(async {
        let pipes = (tokio::io::stdin(), tokio::io::stdout());
        let stop = stop_signal();
        bridge(&command, Arc::new(options), Arc::new(log), pipes, stop).await
    });
    // A read of standard input may still be under way; nobody waits for it.
    runtime.shutdown_background();
    Ok(end.map_err(|error| error.to_string())? != End::Server)
}

impl GuardArgs {
    /// The configuration file, and the flags on top of it.
    fn options(&self, name: impl FnOnce() -> String) -> Result<Options, Failure> {
        let path = match &self.config {
            Some(path) => Some(path.as_path()),
            None => Some(Path::new(CONFIG)).filter(|path| path.exists()),
        };
        let wrong = |path: &Path, error: String| format!("{}: {error}", path.display());
        let config = match path {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| wrong(path, error.to_string()))?;
                Config::read(&text).map_err(|error| wrong(path, error.to_string()))?
            }
            None => Config::default(),
        };
        let name = self.name.clone().unwrap_or_else(name);
        let mut options = config.options(&name).map_err(|error| error.to_string())?;
        if let Some(policies) = &self.policy {
            options.policies = policies.clone();
        }
        options.style = self.style.unwrap_or(options.style);
        options.loops = self.loops.unwrap_or(options.loops);
        options.check_output |= self.check_output;
        options.restart |= self.restart;
        options.log_arguments |= self.log_arguments;
        if let Some(seconds) = self.time_limit {
            options.time_limit = (seconds > 0).then(|| Duration::from_secs(seconds));
        }
        Ok(options)
    }

    fn log(&self) -> Result<Log, Failure> {
        match &self.log {
            Some(path) => {
                Log::to_file(path).map_err(|error| format!("{}: {error}", path.display()))
            }
            None => Ok(Log::new()),
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
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
