//! Events of Bedrock as AWS's binary messages, and back.

use aws_smithy_eventstream::frame::{read_message_from, write_message_to};
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use serde_json::Value;

/// Writes events, each an object with one key, as messages.
pub(crate) fn written(events: impl Iterator<Item = String>) -> Vec<u8> {
    let mut out = Vec::new();
    for event in events {
        let event: Value = serde_json::from_str(&event).unwrap();
        let (kind, payload) = event.as_object().unwrap().iter().next().unwrap();
        let header = |name: &'static str, value: &str| {
            Header::new(name, HeaderValue::String(value.to_owned().into()))
        };
        let (name, of) = if kind.ends_with("Exception") {
            (":exception-type", "exception")
        } else {
            (":event-type", "event")
        };
        let message = Message::new(payload.to_string().into_bytes())
            .add_header(header(name, kind))
            .add_header(header(":content-type", "application/json"))
            .add_header(header(":message-type", of));
        write_message_to(&message, &mut out).unwrap();
    }
    out
}

/// Reads messages as events, each an object with one key.
pub(crate) fn events(mut bytes: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(*bytes.first_chunk().unwrap()) as usize;
        let (message, rest) = bytes.split_at(length);
        let message = read_message_from(message).unwrap();
        let mut headers = message.headers().iter();
        let kind = headers.find(|header| {
            header.name().as_str().ends_with("n-type") || header.name().as_str() == ":event-type"
        });
        let kind = kind
            .unwrap()
            .value()
            .as_string()
            .unwrap()
            .as_str()
            .to_owned();
        let payload = std::str::from_utf8(message.payload()).unwrap();
        out.push(format!(r#"{{"{kind}":{payload}}}"#));
        bytes = rest;
    }
    out
}
