//! Any history in a request of any provider: what is repaired or restored is JSON, once is enough, and
//! a legal history stays as it is.
//!
//! Input: one byte that picks the protocol, a request, a zero byte, the reply that a gateway remembers.

#![no_main]

use std::sync::Arc;

use goodcall_core::Tree;
use goodcall_wire::relay::{Endpoint, Exchange, Memory, RelaySettings, ToolsCache};
use goodcall_wire::request::{HistoryStep, has_results, history, legal_history, with_remark};
use goodcall_wire::{
    Answer, Provider, RawCall, Tools, TranscriptMessage, TranscriptPart, transcript,
};
use libfuzzer_sys::fuzz_target;

/// Steps of the conversations that are written in every form.
const STEPS: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let [pick, rest @ ..] = bytes else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    let (request, reply) = text.split_once('\0').unwrap_or((text, ""));
    let provider = Provider::ALL[usize::from(*pick) % Provider::ALL.len()];
    let past = history(provider, request);
    let answered = past.iter().filter(|step| match step {
        HistoryStep::Turn(calls) => calls.iter().any(|call| call.result.is_some()),
        _ => false,
    });
    // A key may be written with escapes, which a search for words does not see.
    if answered.count() > 1 && !request.contains('\\') {
        assert!(has_results(request), "{request}");
    }
    if let Some(remarked) = with_remark(provider, request, "a \"remark\"\n") {
        Tree::parse(&remarked).expect("a request with a remark is JSON");
    }
    let legal = legal_history(provider, request);
    if let Some(legal) = &legal {
        Tree::parse(legal).expect("a repaired request is JSON");
        let again = legal_history(provider, legal);
        assert_eq!(again, None, "once is enough: {legal}");
    }
    restored(provider, request, reply);
    if provider != Provider::Mcp {
        written(provider, request.as_bytes());
    }
});

/// Puts back what a client dropped from its request.
fn restored(provider: Provider, request: &str, reply: &str) {
    let endpoint = Endpoint::from(provider);
    let settings = Arc::new(RelaySettings::default());
    let offered = offered(provider);
    let exchange = Exchange::new(provider, &offered, &ToolsCache::default(), settings);
    let Ok(exchange) = exchange else { return };
    let memory = Memory::default();
    memory.note_reply(&exchange, reply);
    let Some(restored) = memory.restore(&endpoint, request) else {
        return;
    };
    Tree::parse(&restored).expect("a restored request is JSON");
    let again = memory.restore(&endpoint, &restored);
    assert_eq!(again, None, "nothing is missing: {restored}");
}

/// A request that offers a tool.
fn offered(provider: Provider) -> String {
    let schema = r#"{"type":"object"}"#;
    let tool = match provider {
        Provider::Anthropic => format!(r#"{{"name":"f","input_schema":{schema}}}"#),
        Provider::Responses => format!(r#"{{"type":"function","name":"f","parameters":{schema}}}"#),
        Provider::Gemini => {
            format!(
                r#"{{"functionDeclarations":[{{"name":"f","parametersJsonSchema":{schema}}}]}}"#
            )
        }
        Provider::Bedrock => {
            let tool =
                format!(r#"{{"toolSpec":{{"name":"f","inputSchema":{{"json":{schema}}}}}}}"#);
            return format!(r#"{{"messages":[],"toolConfig":{{"tools":[{tool}]}}}}"#);
        }
        _ => format!(r#"{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}"#),
    };
    format!(r#"{{"model":"m","messages":[],"tools":[{tool}]}}"#)
}

/// Writes a conversation of these steps: there is nothing to repair in it, and all calls are found.
fn written(provider: Provider, steps: &[u8]) {
    let (mut messages, mut calls) = (Vec::new(), 0);
    for step in steps.iter().take(STEPS) {
        let count = usize::from(step % 4);
        let role = if step & 4 == 0 { "user" } else { "assistant" };
        if count == 0 {
            messages.push(message(role, [TranscriptPart::Text("Go on.".to_owned())]));
            continue;
        }
        let turn = calls..calls + count;
        calls += count;
        let call = |number: usize| {
            let arguments = format!(r#"{{"a":{number}}}"#);
            RawCall::new(&Tools::default(), "f", &arguments).with_id(&format!("call_{number}"))
        };
        let asked = turn
            .clone()
            .map(|number| TranscriptPart::Call(call(number)));
        messages.push(message("assistant", asked));
        let answer = |number| TranscriptPart::Result(call(number), Answer::ok("ok"));
        messages.push(message("user", turn.map(answer)));
    }
    let list = transcript(provider, messages).expect("every form has a place for these parts");
    let request = if list.starts_with('[') {
        let key = match provider {
            Provider::Responses => "input",
            Provider::Gemini => "contents",
            _ => "messages",
        };
        format!(r#"{{"{key}":{list}}}"#)
    } else {
        list
    };
    assert_eq!(legal_history(provider, &request), None, "{request}");
    let found = history(provider, &request)
        .into_iter()
        .map(|step| match step {
            HistoryStep::Turn(calls) => calls.iter().filter(|call| call.result.is_some()).count(),
            _ => 0,
        });
    assert_eq!(found.sum::<usize>(), calls, "{request}");
}

fn message(role: &str, parts: impl IntoIterator<Item = TranscriptPart>) -> TranscriptMessage {
    let mut message = TranscriptMessage::new(role);
    message.parts.extend(parts);
    message
}
