//! Any events through every provider's assembler: nothing panics, and any split of arguments gives
//! the same call.
#![no_main]

use goodcall_wire::{Assembler, Provider, Tools, CallUpdate, TextCallScope};
use libfuzzer_sys::fuzz_target;

const TOOLS: &str = r#"[
  {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}}
]"#;

fuzz_target!(|input: (u8, &str)| {
    let (size, text) = input;
    let Ok(tools) = Tools::read(TOOLS) else { return };
    for &provider in Provider::ALL {
        let mut assembler = Assembler::new(provider, tools.clone()).text_calls(TextCallScope::Anywhere);
        for line in text.lines() {
            let _ = assembler.push(line);
        }
        assembler.finish();
    }
    let whole = arguments(&tools, [text.to_owned()]);
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars.chunks(usize::from(size) + 1).map(|chunk| chunk.iter().collect());
    assert_eq!(whole, arguments(&tools, pieces.collect::<Vec<String>>()));
});

/// The arguments of the calls that these fragments make.
fn arguments(tools: &Tools, fragments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut assembler = Assembler::new(Provider::Anthropic, tools.clone());
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#;
    let mut updates = assembler.push(start).unwrap_or_default();
    for fragment in fragments {
        let fragment = serde_json::Value::from(fragment);
        let event = format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{fragment}}}}}"#
        );
        updates.extend(assembler.push(&event).unwrap_or_default());
    }
    updates.extend(assembler.finish());
    let calls = updates.into_iter().filter_map(|update| match update {
        CallUpdate::Call(call) => Some(call.arguments),
        _ => None,
    });
    calls.collect()
}
