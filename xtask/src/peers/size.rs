//! The size of the command, its start, its build and its dependencies.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::program::{Programs, SCRATCH};
use crate::Failure;
use crate::callgrind::{cargo, output};

const STARTS: usize = 30;
/// The crates whose dependencies are counted, besides our own.
const CRATES: [&str; 8] = [
    "goodcall-core",
    "jsonschema",
    "boon",
    "toolguard-core",
    "jsonrepair-rs",
    "jsonfix",
    "llm_json",
    "serde_json",
];

/// Builds the command in an empty folder, and measures it.
pub(super) fn measure(programs: &Programs) -> Result<Value, Failure> {
    let target = format!("{SCRATCH}/command");
    if let Err(error) = std::fs::remove_dir_all(&target)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(Failure::Unusable(format!("{target}: {error}")));
    }
    let build = build(&target)?;
    let program = format!("{target}/release/goodcall");
    let bytes = std::fs::metadata(&program)
        .map_err(|error| Failure::Unusable(format!("{program}: {error}")))?
        .len();
    let check = [
        "check",
        "--tools",
        "examples/tools.json",
        "--tool",
        "read_file",
    ];
    let mut starts = vec![
        start("goodcall --version", || arguments(&program, &["--version"]))?,
        start("goodcall check, one call", || {
            let mut command = arguments(&program, &check);
            command.arg("examples/good.json");
            command
        })?,
        start("node, nothing to do", || arguments("node", &["-e", "0"]))?,
        start("python3, nothing to do", || {
            arguments("python3", &["-c", "0"])
        })?,
    ];
    for script in programs.scripts.iter().filter(|s| !s.peers.is_empty()) {
        for peer in script.peers.keys() {
            let what = format!("{peer} loaded ({})", script.language);
            starts.push(start(&what, || script.command(&["load", peer]))?);
        }
    }
    let mut dependencies =
        vec![json!({"crate": "goodcall-cli", "count": count(None, "goodcall-cli")?})];
    for name in CRATES {
        let count = count(Some("benches/peers/Cargo.toml"), name)?;
        dependencies.push(json!({"crate": name, "count": count}));
    }
    Ok(json!({
        "build_cpu_seconds": build,
        "bytes": bytes,
        "starts": starts.into_iter().flatten().collect::<Vec<_>>(),
        "dependencies": dependencies,
    }))
}

/// Builds the command into an empty folder and returns the seconds of processor time, which other work
/// on the machine hardly changes.
fn build(target: &str) -> Result<f64, Failure> {
    let cargo = cargo().get_program().to_string_lossy().into_owned();
    let script = "TIMEFORMAT='%U %S'; { time \"$@\" 2>/dev/null; } 2>&1";
    let mut command = arguments(
        "bash",
        &["-c", script, "bash", &cargo, "build", "--release"],
    );
    command.args(["--locked", "--package=goodcall-cli"]);
    let times = output(command.arg(format!("--target-dir={target}")))?;
    let last = times.lines().last().unwrap_or_default();
    let seconds = last
        .split(' ')
        .map(str::parse::<f64>)
        .sum::<Result<f64, _>>();
    seconds.map_err(|error| Failure::Found(format!("{times}: {error}")))
}

fn arguments(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// Returns the milliseconds from start to end, the best and the median; `None` if it does not run.
fn start(what: &str, command: impl Fn() -> Command) -> Result<Option<Value>, Failure> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        if output(&mut command()).is_err() {
            return Ok(None);
        }
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let row = json!({"what": what, "best": times[0], "median": times[STARTS / 2]});
    eprintln!("   {row}");
    Ok(Some(row))
}

/// Counts the dependencies of a crate.
fn count(manifest: Option<&str>, name: &str) -> Result<usize, Failure> {
    let mut command = cargo();
    command.args([
        "tree",
        "--locked",
        "--edges=normal",
        "--prefix=none",
        "--format={p}",
    ]);
    if let Some(manifest) = manifest {
        command.arg(format!("--manifest-path={manifest}"));
    }
    let list = output(command.args(["--package", name]))?;
    let crates: BTreeSet<&str> = list
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    Ok(crates.len() - 1)
}
