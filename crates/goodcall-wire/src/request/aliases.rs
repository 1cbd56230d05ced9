//! Aliases of tools: names that the provider accepts, in the history and in the choice of a tool.

use goodcall_core::{Kind, Node, Tree};

use super::history::named_results;
use crate::definitions::{self, Definition};
use crate::envelope::{Provider, call_sites, legal_name};
use crate::protocol;
use crate::splice::Splice;
use crate::tools::{Aliases, Tools};

/// The most levels of a tool choice that are searched for names.
const MOST_DEPTH: usize = 4;

/// The most characters of a name.
const MOST_NAME: usize = 64;

/// Returns the definitions of the tools that a request offers. Gemini has them in groups.
pub(super) fn offered(provider: Provider, root: Node<'_>) -> Vec<Node<'_>> {
    let list = protocol::form(provider).tools(root);
    let entries = list.into_iter().flat_map(Node::elements);
    let flat = entries.flat_map(|entry| {
        let groups: Vec<_> = definitions::lists(entry).map(|(_, group)| group).collect();
        if groups.is_empty() {
            vec![entry]
        } else {
            groups.into_iter().flat_map(Node::elements).collect()
        }
    });
    flat.collect()
}

/// Returns a name for a tool that the provider accepts and no other tool has.
pub(super) fn free_alias(
    provider: Provider,
    name: &str,
    root: Node<'_>,
    aliases: &Aliases,
) -> String {
    let entries = offered(provider, root).into_iter();
    let offered: Vec<&str> = entries
        .filter_map(|entry| Definition::read(entry).name())
        .collect();
    let is_taken =
        |name: &str| offered.contains(&name) || aliases.iter().any(|(alias, _)| alias == name);
    let legal = legal_name(provider, name);
    let mut free = legal.clone();
    for count in 2..=offered.len() + 1 {
        if !is_taken(&free) {
            break;
        }
        let suffix = format!("_{count}");
        let kept = MOST_NAME.saturating_sub(suffix.len());
        free = legal.chars().take(kept).collect::<String>() + &suffix;
    }
    free
}

/// Writes aliases in place of names in the history and in the tool choice of a request. Returns
/// `None` if nothing needs rewriting.
pub(crate) fn write_aliases(provider: Provider, request: &str, tools: &Tools) -> Option<String> {
    if !tools.has_aliases() {
        return None;
    }
    let tree = Tree::parse(request).ok()?;
    let mut splice = Splice::new(request);
    rename(provider, tree.root(), tools, &mut splice);
    (!splice.is_empty()).then(|| splice.apply())
}

/// Writes aliases in place of names, with the other edits of a request.
pub(super) fn rename(provider: Provider, root: Node<'_>, tools: &Tools, splice: &mut Splice<'_>) {
    if !tools.has_aliases() {
        return;
    }
    let history = root.get(provider.history_key());
    if let Some(list) = history.filter(|list| list.kind() == Kind::Array) {
        for site in call_sites(provider, list) {
            let alias = tools.alias_of(&site.name);
            if alias != site.name {
                splice.replace_string(site.name_span, alias);
            }
        }
        for message in list.elements() {
            let role = message.get("role").and_then(Node::as_str);
            if matches!(role, Some("tool" | "function")) {
                rename_member(message, tools, splice);
            }
            for result in named_results(provider, message) {
                rename_member(result, tools, splice);
            }
        }
    }
    let config = root.get("toolConfig").or_else(|| root.get("tool_config"));
    let choice = config.and_then(|config| config.get("toolChoice"));
    let choices = [root.get("tool_choice"), root.get("function_call"), choice];
    for choice in choices.into_iter().flatten() {
        rename_choice(choice, 0, tools, splice);
    }
    if let Some(config) = config.filter(|_| provider == Provider::Gemini) {
        rename_allowed(config, 0, tools, splice);
    }
}

/// Renames the tool of a choice, which may be at any level of it.
fn rename_choice(node: Node<'_>, depth: usize, tools: &Tools, splice: &mut Splice<'_>) {
    if depth > MOST_DEPTH {
        return;
    }
    rename_member(node, tools, splice);
    let children = node.members().map(|(_, child)| child);
    for child in children.chain(node.elements()) {
        rename_choice(child, depth + 1, tools, splice);
    }
}

/// Renames the tools that Gemini's configuration allows, which it lists by their names.
fn rename_allowed(node: Node<'_>, depth: usize, tools: &Tools, splice: &mut Splice<'_>) {
    for (key, value) in node.members().filter(|_| depth <= MOST_DEPTH) {
        let is_list = ["allowedFunctionNames", "allowed_function_names"].contains(&key);
        for name in value.elements().filter(|_| is_list) {
            rename_text(name, tools, splice);
        }
        rename_allowed(value, depth + 1, tools, splice);
    }
}

fn rename_member(owner: Node<'_>, tools: &Tools, splice: &mut Splice<'_>) {
    if let Some(node) = owner.get("name") {
        rename_text(node, tools, splice);
    }
}

fn rename_text(node: Node<'_>, tools: &Tools, splice: &mut Splice<'_>) {
    if let Some(name) = node.as_str().filter(|name| tools.alias_of(name) != *name) {
        splice.replace_string(node.span(), tools.alias_of(name));
    }
}
