//! Finds the calls of an envelope, and the reason why it ended.

use std::ops::Range;

use goodcall_core::{Kind, Node, StopReason};

use super::Provider;

/// The most levels of lists and objects around a call.
const MOST_DEPTH: usize = 10;

/// One call's places in the text.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) id: Option<String>,
    /// The key of the id, empty if calls have none, and the span of its value.
    pub(crate) id_key: &'static str,
    pub(crate) id_span: Option<Range<usize>>,
    /// The object that holds the id.
    pub(crate) id_owner: Range<usize>,
    pub(crate) name: String,
    pub(crate) name_span: Range<usize>,
    pub(crate) arguments: Option<Arguments>,
    pub(crate) arguments_key: &'static str,
    /// The object that holds name and arguments.
    pub(crate) owner: Range<usize>,
    pub(crate) signature: Option<String>,
}

/// The arguments of a call: their span, and their text if they are a string.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub(crate) span: Range<usize>,
    pub(crate) text: Option<String>,
}

/// Returns true for a key that leads to messages, or from them to calls.
fn leads_on(key: &str) -> bool {
    matches!(
        key,
        "choices"
            | "message"
            | "messages"
            | "delta"
            | "output"
            | "input"
            | "response"
            | "content"
            | "candidates"
            | "contents"
            | "parts"
            | "tool_calls"
            | "function_call"
            | "params"
            | "item"
            | "toolUse"
            | "functionCall"
    )
}

/// Finds the calls of an envelope, in order.
pub(crate) fn calls(provider: Provider, root: Node<'_>) -> Vec<Site> {
    let mut sites = Vec::new();
    collect(provider, root, "", None, 0, &mut sites);
    sites
}

fn collect(
    provider: Provider,
    node: Node<'_>,
    key: &str,
    parent: Option<Node<'_>>,
    depth: usize,
    sites: &mut Vec<Site>,
) {
    if depth > MOST_DEPTH {
        return;
    }
    if node.kind() == Kind::Array {
        let each = |item| collect(provider, item, key, parent, depth + 1, sites);
        return node.elements().for_each(each);
    }
    if node.kind() != Kind::Object {
        return;
    }
    if let Some(site) = site(provider, node, key, parent) {
        sites.push(site);
        return;
    }
    if is_result(node) {
        return;
    }
    for (name, child) in node.members() {
        if leads_on(name) {
            collect(provider, child, name, Some(node), depth + 1, sites);
        }
    }
}

/// Returns true for the result of a tool, in which nothing is a call of the model.
fn is_result(node: Node<'_>) -> bool {
    let kind = node.get("type").and_then(Node::as_str);
    kind.is_some_and(|kind| kind.ends_with("_result") || kind.ends_with("_output"))
}

/// Returns the call that this object is in the provider's form.
fn site(provider: Provider, node: Node<'_>, key: &str, parent: Option<Node<'_>>) -> Option<Site> {
    let kind = || node.get("type").and_then(Node::as_str);
    match provider {
        Provider::OpenAi | Provider::Ollama | Provider::Mistral => {
            if key == "function_call" {
                return build(node, node, "", "name", "arguments");
            }
            let inner = node
                .get("function")
                .filter(|_| key == "tool_calls" || kind() == Some("function"))?;
            build(node, inner, "id", "name", "arguments")
        }
        Provider::Responses => {
            let call = kind() == Some("function_call");
            call.then(|| build(node, node, "call_id", "name", "arguments"))?
        }
        Provider::Anthropic => {
            let call = kind() == Some("tool_use");
            call.then(|| build(node, node, "id", "name", "input"))?
        }
        Provider::Gemini => {
            let mut site =
                (key == "functionCall").then(|| build(node, node, "id", "name", "args"))??;
            let signature = parent.and_then(|part| part.get("thoughtSignature"));
            site.signature = signature.and_then(Node::as_str).map(str::to_owned);
            Some(site)
        }
        Provider::Bedrock => {
            (key == "toolUse").then(|| build(node, node, "toolUseId", "name", "input"))?
        }
        Provider::Mcp => {
            let method = parent
                .and_then(|parent| parent.get("method"))
                .and_then(Node::as_str);
            let bare = parent.is_none() && node.get("method").is_none();
            let call = method == Some("tools/call") || bare;
            let owner = parent.unwrap_or(node);
            call.then(|| build(owner, node, "id", "name", "arguments"))?
        }
    }
}

