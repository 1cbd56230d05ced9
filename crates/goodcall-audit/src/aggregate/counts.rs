//! Numbers that are added up.

use serde::{Deserialize, Serialize};

use crate::recorded::VerdictKind;

/// Counts of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CallCounts {
    /// All calls.
    pub calls: u64,
    /// Calls that are valid as sent.
    pub good: u64,
    /// Calls that the policies of the audit mend.
    pub mended: u64,
    /// Calls that are bad by these policies.
    pub bad: u64,
    /// Calls whose schema is not known.
    pub without_tools: u64,
    /// Calls whose arguments were not recorded, and no verdict either.
    pub not_recorded: u64,
    /// Calls that the level `safe` mends.
    pub safe_mended: u64,
    /// Calls that the level `eager` mends, those of `safe` included.
    pub eager_mended: u64,
    /// Calls without a schema whose arguments are broken as such: cut off, malformed, empty.
    pub broken: u64,
    /// Calls whose result is an error, or says that the call was invalid.
    pub failed_results: u64,
    /// Calls whose result says that the call was invalid.
    pub said_invalid: u64,
    /// Calls whose text is lost: the recording has a parsed value.
    pub text_lost: u64,
}

impl CallCounts {
    /// The calls that were judged.
    pub fn judged(&self) -> u64 {
        self.good + self.mended + self.bad
    }

    pub(crate) fn count(&mut self, kind: VerdictKind) {
        match kind {
            VerdictKind::Good => self.good += 1,
            VerdictKind::Mended => self.mended += 1,
            VerdictKind::Bad => self.bad += 1,
        }
    }

    /// Adds other counts to these.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.good += other.good;
        self.mended += other.mended;
        self.bad += other.bad;
        self.without_tools += other.without_tools;
        self.not_recorded += other.not_recorded;
        self.safe_mended += other.safe_mended;
        self.eager_mended += other.eager_mended;
        self.broken += other.broken;
        self.failed_results += other.failed_results;
        self.said_invalid += other.said_invalid;
        self.text_lost += other.text_lost;
    }
}

/// Counts of one format of recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceCounts {
    /// Files.
    pub files: u64,
    /// Records: lines, rows, elements or values.
    pub records: u64,
    /// Records that hold calls.
    pub with_calls: u64,
    /// Records that cannot be read.
    pub unreadable: u64,
    /// Calls.
    pub calls: u64,
}

impl SourceCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.records += other.records;
        self.with_calls += other.with_calls;
        self.unreadable += other.unreadable;
        self.calls += other.calls;
    }
}

/// Messages of models, and the tokens that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnCost {
    /// Messages.
    pub turns: u64,
    /// Tokens that were read for them.
    pub input_tokens: u64,
    /// Tokens that they consist of.
    pub output_tokens: u64,
}

impl TurnCost {
    pub(crate) fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

/// What all messages with calls cost, and those whose calls failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnCosts {
    /// All messages with calls.
    pub all: TurnCost,
    /// Messages whose tokens were counted.
    pub counted: u64,
    /// Messages with a call that failed: not valid as sent, broken, or said to be invalid.
    pub failed: TurnCost,
    /// Failed messages whose calls `safe` would all have mended.
    pub safe_saved: TurnCost,
    /// Failed messages whose calls `eager` would all have mended, those of `safe` included.
    pub eager_saved: TurnCost,
}

impl TurnCosts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.all.add(&other.all);
        self.counted += other.counted;
        self.failed.add(&other.failed);
        self.safe_saved.add(&other.safe_saved);
        self.eager_saved.add(&other.eager_saved);
    }
}
