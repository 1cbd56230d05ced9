//! Any schema and any arguments: no harm, strict out, idempotent.
//!
//! Input: a schema, a NUL, raw arguments.

#![no_main]

use goodcall_core::{Gate, Policy, Schema, Tree, Verdict};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let Some(border) = bytes.iter().position(|byte| *byte == 0) else {
        return;
    };
    let (schema, raw) = (&bytes[..border], &bytes[border + 1..]);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else {
        return;
    };
    let Ok(schema) = Schema::compile(&schema) else {
        return;
    };
    for policy in [Policy::strict(), Policy::safe(), Policy::eager()] {
        let gate = Gate::new(&schema).policy(policy);
        let verdict = gate.check_bytes(raw);
        match &verdict {
            Verdict::Good(tree) => {
                // What is valid as sent comes out as sent.
                assert_eq!(*tree, Tree::parse_bytes(raw).expect("good is JSON"));
            }
            Verdict::Mended(mended) => assert!(!mended.changes.is_empty()),
            Verdict::Bad(bad) => assert!(!bad.issues.is_empty()),
        }
        if let Some(tree) = verdict.arguments() {
            assert!(schema.is_valid(tree), "what comes out is valid");
            let json = tree.to_json();
            let again = gate.check(&json);
            assert!(matches!(again, Verdict::Good(_)), "{json}: {}", again.name());
        }
    }
});
