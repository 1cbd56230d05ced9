//! `goodcall parse`.

use std::borrow::Cow;

use goodcall_core::{Policy, ReadOptions, Reading, Reason, Refusal, read};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::report::{ChangeLine, IssueLine, raw, write};
use crate::{Failure, ParseArgs, input, lines, show};

pub(crate) fn run(args: &ParseArgs) -> Result<bool, Failure> {
    if args.jsonl {
        return lines::pump(args.file.as_deref(), |line, out| answer(args, line, out));
    }
    let bytes = input::read_all(args.file.as_deref())?;
    let name = input::name(args.file.as_deref());
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            // As for every text that cannot be read: the answer is no, not that something failed.
            anstream::println!("{name}: not UTF-8 at byte {}", error.valid_up_to());
            return Ok(false);
        }
    };
    match read(text, &options(args.policy.clone())) {
        Ok(reading) => {
            show::reading(name, text, &reading);
            if reading.is_several() {
                anstream::eprintln!("{name}: several values in a row, shown as an array of them");
            }
            Ok(reading.is_complete())
        }
        Err(bad) => {
            show::unreadable(name, text, &bad);
            Ok(false)
        }
    }
}

/// Whole documents are read: JSON inside a string at the root counts.
fn options(policy: Policy) -> ReadOptions {
    ReadOptions::new().policy(policy).unwrap_strings(true)
}

/// One input line.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    input: Cow<'l, str>,
    #[serde(borrow)]
    policy: Option<Cow<'l, str>>,
}

/// One output line.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'l> {
    Read {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'l RawValue>,
        value: Option<Box<RawValue>>,
        changes: Vec<ChangeLine>,
        complete: bool,
        /// Several values stood in the text; `value` is the array of them.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        several: bool,
    },
    Failed {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'l RawValue>,
        error: Trouble,
    },
}

#[derive(Serialize)]
struct Trouble {
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    issues: Vec<IssueLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
}

fn answer(args: &ParseArgs, line: Result<&str, String>, out: &mut String) {
    let known = line.as_ref().ok().and_then(|text| lines::id(text));
    let line = line.and_then(|text| {
        serde_json::from_str::<Line<'_>>(text).map_err(|error| format!("not a request: {error}"))
    });
    let line = match line {
        Ok(line) => line,
        Err(message) => return write(&failed(known, message), out),
    };
    let policy = match line.policy.as_deref().map(str::parse::<Policy>) {
        None => args.policy.clone(),
        Some(Ok(policy)) => policy,
        Some(Err(error)) => return write(&failed(line.id, error.to_string()), out),
    };
    match read(&line.input, &options(policy)) {
        Ok(reading) => write(&read_line(line.id, &reading), out),
        Err(bad) => write(&unreadable(line.id, &bad), out),
    }
}

fn read_line<'l>(id: Option<&'l RawValue>, reading: &Reading<'_>) -> Answer<'l> {
    Answer::Read {
        id,
        value: raw(reading.tree.to_json()),
        changes: reading.changes.iter().map(ChangeLine::new).collect(),
        complete: reading.is_complete(),
        several: reading.is_several(),
    }
}

fn unreadable<'l>(id: Option<&'l RawValue>, bad: &Refusal) -> Answer<'l> {
    let position = bad.issues.first().map(|issue| issue.span.start);
    Answer::Failed {
        id,
        error: Trouble {
            reason: bad.reason.name(),
            message: bad.summary(),
            issues: bad.issues.iter().map(IssueLine::new).collect(),
            position: position.filter(|_| bad.reason != Reason::Empty),
        },
    }
}

fn failed(id: Option<&RawValue>, message: String) -> Answer<'_> {
    Answer::Failed {
        id,
        error: Trouble {
            reason: "bad_line",
            message,
            issues: Vec::new(),
            position: None,
        },
    }
}
