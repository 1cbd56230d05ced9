//! What a check says: verdict, reason, issues, changes. All of it data; text is made by
//! [`Explain`](crate::Explain).

mod change;
mod changes;
mod expected;
mod issue;
mod snippet;
mod verdict;

pub use change::{Change, Edit, Level};
pub use changes::Changes;
pub use expected::{Actual, Bound, Expected, Key, SharedExpected, Types};
pub use issue::{Issue, IssueKind, Moved};
pub use snippet::Snippet;
pub use verdict::{Mended, Reason, Refusal, Verdict};

pub(crate) use changes::{Note, Part, Path, Record, Source};
pub(crate) use expected::clip;
pub(crate) use snippet::{MOST_CHARS, push_clipped};
