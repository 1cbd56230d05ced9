//! Calls written as tags: `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">`,
//! `<ns:invoke …>`, `<｜X｜invoke …>`. Values are untyped text, unless an attribute types them.

use std::ops::Range;

use super::call_end::opens_value;
use super::python_values::quote;
use super::{Context, Found, untyped_values};
use crate::call::State;
use crate::tools::ToolDefinition;

/// Bytes that a tag may have.
const MOST_TAG: usize = 512;

/// One tag: its local name, what follows the name, and where it stands.
struct Tag<'t> {
    closing: bool,
    name: &'t str,
    rest: &'t str,
    span: Range<usize>,
}

/// The calls of a text made of tags.
pub(crate) fn calls(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut calls = Vec::new();
    let mut ends = Ends::default();
    let mut at = 0;
    while let Some(tag) = next_tag(text, at) {
        at = tag.span.end;
        if tag.closing {
            // The end of a value that was taken for whole already.
            let last: Option<&mut Found> = calls.last_mut();
            if let Some(last) = last.filter(|_| is_value(&tag)) {
                last.state = State::Unreadable("values without end tags inside".to_owned());
            }
            continue;
        }
        let Some(name) = callee(&tag) else { continue };
        let (found, end) = call(text, base, &tag, &name, context, &mut ends);
        calls.push(found);
        at = end;
    }
    calls
}

/// Is this the tag of a value?
fn is_value(tag: &Tag<'_>) -> bool {
    matches!(tag.name, "parameter" | "param" | "arg")
}

/// The name in `<function=f>`, `<function name="f">`, `<invoke name="f">`, `<functionname="f">`.
fn callee(tag: &Tag<'_>) -> Option<String> {
    let rest = match tag.name {
        "function" | "invoke" | "tool" | "call" => tag.rest,
        "functionname" => return value_of(tag.rest),
        _ => return None,
    };
    match rest.strip_prefix('=') {
        Some(_) => value_of(rest),
        None => attribute(rest, "name").or_else(|| attribute(rest, "tool")),
    }
}

/// `=f`, `="f"`.
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
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = match quote {
            Some(quote) => value[1..].split(quote).next()?,
            None => value.split([' ', '>', '/']).next()?,
        };
        return Some(entities(value));
    }
}

fn entities(text: &str) -> String {
    let decoded = text.replace("&quot;", "\"").replace("&apos;", "'");
    decoded
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The next tag from `at` on.
fn next_tag(text: &str, mut at: usize) -> Option<Tag<'_>> {
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
        let inner = &rest[..size];
        let (closing, inner) = match inner.strip_prefix('/') {
            Some(inner) => (true, inner),
            None => (false, inner),
        };
        // `｜X｜invoke`, `ns:invoke`, with a blank before the name in some versions.
        let inner = match inner
            .strip_prefix('｜')
            .and_then(|inner| inner.split_once('｜'))
        {
            Some((_, local)) => local.trim_start(),
            None => inner,
        };
        let head = inner.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '-'));
        let (head, rest) = inner.split_at(head.unwrap_or(inner.len()));
        let name = head.rsplit(':').next().unwrap_or(head);
        if name.is_empty() {
            continue;
        }
        let span = start..start + 1 + size + 1;
        return Some(Tag {
            closing,
            name,
            rest,
            span,
        });
    }
}

