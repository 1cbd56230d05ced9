//! Valid JSON, broken by one rule: the value comes back, whatever it holds, or an escape in it may be
//! part of a path (`a:\n`).
//!
//! Input: one byte that picks the rule, then JSON.

#![no_main]

use goodcall_core::{ReadOptions, RuleId, Tree, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((pick, bytes)) = bytes.split_first() else {
        return;
    };
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
        return;
    };
    let text = value.to_string();
    let bare = &text[..text.len() - 1];
    let broken = match pick % 8 {
        0 => format!("{bare},}}"),
        1 => format!("```json\n{text}\n```"),
        2 => format!("Here it is: {text}"),
        3 => format!("\u{feff}{text}"),
        4 => format!("<|call|>{text}<|end|>"),
        5 => format!("{text}}}"),
        6 => format!("{{/* note */{}", &text[1..]),
        _ => format!("// note\n{text} // more"),
    };
    let reading = match read(&broken, &ReadOptions::new()) {
        Ok(reading) => reading,
        Err(refusal) => {
            let rule = refusal.issues[0].expected.rule;
            assert_eq!(rule, Some(RuleId::MixedEscapes), "{broken}");
            return;
        }
    };
    let whole = Tree::parse(&text).expect("valid");
    assert_eq!(reading.tree.root(), whole.root());
    assert_eq!(reading.tree.root().len(), object.len());
    assert!(!reading.changes.is_empty());
});
