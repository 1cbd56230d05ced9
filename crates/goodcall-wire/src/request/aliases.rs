//! Aliases of tools: names that the provider accepts, in the history and in the choice of a tool.

use goodcall_core::{Kind, Node, Tree};

use crate::definitions::Definition;
use crate::envelope::{Provider, call_sites, legal_name};
use crate::splice::Splice;
use crate::tools::{Aliases, Tools};

/// The most levels of a tool choice that are searched for names.
const MOST_DEPTH: usize = 4;

/// The most characters of a name.
const MOST_NAME: usize = 64;

/// Returns a name for a tool that the provider accepts and no other tool has.
pub(super) fn free_alias(
    provider: Provider,
    name: &str,
    root: Node<'_>,
    aliases: &Aliases,
) -> String {
    let lists = [root.get("tools"), root.get("functions")];
    let entries = lists.into_iter().flatten().flat_map(Node::elements);
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
        }
    }
    for key in ["tool_choice", "function_call"] {
        if let Some(choice) = root.get(key) {
            rename_choice(choice, 0, tools, splice);
        }
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

fn rename_member(owner: Node<'_>, tools: &Tools, splice: &mut Splice<'_>) {
    if let Some(node) = owner.get("name")
        && let Some(name) = node.as_str()
        && tools.alias_of(name) != name
    {
        splice.replace_string(node.span(), tools.alias_of(name));
    }
}
