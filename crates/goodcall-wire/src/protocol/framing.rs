//! How the events of a stream follow each other as bytes: server-sent events, lines, elements of an
//! array. Protocols read and write events, whatever the framing.

#[cfg(feature = "event-stream")]
use super::event_stream::MessageReader;
use crate::sse::{self, SseEvent, SseReader};

/// The form in which events follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    #[default]
    Events,
    /// One JSON value per line.
    Lines,
    /// The elements of one JSON array.
    Array,
    /// AWS's binary messages.
    #[cfg(feature = "event-stream")]
    Messages,
}

impl Framing {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Framing::Events => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
            Framing::Array => "application/json",
            #[cfg(feature = "event-stream")]
            Framing::Messages => "application/vnd.amazon.eventstream",
        }
    }

    /// Returns true if a reply of this media type is a stream in this form.
    pub(crate) fn fits(self, media_type: &str) -> bool {
        match self {
            // Servers that speak one of the two may use the other's name.
            Framing::Events | Framing::Lines => {
                matches!(media_type, "text/event-stream" | "application/x-ndjson")
            }
            other => media_type == other.media_type(),
        }
    }
}

/// Splits a stream of bytes into events.
#[derive(Clone, Debug)]
pub(crate) enum EventReader {
    Text(SseReader),
    Array(ArrayReader),
    #[cfg(feature = "event-stream")]
    Messages(MessageReader),
}

impl EventReader {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => EventReader::Text(SseReader::default()),
            Framing::Lines => EventReader::Text(SseReader::of_lines()),
            Framing::Array => EventReader::Array(ArrayReader::default()),
            #[cfg(feature = "event-stream")]
            Framing::Messages => EventReader::Messages(MessageReader::default()),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self {
            EventReader::Text(reader) => reader.push(bytes),
            EventReader::Array(reader) => reader.buffer.extend_from_slice(bytes),
            #[cfg(feature = "event-stream")]
            EventReader::Messages(reader) => reader.buffer.extend_from_slice(bytes),
        }
    }

    /// Returns the next complete event, or `None` if more bytes are needed.
    pub(crate) fn next_event(&mut self) -> Option<SseEvent> {
        match self {
            EventReader::Text(reader) => reader.next_event(),
            EventReader::Array(reader) => reader.next_event(),
            #[cfg(feature = "event-stream")]
            EventReader::Messages(reader) => reader.next_event(),
        }
    }

    /// Returns what is left at the end of a stream, as an event.
    pub(crate) fn last_event(&mut self) -> Option<SseEvent> {
        match self {
            EventReader::Text(reader) => reader.last_event(),
            // The beginning of an element or a message does not count.
            _ => None,
        }
    }

    /// Returns true once the stream has ended by itself, where that takes an end of its own.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self, EventReader::Array(reader) if reader.has_ended)
    }

    /// Notes that the stream has ended.
    pub(crate) fn set_ended(&mut self) {
        if let EventReader::Array(reader) = self {
            reader.has_ended = true;
        }
    }

    /// The number of bytes that wait for the end of their event.
    pub(crate) fn pending(&self) -> usize {
        match self {
            EventReader::Text(reader) => reader.pending(),
            EventReader::Array(reader) => reader.buffer.len(),
            #[cfg(feature = "event-stream")]
            EventReader::Messages(reader) => reader.buffer.len(),
        }
    }

    /// Takes out the bytes that wait for the end of their event.
    pub(crate) fn take_pending(&mut self) -> Vec<u8> {
        match self {
            EventReader::Text(reader) => reader.take_pending(),
            EventReader::Array(reader) => std::mem::take(reader).buffer,
            #[cfg(feature = "event-stream")]
            EventReader::Messages(reader) => std::mem::take(&mut reader.buffer),
        }
    }
}

/// Reads the elements of one JSON array as they arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrayReader {
    /// What is not an event yet: the commas before an element, and its beginning.
    buffer: Vec<u8>,
    /// How much of it has been looked at.
    searched: usize,
    /// Where the element begins, once it does.
    start: Option<usize>,
    /// The number of open brackets in it.
    depth: usize,
    string: StringState,
    /// True once the array has ended.
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