/// The call that `open` opens, and where the text goes on.
fn call(
    text: &str,
    base: usize,
    open: &Tag<'_>,
    name: &str,
    context: &Context<'_>,
    ends: &mut Ends,
) -> (Found, usize) {
    let tool = context.tools.meant(name);
    let mut out = String::from("{");
    let mut changes = Vec::new();
    let mut at = open.span.end;
    let mut first = true;
    let mut state = State::Open;
    let mut end = text.len();
    // Arguments as one JSON object in place of tags.
    let body = text[at..].trim_start();
    if body.starts_with('{') {
        return object(text, base, open, name);
    }
    while let Some(tag) = next_tag(text, at) {
        let own = is_value(&tag);
        if tag.closing && tag.name == open.name {
            (state, end) = (State::Whole, tag.span.end);
            break;
        }
        if !tag.closing && callee(&tag).is_some() {
            // The next call begins: this one has no end tag, but it is over.
            (state, end) = (State::Whole, tag.span.start);
            break;
        }
        if tag.closing || !own {
            if tag.closing && tag.name.contains("call") {
                (state, end) = (State::Whole, tag.span.start);
                break;
            }
            at = tag.span.end;
            continue;
        }
        let Some(key) = key_of(&tag) else {
            at = tag.span.end;
            continue;
        };
        let value = value(text, &tag, open.name, tool, ends);
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        quote(&key, &mut out);
        out.push(':');
        changes.extend(write_value(&tag, value.text, &key, tool, &mut out));
        at = value.after;
        match value.end {
            End::There => {}
            End::Missing => {
                state = State::Cut;
                break;
            }
            End::Torn => {
                let words = format!("one end tag, and none inside the value of `{key}`");
                state = State::Unreadable(words);
                break;
            }
        }
    }
    out.push('}');
    let span = base + open.span.start..base + end;
    changes
        .iter_mut()
        .for_each(|change| change.span = span.clone());
    let mut found = Found::translated(name, out, span);
    (found.changes, found.state) = (changes, state);
    (found, end)
}

/// A call whose arguments are one JSON object.
fn object(text: &str, base: usize, open: &Tag<'_>, name: &str) -> (Found, usize) {
    let from = open.span.end;
    let start = from + (text[from..].len() - text[from..].trim_start().len());
    let mut lexer = super::call_end::Lexer::new(start);
    let until = super::call_end::Until::Brackets { several: false };
    let end = match lexer.run(text, until, true) {
        super::call_end::Step::End { body, .. } => body,
        _ => text.len(),
    };
    let close = next_tag(text, end).filter(|tag| tag.closing && tag.name == open.name);
    let after = close.map_or(end, |tag| tag.span.end);
    let span = base + open.span.start..base + after;
    let found = Found::sent(name, text[start..end].to_owned(), base + start, span);
    (found, after)
}

fn key_of(tag: &Tag<'_>) -> Option<String> {
    match tag.rest.strip_prefix('=') {
        Some(_) => value_of(tag.rest),
        None => attribute(tag.rest, "name").or_else(|| attribute(tag.rest, "key")),
    }
}

/// A value, and where the text goes on.
struct Value<'t> {
    text: &'t str,
    after: usize,
    end: End,
}

enum End {
    There,
    /// The text ends before the value does.
    Missing,
    /// There are end tags, but none that is surely the one.
    Torn,
}

