//! Configurations in JSON, with or without comments and trailing commas.

use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};

use super::servers::{self, ConfiguredServer};
use super::wrapped_words::{
    UrlServer, before_command, command_start, is_goodcall, is_own_variable, refuses,
};
use super::{NOT_WRAPPED, WRAPPED_ALREADY, WrapError, Wrapped};
use crate::json_span::{JsonSpan, Splice, quoted, skip_space, skip_string, splice};

/// Keys of objects whose members are servers.
const LISTS: [&str; 5] = [
    "mcpServers",
    "servers",
    "context_servers",
    "mcp.servers",
    "amp.mcpServers",
];
/// Keys of objects that may hold such an object: settings of VS Code and dev containers, and the
/// projects of Claude Code. Below `mcp` opencode and Crush have the servers themselves.
const PARENTS: [&str; 4] = ["mcp", "projects", "customizations", "vscode"];
/// Keys of a server's URL. Gemini writes `httpUrl`, and means the old transport by `url`.
const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];
/// Keys of an entry whose client logs in or makes headers itself.
const LOGINS: [&str; 4] = ["oauth", "auth", "headersHelper", "authProviderType"];

/// A server of a configuration.
struct Entry<'t> {
    /// The keys that lead to it.
    path: Vec<String>,
    span: JsonSpan<'t>,
}

impl Entry<'_> {
    /// The name of the server.
    fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// The name, with the project to which it belongs.
    fn title(&self) -> String {
        let project = self.path.iter().find(|key| key.contains(['/', '\\']));
        let project = project.filter(|key| *key != self.name());
        project.map_or(self.name().to_owned(), |key| {
            format!("{key}: {}", self.name())
        })
    }

    fn parse(&self) -> Result<Map<String, Value>, &'static str> {
        serde_json::from_slice(self.span.bytes()).map_err(|_| "is not an object that can be read")
    }

    /// The member with this key: its range with the key, and its value.
    fn member(&self, plain: &str, key: &str) -> Option<(Range<usize>, JsonSpan<'_>)> {
        member(self.span, plain, key)
    }
}

fn member<'t>(
    object: JsonSpan<'t>,
    plain: &str,
    key: &str,
) -> Option<(Range<usize>, JsonSpan<'t>)> {
    let value = object.get(key)?;
    let before = plain
        .get(..value.range().start)?
        .trim_end()
        .strip_suffix(':')?;
    let start = before.trim_end().strip_suffix('"')?.rfind('"')?;
    Some((start..value.range().end, value))
}

pub(super) fn wrap(text: &str, goodcall: &str, file: &Path) -> Result<Wrapped, WrapError> {
    let plain = without_comments(text);
    let mut edits = ConfigEdits::default();
    for entry in entries(&plain)? {
        let splices = wrap_entry(&entry, &plain, goodcall, file);
        edits.add(&entry, splices);
    }
    Ok(edits.apply(text))
}

pub(super) fn servers(text: &str) -> Result<Vec<ConfiguredServer>, WrapError> {
    let plain = without_comments(text);
    let found = entries(&plain)?.into_iter().map(|entry| {
        let server = entry.parse().map_err(str::to_owned).and_then(|parsed| {
            let url = URLS.iter().find_map(|key| parsed.get(*key)?.as_str());
            servers::read(&parsed, command_of(&parsed), url)
        });
        let name = entry.title();
        ConfiguredServer { name, server }
    });
    Ok(found.collect())
}

pub(super) fn unwrap(text: &str, before: Option<&str>, file: &Path) -> Result<Wrapped, WrapError> {
    let plain = without_comments(text);
    let before = before.map(|before| (before, without_comments(before)));
    let mut edits = ConfigEdits::default();
    for entry in entries(&plain)? {
        let program = match entry.parse() {
            Ok(parsed) => goodcall_program(&parsed),
            Err(_) => None,
        };
        let Some(program) = program else {
            edits.add(&entry, Err(NOT_WRAPPED));
            continue;
        };
        let now = &text[entry.span.range()];
        let original = before
            .as_ref()
            .and_then(|(text, plain)| original(&entry.path, text, plain, &program, now, file));
        let splices = match original {
            Some(original) => Ok(vec![(entry.span.range(), original)]),
            None => unwrap_entry(&entry, &plain),
        };
        edits.add(&entry, splices);
    }
    Ok(edits.apply(text))
}

