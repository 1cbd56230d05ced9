//! Calls as JSON, or nearly JSON: `{"name": "f", "arguments": {…}}` and its many relatives.

use std::borrow::Cow;
use std::ops::Range;

use super::raw_members::{Member, elements, members, unquote};
use super::{Context, Found, python_calls};
use crate::call::State;
use crate::tools::ToolDefinition;

/// Lists and objects around a call.
const MOST_DEPTH: usize = 6;
/// Keys that hold the tool's name.
const NAMES: [&str; 9] = [
    "name",
    "tool_name",
    "function",
    "function_name",
    "tool",
    "func",
    "action",
    "api_name",
    "recipient_name",
];
/// Keys that hold the arguments.
const ARGUMENTS: [&str; 13] = [
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "kwargs",
    "arguments_json",
    "tool_input",
    "action_input",
    "function_args",
    "parameter",
    "inputs",
    "argument",
];
/// Keys that a call may have besides.
const OTHERS: [&str; 6] = [
    "id",
    "type",
    "tool_call_id",
    "call_id",
    "description",
    "index",
];

/// Keys that hold what came of a call.
const RESULTS: [&str; 12] = [
    "result",
    "results",
    "output",
    "outputs",
    "response",
    "returns",
    "return_value",
    "observation",
    "content",
    "error",
    "schema",
    "example",
];
/// Keys under which calls stand.
const HOLDERS: [&str; 26] = [
    "tool_calls",
    "tool_call",
    "toolCalls",
    "toolCall",
    "tool_uses",
    "tool_use",
    "toolUse",
    "tools",
    "tool",
    "function_calls",
    "function_call",
    "functionCalls",
    "functionCall",
    "functions",
    "function",
    "calls",
    "call",
    "actions",
    "action",
    "api_calls",
    "api_call",
    "requests",
    "request",
    "message",
    "choices",
    "response",
];

/// The calls of a text that is JSON, or nearly; empty if it holds none.
pub(crate) fn calls(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    collect(text, base, context, 0, &mut found);
    found
}

/// Calls of several values one after the other: blanks, commas or semicolons between them.
pub(crate) fn sequence(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        at += rest.len()
            - rest
                .trim_start_matches([' ', '\n', '\t', '\r', ';', ','])
                .len();
        if !text[at..].starts_with(['{', '[']) {
            return found;
        }
        let size = value_size(&text[at..]);
        collect(&text[at..at + size], base + at, context, 0, &mut found);
        at += size;
    }
}

/// Bytes of the value at the start of `text`, its closing bracket included.
fn value_size(text: &str) -> usize {
    let mut lexer = super::call_end::Lexer::new(0);
    let until = super::call_end::Until::Brackets { several: false };
    match lexer.run(text, until, true) {
        super::call_end::Step::End { body, .. } => body,
        _ => text.len(),
    }
}

fn collect(text: &str, base: usize, context: &Context<'_>, depth: usize, out: &mut Vec<Found>) {
    if depth > MOST_DEPTH {
        return;
    }
    if let Some((members, closed)) = members(text) {
        return object(text, base, context, depth, &members, closed, out);
    }
    if let Some(parts) = elements(text) {
        return list(text, base, context, depth, &parts, out);
    }
    let Some(inner) = unquote(text) else {
        return;
    };
    // A call inside a string: positions inside it are those of the string.
    let span = base..base + text.len();
    let inner = inner.trim();
    if let Some(mut calls) = python_calls::sequence(inner, 0, context) {
        calls.iter_mut().for_each(|call| call.place(&span));
        out.append(&mut calls);
    } else if inner.starts_with(['{', '[']) {
        let from = out.len();
        collect(inner, 0, context, depth + 1, out);
        out[from..].iter_mut().for_each(|call| call.place(&span));
    }
}

