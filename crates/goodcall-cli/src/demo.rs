//! `goodcall demo`: the whole idea in one screen, with no set-up.

use anstream::println;
use goodcall_core::{Explain, Policy, StopReason, Style, Verdict, clip};
use goodcall_wire::{RawCall, Tools};

use crate::CliError;

/// Characters per line.
const MOST_CHARS: usize = 88;

const TOOLS: &str = r#"[
  {"name": "read_file", "parameters": {"type": "object", "properties": {
    "file_path": {"type": "string"},
    "offset": {"type": "integer", "minimum": 0},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000}},
    "required": ["file_path"], "additionalProperties": false}},
  {"name": "create_issue", "parameters": {"type": "object", "properties": {
    "title": {"type": "string"},
    "labels": {"type": "array", "items": {"type": "string"}},
    "priority": {"enum": ["low", "medium", "high"]}},
    "required": ["title", "priority"]}},
  {"name": "run_command", "parameters": {"type": "object", "properties": {
    "command": {"type": "string"}}, "required": ["command"]}},
  {"name": "send_message", "parameters": {"type": "object", "properties": {
    "channel_id": {"type": "string"}, "text": {"type": "string"}},
    "required": ["channel_id", "text"]}}
]"#;

/// Calls as models send them: what is odd about each, the tool's name, the arguments.
const CALLS: [(&str, &str, &str); 8] = [
    (
        "nothing is wrong",
        "read_file",
        r#"{"file_path": "src/main.rs", "limit": 50}"#,
    ),
    (
        "another key style, null for an optional value, a number in quotes",
        "read_file",
        r#"{"filePath": "src/main.rs", "offset": null, "limit": "50"}"#,
    ),
    (
        "a list inside a string, a value in another case, a comma too many",
        "create_issue",
        r#"{"title": "Crash on start", "labels": "[\"bug\", \"ui\"]", "priority": "High",}"#,
    ),
    (
        "an id that a float would round, and that should have been text",
        "send_message",
        r#"{"channel_id": 1097432659012349951, "text": "done"}"#,
    ),
    (
        "cut off: closing the quote and the brace would run another command",
        "run_command",
        r#"{"command": "rm -rf /var/cache/build"#,
    ),
    (
        "several mistakes, none of which has one certain reading",
        "create_issue",
        r#"{"labels": "bug", "priority": "urgent"}"#,
    ),
    (
        "two calls in one",
        "read_file",
        r#"{"file_path": "a.txt"}{"file_path": "b.txt"}"#,
    ),
    ("no such tool", "read_flie", r#"{"file_path": "a.txt"}"#),
];

pub(crate) fn run() -> Result<bool, CliError> {
    let tools = Tools::read(TOOLS).map_err(|error| error.to_string())?;
    println!("Eight calls as models send them, and what becomes of each.");
    for (what, name, raw) in CALLS {
        let call = RawCall::new(&tools, name, raw);
        let verdict = call.check(&tools, &Policy::safe(), StopReason::Unknown);
        let (colour, lines) = match &verdict {
            Verdict::Good(_) => ("32", vec!["goes to the tool as it was sent".to_owned()]),
            Verdict::Mended(mended) => {
                let mut lines: Vec<_> = mended.changes.iter().map(|c| c.sentence()).collect();
                lines.push(format!("the tool gets {}", mended.arguments));
                ("33", lines)
            }
            Verdict::Bad(bad) => {
                let text = Explain::new(Style::Model).tool(name).text(bad);
                ("31", text.lines().map(str::to_owned).collect())
            }
        };
        println!("\n\x1b[1;{colour}m{:6}\x1b[0m {what}", verdict.name());
        println!("       \x1b[2m{name} {}\x1b[0m", clip(raw, MOST_CHARS));
        for line in lines.iter().flat_map(|line| wrapped(line)) {
            println!("       {line}");
        }
    }
    println!("\nNext: goodcall check --tools FILE --tool NAME FILE, or goodcall --help.");
    Ok(true)
}

/// Breaks a line between words into pieces that fit a screen.
fn wrapped(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for word in line.split(' ') {
        match out.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if last.chars().count() + word.chars().count() < MOST_CHARS => {
                last.push(' ');
                last.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}
