//! Client configurations: servers put behind goodcall, and back.
//!
//! A configuration is edited in place: comments, order and white space stay. Known are the forms
//! of Claude Desktop, Claude Code, Cursor and Windsurf (`mcpServers`), VS Code (`servers`, also
//! below `mcp`) and Zed (`context_servers`).

use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::frame;

/// Keys under which servers stand.
const LISTS: [&str; 3] = ["mcpServers", "servers", "context_servers"];
/// Keys below which such lists may stand: VS Code's settings, and projects of Claude Code.
const FOLDERS: [&str; 2] = ["mcp", "projects"];
/// Keys of a server's address.
const URLS: [&str; 2] = ["url", "serverUrl"];

/// A configuration with its servers changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wrapped {
    /// The new text.
    pub text: String,
    /// The servers that were changed.
    pub changed: Vec<String>,
    /// Servers that were left alone, and why.
    pub left: Vec<(String, &'static str)>,
}

/// A configuration that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapError(String);

impl fmt::Display for WrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrapError {}

/// Puts every server of a configuration behind `goodcall`, which is the program to start.
///
/// # Errors
/// If the text is no JSON (comments aside), or has no servers in a known form.
pub fn wrap_config(text: &str, goodcall: &str) -> Result<Wrapped, WrapError> {
    let blank = without_comments(text);
    let mut edits = Vec::new();
    let (mut changed, mut left) = (Vec::new(), Vec::new());
    for (name, span) in servers(&blank)? {
        let entry = parsed(&blank, &span)?;
        match wrapped(&name, &entry, goodcall) {
            Ok(new) => {
                edits.push((span.clone(), written(&new, text, span.start)));
                changed.push(name);
            }
            Err(why) => left.push((name, why)),
        }
    }
    let text = text_of(frame::splice(text.as_bytes(), edits));
    Ok(Wrapped {
        text,
        changed,
        left,
    })
}

/// Takes servers out from behind goodcall. `before` is the text as it was: what stands there is
/// put back as it stood.
///
/// # Errors
/// As [`wrap_config`].
pub fn unwrap_config(text: &str, before: Option<&str>) -> Result<Wrapped, WrapError> {
    let blank = without_comments(text);
    let old = before.map(|before| (before, without_comments(before)));
    let mut edits = Vec::new();
    let (mut changed, mut left) = (Vec::new(), Vec::new());
    for (name, span) in servers(&blank)? {
        let entry = parsed(&blank, &span)?;
        let Some(inner) = behind(&entry) else {
            left.push((name, "is not behind goodcall"));
            continue;
        };
        let kept = old.as_ref().and_then(|(before, blank)| {
            let all = servers(blank).ok()?;
            let (_, span) = all.into_iter().find(|(known, _)| *known == name)?;
            let entry = parsed(blank, &span).ok()?;
            behind(&entry).is_none().then(|| before[span].to_owned())
        });
        let new = kept.or_else(|| Some(written(&inner.restored(&entry)?, text, span.start)));
        match new {
            Some(new) => {
                edits.push((span, new));
                changed.push(name);
            }
            None => left.push((name, "its old form is not known")),
        }
    }
    let text = text_of(frame::splice(text.as_bytes(), edits));
    Ok(Wrapped {
        text,
        changed,
        left,
    })
}

/// Servers by name: projects of one file may have one of the same name each.
fn servers(blank: &str) -> Result<Vec<(String, Range<usize>)>, WrapError> {
    let bytes = blank.as_bytes();
    let value: Result<Value, _> = serde_json::from_str(blank);
    if let Err(error) = value {
        return Err(WrapError(format!("this is no JSON: {error}")));
    }
    let start = blank.find('{').unwrap_or_default();
    let mut found = Vec::new();
    collect(bytes, &(start..blank.len()), "", 0, &mut found);
    match found.is_empty() {
        true => Err(WrapError(format!(
            "no servers found; known are the keys {}",
            LISTS.join(", ")
        ))),
        false => Ok(found),
    }
}

fn collect(
    bytes: &[u8],
    object: &Range<usize>,
    prefix: &str,
    depth: usize,
    found: &mut Vec<(String, Range<usize>)>,
) {
    for (key, span) in frame::members(bytes, object) {
        if LISTS.contains(&key.as_str()) {
            for (name, entry) in frame::members(bytes, &span) {
                found.push((format!("{prefix}{name}"), entry));
            }
        } else if depth == 0 && FOLDERS.contains(&key.as_str()) {
            collect(bytes, &span, prefix, 1, found);
        } else if depth == 1 && bytes.get(span.start) == Some(&b'{') && key.contains(['/', '\\']) {
            // A project, by its folder.
            collect(bytes, &span, &format!("{key}: "), 2, found);
        }
    }
}

