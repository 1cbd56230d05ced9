//! Conversations, replies and tools in the forms of providers.

use goodcall_core::{Kind, SchemaCache, Tree};
use goodcall_wire::{
    Answer, Envelope, RawCall, TextCallScope, Tools, TranscriptImage, TranscriptMessage,
    TranscriptPart, definitions, extract, transcript,
};
use serde_json::{Value, json};

use crate::definition::{Annotations, Definition};
use crate::message::{AssistantMessage, Call, CallOutcome, Image, Message, Reply, Usage};
use crate::reasoning;

pub use goodcall_wire::{ConvertError, EnvelopeError, Provider};

/// Returns the messages in a provider's form: a JSON array that the provider accepts.
///
/// ```
/// use goodcall::{Message, wire};
///
/// assert_eq!(
///     wire::messages(wire::Provider::OpenAi, &[Message::user("Hello")])?,
///     r#"[{"role":"user","content":"Hello"}]"#
/// );
/// # Ok::<(), wire::ConvertError>(())
/// ```
///
/// Each call has the arguments that its tool got, and an error is flagged where the form has a flag
/// (`is_error`, `status`, `error`). Anthropic, Gemini and Bedrock keep the system prompt outside the
/// list of messages. For them, a conversation with a system prompt is returned as an object with the
/// prompt and the messages. Reasoning and the signatures of calls are sent back to the provider that
/// they came from, and left out for others.
///
/// # Errors
/// If the provider's form cannot express the messages: images by URL for Gemini, Bedrock and Ollama, any
/// conversation for MCP.
pub fn messages(provider: Provider, messages: &[Message]) -> Result<String, ConvertError> {
    let mut written = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        written.push(match message {
            Message::System { text } => with_text("system", text),
            Message::User(user) => {
                let mut own = with_text("user", &user.text);
                own.parts.extend(user.images.iter().map(image));
                own
            }
            Message::Assistant(reply) => assistant(provider, reply, messages.get(at + 1)),
            Message::Tools { outcomes } => {
                let mut own = TranscriptMessage::new("user");
                own.parts.extend(outcomes.iter().map(answered));
                own
            }
        });
    }
    transcript(provider, written)
}

/// A message with this text; no provider takes an empty one.
fn with_text(role: &str, text: &str) -> TranscriptMessage {
    let mut message = TranscriptMessage::new(role);
    if !text.is_empty() {
        message.parts.push(TranscriptPart::Text(text.to_owned()));
    }
    message
}

fn image(image: &Image) -> TranscriptPart {
    TranscriptPart::Image(match image {
        Image::Url(url) => TranscriptImage::Url(url.clone()),
        Image::Data { media_type, base64 } => TranscriptImage::data(media_type, base64),
    })
}

/// Converts a reply: reasoning, text, calls. `next` are the outcomes of the calls.
fn assistant(
    provider: Provider,
    reply: &AssistantMessage,
    next: Option<&Message>,
) -> TranscriptMessage {
    let mut message = TranscriptMessage::new("assistant");
    reasoning::restore(provider, reply, &mut message);
    message.parts.extend(with_text("", &reply.text).parts);
    message.parts.extend(reply.calls.iter().map(|call| {
        let mut own =
            RawCall::new(&Tools::default(), &call.name, executed(call, next)).with_id(&call.id);
        own.signature.clone_from(&call.signature);
        TranscriptPart::Call(own)
    }));
    message
}

fn answered(outcome: &CallOutcome) -> TranscriptPart {
    let call = RawCall::new(&Tools::default(), &outcome.tool, "{}").with_id(&outcome.call_id);
    let answer = if outcome.is_ok() {
        Answer::ok(outcome.text())
    } else {
        Answer::error(outcome.text())
    };
    TranscriptPart::Result(call, answer)
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
    reply.reasoning = reasoning::read(provider, &whole);
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
