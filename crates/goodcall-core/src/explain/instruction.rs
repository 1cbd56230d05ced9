//! The style `instruction`: one line to act on.

use super::field_words::{demand, got_short, got_type, listed, own_words, type_names};
use super::{Budget, lines, phrase};
use crate::report::{Issue, IssueKind, Refusal};

/// Renders `Please rewrite the input with valid arguments. Errors: a: Required; b: expected …`.
pub(super) fn text(bad: &Refusal, budget: &Budget) -> String {
    format!(
        "Please rewrite the input with valid arguments. Errors: {}",
        joined(bad, budget, line)
    )
}

/// Renders one issue: `limit: expected number, got string`.
pub(super) fn line(issue: &Issue) -> String {
    let name = format!("{}: ", issue.pointer.dotted());
    match issue.kind {
        IssueKind::Custom => own_words(issue, &name),
        _ => format!("{name}{}", remark(issue)),
    }
}

/// Renders the issues with semicolons between them, and counts those over the budget.
pub(super) fn joined(bad: &Refusal, budget: &Budget, line: impl Fn(&Issue) -> String) -> String {
    let (mut parts, omitted) = lines(&bad.issues, bad.more, budget, line);
    if omitted > 0 {
        parts.push(format!("and {omitted} more"));
    }
    parts.join("; ")
}

/// Says what is wrong with a field, after its name.
fn remark(issue: &Issue) -> String {
    match issue.kind {
        IssueKind::Missing => "Required".to_owned(),
        IssueKind::Type => format!("expected {}, got {}", type_names(issue), got_type(issue)),
        IssueKind::UnknownKey => match (&issue.nearest, &issue.moved) {
            (Some(nearest), _) => format!("Unrecognized key, did you mean {nearest}?"),
            (None, Some(moved)) => format!("Unrecognized key, did you mean {}?", moved.to.dotted()),
            (None, None) if !issue.places.is_empty() => {
                let places: Vec<_> = issue.places.iter().map(|place| place.dotted()).collect();
                format!(
                    "Unrecognized key, did you mean {}?",
                    phrase::either(&places)
                )
            }
            (None, None) if !issue.optional && !issue.candidates.is_empty() => format!(
                "Unrecognized key, did you mean {}?",
                phrase::either(&issue.candidates)
            ),
            (None, None) => "Unrecognized key".to_owned(),
        },
        IssueKind::Enum => format!(
            "expected one of {}, got {}",
            listed(issue),
            got_short(issue)
        ),
        _ => demand(issue),
    }
}
