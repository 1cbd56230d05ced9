//! Two audits side by side: before and after a change, or two models.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::aggregate::FailureOutcome;
use crate::report::{AuditReport, number, plain};

/// Kinds of failure that are listed.
const MOST_LISTED: usize = 12;
/// Beyond this many standard errors a difference is not taken for chance (95 %).
const CHANCE: f64 = 1.96;

const HEAD: Style = Style::new().bold();
const SOFT: Style = Style::new().dimmed();
const BETTER: Style = AnsiColor::Green.on_default();
const WORSE: Style = AnsiColor::Red.on_default();

/// The difference between two audits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AuditComparison {
    /// The names of the two.
    pub names: [String; 2],
    /// Verdicts, as shares of the judged calls.
    pub verdicts: Vec<ComparedShare>,
    /// Kinds of failure, as shares of the calls, those that changed most first.
    pub failures: Vec<ComparedShare>,
}

/// One share in both audits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparedShare {
    /// What is counted.
    pub what: String,
    /// How often, in each.
    pub counts: [u64; 2],
    /// Of how many.
    pub wholes: [u64; 2],
    /// The second share less the first, in percentage points.
    pub points: f64,
    /// True if chance alone would hardly explain the difference.
    pub is_significant: bool,
}

impl ComparedShare {
    fn new(what: impl Into<String>, counts: [u64; 2], wholes: [u64; 2]) -> Self {
        let share = |at: usize| counts[at] as f64 / wholes[at].max(1) as f64;
        let difference = share(1) - share(0);
        let pooled = (counts[0] + counts[1]) as f64 / (wholes[0] + wholes[1]).max(1) as f64;
        let spread = pooled
            * (1.0 - pooled)
            * wholes
                .iter()
                .map(|whole| 1.0 / (*whole).max(1) as f64)
                .sum::<f64>();
        let is_known = wholes.iter().all(|whole| *whole > 0);
        Self {
            what: what.into(),
            counts,
            wholes,
            points: difference * 100.0,
            is_significant: is_known
                && difference.abs() > CHANCE * spread.sqrt()
                && difference != 0.0,
        }
    }

    fn percent(&self, at: usize) -> String {
        match self.wholes[at] {
            0 => "–".to_owned(),
            whole => format!("{:.2} %", self.counts[at] as f64 * 100.0 / whole as f64),
        }
    }
}

impl AuditComparison {
    /// Compares two reports.
    pub fn new(names: [&str; 2], reports: [&AuditReport; 2]) -> Self {
        let judged = reports.map(|report| report.totals.judged);
        let calls = reports.map(|report| report.totals.counts.calls);
        let share = |what: &str, count: fn(&AuditReport) -> u64, wholes| {
            ComparedShare::new(what, reports.map(count), wholes)
        };
        let verdicts = vec![
            share("good", |report| report.totals.counts.good, judged),
            share("mended", |report| report.totals.counts.mended, judged),
            share("bad", |report| report.totals.counts.bad, judged),
            share(
                "said to be invalid",
                |report| report.totals.counts.said_invalid,
                calls,
            ),
            share(
                "without tools",
                |report| report.totals.counts.without_tools,
                calls,
            ),
        ];
        let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for (at, report) in reports.iter().enumerate() {
            for failure in &report.failures {
                let mended = match failure.outcome {
                    FailureOutcome::Mended => "mended by ",
                    _ => "",
                };
                let field = if failure.field.is_empty() { "" } else { " " };
                let what = format!(
                    "{}{field}{}: {mended}{}",
                    failure.tool, failure.field, failure.code
                );
                counts.entry(what).or_default()[at] += failure.calls;
            }
        }
        let mut failures: Vec<_> = counts
            .into_iter()
            .map(|(what, counts)| ComparedShare::new(what, counts, calls))
            .collect();
        failures.sort_by(|one, two| two.points.abs().total_cmp(&one.points.abs()));
        Self {
            names: names.map(str::to_owned),
            verdicts,
            failures,
        }
    }

    /// The comparison as JSON, indented.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("a comparison has string keys and no failing value")
    }

    /// One screen for a terminal.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        let width = self
            .verdicts
            .iter()
            .chain(self.failures.iter().take(MOST_LISTED));
        let width = width
            .map(|one| one.what.chars().count())
            .max()
            .unwrap_or(0)
            .clamp(20, 60);
        let names = [0, 1].map(|at| goodcall_core::clip(&plain(&self.names[at]), 24));
        let [before, after] = names;
        let _ = writeln!(
            out,
            "{HEAD}{:<width$}  {before:>24}  {after:>24}{HEAD:#}",
            ""
        );
        for one in &self.verdicts {
            write_share(&mut out, one, width, one.what == "good");
        }
        let changed: Vec<_> = self
            .failures
            .iter()
            .filter(|one| one.points != 0.0)
            .collect();
        if !changed.is_empty() {
            let _ = writeln!(out, "\n{HEAD}what changed most{HEAD:#}");
        }
        for one in changed.iter().take(MOST_LISTED) {
            write_share(&mut out, one, width, false);
        }
        out
    }
}

fn write_share(out: &mut String, one: &ComparedShare, width: usize, more_is_better: bool) {
    let cell = |at: usize| format!("{} ({})", one.percent(at), number(one.counts[at]));
    let is_known = one.wholes.iter().all(|whole| *whole > 0);
    let difference = if !is_known || one.points == 0.0 {
        String::new()
    } else if !one.is_significant {
        format!("{SOFT}{:+.2} points, may be chance{SOFT:#}", one.points)
    } else {
        let style = if (one.points > 0.0) == more_is_better {
            BETTER
        } else {
            WORSE
        };
        format!("{style}{:+.2} points{style:#}", one.points)
    };
    let what = goodcall_core::clip(&plain(&one.what), width);
    let line = format!(
        "{what:<width$}  {:>24}  {:>24}  {difference}",
        cell(0),
        cell(1)
    );
    // Where nothing changed, no blanks are left at the end.
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_may_be_chance() {
        assert!(!ComparedShare::new("bad", [3, 5], [100, 100]).is_significant);
        assert!(ComparedShare::new("bad", [300, 500], [10_000, 10_000]).is_significant);
        assert!(!ComparedShare::new("bad", [5, 5], [100, 100]).is_significant);
        assert!(!ComparedShare::new("bad", [0, 5], [0, 100]).is_significant);
        let points = ComparedShare::new("bad", [1, 3], [100, 100]).points;
        assert!((points - 2.0).abs() < 1e-9);
    }
}
