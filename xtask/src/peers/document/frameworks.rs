//! The table of frameworks: what becomes of bad calls without goodcall and with it, counted in the
//! tables that the tests of the two packages and of the hook write into their documents.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::pages::read;
use crate::Failure;

/// The documents with such tables.
const DOCUMENTS: [&str; 3] = [
    "docs/python-frameworks.md",
    "docs/node-frameworks.md",
    "docs/hook.md",
];

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The tool gets what was meant.
    AsMeant,
    /// The tool is not run, and the model reads why.
    Refused,
    /// The tool, or the caller of the model, gets something else.
    SomethingElse,
    /// The run ends.
    Ends,
}

/// How often each outcome came.
#[derive(Clone, Copy, Default)]
struct Tally([usize; 4]);

impl Tally {
    fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }
}

/// A framework, and the outcomes today and with goodcall.
struct Framework {
    name: String,
    today: Tally,
    with_goodcall: Tally,
}

/// Writes the table.
pub(super) fn table(text: &mut String) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for path in DOCUMENTS {
        rows.extend(
            frameworks(&read(path)?)
                .map_err(|what| Failure::Unusable(format!("{path}: {what}")))?,
        );
    }
    text.push_str(
        "\n## In frameworks\n\n\
         Up to six bad calls that models make, given to each framework by a scripted model: today, and with goodcall.\n\
         Four can be run as they were meant; one is cut off and one lacks a required value, and should be refused\n\
         so that the model reads why. **else**: the tool is run, or the caller is handed the call, with something\n\
         else than was meant; **ends**: the run ends with an error, or silently. Counted in the tables of\n\
         [Python](python-frameworks.md), [Node](node-frameworks.md) and [coding agents](hook.md#six-bad-calls), which\n\
         the tests write: `.ci/python-frameworks`, `npm test` in `bindings/node`, `.ci/agents`.\n\n\
         | | calls | as meant | refused | else | ends | with goodcall: as meant | refused | else | ends |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut all = Framework::named("**all**".to_owned());
    for row in &rows {
        for (sum, own) in [
            (&mut all.today, row.today),
            (&mut all.with_goodcall, row.with_goodcall),
        ] {
            sum.0
                .iter_mut()
                .zip(own.0)
                .for_each(|(sum, own)| *sum += own);
        }
    }
    rows.push(all);
    for Framework {
        name,
        today,
        with_goodcall,
    } in rows
    {
        let counts = [&[today.0.iter().sum()][..], &today.0, &with_goodcall.0].concat();
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let _ = writeln!(text, "| {name} | {} |", counts.join(" | "));
    }
    Ok(())
}

impl Framework {
    fn named(name: String) -> Self {
        Self {
            name,
            today: Tally::default(),
            with_goodcall: Tally::default(),
        }
    }
}

/// Reads the tables of a document. A table has a column with the framework's name, or a line above it.
fn frameworks(document: &str) -> Result<Vec<Framework>, String> {
    let (mut found, mut above): (Vec<Framework>, _) = (Vec::new(), String::new());
    for line in document.lines() {
        if let Some(named) = line.strip_suffix(':').filter(|line| line.starts_with('`')) {
            above = named.replace('`', "");
        }
        let cells = cells(line);
        let (name, call, today, with_goodcall) = match cells[..] {
            ["the call", "today", _] => {
                found.push(Framework::named(above.clone()));
                continue;
            }
            [call, today, with_goodcall] if !found.is_empty() => ("", call, today, with_goodcall),
            [name, call, today, with_goodcall] => (name, call, today, with_goodcall),
            _ => continue,
        };
        if today == "today" || today.starts_with("---") {
            continue;
        }
        if !name.is_empty() {
            found.push(Framework::named(name.to_owned()));
        }
        let framework = found
            .last_mut()
            .ok_or(format!("a row without a framework: {line}"))?;
        framework.today.add(outcome(call, today)?);
        framework.with_goodcall.add(outcome(call, with_goodcall)?);
    }
    if found.is_empty() {
        return Err("no table of frameworks".to_owned());
    }
    Ok(found)
}

