//! Conversations, replies and tools in the forms of providers.

use goodcall_core::{Kind, SchemaCache, Tree};
use goodcall_wire::{
    Answer, Envelope, RawCall, TextCallScope, Tools, convert, definitions, extract, result,
};
use serde_json::{Value, json};

use crate::definition::{Annotations, Definition};
use crate::message::{
    AssistantMessage, Call, CallOutcome, Image, Message, Reasoning, Reply, Usage, UserMessage,
};

pub use goodcall_wire::{ConvertError, EnvelopeError, Provider};

/// Returns the messages in a provider's form: a JSON array that the provider accepts.
///
/// ```
/// use goodcall::{Message, wire};
///
/// assert_eq!(
///     wire::messages(wire::Provider::OpenAi, &[Message::user("Hello")])?,
///     r#"[{"content":"Hello","role":"user"}]"#
/// );
/// # Ok::<(), wire::ConvertError>(())
/// ```
///
/// Each call has the arguments that its tool got, and an error is flagged where the form has a flag
/// (`is_error`, `status`, `error`). Anthropic, Gemini and Bedrock keep the system prompt outside the
/// list of messages. For them, a conversation with a system prompt is returned as an object with the
/// prompt and the messages. Reasoning is sent back to the provider that it came from, and left out
/// for others.
///
/// # Errors
/// If the provider's form cannot express the messages. Images can be sent to OpenAI and Anthropic;
/// MCP has no form for a conversation.
pub fn messages(provider: Provider, messages: &[Message]) -> Result<String, ConvertError> {
    match provider {
        Provider::OpenAi => Ok(chat(messages)),
        Provider::Anthropic => Ok(blocks(messages, true)),
        // Blocks can flag an error, chat messages cannot.
        Provider::Gemini | Provider::Bedrock => {
            let blocks = blocks(messages, false);
            convert(Provider::Anthropic, provider, &blocks).map(|converted| converted.text)
        }
        other => convert(Provider::OpenAi, other, &chat(messages)).map(|converted| converted.text),
    }
}

/// Writes chat messages, one for each result.
fn chat(messages: &[Message]) -> String {
    let mut list = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::System { text } => list.push(json!({"role": "system", "content": text})),
            Message::User(user) => {
                list.push(json!({"role": "user", "content": chat_content(user)}));
            }
            Message::Assistant(reply) if reply.calls.is_empty() => {
                list.push(json!({"role": "assistant", "content": reply.text}));
            }
            Message::Assistant(reply) => {
                let call = |call: &Call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.name, "arguments": executed(call, messages.get(at + 1))}})
                };
                let calls: Vec<_> = reply.calls.iter().map(call).collect();
                let content = Some(&reply.text).filter(|text| !text.is_empty());
                list.push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
            }
            Message::Tools { outcomes } => list.extend(outcomes.iter().map(|outcome| {
                json!({"role": "tool", "tool_call_id": outcome.call_id, "content": outcome.text()})
            })),
        }
    }
    Value::from(list).to_string()
}

fn chat_content(user: &UserMessage) -> Value {
    if user.images.is_empty() {
        return json!(user.text);
    }
    let mut parts = vec![json!({"type": "text", "text": user.text})];
    parts.extend(user.images.iter().map(|image| {
        let url = match image {
            Image::Url(url) => url.clone(),
            Image::Data { media_type, base64 } => format!("data:{media_type};base64,{base64}"),
        };
        json!({"type": "image_url", "image_url": {"url": url}})
    }));
    Value::from(parts)
}

