//! Tests the laws of mending on generated schemas and arguments.

mod follow;
mod generate;
mod misspelt;
mod patch;
mod rules;

use std::cell::Cell;

use generate::{Choices, reversed};
use goodcall_core::{
    Change, Explain, Gate, Kind, Policy, ReadOptions, Reason, RuleId, Schema, Style, Tree, Verdict,
    read,
};
use patch::Json;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::Value;

/// The number of arguments that are checked with one schema, each under both policies.
const ARGUMENTS: usize = 8;

/// The number of schemas: `GOODCALL_CASES`, or enough for 100,000 checks.
fn schemas() -> u32 {
    let asked = std::env::var("GOODCALL_CASES").ok();
    asked
        .and_then(|n| n.parse().ok())
        .unwrap_or(if cfg!(debug_assertions) { 500 } else { 7_000 })
}

/// Runs a check on the bytes from which schemas and arguments are generated.
fn generated(
    check: impl Fn(Vec<u8>) -> Result<(), TestCaseError>,
) -> Result<(), TestError<Vec<u8>>> {
    let config = Config {
        cases: schemas(),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    let bytes = proptest::collection::vec(any::<u8>(), 0..600);
    TestRunner::new(config).run(&bytes, check)
}

#[test]
fn laws_hold() {
    let counts = [const { Cell::new(0usize) }; 3];
    let run = generated(|bytes| {
        let mut choices = Choices::new(&bytes);
        let document = choices.arguments_schema();
        let Ok(schema) = Schema::compile(&document) else {
            return Ok(());
        };
        let turned = Schema::compile(&reversed(&document)).expect("a schema in another order");
        for _ in 0..ARGUMENTS {
            let raw = choices.arguments(&document);
            for policy in [Policy::safe(), Policy::eager()] {
                let case = Case {
                    document: &document,
                    schema: &schema,
                    turned: &turned,
                    raw: &raw,
                    policy,
                };
                let verdict = case.check()?;
                let count = &counts[verdict];
                count.set(count.get() + 1);
            }
        }
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
    let [good, mended, bad] = counts.map(Cell::into_inner);
    println!("{good} good, {mended} mended, {bad} bad");
    assert!(mended * 20 > good + mended + bad, "too little is mended");
}

/// A model that follows the text sends a valid call: always if it only has to rename, move, unwrap or
/// remove members, and nearly always if it has to insert values.
#[test]
fn advice_holds() {
    let counts = [const { Cell::new(0usize) }; 4];
    let count = |at: usize| counts[at].set(counts[at].get() + 1);
    let run = generated(|bytes| {
        let mut choices = Choices::new(&bytes);
        let document = choices.arguments_schema();
        let Ok(schema) = Schema::compile(&document) else {
            return Ok(());
        };
        for _ in 0..ARGUMENTS {
            let raw = choices.arguments(&document);
            let verdict = Gate::new(&schema).policy(Policy::strict()).check(&raw);
            let Verdict::Bad(bad) = verdict else { continue };
            if bad.reason != Reason::WrongShape {
                continue;
            }
            let text = Explain::new(Style::Model).text(&bad);
            let Some((value, plain)) = follow::follow(&raw, &text) else {
                continue;
            };
            let out = value.to_string();
            let out = Tree::parse(&out).expect("JSON");
            let valid = schema.is_valid(&out);
            let says = format!("schema {document}\nraw    {raw}\nout    {value}\n{text}");
            // One part of a schema may require what another forbids.
            let parts = document.to_string().contains("allOf");
            prop_assert!(valid || !plain || parts, "{says}");
            if !is_entangled(&document) {
                count(usize::from(plain));
                count(if valid { 3 } else { 2 });
            }
        }
        Ok(())
    });
    if let Err(error) = run {
        panic!("{error}");
    }
    let [with_values, plain, wrong, right] = counts.map(Cell::into_inner);
    println!("{plain} with edits alone, {with_values} with values: {right} right, {wrong} wrong");
    assert!(plain > 0 && wrong * 50 < right, "{wrong} of {with_values}");
}

/// Returns true if a value that satisfies one keyword may violate another. Generated schemas with
/// these keywords often allow no value at all.
fn is_entangled(document: &Value) -> bool {
    let text = document.to_string();
    let keywords = [
        "allOf",
        "oneOf",
        "patternProperties",
        "maxProperties",
        "dependentRequired",
    ];
    keywords
        .iter()
        .chain(&["then", "uniqueItems"])
        .any(|word| text.contains(word))
}

struct Case<'c> {
    document: &'c Value,
    schema: &'c Schema,
    turned: &'c Schema,
    raw: &'c str,
    policy: Policy,
}

impl Case<'_> {
    fn says(&self, law: &str) -> String {
        format!("{law}\nschema {}\nraw    {}", self.document, self.raw)
    }

    fn check(&self) -> Result<usize, TestCaseError> {
        let sent = Tree::parse(self.raw).expect("generated JSON");
        let gate = Gate::new(self.schema).policy(self.policy.clone());
        let verdict = gate.check(self.raw);
        let by_letter = sent.root().kind() == Kind::Object && self.schema.is_valid(&sent);
        let valid = by_letter && !misspelt::is_suspect(self.document, sent.root());
        match &verdict {
            Verdict::Good(tree) => {
                prop_assert!(by_letter, "{}", self.says("good, but not valid"));
                prop_assert_eq!(tree.to_json(), sent.to_json(), "{}", self.says("law 1"));
            }
            Verdict::Mended(mended) => {
                prop_assert!(!valid, "{}", self.says("law 1: valid, but mended"));
                let renamed = mended.changes.iter().any(misspelt::is_about_keys);
                let says = "law 1: valid by the letter, mended otherwise than by its keys";
                prop_assert!(!by_letter || renamed, "{}", self.says(says));
                let out = mended.arguments.to_json();
                let again = Tree::parse(&out).expect("JSON");
                prop_assert!(
                    self.schema.is_valid(&again),
                    "{}\nout    {out}",
                    self.says("law 2")
                );
                prop_assert!(
                    !mended.changes.is_empty(),
                    "{}",
                    self.says("law 3: no change")
                );
                let mut value = self.as_read();
                for change in &mended.changes {
                    if !change.is_text {
                        value.apply(change);
                    }
                    let within = change.span.end <= self.raw.len();
                    prop_assert!(within, "{}", self.says("law 3: span"));
                    let allowed = self.policy.allows(change.rule, change.level);
                    prop_assert!(allowed, "{}", self.says("law 4: level"));
                }
                let came_out = Json::parse(&out);
                prop_assert_eq!(
                    value.sorted(),
                    came_out.clone().sorted(),
                    "{}\nchanges {:?}",
                    self.says("law 3"),
                    mended.changes
                );
                let second = gate.check(&out);
                prop_assert_eq!(
                    second.name(),
                    "good",
                    "{}\nout    {}",
                    self.says("law 5"),
                    out
                );
                self.exact(&came_out, &mended.changes)?;
            }
            Verdict::Bad(bad) => {
                prop_assert!(!valid, "{}", self.says("law 1: valid, but bad"));
                prop_assert!(
                    !bad.issues.is_empty(),
                    "{}",
                    self.says("bad without an issue")
                );
            }
        }
        self.order_does_not_matter(&verdict)?;
        Ok(match verdict {
            Verdict::Good(_) => 0,
            Verdict::Mended(_) => 1,
            Verdict::Bad(_) => 2,
        })
    }

    /// Returns the value as it was read, before it was mended.
    fn as_read(&self) -> Json {
        let options = ReadOptions::new().policy(self.policy.clone());
        let reading = read(self.raw, &options.unwrap_strings()).expect("readable");
        Json::of(reading.tree.root())
    }

    /// Law 8: every number in the result has the digits of one in the call or in the schema. Two rules
    /// rewrite a number (`5.0` as 5, `"1,234"` as 1234) with the same significant digits.
    fn exact(&self, out: &Json, changes: &[Change]) -> Result<(), TestCaseError> {
        let rewrites = [RuleId::WholeNumber, RuleId::NumberInText];
        let mut rewritten = Vec::new();
        for change in changes
            .iter()
            .filter(|change| rewrites.contains(&change.rule))
        {
            let before = change.before.as_deref().unwrap_or_default();
            let after = change.after.as_deref().unwrap_or_default();
            let same = significant(before).starts_with(&significant(after));
            prop_assert!(same, "{}\n{before} -> {after}", self.says("law 8"));
            rewritten.push(after);
        }
        let mut numbers = Vec::new();
        out.numbers(&mut numbers);
        let schema = self.document.to_string();
        for digits in &numbers {
            let known = self.raw.contains(digits.as_str())
                || schema.contains(digits.as_str())
                || rewritten.contains(&digits.as_str());
            prop_assert!(known, "{}\nnumber {digits}", self.says("law 8"));
        }
        Ok(())
    }

    /// Law 4: the result does not depend on the order of branches or of members.
    fn order_does_not_matter(&self, verdict: &Verdict<'_>) -> Result<(), TestCaseError> {
        let gate = Gate::new(self.turned).policy(self.policy.clone());
        self.same(
            verdict,
            &gate.check(self.raw),
            "law 4: order of alternatives",
        )?;
        let mut raw = String::new();
        Json::parse(self.raw).write_reversed(&mut raw);
        let gate = Gate::new(self.schema).policy(self.policy.clone());
        self.same(verdict, &gate.check(&raw), "law 4: order of members")
    }

    fn same(&self, one: &Verdict<'_>, other: &Verdict<'_>, law: &str) -> Result<(), TestCaseError> {
        let value = |verdict: &Verdict<'_>| {
            let tree = verdict.arguments()?;
            Some(Json::of(tree.root()).sorted())
        };
        prop_assert_eq!(
            one.name(),
            other.name(),
            "{}\n{:?}\n{:?}",
            self.says(law),
            one,
            other
        );
        prop_assert_eq!(value(one), value(other), "{}", self.says(law));
        Ok(())
    }
}

/// Returns the digits of a number without its exponent and without zeros at either end.
fn significant(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}
