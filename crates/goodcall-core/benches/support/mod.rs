//! The calls of the benchmarks, and the modes in which they are judged.

use std::error::Error;

use goodcall_core::{Gate, Limits, Policy, Schema, Verdict};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

mod typed;

use typed::Typed;

/// Own tool schemas with valid and invalid calls, in the form that a file may bring more.
const OWN: &str = include_str!("../calls.jsonl");

#[derive(Deserialize)]
struct Row<'a> {
    schema: Value,
    #[serde(borrow)]
    valid: Vec<&'a RawValue>,
    #[serde(borrow)]
    invalid: Vec<&'a RawValue>,
}

/// A schema, ready for both validators.
pub(crate) struct Tool {
    schema: Schema,
    peer: jsonschema::Validator,
}

/// The calls to one tool, as bytes.
pub(crate) struct Calls<'t> {
    lenient: Gate<'t>,
    strict: Gate<'t>,
    reason_only: Gate<'t>,
    peer: &'t jsonschema::Validator,
    valid: Vec<Box<[u8]>>,
    invalid: Vec<Box<[u8]>>,
}

/// Reads the rows of a file, or our own.
pub(crate) fn text(file: Option<&str>) -> Result<String, Box<dyn Error>> {
    match file {
        Some(path) => std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}").into()),
        None => Ok(OWN.to_owned()),
    }
}

/// Compiles every schema of the rows. The peer gets invalid forms as we read them.
pub(crate) fn tools(text: &str) -> Result<Vec<Tool>, Box<dyn Error>> {
    let rows = text.lines().map(serde_json::from_str::<Row<'_>>);
    rows.map(|row| {
        let schema = Schema::options().formats(true).compile(&row?.schema)?;
        let peer = jsonschema::options()
            .should_validate_formats(true)
            .build(schema.document())?;
        Ok(Tool { schema, peer })
    })
    .collect()
}

/// Reads the calls of the rows. Each is checked once, so that no call is measured in a wrong mode.
pub(crate) fn calls<'t>(text: &str, tools: &'t [Tool]) -> Result<Vec<Calls<'t>>, Box<dyn Error>> {
    let bytes = |list: Vec<&RawValue>| list.iter().map(|raw| raw.get().as_bytes().into()).collect();
    let mut all = Vec::new();
    for (line, tool) in text.lines().zip(tools) {
        let row: Row<'_> = serde_json::from_str(line)?;
        let calls = Calls {
            lenient: Gate::new(&tool.schema),
            strict: Gate::new(&tool.schema).policy(Policy::strict()),
            reason_only: Gate::new(&tool.schema)
                .policy(Policy::eager())
                .limits(Limits::default().max_issues(0)),
            peer: &tool.peer,
            valid: bytes(row.valid),
            invalid: bytes(row.invalid),
        };
        for raw in &calls.valid {
            if !matches!(calls.lenient.check_bytes(raw), Verdict::Good(_)) {
                return Err(format!("not valid: {}", String::from_utf8_lossy(raw)).into());
            }
        }
        for raw in &calls.invalid {
            if !matches!(calls.strict.check_bytes(raw), Verdict::Bad(_)) {
                return Err(format!("valid: {}", String::from_utf8_lossy(raw)).into());
            }
        }
        all.push(calls);
    }
    Ok(all)
}

/// A mode: one way to judge a call.
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// True for a mode that runs on the valid calls.
    pub(crate) valid: bool,
    /// The most times the cost of serde_json that it may take.
    pub(crate) target: Option<f64>,
    judge: fn(&Calls<'_>, &[u8]) -> usize,
}

impl Mode {
    /// The number of calls in one pass.
    pub(crate) fn count(&self, all: &[Calls<'_>]) -> usize {
        let raws = |calls: &Calls<'_>| {
            if self.valid {
                calls.valid.len()
            } else {
                calls.invalid.len()
            }
        };
        all.iter().map(raws).sum()
    }

