//! Calls in sections between control tokens, with JSON inside: DeepSeek, Kimi K2, Mistral,
//! harmony, Inkling.

use std::ops::Range;

use super::{Context, Found, json_calls};
use crate::call::State;

/// `<｜tool▁call▁begin｜>f<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, in two versions.
pub(crate) fn deepseek(text: &str, base: usize, closed: bool, context: &Context<'_>) -> Vec<Found> {
    const BEGINS: [&str; 2] = ["<｜tool▁call▁begin｜>", "<｜tool_call_begin｜>"];
    const SEPS: [&str; 2] = ["<｜tool▁sep｜>", "<｜tool_sep｜>"];
    const ENDS: [&str; 2] = ["<｜tool▁call▁end｜>", "<｜tool_call_end｜>"];
    let mut calls = Vec::new();
    for part in parts(text, &BEGINS, &ENDS, closed) {
        let piece = &text[part.range.clone()];
        let Some((at, size)) = first(piece, &SEPS) else {
            continue;
        };
        let body = &piece[at + size..];
        let place = base + part.range.start + at + size;
        if body.trim_start().starts_with('<') {
            calls.append(&mut super::tags::calls(body, place, context));
            continue;
        }
        let span = base + part.range.start..base + part.range.end;
        // The older form: a type, the name on the first line, JSON in a fence.
        let (name, rest) = match piece[..at].trim() {
            "function" => body.split_once('\n').unwrap_or((body, "")),
            name => (name, body),
        };
        calls.push(json(
            name,
            rest,
            place + body.len() - rest.len(),
            span,
            part.closed,
        ));
    }
    calls
}

/// `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
pub(crate) fn kimi(text: &str, base: usize, closed: bool, context: &Context<'_>) -> Vec<Found> {
    const ARGUMENT: &str = "<|tool_call_argument_begin|>";
    let mut calls = Vec::new();
    for part in parts(
        text,
        &["<|tool_call_begin|>"],
        &["<|tool_call_end|>"],
        closed,
    ) {
        let piece = &text[part.range.clone()];
        let Some((id, rest)) = piece.split_once(ARGUMENT) else {
            continue;
        };
        let span = base + part.range.start..base + part.range.end;
        let place = base + part.range.end - rest.len();
        let id = id.trim();
        // Sometimes only the counter is there; with one tool offered there is no doubt.
        let name = match context.tools.only() {
            Some(only) if id.bytes().all(|byte| byte.is_ascii_digit()) => only.name.as_str(),
            _ => own_name(id, context),
        };
        let mut found = json(name, rest, place, span, part.closed);
        found.id = Some(id.to_owned());
        calls.push(found);
    }
    calls
}

/// `[TOOL_CALLS]f[ARGS]{…}` repeated, or `[TOOL_CALLS] [{…}]`.
pub(crate) fn mistral(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    const OPEN: &str = "[TOOL_CALLS]";
    let mut calls = Vec::new();
    let mut at = 0;
    for piece in split_outside(text, OPEN) {
        let place = base + at;
        at += piece.len() + OPEN.len();
        if piece.trim_start().starts_with(['{', '[']) {
            calls.append(&mut json_calls::sequence(piece, place, context));
            continue;
        }
        let Some(open) = piece.find('{') else {
            continue;
        };
        let head = &piece[..open];
        let name = head.split(['[', '{']).next().unwrap_or(head).trim();
        let span = place..place + piece.len();
        let mut found = json(name, &piece[open..], place + open, span, true);
        let id = head.split_once("[CALL_ID]").map(|(_, id)| id);
        found.id = id.map(|id| id.trim_end_matches("[ARGS]").trim().to_owned());
        calls.push(found);
    }
    calls
}

/// `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}`.
pub(crate) fn harmony(text: &str, base: usize, context: &Context<'_>) -> Vec<Found> {
    let Some((head, body)) = text.split_once("<|message|>") else {
        return Vec::new();
    };
    let Some((_, to)) = head.split_once("to=") else {
        return Vec::new();
    };
    let name = to.split([' ', '\n']).next().unwrap_or(to);
    let name = name.split("<|").next().unwrap_or(name);
    let place = base + text.len() - body.len();
    if body.trim_start().starts_with('<') {
        return super::tags::calls(body, place, context);
    }
    let span = base..base + text.len();
    let name = own_name(name, context);
    vec![json(name, body, place, span, true)]
}

