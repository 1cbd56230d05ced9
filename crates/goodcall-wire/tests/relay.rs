//! Runs the case files of the gateway: upstream replies, client replies, and re-asks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

#[path = "../../goodcall-core/tests/support/mod.rs"]
#[allow(dead_code, clippy::expect_used, reason = "shared with other crates")]
mod support;

mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;

use goodcall_wire::Provider;
use goodcall_wire::relay::{
    Endpoint, Exchange, GiveUp, NextStep, RelaySettings, StreamEnd, StreamRelay, ToolsCache,
    UsageMode,
};
use goodcall_wire::request::{adapt, history, legal_history, with_remark};
use support::{Case, run_folder};

const INPUTS: [&str; 16] = [
    "adapt",
    "tools",
    "provider",
    "path",
    "settings",
    "request",
    "events",
    "events-2",
    "events-3",
    "bytes",
    "bytes-2",
    "reply",
    "reply-2",
    "reply-3",
    "failure",
    "failure-2",
];

#[test]
fn gateway() {
    run_folder("gateway", &INPUTS, |case| {
        let is_stream = settings_line(case, "stream");
        if case.get("reply").is_some() || case.get("failure").is_some() && !is_stream {
            return whole(case);
        }
        let streams: Vec<_> = ["", "-2", "-3"]
            .iter()
            .map_while(|end| sent(case, end))
            .collect();
        if streams.is_empty() {
            return request(case);
        }
        if provider(case) == Provider::Bedrock && !cfg!(feature = "event-stream") {
            let blocks = case.blocks.iter();
            return blocks
                .map(|block| (block.info.clone(), block.text.clone()))
                .collect();
        }
        let shown = |bytes: &[u8]| shown(provider(case), bytes);
        let outcome = stream(case, &streams, usize::MAX);
        for size in [1, 5, 64] {
            assert_same(
                &stream(case, &streams, size),
                &outcome,
                &format!("{} by {size}", case.name),
            );
        }
        let (out, verdict, asked) = outcome;
        if let [Sent::Stream(sent)] = &streams[..]
            && shown(&out) == shown(sent)
        {
            let (out, sent) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(sent));
            assert_eq!(out, sent, "{}: as sent, byte for byte", case.name);
        }
        let mut blocks = BTreeMap::from([
            ("out".to_owned(), shown(&out)),
            (
                "out-bytes".to_owned(),
                serde_json::Value::from(String::from_utf8_lossy(&out)).to_string(),
            ),
            ("verdict".to_owned(), verdict),
            ("sent".to_owned(), exchange(case).body().to_owned()),
        ]);
        asks(asked, &mut blocks);
        blocks
    });
}

/// What the upstream sent.
enum Sent {
    Stream(Vec<u8>),
    /// An error instead of a stream.
    Failure(String),
}

fn sent(case: &Case, end: &str) -> Option<Sent> {
    let get = |info: &str| case.get(&format!("{info}{end}"));
    if let Some(lines) = get("events") {
        Some(Sent::Stream(events(provider(case), lines)))
    } else if let Some(json) = get("bytes") {
        Some(Sent::Stream(
            serde_json::from_str::<String>(json).unwrap().into(),
        ))
    } else {
        get("failure").map(|text| Sent::Failure(text.to_owned()))
    }
}

fn settings_line(case: &Case, wanted: &str) -> bool {
    let lines = case.get("settings").unwrap_or_default();
    lines.lines().any(|line| line == wanted)
}

/// What the client got, the summary with the repairs, and what the model was asked.
type Outcome = (Vec<u8>, String, Vec<String>);

fn assert_same(one: &Outcome, other: &Outcome, name: &str) {
    let text = |outcome: &Outcome| String::from_utf8_lossy(&outcome.0).into_owned();
    assert_eq!(text(one), text(other), "{name}");
    assert_eq!((&one.1, &one.2), (&other.1, &other.2), "{name}");
}

fn asks(asked: Vec<String>, blocks: &mut BTreeMap<String, String>) {
    for (index, body) in asked.into_iter().enumerate() {
        let _: serde_json::Value = serde_json::from_str(&body).unwrap();
        let name = if index == 0 {
            "ask".to_owned()
        } else {
            format!("ask-{}", index + 1)
        };
        blocks.insert(name, body);
    }
}

fn provider(case: &Case) -> Provider {
    case.get("provider").unwrap().parse().unwrap()
}

fn settings(case: &Case) -> RelaySettings {
    let mut settings = RelaySettings::default();
    for line in case.get("settings").unwrap_or_default().lines() {
        match line.split_once('=').unwrap_or((line, "")) {
            ("reasks", n) => settings.reasks = n.parse().unwrap(),
            ("give_up", "text") => settings.give_up = GiveUp::Text,
            ("text_calls", place) => settings.text_calls = Some(place.parse().unwrap()),
            ("stream_arguments", _) => settings.stream_arguments = true,
            ("max_held", n) => settings.max_held = n.parse().unwrap(),
            ("report", _) => settings.report = true,
            ("stream", _) => {}
            ("usage", "last") => settings.usage = UsageMode::Last,
            ("continue_cut_off", n) => settings.continue_cut_off = Some(n.parse().unwrap()),
            other => panic!("{other:?}"),
        }
    }
    settings
}