impl ArrayReader {
    fn next_event(&mut self) -> Option<SseEvent> {
        while let Some(&byte) = self.buffer.get(self.searched) {
            self.searched += 1;
            match (self.string, byte) {
                (StringState::Escaped, _) | (StringState::Outside, b'"')
                    if self.start.is_some() =>
                {
                    self.string = StringState::Inside;
                }
                (StringState::Inside, b'\\') => self.string = StringState::Escaped,
                (StringState::Inside, b'"') => self.string = StringState::Outside,
                (StringState::Outside, b'{' | b'[') if self.start.is_some() => self.depth += 1,
                (StringState::Outside, b'{') => {
                    self.start = Some(self.searched - 1);
                    self.depth = 1;
                }
                (StringState::Outside, b'}' | b']') if self.start.is_some() => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return self.element();
                    }
                }
                (StringState::Outside, b']') => self.has_ended = true,
                _ => {}
            }
        }
        None
    }

    /// Takes out the element that has just ended.
    fn element(&mut self) -> Option<SseEvent> {
        let start = self.start?;
        let rest = self.buffer.split_off(self.searched);
        let raw = std::mem::take(self).buffer.split_off(start);
        self.buffer = rest;
        let data = String::from_utf8_lossy(&raw).into_owned();
        Some(SseEvent::of_bytes(raw, Some(data)))
    }
}

/// Writes events as bytes for the client.
#[derive(Debug)]
pub(crate) struct EventWriter {
    framing: Framing,
    bytes: Vec<u8>,
    /// True once the client has an element of an array.
    has_begun: bool,
}

impl EventWriter {
    /// Returns a writer that appends to `bytes`. `has_begun` says whether the client has bytes of
    /// this stream already.
    pub(crate) fn new(framing: Framing, bytes: Vec<u8>, has_begun: bool) -> Self {
        Self {
            framing,
            bytes,
            has_begun,
        }
    }

    /// Returns the bytes, and whether the client has any of this stream with them.
    pub(crate) fn finish(self) -> (Vec<u8>, bool) {
        (self.bytes, self.has_begun)
    }

    /// Writes an event as it arrived.
    pub(crate) fn raw(&mut self, event: &SseEvent) {
        if self.framing == Framing::Array {
            self.separate();
        }
        self.bytes.extend_from_slice(&event.raw);
        self.has_begun = true;
    }

    /// Writes bytes between events.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes an event of the same type as this one, with other data.
    pub(crate) fn with_data(&mut self, event: &SseEvent, data: &str) {
        self.event(event.event.as_deref(), data);
    }

    /// Writes an event of this type.
    pub(crate) fn event(&mut self, kind: Option<&str>, data: &str) {
        match self.framing {
            Framing::Events => sse::write(kind, data, &mut self.bytes),
            Framing::Lines => {
                self.bytes.extend_from_slice(data.as_bytes());
                self.bytes.push(b'\n');
            }
            Framing::Array => {
                self.separate();
                self.bytes.extend_from_slice(data.as_bytes());
            }
            #[cfg(feature = "event-stream")]
            Framing::Messages => super::event_stream::write(data, &mut self.bytes),
        }
        self.has_begun = true;
    }

    /// Writes what comes before an element of an array.
    fn separate(&mut self) {
        let before: &[u8] = if self.has_begun { b",\n" } else { b"[" };
        self.bytes.extend_from_slice(before);
    }

    /// Writes the end of an array.
    pub(crate) fn end(&mut self) {
        if self.framing == Framing::Array {
            let end: &[u8] = if self.has_begun { b"]\n" } else { b"[]\n" };
            self.bytes.extend_from_slice(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_elements_do_not_depend_on_splits() {
        let text = b"[{\"a\": \"]}\\\"\\\\\", \"b\": [{}]}\r\n,\n{\"c\": 1}\n]\n";
        for size in 1..text.len() {
            let mut reader = EventReader::new(Framing::Array);
            let mut writer = EventWriter::new(Framing::Array, Vec::new(), false);
            for chunk in text.chunks(size) {
                reader.push(chunk);
                while let Some(event) = reader.next_event() {
                    writer.raw(&event);
                }
            }
            assert!(reader.has_ended());
            writer.end();
            let (bytes, _) = writer.finish();
            let wanted = "[{\"a\": \"]}\\\"\\\\\", \"b\": [{}]},\n{\"c\": 1}]\n";
            assert_eq!(String::from_utf8(bytes).unwrap(), wanted, "by {size}");
        }
    }

    #[test]
    fn empty_array_stays_an_array() {
        let mut reader = EventReader::new(Framing::Array);
        reader.push(b"[]");
        assert!(reader.next_event().is_none() && reader.has_ended());
        let mut writer = EventWriter::new(Framing::Array, Vec::new(), false);
        writer.end();
        assert_eq!(writer.finish().0, b"[]\n");
    }
}