/// The entry as it was before it was wrapped, if it is as it was written then: edits that were made
/// since must not be lost.
fn original(
    path: &[String],
    text: &str,
    plain: &str,
    program: &str,
    now: &str,
    file: &Path,
) -> Option<String> {
    let entry = entries(plain)
        .ok()?
        .into_iter()
        .find(|entry| entry.path == path)?;
    let splices = wrap_entry(&entry, plain, program, file).ok()?;
    let range = entry.span.range();
    let moved = splices.into_iter().map(|(at, new)| {
        let at = at.start - range.start..at.end - range.start;
        (at, new)
    });
    let old = &text[range.clone()];
    let wrapped = splice(old.as_bytes(), moved.collect());
    (wrapped == now.as_bytes()).then(|| old.to_owned())
}

/// The changes to a configuration.
#[derive(Default)]
struct ConfigEdits {
    splices: Vec<Splice>,
    changed: Vec<String>,
    left: Vec<(String, &'static str)>,
}

impl ConfigEdits {
    fn add(&mut self, entry: &Entry<'_>, splices: Result<Vec<Splice>, &'static str>) {
        match splices {
            Ok(splices) => {
                self.splices.extend(splices);
                self.changed.push(entry.title());
            }
            Err(why) => self.left.push((entry.title(), why)),
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

/// Finds the servers of a configuration.
fn entries(plain: &str) -> Result<Vec<Entry<'_>>, WrapError> {
    // A byte order mark is not a part of the text.
    let start = plain.len() - plain.trim_start_matches('\u{feff}').len();
    let document = JsonSpan::new(
        plain.as_bytes(),
        &(skip_space(plain.as_bytes(), start)..plain.len()),
    );
    let mut members = document.members();
    members.by_ref().for_each(drop);
    if !members.is_complete() {
        let text = "the text is not JSON: expected an object with servers";
        return Err(WrapError(text.to_owned()));
    }
    let mut found = Vec::new();
    collect(document, &mut Vec::new(), &mut found);
    if found.is_empty() {
        // Warp has the servers at the top.
        add_servers(document, &[], &mut found);
    }
    if found.is_empty() {
        let keys = LISTS.join(", ");
        let why = format!("no servers found: expected one of the keys {keys}, mcp or mcp_servers");
        return Err(WrapError(why));
    }
    Ok(found)
}

fn collect<'t>(object: JsonSpan<'t>, path: &mut Vec<String>, found: &mut Vec<Entry<'t>>) {
    for (key, value) in object.members() {
        let in_projects = path.last().is_some_and(|parent| parent == "projects");
        let is_list = LISTS.contains(&&*key);
        path.push(key.clone().into_owned());
        if is_list {
            for (name, span) in value.members() {
                let path = path.iter().cloned().chain([name.into_owned()]).collect();
                found.push(Entry { path, span });
            }
        } else if (PARENTS.contains(&&*key) || in_projects) && path.len() <= 4 {
            collect(value, path, found);
            if key == "mcp" {
                add_servers(value, path, found);
            }
        }
        path.pop();
    }
}

/// Adds the members that are servers by their own keys.
fn add_servers<'t>(object: JsonSpan<'t>, path: &[String], found: &mut Vec<Entry<'t>>) {
    for (name, span) in object.members() {
        let is_server = ["command", "url"].iter().any(|key| span.get(key).is_some());
        if is_server {
            let path = path.iter().cloned().chain([name.into_owned()]).collect();
            found.push(Entry { path, span });
        }
    }
}

/// The program of an entry that is behind goodcall.
fn goodcall_program(entry: &Map<String, Value>) -> Option<String> {
    let (program, words) = command_of(entry)?;
    is_goodcall(&program, words.first().map(String::as_str)).then_some(program)
}

/// The program and the words behind it.
fn command_of(entry: &Map<String, Value>) -> Option<(String, Vec<String>)> {
    let words = |value: Option<&Value>| {
        let words = value.and_then(Value::as_array).into_iter().flatten();
        words
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    match entry.get("command")? {
        Value::String(program) => Some((program.clone(), words(entry.get("args")))),
        Value::Object(command) => {
            let program = command.get("path")?.as_str()?;
            Some((program.to_owned(), words(command.get("args"))))
        }
        list => {
            let mut all = words(Some(list));
            let program = (!all.is_empty()).then(|| all.remove(0))?;
            Some((program, all))
        }
    }
}

/// The changes that put a server behind goodcall, or why it cannot be put there.
fn wrap_entry(
    entry: &Entry<'_>,
    plain: &str,
    goodcall: &str,
    file: &Path,
) -> Result<Vec<Splice>, &'static str> {
    let parsed = entry.parse()?;
    if goodcall_program(&parsed).is_some() {
        return Err(WRAPPED_ALREADY);
    }
    if let Some(key) = URLS.into_iter().find(|key| parsed.contains_key(*key)) {
        return wrap_url(entry, plain, &parsed, key, goodcall, file);
    }
    let (program, _) = command_of(&parsed).ok_or("has no command and no URL")?;
    let mut words = before_command(entry.name());
    let command = entry
        .span
        .get("command")
        .ok_or("has no command and no URL")?;
    if command.elements().is_some() {
        words.insert(0, goodcall.to_owned());
        return Ok(vec![insert_first(command, &words)]);
    }
    words.push(program);
    let (owner, key) = if command.is_object() {
        (command, "path")
    } else {
        (entry.span, "command")
    };
    let (_, value) = member(owner, plain, key).ok_or("has no command and no URL")?;
    let mut splices = vec![(value.range(), quoted(goodcall))];
    match owner.get("args") {
        Some(arguments) => splices.push(insert_first(arguments, &words)),
        None => {
            let end = value.range().end;
            splices.push((end..end, format!(", \"args\": [{}]", list(&words))));
        }
    }
    Ok(splices)
}

fn wrap_url(
    entry: &Entry<'_>,
    plain: &str,
    parsed: &Map<String, Value>,
    key: &str,
    goodcall: &str,
    file: &Path,
) -> Result<Vec<Splice>, &'static str> {
    let kind = parsed.get("type").or_else(|| parsed.get("transport"));
    let kind = kind.and_then(Value::as_str);
    let sse = kind == Some("sse") || (kind.is_none() && key == "url" && means_sse(file));
    if LOGINS.iter().any(|key| parsed.contains_key(*key)) {
        return Err("is logged in to by the client, which goodcall cannot do for it");
    }
    let is_opencode = kind == Some("remote");
    let url = parsed
        .get(key)
        .and_then(Value::as_str)
        .ok_or("has no command and no URL")?;
    let headers = parsed.get("headers").and_then(Value::as_object);
    let headers = headers
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    let server = UrlServer {
        url: url.to_owned(),
        headers: headers.collect(),
        sse,
    };
    if let Some(why) = refuses(url, !server.headers.is_empty()) {
        return Err(why);
    }
    let start = server.start(entry.name());
    let (range, _) = entry
        .member(plain, key)
        .ok_or("has no command and no URL")?;
    let mut new = if is_opencode {
        let words: Vec<_> = [goodcall.to_owned()]
            .into_iter()
            .chain(start.words)
            .collect();
        format!("\"command\": [{}]", list(&words))
    } else {
        let (goodcall, words) = (quoted(goodcall), list(&start.words));
        format!("\"command\": {goodcall}, \"args\": [{words}]")
    };
    let mut splices = Vec::new();
    if let Some((_, kind)) = entry.member(plain, "type") {
        let kind_now = if is_opencode { "local" } else { "stdio" };
        splices.push((kind.range(), quoted(kind_now)));
    }
    let env_key = if is_opencode { "environment" } else { "env" };
    let variables = start.variables.iter();
    let variables = variables.map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
    let variables = variables.collect::<Vec<_>>().join(", ");
    match entry.span.get(env_key).filter(|env| env.is_object()) {
        _ if variables.is_empty() => {}
        Some(env) => {
            let separator = if env.members().count() == 0 { "" } else { ", " };
            let at = env.range().start + 1;
            splices.push((at..at, format!("{variables}{separator}")));
        }
        None => new.push_str(&format!(", \"{env_key}\": {{{variables}}}")),
    }
    if let Some((headers, _)) = entry.member(plain, "headers") {
        splices.push((with_comma(plain, headers), String::new()));
    }
    splices.push((range, new));
    Ok(splices)
}

