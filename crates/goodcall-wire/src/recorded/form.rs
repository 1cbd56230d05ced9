//! Tells the provider of a request or a reply by its form.

use goodcall_core::{Kind, Node};

use crate::envelope::Provider;

fn list<'t>(node: Node<'t>, key: &str) -> Option<Node<'t>> {
    node.get(key).filter(|list| list.kind() == Kind::Array)
}

fn word<'t>(node: Node<'t>, key: &str) -> &'t str {
    node.get(key).and_then(Node::as_str).unwrap_or_default()
}

/// The provider of a request; `None` if this is not one.
pub(super) fn request(root: Node<'_>) -> Option<Provider> {
    if list(root, "contents").is_some() {
        return Some(Provider::Gemini);
    }
    if let Some(messages) = list(root, "messages") {
        return Some(provider_of_messages(root, messages));
    }
    let input = root.get("input")?;
    let is_input = match input.kind() {
        Kind::String => root.get("model").is_some(),
        Kind::Array => input.elements().all(|item| item.kind() == Kind::Object),
        _ => false,
    };
    is_input.then_some(Provider::Responses)
}

fn provider_of_messages(root: Node<'_>, messages: Node<'_>) -> Provider {
    if root.get("toolConfig").is_some() {
        return Provider::Bedrock;
    }
    let tools = list(root, "tools").into_iter().flat_map(Node::elements);
    let mut tools = tools.filter(|tool| tool.kind() == Kind::Object);
    if tools.any(|tool| tool.get("input_schema").is_some()) || root.get("system").is_some() {
        return Provider::Anthropic;
    }
    messages
        .elements()
        .find_map(provider_of_message)
        .unwrap_or(Provider::OpenAi)
}

/// The provider of a message, if its content says so.
fn provider_of_message(message: Node<'_>) -> Option<Provider> {
    let blocks = list(message, "content")?;
    blocks.elements().find_map(|block| {
        if block.get("toolUse").is_some() || block.get("toolResult").is_some() {
            return Some(Provider::Bedrock);
        }
        let anthropic = matches!(word(block, "type"), "tool_use" | "tool_result" | "thinking");
        anthropic.then_some(Provider::Anthropic)
    })
}

/// The list of tools of a request.
pub(super) fn tools(root: Node<'_>) -> Option<Node<'_>> {
    let places = [Some(root), root.get("toolConfig"), root.get("config")];
    let keys = ["tools", "functions"];
    let mut lists = places
        .into_iter()
        .flatten()
        .flat_map(|place| keys.iter().filter_map(move |key| list(place, key)));
    lists.find(|list| !list.is_empty())
}

/// What a recorded reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyForm {
    /// One response, message, or list of messages.
    Whole(Provider),
    /// The chunks of a stream.
    Chunks(Provider),
}

/// The form of a reply; `None` if this is not one.
pub(super) fn reply(root: Node<'_>) -> Option<ReplyForm> {
    if root.kind() == Kind::Array {
        let first = root.elements().next()?;
        if let Some(provider) = chunk(first) {
            return Some(ReplyForm::Chunks(provider));
        }
        return root.elements().find_map(whole).map(ReplyForm::Whole);
    }
    whole(root).map(ReplyForm::Whole)
}

/// The provider of a whole reply, or of a message of a model.
fn whole(root: Node<'_>) -> Option<Provider> {
    if root.kind() != Kind::Object {
        return None;
    }
    if list(root, "choices").is_some() {
        return Some(Provider::OpenAi);
    }
    if list(root, "candidates").is_some() || list(root, "parts").is_some() {
        return Some(Provider::Gemini);
    }
    if word(root, "object") == "response" || is_output_item(root) {
        return Some(Provider::Responses);
    }
    let output = root.get("output");
    if let Some(items) = output.filter(|output| output.kind() == Kind::Array) {
        return items
            .elements()
            .any(is_output_item)
            .then_some(Provider::Responses);
    }
    if output.is_some_and(|output| output.get("message").is_some()) {
        return Some(Provider::Bedrock);
    }
    let is_message = word(root, "role") == "assistant";
    if let Some(blocks) = list(root, "content").filter(|_| is_message) {
        let bedrock = |block: Node<'_>| block.get("toolUse").is_some();
        let has_calls = list(root, "tool_calls").is_some_and(|calls| !calls.is_empty());
        return Some(match (blocks.elements().any(bedrock), has_calls) {
            (true, _) => Provider::Bedrock,
            (false, true) => Provider::OpenAi,
            (false, false) => Provider::Anthropic,
        });
    }
    if is_message {
        return Some(Provider::OpenAi);
    }
    let has_message = root
        .get("message")
        .is_some_and(|m| m.kind() == Kind::Object);
    (has_message && root.get("done").is_some()).then_some(Provider::Ollama)
}

/// Returns true for an item of the output of Responses.
fn is_output_item(item: Node<'_>) -> bool {
    let kind = word(item, "type");
    matches!(kind, "function_call" | "reasoning" | "custom_tool_call")
        || kind == "message" && word(item, "role") == "assistant" && item.get("status").is_some()
}

/// The provider of a chunk of a stream.
pub(super) fn chunk(root: Node<'_>) -> Option<Provider> {
    let kind = word(root, "type");
    if kind.starts_with("response.") {
        return Some(Provider::Responses);
    }
    if matches!(
        kind,
        "message_start" | "content_block_start" | "content_block_delta" | "ping"
    ) {
        return Some(Provider::Anthropic);
    }
    if list(root, "candidates").is_some() {
        return Some(Provider::Gemini);
    }
    let choice = list(root, "choices");
    let is_delta = choice.is_some_and(|choices| {
        choices.is_empty() || choices.elements().any(|one| one.get("delta").is_some())
    });
    if is_delta || word(root, "object") == "chat.completion.chunk" {
        return Some(Provider::OpenAi);
    }
    let keys = ["messageStart", "contentBlockStart", "contentBlockDelta"];
    if keys.iter().any(|key| root.get(key).is_some()) {
        return Some(Provider::Bedrock);
    }
    let has_message = root
        .get("message")
        .is_some_and(|m| m.kind() == Kind::Object);
    (has_message && root.get("done").is_some()).then_some(Provider::Ollama)
}
