//! Server-sent events: cut apart without changing a byte, and written.

use crate::frame::{self, Frame};

/// One event, or what stands between events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its bytes, the empty line included.
    pub(crate) raw: Vec<u8>,
    /// Its data; `None` for a comment, or for an event without data.
    pub(crate) data: Option<Frame>,
    /// Its id.
    pub(crate) id: Option<String>,
    /// After how many milliseconds to come back.
    pub(crate) retry: Option<u64>,
}

impl SseEvent {
    /// The same event with other data.
    pub(crate) fn with_data(&self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len() + data.len());
        for line in lines(&self.raw) {
            if !line.starts_with(b"data") && !line.is_empty() {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
        }
        out.extend_from_slice(&written(data, None));
        out
    }
}

/// A message as an event.
pub(crate) fn written(data: &[u8], id: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 32);
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(&frame::one_line(data.to_vec()));
    out.extend_from_slice(b"\n\n");
    out
}

fn lines(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    raw.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct SseEvents {
    buffer: Vec<u8>,
    /// The line that is looked at starts here.
    line: usize,
    most: usize,
}

impl SseEvents {
    /// Events of at most so many bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// More bytes. Is there still room for them?
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() <= self.most
    }

    /// The next event that is whole.
    pub(crate) fn next(&mut self) -> Option<SseEvent> {
        loop {
            let rest = self.buffer.get(self.line..)?;
            let end = rest.iter().position(|byte| *byte == b'\n')? + self.line;
            let line = &self.buffer[self.line..end];
            let blank = line.is_empty() || line == b"\r";
            self.line = end + 1;
            if blank {
                let rest = self.buffer.split_off(self.line);
                let raw = std::mem::replace(&mut self.buffer, rest);
                self.line = 0;
                return Some(read(raw));
            }
        }
    }

    /// What is left when the stream ends.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.line = 0;
        std::mem::take(&mut self.buffer)
    }
}

fn read(raw: Vec<u8>) -> SseEvent {
    let mut event = SseEvent::default();
    for line in lines(&raw) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => match &mut event.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => event.data = Some(value.to_vec()),
            },
            b"id" => event.id = std::str::from_utf8(value).ok().map(str::to_owned),
            b"retry" => event.retry = std::str::from_utf8(value).ok().and_then(|n| n.parse().ok()),
            _ => {}
        }
    }
    event.raw = raw;
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_at_any_place_of_the_stream() {
        let text = b": hello\n\nid: 1\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata\n\nretry: 5\n\nrest";
        for size in 1..text.len() {
            let mut events = SseEvents::new(1000);
            let mut all = Vec::new();
            for part in text.chunks(size) {
                assert!(events.push(part));
                while let Some(event) = events.next() {
                    all.push(event);
                }
            }
            assert_eq!(all.len(), 4, "{size}");
            assert_eq!(all[0].data, None);
            assert_eq!(all[1].data.as_deref(), Some(&b"{\"a\":\n1}"[..]));
            assert_eq!(all[1].id.as_deref(), Some("1"));
            assert_eq!(all[2].data.as_deref(), Some(&b""[..]));
            assert_eq!(all[3].retry, Some(5));
            let mut raw: Vec<u8> = all.iter().flat_map(|event| event.raw.clone()).collect();
            raw.extend(events.rest());
            assert_eq!(raw, text);
        }
    }

    #[test]
    fn other_data_keeps_the_other_lines() {
        let mut events = SseEvents::new(1000);
        events.push(b"event: message\nid: 7\ndata: x\ndata: y\n\n");
        let event = events.next().unwrap();
        assert_eq!(
            event.with_data(b"{\n}"),
            b"event: message\nid: 7\ndata: { }\n\n"
        );
    }
}
