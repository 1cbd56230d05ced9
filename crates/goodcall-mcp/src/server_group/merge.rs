//! Puts the answers of several servers together.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::frame::Frame;
use crate::json_span::{JsonSpan, quoted, splice};
use crate::tool_view::ToolView;

/// What a list request lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub(super) fn of_method(method: &str) -> Option<Self> {
        let all = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];
        all.into_iter().find(|kind| kind.method() == method)
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The key of the list in a result.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The capability of servers that have such a list.
    pub(super) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// The key by which one entry differs from the others.
    fn identity(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// One entry of a merged list.
#[derive(Debug)]
pub(super) struct ListEntry {
    /// What the server calls it.
    pub(super) own: String,
    /// What clients call it.
    pub(super) shown: String,
    pub(super) json: Vec<u8>,
}

/// Reads the entries of one page, as clients see them. `server` is the name of the server, if there
/// are several.
pub(super) fn entries(
    result: JsonSpan<'_>,
    kind: ListKind,
    view: &ToolView,
    server: Option<&str>,
) -> Vec<ListEntry> {
    let elements = result.get(kind.key()).and_then(JsonSpan::elements);
    let entries = elements.into_iter().flatten().filter_map(|element| {
        let own = element.get(kind.identity())?.to_text()?;
        let shown = match kind {
            ListKind::Tools => view.shown(&own)?,
            ListKind::Prompts => format!("{}{own}", view.prefix),
            ListKind::Resources | ListKind::Templates => own.clone(),
        };
        let json = match kind {
            ListKind::Tools => view.definition(element, server)?,
            ListKind::Prompts => renamed(element.bytes(), &shown)?,
            ListKind::Resources | ListKind::Templates => element.bytes().to_vec(),
        };
        Some(ListEntry { own, shown, json })
    });
    entries.collect()
}

/// Returns the object with another name.
fn renamed(bytes: &[u8], name: &str) -> Option<Vec<u8>> {
    let range = JsonSpan::document(bytes).get("name")?.range();
    Some(splice(bytes, vec![(range, quoted(name))]))
}

/// Writes the answer with all entries, of which the first of each name stays. Calls `keep` for each
/// that stays, and `leave_out` for each that does not.
pub(super) fn list_answer(
    id: &str,
    kind: ListKind,
    entries: Vec<(usize, ListEntry)>,
    mut keep: impl FnMut(usize, &ListEntry),
    mut leave_out: impl FnMut(usize, &ListEntry),
) -> Frame {
    let key = kind.key();
    let mut out =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"{key}\":[").into_bytes();
    let mut names = HashSet::new();
    for (member, entry) in entries {
        if !names.insert(entry.shown.clone()) {
            leave_out(member, &entry);
            continue;
        }
        keep(member, &entry);
        if names.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&entry.json);
    }
    out.extend_from_slice(b"]}}");
    out
}

/// Writes the answer to `initialize` from those of the servers, each with its name.
pub(super) fn initialize_answer(id: &str, answers: &[(&str, Value)]) -> Frame {
    let mut capabilities = Map::new();
    for (_, answer) in answers {
        let own = answer["capabilities"].as_object();
        for (key, value) in own.into_iter().flatten() {
            if !matches!(
                key.as_str(),
                "tools" | "prompts" | "resources" | "logging" | "completions"
            ) {
                continue;
            }
            let merged = capabilities.entry(key).or_insert_with(|| json!({}));
            for (name, flag) in value.as_object().into_iter().flatten() {
                if flag == &Value::Bool(true) {
                    merged[name] = Value::Bool(true);
                }
            }
        }
    }
    // A server may end, and take its entries along.
    for key in ["tools", "prompts", "resources"] {
        if let Some(capability) = capabilities.get_mut(key) {
            capability["listChanged"] = Value::Bool(true);
        }
    }
    let versions = answers
        .iter()
        .filter_map(|(_, answer)| answer["protocolVersion"].as_str());
    let instructions: Vec<_> = answers
        .iter()
        .filter_map(|(name, answer)| {
            let text = answer["instructions"].as_str()?;
            Some(format!("{name}: {text}"))
        })
        .collect();
    let mut result = json!({
        "protocolVersion": versions.min().unwrap_or("2025-11-25"),
        "capabilities": capabilities,
        "serverInfo": {"name": "goodcall", "version": env!("CARGO_PKG_VERSION")},
    });
    if !instructions.is_empty() {
        result["instructions"] = Value::from(instructions.join("\n\n"));
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}
