//! Any request and any complete reply to it: every rewritten text is JSON, and a forwarded reply is good
//! when it is judged again.
//!
//! Input: one byte that picks the protocol and the settings, a request, a zero byte, a reply.

#![no_main]

use std::sync::Arc;

use goodcall_core::Tree;
use goodcall_wire::relay::{Exchange, NextStep, RelaySettings, ToolsCache};
use goodcall_wire::request::{Adapt, adapt};
use goodcall_wire::{Provider, TextCallScope};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [flags, rest @ ..] = bytes else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let (request, reply) = text.split_once('\0').unwrap_or((text, ""));
    let provider = match flags % 3 {
        0 => Provider::OpenAi,
        1 => Provider::Anthropic,
        _ => Provider::Responses,
    };
    for to in [Adapt::OpenAiStrict, Adapt::Anthropic, Adapt::Gemini] {
        if let Some(adapted) = adapt(provider, request, to) {
            Tree::parse(&adapted).expect("an adapted request is JSON");
        }
    }
    let mut settings = RelaySettings::default();
    settings.text_calls = (flags & 4 > 0).then_some(TextCallScope::Anywhere);
    let settings = Arc::new(settings);
    let new = || {
        Exchange::new(
            provider,
            request,
            &ToolsCache::default(),
            settings.clone(),
        )
    };
    let Ok(mut exchange) = new() else { return };
    for _ in 0..4 {
        match exchange.reply(reply) {
            NextStep::Reask => Tree::parse(exchange.body())
                .map(drop)
                .expect("a question is JSON"),
            NextStep::Reply(None) => return,
            NextStep::Reply(Some(sent)) => {
                Tree::parse(&sent).expect("a mended reply is JSON");
                let Ok(mut again) = new() else { return };
                if exchange.summary().contains("bad=0") {
                    assert!(matches!(again.reply(&sent), NextStep::Reply(None)), "{sent}");
                }
                return;
            }
        }
    }
    panic!("asked again too often");
});
