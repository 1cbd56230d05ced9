//! The tables of calls that are valid, refused, or the first to a tool.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::chart::{Bar, bars, nanos_text};
use super::{chart, grouped, items, name, number};
use crate::Failure;

/// Writes the tables of valid calls.
pub(super) fn valid(text: &mut String, valid: &Value) -> Result<(), Failure> {
    let rows: Vec<&Value> = items(&valid["instructions"]).collect();
    let first = rows.first().copied().unwrap_or(&Value::Null);
    let (base, calls) = (number(&first["instructions"]), &first["calls"]);
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
    counts(text, &rows, "accepted");
    text.push_str(
        "\nThe first two columns are of a program built with `lto = \"thin\"` and `codegen-units = 1`, the next\n\
         two of one built with cargo's own release profile, as most are.\n",
    );
    times(text, valid)
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

/// Writes the table of refused calls.
pub(super) fn refused(text: &mut String, rows: &Value) {
    let rows: Vec<&Value> = items(rows).collect();
    let calls = rows.first().map_or(&Value::Null, |row| &row["calls"]);
    let _ = write!(
        text,
        "\n## A refused call\n\n\
         {calls} calls to the same tools that do not fit their schemas, nothing mended (`strict`): every issue\n\
         with its place, what was expected and what was sent, and the text that tells the model what to rewrite.\n\n"
    );
    counts(text, &rows, "refused");
}

/// Writes the table of schemas that are compiled for one call.
pub(super) fn first(text: &mut String, rows: &Value) {
    text.push_str(
        "\n## The first call to a tool\n\n\
         The schema is compiled, and one valid call is judged by it. The gateway and the MCP proxy compile\n\
         the schema of a tool when it is first called, so that a request with a hundred tools pays for those that\n\
         are called; `Tools` in Python and Node compile all when they are made, and refuse a bad schema there.\n\n\
         | | instructions | without LTO | allocations | time |\n|---|---:|---:|---:|---:|\n",
    );
    for row in items(rows) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.1} | {} |",
            name(&row["what"]),
            grouped(number(&row["instructions"])),
            grouped(number(&row["usual"])),
            number(&row["allocations"]),
            nanos_text(number(&row["nanos"])),
        );
    }
}

/// Writes a table of counts, as multiples of the first row.
fn counts(text: &mut String, rows: &[&Value], outcome: &str) {
    let _ = writeln!(
        text,
        "| | instructions per call | × serde_json | without LTO | × serde_json | allocations per call | {outcome} |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    let Some(first) = rows.first() else { return };
    let (base, plain) = (number(&first["instructions"]), number(&first["usual"]));
    for row in rows {
        let (each, usual) = (number(&row["instructions"]), number(&row["usual"]));
        let outcome = match row["right"].as_u64() {
            Some(right) if !name(&row["what"]).ends_with("not validated") => {
                format!("{right} of {}", row["calls"])
            }
            _ => "–".to_owned(),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {} | {:.2} | {:.1} | {outcome} |",
            name(&row["what"]),
            grouped(each),
            each / base,
            grouped(usual),
            usual / plain,
            number(&row["allocations"]),
        );
    }
}
