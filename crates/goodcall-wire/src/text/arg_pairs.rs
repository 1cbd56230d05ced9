//! Reads calls written as pairs of key and value:
//! `f<arg_key>a</arg_key><arg_value>1</arg_value>`, with or without `<tool_sep>` behind the name, in
//! plain tags or in `<ifm|…>` ones.

use super::object_writer::ObjectWriter;
use super::{FoundCall, ambiguous_end_tag};
use crate::call::CallState;
use crate::tools::Tools;

/// Returns true if the first tag of a text is that of a pair. The same tags inside a value of
/// another format are text.
pub(crate) fn is_pairs(text: &str) -> bool {
    let mut body = text.trim_start();
    for marker in ["<tool_call>", "<ifm|tool_call>"] {
        body = body.strip_prefix(marker).unwrap_or(body);
    }
    let tags = &body[body.find('<').unwrap_or(body.len())..];
    ["<arg_key>", "<tool_sep>", "<ifm|arg_key>"]
        .iter()
        .any(|tag| tags.starts_with(tag))
}

/// One pair, and the text behind it.
struct ArgPair<'t> {
    key: &'t str,
    kind: Option<&'t str>,
    value: &'t str,
    rest: &'t str,
}

/// Reads the pair whose key begins at the start of `text`; `None` if it is cut off.
fn pair<'t>(text: &'t str, space: &str) -> Option<ArgPair<'t>> {
    let (key, rest) = text.split_once(&format!("</{space}arg_key>"))?;
    let (head, rest) = rest.split_once(&format!("<{space}arg_value>"))?;
    let (value, rest) = rest.split_once(&format!("</{space}arg_value>"))?;
    let kind = head.split_once(&format!("<{space}arg_type>"));
    let kind = kind.and_then(|(_, kind)| kind.split_once(&format!("</{space}arg_type>")));
    Some(ArgPair {
        key: key.trim(),
        kind: kind.map(|(kind, _)| kind.trim()),
        value,
        rest,
    })
}

/// Reads the call of one block, which is closed if it has an end marker.
pub(crate) fn call(text: &str, base: usize, closed: bool, tools: &Tools) -> Option<FoundCall> {
    let space = if text.contains("<ifm|") { "ifm|" } else { "" };
    let key_tag = format!("<{space}arg_key>");
    let (head, mut rest) = text.split_at(text.find(&key_tag).unwrap_or(text.len()));
    let name = head.split('<').next()?.trim();
    if name.is_empty() || name.contains('{') {
        return None;
    }
    let mut arguments = ObjectWriter::new(tools.meant(name));
    let mut state = if closed {
        CallState::Whole
    } else {
        CallState::Open
    };
    while let Some((_, behind)) = rest.split_once(&key_tag) {
        let Some(pair) = pair(behind, space) else {
            state = CallState::Cut;
            break;
        };
        rest = pair.rest;
        let next = rest.trim_start();
        if !next.is_empty() && !next.starts_with(&key_tag) && !next.starts_with("</") {
            state = ambiguous_end_tag(pair.key);
            break;
        }
        arguments.untyped_member(pair.key, pair.value, pair.kind);
    }
    Some(arguments.finish(name, base..base + text.len(), state))
}
