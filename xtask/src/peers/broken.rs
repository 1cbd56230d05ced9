//! Measures reading broken text: instructions, times, and growth with the length.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::answers::same;
use super::program::{Programs, SCRATCH, Timed, within};
use crate::Failure;
use crate::callgrind::{instructions_a_call, output};

/// The time after which a reader is stopped, per text of the growth table.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// The same for the texts that are like what models write.
pub(super) const MORE_PATIENCE: Duration = Duration::from_secs(60);
/// The number of rounds; the best one counts.
const ROUNDS: usize = 3;

/// A text in a file.
struct Text {
    path: String,
    name: String,
    bytes: usize,
}

/// Returns the command for a task and a file.
type Run<'p> = dyn Fn(&str, &str) -> Command + 'p;

/// A reader of broken text, and how to run it.
struct Mender<'p> {
    name: String,
    /// The command that measures (`mend`) or shows (`mend-value`) what it makes of a file.
    run: Box<Run<'p>>,
    is_rust: bool,
}

/// Measures every mender on the texts whose name has one of these sizes and no shape.
pub(super) fn measure(programs: &Programs) -> Result<Value, Failure> {
    let menders = menders(programs)?;
    let mut rows = Vec::new();
    let texts = texts(programs)?;
    for text in texts.iter().filter(|text| is_plain(&text.name)) {
        let mut cells = Vec::new();
        for mender in &menders {
            let mut cell = cell(mender, text, ROUNDS, MORE_PATIENCE)?;
            if mender.is_rust {
                let start = ["--mend-once", &mender.name, &text.path];
                let passes = if text.bytes < 100_000 {
                    [5, 105]
                } else {
                    [1, 3]
                };
                let each = instructions_a_call(&programs.rust, &start, &[], passes)?;
                cell["instructions"] = json!(each.round());
            }
            cell["right"] = json!(is_right(mender, text)?);
            eprintln!("   {}, {}: {cell}", text.name, mender.name);
            cells.push(cell);
        }
        rows.push(json!({"text": text.name, "bytes": text.bytes, "cells": cells}));
    }
    Ok(rows.into())
}

/// Measures every mender on difficult shapes at three sizes.
pub(super) fn growth(programs: &Programs) -> Result<Value, Failure> {
    let menders = menders(programs)?;
    let texts = texts(programs)?;
    let shaped: Vec<&Text> = texts.iter().filter(|text| !is_plain(&text.name)).collect();
    let mut rows = Vec::new();
    for sizes in shaped.chunk_by(|a, b| shape(&a.name) == shape(&b.name)) {
        let name = shape(&sizes[0].name);
        let bytes: Vec<usize> = sizes.iter().map(|text| text.bytes).collect();
        let mut cells = Vec::new();
        for mender in &menders {
            let mut times = Vec::new();
            for text in sizes {
                let cell = cell(mender, text, 1, PATIENCE)?;
                let stopped = cell["nanos"].is_null();
                times.push(cell);
                if stopped {
                    break;
                }
            }
            cells.push(json!({"mender": mender.name, "times": times}));
        }
        eprintln!("   {name}");
        rows.push(json!({"shape": name, "bytes": bytes, "cells": cells}));
    }
    Ok(rows.into())
}

fn is_plain(name: &str) -> bool {
    name.starts_with("valid") || name.starts_with("broken")
}

fn shape(name: &str) -> &str {
    name.rsplit_once(", ").map_or(name, |(shape, _)| shape)
}

fn texts(programs: &Programs) -> Result<Vec<Text>, Failure> {
    let folder = format!("{SCRATCH}/texts");
    std::fs::create_dir_all(&folder).map_err(|e| Failure::Unusable(e.to_string()))?;
    let list = programs.ask(&["--texts", &folder])?;
    let text = |line: &str| {
        let [file, name, bytes] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(Failure::Found(format!("unreadable text: {line}")));
        };
        Ok(Text {
            path: format!("{folder}/{file}"),
            name: name.to_owned(),
            bytes: bytes.parse().unwrap_or_default(),
        })
    };
    list.lines().map(text).collect()
}

fn menders(programs: &Programs) -> Result<Vec<Mender<'_>>, Failure> {
    let mut menders: Vec<Mender<'_>> = Vec::new();
    for name in programs.ask(&["--menders"])?.lines().map(str::to_owned) {
        let peer = name.clone();
        menders.push(Mender {
            name,
            is_rust: true,
            run: Box::new(move |task, path| {
                let mut command = Command::new(&programs.rust);
                command.args([&format!("--{task}"), &peer, path]);
                command
            }),
        });
    }
    for script in programs.scripts.iter().filter(|s| !s.peers.is_empty()) {
        for name in script.ask(&["menders"])?.lines().map(str::to_owned) {
            let peer = name.clone();
            menders.push(Mender {
                name,
                is_rust: false,
                run: Box::new(move |task, path| script.command(&[task, &peer, path])),
            });
        }
    }
    Ok(menders)
}

/// Returns true if a mender reads a text as it is meant.
fn is_right(mender: &Mender<'_>, text: &Text) -> Result<bool, Failure> {
    let path = format!("{}.right", text.path);
    let right = std::fs::read_to_string(&path)
        .map_err(|error| Failure::Unusable(format!("{path}: {error}")))?;
    let right: Value = serde_json::from_str(&right).map_err(|e| Failure::Found(e.to_string()))?;
    let Ok(read) = output(&mut (mender.run)("mend-value", &text.path)) else {
        return Ok(false);
    };
    Ok(serde_json::from_str(&read).is_ok_and(|read| same(&right, &read)))
}

/// Returns the nanoseconds and whether the text was read, or what happened instead.
fn cell(mender: &Mender<'_>, text: &Text, rounds: usize, most: Duration) -> Result<Value, Failure> {
    let mut best: Option<(f64, bool)> = None;
    for _ in 0..rounds {
        let out = match within(&mut (mender.run)("mend", &text.path), most)? {
            Timed::Done(out) => out,
            Timed::Late => return Ok(json!({"mender": mender.name, "late": most.as_secs()})),
            Timed::Failed(how) => return Ok(json!({"mender": mender.name, "failed": how})),
        };
        let parts = out.trim().split_once('\t');
        let parts = parts.and_then(|(nanos, read)| Some((nanos.parse().ok()?, read == "true")));
        let Some((nanos, read)) = parts else {
            return Err(Failure::Found(format!(
                "{}: unreadable: {out}",
                mender.name
            )));
        };
        best = Some(best.map_or((nanos, read), |(least, _)| (nanos.min(least), read)));
    }
    let (nanos, read) = best.unwrap_or_default();
    Ok(json!({"mender": mender.name, "nanos": nanos.round(), "read": read}))
}
