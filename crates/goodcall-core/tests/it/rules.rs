//! Every rule's example, run.

use goodcall_core::{Gate, Level, Policy, Schema, StopReason, Verdict, catalogue};

#[test]
fn every_example_is_mended_by_its_rule() {
    // Those of calls in text are run where such calls are read.
    for rule in catalogue()
        .iter()
        .filter(|rule| rule.example.tool.is_none())
    {
        let schema = serde_json::from_str(rule.example.schema).expect(rule.name);
        let schema = Schema::compile(&schema).expect(rule.name);
        let policy = match rule.level {
            Level::Safe => Policy::safe(),
            Level::Eager => Policy::eager(),
        };
        let gate = Gate::new(&schema).policy(policy).stop(StopReason::Finished);
        let verdict = gate.check(rule.example.raw);
        let Verdict::Mended(mended) = verdict else {
            panic!("{}: {verdict:?}", rule.name);
        };
        assert_eq!(
            mended.arguments.to_json(),
            rule.example.mended,
            "{}",
            rule.name
        );
        let used: Vec<_> = mended.changes.iter().map(|change| change.rule).collect();
        assert!(used.contains(&rule.name), "{}: {used:?}", rule.name);
    }
}

#[test]
fn without_its_rule_no_example_is_mended() {
    // Those of calls in text are run where such calls are read.
    for rule in catalogue()
        .iter()
        .filter(|rule| rule.example.tool.is_none())
    {
        let schema = serde_json::from_str(rule.example.schema).expect(rule.name);
        let schema = Schema::compile(&schema).expect(rule.name);
        let policy = Policy::strict();
        let verdict = Gate::new(&schema).policy(policy).check(rule.example.raw);
        assert_eq!(verdict.name(), "bad", "{}", rule.name);
    }
}

#[test]
fn names_are_kebab_case_and_unique() {
    let names: Vec<_> = catalogue().iter().map(|rule| rule.name).collect();
    for pair in names.windows(2) {
        assert!(pair[0] < pair[1], "{pair:?}");
    }
    for name in names {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
    }
}
