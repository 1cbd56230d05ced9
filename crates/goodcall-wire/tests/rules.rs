//! Runs the examples of the rules for calls in text.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use goodcall_core::{Policy, RuleId, StopReason, Verdict};
use goodcall_wire::{TextCallScope, Tools, catalogue, extract};

#[test]
fn every_example_needs_its_rule() {
    let mut count = 0;
    for rule in catalogue() {
        let Some(tool) = rule.example.tool else {
            continue;
        };
        count += 1;
        let schema = rule.example.schema;
        let tools = format!(r#"[{{"name": "{tool}", "input_schema": {schema}}}]"#);
        let tools = Tools::read(&tools).unwrap();
        let found = extract(rule.example.raw, &tools, TextCallScope::Explicit);
        let [call] = found.calls.as_slice() else {
            panic!("{}: {found:?}", rule.id);
        };
        let verdict = call.check(&tools, &Policy::safe(), StopReason::Finished);
        let Verdict::Mended(mended) = verdict else {
            panic!("{}: {verdict:?}", rule.id);
        };
        let used: Vec<_> = mended.changes.iter().map(|change| change.rule).collect();
        assert!(used.contains(&rule.id), "{}: {used:?}", rule.id);
        assert_eq!(
            mended.arguments.to_json(),
            rule.example.mended.replace("\": ", "\":"),
            "{}",
            rule.id
        );

        let off = Policy::safe().without(rule.id);
        let verdict = call.check(&tools, &off, StopReason::Finished);
        assert_eq!(verdict.name(), "bad", "{} switched off", rule.id);
    }
    assert!(count > 5);
}

#[test]
fn every_rule_id_has_one_page() {
    let pages: Vec<_> = catalogue().iter().map(|rule| rule.id).collect();
    assert_eq!(pages, RuleId::ALL);
}
