//! Repairs a history that a provider would refuse.

use std::collections::HashSet;

use goodcall_core::{Node, Tree, no_result_text};

use super::unique_ids::{call_ids, result_ids, unique_ids};
use super::{
    BlockForm, Elements, HistoryCall, MessageRole, calls_in, is_legacy, kind, messages, results_in,
    role, text_of,
};
use crate::call::RawCall;
use crate::envelope::{Answer, CallRewrite, Located, Provider, is_client_side_call, result};
use crate::splice::{Comma, Splice, quoted};
use crate::tools::Tools;

/// Repairs the history of a request. Returns `None` if nothing needs repair.
///
/// Arguments that are not a JSON object become an empty one. A call without a result gets one that
/// says so, and calls that share an id get one each. A result without a call becomes a message of the
/// user, so that nothing is lost.
pub fn legal_history(provider: Provider, request: &str) -> Option<String> {
    // Results refer to calls by id, so calls get their ids first.
    let mut legal = None;
    for step in [legal_calls, unique_ids, paired] {
        let done = step(provider, legal.as_deref().unwrap_or(request));
        legal = done.or(legal);
    }
    legal
}

/// Writes each call of the assistant in a form that providers accept.
fn legal_calls(provider: Provider, request: &str) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let list = messages(provider, tree.root())?;
    let mut splice = Splice::new(request);
    let envelope = Located::new(provider, request, list, &Tools::default());
    let rewrites = vec![CallRewrite::MakeHistorySafe; envelope.calls().len()];
    envelope.write(&rewrites, &mut splice);
    (!splice.is_empty()).then(|| splice.apply())
}

/// Pairs each call with a result, and each result with a call.
fn paired(provider: Provider, request: &str) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let list = messages(provider, tree.root())?;
    let mut splice = Splice::new(request);
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
            .filter(|call| is_client_side_call(*call))
    });
    let ids = others.flat_map(|call| [text_of(call, "id"), text_of(call, "call_id")]);
    let others = ids.filter(|id| !id.is_empty()).collect();
    Pairing {
        provider,
        elsewhere,
        others,
        later: answered_later(provider, list),
        open: Vec::new(),
        after: 0,
        late: Vec::new(),
    }
    .walk(list, &mut splice);
    (!splice.is_empty()).then(|| splice.apply())
}

/// The state of pairing calls with results.
struct Pairing {
    provider: Provider,
    /// True if the provider stores a part of the conversation, which may hold calls.
    elsewhere: bool,
    /// Ids of calls that are not function calls, whose results are left alone.
    others: HashSet<String>,
    /// Calls, by their message and id, whose result follows after other messages.
    later: HashSet<(usize, String)>,
    /// Calls that wait for their result.
    open: Vec<UnansweredCall>,
    /// The offset at which the results of open calls belong.
    after: usize,
    /// Results without a call between calls and their results, which are moved after those.
    late: Vec<String>,
}

/// A call that waits for its result.
struct UnansweredCall {
    id: String,
    name: String,
    /// True if the result follows later.
    answered_later: bool,
}

/// Returns the calls whose result follows after other messages. Responses pairs by ids alone;
/// Anthropic joins consecutive messages of the user.
fn answered_later(provider: Provider, list: Node<'_>) -> HashSet<(usize, String)> {
    let (mut answered, mut ids) = (HashSet::new(), HashSet::new());
    if !matches!(provider, Provider::Anthropic | Provider::Responses) {
        return answered;
    }
    let messages: Vec<_> = list.elements().collect();
    for message in messages.into_iter().rev() {
        let role = role(provider, message);
        if role == MessageRole::Assistant {
            for call in call_ids(provider, message) {
                let id = call.as_str().expect("ids are strings");
                let found = match provider {
                    Provider::Anthropic => ids.contains(id),
                    _ => ids.remove(id),
                };
                if found {
                    answered.insert((message.span().start, id.to_owned()));
                }
            }
            if provider == Provider::Anthropic {
                ids.clear();
            }
        }
        if role == MessageRole::Results {
            let results = result_ids(provider, message).into_iter();
            ids.extend(results.filter_map(|id| id.as_str().map(str::to_owned)));
        }
    }
    answered
}

