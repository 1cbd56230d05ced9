//! Runs the case files in `cases/`.

use std::collections::BTreeMap;

use crate::support::{Case, run_folder};
use goodcall_core::{
    Change, CutKind, Explain, Gate, Issue, IssueKind, Limits, Policy, ReadOptions, Schema,
    StopReason, Style, Verdict, read,
};

const INPUTS: [&str; 7] = [
    "schema",
    "keys",
    "raw",
    "raw-escaped",
    "policy",
    "stop",
    "tool",
];

#[test]
fn gate() {
    run_folder("gate", &INPUTS, check);
}

#[test]
fn mend() {
    run_folder("mend", &INPUTS, check);
}

#[test]
fn explain() {
    run_folder("explain", &INPUTS, check);
}

#[test]
fn schemas() {
    run_folder("schemas", &INPUTS, check);
}

#[test]
fn parse() {
    run_folder("parse", &INPUTS, parse_case);
}

fn policy(case: &Case) -> Policy {
    case.get("policy")
        .unwrap_or("safe")
        .parse()
        .expect("a policy")
}

fn stop(case: &Case) -> StopReason {
    match case.get("stop") {
        Some("finished") => StopReason::Finished,
        Some("cut-off") => StopReason::CutOff,
        _ => StopReason::Unknown,
    }
}

/// Checks a call: schema and raw text in; verdict, arguments, changes, issues and texts out.
fn check(case: &Case) -> BTreeMap<String, String> {
    let schema = case
        .get("schema")
        .unwrap_or_else(|| panic!("{}: no schema", case.name));
    let schema = serde_json::from_str(schema).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let schema = Schema::compile(&schema).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let raw = case.raw();
    let tool = case.get("tool").unwrap_or("tool").to_owned();
    let gate = Gate::new(&schema)
        .policy(policy(case))
        .stop(stop(case))
        .tool(&tool);
    let verdict = gate.check(&raw);
    // The verdict does not depend on how much is said about it.
    let limits = Limits::default().max_issues(0);
    let short = gate.clone().limits(limits).check(&raw);
    assert_eq!(short.name(), verdict.name(), "{}", case.name);
    if let (Verdict::Bad(short), Verdict::Bad(bad)) = (&short, &verdict) {
        assert_eq!(short.reason, bad.reason, "{}", case.name);
    }
    let mut out = BTreeMap::new();
    let warnings = lines(schema.warnings(), ToString::to_string);
    out.insert("warnings".to_owned(), warnings);
    let mut name = verdict.name().to_owned();
    if let Verdict::Bad(bad) = &verdict {
        name = format!("{name} {}", bad.reason);
        out.insert("issues".to_owned(), lines(&bad.issues, issue));
        for &style in Style::ALL {
            let text = Explain::new(style).tool(&tool).text(bad);
            out.insert(style.name().to_owned(), text);
        }
    }
    out.insert("verdict".to_owned(), name);
    if let Some(arguments) = verdict.arguments() {
        out.insert("arguments".to_owned(), arguments.to_json());
    }
    out.insert("changes".to_owned(), lines(verdict.changes(), change));
    out
}

/// Reads a text: raw text in; value, changes or error out.
fn parse_case(case: &Case) -> BTreeMap<String, String> {
    let raw = case.raw();
    let mut out = BTreeMap::new();
    let keys = case.get("keys").unwrap_or_default().split_whitespace();
    let options = ReadOptions::new()
        .policy(policy(case))
        .stop(stop(case))
        .keys(keys);
    match read(&raw, &options) {
        Ok(reading) => {
            let complete = match &reading.cut {
                None => "yes".to_owned(),
                Some(cut) => {
                    let kind = match cut.kind {
                        CutKind::Brackets => "brackets missing",
                        CutKind::Inside => "cut inside",
                    };
                    format!("{kind} at {}", place(cut.pointer.as_str()))
                }
            };
            out.insert("complete".to_owned(), complete);
            out.insert("several".to_owned(), reading.values.to_string());
            out.insert("value".to_owned(), reading.tree.to_json());
            out.insert("changes".to_owned(), lines(&reading.changes, change));
        }
        Err(bad) => {
            out.insert("error".to_owned(), bad.reason.to_string());
            out.insert("issues".to_owned(), lines(&bad.issues, issue));
            out.insert("changes".to_owned(), lines(&bad.changes, change));
        }
    }
    out
}

fn lines<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Formats a change as `rule level place: before -> after`, with raw text quoted.
fn change(change: &Change) -> String {
    let show = |side: &Option<goodcall_core::Snippet>| match side {
        None => "nothing".to_owned(),
        Some(text) if change.is_text => format!("{text:?}"),
        Some(text) => text.to_string(),
    };
    let (rule, level, place) = (
        change.rule,
        change.level.name(),
        place(change.pointer.as_str()),
    );
    let from = match &change.from {
        Some(from) => format!(" (from {})", self::place(from.as_str())),
        None => String::new(),
    };
    let (before, after) = (show(&change.before), show(&change.after));
    format!("{rule} {level} {place}: {before} -> {after}{from}")
}

/// Formats an issue as `kind place @span: actual`.
fn issue(issue: &Issue) -> String {
    let got = issue
        .actual
        .as_ref()
        .map_or("nothing".to_owned(), |got| got.to_string());
    let (code, place, span) = (
        issue.kind.name(),
        place(issue.pointer.as_str()),
        &issue.span,
    );
    let nearest = match &issue.nearest {
        Some(nearest) => format!(" nearest {nearest}"),
        None => String::new(),
    };
    let readings = match issue.kind {
        IssueKind::Ambiguous => format!(" readings {}", issue.expected.allowed.join(" | ")),
        _ => String::new(),
    };
    format!(
        "{code} {place} @{}..{}: {got}{nearest}{readings}",
        span.start, span.end
    )
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() {
        "(root)"
    } else {
        pointer
    }
}
