//! The examples of the rules for calls in text, run.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use goodcall_core::{Policy, StopReason, Verdict, catalogue};
use goodcall_wire::{TextCallScope, Tools, extract};

#[test]
fn every_example_is_read_by_its_rule() {
    let mut count = 0;
    for rule in catalogue() {
        let Some(tool) = rule.example.tool else {
            continue;
        };
        count += 1;
        let schema = rule.example.schema;
        let tools = format!(r#"[{{"name": "{tool}", "input_schema": {schema}}}]"#);
        let tools = Tools::read(&tools).expect(rule.name);
        let found = extract(rule.example.raw, &tools, TextCallScope::Explicit);
        let [call] = found.calls.as_slice() else {
            panic!("{}: {found:?}", rule.name);
        };
        let verdict = call.check(&tools, &Policy::safe(), StopReason::Finished);
        let Verdict::Mended(mended) = verdict else {
            panic!("{}: {verdict:?}", rule.name);
        };
        let used: Vec<_> = mended.changes.iter().map(|change| change.rule).collect();
        assert!(used.contains(&rule.name), "{}: {used:?}", rule.name);
        assert_eq!(
            mended.arguments.to_json(),
            rule.example.mended.replace("\": ", "\":"),
            "{}",
            rule.name
        );

        let off = Policy::safe().switch(rule.name, false).expect(rule.name);
        let verdict = call.check(&tools, &off, StopReason::Finished);
        assert_eq!(verdict.name(), "bad", "{} switched off", rule.name);
    }
    assert!(count > 5);
}
