//! `goodcall mcp`: the proxy in front of an MCP server.

mod inspect;
mod login;
mod observation;
mod replay;
mod servers;
mod wrap;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodcall_core::{Formats, Policies};
use goodcall_mcp::{
    BridgeEnd, McpServer, ProxyLog, ProxyOptions, ServerCommand, bridge, listen, standard_pipes,
};
use goodcall_server::{ConfigFile, McpObservationSettings, McpSettings, listen_address};

use crate::input::{self, CONFIG_FILE, config_file, user_config};
use crate::{CliError, runtime};
use observation::{AdminNeed, Observation};

/// Run a proxy in front of an MCP server that checks, mends or refuses tool calls.
///
/// The server is a command that is started here (goodcall mcp -- npx some-server …), or behind a
/// URL (goodcall mcp --url https://…). Without both, the servers of the configuration are offered
/// together: [mcp.servers.NAME] with a command or a url. The client is on standard input and output,
/// or comes to --listen. Everything but tool calls passes through byte for byte.
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
    /// Rewrite the configurations of all known clients that are installed, after asking for each
    #[arg(long, conflicts_with_all = ["url", "command", "listen", "wrap_config", "unwrap_config", "GuardArgs", "McpSettings"])]
    wrap_all: bool,
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
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "url_env"])]
    url: Option<String>,
    /// The environment variable with the server's address, for an address that is secret
    #[arg(long, value_name = "VARIABLE", conflicts_with = "command")]
    url_env: Option<String>,
    /// A header for every request to the URL, as NAME: VALUE; ${VARIABLE} is taken from the
    /// environment
    #[arg(long, value_name = "HEADER", conflicts_with = "command")]
    header: Vec<String>,
    /// A header for every request to the URL, as NAME=VARIABLE of the environment
    #[arg(long, value_name = "NAME=VARIABLE", conflicts_with = "command")]
    header_env: Vec<String>,
    /// The URL speaks the old SSE transport; it is found out where the path ends with /sse, or the
    /// server refuses the handshake
    #[arg(long, conflicts_with = "command")]
    sse: bool,
    /// The command that starts the server
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How calls are judged and logged.
#[derive(clap::Args)]
struct GuardArgs {
    /// The server's name in the configuration and in the log [default: from the command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A configuration file [default: goodcall/goodcall.toml of your configuration folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What may be mended: strict (nothing), safe or eager, with rules switched on and off
    /// (eager,-enum-typo), or a .toml or .json file with a policy for each tool
    #[arg(long, value_parser = input::policies)]
    policy: Option<Policies>,
    /// What `format` means: annotate (a remark) or assert (the call is bad without it)
    #[arg(long)]
    formats: Option<Formats>,
    /// Append one JSON line per call to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Append every request of clients with its answer to this file, for goodcall mcp replay and
    /// goodcall audit; it has all arguments and results
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    settings: McpSettings,
}

#[derive(clap::Subcommand)]
enum Task {
    /// List a server's tools and the problems of their schemas
    Inspect(inspect::InspectArgs),
    /// Log in to a server behind a URL, in a browser
    Login(login::LoginArgs),
    /// Forget the login to a server
    Logout(login::LogoutArgs),
    /// Answer requests from a recording, as a server for tests
    Replay(replay::ReplayArgs),
    /// Become a server that ends with the process that started it
    #[command(hide = true)]
    Start {
        /// The command that starts the server
        #[arg(last = true)]
        command: Vec<OsString>,
    },
}

