//! Frames, and the JSON-RPC messages in them.
//!
//! A message is read as byte ranges of its frame and never rebuilt: a frame is forwarded as it
//! came, or with a few ranges replaced.

use std::borrow::Cow;
use std::ops::Range;

use crate::json_span::{JsonSpan, is_end, quoted};

/// The bytes of one message or batch, without a line end.
pub type Frame = Vec<u8>;

/// The key of a request's protocol version in its `_meta`, from 2026-07-28 on.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The prefix of keys in `_meta` that belong to the protocol.
const PROTOCOL_KEYS: &str = "io.modelcontextprotocol/";

/// One JSON-RPC message inside a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message<'f> {
    /// The frame of a single message, or the message's part of a batch.
    bytes: &'f [u8],
    /// Where `bytes` begin in the frame.
    offset: usize,
    id: Option<Range<usize>>,
    method: Option<Cow<'f, str>>,
    params: Option<Range<usize>>,
    result: Option<Range<usize>>,
    error: Option<Range<usize>>,
    repeats_key: bool,
}

/// What a frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameContent<'f> {
    /// Only white space.
    Blank,
    /// One message.
    One(Message<'f>),
    /// Several messages in an array.
    Batch(Vec<Message<'f>>),
    /// Anything else.
    Junk,
}

impl<'f> FrameContent<'f> {
    pub(crate) fn read(frame: &'f [u8]) -> Self {
        let document = JsonSpan::document(frame);
        match frame.get(document.range().start) {
            None => Self::Blank,
            Some(b'{') => match Message::read(frame, document) {
                Some((message, end)) if is_end(frame, end) => Self::One(message),
                _ => Self::Junk,
            },
            Some(b'[') => batch(frame, document).map_or(Self::Junk, Self::Batch),
            Some(_) => Self::Junk,
        }
    }

    /// The messages of the frame, whether there is one or several.
    pub(crate) fn messages(&self) -> &[Message<'f>] {
        match self {
            Self::One(message) => std::slice::from_ref(message),
            Self::Batch(messages) => messages,
            Self::Blank | Self::Junk => &[],
        }
    }

    /// The message, if the frame holds exactly one that is not in a batch.
    pub(crate) fn single(self) -> Option<Message<'f>> {
        match self {
            Self::One(message) => Some(message),
            Self::Batch(_) | Self::Blank | Self::Junk => None,
        }
    }
}

fn batch<'f>(frame: &'f [u8], document: JsonSpan<'f>) -> Option<Vec<Message<'f>>> {
    let elements = document.elements()?;
    let end = elements.last()?.range().end;
    let bracket = end + frame.get(end..)?.iter().position(|byte| *byte == b']')?;
    let messages = elements.into_iter().map(Message::element);
    let messages = messages.collect::<Option<Vec<_>>>()?;
    is_end(frame, bracket + 1).then_some(messages)
}

impl<'f> Message<'f> {
    /// Reads the message that starts where `document` does, and where it ends.
    fn read(bytes: &'f [u8], document: JsonSpan<'f>) -> Option<(Self, usize)> {
        let mut message = Self {
            bytes,
            offset: 0,
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
            repeats_key: false,
        };
        let mut members = document.members();
        for (key, value) in members.by_ref() {
            let part = match key.as_ref() {
                "id" => &mut message.id,
                "params" => &mut message.params,
                "result" => &mut message.result,
                "error" => &mut message.error,
                "method" => {
                    message.repeats_key |= message.method.is_some();
                    message.method = value.as_str();
                    continue;
                }
                _ => continue,
            };
            message.repeats_key |= part.replace(value.range()).is_some();
        }
        let end = members.position();
        members.is_complete().then_some((message, end))
    }

    /// Reads one element of a batch.
    fn element(element: JsonSpan<'f>) -> Option<Self> {
        let bytes = element.bytes();
        let (mut message, _) = Self::read(bytes, JsonSpan::document(bytes))?;
        message.offset = element.range().start;
        Some(message)
    }

