//! Tool schemas that an upstream would refuse, written so that it takes them.
//!
//! Only the request changes. The calls that come back are judged by the schemas as the client
//! wrote them, which is what maps them back: a `null` for an optional parameter is left out. A name
//! that had to be changed is changed wherever the request has it, and back in every reply.

mod gemini;
mod openai_strict;

pub(crate) use gemini::GEMINI_REFUSES;
use std::fmt;
use std::str::FromStr;

use goodcall_core::{Kind, Node, Tree};

use crate::cuts::{Cuts, quoted};
use crate::envelope::{Provider, call_sites, legal_name};
use crate::tools::{Names, Tools};

/// Levels of a schema that are followed.
const MOST_DEPTH: usize = 64;

/// Whose rules tool definitions must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Adapt {
    /// OpenAI with `strict: true`: every parameter required, nothing besides them.
    OpenAiStrict,
    /// Anthropic: an object at the root, without unions.
    Anthropic,
    /// Gemini: a subset of OpenAPI, without references.
    Gemini,
}

/// A name that is no target of adaptation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAdapt(String);

impl fmt::Display for UnknownAdapt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = "openai-strict, anthropic or gemini";
        write!(f, "schemas cannot be adapted to `{}`: use {known}", self.0)
    }
}

impl std::error::Error for UnknownAdapt {}

impl FromStr for Adapt {
    type Err = UnknownAdapt;

    fn from_str(name: &str) -> Result<Self, UnknownAdapt> {
        match name {
            "openai-strict" => Ok(Adapt::OpenAiStrict),
            "anthropic" => Ok(Adapt::Anthropic),
            "gemini" => Ok(Adapt::Gemini),
            other => Err(UnknownAdapt(other.to_owned())),
        }
    }
}

/// The request with its tools adapted, and the names that changed wherever they stand in it;
/// `None` if they are fine as they are.
pub fn adapt(provider: Provider, request: &str, to: Adapt) -> Option<String> {
    adapt_with_aliases(provider, request, to).map(|(request, _)| request)
}

/// The same, with the names under which the model knows tools now.
pub(crate) fn adapt_with_aliases(
    provider: Provider,
    request: &str,
    to: Adapt,
) -> Option<(String, Names)> {
    let tree = Tree::parse(request).ok()?;
    let mut cuts = Cuts::new(request);
    let mut names = Names::new();
    let root = tree.root();
    // The older list of functions knows no `strict`.
    let older = root.get("functions").filter(|_| to != Adapt::OpenAiStrict);
    let tools = root.get("tools").or(older)?;
    for entry in tools.elements() {
        let (owner, key) = match provider {
            Provider::Anthropic => (entry, "input_schema"),
            Provider::Responses => (entry, "parameters"),
            _ => match entry.get("function") {
                Some(function) => (function, "parameters"),
                None if root.get("tools").is_none() => (entry, "parameters"),
                None => continue,
            },
        };
        let schema = owner
            .get(key)
            .filter(|schema| schema.kind() == Kind::Object);
        let Some(name) = owner.get("name").filter(|_| schema.is_some()) else {
            continue;
        };
        let sent = name.as_str().unwrap_or_default();
        if legal_name(provider, sent) != sent {
            let legal = free_name(provider, sent, root, &names);
            cuts.string(name.span(), &legal);
            names.push((legal, sent.to_owned()));
        }
        let Some(schema) = schema else {
            continue;
        };
        let adapted = match to {
            Adapt::OpenAiStrict => openai_strict::adapt(schema),
            Adapt::Anthropic => anthropic(schema, request),
            Adapt::Gemini => gemini::adapt(schema),
        };
        let Some(adapted) = adapted else {
            // It cannot be said under these rules: it is left to the upstream.
            continue;
        };
        if request.get(schema.span()) != Some(adapted.as_str()) {
            cuts.replace(schema.span(), adapted);
        }
        if to == Adapt::OpenAiStrict && owner.get("strict").and_then(Node::as_bool) != Some(true) {
            cuts.set(owner, "strict", "true");
        }
    }
    let told = Tools::default().with_aliases(names.clone());
    rename(provider, root, &told, &mut cuts);
    (!cuts.is_empty()).then(|| (cuts.apply(), names))
}

/// A name that the provider takes and that no other tool has.
fn free_name(provider: Provider, sent: &str, root: Node<'_>, names: &Names) -> String {
    let lists = [root.get("tools"), root.get("functions")];
    let lists = lists.into_iter().flatten().flat_map(Node::elements);
    let offered: Vec<&str> = lists
        .filter_map(|entry| entry.get("function").unwrap_or(entry).get("name")?.as_str())
        .collect();
    let taken = |name: &str| offered.contains(&name) || names.iter().any(|(told, _)| told == name);
    let legal = legal_name(provider, sent);
    let mut free = legal.clone();
    for count in 2..=offered.len() + 1 {
        if !taken(&free) {
            break;
        }
        let end = format!("_{count}");
        let start: String = legal.chars().take(64 - end.len().min(64)).collect();
        free = start + &end;
    }
    free
}

