//! Calls written as tags: `<function=f><parameter=a>1</parameter></function>`, `<invoke name="f">`,
//! `<ns:invoke …>`, `<｜X｜invoke …>`. Values are untyped text, unless an attribute types them.

use std::ops::Range;

use super::python::quote;
use super::{Context, Found, typed};
use crate::call::State;
use crate::tools::Offered;

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
            continue;
        }
        let Some(name) = callee(&tag) else { continue };
        let (found, end) = call(text, base, &tag, &name, context, &mut ends);
        calls.push(found);
        at = end;
    }
    calls
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
        let own = matches!(tag.name, "parameter" | "param" | "arg");
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
        let (value, after, closed) = value(text, &tag, ends);
        if !closed {
            state = State::Cut;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        quote(&key, &mut out);
        out.push(':');
        changes.extend(write_value(&tag, value, &key, tool, &mut out));
        at = after;
        if !closed {
            break;
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
    let mut lexer = super::lexer::Lexer::new(start);
    let until = super::lexer::Until::Brackets { several: false };
    let end = match lexer.run(text, until, true) {
        super::lexer::Step::End { body, .. } => body,
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

/// The text of the value that `open` opens, where the text goes on, and if the value has an end.
fn value<'t>(text: &'t str, open: &Tag<'_>, ends: &mut Ends) -> (&'t str, usize, bool) {
    let start = open.span.end;
    let rest = &text[start..];
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
        return (&inner[..end], start + after, true);
    }
    // One way through the tags of the value; a value that was not closed ends where the next one
    // begins on a line of its own, or with the call.
    let mut at = 0;
    while let Some(next) = rest[at..].find('<').map(|next| at + next) {
        let here = &rest[next..];
        if here.starts_with(&close) {
            return (&rest[..next], start + next + close.len(), true);
        }
        let line = rest[..next].ends_with('\n') && here.starts_with(&sibling);
        let over = !closed && (here.starts_with("</function>") || here.starts_with("</invoke>"));
        if line || over {
            return (&rest[..next], start + next, true);
        }
        at = next + 1;
    }
    (rest, start + rest.len(), false)
}

/// Where closing tags stand for the last time; looked up once for each tag.
#[derive(Default)]
struct Ends(std::collections::HashMap<String, Option<usize>>);

impl Ends {
    fn is_after(&mut self, text: &str, close: &str, start: usize) -> bool {
        let last = match self.0.get(close) {
            Some(last) => *last,
            None => *self.0.entry(close.to_owned()).or_insert(text.rfind(close)),
        };
        last.is_some_and(|last| last >= start)
    }
}

/// Writes a value: typed by its tag, or by the schema.
fn write_value(
    tag: &Tag<'_>,
    value: &str,
    key: &str,
    tool: Option<&Offered>,
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
            // One line feed on each side belongs to the tags.
            let inner = value.strip_prefix('\n').unwrap_or(value);
            let inner = inner.strip_suffix('\n').unwrap_or(inner);
            let types = tool.map(|tool| tool.types_of(key)).unwrap_or_default();
            typed::write(inner, types, out)
        }
    }
}
