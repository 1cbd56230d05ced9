//! Tests that no rule of the catalogue touches a valid call. A new rule is covered by its example.

use std::cell::Cell;

use goodcall_core::{
    Formats, Gate, Kind, Policy, Rule, Schema, StopReason, Tree, Verdict, catalogue,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use super::generate::Choices;
use super::{ARGUMENTS, generated, misspelt};

/// The schema of a rule's example.
fn document(rule: &Rule) -> Value {
    serde_json::from_str(rule.example.schema).expect("the example has a JSON schema")
}

/// The policies that let a rule act: everything, and this rule as the only one beyond `strict`.
fn policies(rule: &Rule) -> [Policy; 2] {
    let others = catalogue().into_iter().filter(|other| other.id != rule.id);
    let alone = others.fold(Policy::eager(), |policy, other| policy.without(other.id));
    [Policy::eager(), alone].map(|policy| policy.with_formats(Formats::Assert))
}

/// Checks that valid arguments come out as they were sent.
fn assert_untouched(
    rule: &Rule,
    schema: &Schema,
    policy: &Policy,
    raw: &str,
) -> Result<(), TestCaseError> {
    let gate = Gate::new(schema).policy(policy.clone());
    let verdict = gate.stop(StopReason::Finished).check(raw);
    let Verdict::Good(tree) = verdict else {
        let says = format!("{}: {raw} is {}", rule.id, verdict.name());
        return Err(TestCaseError::fail(says));
    };
    let sent = Tree::parse(raw).expect("valid JSON").to_json();
    prop_assert_eq!(tree.to_json(), sent, "{}", rule.id);
    Ok(())
}

/// The mended example of a rule is left alone, and so is its broken example where it is text in a
/// string, or where no schema forbids it.
#[test]
fn no_rule_touches_its_example_where_it_is_valid() {
    let open = Schema::compile(&json!({})).expect("a schema");
    for rule in catalogue() {
        let schema = Schema::compile(&document(&rule)).expect("the schema of the example compiles");
        let quoted = json!({"text": rule.example.raw, rule.example.raw: [rule.example.raw]});
        let quoted = quoted.to_string();
        // Reading it as a map leaves no key twice, which would not be valid.
        let as_sent = serde_json::from_str::<serde_json::Map<_, _>>(rule.example.raw).ok();
        for policy in policies(&rule) {
            let untouched = assert_untouched(&rule, &schema, &policy, rule.example.mended)
                .and_then(|()| assert_untouched(&rule, &open, &policy, &quoted))
                .and_then(|()| match &as_sent {
                    Some(map) => {
                        let raw = Value::Object(map.clone()).to_string();
                        assert_untouched(&rule, &open, &policy, &raw)
                    }
                    None => Ok(()),
                });
            untouched.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Generated arguments that the schema of a rule's example allows are left alone.
#[test]
fn no_rule_touches_a_valid_call() {
    let rules = catalogue();
    let documents: Vec<Value> = rules.iter().map(document).collect();
    let checked = Cell::new(0usize);
    let run = generated(|bytes| {
        let index = bytes.first().map_or(0, |byte| usize::from(*byte)) % rules.len();
        let (rule, document) = (&rules[index], &documents[index]);
        let schema = Schema::compile(document).expect("the schema of the example compiles");
        let mut choices = Choices::new(bytes.get(1..).unwrap_or_default());
        for _ in 0..ARGUMENTS {
            let raw = choices.arguments(document);
            let sent = Tree::parse(&raw).expect("generated JSON");
            let valid = sent.root().kind() == Kind::Object
                && schema.is_valid(&sent)
                && !misspelt::is_suspect(document, sent.root());
            if valid {
                checked.set(checked.get() + 1);
                for policy in policies(rule) {
                    let policy = policy.with_formats(Formats::default());
                    assert_untouched(rule, &schema, &policy, &raw)?;
                }
            }
        }
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
    let checked = checked.into_inner();
    println!("{checked} valid calls for {} rules", rules.len());
    assert!(checked > rules.len(), "too few generated calls are valid");
}
