//! Checks that every split of a text gives the same calls and the same text as the whole.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use goodcall_wire::{Extraction, Scanner, TextCallScope, TextPiece, Tools, extract};
use proptest::prelude::*;

const TOOLS: &str = r#"[
  {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}},
  {"name": "get_x.y", "parameters": {"type": "object", "properties": {"a": {}}}}
]"#;

/// Fragments of calls and of the text around them.
const WORDS: [&str; 80] = [
    "\n<f>",
    "<f>",
    "</f>",
    "<a>",
    "</a>",
    "<b>",
    "</b>",
    "\nObservation: ",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "<function=f>",
    "</function>",
    "<parameter=a>",
    "</parameter>",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<|channel|>",
    "<|message|>",
    " to=functions.f ",
    "<|call|>",
    "<|tool_call>",
    "<tool_call|>",
    "call:f{",
    "<|\"|>",
    "```",
    "```json\n",
    "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
    "{\"name\": \"f\", \"arguments\": ",
    "{'a': 'x'}",
    "{\"b\": \"",
    "f(a=1)",
    "f(",
    "get\\_x.y(a=",
    "get_x.y(",
    "'f'(",
    "a=1",
    "b='x'",
    "print(",
    ")",
    "]",
    "[",
    "{",
    "}",
    "\"",
    "'",
    "\\",
    "\n",
    " ",
    ",",
    ";",
    ":",
    "def ",
    "text",
    "é東",
    "<",
    "|>",
    "<|im_end|>",
    "</think>",
    "<think>",
    "<tool_response>",
    "</tool_response>",
    "\n> ",
    "<parameter=b>",
    "<parameter name=\"b\">",
    "\n</parameter>\n",
    "Action: f\nAction Input: ",
    "<arg_key>a</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<invoke name=\"f\">",
    "</invoke>",
    "functools",
    "[f(a=2)]",
    "[\"f(a=3)\"]",
    "`",
];

fn texts() -> impl Strategy<Value = String> {
    let word = (0..WORDS.len()).prop_map(|at| WORDS[at]);
    prop::collection::vec(word, 0..14).prop_map(|words| words.concat())
}

fn split(text: &str, cuts: &[usize], tools: &Tools, place: TextCallScope) -> Extraction {
    let mut scanner = Scanner::new(tools.clone(), place);
    let mut found = Extraction::default();
    let mut take = |pieces: Vec<TextPiece>| {
        for piece in pieces {
            found.push(piece);
        }
    };
    let mut at = 0;
    for cut in cuts {
        let mut end = (at + cut).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        take(scanner.push(&text[at..end]));
        at = end;
    }
    take(scanner.push(&text[at..]));
    take(scanner.finish());
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_split_gives_the_same_calls(text in texts(), cuts in prop::collection::vec(1usize..5, 0..60)) {
        let tools = Tools::read(TOOLS).unwrap();
        for place in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            let whole = extract(&text, &tools, place);
            let pieces = split(&text, &cuts, &tools, place);
            prop_assert_eq!(&whole, &pieces, "{:?} {:?}", text, place);
            if whole.calls.is_empty() && whole.reasoning.is_empty() && !text.contains(['<', '[']) {
                prop_assert_eq!(&whole.text, &text);
            }
        }
    }

    #[test]
    fn arbitrary_text_is_split_invariant(text in any::<String>()) {
        let tools = Tools::read(TOOLS).unwrap();
        for place in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            prop_assert_eq!(extract(&text, &tools, place), split(&text, &[1; 200], &tools, place));
        }
    }
}

#[test]
fn call_behind_too_deeply_nested_candidate_is_found() {
    let tools = Tools::read(TOOLS).unwrap();
    let name = tools.iter().next().unwrap().name.clone();
    let call = format!("{{\"name\": \"{name}\", \"arguments\": {{}}}}");
    let text = format!("{{\"a\": {} {call}", "(".repeat(200));
    let whole = extract(&text, &tools, TextCallScope::Anywhere);
    assert_eq!(whole.calls.len(), 1);
    let cuts = vec![1; text.len()];
    assert_eq!(whole, split(&text, &cuts, &tools, TextCallScope::Anywhere));
}

