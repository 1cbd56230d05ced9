//! Any bytes as the stream of a reply: nothing panics, splits do not matter, and good calls are
//! forwarded as sent.
//!
//! Input: one byte that picks the protocol and the settings, one that says how long the pieces
//! are, then the stream.

#![no_main]

use std::sync::{Arc, LazyLock};

use goodcall_wire::relay::{StreamEnd, Exchange, GiveUp, ToolsCache, StreamRelay, RelaySettings};
use goodcall_wire::{Provider, TextCallScope};
use libfuzzer_sys::fuzz_target;

/// Tools are compiled once, not for each input.
static KNOWN: LazyLock<ToolsCache> = LazyLock::new(ToolsCache::default);

/// Replies to one request that are taken, the first one included.
const TRIES: usize = 3;

const SCHEMA: &str = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}"#;

fuzz_target!(|bytes: &[u8]| {
    let [flags, size, stream @ ..] = bytes else {
        return;
    };
    let whole = relayed(*flags, stream, stream.len().max(1));
    let split = relayed(*flags, stream, usize::from(*size) % 64 + 1);
    assert_eq!(
        String::from_utf8_lossy(&whole.0),
        String::from_utf8_lossy(&split.0)
    );
    assert_eq!(whole.1, split.1, "the verdicts");
    if whole.1.starts_with("good=0 mended=0 bad=0 reasked=0") && flags & 0b1100 == 0 {
        assert!(whole.2, "without calls every event is forwarded");
    }
});

/// What the client gets, the summary, and whether the stream was taken as a whole in one try.
fn relayed(flags: u8, stream: &[u8], size: usize) -> (Vec<u8>, String, bool) {
    let provider = match flags % 3 {
        0 => Provider::OpenAi,
        1 => Provider::Anthropic,
        _ => Provider::Responses,
    };
    let mut settings = RelaySettings::default();
    settings.text_calls = (flags & 4 > 0).then_some(TextCallScope::Anywhere);
    settings.report = flags & 8 > 0;
    settings.stream_arguments = flags & 16 > 0;
    if flags & 32 > 0 {
        settings.give_up = GiveUp::Text;
    }
    let exchange = Exchange::new(
        provider,
        &request(provider, flags),
        &KNOWN,
        Arc::new(settings),
    );
    let mut relay = StreamRelay::new(exchange.expect("the request has tools"));
    let mut out = Vec::new();
    for at in 0..TRIES {
        for piece in stream.chunks(size) {
            relay.push(piece, &mut out);
        }
        match relay.end(&mut out) {
            StreamEnd::Done => return (out, relay.exchange().summary(), at == 0),
            StreamEnd::Reask if flags & 64 > 0 => {
                relay.give_up(&mut out);
                return (out, relay.exchange().summary(), false);
            }
            StreamEnd::Reask => relay.begin_next(),
        }
    }
    panic!("asked again too often");
}

fn request(provider: Provider, flags: u8) -> String {
    let count = if flags & 128 > 0 { 2 } else { 1 };
    let (list, tool) = match provider {
        Provider::Anthropic => (
            "messages",
            format!(r#"{{"name":"f","input_schema":{SCHEMA}}}"#),
        ),
        Provider::Responses => (
            "input",
            format!(r#"{{"type":"function","name":"f","parameters":{SCHEMA}}}"#),
        ),
        _ => (
            "messages",
            format!(r#"{{"type":"function","function":{{"name":"f","parameters":{SCHEMA}}}}}"#),
        ),
    };
    format!(
        r#"{{"model":"m","n":{count},"{list}":[{{"role":"user","content":"Go."}}],"tools":[{tool}]}}"#
    )
}
