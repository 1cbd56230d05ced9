//! Finds calls that will fail: of a tool that is not offered, or with arguments that cannot be read.
//! They are found where a marker or the whole message shows that a call was to be made; the model
//! gets an error for them.

use super::marked_block::BlockText;
use super::markers::{BodyFormat, Marker};
use super::raw_members::{RawObject, elements, unquote};
use super::{FoundCall, python_calls};
use crate::call::CallState;
use crate::names;
use crate::tools::Tools;

/// The most bytes of a tool's name.
const MAX_NAME: usize = 128;

/// Returns true if a block is a call of a tool that is not offered, and not a mention of its marker
/// or a program.
pub(crate) fn is_call(found: &FoundCall, block: &BlockText<'_>, marker: &Marker) -> bool {
    if marker.body == BodyFormat::Harmony {
        // A message with a recipient is a call, whatever it holds.
        return is_name(&found.name);
    }
    let closed = block.closed;
    let empty = found.offset.is_none() && found.arguments == "{}";
    let whole = found.state == CallState::Whole || matches!(found.state, CallState::Unreadable(_));
    let has_arguments = if empty {
        // A pair of tags with words in between only mentions them.
        closed && whole && is_only_tags(block.text)
    } else {
        found.arguments.trim_start().starts_with('{')
    };
    is_name(&found.name) && has_arguments && !found.python && (closed || whole)
}

/// Returns true if this may be the name of a tool.
fn is_name(sent: &str) -> bool {
    let name = names::cleaned(sent);
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    name.len() <= MAX_NAME && name.chars().all(is_word) && name.contains(char::is_alphanumeric)
}

/// Returns true if a text is nothing but tags and blanks.
fn is_only_tags(text: &str) -> bool {
    text.split('<').enumerate().all(|(count, piece)| {
        let text = match count {
            0 => Some(piece),
            _ => piece.split_once('>').map(|(_, text)| text),
        };
        // The end tag may lie outside of the block.
        text.is_none_or(|text| text.trim().is_empty())
    })
}

/// Reads a block that holds only the name of a tool: `{"name": "f"}`, or `f`.
pub(crate) fn named_only(block: &BlockText<'_>, marker: &Marker) -> Option<FoundCall> {
    let body = block.text[block.body..].trim();
    if marker.body != BodyFormat::Any || !block.closed {
        return None;
    }
    let name = match RawObject::parse(body) {
        Some(object) => match &object.members[..] {
            [only] if only.key == "name" && object.closed => unquote(object.value(only))?,
            _ => return None,
        },
        None if marker.open == "<tool_call>" && !is_refusal(body) => body.into(),
        None => return None,
    };
    let span = block.base..block.base + block.text.len();
    is_name(&name).then(|| FoundCall::translated(&name, "{}".to_owned(), span))
}

/// Returns true for a word by which a model makes no call.
fn is_refusal(body: &str) -> bool {
    const WORDS: [&str; 8] = [
        "none", "null", "nothing", "n/a", "no", "pass", "true", "false",
    ];
    WORDS.iter().any(|word| body.eq_ignore_ascii_case(word))
}

/// Reads a block that was to be a call: an object with a name or arguments that cannot be read.
pub(crate) fn malformed(
    block: &BlockText<'_>,
    marker: &Marker,
    tools: &Tools,
) -> Option<FoundCall> {
    let body = block.text[block.body..].trim();
    let shaped = marker.body == BodyFormat::Any && block.closed;
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
    let mut found = FoundCall::translated(name, body.to_owned(), span);
    let expected = "{\"name\": …, \"arguments\": {…}} as JSON, with the name of a tool";
    found.state = CallState::Unreadable(expected.to_owned());
    Some(found)
}

/// The word behind the key `name`.
fn named(body: &str) -> Option<&str> {
    let (_, rest) = body.split_once("name")?;
    let rest = rest.trim_start_matches(['"', '\'', ':', '=', ' ']);
    let size = python_calls::dotted_size(rest);
    (size > 0 && size <= MAX_NAME).then(|| &rest[..size])
}

/// Reads a list of calls in Python's notation, some of which may be unreadable. Empty if any
/// element is not a call of an offered tool.
pub(crate) fn list(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut calls = Vec::new();
    if !text.starts_with('[') {
        return calls;
    }
    for part in elements(text).unwrap_or_default() {
        let piece = &text[part.clone()];
        match python_calls::call(piece, base + part.start, tools) {
            Some((mut found, size))
                if found.is_offered(tools)
                    && (size == piece.len() || matches!(found.state, CallState::Unreadable(_))) =>
            {
                found.span.end = base + part.end;
                calls.push(found);
            }
            _ => return Vec::new(),
        }
    }
    calls
}
