//! Runs the example of every rule in the catalogue.

use goodcall_core::{Formats, Gate, Level, Policy, Rule, Schema, StopReason, Verdict, catalogue};

/// Compiles the schema of a rule's example.
fn schema(rule: &Rule) -> Schema {
    let schema = serde_json::from_str(rule.example.schema).expect("the example has a JSON schema");
    Schema::compile(&schema).expect("the schema of the example compiles")
}

/// The weakest policy under which a rule acts. One rule acts on formats.
fn policy(rule: &Rule) -> Policy {
    let policy = match rule.level {
        Level::Safe => Policy::safe(),
        Level::Eager => Policy::eager(),
    };
    policy.with_formats(Formats::Assert)
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
    for rule in catalogue() {
        let schema = schema(&rule);
        let verdict = check(&rule, &schema, policy(&rule));
        let Verdict::Mended(mended) = verdict else {
            panic!("{}: {verdict:?}", rule.id);
        };
        assert_eq!(
            mended.arguments.to_json(),
            rule.example.mended,
            "{}",
            rule.id
        );
        let used: Vec<_> = mended.changes.iter().map(|change| change.rule).collect();
        assert!(used.contains(&rule.id), "{}: {used:?}", rule.id);
    }
}

#[test]
fn no_example_is_mended_with_its_rule_switched_off() {
    for rule in catalogue() {
        let policy = policy(&rule).without(rule.id);
        let schema = schema(&rule);
        let verdict = check(&rule, &schema, policy);
        assert_eq!(verdict.name(), "bad", "{}: {verdict:?}", rule.id);
    }
}

#[test]
fn examples_of_eager_rules_are_refused_by_the_safe_policy() {
    for rule in catalogue().iter().filter(|rule| rule.level == Level::Eager) {
        let schema = schema(rule);
        let verdict = Gate::new(&schema).check(rule.example.raw);
        assert_eq!(verdict.name(), "bad", "{}: {verdict:?}", rule.id);
    }
}

#[test]
fn catalogue_is_sorted_and_unique() {
    for pair in catalogue().windows(2) {
        assert!(pair[0].id < pair[1].id, "{} {}", pair[0].id, pair[1].id);
    }
}
