//! Providers that enforce the rules which they publish for histories, and the ways in which clients
//! continue a conversation with them.

#[cfg(feature = "event-stream")]
mod bedrock;
mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use serde_json::{Value, json};

#[cfg(feature = "event-stream")]
pub(crate) use bedrock::Bedrock;
pub(crate) use chat::Chat;
pub(crate) use gemini::Gemini;
pub(crate) use messages::Messages;
pub(crate) use ollama::Ollama;
pub(crate) use responses::Responses;

/// What a model says in one reply.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) thinks: bool,
    pub(crate) speaks: bool,
    /// The arguments of each call.
    pub(crate) calls: Vec<&'static str>,
}

/// A provider, with what it remembers of its own replies.
pub(crate) trait StrictProvider {
    fn provider(&self) -> goodcall_wire::Provider;

    /// A request that offers the tool `f`.
    fn request(&self) -> Value;

    /// Refuses a request that the provider would refuse, with its reason.
    fn check(&self, request: &Value) -> Result<(), String>;

    /// Replies, and remembers it.
    fn reply(&mut self, request: &Value, said: &Said) -> Value;

    /// A reply as a stream.
    fn stream(&self, reply: &Value) -> Vec<u8>;

    /// A stream as a client joins it.
    fn joined(&self, stream: &[u8]) -> Value;

    /// Drops what a client that does not know of it would drop.
    fn forget(&self, reply: &mut Value) {
        let _ = reply;
    }

    /// The next requests of clients that run all calls of a reply, each with the name of its way.
    fn next(&self, request: &Value, reply: &Value) -> Vec<(&'static str, Value)>;
}

/// The schema of the tool `f`.
pub(crate) fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
}

/// The data of each server-sent event that is JSON.
pub(crate) fn events(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

/// Events as bytes, with their types as names.
pub(crate) fn written(events: &[Value]) -> Vec<u8> {
    let mut out = String::new();
    for event in events {
        if let Some(kind) = event["type"].as_str() {
            out += &format!("event: {kind}\n");
        }
        out += &format!("data: {event}\n\n");
    }
    out.into_bytes()
}

/// A text in pieces of a few bytes.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let (first, rest) = text.split_at(text.len() / 2);
    vec![first, rest]
}

pub(crate) fn require(holds: bool, reason: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason()) }
}

/// Returns the elements of a list; none if it is not one.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Checks an id or a name of letters, digits, `_` and `-`.
pub(crate) fn check_word(word: &Value) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let word = word.as_str().unwrap_or_default();
    let fits = !word.is_empty() && word.len() <= 64 && word.chars().all(legal);
    require(fits, || {
        format!("`{word}` does not match ^[a-zA-Z0-9_-]{{1,64}}$")
    })
}
