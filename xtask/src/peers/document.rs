//! Writes `docs/benchmarks.md` and its charts from the results.

mod mended;
mod rest;
mod traps;

use std::fmt::Write as _;

use serde_json::Value;

use super::chart::{Bar, bars, nanos_text};
use super::write as write_file;
use crate::Failure;

const HEAD: &str = "# Benchmarks

goodcall beside what one would pick instead of it. Everything below was measured by
`cargo xtask peers`, which sets up the peers from their registries, writes
[benchmarks/results.json](benchmarks/results.json), and writes this page from that. No figure is
written by hand.

Instructions and allocations are counted by valgrind and are the same on every run. Times are not:
they are the best of several rounds on a machine that may have had other work, and say something only beside
the others of the same table.
";

/// Writes the document and the charts.
pub(super) fn write(results: &Value) -> Result<(), Failure> {
    let mut text = HEAD.to_owned();
    machine(&mut text, &results["machine"]);
    if results["valid"].is_object() {
        valid(&mut text, &results["valid"])?;
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
    if results["size"].is_object() {
        rest::size(&mut text, &results["size"])?;
    }
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

fn valid(text: &mut String, valid: &Value) -> Result<(), Failure> {
    let rows: Vec<&Value> = items(&valid["instructions"]).collect();
    let find = |wanted: &str| rows.iter().find(|row| row["name"] == wanted);
    let of = |wanted: &str| find(wanted).map_or(f64::NAN, |row| number(&row["instructions"]));
    let base = of("serde_json");
    let calls = find("serde_json").map_or(0, |row| row["calls"].as_u64().unwrap_or(0));
    let _ = write!(
        text,
        "\n## A valid call, bytes to verdict\n\n\
         {calls} valid calls to 12 tools, the samples of\n\
         [goodcall-core](../crates/goodcall-core/benches/calls.jsonl). Schemas are compiled before.\n"
    );
    let list: Vec<Bar> = rows
        .iter()
        .map(|row| {
            let ratio = number(&row["instructions"]) / base;
            Bar {
                label: name(&row["what"]).to_owned(),
                value: ratio,
                text: format!("{ratio:.2} ×"),
                ours: name(&row["what"]).starts_with("goodcall"),
            }
        })
        .collect();
    let title = "Instructions for a valid call, as a multiple of serde_json";
    chart(text, "valid", title, &bars(title, &list))?;
    text.push_str(
        "| | instructions per call | × serde_json | without LTO | × serde_json | allocations per call | accepted |\n|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let plain = find("serde_json").map_or(f64::NAN, |row| number(&row["usual"]));
    for row in &rows {
        let (each, usual) = (number(&row["instructions"]), number(&row["usual"]));
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {} | {:.2} | {:.1} | {} of {calls} |",
            name(&row["what"]),
            grouped(each),
            each / base,
            grouped(usual),
            usual / plain,
            number(&row["allocations"]),
            row["accepted"],
        );
    }
    text.push_str(
        "\nThe first two columns are of a program built with `lto = \"thin\"` and `codegen-units = 1`, the next\n\
         two of one built with cargo's own release profile, as most are.\n",
    );
    targets(
        text,
        [
            of("serde_json"),
            of("goodcall"),
            of("goodcall-value"),
            of("toolguard"),
        ],
    );
    times(text, valid)
}

/// Writes the targets and whether they are met.
fn targets(text: &mut String, [base, verdict, with_value, toolguard]: [f64; 4]) {
    let targets = [
        ("the verdict, × serde_json", verdict / base, "at most", 0.60),
        (
            "with a `Value`, × serde_json",
            with_value / base,
            "at most",
            1.1,
        ),
        (
            "ToolGuard (lenient) / goodcall",
            toolguard / verdict,
            "at least",
            15.0,
        ),
    ];
    text.push_str("\n| target | measured | wanted | |\n|---|---:|---:|---|\n");
    for (what, measured, word, wanted) in targets {
        let met = if word == "at most" {
            measured <= wanted
        } else {
            measured >= wanted
        };
        let met = if met { "met" } else { "missed" };
        let _ = writeln!(text, "| {what} | {measured:.2} | {word} {wanted} | {met} |");
    }
}

fn times(text: &mut String, valid: &Value) -> Result<(), Failure> {
    let rows: Vec<&Value> = items(&valid["times"]).collect();
    let label = |row: &Value| {
        let mode = items(&valid["instructions"]).find(|mode| mode["name"] == row["name"]);
        name(mode.map_or(&row["name"], |mode| &mode["what"])).to_owned()
    };
    let base = rows.iter().find(|row| row["name"] == "serde_json");
    let base = base.map_or(f64::NAN, |row| number(&row["nanos"]));
    text.push_str(
        "\nThe same calls on the clock, with the peers of other languages. zod's schemas come from\n\
         `z.fromJSONSchema`, without conditions, which it does not take. The types for pydantic and\n\
         msgspec are built from the same schemas, without what types do not say: conditions and formats,\n\
         and for msgspec unions of records.\n",
    );
    let list: Vec<Bar> = rows
        .iter()
        .map(|row| Bar {
            label: label(row),
            value: number(&row["nanos"]),
            text: nanos_text(number(&row["nanos"])),
            ours: name(&row["name"]).starts_with("goodcall"),
        })
        .collect();
    let title = "Time for a valid call";
    chart(text, "valid-times", title, &bars(title, &list))?;
    text.push_str("| | time per call | × serde_json |\n|---|---:|---:|\n");
    for row in rows {
        let nanos = number(&row["nanos"]);
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} |",
            label(row),
            nanos_text(nanos),
            nanos / base
        );
    }
    Ok(())
}
