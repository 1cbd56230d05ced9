//! The laws of mending on arbitrary schemas and arguments: the input is a schema, a zero byte, and
//! the arguments.

#![no_main]

use goodcall_core::{Gate, Kind, Policy, Schema, Tree, Verdict};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(zero) = data.iter().position(|byte| *byte == 0) else {
        return;
    };
    let (schema, raw) = (&data[..zero], &data[zero + 1..]);
    let (Ok(schema), Ok(raw)) = (serde_json::from_slice(schema), std::str::from_utf8(raw)) else {
        return;
    };
    let Ok(schema) = Schema::compile(&schema) else {
        return;
    };
    for policy in [Policy::strict(), Policy::safe(), Policy::eager()] {
        let gate = Gate::new(&schema).policy(policy.clone());
        match gate.check(raw) {
            Verdict::Good(tree) => {
                let sent = Tree::parse(raw).expect("good arguments are JSON");
                assert_eq!(tree.to_json(), sent.to_json(), "law 1: {policy:?}");
            }
            Verdict::Mended(mended) => {
                let out = mended.arguments.to_json();
                assert!(schema.is_valid(&mended.arguments), "law 2: {out}");
                assert!(!mended.changes.is_empty(), "law 3: {out}");
                assert_eq!(gate.check(&out).name(), "good", "law 5: {out}");
            }
            Verdict::Bad(bad) => {
                assert!(!bad.issues.is_empty());
                if let Ok(sent) = Tree::parse(raw) {
                    let object = sent.root().kind() == Kind::Object;
                    let valid = object && schema.is_valid(&sent);
                    // A key that is a declared one in another style is not valid as sent.
                    let is_misspelt = || gate.clone().keys_as_sent().check(raw).name() == "good";
                    assert!(
                        !valid || bad.reason.name() == "ambiguous" || is_misspelt(),
                        "law 1: {policy:?}"
                    );
                }
            }
        }
    }
});