fn exchange(case: &Case) -> Exchange {
    let tools = case.get("tools").unwrap();
    let request = case.get("request").map(str::to_owned);
    let request = request.unwrap_or_else(|| requests::request(provider(case), tools));
    let settings = Arc::new(settings(case));
    let cache = ToolsCache::default();
    let endpoint = match case.get("path") {
        Some(path) => {
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            Endpoint::read(path, Some(query), &|_| false).unwrap()
        }
        None => provider(case).into(),
    };
    let mut exchange = Exchange::new(endpoint, &request, &cache, settings).unwrap();
    if let Some(to) = case.get("adapt") {
        exchange.adapt(to.parse().unwrap());
    }
    exchange
}

/// Reads one event per line: its data, or a comment.
fn events(provider: Provider, lines: &str) -> Vec<u8> {
    let mut out = String::new();
    #[cfg(feature = "event-stream")]
    if provider == Provider::Bedrock {
        return requests::aws::written(lines.lines().map(str::to_owned));
    }
    if provider == Provider::Ollama {
        return format!("{lines}\n").into_bytes();
    }
    for line in lines.lines() {
        if line.starts_with(':') {
            out += &format!("{line}\n\n");
            continue;
        }
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(line)
            && let Some(kind) = value["type"].as_str()
        {
            out += &format!("event: {kind}\n");
        }
        out += &format!("data: {line}\n\n");
    }
    out.into_bytes()
}

fn shown(provider: Provider, bytes: &[u8]) -> String {
    #[cfg(feature = "event-stream")]
    if provider == Provider::Bedrock {
        return requests::aws::events(bytes).join("\n");
    }
    let _ = provider;
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    if text.starts_with('[') {
        let _: serde_json::Value = serde_json::from_str(&text).unwrap();
        return text;
    }
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("event:"));
    let lines: Vec<_> = lines
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .collect();
    for line in lines.iter().filter(|line| line.starts_with('{')) {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "not JSON: {line}"
        );
    }
    lines.join("\n")
}

fn stream(case: &Case, streams: &[Sent], size: usize) -> Outcome {
    let mut relay = StreamRelay::new(exchange(case));
    let (mut out, mut asked) = (Vec::new(), Vec::new());
    for (index, sent) in streams.iter().enumerate() {
        let end = match sent {
            Sent::Stream(bytes) => {
                if index > 0 {
                    relay.begin_next();
                }
                for chunk in bytes.chunks(size) {
                    relay.push(chunk, &mut out);
                }
                relay.end(&mut out)
            }
            Sent::Failure(text) => match relay.failure(text, &mut out) {
                Some(end) => end,
                None if index > 0 => {
                    relay.give_up(&mut out);
                    StreamEnd::Done
                }
                None => {
                    out.extend_from_slice(text.as_bytes());
                    StreamEnd::Done
                }
            },
        };
        if end == StreamEnd::Done {
            return (out, with_repairs(relay.exchange()), asked);
        }
        asked.push(relay.exchange().body().to_owned());
    }
    relay.give_up(&mut out);
    (out, with_repairs(relay.exchange()), asked)
}

/// The summary, and the names of the repairs.
fn with_repairs(exchange: &Exchange) -> String {
    let names: Vec<_> = exchange.repairs().collect();
    if names.is_empty() {
        exchange.summary()
    } else {
        format!("{}: {}", exchange.summary(), names.join(", "))
    }
}

fn whole(case: &Case) -> BTreeMap<String, String> {
    let mut exchange = exchange(case);
    let (mut out, mut asked) = (None, Vec::new());
    for end in ["", "-2", "-3"] {
        let (reply, failure) = (
            case.get(&format!("reply{end}")),
            case.get(&format!("failure{end}")),
        );
        let next = match (reply, failure) {
            (Some(reply), _) => exchange.reply(reply),
            (None, Some(failure)) => exchange.failure(failure),
            (None, None) => break,
        };
        match next {
            NextStep::Reply(None) if reply.is_none() && !asked.is_empty() => break,
            NextStep::Reply(text) => {
                out = text.or_else(|| reply.or(failure).map(str::to_owned));
                break;
            }
            NextStep::Reask => asked.push(exchange.body().to_owned()),
        }
    }
    let first = || case.get("failure").unwrap().to_owned();
    let out = out.or_else(|| exchange.give_up()).unwrap_or_else(first);
    let _: serde_json::Value = serde_json::from_str(&out).unwrap();
    let mut blocks = BTreeMap::from([
        ("out".to_owned(), out),
        ("verdict".to_owned(), with_repairs(&exchange)),
        ("sent".to_owned(), self::exchange(case).body().to_owned()),
    ]);
    asks(asked, &mut blocks);
    blocks
}

/// Runs everything that rewrites a request.
fn request(case: &Case) -> BTreeMap<String, String> {
    let (provider, text) = (provider(case), case.get("request").unwrap());
    let same = |changed: Option<String>| {
        let changed = changed.unwrap_or_else(|| "(as it is)".to_owned());
        if changed.starts_with('{') {
            let _: serde_json::Value = serde_json::from_str(&changed).unwrap();
        }
        changed
    };
    let legal = legal_history(provider, text);
    if let Some(legal) = &legal {
        assert_eq!(
            legal_history(provider, legal),
            None,
            "{}: a repaired history needs no repair",
            case.name
        );
    }
    let past: Vec<_> = history(provider, text)
        .iter()
        .map(|step| format!("{step:?}"))
        .collect();
    let mut blocks = BTreeMap::from([
        ("legal".to_owned(), same(legal)),
        ("past".to_owned(), past.join("\n")),
        (
            "remarked".to_owned(),
            same(with_remark(provider, text, "You go in circles.")),
        ),
    ]);
    if let Some(to) = case.get("adapt") {
        let adapted = adapt(provider, text, to.parse().unwrap());
        blocks.insert("adapted".to_owned(), same(adapted));
    }
    blocks
}
