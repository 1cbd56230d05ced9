//! What goodcall sets itself as limits, and what was measured.

use std::fmt::Write as _;

use serde_json::Value;

use super::{items, number};

/// A limit on a figure of the results.
struct Target {
    what: &'static str,
    unit: &'static str,
    measured: fn(&Value) -> f64,
    limit: Limit,
}

enum Limit {
    Most(f64),
    Least(f64),
}

impl Limit {
    fn is_met(&self, measured: f64) -> bool {
        match self {
            Self::Most(most) => measured <= *most,
            Self::Least(least) => measured >= *least,
        }
    }

    fn text(&self, unit: &str) -> String {
        match self {
            Self::Most(most) => format!("at most {most}{unit}"),
            Self::Least(least) => format!("at least {least}{unit}"),
        }
    }
}

const TARGETS: [Target; 9] = [
    Target {
        what: "verdict on a valid call, instructions × serde_json",
        unit: "",
        measured: |results| valid(results, "goodcall") / valid(results, "serde_json"),
        limit: Limit::Most(0.45),
    },
    Target {
        what: "with a `Value`, instructions × serde_json",
        unit: "",
        measured: |results| valid(results, "goodcall-value") / valid(results, "serde_json"),
        limit: Limit::Most(1.0),
    },
    Target {
        what: "ToolGuard (lenient), instructions × goodcall",
        unit: "",
        measured: |results| valid(results, "toolguard") / valid(results, "goodcall"),
        limit: Limit::Least(15.0),
    },
    Target {
        what: "a refusal with all issues, instructions × serde_json",
        unit: "",
        measured: |results| {
            let refused = |name| instructions(&results["refused"], name);
            refused("goodcall-refused") / refused("serde_json-refused")
        },
        limit: Limit::Most(4.5),
    },
    Target {
        what: "a schema that is seen first, compiled and used",
        unit: " µs",
        measured: |results| {
            let row = items(&results["first"]).find(|row| row["name"] == "goodcall-first");
            row.map_or(f64::NAN, |row| number(&row["nanos"]) / 1e3)
        },
        limit: Limit::Most(25.0),
    },
    Target {
        what: "broken text of 300 B, instructions × jsonfix",
        unit: "",
        measured: |results| beside_jsonfix(results, "broken, 300 B"),
        limit: Limit::Most(0.9),
    },
    Target {
        what: "broken text of 10 KB, instructions × jsonfix",
        unit: "",
        measured: |results| beside_jsonfix(results, "broken, 10 KB"),
        limit: Limit::Most(0.9),
    },
    Target {
        what: "broken text of 1 MB, instructions × jsonfix",
        unit: "",
        measured: |results| beside_jsonfix(results, "broken, 1 MB"),
        limit: Limit::Most(0.9),
    },
    Target {
        what: "`goodcall check`, start to end",
        unit: " ms",
        measured: |results| {
            let mut starts = items(&results["size"]["starts"]);
            let row = starts.find(|row| row["what"] == "goodcall check, one call");
            row.map_or(f64::NAN, |row| number(&row["best"]))
        },
        limit: Limit::Most(3.0),
    },
];

/// Writes the table of limits that were measured.
pub(super) fn table(text: &mut String, results: &Value) {
    text.push_str(
        "\n## Limits\n\nWhat goodcall sets itself, and what was measured.\n\n\
         | | measured | limit | |\n|---|---:|---:|---|\n",
    );
    for Target {
        what,
        unit,
        measured,
        limit,
    } in &TARGETS
    {
        let measured = measured(results);
        if measured.is_nan() {
            continue;
        }
        let met = if limit.is_met(measured) {
            "met"
        } else {
            "missed"
        };
        let limit = limit.text(unit);
        let _ = writeln!(text, "| {what} | {measured:.2}{unit} | {limit} | {met} |");
    }
}

fn valid(results: &Value, name: &str) -> f64 {
    instructions(&results["valid"]["instructions"], name)
}

fn instructions(rows: &Value, name: &str) -> f64 {
    let row = items(rows).find(|row| row["name"] == name);
    row.map_or(f64::NAN, |row| number(&row["instructions"]))
}

fn beside_jsonfix(results: &Value, text: &str) -> f64 {
    let row = items(&results["broken"]).find(|row| row["text"] == text);
    let of = |mender: &str| {
        let cell = row.and_then(|row| items(&row["cells"]).find(|cell| cell["mender"] == mender));
        cell.map_or(f64::NAN, |cell| number(&cell["instructions"]))
    };
    of("goodcall") / of("jsonfix")
}
