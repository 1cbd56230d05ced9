//! What an audit says: the counts in order, with shares, examples and advice.

mod advice;
mod csv;
mod html;
mod summary;

pub(crate) use html::page;
pub(crate) use summary::{number, plain};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::aggregate::{
    Aggregate, CallCounts, FailureClass, FailureExample, FailureOutcome, FailureStats, LoopStats,
    NamedPlaces, SourceCounts, TurnCosts, dotted,
};

/// Kinds of failure that a report lists.
const MOST_FAILURES: usize = 500;
/// Tools, models and servers that a report lists.
const MOST_ROWS: usize = 1_000;
/// Failures that are listed with examples.
const MOST_WITH_EXAMPLES: usize = 100;

/// The report of an audit. It serializes as `goodcall audit --json` prints it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// The version of this form.
    pub version: u32,
    /// The policy that verdicts are given by.
    pub policy: String,
    /// Everything together.
    pub totals: ReportTotals,
    /// What messages cost.
    pub turns: TurnCosts,
    /// By tool, those with the most failures first.
    pub tools: Vec<ReportRow>,
    /// By model.
    pub models: Vec<ReportRow>,
    /// By server.
    pub servers: Vec<ReportRow>,
    /// Kinds of failure, the most frequent first.
    pub failures: Vec<ReportFailure>,
    /// Loops, the most frequent first.
    pub loops: Vec<ReportLoop>,
    /// Verdicts by hour: seconds since 1970, and how many were good, mended, bad, and not judged.
    pub hours: Vec<(i64, [u64; 4])>,
    /// By format.
    pub sources: Vec<ReportSource>,
    /// What could not be read or used.
    pub problems: ReportProblems,
}

/// Everything together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportTotals {
    /// Files that were read.
    pub files: u64,
    /// Files that were skipped.
    pub skipped_files: u64,
    /// Records: lines, rows, elements or values.
    pub records: u64,
    /// Records without a call.
    pub without_calls: u64,
    /// Records that cannot be read, and calls whose arguments were not recorded.
    pub unreadable: u64,
    /// Calls that were judged.
    pub judged: u64,
    /// Counts of calls.
    #[serde(flatten)]
    pub counts: CallCounts,
}

/// The calls of one tool, model or server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportRow {
    /// The name; empty if it was not recorded.
    pub name: String,
    /// Counts of calls.
    #[serde(flatten)]
    pub counts: CallCounts,
}

impl ReportRow {
    /// Calls that failed: bad, or broken where no schema is known, or said to be invalid there.
    fn failed(&self) -> u64 {
        let counts = &self.counts;
        counts.bad
            + counts
                .broken
                .max(counts.said_invalid.saturating_sub(counts.bad))
    }
}

/// The recordings of one format.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportSource {
    /// The format.
    pub format: String,
    /// Counts of files and records.
    #[serde(flatten)]
    pub counts: SourceCounts,
}

/// A kind of failure of one tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportFailure {
    /// The tool.
    pub tool: String,
    /// What became of the calls.
    pub outcome: FailureOutcome,
    /// The rule, the kind of issue, or the complaint.
    pub code: String,
    /// The field, as `edits[].path`; empty for the whole call.
    pub field: String,
    /// Calls that it was seen in.
    pub calls: u64,
    /// Its share of the calls of the tool.
    pub share: f64,
    /// How often each model did it, the most frequent first.
    pub models: Vec<(String, u64)>,
    /// What to change in the definition, where the field fails often.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// The first calls that it was seen in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<FailureExample>,
}

/// Loops of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportLoop {
    /// The pattern by which they were found.
    pub signal: String,
    /// The tools that take part.
    pub tools: String,
    /// How many there are, and how long.
    #[serde(flatten)]
    pub stats: LoopStats,
}

/// What could not be read or used, by reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReportProblems {
    /// Records.
    pub unreadable: BTreeMap<String, NamedPlaces>,
    /// Files.
    pub skipped: BTreeMap<String, NamedPlaces>,
    /// Definitions of tools.
    pub unusable_tools: BTreeMap<String, NamedPlaces>,
}

/// A kind of failure, summed over models and servers.
#[derive(Default)]
struct FailureSum {
    stats: FailureStats,
    models: BTreeMap<Arc<str>, u64>,
}

impl AuditReport {
    /// Makes the report of an audit with this policy.
    pub fn new(aggregate: &Aggregate, policy: &str) -> Self {
        let rows = |name: fn(&crate::GroupKey) -> &Arc<str>| rows(aggregate, name);
        let tools = rows(|key| &key.tool);
        Self {
            version: 1,
            policy: policy.to_owned(),
            totals: totals(aggregate),
            turns: aggregate.turns,
            failures: failures(aggregate, &tools),
            tools,
            models: rows(|key| &key.model),
            servers: rows(|key| &key.server),
            loops: loops(aggregate),
            hours: aggregate
                .hours
                .iter()
                .map(|(hour, counts)| (hour * 3600, *counts))
                .collect(),
            sources: sources(aggregate),
            problems: ReportProblems {
                unreadable: aggregate.unreadable.clone(),
                skipped: aggregate.skipped.clone(),
                unusable_tools: aggregate.unusable_tools.clone(),
            },
        }
    }

