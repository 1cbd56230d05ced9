//! Properties: a broken stream never panics or hangs, and its splits do not matter; a repaired history
//! needs no further repair.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

#[path = "../../goodcall-core/tests/support/mod.rs"]
#[allow(dead_code, clippy::expect_used, reason = "shared with other crates")]
mod support;

mod requests;

use std::sync::Arc;

use goodcall_wire::relay::{Exchange, RelaySettings, StreamEnd, StreamRelay, ToolsCache};
use goodcall_wire::request::legal_history;
use goodcall_wire::{Provider, TextCallScope};
use proptest::prelude::*;

/// The streams of all case files, as bytes, with their provider and their tools.
fn streams() -> Vec<(Provider, String, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(support::cases_dir().join("gateway")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for case in support::parse(&text) {
            let (Some(tools), Some(lines)) = (case.get("tools"), case.get("events")) else {
                continue;
            };
            let provider: Provider = case.get("provider").unwrap().parse().unwrap();
            let bytes = lines.lines().map(|line| format!("data: {line}\n\n"));
            out.push((
                provider,
                tools.to_owned(),
                bytes.collect::<String>().into_bytes(),
            ));
        }
    }
    assert!(out.len() > 40);
    out
}

fn relayed(case: &(Provider, String, Vec<u8>), bytes: &[u8], size: usize, flags: u8) -> Vec<u8> {
    let (provider, tools, _) = case;
    let request = requests::request(*provider, tools);
    let mut settings = RelaySettings::default();
    settings.text_calls = (flags & 1 > 0).then_some(TextCallScope::Explicit);
    settings.stream_arguments = flags & 2 > 0;
    settings.report = flags & 4 > 0;
    let known = ToolsCache::default();
    let exchange = Exchange::new(*provider, &request, &known, Arc::new(settings)).unwrap();
    let mut relay = StreamRelay::new(exchange);
    let mut out = Vec::new();
    for _ in 0..3 {
        for chunk in bytes.chunks(size) {
            relay.push(chunk, &mut out);
        }
        match relay.end(&mut out) {
            StreamEnd::Done => return out,
            StreamEnd::Reask => relay.begin_next(),
        }
    }
    relay.abort(&mut out);
    out
}

/// One message of a history, or item, and the ids of what it holds.
#[derive(Clone, Copy, Debug)]
struct HistoryMessage(u8, usize, usize);

const PROVIDERS: [Provider; 5] = [
    Provider::OpenAi,
    Provider::Anthropic,
    Provider::Responses,
    Provider::Gemini,
    Provider::Bedrock,
];

const IDS: [&str; 4] = [r#""a""#, r#""a_2""#, r#""b""#, "null"];

fn message(provider: Provider, HistoryMessage(kind, first, second): HistoryMessage) -> String {
    let (a, b) = (IDS[first], IDS[second]);
    let user = r#"{"role":"user","content":"Go."}"#.to_owned();
    match (provider, kind) {
        (Provider::Responses, 0 | 1) => {
            format!(r#"{{"type":"function_call","call_id":{a},"name":"f","arguments":"{{}}"}}"#)
        }
        (Provider::Responses, 2) => {
            format!(r#"{{"type":"function_call","call_id":{a},"arguments":"{{}}"}}"#)
        }
        (Provider::Responses, 3 | 4) => {
            format!(r#"{{"type":"function_call_output","call_id":{a},"output":"ok"}}"#)
        }
        (Provider::Responses, 5) => r#"{"type":"reasoning","summary":[]}"#.to_owned(),
        (Provider::Anthropic, 0..=2) => {
            let name = if kind < 2 { r#","name":"f""# } else { "" };
            let one = |id| format!(r#"{{"type":"tool_use","id":{id},"input":{{}}{name}}}"#);
            let (one, two) = (one(a), one(b));
            format!(r#"{{"role":"assistant","content":[{one},{two}]}}"#)
        }
        (Provider::Anthropic, 3..=5) => {
            let one = |id| format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":"ok"}}"#);
            let (one, two) = (one(a), one(b));
            format!(r#"{{"role":"user","content":[{one},{two}]}}"#)
        }
        (Provider::Gemini | Provider::Bedrock, 0..=5) => {
            let blocks = [a, b].map(|id| block(provider, kind, id)).join(",");
            let (assistant, list) = match provider {
                Provider::Gemini => ("model", "parts"),
                _ => ("assistant", "content"),
            };
            let role = if kind < 3 { assistant } else { "user" };
            format!(r#"{{"role":"{role}","{list}":[{blocks}]}}"#)
        }
        (_, 0..=2) => {
            let name = if kind < 2 { r#""name":"f","# } else { "" };
            let one = |id| {
                format!(
                    r#"{{"id":{id},"type":"function","function":{{{name}"arguments":"{{}}"}}}}"#
                )
            };
            let (one, two) = (one(a), one(b));
            format!(r#"{{"role":"assistant","tool_calls":[{one},{two}]}}"#)
        }
        (_, 3..=5) => format!(r#"{{"role":"tool","tool_call_id":{a},"content":"ok"}}"#),
        _ => user,
    }
}

/// A call or a result as a block.
fn block(provider: Provider, kind: u8, id: &str) -> String {
    let (call, result, id_key, arguments, content) = match provider {
        Provider::Gemini => (
            "functionCall",
            "functionResponse",
            "id",
            "args",
            r#""response":{"output":"ok"}"#,
        ),
        _ => (
            "toolUse",
            "toolResult",
            "toolUseId",
            "input",
            r#""content":[{"text":"ok"}]"#,
        ),
    };
    let id = if id == "null" {
        String::new()
    } else {
        format!(r#""{id_key}":{id},"#)
    };
    match kind {
        0 | 1 => format!(r#"{{"{call}":{{{id}"name":"f","{arguments}":{{}}}}}}"#),
        2 => format!(r#"{{"{call}":{{{id}"{arguments}":{{}}}}}}"#),
        _ => format!(r#"{{"{result}":{{{id}"name":"f",{content}}}}}"#),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn repaired_history_needs_no_repair(
        said in prop::collection::vec((0u8..7, 0usize..4, 0usize..4), 0..9),
    ) {
        for provider in PROVIDERS {
            let key = match provider {
                Provider::Responses => "input",
                Provider::Gemini => "contents",
                _ => "messages",
            };
            let each = said.iter().map(|(kind, a, b)| message(provider, HistoryMessage(*kind, *a, *b)));
            let request = format!(r#"{{"{key}":[{}]}}"#, each.collect::<Vec<_>>().join(","));
            if let Some(legal) = legal_history(provider, &request) {
                prop_assert_eq!(legal_history(provider, &legal), None, "{}", request);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn splits_of_broken_streams_do_not_matter(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, any::<u8>()), 0..4),
        size in 1usize..200,
        flags in 0u8..8,
    ) {
        let all = streams();
        let case = which.get(&all);
        let mut bytes = case.2.clone();
        for (at, size, byte) in cuts {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (at + size).min(bytes.len());
            match byte % 3 {
                0 => drop(bytes.drain(at..end)),
                1 => bytes.insert(at, byte),
                _ => {
                    let again = bytes[at..end].to_vec();
                    bytes.splice(at..at, again);
                }
            }
        }
        let whole = relayed(case, &bytes, usize::MAX, flags);
        let split = relayed(case, &bytes, size, flags);
        prop_assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(&split));
    }
}
