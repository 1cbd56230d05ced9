//! Reasoning that a provider signs and demands back unchanged, in the provider's own form.

use goodcall_wire::{Provider, TranscriptMessage, TranscriptPart};
use serde_json::{Value, json};

use crate::message::{AssistantMessage, Reasoning};

/// The members of a chat message that hold reasoning.
const CHAT_MEMBERS: [&str; 2] = [DETAILS, CONTENT];
const DETAILS: &str = "reasoning_details";
/// Servers that send it want it back beside calls, and some refuse it beside text.
const CONTENT: &str = "reasoning_content";

/// Returns the reasoning in a response, in order.
pub(crate) fn read(provider: Provider, response: &Value) -> Vec<Reasoning> {
    let own = |block: Value| Reasoning::new(provider.name(), block);
    match provider {
        Provider::OpenAi => of_chat(&response["choices"][0]["message"]),
        Provider::Responses => {
            let items = of_list(&response["output"]);
            let items = items.filter(|item| item["type"] == "reasoning");
            items.map(|item| own(item.clone())).collect()
        }
        Provider::Anthropic => {
            let blocks = of_list(&response["content"]).filter(|block| {
                let kind = block["type"].as_str();
                matches!(kind, Some("thinking" | "redacted_thinking"))
            });
            blocks.map(|block| own(block.clone())).collect()
        }
        Provider::Bedrock => {
            let blocks = of_list(&response["output"]["message"]["content"]);
            let blocks = blocks.filter(|block| block.get("reasoningContent").is_some());
            blocks.map(|block| own(block.clone())).collect()
        }
        // Gemini signs calls, which keep their signatures themselves.
        _ => Vec::new(),
    }
}

/// Returns the reasoning in a chat message.
pub(crate) fn of_chat(message: &Value) -> Vec<Reasoning> {
    let members = CHAT_MEMBERS.iter().filter_map(|name| {
        let value = message.get(name).filter(|value| !is_empty(value))?;
        let block = json!({*name: value});
        Some(Reasoning::new(Provider::OpenAi.name(), block))
    });
    members.collect()
}

/// Adds the reasoning in a piece of a streamed chat message to that of the pieces before it.
#[cfg(feature = "openai")]
pub(crate) fn add_delta(message: &mut Value, delta: &Value) {
    for name in CHAT_MEMBERS {
        match (&mut message[name], &delta[name]) {
            (Value::String(text), Value::String(more)) => text.push_str(more),
            (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
            (known @ Value::Null, more) => known.clone_from(more),
            _ => {}
        }
    }
}

/// Puts the reasoning of a reply back into its message, which has no other parts yet.
pub(crate) fn restore(
    provider: Provider,
    reply: &AssistantMessage,
    message: &mut TranscriptMessage,
) {
    let own = reply.reasoning.iter();
    for reasoning in own.filter(|reasoning| reasoning.provider == provider.name()) {
        if provider != Provider::OpenAi {
            let block = reasoning.block.to_string();
            message.parts.push(TranscriptPart::Own(block));
            continue;
        }
        for (name, value) in reasoning.block.as_object().into_iter().flatten() {
            if name != CONTENT || !reply.calls.is_empty() {
                message.members.push(format!("{}:{value}", json!(name)));
            }
        }
    }
}

fn of_list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
