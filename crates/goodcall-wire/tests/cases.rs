//! Runs the case files of `cases/wire` (texts and envelopes) and `cases/stream`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

#[path = "../../goodcall-core/tests/support/mod.rs"]
#[allow(dead_code, clippy::expect_used, reason = "shared with other crates")]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodcall_core::{Explain, Policy, StopReason, Style, Verdict};
use goodcall_wire::{
    Answer, Assembler, CallUpdate, Envelope, Extraction, Provider, RawCall, Scanner, TextCallScope,
    Tools, result,
};
use support::{Case, run_folder};

const INPUTS: [&str; 8] = [
    "tools",
    "raw",
    "raw-escaped",
    "where",
    "stop",
    "prompt",
    "provider",
    "message",
];

#[test]
fn wire_cases_pass() {
    run_folder("wire", &INPUTS, |case| match case.get("message") {
        Some(message) => envelope(case, message),
        None => text(case),
    });
}

#[test]
fn stream_cases_pass() {
    run_folder(
        "stream",
        &["tools", "where", "provider", "events"],
        |case| {
            let mut assembler = Assembler::new(provider(case), tools(case));
            if let Some(place) = case.get("where") {
                assembler = assembler.text_calls(place.parse().unwrap());
            }
            let mut updates = Vec::new();
            for event in case.get("events").unwrap().lines() {
                updates.extend(assembler.push(event).unwrap());
            }
            updates.extend(assembler.finish());
            let (tools, stop) = (tools(case), assembler.stop());
            let lines: Vec<_> = updates
                .iter()
                .map(|update| line(update, &tools, stop))
                .collect();
            BTreeMap::from([("updates".to_owned(), lines.join("\n"))])
        },
    );
}

fn tools(case: &Case) -> Tools {
    Tools::read(case.get("tools").unwrap()).unwrap()
}

fn provider(case: &Case) -> Provider {
    case.get("provider").unwrap().parse().unwrap()
}

fn line(update: &CallUpdate, tools: &Tools, stop: StopReason) -> String {
    match update {
        CallUpdate::Text(text) => format!("text {}", quoted(text)),
        CallUpdate::Reasoning(text) => format!("reasoning {}", quoted(text)),
        CallUpdate::TextWasReasoning => "text was reasoning".to_owned(),
        CallUpdate::Started { id, name } => format!("started {id} {name}"),
        CallUpdate::Hopeless { id, bad } => format!("hopeless {id}: {}", bad.summary()),
        CallUpdate::Call(call) => {
            let id = call.id.as_deref().unwrap_or("-");
            format!("call {id} {}", call_line(call, tools, stop))
        }
        other => panic!("{other:?}"),
    }
}

/// One line per call: name, arguments, verdict, rules.
fn call_line(call: &RawCall, tools: &Tools, stop: StopReason) -> String {
    let verdict = call.check(tools, &Policy::safe(), stop);
    let mut out = format!("{} ", call.name);
    match &verdict {
        Verdict::Bad(bad) => {
            let _ = write!(out, "{} bad: {}", call.arguments, bad.reason);
        }
        verdict => {
            let arguments = verdict
                .arguments()
                .map(|tree| tree.to_json())
                .unwrap_or_default();
            let _ = write!(out, "{arguments} {}", verdict.name());
        }
    }
    let rules: Vec<_> = verdict
        .changes()
        .iter()
        .map(|change| change.rule.name())
        .collect();
    if !rules.is_empty() {
        let _ = write!(out, " ({})", rules.join(", "));
    }
    out
}

