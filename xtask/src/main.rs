//! Tasks of this repository: `cargo xtask NAME`.

mod callgrind;
mod canitoolcall;
mod conformance;
mod corpus;
mod dist;
mod growth;
mod peers;
mod recording;
mod tidy;
mod wheel;
mod wording;

use std::process::ExitCode;

/// The reason why a task failed.
pub(crate) enum Failure {
    /// A check found something.
    Found(String),
    /// The task could not run.
    Unusable(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Found(message)
    }
}

type Task = fn(&[String]) -> Result<(), Failure>;

const TASKS: &[(&str, &str, Task)] = &[
    (
        "conformance",
        "DIR: the official JSON-Schema-Test-Suite, through our own tree",
        conformance::run,
    ),
    (
        "callgrind",
        "[FILE | --check | --bless]: instructions a call, of every mode of the benchmark",
        callgrind::run,
    ),
    (
        "canitoolcall",
        "[DIR] [--show] [--only TEXT]: a public suite of calls in the texts of open models",
        canitoolcall::run,
    ),
    (
        "corpus",
        "DIR: what mending does to recorded calls whose truth is known",
        |args| corpus::run(args).map_err(Failure::Unusable),
    ),
    (
        "dist",
        "[command|python|npm|crates]… [--target TARGET]: what a release consists of, into target/dist",
        dist::run,
    ),
    (
        "growth",
        "[--check | [BYTES] [json|calls]]: shapes of broken text on which reading is not linear",
        growth::run,
    ),
    (
        "peers",
        "[SECTION]…: goodcall beside others, written to docs/benchmarks.md",
        peers::run,
    ),
    (
        "recording",
        "[--check]: what a terminal shows of the demo, as docs/demo.svg",
        recording::run,
    ),
    (
        "tidy",
        "the layout rules and the direction of dependencies",
        tidy::run,
    ),
    (
        "wheel",
        "[--quick]: the wheel for Python, into target/wheels",
        wheel::run,
    ),
    (
        "wording",
        "[--fetch] [--half choose|quote] [WORDING]…: what a small model makes of our texts",
        wording::run,
    ),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let named = args.first().map(String::as_str).unwrap_or_default();
    let Some((_, _, task)) = TASKS.iter().find(|(name, _, _)| *name == named) else {
        eprintln!("usage: cargo xtask TASK");
        for (name, what, _) in TASKS {
            eprintln!("  {name:14}{what}");
        }
        return ExitCode::from(2);
    };
    match task(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Found(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
        Err(Failure::Unusable(message)) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
