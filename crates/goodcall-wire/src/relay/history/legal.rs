//! A history that no provider refuses: calls that are JSON objects, each with its result.

use std::collections::HashSet;

use goodcall_core::{Node, Tree, no_result_text};

use super::super::exchange::is_other_call;
use super::ids::unique_ids;
use super::{Elements, Role, calls_in, is_old, kind, messages, plain, results_in, role, text_of};
use crate::call::Call;
use crate::cuts::{Cuts, quoted};
use crate::envelope::{Answer, Due, Located, Provider, result};
use crate::tools::Tools;

/// The request with a legal history; `None` if it is legal as it is.
///
/// Arguments that are no JSON object become an empty one. A call without a result gets one that
/// says so, calls that share an id get one each. A result without a call becomes words of the user, so that nothing is lost.
pub fn legal_history(provider: Provider, request: &str) -> Option<String> {
    // Results name calls by their ids: calls get theirs first.
    let mut legal = None;
    for step in [legal_calls, unique_ids, paired] {
        let done = step(provider, legal.as_deref().unwrap_or(request));
        legal = done.or(legal);
    }
    legal
}

/// Each call of an assistant in a form that is accepted; `None` if it is so already.
fn legal_calls(provider: Provider, request: &str) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let list = messages(provider, tree.root())?;
    let mut cuts = Cuts::new(request);
    let envelope = Located::new(provider, request, list, &Tools::default());
    let due = vec![Due::Legal; envelope.calls().len()];
    envelope.write(&due, &mut cuts);
    (!cuts.is_empty()).then(|| cuts.apply())
}

/// Each call with a result, each result with a call; `None` if it is so already.
fn paired(provider: Provider, request: &str) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let list = messages(provider, tree.root())?;
    let mut cuts = Cuts::new(request);
    let stored = ["previous_response_id", "conversation"];
    let elsewhere = stored.iter().any(|key| {
        let node = tree.root().get(key);
        node.is_some_and(|node| !node.is_null())
    });
    let elsewhere = elsewhere || list.elements().any(|item| kind(item) == "item_reference");
    let others = list.elements().flat_map(|message| {
        let calls = message.get("tool_calls").elements_or_none();
        calls
            .into_iter()
            .chain([message])
            .filter(|call| is_other_call(*call))
    });
    let ids = others.flat_map(|call| [text_of(call, "id"), text_of(call, "call_id")]);
    let others = ids.filter(|id| !id.is_empty()).collect();
    Pairing {
        provider,
        request,
        elsewhere,
        others,
        open: Vec::new(),
        after: 0,
        late: Vec::new(),
    }
    .walk(list, &mut cuts);
    (!cuts.is_empty()).then(|| cuts.apply())
}

struct Pairing<'r> {
    provider: Provider,
    request: &'r str,
    /// Calls may stand in a conversation that the provider keeps.
    elsewhere: bool,
    /// Ids of calls that are no functions: their results are theirs.
    others: HashSet<String>,
    /// Calls that wait for their result: id and name.
    open: Vec<(String, String)>,
    /// Where the results of open calls belong.
    after: usize,
    /// Results without a call that stand between calls and their results: they follow those.
    late: Vec<String>,
}

impl Pairing<'_> {
    fn walk(mut self, list: Node<'_>, cuts: &mut Cuts<'_>) {
        for message in list.elements() {
            match role(message) {
                // The older form knows no pairs.
                Role::Results | Role::Assistant if is_old(message) => self.close(cuts),
                Role::Results => self.results(message, cuts),
                Role::Assistant => {
                    // Items of one turn follow each other.
                    let calls = calls_in(self.provider, message, self.request);
                    if self.provider != Provider::Responses || kind(message) != "function_call" {
                        self.close(cuts);
                    }
                    self.open
                        .extend(calls.into_iter().map(|call| (call.id, call.name)));
                    self.after = message.span().end;
                }
                Role::User | Role::Other => {
                    if kind(message) != "reasoning" {
                        self.close(cuts);
                    }
                }
            }
        }
        // The last turn may be on its way: a request that ends with calls is for the provider to
        // judge, except that all of them refuse it.
        self.close(cuts);
    }

    fn results(&mut self, message: Node<'_>, cuts: &mut Cuts<'_>) {
        let found = results_in(self.provider, message);
        let known: HashSet<_> = self.open.iter().map(|(id, _)| id.clone()).collect();
        let answered: HashSet<_> = found.iter().map(|(id, ..)| id.clone()).collect();
        if self.provider == Provider::Anthropic {
            let missing = self.open.iter().filter(|(id, _)| !answered.contains(id));
            let missing: Vec<_> = missing.map(|(id, name)| self.missing(id, name)).collect();
            self.open.clear();
            return self.blocks(message, missing, &known, cuts);
        }
        for (id, text, _) in found {
            if known.contains(&id) {
                self.open.retain(|(open, _)| *open != id);
                self.after = message.span().end;
            } else if !self.elsewhere && !self.others.contains(&id) {
                let words = format!(r#"{{"role":"user","content":{}}}"#, quoted(&text));
                if self.open.is_empty() {
                    cuts.replace(message.span(), words);
                } else {
                    // The calls stand before it, so there is a comma before it.
                    cuts.remove_element(message.span(), false);
                    self.late.push(words);
                }
            }
        }
    }

    /// One message with all results of a turn: they stand before everything else in it.
    fn blocks(
        &self,
        message: Node<'_>,
        mut results: Vec<String>,
        known: &HashSet<String>,
        cuts: &mut Cuts<'_>,
    ) {
        let Some(content) = message.get("content") else {
            return;
        };
        let (mut words, mut legal) = (Vec::new(), results.is_empty());
        for block in content.elements() {
            let raw = self.request.get(block.span()).unwrap_or_default();
            if kind(block) != "tool_result" {
                words.push(raw.to_owned());
            } else if known.contains(&text_of(block, "tool_use_id")) {
                legal &= words.is_empty();
                results.push(raw.to_owned());
            } else {
                let text = quoted(&plain(block.get("content")));
                words.push(format!(r#"{{"type":"text","text":{text}}}"#));
                legal = false;
            }
        }
        if !legal {
            results.append(&mut words);
            cuts.replace(content.span(), format!("[{}]", results.join(",")));
        }
    }

    fn missing(&self, id: &str, name: &str) -> String {
        let call = Call::new(&Tools::default(), name, "{}").with_id(id);
        result(self.provider, &call, &Answer::error(no_result_text(name)))
    }

    /// Calls that got no result get one.
    fn close(&mut self, cuts: &mut Cuts<'_>) {
        let open = std::mem::take(&mut self.open);
        let results = open.iter().map(|(id, name)| self.missing(id, name));
        let mut results: Vec<_> = results.collect();
        results.append(&mut self.late);
        if results.is_empty() {
            return;
        }
        let results = results.join(",");
        let results = match self.provider {
            Provider::Anthropic => format!(r#"{{"role":"user","content":[{results}]}}"#),
            _ => results,
        };
        cuts.replace(self.after..self.after, format!(",{results}"));
    }
}