/// A list of calls, or a name and its arguments side by side.
fn list(
    text: &str,
    base: usize,
    context: &Context<'_>,
    depth: usize,
    parts: &[Range<usize>],
    out: &mut Vec<Found>,
) {
    let mut parts = parts.iter().peekable();
    while let Some(part) = parts.next() {
        let piece = &text[part.clone()];
        let name = unquote(piece).filter(|name| context.tools.meant(name).is_some());
        let next = parts.peek().map(|next| &text[(*next).clone()]);
        if let (Some(name), Some(next)) = (name, next)
            && next.starts_with('{')
            && members(next).is_some_and(|(all, _)| !is_call(next, &all, context))
        {
            let value = parts.next().cloned().unwrap_or_default();
            let span = base + part.start..base + value.end;
            out.push(Found::sent(
                &name,
                next.to_owned(),
                base + value.start,
                span,
            ));
            continue;
        }
        if let Some(name) = unquote(piece).filter(|name| context.tools.meant(name).is_some()) {
            let mut end = part.end;
            let mut arguments = Vec::new();
            while let Some(next) = parts.next_if(|next| is_argument(&text[(*next).clone()])) {
                arguments.extend(unquote(&text[next.clone()]));
                end = next.end;
            }
            let span = base + part.start..base + end;
            out.extend(from_strings(&name, &arguments, &span, context));
            continue;
        }
        if piece.starts_with(['{', '[', '"', '\'', '(']) {
            collect(piece, base + part.start, context, depth + 1, out);
        } else if let Some(mut calls) = python_calls::sequence(piece, base + part.start, context) {
            out.append(&mut calls);
        }
    }
}

/// A string like `'a=1'` or `'(a=1, b=2)'`.
fn is_argument(piece: &str) -> bool {
    let inner = unquote(piece).unwrap_or_default();
    let inner = inner.trim_start_matches('(');
    let size = super::python_values::identifier_size(inner);
    size > 0 && inner[size..].trim_start().starts_with('=')
}

/// A name and its arguments, each in a string of its own.
fn from_strings(
    name: &str,
    arguments: &[Cow<'_, str>],
    span: &Range<usize>,
    context: &Context<'_>,
) -> Option<Found> {
    let inner = arguments.iter().map(|one| one.trim());
    let bare = |one: &'_ str| {
        one.strip_prefix('(')
            .and_then(|one| one.strip_suffix(')'))
            .map(str::to_owned)
    };
    let inner: Vec<_> = inner
        .map(|one| bare(one).unwrap_or_else(|| one.to_owned()))
        .collect();
    let text = format!("{name}({})", inner.join(", "));
    let (mut found, size) = python_calls::call(&text, 0, context)?;
    found.place(span);
    let whole = size == text.len() && found.state == State::Whole;
    (whole && !arguments.is_empty()).then_some(found)
}

