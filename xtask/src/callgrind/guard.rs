//! Compares the counts of our own modes with the recorded ones, to find changes that cost speed.
//!
//! The counts of serde_json are recorded, too. They change with compilers and with the standard
//! library, so the multiples of them are compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Count;
use crate::Failure;

const FILE: &str = "benches/instructions.tsv";
/// The most by which a mode may exceed the file: 3 %.
const MOST: f64 = 1.03;
/// The decrease that is worth recording.
const LEAST: f64 = 0.97;

/// Our own modes, and the mode that each is compared with.
fn guarded(counts: &[Count]) -> impl Iterator<Item = (&Count, f64)> {
    let ours = (counts.iter()).filter(|count| !count.name.starts_with("pe"));
    ours.filter_map(|count| {
        let base = counts.iter().find(|base| base.valid == count.valid)?;
        Some((count, count.each / base.each))
    })
}

/// Records the counts in the file.
pub(super) fn bless(counts: &[Count]) -> Result<(), Failure> {
    let mut text = String::from("mode\tinstructions a call\ttimes serde_json\n");
    for (count, ratio) in guarded(counts) {
        let _ = writeln!(text, "{}\t{:.0}\t{ratio:.4}", count.name, count.each);
    }
    print!("{text}");
    std::fs::write(FILE, text).map_err(|error| Failure::Unusable(format!("{FILE}: {error}")))
}

/// Compares the counts with the file.
pub(super) fn check(counts: &[Count]) -> Result<(), Failure> {
    let text = std::fs::read_to_string(FILE)
        .map_err(|error| Failure::Unusable(format!("{FILE}: {error}")))?;
    let blessed = parse(&text).map_err(Failure::Found)?;
    let mut slower = Vec::new();
    for (count, ratio) in guarded(counts) {
        let name = &count.name;
        let Some(before) = blessed.get(name.as_str()) else {
            slower.push(format!("{name}: not in {FILE}"));
            continue;
        };
        let line = format!(
            "{name:14}{:8.0} instructions a call, {ratio:.3} x serde_json, {before:.3} x before",
            count.each
        );
        match judge(ratio / before) {
            Change::Slower => slower.push(line),
            Change::Faster => println!("{line}: faster; `cargo xtask callgrind --bless` keeps it"),
            Change::None => println!("{line}"),
        }
    }
    if slower.is_empty() {
        Ok(())
    } else {
        Err(Failure::Found(format!(
            "slower by more than 3 %; find out why, or `cargo xtask callgrind --bless` and say why \
             in the commit:\n{}",
            slower.join("\n")
        )))
    }
}

#[derive(Debug, PartialEq)]
enum Change {
    Slower,
    Faster,
    None,
}

fn judge(times: f64) -> Change {
    match times {
        times if times > MOST => Change::Slower,
        times if times < LEAST => Change::Faster,
        _ => Change::None,
    }
}

/// Reads the multiples by mode.
fn parse(text: &str) -> Result<BTreeMap<&str, f64>, String> {
    let lines = text.lines().skip(1).enumerate();
    lines
        .map(|(index, line)| {
            let mut cells = line.split('\t');
            let (name, ratio) = (cells.next(), cells.nth(1));
            let ratio = ratio.and_then(|ratio| ratio.parse().ok());
            let row = name.zip(ratio);
            row.ok_or_else(|| format!("{FILE}:{}: not `mode, count, multiple`", index + 2))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_percent_is_the_border() {
        assert_eq!(judge(1.04), Change::Slower);
        assert_eq!(judge(1.02), Change::None);
        assert_eq!(judge(0.90), Change::Faster);
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let head = "mode\tcount\tmultiple\n";
        let rows = format!("{head}verdict\t5123\t0.5812\n");
        assert_eq!(parse(&rows).unwrap()["verdict"], 0.5812);
        let broken = format!("{head}verdict\t5123\n");
        assert!(parse(&broken).unwrap_err().contains("tsv:2"));
    }
}
