//! Failures of one kind, with examples.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::Equivalent;
use serde::{Deserialize, Serialize};

use crate::recorded::RecordPlace;

/// Examples that are kept of each kind of failure.
pub(crate) const MOST_EXAMPLES: usize = 3;

/// What became of the call that a failure was seen in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureOutcome {
    /// The call is bad; the code is that of an issue.
    Bad,
    /// The call was mended; the code is the rule that did it.
    Mended,
    /// No schema is known; the code says what is wrong with the arguments as such.
    Broken,
    /// The result of the call complains.
    Result,
}

impl FailureOutcome {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Mended => "mended",
            Self::Broken => "broken",
            Self::Result => "result",
        }
    }
}

/// A kind of failure of one tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailureClass {
    /// What became of the call.
    pub outcome: FailureOutcome,
    /// The rule, the kind of issue, or the complaint.
    pub code: Arc<str>,
    /// The field as a JSON Pointer in which `*` stands for any index; empty for the whole call.
    pub field: Arc<str>,
}

/// A kind of failure whose names are not copied: nearly every failure is of a kind that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BorrowedClass<'f> {
    pub(super) outcome: FailureOutcome,
    pub(super) code: &'f str,
    pub(super) field: Cow<'f, str>,
}

impl Equivalent<FailureClass> for BorrowedClass<'_> {
    fn equivalent(&self, class: &FailureClass) -> bool {
        self.outcome == class.outcome && *self.code == *class.code && *self.field == *class.field
    }
}

impl From<&BorrowedClass<'_>> for FailureClass {
    fn from(class: &BorrowedClass<'_>) -> Self {
        Self {
            outcome: class.outcome,
            code: class.code.into(),
            field: class.field.as_ref().into(),
        }
    }
}

impl<'f> From<&'f FailureClass> for BorrowedClass<'f> {
    fn from(class: &'f FailureClass) -> Self {
        Self {
            outcome: class.outcome,
            code: &class.code,
            field: Cow::Borrowed(&class.field),
        }
    }
}

/// How often a kind of failure was seen, with examples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailureStats {
    /// Calls that it was seen in.
    pub calls: u64,
    /// The first examples, in the order of their places.
    pub examples: Vec<FailureExample>,
}

impl FailureStats {
    /// Returns true if a call would be a new example, or come before one that is equal to it.
    pub(crate) fn wants(&self, rank: &ExampleRank<'_>) -> bool {
        if let Some(equal) = self.examples.iter().find(|one| one.key == rank.key) {
            return *rank.place < equal.place;
        }
        let last = self.examples.last().map(FailureExample::rank);
        self.examples.len() < MOST_EXAMPLES || last.is_some_and(|last| rank.order() < last.order())
    }

    /// Keeps an example: of equal calls the first, and of different ones the first few.
    pub(crate) fn keep(&mut self, example: FailureExample) {
        self.examples.retain(|one| one.key != example.key);
        let before = |one: &FailureExample| one.rank().order() < example.rank().order();
        let at = self.examples.partition_point(before);
        self.examples.insert(at, example);
        self.examples.truncate(MOST_EXAMPLES);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        for example in other.examples {
            if self.wants(&example.rank()) {
                self.keep(example);
            }
        }
    }
}

/// What decides which calls become examples.
pub(crate) struct ExampleRank<'e> {
    /// Tells equal calls from others.
    pub(crate) key: u64,
    pub(crate) is_long: bool,
    pub(crate) place: &'e RecordPlace,
}

impl<'e> ExampleRank<'e> {
    fn order(&self) -> (bool, &'e RecordPlace) {
        (self.is_long, self.place)
    }
}

/// One call that failed, as reports show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailureExample {
    /// Tells equal calls from others: a hash of the arguments.
    pub key: u64,
    /// Where it was recorded.
    pub place: RecordPlace,
    /// The model that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The arguments as sent: with secrets masked, or only their shape if values are hidden.
    pub sent: String,
    /// The same of the mended arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mended: Option<String>,
    /// What is wrong, or what was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ExampleNote>,
    /// What the model reads if the call is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the model read then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The call as it was, for a fixture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<ExampleCall>>,
    /// True if the arguments are too long to be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long: bool,
}

impl FailureExample {
    fn rank(&self) -> ExampleRank<'_> {
        ExampleRank {
            key: self.key,
            is_long: self.long,
            place: &self.place,
        }
    }
}

/// One change or one issue of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExampleNote {
    /// The rule, or the kind of issue.
    pub code: Arc<str>,
    /// The field, as `edits[0].path`.
    pub field: String,
    /// What was sent there; its kind if values are hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it became, or what is expected there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A call as it was sent, with all that it takes to judge it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExampleCall {
    /// The name of the tool as sent.
    pub tool: String,
    /// The arguments as sent.
    pub raw: String,
    /// How the message ended: `unknown`, `finished` or `cut_off`.
    pub stop: String,
    /// The definitions that it was judged by, as JSON text.
    pub tools: String,
}
