//! Tests that damaged calls are read as they were meant or refused, and hardly ever as something else.

mod defects;

use std::collections::BTreeMap;

use defects::{CALLS, DEFECTS, Damage, Dice, apply};
use goodcall_core::{CutKind, Gate, Policy, ReadOptions, Schema, StopReason, Tree, read};
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

/// Reads a damaged call. At eager the host says that the model had finished.
fn judge(damaged: &str, call: &str, policy: &Policy) -> Outcome {
    let finished = *policy == Policy::eager();
    let stop = if finished {
        StopReason::Finished
    } else {
        StopReason::Unknown
    };
    let options = ReadOptions::new().policy(policy.clone()).stop(stop);
    let Ok(reading) = read(damaged, &options) else {
        return Outcome::Refused;
    };
    let cut = reading.cut.as_ref();
    let cut = cut.is_some_and(|cut| cut.kind == CutKind::Inside || !finished);
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
                        if show {
                            println!("{name}\n  refused {damaged}");
                        }
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
        (Policy::eager(), "eager, one defect", false, [2991, 27, 0]),
        (Policy::eager(), "eager, two defects", true, [2176, 55, 0]),
        (Policy::safe(), "safe, one defect", false, [2209, 809, 0]),
        (Policy::safe(), "safe, two defects", true, [1202, 1029, 0]),
    ] {
        let (all, by_defect) = run(&policy, twice);
        report(name, all, &by_defect);
        assert_eq!([all.right, all.refused, all.other], recorded, "{name}");
    }
}

/// A prefix of a call is cut off, whatever would close its brackets: it is refused, or it is the
/// whole call because only what may be left out is missing.
#[test]
fn prefix_is_never_another_call() {
    let schema = Schema::compile(&serde_json::json!({})).expect("a schema");
    let value = |tree: &Tree<'_>| serde_json::from_str::<Value>(&tree.to_json()).expect("JSON");
    let (mut prefixes, mut others) = (0, String::new());
    for (number, call) in CALLS.iter().enumerate() {
        let whole = value(&Tree::parse(call).expect("a valid call"));
        let mut texts = vec![("no defect", (*call).to_owned())];
        for (index, (name, damage)) in DEFECTS.iter().enumerate() {
            for turn in 0..2 {
                let mut dice = Dice::new((number * 1000 + index * 10 + turn + 1) as u64);
                let second = (turn > 0).then(|| &DEFECTS[dice.below(DEFECTS.len())].1);
                let damaged = damaged(call, damage, second, &mut dice);
                texts.extend(damaged.map(|text| (*name, text)));
            }
        }
        for policy in [Policy::safe(), Policy::eager()] {
            let gate = Gate::new(&schema).policy(policy);
            for (name, text) in &texts {
                for end in (1..text.len()).filter(|end| text.is_char_boundary(*end)) {
                    prefixes += 1;
                    let part = gate.check(&text[..end]).arguments().map(value);
                    if let Some(part) = part.filter(|part| *part != whole) {
                        others += &format!("{name}: {}\n  {part}\n", &text[..end]);
                    }
                }
            }
        }
    }
    println!("{prefixes} prefixes");
    assert!(prefixes > 100_000);
    assert!(others.is_empty(), "{others}");
}