/// The name without what the dialect itself writes around it: `functions.f:0`.
fn own_name<'n>(sent: &'n str, context: &Context<'_>) -> &'n str {
    let name = sent.strip_prefix("functions.").unwrap_or(sent);
    let digits = |count: &str| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let name = match name.rsplit_once(':') {
        Some((name, count)) if digits(count) => name,
        _ => name,
    };
    match context.tools.get(sent).is_none() && context.tools.get(name).is_some() {
        true => name,
        false => sent,
    }
}

/// `Action: f` and, on the next line, `Action Input: {…}`.
pub(crate) fn react(text: &str, base: usize) -> Vec<Found> {
    let Some((name, input)) = text.split_once("Action Input:") else {
        return Vec::new();
    };
    let alone = name.ends_with('\n') && !name.trim().contains('\n');
    if !alone || name.trim().is_empty() || !input.trim_start().starts_with('{') {
        return Vec::new();
    }
    let span = base..base + text.len();
    let place = base + text.len() - input.len();
    vec![json(name.trim(), input, place, span, true)]
}

/// Is this a message of harmony that the model wrote to itself?
pub(crate) fn is_thought(text: &str) -> bool {
    let head = text.split_once("<|message|>").map(|(head, _)| head);
    head.is_some_and(|head| head.contains("analysis") && !head.contains("to="))
}

/// `<|content_invoke_tool_json|>f…{json}`.
pub(crate) fn inkling(text: &str, base: usize, closed: bool) -> Vec<Found> {
    let Some(open) = text.find('{') else {
        return Vec::new();
    };
    let name = text[..open].split("<|").next().unwrap_or_default().trim();
    let span = base..base + text.len();
    vec![json(name, &text[open..], base + open, span, closed)]
}

/// A call whose arguments are JSON, perhaps in a fence.
fn json(name: &str, text: &str, base: usize, span: Range<usize>, closed: bool) -> Found {
    let mut inner = text.trim();
    if let Some(fenced) = inner.strip_prefix("```") {
        let fenced = fenced.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let fenced = fenced.trim_start();
        inner = fenced.strip_suffix("```").unwrap_or(fenced).trim_end();
    }
    let offset = base + (inner.as_ptr() as usize - text.as_ptr() as usize);
    let mut found = Found::sent(name, inner.to_owned(), offset, span);
    if !closed && inner.is_empty() {
        found.state = State::Cut;
    }
    found
}

struct Part {
    range: Range<usize>,
    closed: bool,
}

/// What stands behind each of the opening tokens, up to its end token or the next opening one;
/// the tokens inside JSON strings do not count.
fn parts(text: &str, opens: &[&str], ends: &[&str], closed: bool) -> Vec<Part> {
    let mut out = Vec::new();
    let mut at = match first(text, opens) {
        Some((at, size)) => at + size,
        // The block opened with the token of the call itself.
        None => 0,
    };
    while at < text.len() {
        let rest = &text[at..];
        let mark = outside(rest, |here| {
            opens
                .iter()
                .chain(ends)
                .find(|mark| here.starts_with(**mark))
                .map(|mark| mark.len())
        });
        let Some((size, mark)) = mark else {
            out.push(Part {
                range: at..text.len(),
                closed,
            });
            break;
        };
        let range = at..at + size;
        out.push(Part {
            range,
            closed: true,
        });
        at += size;
        let opening = opens.iter().any(|open| text[at..].starts_with(open));
        at += mark;
        if !opening {
            match first(&text[at..], opens) {
                Some((next, size)) => at += next + size,
                None => break,
            }
        }
    }
    out
}

/// The first of these texts: where it is, and its size.
fn first(text: &str, wanted: &[&str]) -> Option<(usize, usize)> {
    let found = wanted
        .iter()
        .filter_map(|mark| Some((text.find(mark)?, mark.len())));
    found.min()
}

/// The first place outside JSON strings where `mark` gives a size.
fn outside(text: &str, mark: impl Fn(&str) -> Option<usize>) -> Option<(usize, usize)> {
    let (mut quoted, mut escaped, mut last) = (false, false, ' ');
    for (at, c) in text.char_indices() {
        if quoted {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => quoted = false,
                _ => {}
            }
            continue;
        }
        if c == '"' && matches!(last, '{' | '[' | ',' | ':') {
            quoted = true;
        } else if matches!(c, '<' | '[')
            && let Some(size) = mark(&text[at..])
        {
            return Some((at, size));
        }
        if !c.is_whitespace() {
            last = c;
        }
    }
    None
}

/// The pieces between these marks outside JSON strings.
fn split_outside<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((at, size)) = outside(rest, |here| here.starts_with(mark).then_some(mark.len()))
    {
        out.push(&rest[..at]);
        rest = &rest[at + size..];
    }
    out.push(rest);
    out
}