/// Writes messages of blocks, in which results belong to the user. Messages of one side in a row
/// become one.
fn blocks(messages: &[Message], reasoning: bool) -> String {
    let mut prompt = Vec::new();
    let mut turns: Vec<(&str, Vec<String>)> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let (role, blocks) = match message {
            Message::System { text } => {
                prompt.push(text.as_str());
                continue;
            }
            Message::User(user) => ("user", user_blocks(user)),
            Message::Tools { outcomes } => ("user", outcomes.iter().map(result_block).collect()),
            Message::Assistant(reply) => {
                let next = messages.get(at + 1);
                ("assistant", reply_blocks(reply, next, reasoning))
            }
        };
        match turns.last_mut() {
            Some((last, list)) if *last == role => list.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let turns: Vec<_> = turns
        .iter()
        .map(|(role, blocks)| format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(",")))
        .collect();
    let list = format!("[{}]", turns.join(","));
    if prompt.is_empty() {
        return list;
    }
    let prompt = Value::from(prompt.join("\n\n"));
    format!(r#"{{"system":{prompt},"messages":{list}}}"#)
}

fn text_block(text: &str) -> Option<String> {
    // An empty block is refused.
    (!text.is_empty()).then(|| json!({"type": "text", "text": text}).to_string())
}

fn user_blocks(user: &UserMessage) -> Vec<String> {
    let images = user.images.iter().map(|image| {
        let source = match image {
            Image::Url(url) => json!({"type": "url", "url": url}),
            Image::Data { media_type, base64 } => {
                json!({"type": "base64", "media_type": media_type, "data": base64})
            }
        };
        json!({"type": "image", "source": source}).to_string()
    });
    text_block(&user.text).into_iter().chain(images).collect()
}

fn reply_blocks(reply: &AssistantMessage, next: Option<&Message>, reasoning: bool) -> Vec<String> {
    let own = |block: &&Reasoning| reasoning && block.provider == Provider::Anthropic.name();
    let thought = reply.reasoning.iter().filter(own);
    let thought = thought.map(|reasoning| reasoning.block.to_string());
    let calls = reply.calls.iter().map(|call| {
        // The arguments are spliced in, so that no digit is lost.
        let (id, name) = (Value::from(&*call.id), Value::from(&*call.name));
        let input = executed(call, next);
        format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
    });
    let text = text_block(&reply.text);
    thought.chain(text).chain(calls).collect()
}

fn result_block(outcome: &CallOutcome) -> String {
    let call = RawCall::new(&Tools::default(), &outcome.tool, "{}").with_id(&outcome.call_id);
    let answer = if outcome.is_ok() {
        Answer::ok(outcome.text())
    } else {
        Answer::error(outcome.text())
    };
    result(Provider::Anthropic, &call, &answer)
}

/// Returns the arguments that the tool got: the mended ones if `next` has an outcome that says so. A
/// provider refuses every conversation with arguments that are not a JSON object, so those of a
/// refused call are sent as `{}`; its outcome says what was wrong.
fn executed<'m>(call: &'m Call, next: Option<&'m Message>) -> &'m str {
    let outcome = match next {
        Some(Message::Tools { outcomes }) => {
            outcomes.iter().find(|outcome| outcome.call_id == call.id)
        }
        _ => None,
    };
    let mended = outcome.and_then(|outcome| outcome.mended.as_deref());
    let arguments = mended.unwrap_or(&call.arguments);
    match Tree::parse(arguments) {
        Ok(tree) if tree.root().kind() == Kind::Object => arguments,
        _ => "{}",
    }
}

/// Converts the tools to those of `goodcall-wire`.
pub(crate) fn offered(tools: &[Definition<'_>]) -> Tools {
    let bare = |tool: &Definition<'_>| {
        let any = json!({"type": "object", "properties": {}});
        let parameters = tool.parameters.unwrap_or(&any);
        let mut bare =
            json!({"name": tool.name, "description": tool.description, "parameters": parameters});
        if let Some(title) = tool.title {
            bare["title"] = title.into();
        }
        if tool.annotations != Annotations::default() {
            bare["annotations"] = json!(tool.annotations);
        }
        bare
    };
    let list: Vec<_> = tools.iter().map(bare).collect();
    let list = Value::from(list).to_string();
    Tools::read_with(&list, SchemaCache::shared()).unwrap_or_default()
}

/// Returns the tools in a provider's form: the value of its `tools` field. MCP's form has the titles and
/// the annotations, which others have no place for.
pub fn tools(provider: Provider, tools: &[Definition<'_>]) -> String {
    definitions(provider, &offered(tools))
}

/// Reads a provider's whole response, for a [`Model`](crate::Model) of your own. Names of tools are
/// cleaned (`functions.read` is `read`), and a reply without calls is searched for calls in its text.
///
/// ```
/// use goodcall::{Definition, wire};
///
/// let tools = [Definition::new("read", "Reads a file.", None)];
/// let body = r#"{"content": [{"type": "text", "text": "I look."}, {"type": "tool_use",
///     "id": "toolu_1", "name": "functions.read", "input": {}}], "stop_reason": "tool_use"}"#;
/// let reply = wire::reply(wire::Provider::Anthropic, body, &tools).unwrap();
/// assert_eq!((reply.text.as_str(), reply.calls[0].name.as_str()), ("I look.", "read"));
/// ```
///
/// # Errors
/// If the response is not JSON.
pub fn reply(
    provider: Provider,
    body: &str,
    tools: &[Definition<'_>],
) -> Result<Reply, EnvelopeError> {
    let tools = offered(tools);
    let envelope = Envelope::read(provider, body, &tools)?;
    let whole = serde_json::from_str::<Value>(body).unwrap_or_default();
    let mut reply = Reply::text(envelope.content());
    reply.calls = envelope.calls().iter().map(Call::from_wire).collect();
    reply.stop = envelope.stop();
    reply.usage = usage(&whole);
    reply.reasoning = reasoning(provider, &whole);
    Ok(cleaned(reply, &tools))
}

/// Cleans the names of calls, and finds calls in the text of a reply that has no others.
pub(crate) fn cleaned(mut reply: Reply, tools: &Tools) -> Reply {
    for call in &mut reply.calls {
        if tools.get(&call.name).is_none() {
            let found = RawCall::new(tools, &call.name, "");
            let found = Call::from_wire(&found);
            call.name = found.name;
            call.changes.extend(found.changes);
        }
    }
    if reply.calls.is_empty() && !reply.text.is_empty() {
        let found = extract(&reply.text, tools, TextCallScope::Explicit);
        if !found.calls.is_empty() {
            reply.calls = found.calls.iter().map(Call::from_wire).collect();
            reply.text = found.text;
        }
    }
    reply
}

/// The tokens that a response took, by the names that providers have for them.
pub(crate) fn usage(response: &Value) -> Option<Usage> {
    let counts = ["usage", "usageMetadata"]
        .iter()
        .find_map(|key| response.get(key));
    let counts = counts.unwrap_or(response);
    let count = |names: &[&str]| names.iter().find_map(|name| counts.get(name)?.as_u64());
    let input = [
        "prompt_tokens",
        "input_tokens",
        "inputTokens",
        "promptTokenCount",
    ];
    let output = [
        "completion_tokens",
        "output_tokens",
        "outputTokens",
        "candidatesTokenCount",
    ];
    Some(Usage::new(
        count(&input).or_else(|| count(&["prompt_eval_count"]))?,
        count(&output).or_else(|| count(&["eval_count"]))?,
    ))
}

/// The blocks of reasoning that must be sent back.
fn reasoning(provider: Provider, response: &Value) -> Vec<Reasoning> {
    if provider != Provider::Anthropic {
        return Vec::new();
    }
    let blocks = response.get("content").and_then(Value::as_array);
    let blocks = blocks.into_iter().flatten().filter(|block| {
        let kind = block.get("type").and_then(Value::as_str);
        matches!(kind, Some("thinking" | "redacted_thinking"))
    });
    blocks
        .map(|block| Reasoning::new(provider.name(), block.clone()))
        .collect()
}
