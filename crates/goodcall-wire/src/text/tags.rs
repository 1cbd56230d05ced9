//! Reads calls written as tags: `<function=f><parameter=a>1</parameter></function>`,
//! `<invoke name="f">`, `<ns:invoke …>`, `<｜X｜invoke …>`. Values are untyped text, unless an
//! attribute types them.

use std::collections::HashMap;
use std::ops::Range;

use goodcall_core::Tree;

use super::call_end::{tag_counts, value_size};
use super::input::Window;
use super::object_writer::{ObjectWriter, push_string};
use super::untyped_values::trim_line_ends;
use super::value_tags::ends_tag_name;
use super::{FoundCall, ambiguous_end_tag};
use crate::call::CallState;
use crate::tools::{ToolDefinition, Tools};

/// The most bytes of a tag.
const MAX_TAG: usize = 512;
/// Values without an end tag that are searched for up to the end of the text.
const MAX_UNCLOSED_VALUES: usize = 16;

/// One tag and its span.
struct CallTag<'t> {
    is_closing: bool,
    /// The name without its namespace.
    name: &'t str,
    /// The text behind the name: attributes, or `=` and a value.
    rest: &'t str,
    span: Range<usize>,
}

/// Reads the calls of a text made of tags.
pub(crate) fn calls(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let mut calls = Vec::new();
    let mut end_tags = EndTags::new(text);
    let mut at = 0;
    while let Some(tag) = next_tag(text, at) {
        at = tag.span.end;
        if tag.is_closing {
            // The end of a value that seemed to have ended already.
            let last: Option<&mut FoundCall> = calls.last_mut();
            if let Some(last) = last.filter(|_| is_value(&tag)) {
                last.state = CallState::Unreadable("values without end tags inside".to_owned());
            }
            continue;
        }
        let Some(name) = callee(&tag) else { continue };
        let found = if text[at..].trim_start().starts_with('{') {
            json_call(text, base, &tag, &name)
        } else {
            call(&tag, &name, base, tools.meant(&name), &mut end_tags)
        };
        at = found.span.end - base;
        calls.push(found);
    }
    calls
}

/// Returns true for the tag of a value.
fn is_value(tag: &CallTag<'_>) -> bool {
    matches!(tag.name, "parameter" | "param" | "arg")
}

/// The name in `<function=f>`, `<function name="f">`, `<invoke name="f">`, `<functionname="f">`.
fn callee(tag: &CallTag<'_>) -> Option<String> {
    let rest = match tag.name {
        "function" | "invoke" | "tool" | "call" | "function_call" => tag.rest,
        "functionname" => return value_of(tag.rest),
        _ => return None,
    };
    match rest.strip_prefix('=') {
        Some(_) => value_of(rest),
        None => attribute(rest, "name").or_else(|| attribute(rest, "tool")),
    }
}

/// The value in `=f` or `="f"`.
fn value_of(rest: &str) -> Option<String> {
    let name = rest
        .trim_start_matches(['=', ' '])
        .trim_end_matches(['/', ' ']);
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The value of an attribute, entities decoded.
pub(super) fn attribute(rest: &str, wanted: &str) -> Option<String> {
    let mut from = 0;
    loop {
        let at = from + rest[from..].find(wanted)?;
        let bounded = rest[..at].is_empty() || rest[..at].ends_with([' ', '\n', '\t', '"', '\'']);
        from = at + wanted.len();
        let Some(value) = rest[from..]
            .trim_start()
            .strip_prefix('=')
            .filter(|_| bounded)
        else {
            continue;
        };
        let value = value.trim_start();
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split(quote).next()?,
            _ => value.split([' ', '>', '/']).next()?,
        };
        return Some(decode_entities(value));
    }
}

fn decode_entities(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The next tag from `at` on.
fn next_tag(text: &str, mut at: usize) -> Option<CallTag<'_>> {
    loop {
        let start = at + text[at..].find('<')?;
        let rest = &text[start + 1..];
        at = start + 1;
        let Some(size) = rest
            .find(['<', '>'])
            .filter(|end| rest[*end..].starts_with('>'))
        else {
            continue;
        };
        let whole = &rest[..size];
        let opening = whole.trim_start().strip_prefix('/');
        let mut inner = opening.unwrap_or(whole);
        // `｜X｜invoke`, `ns:invoke`, with a blank before the name in some versions.
        let bars = ['｜', '‖', '|', ' '];
        let space = inner.trim_start_matches(bars);
        if space.len() < inner.len()
            && let Some(end) = space.find(bars)
        {
            inner = space[end..].trim_start_matches(bars);
        }
        let end = inner.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '-'));
        let (qualified, rest) = inner.split_at(end.unwrap_or(inner.len()));
        let name = qualified.rsplit(':').next().unwrap_or(qualified);
        if name.is_empty() {
            continue;
        }
        return Some(CallTag {
            is_closing: opening.is_some(),
            name,
            rest,
            span: start..start + 1 + size + 1,
        });
    }
}

