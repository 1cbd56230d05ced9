//! The style `plain`: one sentence per parameter.

use super::field_words::{demand, got_type, listed, own_words, type_names};
use super::{Budget, lines};
use crate::report::{IssueKind, Refusal};

/// Renders one sentence per parameter.
pub(super) fn text(bad: &Refusal, budget: &Budget) -> String {
    let (mut lines, omitted) = lines(&bad.issues, bad.more, budget, |issue| {
        let name = issue.pointer.dotted();
        match issue.kind {
            IssueKind::Missing => format!("Missing required parameter: {name}"),
            IssueKind::Type => format!(
                "Parameter '{name}' must be of type '{}', got '{}'",
                type_names(issue),
                got_type(issue)
            ),
            IssueKind::Custom => own_words(issue, &format!("Parameter '{name}': ")),
            IssueKind::UnknownKey => format!("Unknown parameter: {name}"),
            IssueKind::Enum => format!("Parameter '{name}' must be one of: [{}]", listed(issue)),
            _ => format!("Parameter '{name}' {}", demand(issue)),
        }
    });
    if omitted > 0 {
        lines.push(format!("and {omitted} more"));
    }
    lines.join("\n")
}
