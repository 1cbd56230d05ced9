//! What a check says: verdict, reason, issues, changes. All of it data; text is made by
//! [`Explain`](crate::Explain).

mod change;
mod change_log;
mod changes;
mod expected;
mod issue;
mod syntax_expectation;
mod verdict;

pub use change::Change;
pub use changes::Changes;
pub use expected::{
    Actual, Bound, Expected, ExpectedArray, ExpectedNumber, ExpectedObject, ExpectedProse,
    ExpectedString, JsonType, Key, SharedExpected, Types,
};
pub use issue::{Issue, IssueKind, Moved};
pub use syntax_expectation::SyntaxExpectation;
pub use verdict::{Mended, Reason, Refusal, Verdict};

pub(crate) use change_log::{ChangeLog, PathId, PathStep, RecordedChange, TextRef, TextSpan};
