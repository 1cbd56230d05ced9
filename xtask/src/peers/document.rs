//! Writes `docs/benchmarks.md` and its charts from the results.

mod calls;
mod frameworks;
mod mended;
mod pages;
mod rest;
mod targets;
mod texts;
mod traps;

use std::fmt::Write as _;

use serde_json::Value;

use super::write as write_file;
use crate::Failure;

const HEAD: &str = "# Benchmarks

goodcall beside what one would pick instead of it. A section that names a command shows what that command
wrote. All others were measured by `cargo xtask peers`, which sets up the peers from their registries, writes
[benchmarks/results.json](benchmarks/results.json), and writes this page from that. No figure is
written by hand.

Instructions and allocations are counted by valgrind and are the same on every run. Times are not:
they are the best of several rounds on a machine that may have had other work, and say something only beside
the others of the same table.

`.ci/gateway-bench` measures what [the gateway](gateway.md#what-it-costs) adds to a request, and
`.ci/mcp-bench` what [the MCP proxy](mcp.md) adds to a call.
[What was not measured](limits.md#what-was-not-measured) is a section of its own.
";

/// Writes the document and the charts.
pub(super) fn write(results: &Value) -> Result<(), Failure> {
    let mut text = HEAD.to_owned();
    machine(&mut text, &results["machine"]);
    targets::table(&mut text, results);
    if results["valid"].is_object() {
        calls::valid(&mut text, &results["valid"])?;
    }
    if results["refused"].is_array() {
        calls::refused(&mut text, &results["refused"]);
    }
    if results["first"].is_array() {
        calls::first(&mut text, &results["first"]);
    }
    if results["broken"].is_array() {
        mended::broken(&mut text, &results["broken"])?;
    }
    if results["growth"].is_array() {
        mended::growth(&mut text, &results["growth"])?;
    }
    if results["traps"].is_object() {
        traps::table(&mut text, &results["traps"])?;
    }
    if results["texts"].is_array() {
        texts::table(&mut text, &results["texts"]);
    }
    if results["size"].is_object() {
        rest::size(&mut text, &results["size"])?;
    }
    pages::languages(&mut text)?;
    frameworks::table(&mut text)?;
    pages::audit(&mut text)?;
    write_file("docs/benchmarks.md", &text)
}

/// Writes a chart and links to it.
fn chart(text: &mut String, name: &str, what: &str, svg: &str) -> Result<(), Failure> {
    let _ = writeln!(text, "\n![{what}](benchmarks/{name}.svg)\n");
    write_file(&format!("docs/benchmarks/{name}.svg"), svg)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Formats a number with separators of thousands.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn machine(text: &mut String, machine: &Value) {
    let tools: Vec<&str> = items(&machine["tools"]).map(name).collect();
    let _ = writeln!(
        text,
        "\nMachine: {}, {} cores, {}. Tools: {}.",
        name(&machine["processor"]),
        machine["cores"],
        name(&machine["system"]),
        tools.join(", ")
    );
    let versions = |map: &Value| {
        let list = map.as_object().into_iter().flatten();
        let list = list.map(|(peer, version)| format!("{peer} {}", name(version)));
        list.collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(text, "\nRust crates: {}.", versions(&machine["crates"]));
    for (language, script) in machine["scripts"].as_object().into_iter().flatten() {
        let _ = writeln!(text, "{language}: {}.", versions(&script["peers"]));
        for missing in items(&script["missing"]).map(name) {
            let _ = writeln!(
                text,
                "Not installed for {language}, hence not measured: {missing}."
            );
        }
    }
}
