//! Tests that damaged calls are read as they were meant or refused, and hardly ever as something else.

mod defects;

use std::collections::BTreeMap;

use defects::{CALLS, DEFECTS, Damage, Dice, apply};
use goodcall_core::{CutKind, Gate, Policy, ReadOptions, Schema, Tree, read};
use serde_json::Value;

#[derive(Clone, Copy, Default)]
struct Score {
    right: usize,
    refused: usize,
    other: usize,
}

impl Score {
    fn total(self) -> usize {
        self.right + self.refused + self.other
    }

    fn per_mille(self, part: usize) -> usize {
        part * 1000 / self.total().max(1)
    }
}

enum Outcome {
    Right,
    Refused,
    Other(String),
}

fn judge(damaged: &str, call: &str, policy: &Policy) -> Outcome {
    let options = ReadOptions::new().policy(policy.clone());
    let Ok(reading) = read(damaged, &options) else {
        return Outcome::Refused;
    };
    let cut = reading
        .cut
        .as_ref()
        .is_some_and(|cut| cut.kind == CutKind::Inside || *policy != Policy::eager());
    if cut || reading.values > 1 {
        return Outcome::Refused;
    }
    let value = |tree: &Tree<'_>| {
        serde_json::from_str::<serde_json::Value>(&tree.to_json()).expect("valid output")
    };
    let whole = Tree::parse(call).expect("a valid call");
    if value(&reading.tree) == value(&whole) {
        Outcome::Right
    } else {
        Outcome::Other(reading.tree.to_json())
    }
}

/// Damages a call with one or two defects; `None` if one finds no place, or both find the same.
fn damaged(call: &str, first: &Damage, second: Option<&Damage>, dice: &mut Dice) -> Option<String> {
    let mut edits = Vec::new();
    for damage in [Some(first), second].into_iter().flatten() {
        if let Damage::Tokens(damage) = damage {
            let more = damage(call, dice);
            if more.is_empty() {
                return None;
            }
            edits.extend(more);
        }
    }
    let mut text = apply(call, edits)?;
    for damage in [Some(first), second].into_iter().flatten() {
        if let Damage::Whole(damage) = damage {
            text = damage(&text);
        }
    }
    Some(text)
}

/// Scores every call with every defect at up to three places, with a second defect if `twice`.
fn run(policy: &Policy, twice: bool) -> (Score, BTreeMap<&'static str, Score>) {
    let mut all = Score::default();
    let mut by_defect: BTreeMap<&str, Score> = BTreeMap::new();
    let show = std::env::var_os("GOODCALL_SHOW").is_some();
    for (number, call) in CALLS.iter().enumerate() {
        for (index, (name, damage)) in DEFECTS.iter().enumerate() {
            for turn in 0..3 {
                let mut dice = Dice::new((number * 1000 + index * 10 + turn + 1) as u64);
                let second = twice.then(|| &DEFECTS[dice.below(DEFECTS.len())].1);
                let Some(damaged) = damaged(call, damage, second, &mut dice) else {
                    continue;
                };
                let score = by_defect.entry(name).or_default();
                match judge(&damaged, call, policy) {
                    Outcome::Right => {
                        score.right += 1;
                        all.right += 1;
                    }
                    Outcome::Refused => {
                        score.refused += 1;
                        all.refused += 1;
                    }
                    Outcome::Other(got) => {
                        score.other += 1;
                        all.other += 1;
                        if show {
                            println!("{name}\n  damaged {damaged}\n  got     {got}");
                        }
                    }
                }
            }
        }
    }
    (all, by_defect)
}

fn report(title: &str, all: Score, by_defect: &BTreeMap<&str, Score>) {
    println!(
        "{title}: {} texts, {}‰ right, {}‰ refused, {}‰ silently other",
        all.total(),
        all.per_mille(all.right),
        all.per_mille(all.refused),
        all.per_mille(all.other)
    );
    for (name, score) in by_defect {
        if score.other + score.refused > 0 {
            println!(
                "  {name}: {} right, {} refused, {} other",
                score.right, score.refused, score.other
            );
        }
    }
}

/// The recorded scores are the numbers of texts that were read right, refused, and read as something
/// else. A change that improves them records its scores here.
#[test]
fn scores_are_as_recorded() {
    for (policy, name, twice, recorded) in [
        (Policy::eager(), "eager, one defect", false, [2974, 43, 1]),
        (Policy::eager(), "eager, two defects", true, [2121, 99, 11]),
        (Policy::safe(), "safe, one defect", false, [2206, 812, 0]),
        (Policy::safe(), "safe, two defects", true, [1195, 1036, 0]),
    ] {
        let (all, by_defect) = run(&policy, twice);
        report(name, all, &by_defect);
        assert_eq!([all.right, all.refused, all.other], recorded, "{name}");
    }
}

/// Returns true if everything in `part` is also in `whole`, with equal scalars.
fn is_within(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => (part.iter())
            .all(|(key, value)| whole.get(key).is_some_and(|whole| is_within(value, whole))),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len()
                && (part.iter().zip(whole)).all(|(part, whole)| is_within(part, whole))
        }
        _ => part == whole,
    }
}

/// A prefix of a call may lack its last brackets, but never a part of a value.
#[test]
fn prefix_is_never_a_call_with_half_a_value() {
    let schema = Schema::compile(&serde_json::json!({})).expect("a schema");
    let gate = Gate::new(&schema).policy(Policy::eager());
    let value = |tree: &Tree<'_>| serde_json::from_str::<Value>(&tree.to_json()).expect("JSON");
    let (mut calls, mut halves) = (0, String::new());
    for (number, call) in CALLS.iter().enumerate() {
        let whole = value(&Tree::parse(call).expect("a valid call"));
        for (index, (name, damage)) in DEFECTS.iter().enumerate() {
            let mut dice = Dice::new((number * 1000 + index * 10 + 1) as u64);
            let Some(text) = damaged(call, damage, None, &mut dice) else {
                continue;
            };
            let right = gate.check(&text).arguments().map(value) == Some(whole.clone());
            for end in (1..text.len()).filter(|end| right && text.is_char_boundary(*end)) {
                // A closed string is a whole value.
                if text[..end].ends_with(['"', '\'', '`', '”']) {
                    continue;
                }
                let Some(part) = gate.check(&text[..end]).arguments().map(value) else {
                    continue;
                };
                calls += 1;
                if !is_within(&part, &whole) {
                    halves += &format!("{name}: {}\n  {part}\n", &text[..end]);
                }
            }
        }
    }
    println!("{calls} prefixes that lack only brackets");
    assert!(calls > 1000);
    assert!(halves.is_empty(), "{halves}");
}
