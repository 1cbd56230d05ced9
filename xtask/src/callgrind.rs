//! Instructions a call, counted by valgrind: the same on every run, however loaded the machine is.
//!
//! Each mode of the benchmark runs twice with different numbers of passes; the difference is free
//! of start-up and compiling.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::Failure;

const FEW: usize = 5;
const MANY: usize = 105;

/// Counts every mode; the argument names a file of other calls.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let program = build()?;
    let modes = output(Command::new(&program).arg("--modes"))?;
    let mut base = 1.0;
    let mut base_is_valid = "";
    for line in modes.lines() {
        let [name, valid, target, what] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(Failure::Found(format!("unreadable mode: {line}")));
        };
        let each = instructions_a_call(&program, name, args)?;
        if base_is_valid != valid {
            (base, base_is_valid) = (each, valid);
        }
        let ratio = each / base;
        let target = match target.parse::<f64>() {
            Ok(most) if ratio <= most => format!("target {most}: met"),
            Ok(most) => format!("target {most}: MISSED"),
            Err(_) => String::new(),
        };
        let calls = if valid == "true" { "valid" } else { "invalid" };
        println!("{calls:8}{what:44}{each:8.0} instructions a call{ratio:8.3} x  {target}");
    }
    Ok(())
}

/// Builds the benchmark; its path.
fn build() -> Result<PathBuf, Failure> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let messages = output(Command::new(cargo).args([
        "bench",
        "--package=goodcall-core",
        "--bench=gate",
        "--no-run",
        "--message-format=json",
    ]))?;
    let program = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_bench =
            message["target"]["name"] == "gate" && message["target"]["kind"][0] == "bench";
        let path = message["executable"].as_str().filter(|_| is_bench)?;
        Some(PathBuf::from(path))
    });
    program.ok_or_else(|| Failure::Found("cargo built no benchmark".to_owned()))
}

fn instructions_a_call(program: &PathBuf, mode: &str, file: &[String]) -> Result<f64, Failure> {
    let (few, calls) = count(program, mode, FEW, file)?;
    let (many, _) = count(program, mode, MANY, file)?;
    Ok((many - few) / ((MANY - FEW) as f64 * calls))
}

/// Instructions of a whole run, and calls a pass.
fn count(
    program: &PathBuf,
    mode: &str,
    passes: usize,
    file: &[String],
) -> Result<(f64, f64), Failure> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
        .arg(program)
        .args(["--once", mode, &passes.to_string()]);
    let run = command.args(file).output().map_err(|error| {
        Failure::Unusable(format!(
            "valgrind: {error}; install it to count instructions"
        ))
    })?;
    let (out, log) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    let collected = log
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    match (
        collected.and_then(|n| n.trim().parse().ok()),
        out.trim().parse(),
    ) {
        (Some(instructions), Ok(calls)) => Ok((instructions, calls)),
        _ => Err(Failure::Found(format!("{mode}: no count in\n{out}{log}"))),
    }
}

fn output(command: &mut Command) -> Result<String, Failure> {
    let run = command
        .output()
        .map_err(|error| Failure::Unusable(error.to_string()))?;
    if !run.status.success() {
        return Err(Failure::Found(
            String::from_utf8_lossy(&run.stderr).into_owned(),
        ));
    }
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}
