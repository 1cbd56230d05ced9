//! Conversations in the forms of providers: the neutral messages on one side, `goodcall-wire` on
//! the other.

use goodcall_wire::{Answer, Tools, convert, definitions, result};
use serde_json::{Value, json};

use crate::message::{Call, CallOutcome, Message};
use crate::toolbox::Definition;

pub use goodcall_wire::{ConvertError, Provider};

/// The messages in a provider's form: a JSON array, legal to send.
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
/// Where the provider keeps the system prompt outside of its list (Anthropic, Gemini, Bedrock), a
/// conversation with one comes as a request: an object with the prompt and the messages.
///
/// # Errors
/// If the provider's form cannot say what the messages say; MCP has no form for a conversation.
pub fn messages(provider: Provider, messages: &[Message]) -> Result<String, ConvertError> {
    let mut list = Vec::new();
    for message in messages {
        match message {
            Message::System { text } => list.push(said("system", text)),
            Message::User { text } => list.push(said("user", text)),
            Message::Assistant { text, calls } if calls.is_empty() => {
                list.push(said("assistant", text));
            }
            Message::Assistant { text, calls } => list.push(called(text, calls)),
            Message::Tools { outcomes } => list.extend(outcomes.iter().map(answered)),
        }
    }
    let chat = format!("[{}]", list.join(","));
    match provider {
        Provider::OpenAi => Ok(chat),
        other => convert(Provider::OpenAi, other, &chat).map(|converted| converted.text),
    }
}

fn said(role: &str, text: &str) -> String {
    json!({"role": role, "content": text}).to_string()
}

/// A reply with calls. Arguments that are no JSON object would be refused by the provider for
/// ever; what was wrong with them stands in the outcome.
fn called(text: &str, calls: &[Call]) -> String {
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
    let tree = goodcall_core::Tree::parse(arguments);
    match tree.is_ok_and(|tree| tree.root().kind() == goodcall_core::Kind::Object) {
        true => arguments,
        false => "{}",
    }
}

fn answered(outcome: &CallOutcome) -> String {
    let call = goodcall_wire::RawCall::new(&Tools::default(), &outcome.tool, "{}");
    let call = call.with_id(&outcome.call_id);
    let answer = match outcome.is_ok() {
        true => Answer::ok(outcome.text()),
        false => Answer::error(outcome.text()),
    };
    result(Provider::OpenAi, &call, &answer)
}

/// The tools as `goodcall-wire` knows them.
pub(crate) fn offered(tools: &[Definition<'_>]) -> Tools {
    let bare = |tool: &Definition<'_>| {
        let any = json!({"type": "object", "properties": {}});
        let parameters = tool.parameters.unwrap_or(&any);
        json!({"name": tool.name, "description": tool.description, "parameters": parameters})
    };
    let list: Vec<_> = tools.iter().map(bare).collect();
    Tools::read(&Value::from(list).to_string()).unwrap_or_default()
}

/// The tools in a provider's form: the value of its `tools` field.
pub fn tools(provider: Provider, tools: &[Definition<'_>]) -> String {
    definitions(provider, &offered(tools))
}
