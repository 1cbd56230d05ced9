//! Reads calls in sections between control tokens, with JSON inside: DeepSeek, Kimi K2, Mistral,
//! harmony, Inkling; and the `Action:` lines of ReAct.

use std::ops::Range;

use super::marked_block::first_of;
use super::{FoundCall, json_calls, tags};
use crate::call::CallState;
use crate::tools::Tools;

/// Reads `<｜tool▁call▁begin｜>f<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, in two versions.
pub(crate) fn deepseek(text: &str, base: usize, closed: bool, tools: &Tools) -> Vec<FoundCall> {
    const BEGINS: [&str; 2] = ["<｜tool▁call▁begin｜>", "<｜tool_call_begin｜>"];
    const SEPARATORS: [&str; 2] = ["<｜tool▁sep｜>", "<｜tool_sep｜>"];
    const ENDS: [&str; 2] = ["<｜tool▁call▁end｜>", "<｜tool_call_end｜>"];
    let mut calls = Vec::new();
    for part in sections(text, &BEGINS, &ENDS, closed) {
        let piece = &text[part.range.clone()];
        let Some((at, size)) = first_of(piece, &SEPARATORS) else {
            continue;
        };
        let body = &piece[at + size..];
        let place = base + part.range.start + at + size;
        if body.trim_start().starts_with('<') {
            calls.append(&mut tags::calls(body, place, tools));
            continue;
        }
        let span = base + part.range.start..base + part.range.end;
        // The older format: a type, the name on the first line, JSON in a fence.
        let (name, rest) = match piece[..at].trim() {
            "function" => body.split_once('\n').unwrap_or((body, "")),
            name => (name, body),
        };
        let offset = place + body.len() - rest.len();
        calls.push(json(name, rest, offset, span, part.closed));
    }
    calls
}

/// Reads `<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
pub(crate) fn kimi_k2(text: &str, base: usize, closed: bool, tools: &Tools) -> Vec<FoundCall> {
    const BEGIN: &str = "<|tool_call_begin|>";
    const ARGUMENT: &str = "<|tool_call_argument_begin|>";
    const END: &str = "<|tool_call_end|>";
    let mut calls = Vec::new();
    for part in sections(text, &[BEGIN], &[END], closed) {
        let piece = &text[part.range.clone()];
        let Some((id, rest)) = piece.split_once(ARGUMENT) else {
            continue;
        };
        let span = base + part.range.start..base + part.range.end;
        let place = base + part.range.end - rest.len();
        let id = id.trim();
        // A counter alone names the tool only if a single one is offered.
        let name = match tools.only() {
            Some(only) if id.bytes().all(|byte| byte.is_ascii_digit()) => only.name.as_str(),
            _ => own_name(id, tools),
        };
        if tools.meant(name).is_none() {
            // The id may be any text, and the name be part of the JSON.
            let inner = json_calls::calls(rest.trim(), place, tools);
            if inner.iter().any(|call| call.is_offered(tools)) {
                calls.extend(inner);
                continue;
            }
        }
        let mut found = json(name, rest, place, span, part.closed);
        found.id = Some(id.to_owned());
        calls.push(found);
    }
    calls
}

