//! AWS's binary framing of events: messages with headers and a payload, each with checksums.
//!
//! The payload of an event does not say what it is; a header does. Inside, an event is an object with
//! one member, whose key is that type, as in the SDKs: `{"messageStop":{"stopReason":"end_turn"}}`.

use aws_smithy_eventstream::frame::{read_message_from, write_message_to};
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use goodcall_core::Tree;

use crate::splice::quoted;
use crate::sse::SseEvent;

/// The bytes of a message's length and checksums.
const LEAST_BYTES: usize = 16;

/// Splits a stream of bytes into messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageReader {
    pub(super) buffer: Vec<u8>,
}

impl MessageReader {
    /// Returns the next complete message; one that cannot be read has no data.
    pub(super) fn next_event(&mut self) -> Option<SseEvent> {
        let head = self.buffer.first_chunk::<4>()?;
        let length = u32::from_be_bytes(*head) as usize;
        // A length that is too small is an error of the upstream, and ends all reading.
        let length = length.max(LEAST_BYTES);
        if self.buffer.len() < length {
            return None;
        }
        let rest = self.buffer.split_off(length);
        let raw = std::mem::replace(&mut self.buffer, rest);
        let data = read(&raw);
        Some(SseEvent::of_bytes(raw, data))
    }
}

/// Reads a message as an object whose only key is its type.
fn read(raw: &[u8]) -> Option<String> {
    let message = read_message_from(raw).ok()?;
    let header = |wanted: &str| {
        let mut headers = message.headers().iter();
        let found = headers.find(|header| header.name().as_str() == wanted)?;
        let text = found.value().as_string().ok()?;
        Some(text.as_str().to_owned())
    };
    let kind = header(":event-type").or_else(|| header(":exception-type"))?;
    let payload = std::str::from_utf8(message.payload()).ok()?;
    let payload = if payload.is_empty() { "{}" } else { payload };
    Some(format!("{{{}:{payload}}}", quoted(&kind)))
}

/// Writes an object whose only key is its type as a message.
pub(super) fn write(data: &str, out: &mut Vec<u8>) {
    let Ok(tree) = Tree::parse(data) else {
        return;
    };
    let Some((kind, payload)) = tree.root().members().next() else {
        return;
    };
    let payload = data.get(payload.span()).unwrap_or("{}");
    let header = |name: &'static str, value: &str| {
        Header::new(name, HeaderValue::String(value.to_owned().into()))
    };
    let message = Message::new(payload.as_bytes().to_vec())
        .add_header(header(":event-type", kind))
        .add_header(header(":content-type", "application/json"))
        .add_header(header(":message-type", "event"));
    let start = out.len();
    if write_message_to(&message, out).is_err() {
        // Longer than the framing allows, which no event of the upstream is.
        out.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_depend_on_splits() {
        let events = [
            r#"{"messageStart":{"role":"assistant"}}"#,
            r#"{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"ö\n"}}}"#,
        ];
        let mut bytes = Vec::new();
        for event in events {
            write(event, &mut bytes);
        }
        for size in 1..bytes.len() {
            let mut reader = MessageReader::default();
            let (mut read, mut raw) = (Vec::new(), Vec::new());
            for chunk in bytes.chunks(size) {
                reader.buffer.extend_from_slice(chunk);
                while let Some(event) = reader.next_event() {
                    raw.extend_from_slice(&event.raw);
                    read.extend(event.data);
                }
            }
            assert_eq!(read, events, "by {size}");
            assert_eq!(raw, bytes);
        }
    }

    #[test]
    fn broken_message_passes_as_it_came() {
        let mut bytes = Vec::new();
        write(r#"{"messageStart":{"role":"assistant"}}"#, &mut bytes);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let mut reader = MessageReader {
            buffer: bytes.clone(),
        };
        let event = reader.next_event().unwrap();
        assert_eq!((event.raw, event.data), (bytes, None));
        let mut reader = MessageReader {
            buffer: vec![0; 40],
        };
        assert_eq!(reader.next_event().unwrap().data, None);
    }
}
