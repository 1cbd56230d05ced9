//! The style `numbered`: a numbered list.

use super::field_words::{demand, got_type, listed, own_words, type_names};
use super::{Budget, lines};
use crate::report::{IssueKind, Refusal};

/// Renders `Parameter validation failed:` and a numbered list.
pub(super) fn text(bad: &Refusal, budget: &Budget) -> String {
    let (lines, omitted) = lines(&bad.issues, bad.more, budget, |issue| {
        let name = issue.pointer.dotted();
        match issue.kind {
            IssueKind::Missing => format!("Field '{name}' is required but missing"),
            IssueKind::Type => {
                format!(
                    "Field '{name}' expected {}, got {}",
                    type_names(issue),
                    got_type(issue)
                )
            }
            IssueKind::Custom => own_words(issue, &format!("Field '{name}': ")),
            IssueKind::UnknownKey => format!("Field '{name}' is not allowed"),
            IssueKind::Enum => format!("Field '{name}' must be one of: {}", listed(issue)),
            _ => format!("Field '{name}' {}", demand(issue)),
        }
    });
    let mut out = String::from("Parameter validation failed:\n");
    for (index, line) in lines.iter().enumerate() {
        out.push_str(&format!("\n{}. {line}", index + 1));
    }
    if omitted > 0 {
        out.push_str(&format!("\nand {omitted} more"));
    }
    out.push_str("\n\nPlease fix the parameters and try again.");
    out
}