/// Reads the call that the tag `open` opens, up to its end tag or the next call.
fn call(
    open: &CallTag<'_>,
    name: &str,
    base: usize,
    tool: Option<&ToolDefinition>,
    end_tags: &mut EndTags<'_>,
) -> FoundCall {
    let text = end_tags.text;
    let mut arguments = ObjectWriter::new(tool);
    let mut at = open.span.end;
    let mut state = CallState::Open;
    let mut end = text.len();
    while let Some(tag) = next_tag(text, at) {
        at = tag.span.end;
        if tag.is_closing {
            if tag.name == open.name {
                (state, end) = (CallState::Whole, tag.span.end);
                break;
            }
            if tag.name.contains("call") {
                (state, end) = (CallState::Whole, tag.span.start);
                break;
            }
            continue;
        }
        if callee(&tag).is_some() {
            // The next call begins: this one has no end tag, but it is over.
            (state, end) = (CallState::Whole, tag.span.start);
            break;
        }
        let Some(key) = key_of(&tag).filter(|_| is_value(&tag)) else {
            continue;
        };
        let value = value(&tag, open.name, tool, end_tags);
        write_member(&tag, &key, value.text, &mut arguments);
        at = value.after;
        match value.end {
            ValueEnd::Found => {}
            ValueEnd::Missing => {
                state = CallState::Cut;
                break;
            }
            ValueEnd::Ambiguous => {
                state = ambiguous_end_tag(&key);
                break;
            }
        }
    }
    arguments.finish(name, base + open.span.start..base + end, state)
}

/// Reads a call whose arguments are one JSON object in place of tags.
fn json_call(text: &str, base: usize, open: &CallTag<'_>, name: &str) -> FoundCall {
    let body = &text[open.span.end..];
    let start = open.span.end + body.len() - body.trim_start().len();
    let size = value_size(&text[start..]).unwrap_or(text.len() - start);
    let end = start + size;
    let close = next_tag(text, end).filter(|tag| tag.is_closing && tag.name == open.name);
    let after = close.map_or(end, |tag| tag.span.end);
    let span = base + open.span.start..base + after;
    FoundCall::verbatim(name, &text[start..end], base + start, span)
}

/// The name of the parameter whose value a tag opens.
fn key_of(tag: &CallTag<'_>) -> Option<String> {
    match tag.rest.strip_prefix('=') {
        Some(_) => value_of(tag.rest),
        None => attribute(tag.rest, "name").or_else(|| attribute(tag.rest, "key")),
    }
}

/// A value, and the offset of the text behind its end tag.
struct TagValue<'t> {
    text: &'t str,
    after: usize,
    end: ValueEnd,
}

enum ValueEnd {
    Found,
    /// The text ends before the value does.
    Missing,
    /// There are end tags, but none is surely the last.
    Ambiguous,
}