/// Does this object name an offered tool?
fn is_call(text: &str, members: &[Member<'_>], context: &Context<'_>) -> bool {
    name_of(text, members, context).is_some()
}

/// The member that names the tool: an offered one, or any name beside arguments.
fn name_of<'t>(
    text: &'t str,
    members: &[Member<'t>],
    context: &Context<'_>,
) -> Option<(usize, Cow<'t, str>)> {
    let has_arguments = arguments_of(members, None).is_some();
    let mut any = None;
    for key in NAMES {
        let Some(index) = members.iter().position(|member| member.key == key) else {
            continue;
        };
        let Some(name) = unquote(&text[members[index].value.clone()]) else {
            continue;
        };
        if context.tools.meant(&name).is_some() {
            return Some((index, name));
        }
        if has_arguments && any.is_none() && !name.is_empty() && !name.contains(' ') {
            any = Some((index, name));
        }
    }
    any
}

/// The member that holds the arguments.
fn arguments_of(members: &[Member<'_>], name: Option<usize>) -> Option<usize> {
    let known = |wanted: &str| {
        let found = members.iter().position(|member| member.key == wanted);
        found.filter(|index| Some(*index) != name)
    };
    ARGUMENTS.iter().find_map(|wanted| known(wanted))
}

/// Does this object define a tool, with a schema where a call has its arguments?
fn is_definition(text: &str, members: &[Member<'_>], tool: Option<&ToolDefinition>) -> bool {
    const SCHEMAS: [&str; 4] = ["input_schema", "inputSchema", "parameters", "properties"];
    let declares = |key: &str| tool.is_some_and(|tool| tool.declares(key));
    let object = |value: &str, key: &str| {
        let inner = self::members(value).map(|(inner, _)| inner);
        let inner = inner.unwrap_or_default();
        let found = inner.iter().find(|member| member.key == key);
        found.is_some_and(|member| value[member.value.clone()].starts_with('{'))
    };
    // `{"path": "string"}` beside a description.
    let described = members.iter().any(|member| member.key == "description");
    let typed = |value: &str| {
        let inner = self::members(value)
            .map(|(inner, _)| inner)
            .unwrap_or_default();
        let is_type = |member: &Member<'_>| {
            let text = unquote(&value[member.value.clone()]);
            text.is_some_and(|text| goodcall_core::Types::named(&text).len() == 1)
        };
        described && !inner.is_empty() && inner.iter().all(is_type)
    };
    members.iter().any(|member| {
        let value = &text[member.value.clone()];
        let key = member.key.as_ref();
        let schema = object(value, "properties") && !declares("properties") || typed(value);
        let known = SCHEMAS.contains(&key) || ARGUMENTS.contains(&key);
        known && (schema || (key == "properties" && value.starts_with('{') && !declares(key)))
    })
}

/// Does this object tell what came of a call, or what a tool is for, without any arguments?
fn is_result(members: &[Member<'_>], name: usize, tool: Option<&ToolDefinition>) -> bool {
    let declares = |key: &str| tool.is_some_and(|tool| tool.declares(key));
    let rest = || (members.iter().enumerate()).filter(|(at, _)| *at != name);
    let mut keys = rest().map(|(_, member)| member.key.as_ref());
    let tells = |key: &str| RESULTS.contains(&key) || key == "description";
    arguments_of(members, Some(name)).is_none() && !keys.clone().any(declares) && keys.any(tells)
}

/// A declared argument that stands beside the object of arguments.
fn beside_arguments<'m>(
    members: &'m [Member<'_>],
    name: usize,
    tool: Option<&ToolDefinition>,
) -> Option<&'m str> {
    arguments_of(members, Some(name))?;
    let known =
        |key: &str| NAMES.contains(&key) || ARGUMENTS.contains(&key) || OTHERS.contains(&key);
    let mut keys = members.iter().map(|member| member.key.as_ref());
    keys.find(|key| !known(key) && tool.is_some_and(|tool| tool.declares(key)))
}

