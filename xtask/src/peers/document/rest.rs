//! The section on size, start, build and dependencies.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::chart::{Bar, bars};
use super::{chart, items, name, number};
use crate::Failure;

/// Writes the section on the command.
pub(super) fn size(text: &mut String, size: &Value) -> Result<(), Failure> {
    let _ = write!(
        text,
        "\n## The command\n\n\
         `goodcall` built for release is {:.1} MB. Building it from nothing, with all its dependencies,\n\
         takes {:.0} s of processor time.\n",
        number(&size["bytes"]) / 1e6,
        number(&size["build_cpu_seconds"])
    );
    let list: Vec<Bar> = items(&size["starts"])
        .map(|row| Bar {
            label: name(&row["what"]).to_owned(),
            value: number(&row["best"]),
            text: format!("{:.1} ms", number(&row["best"])),
            ours: name(&row["what"]).starts_with("goodcall"),
        })
        .collect();
    let title = "Start to end of a process";
    chart(text, "start", title, &bars(title, &list))?;
    text.push_str("| start to end | best | median |\n|---|---:|---:|\n");
    for row in items(&size["starts"]) {
        let _ = writeln!(
            text,
            "| {} | {:.1} ms | {:.1} ms |",
            name(&row["what"]),
            number(&row["best"]),
            number(&row["median"])
        );
    }
    text.push_str("\n| crate | crates that come with it |\n|---|---:|\n");
    for row in items(&size["dependencies"]) {
        let _ = writeln!(text, "| {} | {} |", name(&row["crate"]), row["count"]);
    }
    Ok(())
}
