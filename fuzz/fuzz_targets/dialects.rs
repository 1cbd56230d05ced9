//! Any text, in any split, gives the same calls and the same rest; nothing panics, nothing is lost. The
//! same holds behind a prompt that opened a thought.
//!
//! Input: one byte that says how long the pieces are, and whether the prompt opened a thought; the text.
#![no_main]

use goodcall_core::{Policy, StopReason};
use goodcall_wire::{Extraction, Scanner, TextCallScope, Tools, extract};
use libfuzzer_sys::fuzz_target;

const TOOLS: &str = r#"[
  {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}},
  {"name": "get_x.y", "parameters": {"type": "object", "properties": {"a": {}, "c": {"type": "array"}}}}
]"#;

/// Set in the first byte if the prompt opened a thought.
const PROMPTED: u8 = 0x80;

fuzz_target!(|input: (u8, &str)| {
    let (size, text) = input;
    let Ok(tools) = Tools::read(TOOLS) else {
        return;
    };
    let prompt = if size & PROMPTED > 0 { "<think>\n" } else { "" };
    for place in [TextCallScope::Explicit, TextCallScope::Anywhere] {
        let scanner = Scanner::new(tools.clone(), place).after_prompt(prompt);
        let whole = scanner.clone().whole(text);
        if prompt.is_empty() {
            assert_eq!(whole, extract(text, &tools, place));
        }
        let split = in_pieces(scanner, text, usize::from(size & !PROMPTED) + 1);
        assert_eq!(whole, split);
        let has_marks = text.contains(['<', '[', '◁']);
        if !has_marks && !prompt.is_empty() {
            assert_eq!(
                (whole.calls.len(), &*whole.text),
                (0, ""),
                "the thought did not end"
            );
        } else if !has_marks && whole.calls.is_empty() && whole.reasoning.is_empty() {
            // Only the marks of a call or of a thought, which may be empty, are not in the text.
            assert_eq!(whole.text, text);
        }
        for call in &whole.calls {
            let verdict = call.check(&tools, &Policy::safe(), StopReason::Unknown);
            if let (Some(arguments), Some(tool)) = (verdict.arguments(), tools.get(&call.name)) {
                assert!(tool.schema().is_ok_and(|schema| schema.is_valid(arguments)));
            }
        }
    }
});

/// Reads a text in pieces of so many characters.
fn in_pieces(mut scanner: Scanner, text: &str, size: usize) -> Extraction {
    let chars: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
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