/// Reads the value that the tag `open` opens. It ends with its end tag; whole tags of the same name
/// may be nested in it. An end tag with text behind it is part of the value, which ends with a later
/// one.
fn value<'t>(
    open: &CallTag<'_>,
    call_name: &str,
    tool: Option<&ToolDefinition>,
    end_tags: &mut EndTags<'t>,
) -> TagValue<'t> {
    let text = end_tags.text;
    let start = open.span.end;
    let rest = &text[start..];
    let value = |size: usize, after: usize, end: ValueEnd| TagValue {
        text: &rest[..size],
        after: start + after,
        end,
    };
    // The end tag repeats the name as it was written, its namespace included.
    let written = &text[open.span.start + 1..open.span.end - 1];
    let size = written.find(open.name).map_or(0, |at| at + open.name.len());
    let close = format!("</{}>", &written[..size]);
    let sibling = format!("<{}", &written[..size]);
    let closed = end_tags.has_after(&close, start);
    let data = character_data(rest, &close);
    if let Some((inner, after)) = data.filter(|(_, at)| !continues_value(&rest[*at..], call_name)) {
        return TagValue {
            text: inner,
            after: start + after,
            end: ValueEnd::Found,
        };
    }
    let (mut at, mut depth, mut has_stray_end, mut holds_example) = (0, 0usize, false, false);
    let mut next_value = None;
    while let Some(next) = rest[at..].find('<').map(|size| at + size) {
        let here = &rest[next..];
        at = next + 1;
        let counts = tag_counts(Window::whole(rest), 0, next);
        if here.starts_with(&close) {
            let after = next + close.len();
            let continues = continues_value(&rest[after..], call_name);
            match depth {
                _ if !counts && (continues || depth > 0) => {}
                0 if continues => has_stray_end = true,
                0 => return value(next, after, ValueEnd::Found),
                _ => depth -= 1,
            }
        } else if !counts && closed {
            // Part of the text.
        } else if here
            .strip_prefix(sibling.as_str())
            .is_some_and(|behind| ends_tag_name(behind.as_bytes()))
        {
            let key = next_tag(here, 0).and_then(|tag| key_of(&tag));
            let declared = key.is_some_and(|key| tool.is_none_or(|tool| tool.declares(&key)));
            let on_own_line = rest[..next].ends_with('\n');
            if next_value.is_none() && on_own_line && declared && !holds_example {
                next_value = Some(next);
            }
            depth += 1;
            if !closed {
                break;
            }
        } else if here.starts_with("</function>") || here.starts_with("</invoke>") {
            if !closed {
                return value(next, next, ValueEnd::Found);
            }
            if has_stray_end && depth == 0 {
                return value(rest.len(), rest.len(), ValueEnd::Ambiguous);
            }
        } else if here.starts_with("<function=") || here.starts_with("<invoke ") {
            holds_example = true;
        }
    }
    let retry = end_tags.pay_unclosed_value();
    match next_value.filter(|_| !has_stray_end && retry) {
        // A value that was not closed ends where the next one begins on a line of its own.
        Some(next) => value(next, next, ValueEnd::Found),
        None if closed => value(rest.len(), rest.len(), ValueEnd::Ambiguous),
        None => value(rest.len(), rest.len(), ValueEnd::Missing),
    }
}

/// The text in `<![CDATA[…]]>`, if that is the whole value, and where the end tag behind it ends.
fn character_data<'t>(rest: &'t str, close: &str) -> Option<(&'t str, usize)> {
    let inner = rest.trim_start().strip_prefix("<![CDATA[")?;
    let (text, behind) = inner.split_once("]]>")?;
    let after = behind.trim_start().strip_prefix(close)?;
    Some((text, rest.len() - after.len()))
}

/// Returns true if a value continues behind an end tag: not if only blanks separate the tag from
/// the next value, the next call, or the end of this one.
fn continues_value(behind: &str, call_name: &str) -> bool {
    let behind = behind.trim_start();
    let mut size = behind.len().min(MAX_TAG);
    while !behind.is_char_boundary(size) {
        size -= 1;
    }
    let head = &behind[..size];
    let Some(tag) = next_tag(head, 0).filter(|tag| tag.span.start == 0) else {
        let cut_in_tag = head.starts_with('<') && !head.contains('>');
        return !head.is_empty() && !cut_in_tag;
    };
    if tag.is_closing {
        tag.name != call_name && !tag.name.contains("call")
    } else {
        !is_value(&tag) && callee(&tag).is_none()
    }
}

/// The end tags of a text, each of which is searched for once.
struct EndTags<'t> {
    text: &'t str,
    /// The last place of each end tag.
    last: HashMap<String, Option<usize>>,
    unclosed_values_left: usize,
}

impl<'t> EndTags<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            last: HashMap::new(),
            unclosed_values_left: MAX_UNCLOSED_VALUES,
        }
    }

    /// Returns true if an end tag follows behind `start`.
    fn has_after(&mut self, close: &str, start: usize) -> bool {
        if !self.last.contains_key(close) {
            self.last.insert(close.to_owned(), self.text.rfind(close));
        }
        self.last[close].is_some_and(|last| last >= start)
    }

    /// Returns true if another value without an end tag may be searched for.
    fn pay_unclosed_value(&mut self) -> bool {
        let left = self.unclosed_values_left;
        self.unclosed_values_left = left.saturating_sub(1);
        left > 0
    }
}

/// Writes a value by the type that its tag declares, or else by the schema.
fn write_member(tag: &CallTag<'_>, key: &str, value: &str, arguments: &mut ObjectWriter<'_>) {
    let kind = match attribute(tag.rest, "string") {
        Some(flag) if flag == "true" => Some("string".to_owned()),
        Some(_) => Some("json".to_owned()),
        None => attribute(tag.rest, "type"),
    };
    match kind.as_deref() {
        Some("string") => {
            arguments.key(key);
            push_string(value, arguments.json());
        }
        Some(_) if Tree::parse(value.trim()).is_ok() => {
            arguments.key(key);
            arguments.json().push_str(value.trim());
        }
        _ => {
            let is_empty = value == "\n" && tag.rest.starts_with('=');
            let text = if is_empty { "" } else { trim_line_ends(value) };
            arguments.untyped_member(key, text, None);
        }
    }
}