#[test]
fn marker_at_the_last_bracket_of_a_rejected_call_is_found_in_every_split() {
    let tools = Tools::read(TOOLS).unwrap();
    for text in [
        "|f(]<]minimax[>[<tool_call>",
        "|f(a=x]<]minimax[>[<tool_call>f(a=1)",
        "f(x]",
        "f(x]<",
    ] {
        for place in [TextCallScope::Explicit, TextCallScope::Anywhere] {
            let whole = extract(text, &tools, place);
            for size in 1..6 {
                let cuts = vec![size; text.len()];
                assert_eq!(whole, split(text, &cuts, &tools, place), "{text} {size}");
            }
        }
    }
}

#[test]
fn tags_of_other_names_inside_a_value_are_passed_in_every_split() {
    let tools = Tools::read(TOOLS).unwrap();
    let value = "1 < 2 </par <param> <parameters=b> </paragraph> << </ <p>";
    let text = format!(
        "<tool_call>\n<function=f>\n<parameter=b>\n{value}\n</parameter>\n</function>\n</tool_call>"
    );
    let whole = extract(&text, &tools, TextCallScope::Anywhere);
    let read: serde_json::Value = serde_json::from_str(&whole.calls[0].arguments).unwrap();
    assert_eq!(read["b"], value);
    for size in 1..8 {
        let cuts = vec![size; text.len()];
        assert_eq!(whole, split(&text, &cuts, &tools, TextCallScope::Anywhere));
    }
}

#[test]
fn single_characters_of_a_thought_are_given_out_some_at_a_time() {
    let mut scanner = Scanner::new(Tools::read(TOOLS).unwrap(), TextCallScope::Anywhere);
    assert!(scanner.push("<think>").is_empty());
    let thought = "One word and another.\n".repeat(20);
    let pushed = (0..thought.len()).flat_map(|at| scanner.push(&thought[at..=at]));
    let pieces: Vec<TextPiece> = pushed.collect();
    let sizes = pieces.iter().map(|piece| match piece {
        TextPiece::Reasoning(text) => text.len(),
        other => panic!("{other:?}"),
    });
    let sizes: Vec<usize> = sizes.collect();
    assert!(sizes.iter().all(|size| *size <= 65), "{sizes:?}");
    assert!(thought.len() - sizes.iter().sum::<usize>() <= 64);
    // A longer piece comes out at once, with what was kept back.
    let given = scanner.push("and so on ");
    assert!(
        matches!(&given[..], [TextPiece::Reasoning(text)] if text.ends_with("and so on ")),
        "{given:?}"
    );
}

/// The fuzz target begins with these files: a byte for the length of a piece, then the text.
#[test]
fn fuzz_target_has_a_seed_for_every_dialect_and_every_seed_is_split_invariant() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/dialects");
    let tools = Tools::read(TOOLS).unwrap();
    let read = |name: &str| std::fs::read(format!("{folder}/{name}"));
    let seed = |bytes: Vec<u8>| String::from_utf8_lossy(bytes.get(1..).unwrap_or(&[])).into_owned();
    for name in goodcall_wire::dialects() {
        let bytes =
            read(name).unwrap_or_else(|error| panic!("fuzz/seeds/dialects/{name}: {error}"));
        let found = extract(&seed(bytes), &tools, TextCallScope::Explicit);
        assert_eq!(found.calls.len(), 1, "{name}: {found:?}");
    }
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let text = seed(read(&name).unwrap());
        let whole = extract(&text, &tools, TextCallScope::Anywhere);
        let pieces = split(&text, &vec![1; text.len()], &tools, TextCallScope::Anywhere);
        assert_eq!(whole, pieces, "{name}");
        if name.ends_with("think") {
            assert_eq!(
                (whole.calls.len(), whole.reasoning.is_empty()),
                (1, false),
                "{name}"
            );
        }
    }
}
