//! Providers that are as strict as the real ones refuse nothing: neither what the gateway asks, nor
//! what a client sends next with what it got.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

#[cfg(feature = "event-stream")]
#[allow(dead_code, reason = "shared with other tests")]
mod requests;
mod strict_providers;

use std::sync::{Arc, LazyLock};

use goodcall_wire::relay::{
    Exchange, GiveUp, Memory, NextStep, RelaySettings, StreamEnd, StreamRelay, ToolsCache,
};
use serde_json::Value;
#[cfg(feature = "event-stream")]
use strict_providers::Bedrock;
use strict_providers::{Chat, Gemini, Messages, Ollama, Responses, Said, StrictProvider};

const GOOD: &str = r#"{"a":1}"#;
const OTHER: &str = r#"{"a":2}"#;
const MENDED: &str = r#"{"a":"3"}"#;
const BAD: &str = "{}";

/// The calls of each reply to one request: one or two of them are bad until the last, or all are.
const CALLS: [&[&[&str]]; 10] = [
    &[&[GOOD, MENDED]],
    &[&[BAD], &[GOOD]],
    &[&[BAD, BAD], &[GOOD, GOOD]],
    &[&[GOOD, BAD], &[OTHER]],
    &[&[GOOD, BAD], &[GOOD, OTHER]],
    &[&[BAD, GOOD], &[GOOD, MENDED]],
    &[&[BAD], &[BAD, BAD], &[GOOD, OTHER]],
    &[&[GOOD, BAD], &[MENDED, BAD], &[OTHER]],
    &[&[BAD], &[BAD], &[BAD]],
    &[&[GOOD, BAD], &[BAD], &[BAD, OTHER]],
];

/// When a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinks {
    Never,
    Always,
    /// Only before its first reply, as Claude does within a turn.
    First,
}

/// Makes a provider.
type Maker = fn() -> Box<dyn StrictProvider>;

const PROVIDERS: &[(&str, Maker, &[Thinks])] = &[
    (
        "chat",
        || Box::new(Chat::new(false, 1)),
        &[Thinks::Never, Thinks::Always],
    ),
    (
        "chat with reasoning",
        || Box::new(Chat::new(true, 1)),
        &[Thinks::Always],
    ),
    (
        "chat, n = 2",
        || Box::new(Chat::new(false, 2)),
        &[Thinks::Never, Thinks::Always],
    ),
    (
        "chat with reasoning, n = 2",
        || Box::new(Chat::new(true, 2)),
        &[Thinks::Always],
    ),
    (
        "messages",
        || Box::new(Messages::new(false)),
        &[Thinks::Never],
    ),
    (
        "messages with thinking",
        || Box::new(Messages::new(true)),
        &[Thinks::Always, Thinks::First],
    ),
    ("responses", || Box::new(Responses::new(true)), &ALL),
    (
        "responses, not stored",
        || Box::new(Responses::new(false)),
        &ALL,
    ),
    ("gemini", || Box::new(Gemini::new(false, 1)), &ALL),
    ("gemini 3", || Box::new(Gemini::new(true, 1)), &ALL),
    (
        "gemini, two candidates",
        || Box::new(Gemini::new(true, 2)),
        &ALL,
    ),
    ("ollama", || Box::new(Ollama), &ALL),
    #[cfg(feature = "event-stream")]
    (
        "bedrock",
        || Box::new(Bedrock::new(false)),
        &[Thinks::Never],
    ),
    #[cfg(feature = "event-stream")]
    (
        "bedrock with reasoning",
        || Box::new(Bedrock::new(true)),
        &[Thinks::Always, Thinks::First],
    ),
];
const ALL: [Thinks; 3] = [Thinks::Never, Thinks::Always, Thinks::First];

fn exchange(provider: &dyn StrictProvider, give_up: GiveUp) -> Exchange {
    let mut settings = RelaySettings::default();
    settings.give_up = give_up;
    static CACHE: LazyLock<ToolsCache> = LazyLock::new(ToolsCache::default);
    let request = provider.request().to_string();
    Exchange::new(provider.provider(), &request, &CACHE, Arc::new(settings)).unwrap()
}

/// Runs one request, whole, and returns what the client got.
fn whole(
    provider: &mut dyn StrictProvider,
    give_up: GiveUp,
    replies: &[Said],
    memory: &Memory,
) -> Result<Value, String> {
    let mut exchange = exchange(provider, give_up);
    for said in replies {
        let request: Value = serde_json::from_str(exchange.body()).unwrap();
        provider
            .check(&request)
            .map_err(|error| format!("the gateway's request: {error}"))?;
        let reply = provider.reply(&request, said).to_string();
        if let NextStep::Reply(text) = exchange.reply(&reply) {
            let text = text.unwrap_or(reply);
            memory.note_reply(&exchange, &text);
            return Ok(serde_json::from_str(&text).unwrap());
        }
    }
    panic!("more re-asks than replies")
}

