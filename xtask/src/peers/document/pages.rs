//! Sections from what other commands have written: the pages on Python and Node, the tables of
//! frameworks, the figures of an audit.

use std::fmt::Write as _;

use serde_json::Value;

use super::{grouped, number};
use crate::Failure;

/// What `.ci/audit-scale` has written; it is not there before its first run.
const AUDIT: &str = "docs/benchmarks/audit.json";

/// Writes the tables of valid and broken calls in Python and in Node, as their pages have them.
pub(super) fn languages(text: &mut String) -> Result<(), Failure> {
    for (language, page, command) in [
        ("Python", "python-benchmarks.md", "`.ci/python-bench`"),
        (
            "Node",
            "node-benchmarks.md",
            "`npm run build && npm run bench -- --write` in `bindings/node`",
        ),
    ] {
        let tables = read(&format!("docs/{page}"))?;
        let table = |heading| {
            let table = table_below(&tables, heading);
            table.ok_or_else(|| {
                Failure::Unusable(format!("docs/{page}: no table below `{heading}`"))
            })
        };
        let (valid, broken) = (table("## A valid call")?, table("## A broken call")?);
        let _ = write!(
            text,
            "\n## In {language}\n\n\
             From [the page on {language}]({page}), which has the machine, the versions and the right answers, too.\n\
             Written by {command}.\n\n\
             ### A valid call in {language}\n\n{valid}\n\
             ### A broken call in {language}\n\n{broken}"
        );
    }
    Ok(())
}

/// Returns the first table below a heading.
fn table_below(page: &str, heading: &str) -> Option<String> {
    let lines = page.lines().skip_while(|line| *line != heading).skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with("## "));
    let first = lines.find(|line| line.starts_with('|'))?;
    let rest = lines.take_while(|line| line.starts_with('|'));
    let rows = std::iter::once(first).chain(rest);
    Some(rows.map(|line| format!("{line}\n")).collect())
}

/// Writes how many recorded calls an audit judges in a second, if that was measured.
pub(super) fn audit(text: &mut String) -> Result<(), Failure> {
    if !std::fs::exists(AUDIT).is_ok_and(|exists| exists) {
        return Ok(());
    }
    let figures: Value = serde_json::from_str(&read(AUDIT)?)
        .map_err(|error| Failure::Unusable(format!("{AUDIT}: {error}")))?;
    text.push_str(
        "\n## Audits\n\n\
         Recorded calls judged by `goodcall audit`, as `.ci/audit-scale` measures it with the command of the wheel, and\n\
         checks that the totals are the same after the process was killed and resumed. Seconds of all cores.\n\n\
         | recording | calls | not valid as sent | seconds of processor time | calls a second and core | memory |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for (recording, figures) in figures.as_object().into_iter().flatten() {
        let (calls, seconds) = (number(&figures["calls"]), number(&figures["seconds"]));
        let invalid = number(&figures["mended"]) + number(&figures["bad"]);
        let _ = writeln!(
            text,
            "| {recording} | {} | {:.1} % | {seconds:.1} | {} | {:.0} MiB |",
            grouped(calls),
            100.0 * invalid / calls,
            grouped(calls / seconds),
            number(&figures["bytes"]) / f64::from(1 << 20),
        );
    }
    Ok(())
}

pub(super) fn read(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::Unusable(format!("{path}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_belongs_to_the_heading_above_it() {
        let page = "# Page\n\n## One\n\nText.\n\n## Two\n\nText.\n\n| a |\n|---|\n| 1 |\n\n| b |\n";
        assert_eq!(table_below(page, "## One"), None);
        assert_eq!(
            table_below(page, "## Two").as_deref(),
            Some("| a |\n|---|\n| 1 |\n")
        );
        assert_eq!(table_below(page, "## Three"), None);
    }
}
