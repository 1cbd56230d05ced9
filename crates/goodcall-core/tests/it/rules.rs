//! Runs the example of every rule in the catalogue.

use goodcall_core::{Gate, Level, Policy, Rule, Schema, StopReason, Verdict, catalogue};

/// The rules that the gate applies; `goodcall-wire` runs the examples of calls in text.
fn rules() -> impl Iterator<Item = Rule> {
    catalogue()
        .into_iter()
        .filter(|rule| rule.example.tool.is_none())
}

/// Compiles the schema of a rule's example.
fn schema(rule: &Rule) -> Schema {
    let schema = serde_json::from_str(rule.example.schema).expect(rule.name);
    Schema::compile(&schema).expect(rule.name)
}

/// The weakest policy under which a rule acts.
fn policy(rule: &Rule) -> Policy {
    match rule.level {
        Level::Safe => Policy::safe(),
        Level::Eager => Policy::eager(),
    }
}

/// Checks the example of a rule under a policy.
fn check<'s>(rule: &Rule, schema: &'s Schema, policy: Policy) -> Verdict<'s> {
    Gate::new(schema)
        .policy(policy)
        .stop(StopReason::Finished)
        .check(rule.example.raw)
}

#[test]
fn every_example_is_mended_by_its_rule() {
    for rule in rules() {
        let schema = schema(&rule);
        let verdict = check(&rule, &schema, policy(&rule));
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
fn no_example_is_mended_with_its_rule_switched_off() {
    for rule in rules() {
        let policy = policy(&rule).switch(rule.name, false).expect(rule.name);
        let schema = schema(&rule);
        let verdict = check(&rule, &schema, policy);
        assert_eq!(verdict.name(), "bad", "{}: {verdict:?}", rule.name);
    }
}

#[test]
fn examples_of_eager_rules_are_refused_by_the_safe_policy() {
    for rule in rules().filter(|rule| rule.level == Level::Eager) {
        let schema = schema(&rule);
        let verdict = Gate::new(&schema).check(rule.example.raw);
        assert_eq!(verdict.name(), "bad", "{}: {verdict:?}", rule.name);
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