/// Runs one request as a stream, and returns what the client joined.
fn streamed(
    provider: &mut dyn StrictProvider,
    give_up: GiveUp,
    replies: &[Said],
    memory: &Memory,
) -> Result<Value, String> {
    let mut relay = StreamRelay::new(exchange(provider, give_up));
    let mut out = Vec::new();
    for (attempt, said) in replies.iter().enumerate() {
        if attempt > 0 {
            relay.begin_next();
        }
        let request: Value = serde_json::from_str(relay.exchange().body()).unwrap();
        provider
            .check(&request)
            .map_err(|error| format!("the gateway's request: {error}"))?;
        let reply = provider.reply(&request, said);
        relay.push(&provider.stream(&reply), &mut out);
        let end = relay.end(&mut out);
        memory.note_stream(&relay);
        if end == StreamEnd::Done {
            memory.note_response(&relay);
            return Ok(provider.joined(&out));
        }
    }
    panic!("more re-asks than replies")
}

/// Runs every scenario of every provider. `is_forgetful` says whether clients drop all that they do
/// not know. Returns what was refused.
fn refused(is_forgetful: bool) -> Vec<String> {
    let (mut refused, mut requests) = (Vec::new(), 0);
    for (name, maker, thinks) in PROVIDERS {
        for (thinks, speaks) in thinks.iter().flat_map(|own| [(*own, false), (*own, true)]) {
            for calls in CALLS {
                for (give_up, is_stream) in [
                    (GiveUp::AsSent, false),
                    (GiveUp::AsSent, true),
                    (GiveUp::Text, false),
                    (GiveUp::Text, true),
                ] {
                    let replies = calls.iter().enumerate().map(|(attempt, calls)| Said {
                        thinks: thinks == Thinks::Always || thinks == Thinks::First && attempt == 0,
                        speaks,
                        calls: calls.to_vec(),
                    });
                    let replies: Vec<_> = replies.collect();
                    let (mut provider, memory) = (maker(), Memory::default());
                    let run = if is_stream { streamed } else { whole };
                    let got = run(provider.as_mut(), give_up, &replies, &memory);
                    let outcome = got.and_then(|mut reply| {
                        if is_forgetful {
                            provider.forget(&mut reply);
                        }
                        let ways = provider.next(&provider.request(), &reply);
                        requests += ways.len();
                        goes_on(provider.as_ref(), ways, is_forgetful, &memory)
                            .map_err(|error| format!("{error}\n  got {reply}"))
                    });
                    if let Err(error) = outcome {
                        refused.push(format!(
                            "{name}, stream {is_stream}, thinks {thinks:?}, speaks {speaks}, {calls:?}, {give_up:?}: {error}"
                        ));
                    }
                }
            }
        }
    }
    assert!(requests > 1000, "{requests}");
    refused
}

/// Sends the next requests through the memory of a gateway.
fn goes_on(
    provider: &dyn StrictProvider,
    ways: Vec<(&'static str, Value)>,
    is_forgetful: bool,
    memory: &Memory,
) -> Result<(), String> {
    for (way, next) in ways {
        let mut next = next.to_string();
        next = memory.restore_response(&next).unwrap_or(next);
        if is_forgetful {
            let endpoint = provider.provider().into();
            next = memory.restore(&endpoint, &next).unwrap_or(next);
        }
        let next = serde_json::from_str(&next).unwrap();
        let checked = provider.check(&next);
        checked.map_err(|error| format!("{way}: {error}"))?;
    }
    Ok(())
}

#[test]
fn strict_providers_refuse_nothing() {
    let refused = refused(false);
    let (count, list) = (refused.len(), refused.join("\n"));
    assert!(refused.is_empty(), "{count} refused:\n{list}");
}

#[test]
fn what_clients_drop_is_put_back() {
    let refused = refused(true);
    let (count, list) = (refused.len(), refused.join("\n"));
    assert!(refused.is_empty(), "{count} refused:\n{list}");
}

/// Without a result of its last call, every history is refused.
#[test]
fn strict_providers_refuse_a_call_without_its_result() {
    for (name, maker, thinks) in PROVIDERS {
        let (mut provider, memory) = (maker(), Memory::default());
        let replies = [Said {
            thinks: thinks[0] == Thinks::Always,
            speaks: true,
            calls: vec![GOOD, OTHER],
        }];
        let reply = whole(provider.as_mut(), GiveUp::AsSent, &replies, &memory).unwrap();
        let (_, mut next) = provider.next(&provider.request(), &reply).remove(0);
        assert_eq!(provider.check(&next), Ok(()), "{name}");
        let mut keys = ["messages", "input", "contents"].into_iter();
        let key = keys.find(|key| next[*key].is_array()).unwrap();
        next[key].as_array_mut().unwrap().pop();
        assert!(provider.check(&next).is_err(), "{name} takes {next}");
    }
}
