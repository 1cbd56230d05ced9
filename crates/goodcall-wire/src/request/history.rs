//! Reads the history in a request, and repairs it so that no provider refuses it.

mod block_form;
mod repair;
mod unique_ids;

use std::sync::LazyLock;

use goodcall_core::{Kind, Node, Tree};
use memchr::memmem::Finder;

use crate::envelope::Provider;
use crate::splice::{Splice, quoted};

use block_form::BlockForm;
pub use repair::legal_history;

/// One step of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryStep {
    /// A message of the user.
    User,
    /// The calls of one reply of the model, with their results.
    Turn(Vec<HistoryCall>),
}

/// A call in the history, with its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryCall {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as JSON text, as they were sent.
    pub arguments: String,
    /// The result that the model read; `None` if there is none.
    pub result: Option<String>,
    /// True if the result was flagged as an error.
    pub is_error: bool,
}

/// Returns true if the request may hold at least two results. Without them there cannot be a loop, and
/// most requests have none.
pub fn has_results(request: &str) -> bool {
    // This runs for every request, so it searches for words instead of parsing.
    static TOOL: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"tool"));
    static FUNCTION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"function"));
    let bytes = request.as_bytes();
    let ends_word = |from: usize, ends: &[&str]| {
        let rest = &bytes[from..];
        ends.iter().any(|end| rest.starts_with(end.as_bytes()))
    };
    let tools = TOOL.find_iter(bytes);
    let tools = tools.filter(|at| ends_word(at + 5, &["\"", "_result\"", "Result\""]));
    let functions = FUNCTION.find_iter(bytes);
    let functions = functions.filter(|at| {
        let role = || {
            let before = bytes[..*at].trim_ascii_end();
            let before = before.strip_suffix(b":").map(<[u8]>::trim_ascii_end);
            before.is_some_and(|before| before.ends_with(b"\"role\""))
        };
        let results = ["_call_output\"", "Response\""];
        ends_word(at + 9, &results) || ends_word(at + 9, &["\""]) && role()
    });
    tools.chain(functions).nth(1).is_some()
}

/// Reads the steps of a request's history, the oldest first.
pub fn history(provider: Provider, request: &str) -> Vec<HistoryStep> {
    let Ok(tree) = Tree::parse(request) else {
        return Vec::new();
    };
    let mut past = Vec::new();
    for message in messages(provider, tree.root()).elements_or_none() {
        match role(provider, message) {
            MessageRole::Assistant => {
                let calls = calls_in(provider, message);
                if !calls.is_empty() {
                    add_turn(provider, calls, &mut past);
                }
            }
            MessageRole::Results => {
                for (id, text, is_error) in results_in(provider, message) {
                    let turn = past.iter_mut().rev().find_map(|step| match step {
                        HistoryStep::Turn(calls) => Some(calls),
                        HistoryStep::User => None,
                    });
                    // If calls share an id, the result belongs to the first without one.
                    let waits = |call: &&mut HistoryCall| call.id == id && call.result.is_none();
                    let call = turn.and_then(|calls| calls.iter_mut().find(waits));
                    if let Some(call) = call {
                        (call.result, call.is_error) = (Some(text), is_error);
                    }
                }
                if has_words(provider, message) {
                    past.push(HistoryStep::User);
                }
            }
            MessageRole::User => past.push(HistoryStep::User),
            MessageRole::Other => {}
        }
    }
    past
}

/// Adds calls to the history. Calls of Responses are items of their own, and those in a row are one
/// turn.
fn add_turn(provider: Provider, calls: Vec<HistoryCall>, past: &mut Vec<HistoryStep>) {
    if provider == Provider::Responses
        && let Some(HistoryStep::Turn(open)) = past.last_mut()
        && open.iter().all(|call| call.result.is_none())
    {
        return open.extend(calls);
    }
    past.push(HistoryStep::Turn(calls));
}

