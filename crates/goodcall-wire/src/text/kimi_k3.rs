//! `<|open|>call tool="f" index="1"<|sep|>…<|close|>call<|sep|>`: tags made of control tokens, with
//! typed arguments.

use super::python_values::quote;
use super::tags::attribute;
use super::{Context, Found, untyped_values};
use crate::call::State;

const OPEN: &str = "<|open|>";
const CLOSE: &str = "<|close|>";
const SEP: &str = "<|sep|>";

/// The calls of one block.
pub(crate) fn calls(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("<|open|>call").map(|from| at + from) {
        let (found, end) = call(text, base, start, context);
        calls.extend(found);
        at = end;
    }
    calls
}

fn call(text: &str, base: usize, start: usize, context: &Context<'_>) -> (Option<Found>, usize) {
    let head = start + "<|open|>call".len();
    let Some(size) = text[head..].find(SEP) else {
        return (None, text.len());
    };
    let Some(name) = attribute(&text[head..head + size], "tool") else {
        return (None, head + size);
    };
    let tool = context.tools.meant(&name);
    let mut at = head + size + SEP.len();
    let mut out = String::from("{");
    let mut changes = Vec::new();
    let mut state = State::Open;
    let mut first = true;
    while let Some(next) = text[at..].find(OPEN_OR_CLOSE).map(|from| at + from) {
        let rest = &text[next..];
        if rest.starts_with("<|close|>call") {
            let end = rest
                .find(SEP)
                .map_or(text.len(), |size| next + size + SEP.len());
            (state, at) = (State::Whole, end);
            break;
        }
        let Some(rest) = rest.strip_prefix("<|open|>argument") else {
            if rest.starts_with("<|open|>call") {
                (state, at) = (State::Whole, next);
                break;
            }
            at = next + 2;
            continue;
        };
        let Some(size) = rest.find(SEP) else {
            (state, at) = (State::Cut, text.len());
            break;
        };
        let (attributes, value) = (&rest[..size], &rest[size + SEP.len()..]);
        let Some(end) = value.find("<|close|>argument") else {
            (state, at) = (State::Cut, text.len());
            break;
        };
        at = text.len() - value.len() + end + CLOSE.len();
        let Some(key) = attribute(attributes, "key") else {
            continue;
        };
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        quote(&key, &mut out);
        out.push(':');
        let types = match attribute(attributes, "type") {
            Some(kind) => goodcall_core::Types::named(&kind),
            None => tool.map(|tool| tool.types_of(&key)).unwrap_or_default(),
        };
        changes.extend(untyped_values::write(&value[..end], types, &mut out));
    }
    out.push('}');
    let end = if state == State::Open { text.len() } else { at };
    let span = base + start..base + end;
    let mut found = Found::translated(&name, out, span);
    (found.changes, found.state) = (changes, state);
    (Some(found), end.max(start + OPEN.len()))
}

const OPEN_OR_CLOSE: &str = "<|";