    /// The bytes that ranges of this message refer to.
    pub(crate) fn bytes(&self) -> &'f [u8] {
        self.bytes
    }

    /// A range of the message as a range of the whole frame.
    pub(crate) fn in_frame(&self, part: JsonSpan<'f>) -> Range<usize> {
        let range = part.range();
        range.start + self.offset..range.end + self.offset
    }

    pub(crate) fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Returns true if a key that matters here occurs twice, so that two readers may read two
    /// different messages.
    pub(crate) fn repeats_key(&self) -> bool {
        self.repeats_key
    }

    /// Returns true if the sender waits for an answer.
    pub(crate) fn is_request(&self) -> bool {
        self.id.is_some() && self.method.is_some()
    }

    pub(crate) fn is_tool_call(&self) -> bool {
        self.id.is_some() && self.method() == Some("tools/call")
    }

    /// Returns true if this is the result or error for the request with this canonical id.
    pub(crate) fn is_answer_to(&self, id: &str) -> bool {
        self.method.is_none() && self.id().as_deref() == Some(id)
    }

    /// The id in its canonical form.
    pub(crate) fn id(&self) -> Option<String> {
        self.raw_id().map(canonical)
    }

    /// The id as it is written.
    pub(crate) fn raw_id(&self) -> Option<&'f str> {
        self.id_span()?.raw()
    }

    pub(crate) fn id_span(&self) -> Option<JsonSpan<'f>> {
        self.part(self.id.as_ref())
    }

    pub(crate) fn params(&self) -> Option<JsonSpan<'f>> {
        self.part(self.params.as_ref())
    }

    pub(crate) fn result(&self) -> Option<JsonSpan<'f>> {
        self.part(self.result.as_ref())
    }

    pub(crate) fn error(&self) -> Option<JsonSpan<'f>> {
        self.part(self.error.as_ref())
    }

    /// One member of the parameters.
    pub(crate) fn param(&self, key: &str) -> Option<JsonSpan<'f>> {
        self.params()?.get(key)
    }

    /// One member of the parameters' `_meta`.
    pub(crate) fn meta(&self, key: &str) -> Option<JsonSpan<'f>> {
        self.param("_meta")?.get(key)
    }

    /// The token under which a request wants to hear of its progress.
    pub(crate) fn progress_token(&self) -> Option<JsonSpan<'f>> {
        self.meta("progressToken")
    }

    /// The page that a `tools/list` request asks for.
    pub(crate) fn cursor(&self) -> Option<String> {
        self.param("cursor")?.to_text()
    }

    /// The protocol version that a request names in its `_meta`.
    pub(crate) fn protocol_version(&self) -> Option<String> {
        self.meta(VERSION_KEY)?.to_text()
    }

    /// The part of a request's `_meta` that the proxy's own requests need: protocol version,
    /// client and capabilities.
    pub(crate) fn protocol_context(&self) -> Option<String> {
        let meta = self.param("_meta")?;
        let kept = meta.members().filter_map(|(key, value)| {
            let value = value.raw().filter(|_| key.starts_with(PROTOCOL_KEYS))?;
            Some(format!("{}:{value}", quoted(&key)))
        });
        let kept: Vec<_> = kept.collect();
        (!kept.is_empty()).then(|| format!("{{{}}}", kept.join(",")))
    }

    fn part(&self, range: Option<&Range<usize>>) -> Option<JsonSpan<'f>> {
        range.map(|range| JsonSpan::new(self.bytes, range))
    }
}

/// Returns an id or token in the form in which it is compared: a string has one spelling.
pub(crate) fn canonical(raw: &str) -> String {
    if raw.contains('\\')
        && let Ok(text) = serde_json::from_str::<String>(raw)
    {
        return quoted(&text);
    }
    raw.to_owned()
}

/// How a message is forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// Byte for byte.
    AsSent,
    /// In this form.
    Rewritten(Frame),
    /// Not at all.
    Dropped,
}

impl Forwarding {
    /// The frame to forward, made of the frame that came.
    pub(crate) fn apply(self, frame: Frame) -> Option<Frame> {
        match self {
            Self::AsSent => Some(frame),
            Self::Rewritten(rewritten) => Some(rewritten),
            Self::Dropped => None,
        }
    }
}

/// Collects how the messages of a batch are forwarded.
#[derive(Debug, Default)]
pub(crate) struct BatchForwarding {
    kept: Vec<Frame>,
    changed: bool,
}

impl BatchForwarding {
    pub(crate) fn push(&mut self, message: &Message<'_>, forwarding: Forwarding) {
        self.changed |= forwarding != Forwarding::AsSent;
        self.kept.extend(forwarding.apply(message.bytes().to_vec()));
    }

