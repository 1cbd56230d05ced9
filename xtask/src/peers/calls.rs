//! Measures calls: instructions and allocations of the Rust peers for valid calls, refused ones and those
//! whose schema is compiled first, and times of all peers for valid calls.

use serde_json::{Value, json};

use super::program::{Programs, Script};
use crate::Failure;
use crate::callgrind::{allocations_a_call, instructions_a_call};

const CALLS: &str = "crates/goodcall-core/benches/calls.jsonl";
/// The number of rounds. Peers take turns, so that other work on the machine affects all of them.
const ROUNDS: usize = 5;

/// Returns the rows of both tables of valid calls.
pub(super) fn measure(programs: &Programs) -> Result<Value, Failure> {
    Ok(json!({"instructions": counted(programs, "valid")?, "times": times(programs)?}))
}

/// Returns the rows of the table of refused calls.
pub(super) fn refused(programs: &Programs) -> Result<Value, Failure> {
    counted(programs, "refused")
}

/// Returns the rows of the table of schemas that are compiled for one call, with their times.
pub(super) fn first(programs: &Programs) -> Result<Value, Failure> {
    let mut rows = counted(programs, "first")?;
    for row in rows.as_array_mut().into_iter().flatten() {
        let mode = row["name"].as_str().expect("counted() names each row");
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            best = best.min(number(&programs.ask(&["--time", mode])?)?);
        }
        row["nanos"] = json!(best.round());
    }
    Ok(rows)
}

/// Counts the instructions and allocations of each mode of a list.
fn counted(programs: &Programs, list: &str) -> Result<Value, Failure> {
    let modes = programs.ask(&["--modes", list])?;
    let mut rows = Vec::new();
    for line in modes.lines() {
        let [name, what, right, count] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(Failure::Found(format!("unreadable mode: {line}")));
        };
        let each = instructions_a_call(&programs.rust, &["--once", name], &[], [5, 105])?;
        let usual = instructions_a_call(&programs.usual, &["--once", name], &[], [5, 105])?;
        let allocations = allocations_a_call(&programs.rust, &["--once", name], [5, 15])?;
        eprintln!("   {what}: {each:.0} instructions, {allocations:.1} allocations");
        rows.push(json!({
            "name": name,
            "what": what,
            "instructions": each.round(),
            "usual": usual.round(),
            "allocations": allocations,
            "right": right.parse::<usize>().ok(),
            "calls": count.parse::<usize>().ok(),
        }));
    }
    Ok(rows.into())
}

/// Returns the nanoseconds per call, the best of all rounds.
fn times(programs: &Programs) -> Result<Value, Failure> {
    let rust = [
        "serde_json",
        "goodcall",
        "goodcall-value",
        "jsonschema",
        "toolguard",
    ];
    let mut best: Vec<(String, f64)> = Vec::new();
    let mut keep = |name: String, nanos: f64| match best.iter_mut().find(|(n, _)| *n == name) {
        Some((_, least)) => *least = least.min(nanos),
        None => best.push((name, nanos)),
    };
    for _ in 0..ROUNDS {
        for mode in rust {
            let nanos = number(&programs.ask(&["--time", mode])?)?;
            keep(mode.to_owned(), nanos);
        }
        for script in &programs.scripts {
            for (name, nanos) in scripted(script)? {
                keep(name, nanos);
            }
        }
    }
    let rows = best
        .iter()
        .map(|(name, nanos)| json!({"name": name, "nanos": nanos.round()}));
    Ok(rows.collect())
}

/// Returns the peers of a script and their nanoseconds per call.
fn scripted(script: &Script) -> Result<Vec<(String, f64)>, Failure> {
    if script.peers.is_empty() {
        return Ok(Vec::new());
    }
    let text = script.ask(&["valid", CALLS])?;
    let times: serde_json::Map<String, Value> = serde_json::from_str(&text)
        .map_err(|error| Failure::Found(format!("{}: {error}: {text}", script.language)))?;
    let times = times.into_iter();
    Ok(times
        .filter_map(|(name, nanos)| Some((name, nanos.as_f64()?)))
        .collect())
}

pub(super) fn number(text: &str) -> Result<f64, Failure> {
    let number = text.trim().parse();
    number.map_err(|error| Failure::Found(format!("{text}: {error}")))
}