/// The cells of a line of a table. A line outside a table has none.
fn cells(line: &str) -> Vec<&str> {
    let row = line.strip_prefix("| ").or(line.strip_prefix("|"));
    let Some(row) = row.and_then(|row| row.trim_end().strip_suffix('|')) else {
        return Vec::new();
    };
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in row.match_indices('|') {
        if !row[..at].ends_with('\\') {
            cells.push(row[start..at].trim());
            start = at + 1;
        }
    }
    cells.push(row[start..].trim());
    cells
}

/// Reads what a cell says about a call.
fn outcome(call: &str, cell: &str) -> Result<Outcome, String> {
    if cell.starts_with("refused") || cell == "told what to rewrite" {
        return Ok(Outcome::Refused);
    }
    if cell.starts_with("**runs with**") {
        return Ok(Outcome::SomethingElse);
    }
    if ["**the run ", "the run ends", "raises "]
        .iter()
        .any(|start| cell.starts_with(start))
    {
        return Ok(Outcome::Ends);
    }
    if cell == "runs" || cell == "runs, mended" {
        return Ok(Outcome::AsMeant);
    }
    let given = ["runs with `", "the caller gets `", "`"]
        .iter()
        .find_map(|start| cell.strip_prefix(start));
    let given = given.and_then(|given| given.strip_suffix('`'));
    let given = given.ok_or(format!(
        "unknown outcome `{cell}`: expected a form that `outcome` reads"
    ))?;
    let is_meant = meant(call)?
        .is_some_and(|meant| serde_json::from_str(given).is_ok_and(|given: Value| given == meant));
    Ok(if is_meant {
        Outcome::AsMeant
    } else {
        Outcome::SomethingElse
    })
}

/// What the calls of the tables that show arguments mean; `None` for those that must not be run.
fn meant(call: &str) -> Result<Option<Value>, String> {
    match call {
        "array in a string" => Ok(Some(json!({"path": "a", "tags": ["x", "y"]}))),
        "trailing comma" | "wrapped in `arguments`" | "`null` for an optional" => {
            Ok(Some(json!({"path": "a", "tags": ["x"]})))
        }
        "cut off" | "required one missing" => Ok(None),
        _ => Err(format!(
            "unknown call `{call}`: expected one that `meant` lists"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_of_both_kinds_of_tables_are_counted() {
        let document = "`langchain` 1.4.7:\n\n| the call | today | with goodcall |\n|---|---|---|\n\
            | trailing comma | the run ends, and nobody is told | runs with `{\"path\": \"a\", \"tags\": [\"x\"]}` |\n\
            | `null` for an optional | runs with `{\"path\": \"a\", \"tags\": [\"x\"], \"limit\": null}` | refused: a \\| b |\n";
        let found = frameworks(document).unwrap();
        assert_eq!((found.len(), &*found[0].name), (1, "langchain 1.4.7"));
        assert_eq!(
            (found[0].today.0, found[0].with_goodcall.0),
            ([0, 0, 1, 1], [1, 1, 0, 0])
        );
        let document = "| framework | call | today | with goodcall |\n|---|---|---|---|\n\
            | One: `a()` | cut off | **the run fails: so** | told what to rewrite |\n\
            |  | a misspelt key | **runs with** `{}` | runs, mended |\n| Two | cut off | runs | refused: no |\n";
        let found = frameworks(document).unwrap();
        assert_eq!((found.len(), &*found[1].name), (2, "Two"));
        assert_eq!(
            (found[0].today.0, found[0].with_goodcall.0),
            ([0, 0, 1, 1], [1, 1, 0, 0])
        );
        assert!(frameworks("| One | cut off | perhaps | runs |").is_err());
        assert!(frameworks("").is_err());
    }
}
