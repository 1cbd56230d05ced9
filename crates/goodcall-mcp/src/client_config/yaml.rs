//! Configurations in YAML: Goose has servers below `extensions`, Continue below `mcpServers`.

use std::ops::Range;

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

use super::servers::{self, ConfiguredServer};
use super::wrapped_words::{before_command, command_start, is_goodcall};
use super::{NOT_WRAPPED, WRAPPED_ALREADY, WrapError, Wrapped, restored};
use crate::json_span::{Splice, quoted, splice};

/// Keys of the mapping or the list with the servers.
const LISTS: [&str; 2] = ["extensions", "mcpServers"];
/// Keys of a server's program.
const COMMANDS: [&str; 2] = ["cmd", "command"];
/// Keys of a server's address.
const URLS: [&str; 2] = ["uri", "url"];
/// Nesting of a configuration.
const MAX_DEPTH: usize = 64;

/// A value, with its place in the text.
struct YamlNode {
    range: Range<usize>,
    content: YamlContent,
}

enum YamlContent {
    Scalar(String),
    List(Vec<YamlNode>),
    Mapping(Vec<YamlMember>),
}

struct YamlMember {
    key: String,
    /// Where the key begins, in columns.
    column: usize,
    value: YamlNode,
}

/// A server of a configuration.
struct YamlServer<'y> {
    name: String,
    members: &'y [YamlMember],
}

pub(super) fn wrap(text: &str, goodcall: &str) -> Result<Wrapped, WrapError> {
    edit(text, |server| wrap_server(server, text, goodcall))
}

pub(super) fn unwrap(text: &str, before: Option<&str>) -> Result<Wrapped, WrapError> {
    let derived = edit(text, |server| unwrap_server(server, text))?;
    let document = read(text)?;
    let servers = servers_of(&document);
    let program = servers.iter().find_map(|server| {
        let (program, words) = server.command()?;
        is_goodcall(&program, words.first().map(String::as_str)).then_some(program)
    });
    Ok(restored(derived, text, before, program.as_deref(), wrap))
}

pub(super) fn servers(text: &str) -> Result<Vec<ConfiguredServer>, WrapError> {
    let document = read(text)?;
    let found = servers_of(&document).into_iter().map(|server| {
        let members = server.members.iter();
        let entry: Map<_, _> = members
            .map(|member| (member.key.clone(), member.value.to_json()))
            .collect();
        let url = URLS.iter().find_map(|key| entry.get(*key)?.as_str());
        ConfiguredServer {
            server: servers::read(&entry, server.command(), url),
            name: server.name,
        }
    });
    Ok(found.collect())
}

fn edit(
    text: &str,
    change: impl Fn(&YamlServer<'_>) -> Result<Vec<Splice>, &'static str>,
) -> Result<Wrapped, WrapError> {
    let document = read(text)?;
    let servers = servers_of(&document);
    if servers.is_empty() {
        let why = format!(
            "no servers found: expected one of the keys {}",
            LISTS.join(", ")
        );
        return Err(WrapError(why));
    }
    let mut edited = Wrapped::default();
    let mut splices = Vec::new();
    for server in servers {
        match change(&server) {
            Ok(changes) => {
                splices.extend(changes);
                edited.changed.push(server.name);
            }
            Err(why) => edited.left.push((server.name, why)),
        }
    }
    let bytes = splice(text.as_bytes(), splices);
    edited.text = String::from_utf8(bytes).expect("texts were put between whole characters");
    Ok(edited)
}

/// Finds the servers: members of a mapping by their keys, elements of a list by their names.
fn servers_of(document: &YamlNode) -> Vec<YamlServer<'_>> {
    let mut found = Vec::new();
    let lists = LISTS.iter().filter_map(|key| document.get(key));
    for list in lists {
        match &list.content {
            YamlContent::Mapping(members) => found.extend(members.iter().filter_map(|member| {
                let name = member.key.clone();
                let members = member.value.members()?;
                Some(YamlServer { name, members })
            })),
            YamlContent::List(nodes) => found.extend(nodes.iter().filter_map(|node| {
                let name = node.get("name").and_then(YamlNode::text);
                let name = name.unwrap_or("server").to_owned();
                let members = node.members()?;
                Some(YamlServer { name, members })
            })),
            YamlContent::Scalar(_) => {}
        }
    }
    found
}

