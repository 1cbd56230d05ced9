//! Server-sent events, out of bytes that are split anywhere.

/// One event as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// All its bytes, the blank line included.
    pub(crate) raw: Vec<u8>,
    /// The `event` field.
    pub(crate) name: Option<String>,
    /// The `data` fields, joined by line ends; `None` for comments.
    pub(crate) data: Option<String>,
}

impl SseEvent {
    /// An event of ours.
    pub(crate) fn named(name: &str, data: String) -> Self {
        Self {
            raw: Vec::new(),
            name: Some(name.to_owned()),
            data: Some(data),
        }
    }

    /// An event of ours, in the place of another.
    pub(crate) fn made(of: &SseEvent, data: String) -> Self {
        Self {
            raw: Vec::new(),
            name: of.name.clone(),
            data: Some(data),
        }
    }

    /// The bytes that it takes to hold this event.
    pub(crate) fn size(&self) -> usize {
        self.data.as_ref().map_or(0, String::len) + self.raw.len()
    }

    /// The same event with other data.
    pub(crate) fn with(&self, data: &str, out: &mut Vec<u8>) {
        write(self.name.as_deref(), data, out);
    }
}

/// Writes one event.
pub(crate) fn write(name: Option<&str>, data: &str, out: &mut Vec<u8>) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    for line in data.split('\n') {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Takes bytes, gives events.
#[derive(Clone, Debug, Default)]
pub(crate) struct SseReader {
    buffer: Vec<u8>,
    /// Where the event begins that is being read.
    start: usize,
    /// Where its last line begins.
    line: usize,
    /// Up to here there is no line end.
    seen: usize,
}

impl SseReader {
    /// Takes bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.line -= self.start;
            self.seen -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes of the event that has not ended yet.
    pub(crate) fn waiting(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// What was taken and not given out, as it came.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let rest = self.buffer.split_off(self.start);
        *self = Self::default();
        rest
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<SseEvent> {
        loop {
            let open = self.buffer.get(self.seen..).unwrap_or_default();
            let Some(size) = open.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.seen = self.buffer.len();
                return None;
            };
            let at = self.seen + size;
            let end = match (self.buffer[at], self.buffer.get(at + 1)) {
                (b'\n', _) => at + 1,
                (_, Some(b'\n')) => at + 2,
                (_, Some(_)) => at + 1,
                // Half a line end, perhaps.
                (_, None) => {
                    self.seen = at;
                    return None;
                }
            };
            let blank = at == self.line;
            self.line = end;
            self.seen = end;
            if blank {
                let raw = self.buffer[self.start..end].to_vec();
                self.start = end;
                return Some(read(raw));
            }
        }
    }

    /// The last event, if the bytes ended without a blank line.
    pub(crate) fn last(&mut self) -> Option<SseEvent> {
        let mut raw = self.rest();
        if raw.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        if !matches!(raw.last(), Some(b'\n' | b'\r')) {
            raw.push(b'\n');
        }
        raw.push(b'\n');
        Some(read(raw))
    }
}

fn read(raw: Vec<u8>) -> SseEvent {
    let mut event = SseEvent::default();
    let text = String::from_utf8_lossy(&raw);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for line in text.split(['\n', '\r']) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => event.name = Some(value.to_owned()),
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
            while let Some(event) = reader.next() {
                bytes.extend_from_slice(&event.raw);
                found.push((event.name, event.data));
            }
        }
        let sent: Vec<u8> = chunks.concat();
        assert!(sent.starts_with(&bytes), "nothing is lost or added");
        found.extend(reader.last().map(|event| (event.name, event.data)));
        found
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn every_line_end_and_every_split() {
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
}
