//! Calls that fail: marked or alone, but of no offered tool, or not to be read.

use super::marked_block::Block;
use super::markers::{Body, Marker};
use super::raw_members::{elements, members, unquote};
use super::{Context, Found, python_calls};
use crate::call::State;
use crate::names;
use crate::tools::Tools;

/// Bytes that the name of a tool may have.
const MOST_NAME: usize = 128;

/// Is this a call of a tool that is not offered, and no mention of a marker? Programs call much.
pub(crate) fn is_call(found: &Found, block: &Block<'_>) -> bool {
    let closed = block.closed;
    let empty = found.offset.is_none() && found.arguments == "{}";
    let whole = found.state == State::Whole || matches!(found.state, State::Unreadable(_));
    let object = match empty {
        // A pair of tags with words in between only mentions them.
        true => closed && whole && is_only_tags(block.text),
        false => found.arguments.trim_start().starts_with('{'),
    };
    is_name(&found.name) && object && !found.python && (closed || whole)
}

/// May a tool be called so?
fn is_name(sent: &str) -> bool {
    let name = names::cleaned(sent);
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let named = name.len() <= MOST_NAME && name.chars().all(word);
    named && name.contains(char::is_alphanumeric)
}

/// Is there nothing in this text but tags and blanks?
fn is_only_tags(text: &str) -> bool {
    text.split('<').enumerate().all(|(count, piece)| {
        let text = match count {
            0 => Some(piece),
            _ => piece.split_once('>').map(|(_, text)| text),
        };
        // The end tag may not be part of the block.
        text.is_none_or(|text| text.trim().is_empty())
    })
}

/// A block that holds only the name of a tool: `{"name": "f"}`, or `f`.
pub(crate) fn named_only(block: &Block<'_>, marker: &Marker) -> Option<Found> {
    let body = block.text[block.body..].trim();
    if marker.body != Body::Any || !block.closed {
        return None;
    }
    let name = match members(body) {
        Some((all, true)) => match all.as_slice() {
            [only] if only.key == "name" => unquote(&body[only.value.clone()])?.into_owned(),
            _ => return None,
        },
        Some(_) => return None,
        None => {
            let nothing = [
                "none", "null", "nothing", "n/a", "no", "pass", "true", "false",
            ];
            let says = body.to_ascii_lowercase();
            let word = marker.open == "<tool_call>" && !nothing.contains(&says.as_str());
            word.then(|| body.to_owned())?
        }
    };
    let span = block.base..block.base + block.text.len();
    is_name(&name).then(|| Found::translated(&name, "{}".to_owned(), span))
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
    let size = python_calls::dotted_size(rest);
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
        let found = python_calls::call(piece, base + part.start, context);
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
