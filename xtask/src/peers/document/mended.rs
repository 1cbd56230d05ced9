//! The tables of broken texts: times, and how they grow.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::broken::PATIENCE;
use super::super::chart::{Bar, Line, bars, lines, nanos_text};
use super::{chart, grouped, items, name, number};
use crate::Failure;

/// Writes the table of texts by menders.
pub(super) fn broken(text: &mut String, rows: &Value) -> Result<(), Failure> {
    text.push_str(
        "\n## A broken call\n\n\
         Text to a value of the language: goodcall's `read` and `to_value` beside readers of broken\n\
         JSON. The broken texts are records in a fence with Python's words, single quotes, keys without\n\
         quotes and a comma too many. **wrong**: what came out is not what is written there.\n",
    );
    let find = |wanted: &str| items(rows).find(|row| row["text"] == wanted);
    if let Some(row) = find("broken, 10 KB") {
        let list: Vec<Bar> = items(&row["cells"])
            .filter(|cell| cell["nanos"].is_number())
            .map(|cell| Bar {
                label: name(&cell["mender"]).to_owned(),
                value: number(&cell["nanos"]),
                text: nanos_text(number(&cell["nanos"])),
                ours: cell["mender"] == "goodcall",
            })
            .collect();
        let title = "Time for 10 KB of broken text";
        chart(text, "broken", title, &bars(title, &list))?;
    }
    text.push_str("| text |");
    let first = items(rows).next().unwrap_or(&Value::Null);
    let count = items(&first["cells"]).count();
    for cell in items(&first["cells"]) {
        let _ = write!(text, " {} |", name(&cell["mender"]));
    }
    let _ = writeln!(text, "\n|---|{}", "---:|".repeat(count));
    for row in items(rows) {
        let _ = write!(text, "| {} |", name(&row["text"]));
        let ours = items(&row["cells"]).find(|cell| cell["mender"] == "goodcall");
        let ours = ours.map_or(f64::NAN, |cell| number(&cell["nanos"]));
        for cell in items(&row["cells"]) {
            let _ = write!(text, " {} |", shown(cell, Some(ours)));
        }
        text.push('\n');
    }
    instructions(text, rows);
    Ok(())
}

fn instructions(text: &mut String, rows: &Value) {
    text.push_str("\n| instructions | text | a text | × goodcall |\n|---|---|---:|---:|\n");
    for row in items(rows) {
        let cells = || items(&row["cells"]).filter(|cell| cell["instructions"].is_number());
        let ours = cells().find(|cell| cell["mender"] == "goodcall");
        let ours = ours.map_or(f64::NAN, |cell| number(&cell["instructions"]));
        for cell in cells() {
            let each = number(&cell["instructions"]);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {:.2} |",
                name(&cell["mender"]),
                name(&row["text"]),
                grouped(each),
                each / ours
            );
        }
    }
}

/// Formats a time, or what happened instead.
fn shown(cell: &Value, base: Option<f64>) -> String {
    if let Some(seconds) = cell["late"].as_u64() {
        return format!("stopped after {seconds} s");
    }
    if !cell["failed"].is_null() {
        return "crashed".to_owned();
    }
    let nanos = number(&cell["nanos"]);
    let ratio = base.map_or(String::new(), |base| format!(" ({:.1} ×)", nanos / base));
    format!("{}{ratio}{}", nanos_text(nanos), note(cell))
}

/// Returns the remark on an answer.
fn note(cell: &Value) -> &'static str {
    match (&cell["read"], &cell["right"]) {
        (Value::Bool(false), _) => ", refused",
        (_, Value::Bool(false)) => ", **wrong**",
        _ => "",
    }
}

/// Writes the table of shapes by menders, and the chart of their times.
pub(super) fn growth(text: &mut String, rows: &Value) -> Result<(), Failure> {
    let _ = write!(
        text,
        "\n### How the time grows\n\n\
         One piece repeated, at three sizes. In a cell: the time for the largest that ended, and how\n\
         many times as long it takes for ten times the text (10 is linear, 100 quadratic). Each run was\n\
         stopped after {} s.\n",
        PATIENCE.as_secs()
    );
    let menders: Vec<&str> = items(rows).next().map_or(Vec::new(), |row| {
        items(&row["cells"])
            .map(|cell| name(&cell["mender"]))
            .collect()
    });
    let worst: Vec<Line> = menders
        .iter()
        .filter_map(|mender| worst(rows, mender))
        .collect();
    let title = "Each reader's worst shape";
    chart(text, "growth", title, &lines(title, &worst))?;
    let _ = writeln!(text, "| shape | {} |", menders.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(menders.len()));
    for row in items(rows) {
        let _ = write!(text, "| {} |", name(&row["shape"]));
        for cell in items(&row["cells"]) {
            let _ = write!(text, " {} |", grown(row, cell));
        }
        text.push('\n');
    }
    Ok(())
}

fn grown(row: &Value, cell: &Value) -> String {
    let times: Vec<&Value> = items(&cell["times"]).collect();
    let done: Vec<f64> = (times.iter())
        .filter_map(|time| time["nanos"].as_f64())
        .collect();
    let bytes = items(&row["bytes"]).nth(done.len().saturating_sub(1));
    let size = bytes.map_or(0.0, number) / 1e3;
    let mut text = match done[..] {
        [] => String::new(),
        [only] => format!("{size:.0} KB: {}", nanos_text(only)),
        [.., before, last] => format!("{size:.0} KB: {}, {:.0}", nanos_text(last), last / before),
    };
    if let Some(last) = done.len().checked_sub(1).and_then(|last| times.get(last)) {
        text.push_str(note(last));
    }
    if let Some(last) = times.last().filter(|last| last["nanos"].is_null()) {
        let then = if text.is_empty() { "" } else { "; then " };
        text = format!("{text}{then}{}", shown(last, None));
    }
    text
}

/// Returns the worst shape of a mender as a line.
fn worst(rows: &Value, mender: &str) -> Option<Line> {
    let lines = items(rows).filter_map(|row| {
        let cell = items(&row["cells"]).find(|cell| cell["mender"] == mender)?;
        let points: Vec<(f64, f64)> = items(&row["bytes"])
            .zip(items(&cell["times"]))
            .filter(|(_, time)| time["late"].is_u64() || time["nanos"].is_number())
            .map(|(bytes, time)| {
                let late = PATIENCE.as_secs_f64() * 1e9;
                (number(bytes), time["nanos"].as_f64().unwrap_or(late))
            })
            .collect();
        let slope = points.last().map(|(bytes, nanos)| nanos / bytes)?;
        let label = format!("{mender}: {}", name(&row["shape"]));
        Some((slope, Line { label, points }))
    });
    let worst = lines.max_by(|(a, _), (b, _)| a.total_cmp(b));
    worst.map(|(_, line)| line)
}
