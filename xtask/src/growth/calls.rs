//! Texts that repeatedly look like the beginning of a call.

use goodcall_wire::{Assembler, Provider, Scanner, TextCallScope, Tools, extract};

use super::Meter;
use crate::Failure;

const HEADS: [&str; 3] = ["", "<tool_call>", "<f>"];
const TOKENS: [&str; 40] = [
    "<tool_call>",
    "</tool_call>",
    "<function=f>",
    "</function>",
    "\n<parameter=a>",
    "</parameter>",
    "<f>",
    "</f>",
    "<a>",
    "</a>",
    "f(",
    "a=",
    "[f(a=1",
    "{\"name\": ",
    "{\"a\":[",
    "{\"a",
    "[",
    "{",
    ")",
    "]",
    "}",
    "\"",
    "'",
    "```",
    "<|channel|>",
    "<｜tool▁call▁begin｜>",
    "<arg_key>a</arg_key>",
    "f<",
    "\\_",
    "[TOOL_CALLS]",
    "<",
    "x",
    "'x' 'y'",
    "call:f{",
    "]<]minimax[>[<a>",
    "<|open|>call",
    "{\"name\": \"f\", \"arguments\": {\"a\": \"x\"}} ",
    "\nAction: f\nAction Input: {",
    "\nObservation: ",
    "\n",
];

/// Measures pieces of one and two tokens after each head, and streams of single bytes.
pub(super) fn run(meter: &mut Meter) -> Result<(), Failure> {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#;
    let tools = Tools::read(&format!(r#"[{{"name": "f", "parameters": {schema}}}]"#));
    let tools = tools.map_err(|error| Failure::Unusable(error.to_string()))?;
    let one = TOKENS.iter().map(|a| (*a).to_owned());
    let two = (TOKENS.iter()).flat_map(|a| TOKENS.iter().map(move |b| format!("{a}{b}")));
    for piece in one.chain(two) {
        for head in HEADS {
            for place in [TextCallScope::Explicit, TextCallScope::Anywhere] {
                meter.shape(
                    || format!("{place:?} {head:?} {piece:?}…"),
                    |bytes| format!("{head}{}", piece.repeat(bytes / piece.len())),
                    |text| {
                        std::hint::black_box(extract(text, &tools, place).calls.len());
                    },
                );
            }
        }
    }
    for head in [r#"<tool_call>{"name": "f", "arguments": {"a": ""#, "<f><a>"] {
        meter.shape(
            || format!("{head:?} in single bytes"),
            |bytes| "x".repeat(bytes),
            |text| {
                let mut scanner = Scanner::new(tools.clone(), TextCallScope::Anywhere);
                scanner.push(head);
                for at in 0..text.len() {
                    scanner.push(&text[at..=at]);
                }
                std::hint::black_box(scanner.finish().len());
            },
        );
    }
    meter.shape(
        || "arguments in single bytes".to_owned(),
        |bytes| "x".repeat(bytes),
        |text| arguments(text, &tools),
    );
    Ok(())
}

/// Measures a stream whose arguments arrive byte by byte.
fn arguments(text: &str, tools: &Tools) {
    let mut assembler = Assembler::new(Provider::Anthropic, tools.clone());
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#;
    let pieces = ["{", "\\\"a\\\":", "\\\""].into_iter();
    let bytes = (0..text.len()).map(|at| &text[at..=at]);
    let deltas = pieces.chain(bytes).map(|piece| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{piece}"}}}}"#
        )
    });
    let mut read = assembler.push(start).is_ok();
    for event in deltas {
        read &= assembler.push(&event).is_ok();
    }
    std::hint::black_box(read && assembler.finish().is_empty());
}
