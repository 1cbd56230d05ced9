//! Edits the configurations of MCP clients, so that their servers run behind goodcall.
//!
//! A configuration is edited in place: comments, order and white space stay. The forms of Claude
//! Desktop, Claude Code, Cursor and Windsurf (`mcpServers`), VS Code (`servers`, also below `mcp`)
//! and Zed (`context_servers`) are known.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::json_span::{JsonSpan, Splice, quoted, skip_string, splice};

/// Keys of objects whose members are servers.
const LISTS: [&str; 3] = ["mcpServers", "servers", "context_servers"];
/// Keys of objects that may hold such an object: VS Code's settings, and projects of Claude Code.
const PARENTS: [&str; 2] = ["mcp", "projects"];
/// Keys of a server's URL.
const URLS: [&str; 2] = ["url", "serverUrl"];

/// An edited configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wrapped {
    /// The new text.
    pub text: String,
    /// The servers that were changed.
    pub changed: Vec<String>,
    /// The servers that were not changed, each with the reason.
    pub left: Vec<(String, &'static str)>,
}

/// The error for a configuration that cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapError(String);

impl fmt::Display for WrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrapError {}

/// Puts every server of a configuration behind goodcall. `goodcall` is the program to start.
///
/// # Errors
/// If the text is not JSON (with comments), or has no servers in a known form.
pub fn wrap_config(text: &str, goodcall: &str) -> Result<Wrapped, WrapError> {
    let plain = without_comments(text);
    let mut edits = ConfigEdits::default();
    for (name, range) in servers(&plain)? {
        let entry = parse_entry(&plain, &range)?;
        let new = wrap_entry(&name, &entry, goodcall);
        let new = new.map(|new| format_entry(&new, text, range.start));
        edits.add(name, range, new);
    }
    Ok(edits.apply(text))
}

/// Undoes [`wrap_config`]. Entries are restored to the letter if `before` is the text as it was;
/// otherwise they are derived from the wrapped ones.
///
/// # Errors
/// As [`wrap_config`].
pub fn unwrap_config(text: &str, before: Option<&str>) -> Result<Wrapped, WrapError> {
    let plain = without_comments(text);
    let before = before.map(|before| (before, without_comments(before)));
    let mut edits = ConfigEdits::default();
    for (name, range) in servers(&plain)? {
        let entry = parse_entry(&plain, &range)?;
        let Some(wrapped) = WrappedServer::read(&entry) else {
            edits.add(name, range, Err("is not behind goodcall"));
            continue;
        };
        let original = before
            .as_ref()
            .and_then(|(text, plain)| original_entry(&name, text, plain));
        let derived = || {
            let entry = wrapped.unwrap_entry(&entry)?;
            Some(format_entry(&entry, text, range.start))
        };
        let new = original.map(str::to_owned).or_else(derived);
        edits.add(name, range.clone(), new.ok_or("its old form is not known"));
    }
    Ok(edits.apply(text))
}

/// The entry of a server in the configuration as it was, unless it was behind goodcall then.
fn original_entry<'t>(name: &str, text: &'t str, plain: &str) -> Option<&'t str> {
    let servers = servers(plain).ok()?;
    let (_, range) = servers.into_iter().find(|(known, _)| known == name)?;
    let entry = parse_entry(plain, &range).ok()?;
    WrappedServer::read(&entry).is_none().then(|| &text[range])
}

/// The changes to a configuration.
#[derive(Default)]
struct ConfigEdits {
    splices: Vec<Splice>,
    changed: Vec<String>,
    left: Vec<(String, &'static str)>,
}

impl ConfigEdits {
    fn add(&mut self, server: String, range: Range<usize>, new: Result<String, &'static str>) {
        match new {
            Ok(new) => {
                self.splices.push((range, new));
                self.changed.push(server);
            }
            Err(why) => self.left.push((server, why)),
        }
    }

