//! The style `record`: a JSON object with `parse_error`.

use super::{Budget, instruction};
use crate::report::{Issue, IssueKind, Reason, Refusal};

/// Renders a JSON object with `parse_error`.
pub(super) fn text(bad: &Refusal, budget: &Budget) -> String {
    let error = parse_error(bad, budget);
    serde_json::json!({ "parse_error": error }).to_string()
}

/// Renders the reason and the issues in one line.
pub(crate) fn parse_error(bad: &Refusal, budget: &Budget) -> String {
    let what = match bad.reason {
        Reason::Truncated => "arguments were cut off",
        Reason::Malformed => "arguments are not valid JSON",
        Reason::Empty => "arguments are empty",
        Reason::NotAnObject => "arguments are not an object",
        Reason::WrongShape => "arguments do not match the schema",
        Reason::Ambiguous => "arguments can be read in more than one way",
        Reason::UnknownTool => "no such tool",
        Reason::Loop => "the same call again",
        Reason::TooLarge => "arguments are too large",
    };
    // The reason says these already.
    let listed = |issue: &&Issue| !matches!(issue.kind, IssueKind::Truncated | IssueKind::Empty);
    let rest = Refusal {
        issues: bad.issues.iter().filter(listed).cloned().collect(),
        ..bad.clone()
    };
    match instruction::joined(&rest, budget, instruction::line) {
        none if none.is_empty() => what.to_owned(),
        some => format!("{what}: {some}"),
    }
}