    /// Judges every call once. The sum keeps the work from being optimised away.
    pub(crate) fn pass(&self, all: &[Calls<'_>]) -> usize {
        let mut kept = 0;
        for calls in all {
            let raws = if self.valid {
                &calls.valid
            } else {
                &calls.invalid
            };
            for raw in raws {
                kept += std::hint::black_box((self.judge)(calls, raw));
            }
        }
        kept
    }
}

const fn mode(
    name: &'static str,
    what: &'static str,
    valid: bool,
    target: Option<f64>,
    judge: fn(&Calls<'_>, &[u8]) -> usize,
) -> Mode {
    Mode {
        name,
        what,
        valid,
        target,
        judge,
    }
}

/// Every mode; those on valid calls compare with the first, those on invalid ones with `parse-bad`.
pub(crate) const MODES: [Mode; 11] = [
    mode(
        "parse",
        "serde_json::from_slice::<Value>",
        true,
        None,
        parse,
    ),
    mode("verdict", "verdict only", true, Some(0.45), verdict),
    mode("value", "verdict and Value", true, Some(1.0), value),
    mode("typed", "verdict and typed value", true, None, typed),
    mode("peer", "serde_json + jsonschema", true, None, peer),
    mode(
        "parse-bad",
        "serde_json::from_slice::<Value>",
        false,
        None,
        parse,
    ),
    mode(
        "verdict-bad",
        "verdict with all issues",
        false,
        Some(4.5),
        verdict_bad,
    ),
    mode(
        "mended",
        "verdict, mended where possible",
        false,
        None,
        mended,
    ),
    mode(
        "reason",
        "verdict without issues, mended eagerly",
        false,
        None,
        reason,
    ),
    mode(
        "peer-bad",
        "serde_json + jsonschema, errors",
        false,
        None,
        peer_bad,
    ),
    mode(
        "peer-text",
        "serde_json + jsonschema, errors and texts",
        false,
        None,
        peer_text,
    ),
];

fn parse(_: &Calls<'_>, raw: &[u8]) -> usize {
    usize::from(serde_json::from_slice::<Value>(raw).is_ok())
}

fn verdict(calls: &Calls<'_>, raw: &[u8]) -> usize {
    usize::from(calls.lenient.check_bytes(raw).arguments().is_some())
}

fn value(calls: &Calls<'_>, raw: &[u8]) -> usize {
    let verdict = calls.lenient.check_bytes(raw);
    let value = verdict.arguments().map(goodcall_core::Tree::to_value);
    usize::from(std::hint::black_box(value).is_some())
}

fn typed(calls: &Calls<'_>, raw: &[u8]) -> usize {
    let verdict = calls.lenient.check_bytes(raw);
    let value = verdict.arguments().map(|tree| {
        let typed = tree.deserialize::<Typed<'_>>();
        typed.is_ok_and(|typed| std::hint::black_box(typed).is_some())
    });
    usize::from(value.is_some())
}

fn peer(calls: &Calls<'_>, raw: &[u8]) -> usize {
    let value = serde_json::from_slice::<Value>(raw);
    usize::from(value.is_ok_and(|value| calls.peer.is_valid(&value)))
}

fn verdict_bad(calls: &Calls<'_>, raw: &[u8]) -> usize {
    calls.strict.check_bytes(raw).issues().len()
}

fn mended(calls: &Calls<'_>, raw: &[u8]) -> usize {
    calls.lenient.check_bytes(raw).changes().len()
}

fn reason(calls: &Calls<'_>, raw: &[u8]) -> usize {
    calls.reason_only.check_bytes(raw).changes().len()
}

fn peer_bad(calls: &Calls<'_>, raw: &[u8]) -> usize {
    let value = serde_json::from_slice::<Value>(raw).unwrap_or_default();
    let errors: Vec<_> = calls.peer.iter_errors(&value).collect();
    std::hint::black_box(&errors).len()
}

fn peer_text(calls: &Calls<'_>, raw: &[u8]) -> usize {
    let value = serde_json::from_slice::<Value>(raw).unwrap_or_default();
    let errors = calls.peer.iter_errors(&value);
    let texts = errors.map(|error| (error.to_string(), error.instance_path().to_string()));
    let texts: Vec<_> = texts.collect();
    std::hint::black_box(&texts).len()
}