    fn apply(self, text: &str) -> Wrapped {
        Wrapped {
            text: to_text(splice(text.as_bytes(), self.splices)),
            changed: self.changed,
            left: self.left,
        }
    }
}

/// Finds the servers of a configuration: their names, which several projects may share, and the
/// ranges of their entries.
fn servers(plain: &str) -> Result<Vec<(String, Range<usize>)>, WrapError> {
    if let Err(error) = serde_json::from_str::<IgnoredAny>(plain) {
        return Err(WrapError(format!("the text is not JSON: {error}")));
    }
    let mut found = Vec::new();
    let document = JsonSpan::document(plain.as_bytes());
    collect_servers(document, "", 0, &mut found);
    if found.is_empty() {
        let keys = LISTS.join(", ");
        let why = format!("no servers found: expected one of the keys {keys}");
        return Err(WrapError(why));
    }
    Ok(found)
}

fn collect_servers(
    object: JsonSpan<'_>,
    prefix: &str,
    depth: usize,
    found: &mut Vec<(String, Range<usize>)>,
) {
    for (key, value) in object.members() {
        if LISTS.contains(&&*key) {
            for (name, entry) in value.members() {
                found.push((format!("{prefix}{name}"), entry.range()));
            }
        } else if depth == 0 && PARENTS.contains(&&*key) {
            collect_servers(value, prefix, 1, found);
        } else if depth == 1 && value.is_object() && key.contains(['/', '\\']) {
            // A project, named by its folder.
            collect_servers(value, &format!("{key}: "), 2, found);
        }
    }
}

fn parse_entry(plain: &str, range: &Range<usize>) -> Result<Map<String, Value>, WrapError> {
    let entry = &plain[range.clone()];
    serde_json::from_str(entry).map_err(|error| WrapError(format!("a server's entry: {error}")))
}

/// Returns the entry of a server behind goodcall, or why it cannot be put there.
fn wrap_entry(
    name: &str,
    entry: &Map<String, Value>,
    goodcall: &str,
) -> Result<Map<String, Value>, &'static str> {
    if WrappedServer::read(entry).is_some() {
        return Err("is behind goodcall already");
    }
    // The name may have the project in front of it.
    let name = name.rsplit(": ").next().unwrap_or(name);
    let mut head = vec![json!("mcp"), json!("--name"), json!(name)];
    if let Some(url) = URLS.iter().find_map(|key| entry.get(*key)) {
        return wrap_url(entry, url, head, goodcall);
    }
    let mut new = entry.clone();
    head.push(json!("--"));
    match entry.get("command") {
        Some(Value::String(command)) => {
            head.push(json!(command));
            head.extend(arguments(entry));
            new.insert("command".to_owned(), json!(goodcall));
            new.insert("args".to_owned(), Value::Array(head));
            Ok(new)
        }
        // The older form of Zed.
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

fn wrap_url(
    entry: &Map<String, Value>,
    url: &Value,
    mut arguments: Vec<Value>,
    goodcall: &str,
) -> Result<Map<String, Value>, &'static str> {
    if entry.get("type").and_then(Value::as_str) == Some("sse") {
        return Err("speaks the old SSE transport, which goodcall does not");
    }
    arguments.extend([json!("--url"), url.clone()]);
    let mut env = Map::new();
    let headers = entry.get("headers").and_then(Value::as_object);
    for (index, (key, value)) in headers.into_iter().flatten().enumerate() {
        // A header may be a secret, which must not appear on a command line.
        let variable = format!("GOODCALL_HEADER_{index}");
        arguments.extend([json!("--header"), json!(format!("{key}: ${{{variable}}}"))]);
        env.insert(variable, value.clone());
    }
    let mut new = entry.clone();
    new.retain(|key, _| !URLS.contains(&key.as_str()) && key != "headers");
    if new.contains_key("type") {
        new.insert("type".to_owned(), json!("stdio"));
    }
    new.insert("command".to_owned(), json!(goodcall));
    new.insert("args".to_owned(), Value::Array(arguments));
    if !env.is_empty() {
        new.insert("env".to_owned(), Value::Object(env));
    }
    Ok(new)
}

fn arguments(entry: &Map<String, Value>) -> Vec<Value> {
    entry
        .get("args")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}

/// A server that is behind goodcall, as its entry describes it.
enum WrappedServer {
    /// The command with its arguments.
    Command(Vec<Value>),
    Url,
}

impl WrappedServer {
    fn read(entry: &Map<String, Value>) -> Option<Self> {
        let (program, words) = match entry.get("command")? {
            Value::String(command) => (command.as_str(), arguments(entry)),
            Value::Object(command) => (command.get("path")?.as_str()?, arguments(command)),
            _ => return None,
        };
        let stem = Path::new(program).file_stem()?.to_str()?;
        if stem != "goodcall" || words.first() != Some(&json!("mcp")) {
            return None;
        }
        Some(match words.iter().position(|word| word == "--") {
            Some(at) => Self::Command(words[at + 1..].to_vec()),
            None => Self::Url,
        })
    }

    /// Returns the entry without goodcall; `None` if it does not say enough.
    fn unwrap_entry(&self, entry: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Self::Command(words) = self else {
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

/// Writes an entry with the indentation of its place in the file.
fn format_entry(entry: &Map<String, Value>, text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let indent: String = text[line..]
        .chars()
        .take_while(|c| c.is_whitespace() && *c != '\n')
        .collect();
    let unit = if indent.starts_with('\t') { "\t" } else { "  " };
    let mut out = String::from("{");
    for (index, (key, value)) in entry.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        out.push_str(&format!("{comma}\n{indent}{unit}{}: {value}", quoted(key)));
    }
    out.push_str(&format!("\n{indent}}}"));
    out
}

/// Returns the text with comments, and commas before a closing bracket, replaced by spaces. Every
/// other byte stays in its place.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut comma = None;
    while let Some(byte) = bytes.get(at).copied() {
        let comment_end = match (byte, bytes.get(at + 1)) {
            (b'/', Some(b'/')) => find(&bytes, at, b"\n"),
            (b'/', Some(b'*')) => find(&bytes, at + 2, b"*/") + 2,
            _ => at,
        };
        if comment_end > at {
            let end = comment_end.min(bytes.len());
            let comment = bytes[at..end].iter_mut();
            comment
                .filter(|byte| **byte != b'\n')
                .for_each(|byte| *byte = b' ');
            at = end;
            continue;
        }
        match byte {
            b'"' => {
                at = skip_string(&bytes, at).unwrap_or(bytes.len());
                comma = None;
                continue;
            }
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
    to_text(bytes)
}

/// The position of a pattern from `start` on, or the end of the text.
fn find(bytes: &[u8], start: usize, pattern: &[u8]) -> usize {
    let rest = &bytes[start..];
    let found = rest
        .windows(pattern.len())
        .position(|window| window == pattern);
    found.map_or(bytes.len(), |found| start + found)
}

fn to_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("whole characters of a text were replaced by other text")
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
    fn wraps_claude_desktop_claude_code_and_cursor() {
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
    fn wraps_vs_code_with_comments_and_a_url() {
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
    fn wraps_windsurf_and_zed() {
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
    fn text_without_servers_is_an_error() {
        assert!(
            wrap_config("{", "g")
                .unwrap_err()
                .to_string()
                .contains("not JSON")
        );
        assert!(
            wrap_config("{\"a\": 1}", "g")
                .unwrap_err()
                .to_string()
                .contains("no servers found")
        );
    }
}
