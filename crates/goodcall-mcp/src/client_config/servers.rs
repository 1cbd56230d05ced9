//! The servers of a client's configuration, as they can be started from here.

use serde_json::{Map, Value};

use super::wrapped_words::{UrlServer, command_start, is_goodcall};
use crate::http::Upstream;
use crate::process::ServerCommand;
use crate::server_connection::McpServer;

/// A server of a client's configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfiguredServer {
    /// Its name, with the project to which it belongs.
    pub name: String,
    /// How it is reached, or why it cannot be reached from here.
    pub server: Result<McpServer, String>,
}

/// Keys of the environment of a server.
const ENVIRONMENTS: [&str; 3] = ["env", "environment", "envs"];

/// Reads one entry. A server that is behind goodcall is taken from behind it.
pub(super) fn read(
    entry: &Map<String, Value>,
    command: Option<(String, Vec<String>)>,
    url: Option<&str>,
) -> Result<McpServer, String> {
    let environment = ENVIRONMENTS
        .iter()
        .find_map(|key| entry.get(*key)?.as_object());
    let variables: Vec<_> = environment.into_iter().flatten().collect();
    let variable = |name: &str| {
        let own = variables.iter().find(|(key, _)| *key == name);
        own.and_then(|(_, value)| value.as_str().map(str::to_owned))
    };
    if let Some(url) = url {
        let headers = ["headers", "http_headers", "requestOptions"]
            .iter()
            .find_map(|key| entry.get(*key)?.as_object());
        let headers = headers.into_iter().flatten();
        let headers =
            headers.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        let server = UrlServer {
            url: url.to_owned(),
            headers: headers.collect(),
            sse: entry.get("type").and_then(Value::as_str) == Some("sse"),
        };
        return upstream(&server);
    }
    let (program, mut words) = command.ok_or("has no command and no URL")?;
    let mut program = program;
    if is_goodcall(&program, words.first().map(String::as_str)) {
        match command_start(&words) {
            Some(at) => {
                program = words[at].clone();
                words.drain(..=at);
            }
            None => {
                let server =
                    UrlServer::read(&words, variable).ok_or("its old form is not known")?;
                return upstream(&server);
            }
        }
    }
    let words: Result<Vec<_>, _> = words.iter().map(|word| expand(word)).collect();
    let words = words?.into_iter().map(Into::into);
    let mut command = ServerCommand::new(expand(&program)?, words);
    for (key, value) in &variables {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        command.variables.push((key.into(), expand(&value)?.into()));
    }
    command.folder = match entry.get("cwd").and_then(Value::as_str) {
        Some(folder) => Some(expand(folder)?.into()),
        None => None,
    };
    Ok(command.into())
}

fn upstream(server: &UrlServer) -> Result<McpServer, String> {
    let url = expand(&server.url)?;
    let mut upstream = Upstream::new(&url).map_err(|error| error.to_string())?;
    if server.sse {
        upstream = upstream.sse();
    }
    for (name, value) in &server.headers {
        let header = format!("{name}: {}", expand(value)?);
        upstream = upstream
            .header(&header)
            .map_err(|error| error.to_string())?;
    }
    Ok(upstream.into())
}

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-DEFAULT}` as clients do.
fn expand(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inner, after)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        let inner = inner.strip_prefix("env:").unwrap_or(inner);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (inner, None),
        };
        let value = std::env::var(name).ok().or(default);
        out.push_str(
            &value.ok_or_else(|| format!("needs ${{{name}}}, which only its client knows"))?,
        );
        rest = after;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::configured_servers;
    use super::*;

    /// The servers of a configuration in words.
    fn shown(text: &str, file: &str) -> Vec<String> {
        let servers = configured_servers(text, Path::new(file)).unwrap();
        let shown = servers
            .into_iter()
            .map(|configured| match configured.server {
                Ok(McpServer::Command(command)) => {
                    let variables = command.variables.iter();
                    let variables = variables.map(|(name, value)| format!("{name:?}={value:?}"));
                    let words = [command.program].into_iter().chain(command.arguments);
                    let words = words.map(|word| format!("{word:?}"));
                    variables.chain(words).collect::<Vec<_>>().join(" ")
                }
                Ok(McpServer::Url(upstream)) => upstream.host(),
                Ok(McpServer::Group(_)) => unreachable!("an entry is one server"),
                Err(why) => format!("{} {why}", configured.name),
            });
        shown.collect()
    }

    #[test]
    fn servers_are_found_behind_goodcall_and_in_all_forms() {
        let json = r#"{"mcpServers": {
            "a": {"command": "npx", "args": ["x", "${GOODCALL_UNSET:-y}"], "env": {"K": "v"}},
            "b": {"command": "/bin/goodcall", "args": ["mcp", "--name", "b", "--", "npx", "z"]},
            "c": {"command": "goodcall", "args": ["mcp", "--url-env", "GOODCALL_URL"], "env": {"GOODCALL_URL": "https://c.example/mcp?k=1"}},
            "d": {"url": "https://d.example/mcp", "headers": {"A": "b"}},
            "e": {"command": "x", "args": ["${input:key}"]},
            "f": 5}}"#;
        assert_eq!(
            shown(json, "mcp.json"),
            [
                r#""K"="v" "npx" "x" "y""#,
                r#""npx" "z""#,
                "c.example",
                "d.example",
                "e needs ${input:key}, which only its client knows",
                "f is not an object that can be read",
            ]
        );
        let toml = "[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"x\"]\n[mcp_servers.b]\nurl = \"https://b.example/mcp\"\n";
        assert_eq!(shown(toml, "config.toml"), [r#""npx" "x""#, "b.example"]);
    }
}
