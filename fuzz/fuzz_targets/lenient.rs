//! Reads any text leniently: no panic, all positions inside the text, and the output is JSON.

#![no_main]

use goodcall_core::{Limits, Policy, ReadOptions, Tree, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for policy in [Policy::safe(), Policy::eager()] {
        let options = ReadOptions::new().policy(policy).keys(["a", "path"]).unwrap_strings();
        let Ok(reading) = read(text, &options) else {
            continue;
        };
        let json = reading.tree.to_json();
        let again = Tree::parse(&json).expect("output is JSON");
        assert_eq!(again.root(), reading.tree.root());
        assert!(reading.changes.len() <= Limits::default().max_changes);
        for change in &reading.changes {
            assert!(text.get(change.span.clone()).is_some(), "{change:?}");
        }
    }
});
