//! Writes messages in each provider's form.

use super::convert::{ConvertError, Message, Part};
use super::results::gemini_id;
use super::rewrite::legal_arguments;
use super::{Provider, result};
use crate::call::RawCall;
use crate::splice::quoted;

/// Writes messages in the target's form.
pub(super) fn write(to: Provider, messages: Vec<Message>) -> Result<String, ConvertError> {
    let mut out: Vec<String> = Vec::new();
    match to {
        Provider::Anthropic | Provider::Gemini | Provider::Bedrock => {
            write_blocks(to, &messages, &mut out)?;
        }
        Provider::Responses => messages
            .into_iter()
            .for_each(|message| write_items(message, &mut out)),
        Provider::OpenAi | Provider::Mistral | Provider::Ollama | Provider::Mcp => {
            for message in messages {
                write_chat(to, message, &mut out)?;
            }
        }
    }
    Ok(format!("[{}]", out.join(",")))
}

/// Writes chat messages: one per result, with calls beside the content.
fn write_chat(to: Provider, message: Message, out: &mut Vec<String>) -> Result<(), ConvertError> {
    let (mut text, mut calls) = (None::<String>, Vec::new());
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        match part {
            Part::Text(part) => text.get_or_insert_default().push_str(&part),
            Part::Call(call) => calls.push(chat_call(to, &call)?),
            Part::Result(call, answer) => out.push(result(to, &call, &answer)),
        }
    }
    if text.is_none() && calls.is_empty() {
        return Ok(());
    }
    let content = text.map_or("null".to_owned(), |text| quoted(&text));
    let calls = if calls.is_empty() {
        String::new()
    } else {
        format!(r#","tool_calls":[{}]"#, calls.join(","))
    };
    out.push(format!(
        r#"{{"role":{},"content":{content}{calls}}}"#,
        quoted(role)
    ));
    Ok(())
}

fn chat_call(to: Provider, call: &RawCall) -> Result<String, ConvertError> {
    let name = quoted(&call.name);
    if to == Provider::Ollama {
        let arguments = arguments_object(call)?;
        return Ok(format!(
            r#"{{"function":{{"name":{name},"arguments":{arguments}}}}}"#
        ));
    }
    let id = quoted(call.id.as_deref().unwrap_or_default());
    let arguments = quoted(arguments_text(call));
    Ok(format!(
        r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
    ))
}

/// The arguments of a call as text, as they were sent.
fn arguments_text(call: &RawCall) -> &str {
    match call.arguments.trim() {
        "" => "{}",
        _ => &call.arguments,
    }
}

/// Writes one item per part.
fn write_items(message: Message, out: &mut Vec<String>) {
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        out.push(match part {
            Part::Text(text) => {
                format!(r#"{{"role":{},"content":{}}}"#, quoted(role), quoted(&text))
            }
            Part::Call(call) => {
                let id = quoted(call.id.as_deref().unwrap_or_default());
                let arguments = quoted(arguments_text(&call));
                let name = quoted(&call.name);
                format!(
                    r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":{arguments}}}"#
                )
            }
            Part::Result(call, answer) => result(Provider::Responses, &call, &answer),
        });
    }
}

/// Writes messages of blocks, in which results belong to the user. Messages of one side in a row
/// become one message, because parallel results must be in one.
fn write_blocks(
    to: Provider,
    messages: &[Message],
    out: &mut Vec<String>,
) -> Result<(), ConvertError> {
    let role = |message: &Message| match (to, message.role.as_str()) {
        (Provider::Gemini, "assistant" | "model") => "model",
        (_, "assistant" | "model") => "assistant",
        _ => "user",
    };
    let key = match to {
        Provider::Gemini => "parts",
        _ => "content",
    };
    for turn in messages.chunk_by(|a, b| role(a) == role(b)) {
        let mut blocks = Vec::new();
        for part in turn.iter().flat_map(|message| &message.parts) {
            blocks.push(block(to, part)?);
        }
        let (role, blocks) = (turn.first().map_or("user", role), blocks.join(","));
        out.push(format!(r#"{{"role":"{role}","{key}":[{blocks}]}}"#));
    }
    Ok(())
}

fn block(to: Provider, part: &Part) -> Result<String, ConvertError> {
    Ok(match part {
        Part::Text(text) if to == Provider::Anthropic => {
            format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
        }
        Part::Text(text) => format!(r#"{{"text":{}}}"#, quoted(text)),
        Part::Result(call, answer) => result(to, call, answer),
        Part::Call(call) => {
            let id = quoted(call.id.as_deref().unwrap_or_default());
            let (name, input) = (quoted(&call.name), arguments_object(call)?);
            match to {
                Provider::Gemini => {
                    let id = gemini_id(call);
                    format!(r#"{{"functionCall":{{{id}"name":{name},"args":{input}}}}}"#)
                }
                Provider::Bedrock => {
                    format!(r#"{{"toolUse":{{"toolUseId":{id},"name":{name},"input":{input}}}}}"#)
                }
                _ => format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#),
            }
        }
    })
}

/// The arguments of a call as an object, which is empty if there are none.
fn arguments_object(call: &RawCall) -> Result<String, ConvertError> {
    let legal = legal_arguments(&call.arguments);
    if legal == call.arguments || call.arguments.trim().is_empty() {
        return Ok(legal);
    }
    Err(ConvertError(format!(
        "the arguments of the call {} to `{}` are not a JSON object, which this form \
         requires: mend them first (goodcall check shows what is wrong)",
        call.id.as_deref().unwrap_or_default(),
        call.name
    )))
}
