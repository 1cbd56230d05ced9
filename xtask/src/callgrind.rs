//! Instructions per call, counted by valgrind: the same on every run, however loaded the machine is.
//!
//! Each mode of the benchmark runs twice with different numbers of passes; the difference excludes
//! start-up and the compilation of schemas. With `--check` the counts of our own modes are compared with those
//! in `benches/instructions.tsv`, which `--bless` writes.

mod guard;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Failure;

const FEW: usize = 5;
const MANY: usize = 105;
/// The counts of a mode of the benchmark.
struct Count {
    name: String,
    valid: bool,
    target: Option<f64>,
    what: String,
    each: f64,
}

/// Counts every mode. The argument names a file of other calls, or what to do with the counts.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--check"] => guard::check(&counts(&[])?),
        ["--bless"] => guard::bless(&counts(&[])?),
        [] => print(&counts(&[])?),
        [file] if !file.starts_with('-') => print(&counts(&[file])?),
        _ => Err(Failure::Unusable(
            "usage: callgrind [FILE | --check | --bless]".to_owned(),
        )),
    }
}

fn counts(file: &[&str]) -> Result<Vec<Count>, Failure> {
    let program = build("gate")?;
    let modes = output(Command::new(&program).arg("--modes"))?;
    let count = |line: &str| {
        let [name, valid, target, what] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(Failure::Found(format!("unreadable mode: {line}")));
        };
        Ok(Count {
            name: name.to_owned(),
            valid: valid == "true",
            target: target.parse().ok(),
            what: what.to_owned(),
            each: instructions_a_call(&program, &["--once", name], file, [FEW, MANY])?,
        })
    };
    modes.lines().map(count).collect()
}

/// Prints each mode as a multiple of the first one on the same calls.
fn print(counts: &[Count]) -> Result<(), Failure> {
    for count in counts {
        let base = counts.iter().find(|base| base.valid == count.valid);
        let ratio = count.each / base.map_or(1.0, |base| base.each);
        let target = match count.target {
            Some(most) if ratio <= most => format!("target {most}: met"),
            Some(most) => format!("target {most}: MISSED"),
            None => String::new(),
        };
        let calls = if count.valid { "valid" } else { "invalid" };
        let Count { what, each, .. } = count;
        println!("{calls:8}{what:44}{each:8.0} instructions a call{ratio:8.3} x  {target}");
    }
    Ok(())
}

/// Builds all benchmarks that are counted, and returns the path of one of them. Packages that are
/// built alone have other features, and would be built again.
pub(crate) fn build(bench: &str) -> Result<PathBuf, Failure> {
    let messages = output(cargo().args([
        "bench",
        "--package=goodcall-core",
        "--package=goodcall-wire",
        "--bench=gate",
        "--bench=growth",
        "--no-run",
        "--message-format=json",
    ]))?;
    executable(&messages, bench, "bench")
}

/// Finds the program of this name and kind in the messages of cargo.
pub(crate) fn executable(messages: &str, name: &str, kind: &str) -> Result<PathBuf, Failure> {
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let target = &message["target"];
        let is_meant = target["name"] == name && target["kind"][0] == kind;
        let path = message["executable"].as_str().filter(|_| is_meant)?;
        Some(PathBuf::from(path))
    });
    program.ok_or_else(|| Failure::Found(format!("cargo built no {kind} {name}")))
}

/// Returns the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
}

/// Counts the instructions per call of `program START… PASSES END…`, which prints its calls per pass.
pub(crate) fn instructions_a_call(
    program: &Path,
    start: &[&str],
    end: &[&str],
    passes: [usize; 2],
) -> Result<f64, Failure> {
    let callgrind = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let run = |passes| count((&callgrind, "Collected :"), program, start, passes, end);
    a_call(run, passes)
}

/// Counts the allocations per call in the same way.
pub(crate) fn allocations_a_call(
    program: &Path,
    start: &[&str],
    passes: [usize; 2],
) -> Result<f64, Failure> {
    let memcheck = ["--tool=memcheck", "--undef-value-errors=no"];
    let run = |passes| {
        count(
            (&memcheck, "total heap usage:"),
            program,
            start,
            passes,
            &[],
        )
    };
    a_call(run, passes)
}

/// Divides the difference of two runs by passes and by calls per pass.
fn a_call(
    run: impl Fn(usize) -> Result<(f64, f64), Failure>,
    passes: [usize; 2],
) -> Result<f64, Failure> {
    let (few, calls) = run(passes[0])?;
    let (many, _) = run(passes[1])?;
    Ok((many - few) / ((passes[1] - passes[0]) as f64 * calls))
}

/// Returns the count that a tool of valgrind prints after these words, and the calls per pass.
fn count(
    (tool, words): (&[&str], &str),
    program: &Path,
    start: &[&str],
    passes: usize,
    end: &[&str],
) -> Result<(f64, f64), Failure> {
    let mut command = Command::new("valgrind");
    command.args(tool);
    command.arg(program).args(start).arg(passes.to_string());
    let run = command.args(end).output().map_err(|error| {
        Failure::Unusable(format!(
            "valgrind: {error}; install it to count instructions"
        ))
    })?;
    let (out, log) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    // `words 1,234 more words`
    let counted = log.lines().find_map(|line| line.split(words).nth(1));
    let counted = counted.and_then(|rest| rest.split_whitespace().next());
    let counted = counted.and_then(|number| number.replace(',', "").parse().ok());
    match (counted, out.trim().parse()) {
        (Some(counted), Ok(calls)) => Ok((counted, calls)),
        _ => Err(Failure::Found(format!(
            "{start:?}: no count in\n{out}{log}"
        ))),
    }
}

/// Returns the output of a command that succeeds.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let run = command
        .output()
        .map_err(|error| Failure::Unusable(format!("{:?}: {error}", command.get_program())))?;
    if !run.status.success() {
        return Err(Failure::Found(
            String::from_utf8_lossy(&run.stderr).into_owned(),
        ));
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}