impl YamlServer<'_> {
    fn member(&self, keys: &[&str]) -> Option<&YamlMember> {
        let mut members = self.members.iter();
        members.find(|member| keys.contains(&member.key.as_str()))
    }

    /// The program and the words behind it.
    fn command(&self) -> Option<(String, Vec<String>)> {
        let program = self.member(&COMMANDS)?.value.text()?.to_owned();
        let words = self.member(&["args"]).and_then(|args| args.value.list());
        let words = words.into_iter().flatten();
        let words = words.filter_map(|word| word.text().map(str::to_owned));
        Some((program, words.collect()))
    }
}

fn wrap_server(
    server: &YamlServer<'_>,
    text: &str,
    goodcall: &str,
) -> Result<Vec<Splice>, &'static str> {
    if server.member(&URLS).is_some() {
        return Err("is behind a URL: in YAML only commands are put behind goodcall");
    }
    let command = server.command().filter(|(program, _)| !program.is_empty());
    let (program, words) = command.ok_or("has no command")?;
    if is_goodcall(&program, words.first().map(String::as_str)) {
        return Err(WRAPPED_ALREADY);
    }
    let command = server.member(&COMMANDS).ok_or("has no command")?;
    let mut before = before_command(&server.name);
    before.push(program);
    let new: Vec<_> = before.iter().map(|word| quoted(word)).collect();
    let range = command.value.range.clone();
    let mut splices = vec![(range.clone(), quoted(goodcall))];
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let added = match server.member(&["args"]).map(|args| &args.value) {
        None => {
            let separator = if is_in_braces(text, server) {
                ", ".to_owned()
            } else {
                format!("{line_end}{}", " ".repeat(command.column))
            };
            let list = format!("{separator}args: [{}]", new.join(", "));
            (range.end..range.end, list)
        }
        Some(args) => {
            let list = args.list().ok_or("its args are not a list")?;
            match list.first() {
                Some(first) if !args.is_flow(text, '[') => {
                    let dash = dash_of(text, first).ok_or("its args are not a list")?;
                    let indent = indent_of(text, dash);
                    let lines = new.iter();
                    let lines = lines.map(|word| format!("- {word}{line_end}{indent}"));
                    (dash..dash, lines.collect())
                }
                first => {
                    let at = args.range.start + 1;
                    let separator = if first.is_some() { ", " } else { "" };
                    (at..at, format!("{}{separator}", new.join(", ")))
                }
            }
        }
    };
    splices.push(added);
    Ok(splices)
}