/// Returns true if the client of this file means the old transport where an entry has only `url`.
fn means_sse(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    let folder = file
        .parent()
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    name == Some("cline_mcp_settings.json") || folder == Some(".gemini")
}

/// The changes that take goodcall away from a server, derived from the entry alone.
fn unwrap_entry(entry: &Entry<'_>, plain: &str) -> Result<Vec<Splice>, &'static str> {
    let parsed = entry.parse()?;
    let unknown = "its old form is not known";
    let (_, words) = command_of(&parsed).ok_or(unknown)?;
    let command = entry.span.get("command").ok_or(unknown)?;
    let Some(at) = command_start(&words) else {
        return unwrap_url(entry, plain, &parsed, &words);
    };
    if let Some(elements) = command.elements() {
        // The list begins with the program itself.
        let (first, program) = (&elements[0], &elements[at + 1]);
        return Ok(vec![(
            first.range().start..program.range().start,
            String::new(),
        )]);
    }
    let (owner, key) = if command.is_object() {
        (command, "path")
    } else {
        (entry.span, "command")
    };
    let program = owner.get(key).ok_or(unknown)?;
    let arguments = owner
        .get("args")
        .and_then(JsonSpan::elements)
        .ok_or(unknown)?;
    let end = match arguments.get(at + 1) {
        Some(next) => next.range().start,
        None => arguments[at].range().end,
    };
    Ok(vec![
        (program.range(), quoted(&words[at])),
        (arguments[0].range().start..end, String::new()),
    ])
}

fn unwrap_url(
    entry: &Entry<'_>,
    plain: &str,
    parsed: &Map<String, Value>,
    words: &[String],
) -> Result<Vec<Splice>, &'static str> {
    let unknown = "its old form is not known";
    let env_key = if parsed.contains_key("environment") {
        "environment"
    } else {
        "env"
    };
    let env = parsed.get(env_key).and_then(Value::as_object);
    let variable = |name: &str| Some(env?.get(name)?.as_str()?.to_owned());
    let server = UrlServer::read(words, variable).ok_or(unknown)?;
    let mut new = format!("\"url\": {}", quoted(&server.url));
    if !server.headers.is_empty() {
        let headers = server.headers.iter();
        let headers = headers.map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
        let headers = headers.collect::<Vec<_>>().join(", ");
        new.push_str(&format!(", \"headers\": {{{headers}}}"));
    }
    let (command, _) = entry.member(plain, "command").ok_or(unknown)?;
    let mut splices = vec![(command, new)];
    if let Some((_, kind)) = entry.member(plain, "type") {
        let kind_then = match kind.as_str().as_deref() {
            Some("local") => "remote",
            _ if server.sse => "sse",
            _ => "http",
        };
        splices.push((kind.range(), quoted(kind_then)));
    }
    if let Some((arguments, _)) = entry.member(plain, "args") {
        splices.push((with_comma(plain, arguments), String::new()));
    }
    if let Some((range, env)) = entry.member(plain, env_key) {
        let kept: Vec<_> = env
            .members()
            .filter(|(key, _)| !is_own_variable(key))
            .collect();
        if kept.is_empty() {
            splices.push((with_comma(plain, range), String::new()));
        } else {
            let kept = kept
                .iter()
                .filter_map(|(key, value)| Some(format!("{}: {}", quoted(key), value.raw()?)));
            let kept = kept.collect::<Vec<_>>().join(", ");
            splices.push((env.range(), format!("{{{kept}}}")));
        }
    }
    Ok(splices)
}

