//! The question that follows a refused call: the call and our text as its result, in a history
//! that the provider accepts.

use goodcall_core::{Kind, Node, Tree, accepted_text, not_run_text};

use super::details::Details;
use super::judge::{CallDecision, CallVerdict};
use crate::cuts::{Cuts, quoted};
use crate::envelope::{Answer, Provider, legal_arguments, legal_name, result};
use crate::request::write_aliases;
use crate::tools::Tools;

/// The next request. The first `passed` calls are on their way to the client already.
pub(super) fn body(
    provider: Provider,
    request: &str,
    legal: &str,
    rulings: &[CallDecision],
    passed: usize,
    tools: &Tools,
) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let root = tree.root();
    let stored = root.get("store").and_then(Node::as_bool) != Some(false);
    let said = said(provider, legal, stored)?;
    let old = is_old(provider, &said);
    let answers = rulings.iter().enumerate().map(|(index, ruling)| {
        let name = tools.alias_of(&ruling.call.name);
        let answer = match ruling.ruled {
            CallVerdict::Bad => Answer::error(ruling.text.clone()),
            _ if index < passed => Answer::ok(accepted_text(name)),
            _ => Answer::error(not_run_text(name)),
        };
        match old {
            true => old_result(&ruling.call.name, &answer.text),
            false => result(provider, &ruling.call, &answer),
        }
    });
    let answers: Vec<_> = answers.collect();
    let answers = match provider {
        Provider::Anthropic => format!(r#"{{"role":"user","content":[{}]}}"#, answers.join(",")),
        _ => answers.join(","),
    };
    let more = format!("{said},{answers}");
    let mut cuts = Cuts::new(request);
    let key = match provider {
        Provider::Responses => "input",
        _ => "messages",
    };
    let history = root.get(key)?;
    // A conversation that the provider keeps has the question and the reply already.
    if root.get("conversation").is_some_and(|kept| !kept.is_null()) {
        cuts.replace(history.span(), format!("[{answers}]"));
        return Some(cuts.apply());
    }
    match history.kind() {
        Kind::Array => cuts.last(history, &more),
        Kind::String => {
            let asked = request.get(history.span())?;
            let list = format!(r#"[{{"role":"user","content":{asked}}},{more}]"#);
            cuts.replace(history.span(), list);
        }
        _ => return None,
    }
    let next = cuts.apply();
    Some(write_aliases(provider, &next, tools).unwrap_or(next))
}

/// What the model said, as a part of the history; `None` if the calls are not where they belong,
/// as in a reply that repeats a key.
fn said(provider: Provider, legal: &str, stored: bool) -> Option<String> {
    let tree = Tree::parse(legal).ok()?;
    let root = tree.root();
    match provider {
        Provider::Anthropic => {
            let content = root
                .get("content")
                .filter(|list| list.kind() == Kind::Array)?;
            // An empty text is refused where it stands in a history.
            let blank = |block: &Node<'_>| {
                let text = block.get("text").and_then(Node::as_str);
                block.get("type").and_then(Node::as_str) == Some("text")
                    && text.is_none_or(|text| text.trim().is_empty())
            };
            let blocks = content.elements().filter(|block| !blank(block));
            let blocks: Vec<_> = blocks.filter_map(|block| legal.get(block.span())).collect();
            let content = match blocks.len() == content.len() {
                true => legal.get(content.span())?.to_owned(),
                false => format!("[{}]", blocks.join(",")),
            };
            Some(format!(r#"{{"role":"assistant","content":{content}}}"#))
        }
        Provider::Responses => {
            let output = root.get("output")?.elements();
            let items = output.filter_map(|item| as_input(item, legal, stored));
            let items = items.collect::<Vec<_>>().join(",");
            (!items.is_empty()).then_some(items)
        }
        _ => {
            let message = root.get("choices")?.element(0)?.get("message")?;
            legal.get(message.span()).map(str::to_owned)
        }
    }
}

/// Does a message call in the older form, which has its own form of results?
fn is_old(provider: Provider, message: &str) -> bool {
    let chat = provider == Provider::OpenAi;
    let tree = Tree::parse(message).ok().filter(|_| chat);
    let call = tree
        .as_ref()
        .and_then(|tree| tree.root().get("function_call"));
    call.is_some_and(|call| call.kind() == Kind::Object)
}

/// A result in the older form, which knows a call by its name.
fn old_result(name: &str, text: &str) -> String {
    let (name, text) = (quoted(&legal_name(Provider::OpenAi, name)), quoted(text));
    format!(r#"{{"role":"function","name":{name},"content":{text}}}"#)
}

/// An output item as an input item. Where nothing is stored, an item cannot be named by its id.
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
    let mut cuts = Cuts::new(written);
    if kind == Some("function_call") {
        cuts.remove(alone.root(), "id");
    }
    Some(cuts.apply())
}

/// A call as it stands in a whole reply.
pub(super) fn written_call(provider: Provider, id: &str, name: &str, arguments: &str) -> String {
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
        _ => {
            let arguments = quoted(arguments);
            format!(
                r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
            )
        }
    }
}

/// The id of an item that stands for a call.
pub(super) fn item_id(prefix: &str, call: &str) -> String {
    format!("{prefix}_{}", call.trim_start_matches("call_"))
}

/// A call as it may stand in a history, whatever came of it.
pub(super) fn legal_call(provider: Provider, ruling: &CallDecision) -> String {
    let id = ruling.call.id.as_deref().unwrap_or_default();
    let (name, arguments) = legal_parts(provider, ruling);
    written_call(provider, id, &name, &arguments)
}

/// The same in the older form.
pub(super) fn legal_function(ruling: &CallDecision) -> String {
    let (name, arguments) = legal_parts(Provider::OpenAi, ruling);
    let (name, arguments) = (quoted(&name), quoted(&arguments));
    format!(r#"{{"name":{name},"arguments":{arguments}}}"#)
}

/// Name and arguments that a history may hold.
pub(super) fn legal_parts(provider: Provider, ruling: &CallDecision) -> (String, String) {
    match ruling.ruled {
        CallVerdict::Bad => (
            legal_name(
                provider,
                ruling.call.told.as_ref().unwrap_or(&ruling.call.name),
            ),
            legal_arguments(&ruling.call.arguments),
        ),
        _ => (
            ruling.call.name.clone(),
            ruling.final_arguments().to_owned(),
        ),
    }
}

/// A whole chat reply, its calls under this key.
pub(super) fn legal_message(
    said: Option<&str>,
    details: &Details,
    key: &str,
    calls: &str,
) -> String {
    let said = said.map_or("null".to_owned(), quoted);
    format!(
        r#"{{"choices":[{{"message":{{"role":"assistant",{}"content":{said},"{key}":{calls}}}}}]}}"#,
        details.to_members()
    )
}