fn unwrap_server(server: &YamlServer<'_>, text: &str) -> Result<Vec<Splice>, &'static str> {
    let (program, words) = server.command().ok_or(NOT_WRAPPED)?;
    if !is_goodcall(&program, words.first().map(String::as_str)) {
        return Err(NOT_WRAPPED);
    }
    let unknown = "its old form is not known";
    let at = command_start(&words).ok_or(unknown)?;
    let command = server.member(&COMMANDS).ok_or(unknown)?;
    let args = &server.member(&["args"]).ok_or(unknown)?.value;
    let list = args
        .list()
        .filter(|list| list.len() == words.len())
        .ok_or(unknown)?;
    let (first, last) = (&list[0], &list[at]);
    let removed = if args.is_flow(text, '[') {
        let end = list
            .get(at + 1)
            .map_or(last.range.end, |next| next.range.start);
        (first.range.start..end, String::new())
    } else {
        let start = dash_of(text, first).ok_or(unknown)?;
        match list.get(at + 1) {
            Some(next) => (start..dash_of(text, next).ok_or(unknown)?, String::new()),
            None => (start..last.range.end, "[]".to_owned()),
        }
    };
    Ok(vec![
        (command.value.range.clone(), quoted(&words[at])),
        removed,
    ])
}

/// Returns true if the members of a server stand in braces.
fn is_in_braces(text: &str, server: &YamlServer<'_>) -> bool {
    let first = server.members.first();
    let before = first.and_then(|member| {
        let start = text[..member.value.range.start].rfind(&member.key)?;
        let before = text[..start].trim_end_matches(['"', '\'']);
        before.trim_end().chars().next_back()
    });
    matches!(before, Some('{' | ','))
}

/// Where the dash of a list's element is: on its line, in front of it.
fn dash_of(text: &str, element: &YamlNode) -> Option<usize> {
    let before = &text[..element.range.start];
    let trimmed = before.trim_end_matches([' ', '"', '\'']);
    trimmed.ends_with('-').then(|| trimmed.len() - 1)
}

/// The width of the text in front of this place on its line, as spaces.
fn indent_of(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    " ".repeat(text[line..at].chars().count())
}

impl YamlNode {
    fn text(&self) -> Option<&str> {
        match &self.content {
            YamlContent::Scalar(text) => Some(text),
            YamlContent::List(_) | YamlContent::Mapping(_) => None,
        }
    }

    fn list(&self) -> Option<&[YamlNode]> {
        match &self.content {
            YamlContent::List(list) => Some(list),
            YamlContent::Scalar(_) | YamlContent::Mapping(_) => None,
        }
    }

    fn members(&self) -> Option<&[YamlMember]> {
        match &self.content {
            YamlContent::Mapping(members) => Some(members),
            YamlContent::Scalar(_) | YamlContent::List(_) => None,
        }
    }

    fn get(&self, key: &str) -> Option<&YamlNode> {
        let member = self.members()?.iter().find(|member| member.key == key)?;
        Some(&member.value)
    }

    fn is_flow(&self, text: &str, bracket: char) -> bool {
        text[self.range.start..].starts_with(bracket)
    }

    fn to_json(&self) -> Value {
        match &self.content {
            YamlContent::Scalar(text) => Value::from(text.as_str()),
            YamlContent::List(list) => list.iter().map(Self::to_json).collect(),
            YamlContent::Mapping(members) => {
                let members = members.iter();
                let members = members.map(|one| (one.key.clone(), one.value.to_json()));
                Value::Object(members.collect())
            }
        }
    }
}

/// A container that is being read.
struct OpenNode {
    start: usize,
    column: usize,
    is_mapping: bool,
    /// The values so far, with the columns where they begin; keys and values of a mapping in turn.
    values: Vec<(usize, YamlNode)>,
}

/// Reads the first document of a text.
fn read(text: &str) -> Result<YamlNode, WrapError> {
    // Places are counted in characters there, and in bytes here.
    let mut offsets: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
    offsets.push(text.len());
    let byte = |index: usize| offsets.get(index).copied().unwrap_or(text.len());
    let mut open = Vec::<OpenNode>::new();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| WrapError(format!("the text is not YAML: {error}")))?;
        let range = byte(span.start.index())..byte(span.end.index());
        let (column, node) = match event {
            Event::Scalar(value, ..) => {
                let content = YamlContent::Scalar(value.into_owned());
                (span.start.col(), YamlNode { range, content })
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= MAX_DEPTH {
                    return Err(WrapError("the text nests too deeply".to_owned()));
                }
                open.push(OpenNode {
                    start: range.start,
                    column: span.start.col(),
                    is_mapping: matches!(event, Event::MappingStart(..)),
                    values: Vec::new(),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(node) = open.pop() else { continue };
                (node.column, node.close(range.end))
            }
            Event::Alias(_) => {
                // What it stands for is elsewhere, and cannot be edited here.
                let content = YamlContent::Scalar(String::new());
                (span.start.col(), YamlNode { range, content })
            }
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.values.push((column, node)),
            None => return Ok(node),
        }
    }
    Err(WrapError("the text has no servers".to_owned()))
}

impl OpenNode {
    fn close(self, end: usize) -> YamlNode {
        let range = self.start..end.max(self.start);
        let content = if self.is_mapping {
            let mut values = self.values.into_iter();
            let mut members = Vec::new();
            while let (Some((column, key)), Some((_, value))) = (values.next(), values.next()) {
                let key = key.text().unwrap_or_default().to_owned();
                members.push(YamlMember { key, column, value });
            }
            YamlContent::Mapping(members)
        } else {
            YamlContent::List(self.values.into_iter().map(|(_, node)| node).collect())
        };
        YamlNode { range, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOSE: &str = "# mine: é\nextensions:\n  fetch: # the web\n    type: stdio\n    cmd: uvx # runner\n    args:\n      # quiet\n      - \"mcp-server-fetch\"\n      - --quiet\n    envs: {}\n  files:\n    cmd: 'files'\n    enabled: true\n  tight: {cmd: x, args: [a, b]}\n  bare: {\"cmd\": y}\n  empty:\n    cmd: z\n    args: []\n  developer:\n    type: builtin\n  web:\n    type: streamable_http\n    uri: https://x.example/mcp\n";
    const CONTINUE: &str = "name: mine\r\nmcpServers:\r\n  - name: sqlite\r\n    command: npx\r\n    args:\r\n    - -y\r\n    - mcp-sqlite\r\n  - command: solo\r\n";

    #[test]
    fn servers_in_yaml_are_wrapped_where_they_stand() {
        let wrapped = wrap(GOOSE, "/bin/goodcall").unwrap();
        assert_eq!(
            wrapped.changed,
            ["fetch", "files", "tight", "bare", "empty"]
        );
        assert_eq!(wrapped.left.len(), 2);
        let text = &wrapped.text;
        assert!(text.contains(
            "    cmd: \"/bin/goodcall\" # runner\n    args:\n      # quiet\n      - \"mcp\"\n      - \"--name\"\n      - \"fetch\"\n      - \"--\"\n      - \"uvx\"\n      - \"mcp-server-fetch\"\n      - --quiet\n"
        ), "{text}");
        assert!(text.contains(
            "    cmd: \"/bin/goodcall\"\n    args: [\"mcp\", \"--name\", \"files\", \"--\", \"files\"]\n    enabled: true\n"
        ), "{text}");
        assert!(text.contains(
            "{cmd: \"/bin/goodcall\", args: [\"mcp\", \"--name\", \"tight\", \"--\", \"x\", a, b]}"
        ), "{text}");
        assert!(
            text.contains(
                "{\"cmd\": \"/bin/goodcall\", args: [\"mcp\", \"--name\", \"bare\", \"--\", \"y\"]}"
            ),
            "{text}"
        );
        assert!(wrap(text, "/bin/goodcall").unwrap().changed.is_empty());
        assert!(wrap("a: 1", "g").is_err() && wrap("a: [", "g").is_err() && wrap("", "g").is_err());
    }

    #[test]
    fn wrapping_yaml_is_undone_to_the_letter_and_keeps_edits() {
        for before in [GOOSE, CONTINUE] {
            let wrapped = wrap(before, "goodcall").unwrap().text;
            assert_ne!(wrapped, before);
            assert_eq!(unwrap(&wrapped, Some(before)).unwrap().text, before);
            // After an edit, and without the original, the commands are the same.
            let edited = format!("{wrapped}# new\n");
            let back = unwrap(&edited, Some(before)).unwrap().text;
            assert!(
                back.ends_with("# new\n") && !back.contains("goodcall"),
                "{back}"
            );
            let commands = |text: &str| {
                let document = read(text).unwrap();
                let servers = servers_of(&document);
                let commands = servers.iter().map(YamlServer::command);
                commands.collect::<Vec<_>>()
            };
            assert_eq!(commands(&back), commands(before));
        }
    }
}
