//! Conversations and tools in the forms of providers.

use goodcall_core::{Kind, Tree};
use goodcall_wire::{Answer, Tools, convert, definitions, result};
use serde_json::{Value, json};

use crate::message::{Call, CallOutcome, Message};
use crate::toolbox::Definition;

pub use goodcall_wire::{ConvertError, Provider};

/// Returns the messages in a provider's form: a JSON array that the provider accepts.
///
/// ```
/// use goodcall::{Message, wire};
///
/// let hello = Message::User { text: "Hello".to_owned() };
/// assert_eq!(
///     wire::messages(wire::Provider::OpenAi, &[hello])?,
///     r#"[{"content":"Hello","role":"user"}]"#
/// );
/// # Ok::<(), wire::ConvertError>(())
/// ```
///
/// Anthropic, Gemini and Bedrock keep the system prompt outside the list of messages. For them, a
/// conversation with a system prompt is returned as an object with the prompt and the messages.
///
/// # Errors
/// If the provider's form cannot express the messages. MCP has no form for a conversation.
pub fn messages(provider: Provider, messages: &[Message]) -> Result<String, ConvertError> {
    let mut list = Vec::new();
    for message in messages {
        match message {
            Message::System { text } => list.push(text_message("system", text)),
            Message::User { text } => list.push(text_message("user", text)),
            Message::Assistant { text, calls } if calls.is_empty() => {
                list.push(text_message("assistant", text));
            }
            Message::Assistant { text, calls } => list.push(call_message(text, calls)),
            Message::Tools { outcomes } => list.extend(outcomes.iter().map(result_message)),
        }
    }
    let chat = format!("[{}]", list.join(","));
    match provider {
        Provider::OpenAi => Ok(chat),
        other => convert(Provider::OpenAi, other, &chat).map(|converted| converted.text),
    }
}

fn text_message(role: &str, text: &str) -> String {
    json!({"role": role, "content": text}).to_string()
}

/// Returns a reply with calls. A provider refuses every conversation with arguments that are not a
/// JSON object, so such arguments are sent as `{}`; their outcome says what was wrong.
fn call_message(text: &str, calls: &[Call]) -> String {
    let call = |call: &Call| {
        json!({"id": call.id, "type": "function", "function": {
            "name": call.name, "arguments": legal(&call.arguments)}})
    };
    let calls: Vec<_> = calls.iter().map(call).collect();
    let content = if text.is_empty() {
        Value::Null
    } else {
        json!(text)
    };
    json!({"role": "assistant", "content": content, "tool_calls": calls}).to_string()
}

fn legal(arguments: &str) -> &str {
    match Tree::parse(arguments) {
        Ok(tree) if tree.root().kind() == Kind::Object => arguments,
        _ => "{}",
    }
}

fn result_message(outcome: &CallOutcome) -> String {
    let call = goodcall_wire::RawCall::new(&Tools::default(), &outcome.tool, "{}");
    let call = call.with_id(&outcome.call_id);
    let answer = if outcome.is_ok() {
        Answer::ok(outcome.text())
    } else {
        Answer::error(outcome.text())
    };
    result(Provider::OpenAi, &call, &answer)
}

/// Converts the tools to those of `goodcall-wire`.
pub(crate) fn offered(tools: &[Definition<'_>]) -> Tools {
    let bare = |tool: &Definition<'_>| {
        let any = json!({"type": "object", "properties": {}});
        let parameters = tool.parameters.unwrap_or(&any);
        json!({"name": tool.name, "description": tool.description, "parameters": parameters})
    };
    let list: Vec<_> = tools.iter().map(bare).collect();
    Tools::read(&Value::from(list).to_string()).unwrap_or_default()
}

/// Returns the tools in a provider's form: the value of its `tools` field.
pub fn tools(provider: Provider, tools: &[Definition<'_>]) -> String {
    definitions(provider, &offered(tools))
}
