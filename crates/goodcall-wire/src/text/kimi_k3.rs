//! Reads the calls of Kimi K3: `<|open|>call tool="f" index="1"<|sep|>…<|close|>call<|sep|>`, tags
//! made of control tokens, with typed arguments.

use super::object_writer::ObjectWriter;
use super::tags::attribute;
use super::value_tags::{ARGUMENT_END, RawEnding};
use super::{FoundCall, ambiguous_end_tag};
use crate::call::CallState;
use crate::tools::Tools;

const OPEN_CALL: &str = "<|open|>call";
const CLOSE_CALL: &str = "<|close|>call";
const OPEN_ARGUMENT: &str = "<|open|>argument";
const SEPARATOR: &str = "<|sep|>";

/// Reads the calls of one block.
pub(crate) fn calls(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(size) = text[at..].find(OPEN_CALL) {
        let start = at + size;
        let head = start + OPEN_CALL.len();
        let Some(head_size) = text[head..].find(SEPARATOR) else {
            break;
        };
        at = head + head_size;
        if let Some(name) = attribute(&text[head..at], "tool") {
            let mut object = ObjectWriter::new(tools.meant(&name));
            let (state, end) = arguments(text, at + SEPARATOR.len(), &mut object);
            calls.push(object.finish(&name, base + start..base + end, state));
            at = end;
        }
    }
    calls
}

/// Reads the arguments from `at` on, and returns the state and the end of their call.
fn arguments(text: &str, mut at: usize, object: &mut ObjectWriter<'_>) -> (CallState, usize) {
    while let Some(size) = text[at..].find("<|") {
        let next = at + size;
        let rest = &text[next..];
        if rest.starts_with(CLOSE_CALL) {
            let size = rest.find(SEPARATOR).map(|size| size + SEPARATOR.len());
            return (CallState::Whole, next + size.unwrap_or(rest.len()));
        }
        if rest.starts_with(OPEN_CALL) {
            return (CallState::Whole, next);
        }
        let Some(argument) = rest.strip_prefix(OPEN_ARGUMENT) else {
            at = next + 2;
            continue;
        };
        let Some((attributes, behind)) = argument.split_once(SEPARATOR) else {
            return (CallState::Cut, text.len());
        };
        let Some(key) = attribute(attributes, "key") else {
            let unreadable = "a key for every argument".to_owned();
            return (CallState::Unreadable(unreadable), text.len());
        };
        let (size, after) = match ARGUMENT_END.find(behind) {
            RawEnding::At(size, after) => (size, after),
            RawEnding::Ambiguous => return (ambiguous_end_tag(&key), text.len()),
            RawEnding::Missing => return (CallState::Cut, text.len()),
        };
        at = text.len() - behind.len() + after;
        let kind = attribute(attributes, "type");
        object.untyped_member(&key, &behind[..size], kind.as_deref());
    }
    (CallState::Open, text.len())
}
