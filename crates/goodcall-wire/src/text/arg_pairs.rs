//! Calls written as pairs of key and value: `f<arg_key>a</arg_key><arg_value>1</arg_value>`, with
//! or without `<tool_sep>` behind the name, in plain tags or in `<ifm|…>` ones.

use super::python_values::quote;
use super::{Context, Found, untyped_values};
use crate::call::State;

/// Does the text look like this? Its first tag tells: the same tags inside a value of another form
/// are text.
pub(crate) fn fits(text: &str) -> bool {
    let text = text.trim_start();
    let own = ["<tool_call>", "<ifm|tool_call>"].iter();
    let text = own.fold(text, |text, tag| text.strip_prefix(tag).unwrap_or(text));
    let tags = &text[text.find('<').unwrap_or(text.len())..];
    ["<arg_key>", "<tool_sep>", "<ifm|arg_key>"]
        .iter()
        .any(|tag| tags.starts_with(tag))
}

/// The call of one block; `closed`: the block had its end marker.
pub(crate) fn call(text: &str, base: usize, closed: bool, context: &Context<'_>) -> Option<Found> {
    let space = if text.contains("<ifm|") { "ifm|" } else { "" };
    let tag = |name: &str| format!("<{space}{name}>");
    let end = |name: &str| format!("</{space}{name}>");
    let head = text.find(&tag("arg_key")).unwrap_or(text.len());
    let name = text[..head].split('<').next()?.trim();
    if name.is_empty() || name.contains('{') {
        return None;
    }
    let tool = context.tools.meant(name);
    let mut out = String::from("{");
    let mut changes = Vec::new();
    let mut state = if closed { State::Whole } else { State::Open };
    let mut rest = &text[head..];
    let mut first = true;
    while let Some(from) = rest.find(&tag("arg_key")) {
        rest = &rest[from + tag("arg_key").len()..];
        let Some(size) = rest.find(&end("arg_key")) else {
            state = State::Cut;
            break;
        };
        let key = rest[..size].trim();
        rest = &rest[size + end("arg_key").len()..];
        let Some(from) = rest.find(&tag("arg_value")) else {
            state = State::Cut;
            break;
        };
        let kind = between(&rest[..from], &tag("arg_type"), &end("arg_type"));
        rest = &rest[from + tag("arg_value").len()..];
        let Some(size) = rest.find(&end("arg_value")) else {
            state = State::Cut;
            break;
        };
        let value = &rest[..size];
        rest = &rest[size + end("arg_value").len()..];
        let behind = rest.trim_start();
        if !behind.is_empty() && !behind.starts_with(&tag("arg_key")) && !behind.starts_with("</") {
            let words = format!("one end tag, and none inside the value of `{key}`");
            state = State::Unreadable(words);
            break;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        quote(key, &mut out);
        out.push(':');
        let declared = tool.map(|tool| tool.types_of(key)).unwrap_or_default();
        let types = kind.map_or(declared, |kind| goodcall_core::Types::named(kind.trim()));
        changes.extend(untyped_values::write(value, types, &mut out));
    }
    out.push('}');
    let span = base..base + text.len();
    changes
        .iter_mut()
        .for_each(|change| change.span = span.clone());
    let mut found = Found::translated(name, out, span);
    (found.changes, found.state) = (changes, state);
    Some(found)
}

fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close)?.0)
}