/// Reads `[TOOL_CALLS]f[ARGS]{…}` repeated, or `[TOOL_CALLS] [{…}]`.
pub(crate) fn mistral(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    const OPEN: &str = "[TOOL_CALLS]";
    let mut calls = Vec::new();
    let mut at = 0;
    for piece in split_outside_strings(text, OPEN) {
        let place = base + at;
        at += piece.len() + OPEN.len();
        if piece.trim_start().starts_with(['{', '[']) {
            calls.append(&mut json_calls::sequence(piece, place, tools));
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

/// Reads `<|channel|>commentary to=functions.f <|constrain|>json<|message|>{…}`.
pub(crate) fn harmony(text: &str, base: usize, tools: &Tools) -> Vec<FoundCall> {
    let (head, body) = match (text.split_once("<|message|>"), text.find('{')) {
        (Some(parts), _) => parts,
        // The tokens were stripped.
        (None, Some(open)) => text.split_at(open),
        (None, None) => (text, ""),
    };
    let Some((_, to)) = head.split_once("to=") else {
        return Vec::new();
    };
    let name = to.split([' ', '\n']).next().unwrap_or(to);
    let name = name.split("<|").next().unwrap_or(name);
    let place = base + text.len() - body.len();
    if body.trim_start().starts_with('<') {
        return tags::calls(body, place, tools);
    }
    let span = base..base + text.len();
    let name = own_name(name, tools);
    // A header without a message was cut off.
    vec![json(name, body, place, span, head.len() < text.len())]
}

/// Removes what the dialect itself writes around a name: `functions.f:0`.
fn own_name<'n>(sent: &'n str, tools: &Tools) -> &'n str {
    let mut name = sent.strip_prefix("functions.").unwrap_or(sent);
    if let Some((own, count)) = name.rsplit_once(':')
        && !count.is_empty()
        && count.bytes().all(|byte| byte.is_ascii_digit())
    {
        name = own;
    }
    if tools.get(sent).is_some() {
        return sent;
    }
    if tools.get(name).is_some() {
        return name;
    }
    // `functions_f_1` and `functionsf1`: without the separators.
    let name = sent.strip_prefix("functions").unwrap_or(sent);
    let name = name.trim_start_matches(['.', '_', ':', '-']);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let bare = bare.trim_end_matches(['_', ':', '-']);
    let mut names = [name, bare].into_iter();
    names.find(|name| tools.get(name).is_some()).unwrap_or(sent)
}

/// Reads `Action: f` and, on the next line, `Action Input: {…}`.
pub(crate) fn react(text: &str, base: usize) -> Vec<FoundCall> {
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

/// Reads `<|content_invoke_tool_json|>f…{json}`.
pub(crate) fn inkling(text: &str, base: usize, closed: bool) -> Vec<FoundCall> {
    let Some(open) = text.find('{') else {
        return Vec::new();
    };
    let name = &text[..open];
    let name = name.split_once("<|").map_or(name, |(name, _)| name).trim();
    let span = base..base + text.len();
    vec![json(name, &text[open..], base + open, span, closed)]
}

/// The call with these arguments in JSON, which may be in a code fence.
fn json(name: &str, text: &str, base: usize, span: Range<usize>, closed: bool) -> FoundCall {
    let mut inner = text.trim();
    if let Some(fenced) = inner.strip_prefix("```") {
        let fenced = fenced.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let fenced = fenced.trim_start();
        inner = fenced.strip_suffix("```").unwrap_or(fenced).trim_end();
    }
    let offset = base + (inner.as_ptr() as usize - text.as_ptr() as usize);
    let mut found = FoundCall::verbatim(name, inner, offset, span);
    if !closed && inner.is_empty() {
        found.state = CallState::Cut;
    }
    found
}

/// The text behind an opening token.
struct TokenSection {
    range: Range<usize>,
    closed: bool,
}

/// Splits a text into the sections behind each opening token, up to its end token or the next
/// opening one. Tokens inside of JSON strings do not count.
fn sections(text: &str, opens: &[&str], ends: &[&str], closed: bool) -> Vec<TokenSection> {
    let mut out = Vec::new();
    // Without one, the marker of the block is the opening token.
    let mut at = first_of(text, opens).map_or(0, |(at, size)| at + size);
    while at < text.len() {
        let rest = &text[at..];
        let token = find_outside_strings(rest, |here| {
            let mut tokens = opens.iter().chain(ends);
            tokens
                .find(|token| here.starts_with(**token))
                .map(|token| token.len())
        });
        let (size, closed) = token.map_or((rest.len(), closed), |(size, _)| (size, true));
        let range = at..at + size;
        out.push(TokenSection { range, closed });
        let Some((_, token_size)) = token else { break };
        at += size;
        let opening = opens.iter().any(|open| text[at..].starts_with(open));
        at += token_size;
        if !opening {
            match first_of(&text[at..], opens) {
                Some((next, size)) => at += next + size,
                None => break,
            }
        }
    }
    out
}

/// The first place outside of JSON strings where `token_size` returns a size, and that size.
fn find_outside_strings(
    text: &str,
    token_size: impl Fn(&str) -> Option<usize>,
) -> Option<(usize, usize)> {
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
            && let Some(size) = token_size(&text[at..])
        {
            return Some((at, size));
        }
        if !c.is_whitespace() {
            last = c;
        }
    }
    None
}

/// Splits a text at each token outside of JSON strings.
fn split_outside_strings<'t>(text: &'t str, token: &str) -> Vec<&'t str> {
    let token_size = |here: &str| here.starts_with(token).then_some(token.len());
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((at, size)) = find_outside_strings(rest, token_size) {
        out.push(&rest[..at]);
        rest = &rest[at + size..];
    }
    out.push(rest);
    out
}
