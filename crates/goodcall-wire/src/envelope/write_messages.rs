//! Writes messages in each provider's form.

use super::convert::ConvertError;
use super::results::gemini_id;
use super::rewrite::legal_arguments;
use super::transcript::TranscriptImage;
use super::{Answer, Provider, TranscriptMessage, TranscriptPart, result};
use crate::call::RawCall;
use crate::splice::quoted;

/// Writes messages in the target's form.
pub(super) fn write(
    to: Provider,
    messages: Vec<TranscriptMessage>,
) -> Result<String, ConvertError> {
    let mut out: Vec<String> = Vec::new();
    match to {
        Provider::Anthropic | Provider::Gemini | Provider::Bedrock => {
            write_blocks(to, &messages, &mut out)?;
        }
        Provider::Responses => {
            for message in messages {
                write_items(message, &mut out)?;
            }
        }
        Provider::OpenAi | Provider::Mistral | Provider::Ollama | Provider::Mcp => {
            for message in messages {
                write_chat(to, message, &mut out)?;
            }
        }
    }
    Ok(format!("[{}]", out.join(",")))
}

/// Writes chat messages: one per result, with calls beside the content.
fn write_chat(
    to: Provider,
    message: TranscriptMessage,
    out: &mut Vec<String>,
) -> Result<(), ConvertError> {
    let (mut text, mut images, mut calls) = (None::<String>, Vec::new(), Vec::new());
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        match part {
            TranscriptPart::Text(part) => text.get_or_insert_default().push_str(&part),
            TranscriptPart::Image(image) => images.push(image),
            TranscriptPart::Call(call) => calls.push(chat_call(to, &call)?),
            TranscriptPart::Result(call, answer) => out.push(written_result(to, &call, &answer)?),
            TranscriptPart::Own(_) => {}
        }
    }
    if text.is_none() && calls.is_empty() && images.is_empty() {
        return Ok(());
    }
    let mut members = vec![
        format!(r#""role":{}"#, quoted(role)),
        chat_content(to, text, &images)?,
    ];
    if !calls.is_empty() {
        members.push(format!(r#""tool_calls":[{}]"#, calls.join(",")));
    }
    members.extend(message.members);
    out.push(format!("{{{}}}", members.join(",")));
    Ok(())
}

/// Writes the text and the images of a chat message.
fn chat_content(
    to: Provider,
    text: Option<String>,
    images: &[TranscriptImage],
) -> Result<String, ConvertError> {
    if to == Provider::Ollama && !images.is_empty() {
        let bytes = images.iter().map(|image| image.bytes(to));
        let bytes = bytes.map(|bytes| bytes.map(|(_, base64)| quoted(base64)));
        let bytes = bytes.collect::<Result<Vec<_>, _>>()?.join(",");
        let text = quoted(&text.unwrap_or_default());
        return Ok(format!(r#""content":{text},"images":[{bytes}]"#));
    }
    if images.is_empty() {
        let content = text.map_or("null".to_owned(), |text| quoted(&text));
        return Ok(format!(r#""content":{content}"#));
    }
    let text = text.map(|text| format!(r#"{{"type":"text","text":{}}}"#, quoted(&text)));
    let images = images.iter().map(|image| {
        let url = quoted(&image.to_url());
        format!(r#"{{"type":"image_url","image_url":{{"url":{url}}}}}"#)
    });
    let parts: Vec<_> = text.into_iter().chain(images).collect();
    Ok(format!(r#""content":[{}]"#, parts.join(",")))
}

fn chat_call(to: Provider, call: &RawCall) -> Result<String, ConvertError> {
    let name = quoted(&call.name);
    if to == Provider::Ollama {
        let arguments = arguments_object(call)?;
        return Ok(format!(
            r#"{{"function":{{"name":{name},"arguments":{arguments}}}}}"#
        ));
    }
    let (id, arguments) = (written_id(call)?, quoted(arguments_text(call)));
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
fn write_items(message: TranscriptMessage, out: &mut Vec<String>) -> Result<(), ConvertError> {
    let role = if message.role == "model" {
        "assistant"
    } else {
        message.role.as_str()
    };
    for part in message.parts {
        out.push(match part {
            TranscriptPart::Text(text) => {
                format!(r#"{{"role":{},"content":{}}}"#, quoted(role), quoted(&text))
            }
            TranscriptPart::Call(call) => {
                let id = written_id(&call)?;
                let arguments = quoted(arguments_text(&call));
                let name = quoted(&call.name);
                format!(
                    r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":{arguments}}}"#
                )
            }
            TranscriptPart::Result(call, answer) => {
                written_result(Provider::Responses, &call, &answer)?
            }
            TranscriptPart::Image(image) => {
                let url = quoted(&image.to_url());
                format!(
                    r#"{{"role":{},"content":[{{"type":"input_image","image_url":{url}}}]}}"#,
                    quoted(role)
                )
            }
            TranscriptPart::Own(item) => item,
        });
    }
    Ok(())
}

/// Writes messages of blocks, in which results belong to the user. Messages of one side in a row
/// become one message, because parallel results must be in one.
fn write_blocks(
    to: Provider,
    messages: &[TranscriptMessage],
    out: &mut Vec<String>,
) -> Result<(), ConvertError> {
    let role = |message: &TranscriptMessage| match (to, message.role.as_str()) {
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

fn block(to: Provider, part: &TranscriptPart) -> Result<String, ConvertError> {
    Ok(match part {
        TranscriptPart::Text(text) if to == Provider::Anthropic => {
            format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
        }
        TranscriptPart::Text(text) => format!(r#"{{"text":{}}}"#, quoted(text)),
        TranscriptPart::Image(image) => image_block(to, image)?,
        TranscriptPart::Own(block) => block.clone(),
        TranscriptPart::Result(call, answer) => written_result(to, call, answer)?,
        TranscriptPart::Call(call) => {
            let (name, input) = (quoted(&call.name), arguments_object(call)?);
            match to {
                Provider::Gemini => {
                    let id = gemini_id(call);
                    let signature = call.signature.as_deref().map(quoted);
                    let signature = signature
                        .map(|own| format!(r#","thoughtSignature":{own}"#))
                        .unwrap_or_default();
                    format!(r#"{{"functionCall":{{{id}"name":{name},"args":{input}}}{signature}}}"#)
                }
                Provider::Bedrock => {
                    let id = written_id(call)?;
                    format!(r#"{{"toolUse":{{"toolUseId":{id},"name":{name},"input":{input}}}}}"#)
                }
                _ => {
                    let id = written_id(call)?;
                    format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
                }
            }
        }
    })
}

/// Writes a result, which some providers pair with its call by the name of the tool alone.
fn written_result(to: Provider, call: &RawCall, answer: &Answer) -> Result<String, ConvertError> {
    if call.name.is_empty() && matches!(to, Provider::Gemini | Provider::Ollama) {
        return Err(ConvertError(format!(
            "the result of the call {} answers no call before it, and {} requires the name of its \
             tool",
            written_id(call)?,
            to.name()
        )));
    }
    Ok(result(to, call, answer))
}

/// The id of a call as JSON.
fn written_id(call: &RawCall) -> Result<String, ConvertError> {
    let missing = || ConvertError(format!("the call to `{}` has no id", call.name));
    call.id.as_deref().map(quoted).ok_or_else(missing)
}

fn image_block(to: Provider, image: &TranscriptImage) -> Result<String, ConvertError> {
    let source = match (to, image) {
        (Provider::Anthropic, TranscriptImage::Url(url)) => {
            format!(r#""type":"url","url":{}"#, quoted(url))
        }
        _ => {
            let (media_type, base64) = image.bytes(to)?;
            let data = quoted(base64);
            match to {
                Provider::Gemini => {
                    let kind = quoted(media_type);
                    return Ok(format!(
                        r#"{{"inlineData":{{"mimeType":{kind},"data":{data}}}}}"#
                    ));
                }
                Provider::Bedrock => {
                    let format = media_type.rsplit('/').next().unwrap_or(media_type);
                    let format = quoted(format);
                    return Ok(format!(
                        r#"{{"image":{{"format":{format},"source":{{"bytes":{data}}}}}}}"#
                    ));
                }
                _ => format!(
                    r#""type":"base64","media_type":{},"data":{data}"#,
                    quoted(media_type)
                ),
            }
        }
    };
    Ok(format!(r#"{{"type":"image","source":{{{source}}}}}"#))
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
        call.id.as_deref().unwrap_or("without an id"),
        call.name
    )))
}