/// The value that `open` opens. It ends with its end tag; whole tags of the same name may stand in
/// it. An end tag with text behind it is part of the value, which goes on to the next one.
fn value<'t>(
    text: &'t str,
    open: &Tag<'_>,
    call: &str,
    tool: Option<&ToolDefinition>,
    ends: &mut Ends,
) -> Value<'t> {
    let start = open.span.end;
    let rest = &text[start..];
    let ended = |size: usize, after: usize, end: End| Value {
        text: &rest[..size],
        after: start + after,
        end,
    };
    // The closing tag repeats the name as it was written.
    let written = &text[open.span.start + 1..open.span.end - 1];
    let size = written.find(open.name).map_or(0, |at| at + open.name.len());
    let (close, sibling) = (
        format!("</{}>", &written[..size]),
        format!("<{}", &written[..size]),
    );
    let closed = ends.is_after(text, &close, start);
    if let Some(inner) = rest.trim_start().strip_prefix("<![CDATA[")
        && let Some(end) = inner.find("]]>").filter(|_| closed)
    {
        let from = rest.len() - inner.len() + end + 3;
        let after = rest[from..]
            .find(&close)
            .map_or(from, |at| from + at + close.len());
        return Value {
            text: &inner[..end],
            after: start + after,
            end: End::There,
        };
    }
    // One way through the tags of the value.
    let (mut at, mut depth, mut stray, mut example) = (0, 0usize, false, false);
    let mut next_value = None;
    while let Some(next) = rest[at..].find('<').map(|next| at + next) {
        let here = &rest[next..];
        at = next + 1;
        if here.starts_with(&close) {
            let after = next + close.len();
            match depth {
                0 if goes_on(&rest[after..], call) => stray = true,
                0 => return ended(next, after, End::There),
                _ => depth -= 1,
            }
        } else if opens_value(here.as_bytes().get(sibling.len()..).unwrap_or_default())
            && here.starts_with(&sibling)
        {
            let declared = next_tag(here, 0).and_then(|tag| key_of(&tag));
            let declared = declared.is_some_and(|key| tool.is_none_or(|tool| tool.declares(&key)));
            if next_value.is_none() && rest[..next].ends_with('\n') && declared && !example {
                next_value = Some(next);
            }
            depth += 1;
            if !closed {
                break;
            }
        } else if here.starts_with("</function>") || here.starts_with("</invoke>") {
            if !closed {
                return ended(next, next, End::There);
            }
            if stray && depth == 0 {
                return ended(rest.len(), rest.len(), End::Torn);
            }
        } else if here.starts_with("<function=") || here.starts_with("<invoke ") {
            example = true;
        }
    }
    // A value that was not closed ends where the next one begins on a line of its own.
    let patient = ends.patience > 0;
    ends.patience = ends.patience.saturating_sub(1);
    match next_value.filter(|_| !stray && patient) {
        Some(next) => ended(next, next, End::There),
        None if closed => ended(rest.len(), rest.len(), End::Torn),
        None => ended(rest.len(), rest.len(), End::Missing),
    }
}

/// Does the value go on behind this end tag? Not if nothing but blanks parts it from the next
/// value, the next call, or the end of this one.
fn goes_on(behind: &str, call: &str) -> bool {
    let behind = behind.trim_start();
    let mut most = behind.len().min(MOST_TAG);
    while !behind.is_char_boundary(most) {
        most -= 1;
    }
    let behind = &behind[..most];
    let Some(tag) = next_tag(behind, 0).filter(|tag| tag.span.start == 0) else {
        // Cut inside a tag, perhaps.
        let cut = behind.starts_with('<') && !behind.contains('>');
        return !behind.is_empty() && !cut;
    };
    match tag.closing {
        true => tag.name != call && !tag.name.contains("call"),
        false => !is_value(&tag) && callee(&tag).is_none(),
    }
}

/// Where closing tags stand for the last time; looked up once for each tag.
struct Ends {
    last: std::collections::HashMap<String, Option<usize>>,
    /// Values without an end tag that are looked for to the end of the text.
    patience: usize,
}

impl Default for Ends {
    fn default() -> Self {
        let last = std::collections::HashMap::new();
        let patience = 16;
        Self { last, patience }
    }
}

impl Ends {
    fn is_after(&mut self, text: &str, close: &str, start: usize) -> bool {
        let last = match self.last.get(close) {
            Some(last) => *last,
            None => *self
                .last
                .entry(close.to_owned())
                .or_insert(text.rfind(close)),
        };
        last.is_some_and(|last| last >= start)
    }
}

/// Writes a value: typed by its tag, or by the schema.
fn write_value(
    tag: &Tag<'_>,
    value: &str,
    key: &str,
    tool: Option<&ToolDefinition>,
    out: &mut String,
) -> Option<goodcall_core::Change> {
    let text = attribute(tag.rest, "string").map(|flag| flag == "true");
    let text = text.or_else(|| attribute(tag.rest, "type").map(|kind| kind == "string"));
    match text {
        Some(true) => {
            quote(value, out);
            None
        }
        Some(false) if goodcall_core::Tree::parse(value.trim()).is_ok() => {
            out.push_str(value.trim());
            None
        }
        _ => {
            let empty = value == "\n" && tag.rest.starts_with('=');
            let inner = if empty {
                ""
            } else {
                untyped_values::inside(value)
            };
            let types = tool.map(|tool| tool.types_of(key)).unwrap_or_default();
            untyped_values::write(inner, types, out)
        }
    }
}
