//! The servers of `goodcall mcp`: one that the command line names, or those of the configuration.

use std::sync::Arc;

use goodcall_mcp::{GroupMember, McpServer, ProxyLog, ServerCommand, ServerGroup, Upstream};
use goodcall_server::McpServerDefinition;

use super::{
    ConfigFiles, GuardArgs, ProxySettings, ServerArgs, expand_variables, launcher, login, variable,
};
use crate::CliError;

/// The name of the proxy in front of several servers.
const GROUP: &str = "goodcall";

/// Prepares the server that the arguments name, or else those of the configuration, and the settings
/// of the proxy.
pub(super) fn prepare(
    server: &ServerArgs,
    guard: &GuardArgs,
    log: &Arc<ProxyLog>,
) -> Result<(McpServer, ProxySettings), CliError> {
    let files = guard.files(log)?;
    let mut members = Vec::new();
    if server.is_given() {
        let reached = server.server("goodcall mcp")?;
        let name = guard.name.clone();
        let name = name.unwrap_or_else(|| server.name(&reached));
        members.push((reached, guard.settings(&files, &name)?));
    } else {
        for name in configured(guard, &files)? {
            let definition = files.own.mcp_server(&name).definition;
            let reached =
                reach(&definition).map_err(|error| format!("mcp.servers.{name}: {error}"))?;
            members.push((reached, guard.settings(&files, &name)?));
        }
    }
    for (server, _) in &members {
        if let McpServer::Command(command) = server {
            let program = command.program.to_string_lossy();
            command
                .find()
                .map_err(|error| format!("the server `{program}` cannot be started: {error}"))?;
        }
    }
    if matches!(members.as_slice(), [(_, settings)] if settings.options.view.is_plain()) {
        return members.pop().ok_or_else(|| "no server".to_owned());
    }
    let mut settings = match members.as_slice() {
        [(_, only)] => only.clone(),
        _ => guard.settings(&files, GROUP)?,
    };
    let members = members.into_iter().map(|(server, settings)| GroupMember {
        server,
        options: Arc::new(settings.options),
    });
    let members: Vec<_> = members.collect();
    let options = members.iter().map(|member| Arc::clone(&member.options));
    settings.options.members = options.collect();
    Ok((ServerGroup::new(members, Arc::clone(log)).into(), settings))
}

/// The names of the servers that the configuration defines and the user wants.
fn configured(guard: &GuardArgs, files: &ConfigFiles) -> Result<Vec<String>, CliError> {
    let names = files.own.mcp_servers().map(str::to_owned);
    let names = names.filter(|name| guard.name.as_ref().is_none_or(|wanted| wanted == name));
    let names: Vec<_> = names.collect();
    if !names.is_empty() {
        return Ok(names);
    }
    let all: Vec<_> = files.own.mcp_servers().collect();
    Err(match &guard.name {
        Some(name) if !all.is_empty() => format!(
            "--name {name}: the configuration has no such server with a command or a url, only {}",
            all.join(", ")
        ),
        _ => "the server is missing: expected goodcall mcp -- COMMAND, goodcall mcp --url URL, or \
              [mcp.servers.NAME] with a command or a url in the configuration"
            .to_owned(),
    })
}

/// The server of a definition.
fn reach(definition: &McpServerDefinition) -> Result<McpServer, CliError> {
    let url = match &definition.url_env {
        Some(name) => Some(variable("url_env", name)?),
        None => definition.url.clone(),
    };
    let command = definition.command.split_first();
    match (command, url) {
        (Some((program, words)), None) => {
            let words = words.iter().map(Into::into);
            let mut server = ServerCommand::new(program, words);
            let variables = definition.env.iter();
            let variables = variables.map(|(name, value)| (name.into(), value.into()));
            server.variables = variables.collect();
            server.folder.clone_from(&definition.cwd);
            server.launcher = launcher();
            Ok(server.into())
        }
        (None, Some(url)) => {
            let mut headers = Vec::new();
            for (name, value) in &definition.headers {
                headers.push(format!("{name}: {}", expand_variables(value)?));
            }
            for (name, from) in &definition.header_env {
                headers.push(format!("{name}: {}", variable("header_env", from)?));
            }
            upstream(&url, &headers, definition.sse.is_on())
        }
        _ => Err("expected either a command or a url".to_owned()),
    }
}

/// The server behind a URL, with headers for every request.
pub(super) fn upstream(url: &str, headers: &[String], sse: bool) -> Result<McpServer, CliError> {
    let mut upstream = Upstream::new(url).map_err(|error| error.to_string())?;
    if sse {
        upstream = upstream.sse();
    }
    for header in headers {
        upstream = upstream.header(header).map_err(|error| error.to_string())?;
    }
    if let Some(store) = login::store() {
        let failure = |error| format!("the file with your logins: {error}");
        upstream = upstream.login_of(&store).map_err(failure)?;
    }
    Ok(upstream.into())
}
