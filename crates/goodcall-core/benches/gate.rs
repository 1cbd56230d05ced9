//! The time from bytes to verdict, as a multiple of the time of serde_json for the same bytes.
//!
//! `cargo bench -p goodcall-core --bench gate [-- FILE]` runs all modes in turns and prints the
//! median of the ratios of all rounds, and the ratio of the best rounds, which other work on the
//! machine changes least. FILE (or `GOODCALL_CALLS`) brings other calls: JSON lines with
//! `schema`, `valid` and `invalid`. `--once MODE PASSES [FILE]` runs one mode alone, for
//! `cargo xtask callgrind`; `--modes` lists them.

mod support;

use std::error::Error;
use std::time::Instant;

use support::{Calls, MODES, Mode};

const ROUNDS: usize = 150;
/// The time of each mode per round: short, so that a loaded machine seldom interrupts it.
const SLICE_NANOS: u128 = 1_500_000;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` and `cargo test` add flags of their own.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--modes"] => {
            for mode in &MODES {
                let target = mode.target.map_or("-".to_owned(), |t| t.to_string());
                println!("{}\t{}\t{target}\t{}", mode.name, mode.valid, mode.what);
            }
            Ok(())
        }
        ["--once", mode, passes] => once(mode, passes, None),
        ["--once", mode, passes, file] => once(mode, passes, Some(file)),
        ["--test"] => compare(None, 1),
        [] => compare(None, ROUNDS),
        [file] => compare(Some(file), ROUNDS),
        _ => Err("usage: [FILE] | --modes | --once MODE PASSES [FILE]".into()),
    }
}

/// Reads the file that is named on the command line or in the environment.
fn source(file: Option<&str>) -> Result<String, Box<dyn Error>> {
    let named = std::env::var("GOODCALL_CALLS").ok();
    support::text(file.or(named.as_deref()))
}

/// Runs one mode a number of times, and prints the number of calls per pass.
fn once(name: &str, passes: &str, file: Option<&str>) -> Result<(), Box<dyn Error>> {
    let mode = MODES.iter().find(|mode| mode.name == name);
    let mode = mode.ok_or_else(|| format!("no mode `{name}`"))?;
    let text = source(file)?;
    let tools = support::tools(&text)?;
    let all = support::calls(&text, &tools)?;
    for _ in 0..passes.parse::<usize>()? {
        std::hint::black_box(mode.pass(&all));
    }
    println!("{}", mode.count(&all));
    Ok(())
}

fn compare(file: Option<&str>, rounds: usize) -> Result<(), Box<dyn Error>> {
    let text = source(file)?;
    let tools = support::tools(&text)?;
    let all = support::calls(&text, &tools)?;
    println!("{} schemas, {rounds} rounds", all.len());
    let passes: Vec<usize> = MODES.iter().map(|mode| calibrate(mode, &all)).collect();
    let mut nanos = vec![Vec::with_capacity(rounds); MODES.len()];
    for _ in 0..rounds {
        for (index, mode) in MODES.iter().enumerate() {
            nanos[index].push(nanos_a_call(mode, &all, passes[index]));
        }
    }
    let base = |valid| MODES.iter().position(|mode| mode.valid == valid);
    for (index, mode) in MODES.iter().enumerate() {
        let base = base(mode.valid).unwrap_or_default();
        let ratios = nanos[index].iter().zip(&nanos[base]).map(|(a, b)| a / b);
        let best = best(&nanos[index]) / best(&nanos[base]);
        report(
            mode,
            best,
            median(nanos[index].clone()),
            median(ratios.collect()),
        );
    }
    Ok(())
}

/// Returns the number of passes that fill a slice.
fn calibrate(mode: &Mode, all: &[Calls<'_>]) -> usize {
    mode.pass(all);
    let start = Instant::now();
    mode.pass(all);
    let one = start.elapsed().as_nanos().max(1);
    (SLICE_NANOS / one).max(1) as usize
}

fn nanos_a_call(mode: &Mode, all: &[Calls<'_>], passes: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..passes {
        std::hint::black_box(mode.pass(all));
    }
    start.elapsed().as_nanos() as f64 / (passes * mode.count(all)) as f64
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn best(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

fn report(mode: &Mode, best: f64, nanos: f64, ratio: f64) {
    let calls = if mode.valid { "valid" } else { "invalid" };
    let target = match mode.target {
        Some(most) if ratio <= most => format!("target {most}: met"),
        Some(most) => format!("target {most}: MISSED"),
        None => String::new(),
    };
    let what = mode.what;
    println!("{calls:8}{what:44}{nanos:8.0} ns a call{ratio:8.3} x (best {best:.3} x)  {target}");
}