fn parsed(blank: &str, span: &Range<usize>) -> Result<Map<String, Value>, WrapError> {
    let entry = blank.get(span.clone()).unwrap_or_default();
    serde_json::from_str(entry).map_err(|error| WrapError(format!("a server's entry: {error}")))
}

/// The entry of a server behind goodcall.
fn wrapped(
    name: &str,
    entry: &Map<String, Value>,
    goodcall: &str,
) -> Result<Map<String, Value>, &'static str> {
    if behind(entry).is_some() {
        return Err("is behind goodcall already");
    }
    // Without the project that it may belong to.
    let name = name.rsplit(": ").next().unwrap_or(name);
    let mut head = vec![json!("mcp"), json!("--name"), json!(name)];
    let mut new = entry.clone();
    if let Some(url) = URLS.iter().find_map(|key| entry.get(*key)) {
        let kind = entry.get("type").and_then(Value::as_str);
        if kind == Some("sse") {
            return Err("speaks the old SSE transport, which goodcall does not");
        }
        head.extend([json!("--url"), url.clone()]);
        let mut env = Map::new();
        let headers = entry.get("headers").and_then(Value::as_object);
        for (index, (key, value)) in headers.into_iter().flatten().enumerate() {
            // Secrets do not belong on a command line.
            let variable = format!("GOODCALL_HEADER_{index}");
            head.extend([json!("--header"), json!(format!("{key}: ${{{variable}}}"))]);
            env.insert(variable, value.clone());
        }
        new.retain(|key, _| !URLS.contains(&key.as_str()) && key != "headers");
        if new.contains_key("type") {
            new.insert("type".to_owned(), json!("stdio"));
        }
        new.insert("command".to_owned(), json!(goodcall));
        new.insert("args".to_owned(), Value::Array(head));
        if !env.is_empty() {
            new.insert("env".to_owned(), Value::Object(env));
        }
        return Ok(new);
    }
    head.push(json!("--"));
    match entry.get("command") {
        Some(Value::String(command)) => {
            head.push(json!(command));
            head.extend(arguments(entry));
            new.insert("command".to_owned(), json!(goodcall));
            new.insert("args".to_owned(), Value::Array(head));
            Ok(new)
        }
        // Zed's older form.
        Some(Value::Object(command)) => {
            head.push(command.get("path").cloned().ok_or("has no command")?);
            head.extend(arguments(command));
            let mut command = command.clone();
            command.insert("path".to_owned(), json!(goodcall));
            command.insert("args".to_owned(), Value::Array(head));
            new.insert("command".to_owned(), Value::Object(command));
            Ok(new)
        }
        _ => Err("has no command and no URL"),
    }
}

fn arguments(entry: &Map<String, Value>) -> Vec<Value> {
    entry
        .get("args")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

/// What stands behind goodcall in an entry.
enum WrappedServer {
    Command(Vec<Value>),
    Url,
}

fn behind(entry: &Map<String, Value>) -> Option<WrappedServer> {
    let (program, all) = match entry.get("command")? {
        Value::String(command) => (command.as_str(), arguments(entry)),
        Value::Object(command) => (command.get("path")?.as_str()?, arguments(command)),
        _ => return None,
    };
    let stem = Path::new(program).file_stem()?.to_str()?;
    if stem != "goodcall" || all.first() != Some(&json!("mcp")) {
        return None;
    }
    match all.iter().position(|word| word == "--") {
        Some(at) => Some(WrappedServer::Command(all[at + 1..].to_vec())),
        None => Some(WrappedServer::Url),
    }
}

impl WrappedServer {
    /// The entry without goodcall, as far as it tells.
    fn restored(&self, entry: &Map<String, Value>) -> Option<Map<String, Value>> {
        let WrappedServer::Command(words) = self else {
            return None;
        };
        let (program, rest) = words.split_first()?;
        let mut new = entry.clone();
        match new.get_mut("command")? {
            Value::Object(command) => {
                command.insert("path".to_owned(), program.clone());
                command.insert("args".to_owned(), rest.into());
            }
            command => {
                *command = program.clone();
                new.insert("args".to_owned(), rest.into());
            }
        }
        Some(new)
    }
}

/// An entry as text, indented like its place in the file.
fn written(entry: &Map<String, Value>, text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let indent: String = text[line..]
        .chars()
        .take_while(|c| c.is_whitespace() && *c != '\n')
        .collect();
    let unit = if indent.starts_with('\t') { "\t" } else { "  " };
    let mut out = String::from("{");
    for (index, (key, value)) in entry.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        out.push_str(&format!(
            "{comma}\n{indent}{unit}{}: {value}",
            frame::quoted(key)
        ));
    }
    out.push_str(&format!("\n{indent}}}"));
    out
}

