//! Any text, in any split, gives the same calls and the same rest; nothing panics, nothing is lost.
#![no_main]

use goodcall_core::{Policy, StopReason};
use goodcall_wire::{Extraction, Scanner, TextCallScope, Tools, extract};
use libfuzzer_sys::fuzz_target;

const TOOLS: &str = r#"[
  {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}},
  {"name": "get_x.y", "parameters": {"type": "object", "properties": {"a": {}, "c": {"type": "array"}}}}
]"#;

fuzz_target!(|input: (u8, &str)| {
    let (size, text) = input;
    let Ok(tools) = Tools::read(TOOLS) else { return };
    for place in [TextCallScope::Explicit, TextCallScope::Anywhere] {
        let whole = extract(text, &tools, place);
        let mut scanner = Scanner::new(tools.clone(), place);
        let mut pieces = Vec::new();
        let chars: Vec<char> = text.chars().collect();
        for chunk in chars.chunks(usize::from(size) + 1) {
            pieces.extend(scanner.push(&chunk.iter().collect::<String>()));
        }
        pieces.extend(scanner.finish());
        let mut split = Extraction::default();
        for piece in pieces {
            split.push(piece);
        }
        assert_eq!(whole, split);
        // Only the marks of a call or of a thought, which may be empty, are not in the text.
        if whole.calls.is_empty() && whole.reasoning.is_empty() && !text.contains(['<', '[', '◁']) {
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
