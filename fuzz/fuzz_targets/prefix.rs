//! Prefixes of valid arguments: what was cut off is never a call.
//!
//! Input: arguments in JSON.

#![no_main]

use goodcall_core::{Gate, Kind, Policy, Schema, Tree, Verdict};
use libfuzzer_sys::fuzz_target;

/// Longer arguments are left out, because all their prefixes are checked.
const MAX_BYTES: usize = 400;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let is_object = Tree::parse(text).is_ok_and(|tree| tree.root().kind() == Kind::Object);
    if text.len() > MAX_BYTES || !is_object {
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
    }
});
