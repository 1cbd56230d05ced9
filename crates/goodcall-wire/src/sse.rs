//! Server-sent events: read from bytes that are split anywhere, and written.
//!
//! ```
//! use goodcall_wire::sse::SseReader;
//!
//! let mut reader = SseReader::default();
//! reader.push(b"event: message\ndata: {\"a\":");
//! assert_eq!(reader.next_event(), None);
//! reader.push(b" 1}\n\n");
//! let event = reader.next_event().unwrap();
//! assert_eq!(event.data.as_deref(), Some("{\"a\": 1}"));
//! ```

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr2_iter};

/// One event, as it arrived or as it will be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent {
    /// The bytes that arrived, up to and including the blank line; empty for an event that this
    /// program made.
    pub raw: Vec<u8>,
    /// The `event` field.
    pub event: Option<String>,
    /// The `data` fields joined by `\n`; `None` if there are none, as in a comment.
    pub data: Option<String>,
    /// The `id` field.
    pub id: Option<String>,
    /// The `retry` field: milliseconds to wait before a reconnect.
    pub retry: Option<u64>,
}

impl SseEvent {
    /// Returns a new event of this type.
    pub(crate) fn new(event: &str, data: String) -> Self {
        Self {
            event: Some(event.to_owned()),
            data: Some(data),
            ..Self::default()
        }
    }

    /// Returns an event that arrived as these bytes, in another form than that of this module.
    pub(crate) fn of_bytes(raw: Vec<u8>, data: Option<String>) -> Self {
        Self {
            raw,
            data,
            ..Self::default()
        }
    }

    /// Returns a new event of the same type as this one.
    pub(crate) fn of_same_type(&self, data: String) -> Self {
        Self {
            event: self.event.clone(),
            data: Some(data),
            ..Self::default()
        }
    }

    /// The data, which is empty for a comment.
    pub(crate) fn data(&self) -> &str {
        self.data.as_deref().unwrap_or_default()
    }

    /// The memory that it takes to hold this event.
    pub(crate) fn size(&self) -> usize {
        self.data.as_ref().map_or(0, String::len) + self.raw.len()
    }

    /// Returns the bytes of this event with other data; every other line stays as it arrived.
    pub fn with_data(&self, data: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len() + data.len());
        for line in self.raw.split(|byte| matches!(byte, b'\n' | b'\r')) {
            if !line.is_empty() && !line.starts_with(b"data") {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
        }
        write(None, data, &mut out);
        out
    }
}

/// Appends one event to `out`.
pub fn write(event: Option<&str>, data: &str, out: &mut Vec<u8>) {
    if let Some(event) = event {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event.as_bytes());
        out.push(b'\n');
    }
    for line in data.split('\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Splits a stream of bytes into events. Lines may end in `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug, Default)]
pub struct SseReader {
    buffer: Vec<u8>,
    /// Offset of the event that is being read.
    event_start: usize,
    /// Offset of its last line.
    line_start: usize,
    /// Offset up to which line ends have been looked for.
    searched: usize,
    /// True if every line is an event.
    reads_lines: bool,
}

impl SseReader {
    /// Returns a reader for a stream of lines (NDJSON): each is the data of an event.
    pub(crate) fn of_lines() -> Self {
        Self {
            reads_lines: true,
            ..Self::default()
        }
    }

    /// Appends bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.event_start > 0 {
            self.buffer.drain(..self.event_start);
            self.line_start -= self.event_start;
            self.searched -= self.event_start;
            self.event_start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The number of bytes that wait for the end of their event.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.event_start
    }

    /// Takes out the bytes that wait for the end of their event.
    pub fn take_pending(&mut self) -> Vec<u8> {
        let pending = self.buffer.split_off(self.event_start);
        *self = Self {
            reads_lines: self.reads_lines,
            ..Self::default()
        };
        pending
    }

    /// Returns the next complete event, or `None` if more bytes are needed.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            let open = &self.buffer[self.searched..];
            let Some(size) = memchr2(b'\n', b'\r', open) else {
                self.searched = self.buffer.len();
                return None;
            };
            let at = self.searched + size;
            let end = match (self.buffer[at], self.buffer.get(at + 1)) {
                (b'\n', _) => at + 1,
                (_, Some(b'\n')) => at + 2,
                (_, Some(_)) => at + 1,
                // A `\r` that may be the first half of `\r\n`.
                (_, None) => {
                    self.searched = at;
                    return None;
                }
            };
            let is_blank = at == self.line_start;
            self.line_start = end;
            self.searched = end;
            if is_blank || self.reads_lines {
                let raw = self.buffer[self.event_start..end].to_vec();
                self.event_start = end;
                return Some(self.read(raw));
            }
        }
    }

    /// Returns the last event of a stream that ended without a blank line.
    pub fn last_event(&mut self) -> Option<SseEvent> {
        let mut raw = self.take_pending();
        if raw.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        if !matches!(raw.last(), Some(b'\n' | b'\r')) {
            raw.push(b'\n');
        }
        if !self.reads_lines {
            raw.push(b'\n');
        }
        Some(self.read(raw))
    }

    fn read(&self, raw: Vec<u8>) -> SseEvent {
        if !self.reads_lines {
            return read(raw);
        }
        let line = decoded(&raw).trim().to_owned();
        SseEvent {
            data: Some(line).filter(|line| !line.is_empty()),
            raw,
            ..SseEvent::default()
        }
    }
}

