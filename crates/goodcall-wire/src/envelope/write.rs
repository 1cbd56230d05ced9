//! Messages of no form, written in each provider's.

use super::results::gemini_id;
use super::rewrite::legal_arguments;
use super::transcript::{ConvertError, Message, Part};
use super::{Provider, result};
use crate::call::RawCall;
use crate::cuts::quoted;

/// Messages in the provider's form.
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

/// One message a result, calls beside the content.
fn write_chat(to: Provider, message: Message, out: &mut Vec<String>) -> Result<(), ConvertError> {
    let (mut text, mut calls, mut some) = (String::new(), Vec::new(), false);
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        match part {
            Part::Text(part) => (text, some) = (text + &part, true),
            Part::Call(call) => calls.push(chat_call(to, &call)?),
            Part::Result(call, answer) => out.push(result(to, &call, &answer)),
        }
    }
    if !some && calls.is_empty() {
        return Ok(());
    }
    let content = if some {
        quoted(&text)
    } else {
        "null".to_owned()
    };
    let calls = match calls.is_empty() {
        true => String::new(),
        false => format!(r#","tool_calls":[{}]"#, calls.join(",")),
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
        let arguments = object(call)?;
        return Ok(format!(
            r#"{{"function":{{"name":{name},"arguments":{arguments}}}}}"#
        ));
    }
    let id = quoted(call.id.as_deref().unwrap_or_default());
    let arguments = quoted(text(call));
    Ok(format!(
        r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#
    ))
}

/// The arguments of a call where text is due, as they were sent, whatever they are.
fn text(call: &RawCall) -> &str {
    match call.arguments.trim() {
        "" => "{}",
        _ => &call.arguments,
    }
}

/// One item each.
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
                let arguments = quoted(self::text(&call));
                let name = quoted(&call.name);
                format!(
                    r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":{arguments}}}"#
                )
            }
            Part::Result(call, answer) => result(Provider::Responses, &call, &answer),
        });
    }
}

/// Blocks in a message; results belong to the user. What one side says in a row is one message,
/// as parallel results have to be.
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
            let (name, input) = (quoted(&call.name), object(call)?);
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

/// The arguments of a call where an object is due. Nothing at all is an empty one.
fn object(call: &RawCall) -> Result<String, ConvertError> {
    let legal = legal_arguments(&call.arguments);
    if legal == call.arguments || call.arguments.trim().is_empty() {
        return Ok(legal);
    }
    Err(ConvertError(format!(
        "the arguments of the call {} to `{}` are no JSON object, and this form takes nothing \
         else: mend them first (goodcall check shows what is wrong)",
        call.id.as_deref().unwrap_or_default(),
        call.name
    )))
}