fn build(
    id_owner: Node<'_>,
    owner: Node<'_>,
    id_key: &'static str,
    name_key: &str,
    arguments_key: &'static str,
) -> Option<Site> {
    let name = owner
        .get(name_key)
        .filter(|name| name.kind() == Kind::String)?;
    let id = id_owner.get(id_key);
    let text = id.and_then(|id| match id.as_str() {
        // Mistral's default for no id.
        Some("null" | "") => None,
        Some(text) => Some(text.to_owned()),
        None => id.digits().map(str::to_owned),
    });
    let arguments = owner.get(arguments_key).map(|node| Arguments {
        span: node.span(),
        text: match node.kind() {
            Kind::Null => Some(String::new()),
            _ => node.as_str().map(str::to_owned),
        },
    });
    Some(Site {
        id: text,
        id_key,
        id_span: id.map(Node::span),
        id_owner: id_owner.span(),
        name: name.as_str().expect("the kind is string").to_owned(),
        name_span: name.span(),
        arguments,
        arguments_key,
        owner: owner.span(),
        signature: None,
    })
}

/// Returns the text beside the calls.
pub(crate) fn content(root: Node<'_>) -> String {
    let mut text = String::new();
    texts(root, "", 0, &mut text);
    text
}

fn texts(node: Node<'_>, key: &str, depth: usize, out: &mut String) {
    if depth > MOST_DEPTH {
        return;
    }
    match node.kind() {
        Kind::String if key == "content" => {
            out.push_str(node.as_str().expect("a string has a text"))
        }
        Kind::Array => node
            .elements()
            .for_each(|item| texts(item, key, depth + 1, out)),
        Kind::Object => {
            let thought = node.get("thought").and_then(Node::as_bool) == Some(true);
            if node.get("type").and_then(Node::as_str) == Some("reasoning") {
                return;
            }
            let own = matches!(key, "content" | "parts") && !thought;
            if let Some(text) = node.get("text").and_then(Node::as_str).filter(|_| own) {
                out.push_str(text);
            }
            for (name, child) in node.members() {
                let leads = [
                    "choices",
                    "message",
                    "output",
                    "content",
                    "candidates",
                    "parts",
                ];
                if leads.contains(&name) {
                    texts(child, name, depth + 1, out);
                }
            }
        }
        _ => {}
    }
}

/// Reads the reason why the message ended, which it or its envelope names.
pub(crate) fn stop(root: Node<'_>) -> StopReason {
    const KEYS: [&str; 6] = [
        "finish_reason",
        "stop_reason",
        "finishReason",
        "stopReason",
        "done_reason",
        "status",
    ];
    let first = |key| root.get(key).and_then(|list| list.element(0));
    let places = [Some(root), first("choices"), first("candidates")];
    let named = places.into_iter().flatten().find_map(|place| {
        KEYS.iter()
            .find_map(|key| place.get(key).and_then(Node::as_str))
    });
    named.map_or(StopReason::Unknown, stop_named)
}

/// Reads a provider's stop reason.
pub(crate) fn stop_named(reason: &str) -> StopReason {
    let capitals = reason.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower = capitals.then(|| reason.to_ascii_lowercase());
    match lower.as_deref().unwrap_or(reason) {
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "incomplete"
        | "content_filter"
        | "model_context_window_exceeded"
        | "malformed_function_call"
        | "malformed_tool_use"
        | "malformed_model_output" => StopReason::CutOff,
        "stop" | "tool_calls" | "tool_use" | "end_turn" | "stop_sequence" | "completed"
        | "function_call" | "eos" => StopReason::Finished,
        _ => StopReason::Unknown,
    }
}

/// Returns true if this stop reason names a stop for safety. Such a reply is never asked for again.
pub(crate) fn is_safety_stop(reason: Option<Node<'_>>) -> bool {
    const REASONS: [&str; 10] = [
        "content_filter",
        "content_filtered",
        "refusal",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
        "guardrail_intervened",
    ];
    let reason = reason.and_then(Node::as_str).unwrap_or_default();
    REASONS.iter().any(|own| own.eq_ignore_ascii_case(reason))
}

/// Returns true for a call that is not a function call, and that only the client can answer.
pub(crate) fn is_client_side_call(call: Node<'_>) -> bool {
    const KINDS: [&str; 7] = [
        "custom",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
    ];
    let kind = call.get("type").and_then(Node::as_str);
    kind.is_some_and(|kind| KINDS.contains(&kind))
}