    /// The report as JSON, indented.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has string keys and no failing value")
    }

    /// The kinds of failure as CSV.
    pub fn to_csv(&self) -> String {
        csv::write(self)
    }

    /// The report as one HTML page that needs nothing else.
    pub fn to_html(&self) -> String {
        html::write(self)
    }

    /// One screen for a terminal, with colours.
    pub fn summary(&self) -> String {
        summary::write(self)
    }
}

fn totals(aggregate: &Aggregate) -> ReportTotals {
    let counts = aggregate.totals();
    let mut sources = SourceCounts::default();
    for source in aggregate.sources.values() {
        sources.add(source);
    }
    ReportTotals {
        files: sources.files,
        skipped_files: aggregate.skipped.values().map(|files| files.count).sum(),
        records: sources.records,
        without_calls: sources.records - sources.with_calls - sources.unreadable,
        unreadable: sources.unreadable + counts.not_recorded,
        judged: counts.judged(),
        counts,
    }
}

/// The counts by one part of the key, those with the most failures first.
fn rows(aggregate: &Aggregate, name: fn(&crate::GroupKey) -> &Arc<str>) -> Vec<ReportRow> {
    let mut sums: BTreeMap<&str, CallCounts> = BTreeMap::new();
    for (key, group) in &aggregate.groups {
        sums.entry(name(key)).or_default().add(&group.counts);
    }
    let mut rows: Vec<ReportRow> = sums
        .into_iter()
        .map(|(name, counts)| ReportRow {
            name: name.to_owned(),
            counts,
        })
        .collect();
    let order = |row: &ReportRow| (row.failed(), row.counts.mended, row.counts.calls);
    rows.sort_by(|one, two| {
        order(two)
            .cmp(&order(one))
            .then_with(|| one.name.cmp(&two.name))
    });
    rows.truncate(MOST_ROWS);
    rows
}

fn failures(aggregate: &Aggregate, tools: &[ReportRow]) -> Vec<ReportFailure> {
    let mut sums: BTreeMap<(&str, &FailureClass), FailureSum> = BTreeMap::new();
    for (key, group) in &aggregate.groups {
        for (class, stats) in &group.failures {
            let sum = sums.entry((&key.tool, class)).or_default();
            sum.stats.add(stats.clone());
            *sum.models.entry(Arc::clone(&key.model)).or_default() += stats.calls;
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(one_key, one), (two_key, two)| {
        let order = two.stats.calls.cmp(&one.stats.calls);
        order.then_with(|| one_key.cmp(two_key))
    });
    sums.truncate(MOST_FAILURES);
    let calls: BTreeMap<_, _> = tools
        .iter()
        .map(|row| (row.name.as_str(), row.counts.calls))
        .collect();
    let mut advisor = advice::Advisor::new(aggregate);
    let mut listed = Vec::with_capacity(sums.len());
    for ((tool, class), sum) in sums {
        let of_tool = calls.get(tool).copied().unwrap_or(sum.stats.calls);
        let mut models: Vec<_> = sum
            .models
            .iter()
            .map(|(model, calls)| (model.to_string(), *calls))
            .collect();
        models.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
        let has_examples = listed.len() < MOST_WITH_EXAMPLES;
        listed.push(ReportFailure {
            tool: tool.to_owned(),
            outcome: class.outcome,
            code: class.code.to_string(),
            field: dotted(&class.field),
            calls: sum.stats.calls,
            share: sum.stats.calls as f64 / of_tool.max(1) as f64,
            models,
            advice: advisor.advise(tool, class, sum.stats.calls, of_tool),
            examples: shown(sum.stats.examples, has_examples),
        });
    }
    listed
}

/// Examples as a report has them: without the calls that are kept for fixtures.
fn shown(mut examples: Vec<FailureExample>, are_listed: bool) -> Vec<FailureExample> {
    examples.retain(|_| are_listed);
    for example in &mut examples {
        example.call = None;
    }
    examples
}

fn loops(aggregate: &Aggregate) -> Vec<ReportLoop> {
    let mut loops: Vec<ReportLoop> = aggregate
        .loops
        .iter()
        .map(|((signal, tools), stats)| ReportLoop {
            signal: signal.clone(),
            tools: tools.clone(),
            stats: stats.clone(),
        })
        .collect();
    loops.sort_by(|one, two| {
        two.stats
            .loops
            .cmp(&one.stats.loops)
            .then_with(|| one.tools.cmp(&two.tools))
    });
    loops.truncate(MOST_ROWS);
    loops
}

fn sources(aggregate: &Aggregate) -> Vec<ReportSource> {
    let sources = aggregate.sources.iter();
    let sources = sources.map(|(format, counts)| ReportSource {
        format: format.clone(),
        counts: *counts,
    });
    sources.collect()
}