/// Returns the bytes as text. Almost all are valid, and the search for those that are not is slow.
fn decoded(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(raw),
    }
}

/// Iterates over the lines of an event; between the two halves of `\r\n` it finds an empty one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr2_iter(b'\n', b'\r', text.as_bytes());
    let mut start = 0;
    ends.chain([text.len()]).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    })
}

fn read(raw: Vec<u8>) -> SseEvent {
    let mut event = SseEvent::default();
    let text = decoded(&raw);
    for line in lines(text.strip_prefix('\u{feff}').unwrap_or(&text)) {
        let (field, value) = match memchr(b':', line.as_bytes()) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, ""),
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.event = Some(value.to_owned()),
            "id" => event.id = Some(value.to_owned()),
            "retry" => event.retry = value.parse().ok(),
            "data" => match &mut event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => event.data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
    event.raw = raw;
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<(Option<String>, Option<String>)> {
        let (mut reader, mut found, mut bytes) = (SseReader::default(), Vec::new(), Vec::new());
        for chunk in chunks {
            reader.push(chunk);
            while let Some(event) = reader.next_event() {
                bytes.extend_from_slice(&event.raw);
                found.push((event.event, event.data));
            }
        }
        let sent: Vec<u8> = chunks.concat();
        assert!(sent.starts_with(&bytes), "nothing is lost or added");
        found.extend(reader.last_event().map(|event| (event.event, event.data)));
        found
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn events_do_not_depend_on_line_ends_or_splits() {
        for text in [
            "event: a\ndata: {\"ö\": 1}\n\n: ping\n\ndata:x\ndata: y\n\ndata: [DONE]",
            "event: a\r\ndata: {\"ö\": 1}\r\n\r\n: ping\r\n\r\ndata:x\r\ndata: y\r\n\r\ndata: [DONE]",
            "event: a\rdata: {\"ö\": 1}\r\r: ping\r\rdata:x\rdata: y\r\rdata: [DONE]",
        ] {
            let wanted = vec![
                (some("a"), some("{\"ö\": 1}")),
                (None, None),
                (None, some("x\ny")),
                (None, some("[DONE]")),
            ];
            for size in 1..text.len() {
                let chunks: Vec<_> = text.as_bytes().chunks(size).collect();
                assert_eq!(events(&chunks), wanted, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn with_data_keeps_the_other_lines() {
        let mut reader = SseReader::default();
        reader.push(b"event: message\r\nid: 7\rretry: 5\ndata: x\ndata: y\n\n");
        let event = reader.next_event().unwrap();
        assert_eq!((event.id.as_deref(), event.retry), (Some("7"), Some(5)));
        assert_eq!(
            event.with_data("{}"),
            b"event: message\nid: 7\nretry: 5\ndata: {}\n\n"
        );
    }
}
