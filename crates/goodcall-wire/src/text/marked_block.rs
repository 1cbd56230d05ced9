//! Reading what stands behind a marker.

use super::markers::{Body, Marker};
use super::scanner::Scanner;
use super::{
    Context, Found, TextCallScope, arg_pairs, control_tokens, gemma, json_calls, kimi_k3,
    nested_elements, python_calls, tags, unreadable_calls,
};
use crate::call::State;
use crate::tools::Tools;

/// One block of text behind a marker.
pub(crate) struct Block<'t> {
    /// The marker and all behind it.
    pub(crate) text: &'t str,
    /// Where the body begins in it.
    pub(crate) body: usize,
    /// Where the text stands.
    pub(crate) base: usize,
    /// Was there an end marker?
    pub(crate) closed: bool,
}

impl Scanner {
    /// The calls of a block; behind a marker a call that fails is one still, so that the model can
    /// be told.
    pub(super) fn found_in(&self, block: &Block<'_>, marker: &Marker) -> Vec<Found> {
        let mut found = calls(block, marker, &self.tools);
        let offered = |call: &Found| self.tools.meant(&call.name).is_some();
        if !found.iter().any(offered) {
            found.retain(|call| unreadable_calls::is_call(call, block));
            if found.is_empty() {
                let named = unreadable_calls::named_only(block, marker);
                found.extend(
                    named.or_else(|| unreadable_calls::malformed(block, marker, &self.tools)),
                );
            }
        }
        found
    }
}

/// The calls of a block; empty if it holds none.
pub(crate) fn calls(block: &Block<'_>, marker: &Marker, tools: &Tools) -> Vec<Found> {
    let context = Context { tools };
    let (body, base) = (&block.text[block.body..], block.base + block.body);
    match marker.body {
        Body::Any if marker.open.ends_with('=') => {
            // The rest of the marker's attribute.
            let size = body.find('>').map_or(0, |at| at + 1);
            any(&body[size..], base + size, block.closed, &context)
        }
        Body::Any => any(body, base, block.closed, &context),
        Body::React => control_tokens::react(body, base),
        Body::Harmony if marker.open.starts_with("to=") => {
            control_tokens::harmony(block.text, block.base, &context)
        }
        Body::Tags => tags::calls(block.text, block.base, &context),
        Body::DeepSeek => control_tokens::deepseek(body, base, block.closed, &context),
        Body::KimiK2 => control_tokens::kimi(body, base, block.closed, &context),
        Body::KimiK3 => kimi_k3::calls(body, base, &context),
        Body::Mistral => control_tokens::mistral(body, base, &context),
        Body::Harmony => control_tokens::harmony(body, base, &context),
        Body::Gemma => gemma::calls(body, base, &context),
        Body::Inkling => control_tokens::inkling(body, base, block.closed),
        Body::Nested => nested_elements::calls(body, base, &context),
    }
}

/// Tokens that stand before the body in some dialects.
const HEADS: [&str; 4] = ["<|plugin|>", "<response>", "<tools>", "<ifm|tool_call>"];

/// A body in whatever form.
fn any(body: &str, base: usize, closed: bool, context: &Context<'_>) -> Vec<Found> {
    let mut text = body.trim_start();
    for head in HEADS {
        text = text.strip_prefix(head).unwrap_or(text).trim_start();
    }
    let base = base + body.len() - text.len();
    if text.starts_with(['{', '[']) {
        let mut found = json_calls::sequence(text, base, context);
        if let Some(last) = found.last_mut().filter(|_| closed) {
            // The end marker is there: nothing but the last bracket is missing.
            if last.state == State::Open && !text.trim_end().ends_with(',') {
                last.state = State::Whole;
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    if arg_pairs::fits(text) {
        return blocks_of_pairs(text, base, closed, context);
    }
    if text.starts_with('<') {
        let found = tags::calls(text, base, context);
        if !found.is_empty() {
            return found;
        }
    }
    if let Some(found) = python_calls::sequence(text, base, context).filter(|all| !all.is_empty()) {
        return found;
    }
    // A tool's name alone, without arguments.
    let (name, tags) = text.split_at(text.find('<').unwrap_or(text.len()));
    let (name, alone) = (name.trim(), tags.is_empty() || tags.starts_with("</"));
    if alone && (closed || !tags.is_empty()) && context.tools.meant(name).is_some() {
        return vec![Found::translated(
            name,
            "{}".to_owned(),
            base..base + text.len(),
        )];
    }
    Scanner::inner(context.tools.clone(), TextCallScope::Anywhere, base).found(text)
}

/// Pairs may come in blocks of their own inside the block.
fn blocks_of_pairs(text: &str, base: usize, closed: bool, context: &Context<'_>) -> Vec<Found> {
    let (open, close) = match text.contains("<ifm|") {
        true => ("<ifm|tool_call>", "</ifm|tool_call>"),
        false => ("<tool_call>", "</tool_call>"),
    };
    let mut calls = Vec::new();
    let mut at = 0;
    for piece in text.split(open) {
        let last = at + piece.len() == text.len();
        let whole = closed || !last || piece.trim_end().ends_with(close);
        let mut found = arg_pairs::call(piece, base + at, whole, context);
        at += piece.len() + open.len();
        let inside = found
            .as_mut()
            .filter(|found| found.state == State::Cut && !last);
        if let Some(outer) = inside {
            // What follows is text of the value that has not ended.
            outer.state = State::Unreadable(format!("no `{open}` inside a value"));
            calls.extend(found);
            break;
        }
        calls.extend(found);
    }
    calls
}
