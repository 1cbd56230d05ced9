//! The request that follows a refused call: the history gets the call, and a result that tells the
//! model what is wrong with it.

use goodcall_core::{Kind, Node, Tree, accepted_text, not_run_text};

use super::extra_fields::ExtraFields;
use super::judge::{CallDecision, CallVerdict};
use crate::envelope::{Answer, Provider, legal_arguments, legal_name, result};
use crate::request::write_aliases;
use crate::splice::{Splice, quoted};
use crate::tools::Tools;

/// A reply that the model is asked to correct.
pub(crate) struct RefusedReply<'d> {
    /// The complete reply as JSON, every call in a form that a history may hold.
    pub(crate) legal: String,
    pub(crate) decisions: &'d [CallDecision],
    /// The number of calls that the client has already; they come first.
    pub(crate) forwarded: usize,
}

/// Returns the next request; `None` if this one has no history that could be extended.
pub(crate) fn body(
    provider: Provider,
    request: &str,
    refused: &RefusedReply<'_>,
    tools: &Tools,
) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let root = tree.root();
    let stored = root.get("store").and_then(Node::as_bool) != Some(false);
    let reply = history_of(provider, &refused.legal, stored)?;
    let is_legacy = is_legacy_call(provider, &reply);
    let decisions = refused.decisions.iter().enumerate();
    let answers = decisions.map(|(index, decision)| {
        let name = tools.alias_of(&decision.call.name);
        let answer = match decision.verdict {
            CallVerdict::Bad => Answer::error(decision.text.clone()),
            _ if index < refused.forwarded => Answer::ok(accepted_text(name)),
            _ => Answer::error(not_run_text(name)),
        };
        if is_legacy {
            legacy_result(&decision.call.name, &answer.text)
        } else {
            result(provider, &decision.call, &answer)
        }
    });
    let mut answers = answers.collect::<Vec<_>>().join(",");
    if provider == Provider::Anthropic {
        answers = format!(r#"{{"role":"user","content":[{answers}]}}"#);
    }
    let mut splice = Splice::new(request);
    let history = root.get(provider.history_key())?;
    // A conversation that the provider stores has the question and the reply already.
    if root.get("conversation").is_some_and(|id| !id.is_null()) {
        splice.replace(history.span(), format!("[{answers}]"));
        return Some(splice.apply());
    }
    match history.kind() {
        Kind::Array => splice.append(history, &format!("{reply},{answers}")),
        Kind::String => {
            let question = request.get(history.span())?;
            let list = format!(r#"[{{"role":"user","content":{question}}},{reply},{answers}]"#);
            splice.replace(history.span(), list);
        }
        _ => return None,
    }
    let next = splice.apply();
    Some(write_aliases(provider, &next, tools).unwrap_or(next))
}

/// Returns the reply as messages of a history; `None` if the calls are not where they belong, as in
/// a reply that repeats a key.
fn history_of(provider: Provider, legal: &str, stored: bool) -> Option<String> {
    let tree = Tree::parse(legal).ok()?;
    let root = tree.root();
    match provider {
        Provider::Anthropic => {
            let content = root
                .get("content")
                .filter(|list| list.kind() == Kind::Array)?;
            // Anthropic refuses a history with an empty text in it.
            let blank = |block: &Node<'_>| {
                let text = block.get("text").and_then(Node::as_str);
                block.get("type").and_then(Node::as_str) == Some("text")
                    && text.is_none_or(|text| text.trim().is_empty())
            };
            let blocks = content.elements().filter(|block| !blank(block));
            let blocks: Vec<_> = blocks.filter_map(|block| legal.get(block.span())).collect();
            let content = if blocks.len() == content.len() {
                legal.get(content.span())?.to_owned()
            } else {
                format!("[{}]", blocks.join(","))
            };
            Some(format!(r#"{{"role":"assistant","content":{content}}}"#))
        }
        Provider::Responses => {
            let output = root.get("output")?.elements();
            let items = output.filter_map(|item| as_input(item, legal, stored));
            let items = items.collect::<Vec<_>>().join(",");
            (!items.is_empty()).then_some(items)
        }
        Provider::Ollama => legal.get(root.get("message")?.span()).map(str::to_owned),
        _ => {
            let message = root.get("choices")?.element(0)?.get("message")?;
            legal.get(message.span()).map(str::to_owned)
        }
    }
}

/// Returns true if a message calls in the legacy form, which has its own form of results.
fn is_legacy_call(provider: Provider, message: &str) -> bool {
    let chat = provider == Provider::OpenAi;
    let tree = Tree::parse(message).ok().filter(|_| chat);
    let call = tree
        .as_ref()
        .and_then(|tree| tree.root().get("function_call"));
    call.is_some_and(|call| call.kind() == Kind::Object)
}

/// A result in the legacy form, which is paired with its call by name.
fn legacy_result(name: &str, text: &str) -> String {
    let (name, text) = (quoted(&legal_name(Provider::OpenAi, name)), quoted(text));
    format!(r#"{{"role":"function","name":{name},"content":{text}}}"#)
}

/// Returns an output item as an input item. If the provider stores nothing, an item must not refer to
/// a stored one by its id.
fn as_input(item: Node<'_>, text: &str, stored: bool) -> Option<String> {
    let written = text.get(item.span())?;
    if stored {
        return Some(written.to_owned());
    }
    let kind = item.get("type").and_then(Node::as_str);
    let encrypted = item.get("encrypted_content").and_then(Node::as_str);
    if kind == Some("reasoning") && encrypted.is_none() {
        return None;
    }
    let alone = Tree::parse(written).ok()?;
    let mut splice = Splice::new(written);
    if kind == Some("function_call") {
        splice.remove(alone.root(), "id");
    }
    Some(splice.apply())
}

/// A call as it appears in a complete reply.
pub(crate) fn written_call(provider: Provider, id: &str, name: &str, arguments: &str) -> String {
    let item = quoted(&item_id("fc", id));
    let (id, name) = (quoted(id), quoted(name));
    match provider {
        Provider::Anthropic => {
            format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{arguments}}}"#)
        }
        Provider::Responses => {
            let arguments = quoted(arguments);
            format!(
                r#"{{"type":"function_call","id":{item},"call_id":{id},"name":{name},"arguments":{arguments},"status":"completed"}}"#
            )
        }
        Provider::Ollama => {
            format!(r#"{{"function":{{"name":{name},"arguments":{arguments}}}}}"#)
        }
        _ => {
            let arguments = quoted(arguments);
            format!(
                r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
            )
        }
    }
}

/// The id of an item, made out of a call's id.
pub(crate) fn item_id(prefix: &str, call: &str) -> String {
    format!("{prefix}_{}", call.trim_start_matches("call_"))
}

/// A call in a form that a history may hold, whatever its verdict.
pub(crate) fn legal_call(provider: Provider, decision: &CallDecision) -> String {
    let id = decision.call.id.as_deref().unwrap_or_default();
    let (name, arguments) = legal_parts(provider, decision);
    written_call(provider, id, &name, &arguments)
}

/// A call in the legacy form that a history may hold.
pub(crate) fn legal_function_call(decision: &CallDecision) -> String {
    let (name, arguments) = legal_parts(Provider::OpenAi, decision);
    let (name, arguments) = (quoted(&name), quoted(&arguments));
    format!(r#"{{"name":{name},"arguments":{arguments}}}"#)
}

/// Name and arguments that a history may hold.
pub(crate) fn legal_parts(provider: Provider, decision: &CallDecision) -> (String, String) {
    match decision.verdict {
        CallVerdict::Bad => (
            legal_name(
                provider,
                decision.call.alias.as_ref().unwrap_or(&decision.call.name),
            ),
            legal_arguments(&decision.call.arguments),
        ),
        _ => (
            decision.call.name.clone(),
            decision.final_arguments().to_owned(),
        ),
    }
}

/// A complete chat reply, with its calls under this key.
pub(crate) fn legal_message(
    text: Option<&str>,
    extra: &ExtraFields,
    key: &str,
    calls: &str,
) -> String {
    let text = text.map_or("null".to_owned(), quoted);
    format!(
        r#"{{"choices":[{{"message":{{"role":"assistant",{}"content":{text},"{key}":{calls}}}}}]}}"#,
        extra.to_members()
    )
}