    /// How the batch as a whole is forwarded.
    pub(crate) fn finish(self) -> Forwarding {
        if !self.changed {
            Forwarding::AsSent
        } else if self.kept.is_empty() {
            Forwarding::Dropped
        } else {
            Forwarding::Rewritten(batch_of(&self.kept))
        }
    }
}

/// Writes messages as a batch.
pub(crate) fn batch_of(messages: &[Frame]) -> Frame {
    [&b"["[..], &messages.join(&b','), b"]"].concat()
}

/// Returns the frame in one line: line ends between tokens become spaces. Inside JSON strings
/// there are none.
pub(crate) fn one_line(mut frame: Frame) -> Frame {
    for byte in &mut frame {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    frame
}

/// The id of a message of which only the beginning and the end are at hand. It is found at the top
/// level of the beginning, or as the last member.
pub(crate) fn id_in_part(head: &[u8], tail: &[u8]) -> Option<String> {
    let mut members = JsonSpan::document(head).members();
    if let Some((_, id)) = members.find(|(name, _)| name == "id") {
        return id.raw().map(canonical);
    }
    let last = tail.windows(4).rposition(|window| window == b"\"id\"")?;
    let behind = std::str::from_utf8(tail.get(last + 4..)?).ok()?;
    let value = behind.trim().strip_suffix('}')?.trim_start();
    let id = value.strip_prefix(':')?.trim();
    let scalar = serde_json::from_str::<serde_json::Value>(id).ok()?;
    (scalar.is_string() || scalar.is_number()).then(|| canonical(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Message<'_> {
        FrameContent::read(text.as_bytes()).single().expect(text)
    }

    #[test]
    fn parts_are_found_in_any_order() {
        let text = r#" {"result" : {"a":[1,{"id":2}]}, "id" :"x\"}" ,"jsonrpc":"2.0"} "#;
        let message = one(text);
        assert_eq!(message.raw_id(), Some(r#""x\"}""#));
        let result = message.result().unwrap();
        assert_eq!(result.raw(), Some(r#"{"a":[1,{"id":2}]}"#));
        assert!(message.method().is_none() && !message.repeats_key());
        assert_eq!(
            one(r#"{"method":"tools\/call"}"#).method(),
            Some("tools/call")
        );
        assert!(one(r#"{"id":1,"id":2}"#).repeats_key());
    }

    #[test]
    fn text_that_is_not_a_message_is_junk() {
        for junk in [
            "Server running",
            "{",
            r#"{"a":}"#,
            r#"{"a":1} x"#,
            "[]",
            "[1]",
            "5",
            "{,}",
            r#"[{"id":1}] x"#,
        ] {
            let content = FrameContent::read(junk.as_bytes());
            assert_eq!(content, FrameContent::Junk, "{junk}");
        }
        assert_eq!(FrameContent::read(b" \r"), FrameContent::Blank);
    }

    #[test]
    fn messages_of_a_batch_know_their_place_in_the_frame() {
        let text = r#"[{"id":1}, {"id":2} ] "#;
        let content = FrameContent::read(text.as_bytes());
        let [first, second] = content.messages() else {
            panic!("{content:?}")
        };
        assert_eq!(
            (first.id(), second.id()),
            (Some("1".into()), Some("2".into()))
        );
        let place = second.in_frame(second.id_span().unwrap());
        assert_eq!(&text[place], "2");
    }

    #[test]
    fn deep_nesting_is_read_without_recursion() {
        let text = format!(
            r#"{{"id":1,"result":{}{}}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        assert!(one(&text).result().is_some());
    }

    #[test]
    fn id_is_found_at_either_end_of_a_cut_message() {
        let found = |head: &str, tail: &str| id_in_part(head.as_bytes(), tail.as_bytes());
        assert_eq!(
            found(r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, "x"),
            Some("7".to_owned())
        );
        let tail = r#"..."]},"jsonrpc":"2.0","id":"a"}"#;
        assert_eq!(found(r#"{"result":{"a"#, tail), Some("\"a\"".to_owned()));
        assert_eq!(found(r#"{"result":{"a"#, r#"{"id":7}}]}"#), None);
        assert_eq!(found("Hello", "world"), None);
    }
}
