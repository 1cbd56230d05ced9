//! Gives every call of a history an id of its own. Some servers give all calls of a turn the same.

use std::collections::{HashMap, HashSet, VecDeque};

use goodcall_core::{Kind, Node, Tree};

use super::{BlockForm, Elements, MessageRole, kind, messages, role, text_of};
use crate::envelope::Provider;
use crate::splice::Splice;

/// Gives calls that share an id one each, and their results the same. Returns `None` if nothing needs
/// rewriting.
///
/// The results of calls that share an id are paired with them in order.
pub(super) fn unique_ids(provider: Provider, request: &str) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let list = messages(provider, tree.root())?;
    let taken: HashSet<&str> = list
        .elements()
        .flat_map(|message| call_ids(provider, message))
        .filter_map(Node::as_str)
        .collect();
    let mut splice = Splice::new(request);
    let mut made: HashSet<String> = HashSet::new();
    let mut seen = HashSet::new();
    // The new ids of the calls that wait for a result, by the id that was sent.
    let mut open: HashMap<&str, VecDeque<Option<String>>> = HashMap::new();
    // Calls of earlier turns without a result, which keep their ids.
    let mut waiting = HashSet::new();
    let mut answered = true;
    for message in list.elements() {
        match role(provider, message) {
            MessageRole::Assistant => {
                match provider {
                    // Anthropic and Bedrock want ids that differ from turn to turn.
                    Provider::Anthropic | Provider::Bedrock => open.clear(),
                    Provider::Responses if answered => {
                        let calls = open.drain().filter(|(_, calls)| calls.contains(&None));
                        waiting.extend(calls.map(|(id, _)| id));
                        seen.clone_from(&waiting);
                        answered = false;
                    }
                    Provider::Responses => {}
                    _ => {
                        open.clear();
                        seen.clear();
                    }
                }
                for node in call_ids(provider, message) {
                    let id = node.as_str().expect("ids are strings");
                    let mut other = None;
                    if !seen.insert(id) {
                        let fresh = fresh(id, &taken, &made);
                        splice.replace_string(node.span(), &fresh);
                        made.insert(fresh.clone());
                        other = Some(fresh);
                    }
                    open.entry(id).or_default().push_back(other);
                }
            }
            MessageRole::Results => {
                for node in result_ids(provider, message) {
                    let id = node.as_str().expect("ids are strings");
                    // Only the result of a call of this turn ends the turn.
                    if open.contains_key(id) {
                        answered = true;
                    } else if waiting.remove(id) {
                        seen.remove(id);
                    }
                    let renamed = open.get_mut(id).and_then(VecDeque::pop_front).flatten();
                    if let Some(renamed) = renamed {
                        splice.replace_string(node.span(), &renamed);
                    }
                }
            }
            MessageRole::User | MessageRole::Other => {}
        }
    }
    (!splice.is_empty()).then(|| splice.apply())
}

/// Returns an id that no call has.
fn fresh(id: &str, taken: &HashSet<&str>, made: &HashSet<String>) -> String {
    let mut number = made.len() + 2;
    loop {
        let name = format!("{id}_{number}");
        if !taken.contains(name.as_str()) && !made.contains(&name) {
            return name;
        }
        number += 1;
    }
}

pub(super) fn call_ids<'t>(provider: Provider, message: Node<'t>) -> Vec<Node<'t>> {
    if role(provider, message) != MessageRole::Assistant {
        return Vec::new();
    }
    if let Some(form) = BlockForm::of(provider) {
        return strings(form.call_ids(message));
    }
    let (calls, key) = match provider {
        Provider::Responses if kind(message) == "function_call" => (vec![message], "call_id"),
        Provider::Responses => (Vec::new(), ""),
        _ => (message.get("tool_calls").elements_or_none(), "id"),
    };
    // A call without a name is not a call.
    let has_name = |call: &Node<'t>| {
        let owner = match provider {
            Provider::Responses => Some(*call),
            _ => call.get("function"),
        };
        owner.is_some_and(|owner| !text_of(owner, "name").is_empty())
    };
    ids(calls.into_iter().filter(has_name).collect(), key)
}

pub(super) fn result_ids<'t>(provider: Provider, message: Node<'t>) -> Vec<Node<'t>> {
    match (provider, BlockForm::of(provider)) {
        (_, Some(form)) => strings(form.result_ids(message)),
        (Provider::Responses, _) => ids(vec![message], "call_id"),
        _ => ids(vec![message], "tool_call_id"),
    }
}

fn strings(nodes: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let is_string = |node: &Node<'_>| node.kind() == Kind::String;
    nodes.into_iter().filter(is_string).collect()
}

/// The ids of these nodes, if they are strings.
fn ids<'t>(owners: Vec<Node<'t>>, key: &str) -> Vec<Node<'t>> {
    let nodes = owners.into_iter().filter_map(|owner| owner.get(key));
    strings(nodes.collect())
}
