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
};
use goodcall_wire::request::{adapt, history, legal_history, with_remark};
use support::{Case, run_folder};

const INPUTS: [&str; 14] = [
    "adapt", "tools", "provider", "path", "settings", "request", "events", "events-2", "events-3",
    "bytes", "bytes-2", "reply", "reply-2", "reply-3",
];

#[test]
fn gateway() {
    run_folder("gateway", &INPUTS, |case| {
        if case.get("reply").is_some() {
            return whole(case);
        }
        if case.get("events").is_none() && case.get("bytes").is_none() {
            return request(case);
        }
        let streams: Vec<Vec<u8>> = ["events", "events-2", "events-3"]
            .iter()
            .filter_map(|info| case.get(info))
            .map(|lines| events(provider(case), lines))
            .chain(
                ["bytes", "bytes-2"]
                    .iter()
                    .filter_map(|info| case.get(info))
                    .map(|json| serde_json::from_str::<String>(json).unwrap().into()),
            )
            .collect();
        let outcome = stream(case, &streams, usize::MAX);
        for size in [1, 5, 64] {
            assert_same(
                &stream(case, &streams, size),
                &outcome,
                &format!("{} by {size}", case.name),
            );
        }
        let (out, verdict, asked) = outcome;
        if streams.len() == 1 && shown(&out) == shown(&streams[0]) {
            let (out, sent) = (
                String::from_utf8_lossy(&out),
                String::from_utf8_lossy(&streams[0]),
            );
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

fn shown(bytes: &[u8]) -> String {
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

fn stream(case: &Case, streams: &[Vec<u8>], size: usize) -> Outcome {
    let mut relay = StreamRelay::new(exchange(case));
    let (mut out, mut asked) = (Vec::new(), Vec::new());
    let mut streams = streams.iter();
    let mut next = streams.next();
    while let Some(bytes) = next {
        for chunk in bytes.chunks(size) {
            relay.push(chunk, &mut out);
        }
        match relay.end(&mut out) {
            StreamEnd::Done => break,
            StreamEnd::Reask => asked.push(relay.exchange().body().to_owned()),
        }
        next = streams.next();
        match next {
            Some(_) => relay.begin_next(),
            None => relay.give_up(&mut out),
        }
    }
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
    let replies = ["reply", "reply-2", "reply-3"]
        .iter()
        .filter_map(|info| case.get(info));
    let (mut out, mut asked) = (None, Vec::new());
    for reply in replies {
        match exchange.reply(reply) {
            NextStep::Reply(text) => {
                out = Some(text.unwrap_or_else(|| reply.to_owned()));
                break;
            }
            NextStep::Reask => asked.push(exchange.body().to_owned()),
        }
    }
    let out = out.or_else(|| exchange.give_up()).unwrap();
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