/// The same text with comments and commas before a bracket made blank; every place stays.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    while let Some(byte) = bytes.get(at).copied() {
        let two = (byte, bytes.get(at + 1).copied());
        let end = match two {
            (b'"', _) => {
                at = string_end(&bytes, at);
                comma = None;
                continue;
            }
            (b'/', Some(b'/')) => position(&bytes, at, b"\n"),
            (b'/', Some(b'*')) => position(&bytes, at + 2, b"*/") + 2,
            _ => at,
        };
        if end > at {
            let end = end.min(bytes.len());
            for blank in bytes
                .iter_mut()
                .take(end)
                .skip(at)
                .filter(|byte| **byte != b'\n')
            {
                *blank = b' ';
            }
            at = end;
            continue;
        }
        match byte {
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            other if other.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    text_of(bytes)
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn position(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(what.len()).position(|window| window == what);
    found.map_or(bytes.len(), |found| from + found)
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> Value {
        let wrapped = wrap_config(text, "/bin/goodcall").unwrap();
        assert!(!wrapped.changed.is_empty());
        let again = wrap_config(&wrapped.text, "/bin/goodcall").unwrap();
        assert!(again.changed.is_empty(), "wrapped twice: {}", again.text);
        let back = unwrap_config(&wrapped.text, Some(text)).unwrap();
        assert_eq!(back.text, text);
        serde_json::from_str(&without_comments(&wrapped.text)).unwrap()
    }

    #[test]
    fn claude_desktop_claude_code_and_cursor() {
        let text = r#"{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home"],
      "env": {"A": "1"}
    },
    "plain": { "command": "server" }
  },
  "projects": {"/home/me": {"mcpServers": {"own": {"type": "stdio", "command": "x", "args": []}}}}
}
"#;
        let value = round_trip(text);
        let files = &value["mcpServers"]["files"];
        assert_eq!(files["command"], "/bin/goodcall");
        let wanted = json!([
            "mcp",
            "--name",
            "files",
            "--",
            "npx",
            "-y",
            "@modelcontextprotocol/server-filesystem",
            "/home"
        ]);
        assert_eq!(files["args"], wanted);
        assert_eq!(files["env"], json!({"A": "1"}));
        assert_eq!(
            value["projects"]["/home/me"]["mcpServers"]["own"]["args"][2],
            "own"
        );
        assert_eq!(value["theme"], "dark");
    }

    #[test]
    fn vs_code_with_comments_and_a_url() {
        let text = "{\n\t// my servers\n\t\"servers\": {\n\t\t\"web\": {\"type\": \"http\", \"url\": \"https://x.example/mcp\", \"headers\": {\"Authorization\": \"Bearer s3cret\"}}, /* old */\n\t\t\"sse\": {\"type\": \"sse\", \"url\": \"https://x.example/sse\"},\n\t},\n\t\"inputs\": [], // \"}\"\n}\n";
        let value = round_trip(text);
        let web = &value["servers"]["web"];
        assert_eq!(web["type"], "stdio");
        let wanted = json!([
            "mcp",
            "--name",
            "web",
            "--url",
            "https://x.example/mcp",
            "--header",
            "Authorization: ${GOODCALL_HEADER_0}"
        ]);
        assert_eq!(web["args"], wanted);
        assert_eq!(web["env"]["GOODCALL_HEADER_0"], "Bearer s3cret");
        assert_eq!(value["servers"]["sse"]["type"], "sse");
        let wrapped = wrap_config(text, "goodcall").unwrap();
        assert!(wrapped.text.contains("// my servers") && wrapped.text.contains("/* old */"));
        assert_eq!(wrapped.left[0].0, "sse");
    }

    #[test]
    fn windsurf_and_zed() {
        let windsurf = r#"{"mcpServers": {"w": {"serverUrl": "https://x.example/mcp"}}}"#;
        assert_eq!(
            round_trip(windsurf)["mcpServers"]["w"]["command"],
            "/bin/goodcall"
        );
        let zed = r#"{"context_servers": {"a": {"source": "custom", "command": "x", "args": ["1"]}, "b": {"command": {"path": "y", "args": ["2"], "env": null}}}}"#;
        let value = round_trip(zed);
        assert_eq!(
            value["context_servers"]["b"]["command"]["path"],
            "/bin/goodcall"
        );
        let wrapped = wrap_config(zed, "goodcall").unwrap();
        let back = unwrap_config(&wrapped.text, None).unwrap();
        let (back, zed): (Value, Value) = (
            serde_json::from_str(&back.text).unwrap(),
            serde_json::from_str(zed).unwrap(),
        );
        assert_eq!(back, zed);
    }

    #[test]
    fn what_has_no_servers_is_told() {
        assert!(
            wrap_config("{", "g")
                .unwrap_err()
                .to_string()
                .contains("no JSON")
        );
        assert!(
            wrap_config("{\"a\": 1}", "g")
                .unwrap_err()
                .to_string()
                .contains("no servers found")
        );
    }
}