/// The range of a member together with the comma that separates it from another.
fn with_comma(plain: &str, member: Range<usize>) -> Range<usize> {
    let before = plain[..member.start].trim_end();
    if before.ends_with(',') {
        return before.len() - 1..member.end;
    }
    let next = skip_space(plain.as_bytes(), member.end);
    if plain[next..].starts_with(',') {
        return member.start..skip_space(plain.as_bytes(), next + 1);
    }
    member
}

/// The splice that puts words in front of the elements of an array.
fn insert_first(array: JsonSpan<'_>, words: &[String]) -> Splice {
    let at = array.range().start + 1;
    let is_empty = array.elements().is_none_or(|all| all.is_empty());
    let separator = if is_empty { "" } else { ", " };
    (at..at, format!("{}{separator}", list(words)))
}

fn list(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    words.join(", ")
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
    use serde_json::json;

    use super::*;

    const GOODCALL: &str = "/bin/goodcall";

    /// Wraps and unwraps a configuration, with the text as it was and without it.
    fn round_trip(text: &str, file: &str) -> (Value, Wrapped) {
        let file = Path::new(file);
        let wrapped = wrap(text, GOODCALL, file).unwrap();
        let again = wrap(&wrapped.text, GOODCALL, file).unwrap();
        assert!(again.changed.is_empty(), "wrapped twice: {}", again.text);
        let back = unwrap(&wrapped.text, Some(text), file).unwrap();
        assert_eq!(back.text, text);
        assert_eq!(back.changed, wrapped.changed);
        let parse = |text: &str| {
            let plain = without_comments(text.trim_start_matches('\u{feff}'));
            serde_json::from_str::<Value>(&plain).unwrap()
        };
        // Derived entries have an empty list where there was none.
        let derived = unwrap(&wrapped.text, None, file).unwrap().text;
        let derived = parse(&derived).to_string().replace(",\"args\":[]", "");
        let derived = derived.replace("\"args\":[],", "");
        let expected = parse(text).to_string().replace(",\"args\":[]", "");
        assert_eq!(derived, expected.replace("\"args\":[],", ""));
        (parse(&wrapped.text), wrapped)
    }

    #[test]
    fn entries_of_all_clients_are_wrapped_and_undone_to_the_letter() {
        for (file, text) in [
            // Claude Desktop, Claude Code, Cursor, Kiro, LM Studio, JetBrains, Copilot CLI.
            (
                "claude_desktop_config.json",
                r#"{"theme": "dark", "mcpServers": {"s": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}}}"#,
            ),
            (
                "claude.json",
                r#"{"mcpServers": {"s": {"command": "a"}}, "projects": {"/home/me": {"mcpServers": {"s": {"type": "stdio", "command": "x", "args": []}}}}}"#,
            ),
            // VS Code in three places.
            (
                "mcp.json",
                "{\n\t// mine\n\t\"servers\": {\n\t\t\"s\": { /* a */ \"command\": \"x\", // b\n\t\t\t\"args\": [\n\t\t\t\t\"1\", // one\n\t\t\t],\n\t\t},\n\t},\n}\n",
            ),
            (
                "settings.json",
                r#"{"mcp": {"servers": {"s": {"command": "x", "args": ["y"]}}}, "mcp.servers": {"t": {"command": "z"}}}"#,
            ),
            (
                "devcontainer.json",
                r#"{"customizations": {"vscode": {"mcp": {"servers": {"s": {"command": "x"}}}}}}"#,
            ),
            // Zed in both forms, opencode, Crush, Amp, Warp, Windsurf, Gemini CLI.
            (
                "settings.json",
                r#"{"context_servers": {"s": {"command": {"path": "x", "args": ["y"]}}, "t": {"command": "x"}}}"#,
            ),
            (
                "opencode.json",
                r#"{"mcp": {"s": {"type": "local", "command": ["npx", "x"], "enabled": true}, "t": {"type": "remote", "url": "https://x.example/mcp", "headers": {"A": "b"}}}}"#,
            ),
            (
                "crush.json",
                r#"{"mcp": {"s": {"type": "stdio", "command": "x", "args": ["y"]}}}"#,
            ),
            (
                "settings.json",
                r#"{"amp.mcpServers": {"s": {"command": "x", "args": []}}}"#,
            ),
            ("warp.json", r#"{"s": {"command": "x", "args": ["y"]}}"#),
            (
                "mcp_config.json",
                r#"{"mcpServers": {"s": {"url": "http://127.0.0.1:8080/mcp"}}}"#,
            ),
            (
                ".gemini/settings.json",
                "\u{feff}{\"mcpServers\": {\"s\": {\"command\": \"x\"}}}\r\n",
            ),
        ] {
            let (_, wrapped) = round_trip(text, file);
            assert!(
                !wrapped.changed.is_empty() && wrapped.left.is_empty(),
                "{text}"
            );
            assert!(!wrapped.text.contains("${"), "{}", wrapped.text);
        }
    }

    #[test]
    fn comments_and_order_inside_an_entry_stay() {
        let text = "{\"mcpServers\": {\"s\": {\n  \"env\": {\"B\": \"1\", \"A\": \"2\"}, // keys\n  \"command\": \"npx\", // runner\n  \"args\": [\"-y\", /* which */ \"x\"]\n}}}";
        let (_, wrapped) = round_trip(text, "mcp.json");
        let expected = text.replace("\"npx\"", "\"/bin/goodcall\"").replace(
            "[\"-y\"",
            "[\"mcp\", \"--name\", \"s\", \"--\", \"npx\", \"-y\"",
        );
        assert_eq!(wrapped.text, expected);
    }

    #[test]
    fn secrets_of_a_url_are_in_variables() {
        let text = r#"{"mcpServers": {"web": {"type": "http", "url": "https://x.example/mcp?key=s3cret", "env": {"A": "1"}, "headers": {"Authorization": "Bearer t0ken"}}}}"#;
        let wrapped = wrap(text, GOODCALL, Path::new("mcp.json")).unwrap();
        let value: Value = serde_json::from_str(&wrapped.text).unwrap();
        let words = json!([
            "mcp",
            "--name",
            "web",
            "--url-env",
            "GOODCALL_URL",
            "--header-env",
            "Authorization=GOODCALL_HEADER_0"
        ]);
        let env = json!({"GOODCALL_URL": "https://x.example/mcp?key=s3cret", "GOODCALL_HEADER_0": "Bearer t0ken", "A": "1"});
        let web = json!({"type": "stdio", "command": GOODCALL, "args": words, "env": env});
        assert_eq!(value["mcpServers"]["web"], web);
        round_trip(text, "mcp.json");
    }

    #[test]
    fn entries_that_cannot_work_are_left_with_the_reason() {
        let text = r#"{"mcpServers": {
            "login": {"url": "https://mcp.example/mcp"},
            "oauth": {"url": "https://x.example/mcp", "headers": {"A": "b"}, "oauth": {}},
            "helper": {"url": "https://x.example/mcp", "headersHelper": "x", "headers": {"A": "b"}},
            "socket": {"url": "ws://127.0.0.1/mcp"},
            "null": null, "text": "x", "none": {}, "big": {"command": 1e400}}}"#;
        let wrapped = wrap(text, GOODCALL, Path::new("mcp.json")).unwrap();
        assert_eq!(wrapped.text, text);
        let left: Vec<_> = wrapped.left.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left.len(), 8, "{left:?}");
    }

    #[test]
    fn servers_of_the_old_transport_are_wrapped_as_such() {
        let says_sse = |text: &str, file: &str| {
            let (_, wrapped) = round_trip(text, file);
            let back = unwrap(&wrapped.text, None, Path::new(file)).unwrap().text;
            let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(parse(&back), parse(text));
            wrapped.text.contains("\"--sse\"")
        };
        let typed = r#"{"mcpServers": {"old": {"type": "sse", "url": "https://x.example/x", "headers": {"A": "b"}}}}"#;
        assert!(says_sse(typed, "mcp.json"));
        // Some clients mean it where only the address is given.
        let typeless = r#"{"mcpServers": {"a": {"url": "http://127.0.0.1/mcp"}}}"#;
        assert!(says_sse(typeless, "/home/me/.gemini/settings.json"));
        assert!(says_sse(typeless, "cline_mcp_settings.json"));
        assert!(!says_sse(typeless, ".cursor/mcp.json"));
    }

    #[test]
    fn edits_after_wrapping_are_kept_and_equal_names_are_told_apart() {
        let text = r#"{"servers": {"a": {"command": "x"}}, "mcpServers": {"a": {"url": "http://127.0.0.1/m", "headers": {"K": "OLD"}}}}"#;
        let (_, wrapped) = round_trip(text, "mcp.json");
        let edited = wrapped.text.replace("OLD", "NEW");
        let back = unwrap(&edited, Some(text), Path::new("mcp.json"))
            .unwrap()
            .text;
        assert_eq!(back, text.replace("OLD", "NEW"));
    }

    #[test]
    fn text_without_servers_is_an_error() {
        for text in ["", "[]", "{", "{}", "{\"mcpServers\": {}}", "not JSON"] {
            assert!(wrap(text, GOODCALL, Path::new("x.json")).is_err(), "{text}");
        }
    }
}
