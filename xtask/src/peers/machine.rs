//! The machine, the tools and the versions of a measurement.

use std::process::Command;

use serde_json::{Value, json};

use super::program::{Programs, locked};
use crate::Failure;
use crate::callgrind::output;

const CRATES: [&str; 9] = [
    "serde_json",
    "jsonschema",
    "boon",
    "toolguard-core",
    "sonic-rs",
    "jiter",
    "jsonrepair-rs",
    "jsonfix",
    "llm_json",
];

/// Returns the machine and the versions as data.
pub(super) fn describe(programs: &Programs) -> Result<Value, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tools = [
        ("rustc", "--version"),
        ("valgrind", "--version"),
        ("node", "--version"),
        ("python3", "--version"),
    ];
    let tools = tools.map(|(tool, flag)| {
        let version = output(Command::new(tool).arg(flag)).unwrap_or_default();
        let version = version.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = version.to_lowercase().starts_with(&tool[..4]);
        match (version.is_empty(), named) {
            (true, _) => format!("no {tool}"),
            (false, true) => version,
            (false, false) => format!("{tool} {version}"),
        }
    });
    let scripts = programs.scripts.iter().map(|script| {
        let parts = json!({"peers": script.peers, "missing": script.missing});
        (script.language.to_owned(), parts)
    });
    Ok(json!({
        "processor": processor(),
        "cores": cores,
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "tools": tools,
        "crates": locked(&CRATES)?,
        "scripts": Value::Object(scripts.collect()),
    }))
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split(':').nth(1));
    name.unwrap_or("unknown processor").trim().to_owned()
}