impl Pairing {
    fn walk(mut self, list: Node<'_>, splice: &mut Splice<'_>) {
        for message in list.elements() {
            match role(self.provider, message) {
                // The legacy form has no pairs.
                MessageRole::Results | MessageRole::Assistant if is_legacy(message) => {
                    self.close(splice)
                }
                MessageRole::Results => self.results(message, splice),
                MessageRole::Assistant => {
                    // Items of one turn follow each other.
                    let calls = calls_in(self.provider, message);
                    if self.provider != Provider::Responses || kind(message) != "function_call" {
                        self.close(splice);
                    }
                    let at = message.span().start;
                    for HistoryCall { id, name, .. } in calls {
                        let answered_later = self.later.contains(&(at, id.clone()));
                        self.open.push(UnansweredCall {
                            id,
                            name,
                            answered_later,
                        });
                    }
                    self.after = message.span().end;
                }
                MessageRole::User | MessageRole::Other => {
                    if kind(message) != "reasoning" {
                        self.close(splice);
                    }
                }
            }
        }
        // All providers refuse a request that ends with calls.
        self.close(splice);
    }

    fn results(&mut self, message: Node<'_>, splice: &mut Splice<'_>) {
        let found = results_in(self.provider, message);
        let known: HashSet<_> = self.open.iter().map(|call| call.id.clone()).collect();
        let answered: HashSet<_> = found.iter().map(|(id, ..)| id.clone()).collect();
        if let Some(form) = BlockForm::of(self.provider) {
            self.open.retain(|call| !answered.contains(&call.id));
            let missing = self.open.iter().filter(|call| !call.answered_later);
            let missing: Vec<_> = missing.map(|call| self.missing(call)).collect();
            self.open.retain(|call| call.answered_later);
            return self.blocks(form, message, missing, &known, splice);
        }
        for (id, text, _) in found {
            if let Some(call) = self.answered_call(&id, &text_of(message, "tool_name")) {
                self.open.remove(call);
                self.after = message.span().end;
            } else if !self.elsewhere && !self.others.contains(&id) {
                let words = format!(r#"{{"role":"user","content":{}}}"#, quoted(&text));
                if self.open.is_empty() {
                    splice.replace(message.span(), words);
                } else {
                    // The calls come before it, so there is a comma before it.
                    splice.remove_element(message.span(), Comma::Before);
                    self.late.push(words);
                }
            }
        }
    }

    /// Finds the open call that a result answers. Calls of Ollama may have no id; then a result names its
    /// tool, and those of one tool follow each other in the order of the calls.
    fn answered_call(&self, id: &str, tool: &str) -> Option<usize> {
        let find = |tool: &str| {
            let mut open = self.open.iter();
            open.position(|call| call.id == id && (tool.is_empty() || call.name == tool))
        };
        find(tool).or_else(|| find(""))
    }

    /// Rewrites a message with all results of a turn, which come before everything else in it.
    fn blocks(
        &self,
        form: &BlockForm,
        message: Node<'_>,
        mut results: Vec<String>,
        known: &HashSet<String>,
        splice: &mut Splice<'_>,
    ) {
        let Some(content) = message.get(form.list) else {
            return;
        };
        let (mut words, mut legal) = (Vec::new(), results.is_empty());
        let mut found = form.results(message).into_iter().peekable();
        for block in content.elements() {
            let raw = block.written();
            let own = found.next_if(|result| result.block.span() == block.span());
            match own {
                None => words.push(raw.to_owned()),
                Some(result) if known.contains(&result.id) => {
                    legal &= words.is_empty();
                    results.push(raw.to_owned());
                }
                Some(result) => {
                    words.push(form.text_block(&form.text(result.inner).0));
                    legal = false;
                }
            }
        }
        if !legal {
            results.append(&mut words);
            splice.replace(content.span(), format!("[{}]", results.join(",")));
        }
    }

    fn missing(&self, open: &UnansweredCall) -> String {
        let call = RawCall::new(&Tools::default(), &open.name, "{}").with_id(&open.id);
        let text = no_result_text(&open.name);
        result(self.provider, &call, &Answer::error(text))
    }

    /// Adds results for calls that have none.
    fn close(&mut self, splice: &mut Splice<'_>) {
        let open = std::mem::take(&mut self.open);
        let (later, open): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|call| call.answered_later);
        self.open = later;
        let results = open.iter().map(|call| self.missing(call));
        let mut results: Vec<_> = results.collect();
        results.append(&mut self.late);
        if results.is_empty() {
            return;
        }
        let results = results.join(",");
        let results = match BlockForm::of(self.provider) {
            Some(form) => form.message(&results),
            None => results,
        };
        splice.replace(self.after..self.after, format!(",{results}"));
    }
}
