//! Prefixes of valid and of damaged arguments: what was cut off is never another call.
//!
//! Input: arguments in JSON.

#![no_main]

use goodcall_core::{Gate, Kind, Policy, Schema, Tree, Verdict};
use libfuzzer_sys::fuzz_target;

/// Longer arguments are left out, because all their prefixes are checked.
const MAX_BYTES: usize = 400;

/// The arguments as models write them, too.
fn damaged(text: &str) -> [String; 6] {
    [
        text.replace('"', "'"),
        text.replace('"', "\\\""),
        text.replacen('"', "", 1),
        text.replacen(',', " ", 1),
        text.replacen("\":", ":", 1),
        format!("```json\n{text}\n```"),
    ]
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(whole) = Tree::parse(text) else {
        return;
    };
    if text.len() > MAX_BYTES || whole.root().kind() != Kind::Object {
        return;
    }
    let text = text.trim_end();
    let schema = Schema::compile(&serde_json::json!({})).expect("a schema");
    for policy in [Policy::safe(), Policy::eager()] {
        let gate = Gate::new(&schema).policy(policy);
        for (end, _) in text.char_indices() {
            let verdict = gate.check(&text[..end]);
            let is_bad = matches!(verdict, Verdict::Bad(_)) || text[..end].trim().is_empty();
            assert!(is_bad, "{}", &text[..end]);
        }
        for text in damaged(text) {
            // What the whole text means, where it is read at all.
            let all = gate.check(&text);
            for (end, _) in text.char_indices().filter(|(end, _)| *end > 0) {
                let verdict = gate.check(&text[..end]);
                let Some(part) = verdict.arguments() else {
                    continue;
                };
                let is_whole = part.root() == whole.root()
                    || all.arguments().is_some_and(|all| part.root() == all.root())
                    || text[..end].trim().is_empty();
                assert!(is_whole, "{}", &text[..end]);
            }
        }
    }
});
