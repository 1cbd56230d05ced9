//! Calls that fail: marked or alone, but of no offered tool, or not to be read.

use super::body::Block;
use super::markers::{Body, Marker};
use super::split::elements;
use super::{Context, Found, pythonic};
use crate::call::State;
use crate::names;
use crate::tools::Tools;

/// Bytes that the name of a tool may have.
const MOST_NAME: usize = 128;

/// Is this a call of a tool that is not offered, and no mention of a marker? Programs call much.
pub(crate) fn is_call(found: &Found, closed: bool) -> bool {
    let name = names::cleaned(&found.name);
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let named = !name.is_empty() && name.len() <= MOST_NAME && name.chars().all(word);
    let empty = found.offset.is_none() && found.arguments == "{}";
    let object = found.arguments.trim_start().starts_with('{') && !empty;
    let whole = found.state == State::Whole || matches!(found.state, State::Unreadable(_));
    named && object && !found.python && (closed || whole)
}

/// A block that was to be a call: an object with a name or arguments, but not to be read.
pub(crate) fn malformed(block: &Block<'_>, marker: &Marker, tools: &Tools) -> Option<Found> {
    let body = block.text[block.body..].trim();
    let shaped = marker.body == Body::Any && block.closed;
    let keys = ["name", "arguments", "parameters"];
    let keyed = keys.iter().any(|key| body.contains(key));
    if !shaped || !keyed || !body.trim_start_matches('[').trim_start().starts_with('{') {
        return None;
    }
    let name = match (named(body), tools.only()) {
        (Some(name), _) => name,
        (None, Some(only)) => only.name.as_str(),
        (None, None) => "unknown",
    };
    let span = block.base..block.base + block.text.len();
    let mut found = Found::translated(name, body.to_owned(), span);
    let words = "{\"name\": …, \"arguments\": {…}} as JSON, with the name of a tool";
    found.state = State::Unreadable(words.to_owned());
    Some(found)
}

/// The word behind the key `name`.
fn named(body: &str) -> Option<&str> {
    let (_, rest) = body.split_once("name")?;
    let rest = rest.trim_start_matches(['"', '\'', ':', '=', ' ']);
    let size = pythonic::dotted_size(rest);
    (size > 0 && size <= MOST_NAME).then(|| &rest[..size])
}

/// Does any call of this text hold another one?
pub(crate) fn nests(text: &str) -> bool {
    let (mut depth, mut deep) = (0usize, false);
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deep |= depth > 1;
    }
    deep
}

/// The calls of a list in Python's form, where some cannot be read.
pub(crate) fn list(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut calls = Vec::new();
    if !text.starts_with('[') {
        return calls;
    }
    for part in elements(text).unwrap_or_default() {
        let piece = &text[part.clone()];
        let found = pythonic::call(piece, base + part.start, context);
        let found = found.filter(|(found, size)| {
            let alone = *size == piece.len() || matches!(found.state, State::Unreadable(_));
            alone && context.tools.meant(&found.name).is_some()
        });
        match found {
            Some((found, _)) => calls.push(found),
            None => return Vec::new(),
        }
    }
    calls
}