/// Runs `goodcall mcp`. `program` is what starts this command from any folder.
pub(crate) fn run(args: &McpArgs, program: Option<&OsString>) -> Result<bool, CliError> {
    match &args.task {
        Some(Task::Inspect(args)) => return inspect::run(args),
        Some(Task::Login(args)) => return login::log_in_to(args),
        Some(Task::Logout(args)) => return login::log_out_of(args),
        Some(Task::Replay(args)) => return replay::run(args),
        Some(Task::Start { command }) => return start(command),
        None => {}
    }
    let this = program.and_then(|path| path.to_str()).unwrap_or("goodcall");
    if args.wrap_all {
        return wrap::wrap_all(args.yes, this);
    }
    if let Some(path) = &args.wrap_config {
        return wrap::wrap(path, args.yes, this);
    }
    if let Some(path) = &args.unwrap_config {
        return wrap::unwrap(path, args.yes);
    }
    let log = Arc::new(args.guard.log()?);
    let (server, settings) = servers::prepare(&args.server, &args.guard, &log)?;
    if let Some(address) = args.listen {
        check_exposure(address, &settings, &log)?;
    }
    let observation = Observation::prepare(&settings.observation, &server, &log)?;
    let options = Arc::new(settings.options);
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let need = match args.listen {
            Some(_) => AdminNeed::Required,
            None => AdminNeed::Wanted,
        };
        let admin = observation.listen(need, &log).await?;
        let serving = async {
            match args.listen {
                Some(address) => serve(address, server, options, Arc::clone(&log)).await,
                None => serve_pipes(server, options, Arc::clone(&log)).await,
            }
        };
        tokio::select! {
            ended = serving => ended,
            () = observation.serve(admin, &log) => Ok(true),
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
        let url = match &self.url_env {
            Some(name) => Some(variable("--url-env", name)?),
            None => self.url.clone(),
        };
        if let Some(url) = url {
            return servers::upstream(&url, &self.headers()?, self.sse);
        }
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(format!(
                "the server is missing: expected {command} -- COMMAND, or {command} --url URL"
            ));
        };
        let mut server = ServerCommand::new(program, arguments.iter().cloned());
        server.launcher = launcher();
        Ok(server.into())
    }

    /// Returns true if the arguments name a server.
    fn is_given(&self) -> bool {
        self.url.is_some() || self.url_env.is_some() || !self.command.is_empty()
    }

    /// The headers for every request to the URL, with their values.
    fn headers(&self) -> Result<Vec<String>, CliError> {
        let mut headers = Vec::new();
        for header in &self.header {
            headers.push(expand_variables(header)?);
        }
        for header in &self.header_env {
            let (name, value) = header
                .split_once('=')
                .ok_or("--header-env: expected NAME=VARIABLE")?;
            headers.push(format!("{name}: {}", variable("--header-env", value)?));
        }
        Ok(headers)
    }

    /// A name for a server to which the user gave none.
    fn name(&self, server: &McpServer) -> String {
        match server {
            McpServer::Url(upstream) => upstream.host(),
            _ => command_name(&self.command),
        }
    }
}

/// The server behind a URL, or the one that a command starts, written in one word.
pub(crate) fn server_of(word: &str) -> Result<McpServer, CliError> {
    if word.starts_with("http://") || word.starts_with("https://") {
        return servers::upstream(word, &[], false);
    }
    let words = shlex::split(word).ok_or_else(|| format!("`{word}`: a quote is not closed"))?;
    let (program, arguments) = words.split_first().ok_or("expected a URL or a command")?;
    let mut server = ServerCommand::new(program, arguments.iter().map(OsString::from));
    server.launcher = launcher();
    Ok(server.into())
}

/// The value of an environment variable that a flag names.
fn variable(flag: &str, name: &str) -> Result<String, CliError> {
    std::env::var(name).map_err(|_| format!("{flag}: the variable {name} is not set"))
}

/// The words that start a server so that it ends with this process, even if this one is killed:
/// this program again, if it is known where it is.
fn launcher() -> Vec<OsString> {
    let this = std::env::current_exe().ok();
    let this = this.filter(|path| path.file_stem().is_some_and(|stem| stem == "goodcall"));
    match this {
        Some(path) if cfg!(target_os = "linux") => {
            vec![path.into(), "mcp".into(), "start".into(), "--".into()]
        }
        _ => Vec::new(),
    }
}

/// Replaces this process by a server that ends when the process that has started it ends.
fn start(words: &[OsString]) -> Result<bool, CliError> {
    let (program, arguments) = words.split_first().ok_or("expected a command")?;
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        goodcall_mcp::end_with_parent();
        let error = std::process::Command::new(program).args(arguments).exec();
        Err(format!("{}: {error}", program.to_string_lossy()))
    }
    #[cfg(not(unix))]
    {
        let ended = std::process::Command::new(program).args(arguments).status();
        ended
            .map(|status| status.success())
            .map_err(|error| error.to_string())
    }
}

/// Replaces `${VARIABLE}` in a header by its value, so that secrets need not be on the command line.
fn expand_variables(header: &str) -> Result<String, CliError> {
    let mut out = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("--header: `${` without `}`")?;
        out.push_str(before);
        out.push_str(&variable("--header", name)?);
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
    let ended = bridge(server, options, log, standard_pipes(), stop_signal()).await;
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

/// The settings of a proxy.
#[derive(Clone)]
struct ProxySettings {
    options: ProxyOptions,
    observation: McpObservationSettings,
    /// Whether other machines may be served without a token.
    allow_unauthenticated: bool,
}

/// Warns if other machines can reach the listener, and refuses to serve them without a token.
fn check_exposure(
    address: SocketAddr,
    settings: &ProxySettings,
    log: &ProxyLog,
) -> Result<(), CliError> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    if settings.options.listen.token.is_some() {
        log.warn(&format!("{address} can be reached from other machines"));
        return Ok(());
    }
    if !settings.allow_unauthenticated {
        return Err(format!(
            "{address} can be reached from other machines: name the variable of a token with \
             --token-env, or serve everybody with --allow-unauthenticated"
        ));
    }
    log.warn(&format!("{address} serves everybody who can reach it"));
    Ok(())
}