/// Appends a text to the last result of a request. Returns `None` if the request does not end with a
/// result.
pub fn with_remark(provider: Provider, request: &str, text: &str) -> Option<String> {
    let tree = Tree::parse(request).ok()?;
    let list = messages(provider, tree.root())?;
    let last = list.elements().last()?;
    if role(provider, last) != MessageRole::Results {
        return None;
    }
    let block = BlockForm::of(provider).map(|form| form.results(last).pop());
    let (owner, key) = match (provider, block) {
        (Provider::Responses, _) => (last, "output"),
        // The response is an object of any form.
        (Provider::Gemini, Some(block)) => (block?.inner.get("response")?, "remark"),
        (_, Some(block)) => (block?.inner, "content"),
        (_, None) => (last, "content"),
    };
    let mut splice = Splice::new(request);
    let said = quoted(text);
    let part = match provider {
        Provider::Responses => format!(r#"{{"type":"input_text","text":{said}}}"#),
        Provider::Bedrock => format!(r#"{{"text":{said}}}"#),
        _ => format!(r#"{{"type":"text","text":{said}}}"#),
    };
    match owner.get(key) {
        Some(node) if node.kind() == Kind::Array => splice.append(node, &part),
        Some(node) if node.kind() == Kind::String => {
            let before = node.as_str().expect("a string has a text");
            splice.replace_string(node.span(), &format!("{before}\n\n{text}"));
        }
        _ => splice.set(owner, key, &said),
    }
    Some(splice.apply())
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageRole {
    Assistant,
    Results,
    User,
    Other,
}

fn messages(provider: Provider, root: Node<'_>) -> Option<Node<'_>> {
    let list = root.get(provider.history_key());
    list.filter(|list| list.kind() == Kind::Array)
}

trait Elements<'t> {
    fn elements_or_none(self) -> Vec<Node<'t>>;
}

impl<'t> Elements<'t> for Option<Node<'t>> {
    fn elements_or_none(self) -> Vec<Node<'t>> {
        self.into_iter().flat_map(Node::elements).collect()
    }
}

fn kind(node: Node<'_>) -> &str {
    node.get("type").and_then(Node::as_str).unwrap_or_default()
}

fn text_of(node: Node<'_>, key: &str) -> String {
    let text = node.get(key).and_then(Node::as_str);
    text.unwrap_or_default().to_owned()
}

fn role(provider: Provider, message: Node<'_>) -> MessageRole {
    let form = BlockForm::of(provider);
    match (kind(message), message.get("role").and_then(Node::as_str)) {
        ("function_call", _) => MessageRole::Assistant,
        ("function_call_output", _) => MessageRole::Results,
        (_, Some("assistant" | "model")) => MessageRole::Assistant,
        (_, Some("tool" | "function")) => MessageRole::Results,
        // Gemini takes a message without a role for one of the user.
        (_, Some("user") | None) if form.is_some_and(|form| !form.results(message).is_empty()) => {
            MessageRole::Results
        }
        (_, Some("user")) => MessageRole::User,
        (_, None) if provider == Provider::Gemini => MessageRole::User,
        _ => MessageRole::Other,
    }
}

/// Returns true if a message has text beside its results.
fn has_words(provider: Provider, message: Node<'_>) -> bool {
    let Some(form) = BlockForm::of(provider) else {
        return false;
    };
    let is_user = message.get("role").and_then(Node::as_str) == Some("user");
    let mut blocks = form.blocks(message).into_iter();
    is_user && blocks.any(|block| block.get("text").is_some())
}

/// The text of a string, or the JSON of anything else.
fn raw(node: Option<Node<'_>>) -> String {
    crate::stream::raw(node).unwrap_or_default()
}

/// Returns true for a call or a result in the legacy form.
fn is_legacy(message: Node<'_>) -> bool {
    let call = message.get("function_call");
    call.is_some_and(|call| call.kind() == Kind::Object)
        || message.get("role").and_then(Node::as_str) == Some("function")
}

fn calls_in(provider: Provider, message: Node<'_>) -> Vec<HistoryCall> {
    let call = |owner: Node<'_>, id: &str, inner: Node<'_>, key: &str| HistoryCall {
        id: text_of(owner, id),
        name: text_of(inner, "name"),
        arguments: raw(inner.get(key)),
        result: None,
        is_error: false,
    };
    let mut calls: Vec<_> = match (provider, BlockForm::of(provider)) {
        (_, Some(form)) => form.history_calls(message),
        (Provider::Responses, _) => match kind(message) {
            "function_call" => vec![call(message, "call_id", message, "arguments")],
            _ => Vec::new(),
        },
        _ => {
            // The legacy form has one call, whose name is its id.
            let legacy = message.get("function_call");
            if let Some(legacy) = legacy.filter(|legacy| legacy.kind() == Kind::Object) {
                vec![call(legacy, "name", legacy, "arguments")]
            } else {
                let calls = message.get("tool_calls").elements_or_none();
                let calls = calls
                    .into_iter()
                    .filter_map(|node| Some((node, node.get("function")?)));
                calls
                    .map(|(node, inner)| call(node, "id", inner, "arguments"))
                    .collect()
            }
        }
    };
    // Nobody can have run a call without a name.
    calls.retain(|call| !call.name.is_empty());
    calls
}

/// Returns ids, texts and error flags of the results in a message.
fn results_in(provider: Provider, message: Node<'_>) -> Vec<(String, String, bool)> {
    match (provider, BlockForm::of(provider)) {
        (_, Some(form)) => {
            let results = form.results(message).into_iter().map(|result| {
                let (text, is_error) = form.text(result.inner);
                (result.id, text, is_error)
            });
            results.collect()
        }
        (Provider::Responses, _) => {
            vec![(
                text_of(message, "call_id"),
                plain(message.get("output")),
                false,
            )]
        }
        _ => vec![(
            text_of(
                message,
                if is_legacy(message) {
                    "name"
                } else {
                    "tool_call_id"
                },
            ),
            plain(message.get("content")),
            false,
        )],
    }
}

/// The results in a message that name their tool.
pub(super) fn named_results(provider: Provider, message: Node<'_>) -> Vec<Node<'_>> {
    let form = BlockForm::of(provider).filter(|_| provider == Provider::Gemini);
    let results = form.map(|form| form.results(message)).unwrap_or_default();
    results.into_iter().map(|result| result.inner).collect()
}

/// Returns the text of a result.
fn plain(node: Option<Node<'_>>) -> String {
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return String::new();
    };
    if let Some(text) = node.as_str() {
        return text.to_owned();
    }
    let texts = node
        .elements()
        .map(|part| match part.get("text").and_then(Node::as_str) {
            Some(text) => text.to_owned(),
            None => part.to_json(),
        });
    match node.kind() {
        Kind::Array => texts.collect::<Vec<_>>().join("\n"),
        _ => node.to_json(),
    }
}