fn text(case: &Case) -> BTreeMap<String, String> {
    let (raw, tools) = (case.raw(), tools(case));
    let place: TextCallScope = case
        .get("where")
        .map_or(TextCallScope::Explicit, |place| place.parse().unwrap());
    let stop = match case.get("stop") {
        Some("finished") => StopReason::Finished,
        Some("cut_off") => StopReason::CutOff,
        _ => StopReason::Unknown,
    };
    let prompt = case.get("prompt").unwrap_or_default();
    let scanner = Scanner::new(tools.clone(), place).after_prompt(prompt);
    let found = scanner.clone().whole(&raw);
    for size in [1, 2, 3, 7] {
        assert_eq!(
            found,
            streamed(&raw, scanner.clone(), size),
            "{} by {size}",
            case.name
        );
    }
    let calls: Vec<_> = found
        .calls
        .iter()
        .map(|call| call_line(call, &tools, stop))
        .collect();
    BTreeMap::from([
        ("calls".to_owned(), calls.join("\n")),
        ("rest".to_owned(), quoted(&found.text)),
        ("reasoning".to_owned(), quoted(&found.reasoning)),
    ])
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Extracts the calls of a text that arrives in pieces of `size` characters.
fn streamed(text: &str, mut scanner: Scanner, size: usize) -> Extraction {
    let mut pieces = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for chunk in chars.chunks(size) {
        pieces.extend(scanner.push(&chunk.iter().collect::<String>()));
    }
    pieces.extend(scanner.finish());
    let mut found = Extraction::default();
    for piece in pieces {
        found.push(piece);
    }
    found
}

fn envelope(case: &Case, message: &str) -> BTreeMap<String, String> {
    let (tools, provider) = (tools(case), provider(case));
    let envelope = Envelope::read(provider, message, &tools).unwrap();
    let verdicts = envelope.check(&tools, &Policy::safe());
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for (call, verdict) in envelope.calls().iter().zip(&verdicts) {
        let id = call.id.as_deref().unwrap_or("-");
        calls.push(format!("{id} {}", call_line(call, &tools, envelope.stop())));
        let answer = match verdict {
            Verdict::Bad(bad) => {
                Answer::error(Explain::new(Style::Plain).tool(&call.name).text(bad))
            }
            _ => Answer::ok("done"),
        };
        results.push(result(provider, call, &answer));
    }
    let replay = envelope.replay(&verdicts);
    let again = Envelope::read(provider, &replay, &tools).unwrap();
    for (call, verdict) in again.calls().iter().zip(&verdicts) {
        if let Some(executed) = verdict.arguments() {
            let replayed = call.check(&tools, &Policy::strict(), StopReason::Unknown);
            let replayed = replayed.arguments().map(|tree| tree.to_json());
            assert_eq!(replayed, Some(executed.to_json()), "{}", case.name);
        }
    }
    BTreeMap::from([
        ("calls".to_owned(), calls.join("\n")),
        ("replay".to_owned(), replay),
        ("results".to_owned(), results.join("\n")),
    ])
}

/// The example of each dialect in its document, by the dialect's name.
fn documented_dialects() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dialects.md");
    let document = std::fs::read_to_string(path).unwrap();
    let sections = document.split("\n## ").skip(1);
    let example = |section: &str| {
        let (name, rest) = section.split_once('\n').unwrap();
        let fence = if rest.contains("````") { "````" } else { "```" };
        let (_, block) = rest.split_once(&format!("{fence}text\n")).unwrap();
        let (text, _) = block.split_once(&format!("\n{fence}")).unwrap();
        (name.to_owned(), text.to_owned())
    };
    sections.map(example).collect()
}

#[test]
fn documented_example_of_every_dialect_is_read() {
    let tools = Tools::read(
        r#"{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}"#,
    );
    let tools = tools.unwrap();
    let examples = documented_dialects();
    let mut named = goodcall_wire::dialects();
    named.sort_unstable();
    assert_eq!(examples.keys().collect::<Vec<_>>(), named);
    for (name, text) in &examples {
        let all = Scanner::new(tools.clone(), TextCallScope::Explicit);
        for scanner in [all.clone(), all.dialect(name)] {
            let found = scanner.whole(text);
            let calls: Vec<_> = (found.calls.iter())
                .map(|call| call_line(call, &tools, StopReason::Finished))
                .collect();
            assert_eq!(calls.len(), 1, "{name}: {found:?}");
            assert!(
                calls[0].starts_with(r#"get_weather {"city":"Paris"} "#),
                "{name}: {calls:?}"
            );
            assert_eq!(found.text.trim(), "", "{name}");
        }
    }
}
