//! The table of traps, and the wrong answers.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::answers::{Mark, judge};
use super::super::chart::{Bar, bars};
use super::{chart, items, name};
use crate::Failure;

/// Writes the table, a chart of its sums, and the wrong answers.
pub(super) fn table(text: &mut String, results: &Value) -> Result<(), Failure> {
    let traps: Vec<&Value> = items(&results["traps"]).collect();
    let mut peers: Vec<(&str, Vec<(Mark, &Value)>)> = items(&results["peers"])
        .map(|peer| {
            let marks = traps.iter().zip(items(&peer["answers"]));
            let marks = marks.map(|(trap, answer)| (judge(&trap["right"], answer), answer));
            (name(&peer["peer"]), marks.collect())
        })
        .collect();
    peers.sort_by_key(|(peer, marks)| (wrong(marks), usize::MAX - right(marks), *peer));
    let _ = write!(
        text,
        "\n## Right answers\n\n\
         {} calls that are easily got wrong, each given to every peer as it comes out of the box. The\n\
         [calls and what is right](../benches/peers/traps.json) were picked by this project, from what\n\
         goes wrong in agents; the answers are the peers' own. ✓: what is right. –: refused, though there is one right\n\
         reading: the model is asked again. ✗: the tool is run with something else, or run where it must\n\
         not be.\n",
        traps.len()
    );
    let list: Vec<Bar> = peers
        .iter()
        .map(|(peer, marks)| Bar {
            label: (*peer).to_owned(),
            value: right(marks) as f64,
            text: format!("{} right, {} wrong", right(marks), wrong(marks)),
            ours: *peer == "goodcall",
        })
        .collect();
    let title = format!("Right answers of {}", traps.len());
    chart(text, "traps", &title, &bars(&title, &list))?;
    text.push_str("| |");
    for number in 1..=peers.len() {
        let _ = write!(text, " {number} |");
    }
    text.push_str("\n|---|");
    text.push_str(&":-:|".repeat(peers.len()));
    text.push('\n');
    for (index, trap) in traps.iter().enumerate() {
        let _ = write!(
            text,
            "| {} ({}) |",
            name(&trap["name"]),
            name(&trap["kind"])
        );
        for (_, marks) in &peers {
            let _ = write!(
                text,
                " {} |",
                marks.get(index).map_or("", |(mark, _)| mark.text())
            );
        }
        text.push('\n');
    }
    text.push_str("\n| | peer | right | refused | wrong |\n|---|---|---:|---:|---:|\n");
    for (number, (peer, marks)) in peers.iter().enumerate() {
        let refused = marks.len() - right(marks) - wrong(marks);
        let _ = writeln!(
            text,
            "| {} | {peer} | {} | {refused} | {} |",
            number + 1,
            right(marks),
            wrong(marks)
        );
    }
    mistakes(text, &traps, &peers);
    Ok(())
}

fn right(marks: &[(Mark, &Value)]) -> usize {
    marks
        .iter()
        .filter(|(mark, _)| *mark == Mark::Right)
        .count()
}

fn wrong(marks: &[(Mark, &Value)]) -> usize {
    marks
        .iter()
        .filter(|(mark, _)| *mark == Mark::Wrong)
        .count()
}

/// Lists every ✗ with the arguments of the tool.
fn mistakes(text: &mut String, traps: &[&Value], peers: &[(&str, Vec<(Mark, &Value)>)]) {
    text.push_str("\nEach ✗, with what was run:\n\n| sent | run | by |\n|---|---|---|\n");
    for (index, trap) in traps.iter().enumerate() {
        let mut runs: Vec<(String, Vec<&str>)> = Vec::new();
        for (peer, marks) in peers {
            let Some((Mark::Wrong, answer)) = marks.get(index) else {
                continue;
            };
            let answer = compact(name(answer));
            match runs.iter_mut().find(|(run, _)| *run == answer) {
                Some((_, by)) => by.push(peer),
                None => runs.push((answer, vec![peer])),
            }
        }
        for (run, by) in runs {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                code(name(&trap["raw"])),
                code(&run),
                by.join(", ")
            );
        }
    }
}

/// Removes the spaces that only some languages write.
fn compact(answer: &str) -> String {
    serde_json::from_str::<Value>(answer).map_or(answer.to_owned(), |value| value.to_string())
}

/// Formats a text as code in a table.
fn code(text: &str) -> String {
    let text = text.replace('\n', "⏎").replace('|', "\\|");
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}
