//! `goodcall parse`.

use std::borrow::Cow;

use goodcall_core::{Change, Issue, Policy, ReadOptions, Reading, Reason, Refusal, Tree, read};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::jsonl_output::write;
use crate::{CliError, ParseArgs, input, jsonl, render};

pub(crate) fn run(args: &ParseArgs) -> Result<bool, CliError> {
    if args.jsonl {
        return jsonl::pump(args.file.as_deref(), |line, out| answer(args, line, out));
    }
    let bytes = input::read_all(args.file.as_deref())?;
    let name = input::name(args.file.as_deref());
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            // As for every text that cannot be read, the exit code is 1 and not 2.
            anstream::println!("{name}: not UTF-8 at byte {}", error.valid_up_to());
            return Ok(false);
        }
    };
    match read(text, &options(args.policy.clone())) {
        Ok(reading) => {
            render::reading(name, text, &reading);
            if reading.is_several() {
                anstream::eprintln!("{name}: several values in a row, shown as an array of them");
            }
            Ok(reading.is_complete())
        }
        Err(bad) => {
            render::unreadable(name, text, &bad);
            Ok(false)
        }
    }
}

/// Reads whole documents. A JSON string at the root is that string, whatever it holds.
fn options(policy: Policy) -> ReadOptions {
    ReadOptions::new().policy(policy)
}

/// One input line of `parse --jsonl`.
#[derive(Deserialize)]
struct ParseRequest<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    input: Cow<'l, str>,
    #[serde(borrow)]
    policy: Option<Cow<'l, str>>,
}

/// One output line of `parse --jsonl`.
#[derive(Serialize)]
#[serde(untagged)]
enum ParseAnswer<'l> {
    Read {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'l RawValue>,
        value: &'l Tree<'l>,
        changes: &'l [Change],
        complete: bool,
        /// Whether the text has several values; `value` is the array of them then.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        several: bool,
    },
    Failed {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'l RawValue>,
        error: ParseFailure<'l>,
    },
}

#[derive(Serialize)]
struct ParseFailure<'l> {
    reason: &'static str,
    message: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    issues: &'l [Issue],
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
}

fn answer(args: &ParseArgs, line: Result<&str, String>, out: &mut String) {
    let known = line.as_ref().ok().and_then(|text| jsonl::id_of(text));
    let line = line.and_then(|text| {
        serde_json::from_str::<ParseRequest<'_>>(text)
            .map_err(|error| format!("not a request: {error}"))
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

fn read_line<'l>(id: Option<&'l RawValue>, reading: &'l Reading<'_>) -> ParseAnswer<'l> {
    ParseAnswer::Read {
        id,
        value: &reading.tree,
        changes: &reading.changes,
        complete: reading.is_complete(),
        several: reading.is_several(),
    }
}

fn unreadable<'l>(id: Option<&'l RawValue>, bad: &'l Refusal) -> ParseAnswer<'l> {
    let position = bad.issues.first().map(|issue| issue.span.start);
    ParseAnswer::Failed {
        id,
        error: ParseFailure {
            reason: bad.reason.name(),
            message: bad.summary(),
            issues: &bad.issues,
            position: position.filter(|_| bad.reason != Reason::Empty),
        },
    }
}

fn failed(id: Option<&RawValue>, message: String) -> ParseAnswer<'_> {
    ParseAnswer::Failed {
        id,
        error: ParseFailure {
            reason: "bad_line",
            message,
            issues: &[],
            position: None,
        },
    }
}
