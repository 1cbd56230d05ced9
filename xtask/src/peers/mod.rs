//! `cargo xtask peers`: compares goodcall with its alternatives.
//!
//! Peers are installed from their registries into `target/peers`. Results are kept in
//! `docs/benchmarks/results.json`, and `docs/benchmarks.md` and its charts are written from that file
//! alone. Sections can be measured alone: `cargo xtask peers valid traps`.

mod answers;
mod broken;
mod calls;
mod chart;
mod document;
mod machine;
mod program;
mod size;
mod texts;

pub(crate) use chart::escape;

use serde_json::{Map, Value};

use crate::Failure;
use program::Programs;

const RESULTS: &str = "docs/benchmarks/results.json";

type Measure = fn(&Programs) -> Result<Value, Failure>;

/// The sections, in the order of the document.
const SECTIONS: [(&str, Measure); 8] = [
    ("valid", calls::measure),
    ("refused", calls::refused),
    ("first", calls::first),
    ("broken", broken::measure),
    ("growth", broken::growth),
    ("traps", answers::measure),
    ("texts", texts::measure),
    ("size", size::measure),
];

/// Measures the named sections, or all, and writes the document. `document` measures nothing.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let known =
        |name: &String| name == "document" || SECTIONS.iter().any(|(section, _)| section == name);
    if let Some(unknown) = args.iter().find(|name| !known(name)) {
        let names = SECTIONS.map(|(name, _)| name).join(" | ");
        return Err(Failure::Unusable(format!(
            "no section `{unknown}`; usage: peers [{names} | document]…"
        )));
    }
    std::fs::create_dir_all("docs/benchmarks").map_err(|e| Failure::Unusable(e.to_string()))?;
    let wanted = |name: &&str| args.is_empty() || args.iter().any(|arg| arg == name);
    let sections = || SECTIONS.iter().filter(|(name, _)| wanted(name));
    if sections().next().is_some() {
        let programs = Programs::set_up()?;
        keep("machine", machine::describe(&programs)?)?;
        for (name, measure) in sections() {
            eprintln!("-- {name}");
            // Saved after each section, so that a failure does not lose the sections before it.
            keep(name, measure(&programs)?)?;
        }
    }
    document::write(&Value::Object(results()?))
}

fn results() -> Result<Map<String, Value>, Failure> {
    match std::fs::read_to_string(RESULTS) {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|error| Failure::Unusable(format!("{RESULTS}: {error}"))),
        Err(_) => Ok(Map::new()),
    }
}

fn keep(section: &str, result: Value) -> Result<(), Failure> {
    let mut results = results()?;
    results.insert(section.to_owned(), result);
    let text = serde_json::to_string_pretty(&results).map_err(|e| Failure::Found(e.to_string()))?;
    write(RESULTS, &(text + "\n"))
}

fn write(path: &str, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::Unusable(format!("{path}: {error}")))
}