/// A request whose calls and results name tools as the model knows them; `None` if they do.
pub(crate) fn write_aliases(provider: Provider, request: &str, tools: &Tools) -> Option<String> {
    if !tools.is_renamed() {
        return None;
    }
    let tree = Tree::parse(request).ok()?;
    let mut cuts = Cuts::new(request);
    rename(provider, tree.root(), tools, &mut cuts);
    (!cuts.is_empty()).then(|| cuts.apply())
}

/// Names in the history and in the choice of a tool.
fn rename(provider: Provider, root: Node<'_>, tools: &Tools, cuts: &mut Cuts<'_>) {
    if !tools.is_renamed() {
        return;
    }
    let history = match provider {
        Provider::Responses => "input",
        _ => "messages",
    };
    if let Some(list) = root.get(history).filter(|list| list.kind() == Kind::Array) {
        for site in call_sites(provider, list) {
            let told = tools.alias_of(&site.name);
            if told != site.name {
                cuts.string(site.name_span, told);
            }
        }
        for message in list.elements() {
            let role = message.get("role").and_then(Node::as_str);
            if matches!(role, Some("tool" | "function")) {
                rename_member(message, tools, cuts);
            }
        }
    }
    for key in ["tool_choice", "function_call"] {
        if let Some(choice) = root.get(key) {
            rename_choice(choice, 0, tools, cuts);
        }
    }
}

/// A choice names its tool somewhere inside it.
fn rename_choice(node: Node<'_>, depth: usize, tools: &Tools, cuts: &mut Cuts<'_>) {
    if depth > 4 {
        return;
    }
    rename_member(node, tools, cuts);
    let children = node.members().map(|(_, child)| child);
    for child in children.chain(node.elements()) {
        rename_choice(child, depth + 1, tools, cuts);
    }
}

fn rename_member(owner: Node<'_>, tools: &Tools, cuts: &mut Cuts<'_>) {
    if let Some(node) = owner.get("name")
        && let Some(name) = node.as_str()
        && tools.alias_of(name) != name
    {
        cuts.string(node.span(), tools.alias_of(name));
    }
}

/// A root that Anthropic takes: an object whose unions are told by all their parameters.
fn anthropic(schema: Node<'_>, request: &str) -> Option<String> {
    const UNIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];
    let is_object = schema.get("type").and_then(Node::as_str) == Some("object");
    let has_union = UNIONS.iter().any(|key| schema.get(key).is_some());
    let keys = schema.get("properties").into_iter().flat_map(Node::members);
    let legal_keys = keys.clone().all(|(key, _)| legal_key(key) == key);
    if is_object && !has_union && legal_keys {
        return request.get(schema.span()).map(str::to_owned);
    }
    let mut properties: Vec<(String, String)> = Vec::new();
    let mut add = |owner: Node<'_>| {
        for (key, value) in owner.get("properties").into_iter().flat_map(Node::members) {
            let key = legal_key(key);
            if !properties.iter().any(|(known, _)| *known == key) {
                properties.push((key, value.to_json()));
            }
        }
    };
    add(schema);
    for branch in UNIONS
        .iter()
        .filter_map(|key| schema.get(key))
        .flat_map(Node::elements)
    {
        add(target(schema, branch).unwrap_or(branch));
    }
    let mut parts = vec![r#""type":"object""#.to_owned()];
    let properties = properties
        .iter()
        .map(|(key, value)| format!("{}:{value}", quoted(key)));
    let properties: Vec<_> = properties.collect();
    parts.push(format!(r#""properties":{{{}}}"#, properties.join(",")));
    for (key, value) in schema.members() {
        let done = matches!(key, "type" | "properties") || UNIONS.contains(&key);
        if key == "required" {
            let names = value.elements().filter_map(Node::as_str);
            let names: Vec<_> = names.map(|name| quoted(&legal_key(name))).collect();
            parts.push(format!(r#""required":[{}]"#, names.join(",")));
        } else if !done {
            parts.push(format!("{}:{}", quoted(key), value.to_json()));
        }
    }
    Some(format!("{{{}}}", parts.join(",")))
}

/// A parameter's name as Anthropic takes it.
fn legal_key(key: &str) -> String {
    let legal = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') => c,
        _ => '_',
    };
    let key: String = key.chars().take(64).map(legal).collect();
    match key.is_empty() {
        true => "_".to_owned(),
        false => key,
    }
}

/// Where a reference inside the document leads.
fn target<'t>(root: Node<'t>, node: Node<'t>) -> Option<Node<'t>> {
    let path = node.get("$ref")?.as_str()?.strip_prefix('#')?;
    let mut at = root;
    for segment in path.split('/').skip(1) {
        at = at.child(&segment.replace("~1", "/").replace("~0", "~"))?;
    }
    Some(at)
}

/// An object out of its members.
fn object(members: &[(String, String)]) -> String {
    let members = members
        .iter()
        .map(|(key, value)| format!("{}:{value}", quoted(key)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}