impl GuardArgs {
    /// The user's configuration, and the file of this folder, which can only make it stricter.
    fn files(&self, log: &ProxyLog) -> Result<ConfigFiles, CliError> {
        Ok(match &self.config {
            Some(_) => ConfigFiles {
                own: config_file(self.config.as_deref())?,
                here: None,
            },
            None => ConfigFiles {
                own: user_config()?,
                here: file_of_this_folder(log),
            },
        })
    }

    /// The settings of one server in the configuration, overridden by the flags.
    fn settings(&self, files: &ConfigFiles, name: &str) -> Result<ProxySettings, CliError> {
        let mut config = files.own.mcp_server(name);
        let policies = self.policy.clone().unwrap_or(config.policies);
        config.policies = input::with_formats(policies, self.formats);
        config.settings = self.settings.clone().over(config.settings);
        let listener = config.settings.listener.clone();
        let observation = config.settings.observation.clone();
        if self.settings.log_arguments.is_on() && self.log.is_none() && observation.admin.is_none()
        {
            return Err("--log-arguments writes into the log and the page: name a file by --log, or an address by --admin".to_owned());
        }
        let mut options = ProxyOptions::from_settings(name, config);
        if let Some(here) = &files.here {
            options.tighten(here.mcp_bounds(name), &here.mcp_server(name).settings);
        }
        if let Some(name) = &listener.token_env {
            options.listen.token = Some(variable("--token-env", name)?);
        }
        Ok(ProxySettings {
            options,
            observation,
            allow_unauthenticated: listener.allow_unauthenticated.is_on(),
        })
    }

    fn log(&self) -> Result<ProxyLog, CliError> {
        let failure = |path: &Path, error| format!("{}: {error}", path.display());
        let log = match &self.log {
            Some(path) => ProxyLog::to_file(path).map_err(|error| failure(path, error))?,
            None => ProxyLog::new(),
        };
        match &self.record {
            Some(path) => log.record_to(path).map_err(|error| failure(path, error)),
            None => Ok(log),
        }
    }
}

/// The configuration of the user, and that of the folder where the proxy runs.
struct ConfigFiles {
    own: ConfigFile,
    here: Option<ConfigFile>,
}

/// Reads the file of this folder. Clients start servers in the folder of a project, and whoever wrote
/// the project may only make the proxy stricter.
fn file_of_this_folder(log: &ProxyLog) -> Option<ConfigFile> {
    let here = Path::new(CONFIG_FILE);
    if !here.exists() {
        return None;
    }
    match ConfigFile::read(here) {
        Ok(file) => {
            let text = "goodcall.toml in this folder can only make the proxy stricter: name it with --config to use all of it";
            log.warn(text);
            Some(file)
        }
        Err(error) => {
            log.warn(&format!("{error}; the file is ignored"));
            None
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

/// The name of a command: its program, or the package that a runner such as `npx` runs. Words
/// behind other flags may be secret, and are not looked at.
fn command_name(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let Some((program, rest)) = words.split_first() else {
        return "server".to_owned();
    };
    let mut word = program;
    if is_runner(program) {
        let mut rest = rest.iter().skip_while(|word| is_harmless(word));
        word = rest
            .next()
            .filter(|word| !word.starts_with('-'))
            .unwrap_or(program);
    }
    let word = word.split(['?', '#']).next().expect("a split has a part");
    match word
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next()
    {
        Some(last) if !last.is_empty() => last.to_owned(),
        _ => "server".to_owned(),
    }
}

fn is_runner(word: &str) -> bool {
    let stem = Path::new(word).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    let name = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let runners = [
        "npx", "npm", "pnpm", "yarn", "uvx", "pipx", "node", "python", "deno", "bun", "bunx",
        "docker", "podman", "uv",
    ];
    runners.contains(&name)
}

/// Returns true for the words of runners that take no value.
fn is_harmless(word: &str) -> bool {
    let words = [
        "-y", "--yes", "-q", "--quiet", "-u", "-m", "-i", "-it", "--rm", "run", "exec", "x", "dlx",
        "tool", "-A",
    ];
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_command_has_no_secrets() {
        for (command, name) in [
            (
                "npx -y @modelcontextprotocol/server-filesystem /home",
                "server-filesystem",
            ),
            ("uvx mcp-server-git --repository .", "mcp-server-git"),
            ("/usr/bin/python3.12 -m notes", "notes"),
            ("node --api-key sk-SECRET server.js", "node"),
            ("npx https://x.example/pkg.tgz?key=SECRET", "pkg.tgz"),
            ("docker run -i --rm mcp/time", "time"),
            ("docker run -e TOKEN=SECRET mcp/time", "docker"),
            ("server --token SECRET", "server"),
            ("", "server"),
        ] {
            let words: Vec<_> = command.split_whitespace().map(OsString::from).collect();
            assert_eq!(command_name(&words), name, "{command}");
        }
    }
}