/// Are there two names, or two sets of arguments?
fn is_ambiguous(text: &str, members: &[Member<'_>], context: &Context<'_>) -> bool {
    let value = |member: &Member<'_>| &text[member.value.clone()];
    let names = members.iter().filter(|m| NAMES.contains(&m.key.as_ref()));
    let mut names = names.filter_map(|m| Some((m, unquote(value(m))?)));
    let name = names
        .clone()
        .find_map(|(_, name)| context.tools.meant(&name));
    let other = names.any(|(member, sent)| {
        let meant = context.tools.meant(&sent);
        let again = members.iter().filter(|m| m.key == member.key);
        let again = again.filter(|m| value(m) != value(member)).count() > 0;
        again || (meant.is_some() && meant.map(|tool| &tool.name) != name.map(|tool| &tool.name))
    });
    let all = members
        .iter()
        .filter(|m| ARGUMENTS.contains(&m.key.as_ref()));
    let mut all = all.filter(|m| value(m).starts_with('{')).map(value);
    let first = all.next();
    other || all.any(|other| Some(other) != first)
}

fn object(
    text: &str,
    base: usize,
    context: &Context<'_>,
    depth: usize,
    members: &[Member<'_>],
    closed: bool,
    out: &mut Vec<Found>,
) {
    let span = base..base + text.len();
    if let Some((index, name)) = name_of(text, members, context) {
        let tool = context.tools.meant(&name);
        if is_definition(text, members, tool) || is_result(members, index, tool) {
            return;
        }
        let mut found = with_arguments(text, base, context, members, index, &name, span);
        found.name_span = base + members[index].value.start..base + members[index].value.end;
        if !closed && found.state == State::Whole {
            found.state = State::Open;
        }
        if closed && is_ambiguous(text, members, context) {
            found.state = State::Unreadable("one name and one set of arguments".to_owned());
        } else if closed && let Some(beside) = beside_arguments(members, index, tool) {
            let words = format!("all arguments in one object, `{beside}` among them");
            found.state = State::Unreadable(words);
        }
        out.push(found);
        return;
    }
    for member in members {
        let value = &text[member.value.clone()];
        let place = base + member.value.start;
        // The name as the key.
        let tool = context
            .tools
            .meant(&member.key)
            .filter(|_| value.starts_with('{'));
        if let Some(tool) = tool {
            let inner = self::members(value);
            let wrapped = inner.as_ref().and_then(|(all, _)| arguments_of(all, None));
            let wrapped = wrapped.filter(|_| inner.as_ref().is_some_and(|(all, _)| all.len() == 1));
            let (value, place) = match (wrapped, &inner) {
                (Some(index), Some((all, _))) if !tool.declares(&all[index].key) => {
                    let range = all[index].value.clone();
                    (&value[range.clone()], place + range.start)
                }
                _ => (value, place),
            };
            let span = base + member.span.start..base + member.span.end;
            let mut found = Found::sent(&member.key, value.to_owned(), place, span);
            if !closed && member.value.end == text.len() {
                found.state = State::Open;
            }
            out.push(found);
        } else if value.starts_with(['{', '[']) && HOLDERS.contains(&member.key.as_ref()) {
            collect(value, place, context, depth + 1, out);
        }
    }
}

/// The call of an object that names its tool.
fn with_arguments(
    text: &str,
    base: usize,
    context: &Context<'_>,
    members: &[Member<'_>],
    index: usize,
    name: &str,
    span: Range<usize>,
) -> Found {
    if let Some(arguments) = arguments_of(members, Some(index)) {
        let value = members[arguments].value.clone();
        let piece = &text[value.clone()];
        // Arguments as a string of JSON.
        return match unquote(piece) {
            Some(inner) => Found::translated(name, inner.into_owned(), span),
            None => Found::sent(name, piece.to_owned(), base + value.start, span),
        };
    }
    let tool = context.tools.meant(name);
    let rest = members.iter().enumerate().filter(|(at, _)| *at != index);
    // Arguments beside the name.
    let own = |member: &&Member<'_>| tool.is_some_and(|tool| tool.declares(&member.key));
    let flat: Vec<_> = rest.clone().map(|(_, member)| member).filter(own).collect();
    let strangers = rest
        .filter(|(_, member)| !own(member) && !OTHERS.contains(&member.key.as_ref()))
        .count();
    if flat.is_empty() && strangers == 1 && members.len() == 2 {
        // The only other member is an object: the arguments under another name.
        let other = &members[1 - index];
        let piece = &text[other.value.clone()];
        if piece.starts_with('{') {
            return Found::sent(name, piece.to_owned(), base + other.value.start, span);
        }
    }
    // Others beside them are arguments, too: the schema says whether it takes them.
    let sent = members.iter().enumerate().filter(|(at, member)| {
        let other = OTHERS.contains(&member.key.as_ref()) && !own(member);
        *at != index && !other && !flat.is_empty()
    });
    let pieces: Vec<_> = sent.map(|(_, member)| &text[member.span.clone()]).collect();
    Found::translated(name, format!("{{{}}}", pieces.join(", ")), span)
}
