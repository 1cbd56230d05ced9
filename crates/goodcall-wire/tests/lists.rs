//! Checks that no call of a list vanishes, that an argument is never run as a call, and that the
//! scope `anywhere` finds at least what `explicit` finds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use goodcall_core::{Policy, StopReason};
use goodcall_wire::{Extraction, TextCallScope, Tools, extract};
use proptest::prelude::*;

const TOOLS: &str = r#"[
  {"name": "area", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}, "points": {"type": "array"}}, "required": ["id"]}},
  {"name": "inner", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
  {"name": "now", "parameters": {"type": "object", "properties": {}}}
]"#;

/// One call of a list; `ID` becomes a number that no other call has.
#[rustfmt::skip]
const PYTHON: [&str; 15] = [
    "area(id=ID)", "area(id=ID, points=[1, 2])", "area(id=ID, points=inner(id=9))",
    "area(points=[inner(id=9)], id=ID)", "area(id=ID, points=[1, )", "area(id=ID points=2)",
    "area(id=ID, points=inner(id=9), points=[inner(id=9)])", "inner(id=ID)", "area(ID, \"x)",
    "'area(id=ID)'", "'area(id=ID, points=<points>)'", "'area(id=ID, points=inner(id=9))'",
    "'area'(id=ID)", "'area', {'id': ID}", "'area', 'id': ID",
];
#[rustfmt::skip]
const JSON: [&str; 7] = [
    "{\"name\": \"area\", \"arguments\": {\"id\": ID}}",
    "{\"name\": \"area\", \"arguments\": {\"id\": ID, \"points\": [{\"name\": \"inner\", \"arguments\": {\"id\": 9}}]}}",
    "{\"name\": \"area\", \"arguments\": {\"id\": ID, }}",
    "{\"name\": \"area\", \"arguments\": {\"id\" ID}}",
    "{\"name\": \"other\", \"arguments\": {\"id\": ID}}",
    "{\"name\": \"area\", \"arguments\": {\"id\": ID} * 2}",
    "// it's a comment\n{\"name\": \"area\", \"arguments\": {\"id\": ID}}",
];

/// A message that is a list of calls, and the numbers in them.
fn lists() -> impl Strategy<Value = (String, Vec<String>)> {
    let python = prop::collection::vec(prop::sample::select(&PYTHON[..]), 1..4);
    let json = prop::collection::vec(prop::sample::select(&JSON[..]), 1..4);
    let frames = [
        "[@]",
        "@",
        "Sure:\n[@]",
        "```\n[@]\n```",
        "<tool_call>[@]</tool_call>",
        "[@], now()",
    ];
    let frame = prop::sample::select(frames.to_vec());
    (prop_oneof![python, json], frame).prop_map(|(calls, frame)| {
        let ids: Vec<_> = (0..calls.len())
            .map(|at| format!("{}", 7001 + at))
            .collect();
        let calls = calls
            .iter()
            .zip(&ids)
            .map(|(call, id)| call.replace("ID", id));
        (
            frame.replace('@', &calls.collect::<Vec<_>>().join(", ")),
            ids,
        )
    })
}

/// The calls that would be made, by name and arguments.
fn made(found: &Extraction, tools: &Tools) -> Vec<(String, String)> {
    let calls = found.calls.iter().filter_map(|call| {
        let verdict = call.check(tools, &Policy::safe(), StopReason::Unknown);
        Some((call.name.clone(), verdict.arguments()?.to_json()))
    });
    calls.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_call_of_a_list_is_a_call_or_text((text, ids) in lists()) {
        let tools = Tools::read(TOOLS).unwrap();
        let [explicit, anywhere] = [TextCallScope::Explicit, TextCallScope::Anywhere]
            .map(|scope| extract(&text, &tools, scope));
        for found in [&explicit, &anywhere] {
            for id in &ids {
                let at = text.find(id.as_str()).unwrap();
                let in_call = found.calls.iter().any(|call| {
                    call.arguments.contains(id.as_str()) || call.span.contains(&at)
                });
                prop_assert!(in_call || found.text.contains(id.as_str()), "{id} of {text} is in {found:?}");
            }
            let is_argument = |(name, arguments): &(String, String)| name == "inner" && arguments.contains('9');
            let made = made(found, &tools);
            prop_assert!(!made.iter().any(is_argument), "{text}: {made:?}");
        }
        let more = made(&anywhere, &tools);
        for call in made(&explicit, &tools) {
            prop_assert!(more.contains(&call), "{text}: anywhere lacks {call:?} of {explicit:?}");
        }
    }
}

#[test]
fn equal_calls_in_one_form_are_made_as_often_as_they_are_written() {
    let tools = Tools::read(TOOLS).unwrap();
    let marked = r#"<tool_call>{"name": "now", "arguments": {}}</tool_call>"#;
    for text in [
        format!("{marked}\n{marked}"),
        "inner(id=1)\ninner(id=1)".to_owned(),
    ] {
        for scope in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            assert_eq!(
                extract(&text, &tools, scope).calls.len(),
                2,
                "{text} {scope:?}"
            );
        }
    }
}

#[test]
fn call_repeated_in_another_form_is_made_once() {
    let tools = Tools::read(TOOLS).unwrap();
    let json = r#"{"name": "inner", "arguments": {"id": 1}}"#;
    let text = format!("<tool_call>{json}</tool_call>\n\n```json\n{json}\n```");
    for scope in [TextCallScope::Explicit, TextCallScope::Anywhere] {
        assert_eq!(extract(&text, &tools, scope).calls.len(), 1, "{scope:?}");
    }
}

#[test]
fn marked_call_behind_an_unclosed_one_is_made_in_every_scope() {
    let tools = Tools::read(TOOLS).unwrap();
    let marked = r#"<tool_call>{"name": "inner", "arguments": {"id": 1}}</tool_call>"#;
    for text in [
        format!("I call area(id=7 now.\n{marked}"),
        format!("I call area(id=7, points=x + 1 {marked}) now."),
        format!("I call area(id=7, <think>or inner(id=2)</think>{marked}"),
        "I call area(id=7, so</think>inner(id=1)".to_owned(),
    ] {
        for scope in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            let made = made(&extract(&text, &tools, scope), &tools);
            assert_eq!(
                made,
                [("inner".to_owned(), r#"{"id":1}"#.to_owned())],
                "{text}"
            );
        }
    }
}
