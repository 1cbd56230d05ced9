//! What is wrong with one field, in the words that the styles by field share.

use super::{model, phrase};
use crate::report::{Actual, Bound, Issue, IssueKind};

/// Names the bound that a value violates: `must be at most 100`, `must have at least 1 element`.
pub(super) fn must(issue: &Issue) -> String {
    let (number, size) = (&issue.expected.number, issue.expected.size);
    match issue.kind {
        IssueKind::TooSmall => {
            let least = bound(number.minimum.as_ref(), "greater than", "at least");
            format!("must be {least}")
        }
        IssueKind::TooLarge => {
            let most = bound(number.maximum.as_ref(), "less than", "at most");
            format!("must be {most}")
        }
        IssueKind::NotMultiple => {
            let multiple = number.multiple_of.as_deref().unwrap_or_default();
            format!("must be a multiple of {multiple}")
        }
        IssueKind::TooShort => sized("at least", size.0, "character"),
        IssueKind::TooLong => sized("at most", size.1, "character"),
        IssueKind::TooFewItems => sized("at least", size.0, "element"),
        IssueKind::TooManyItems => sized("at most", size.1, "element"),
        IssueKind::TooFewKeys => sized("at least", size.0, "key"),
        IssueKind::TooManyKeys => sized("at most", size.1, "key"),
        _ => "must be another value".to_owned(),
    }
}

/// Says what is expected, for everything that is neither a type nor a missing or unknown key.
pub(super) fn demand(issue: &Issue) -> String {
    let expected = &issue.expected;
    match issue.kind {
        IssueKind::TooSmall | IssueKind::TooLarge | IssueKind::NotMultiple => {
            format!("{}, got {}", must(issue), got_short(issue))
        }
        IssueKind::TooShort
        | IssueKind::TooLong
        | IssueKind::TooFewItems
        | IssueKind::TooManyItems
        | IssueKind::TooFewKeys
        | IssueKind::TooManyKeys => must(issue),
        IssueKind::WrongBranch => format!(
            "does not go with {}, got {}",
            phrase::all(&issue.candidates),
            got_short(issue)
        ),
        // A format says what a long pattern means.
        IssueKind::Pattern if expected.string.format.is_some() => {
            let format = expected.string.format.as_deref().unwrap_or_default();
            format!("must be a valid {format}, got {}", got_short(issue))
        }
        IssueKind::Pattern => {
            let pattern = expected.string.pattern.as_deref().unwrap_or_default();
            format!("must match the pattern {pattern}, got {}", got_short(issue))
        }
        IssueKind::Format => {
            let format = expected.string.format.as_deref().unwrap_or_default();
            format!("must be a valid {format}, got {}", got_short(issue))
        }
        IssueKind::Wrapped => "is not allowed around the keys that it holds".to_owned(),
        IssueKind::NotUnique => "must not repeat an element".to_owned(),
        IssueKind::TooComplex => "has too many forms inside forms".to_owned(),
        IssueKind::NotContained => "lacks an element that it must contain".to_owned(),
        IssueKind::SeveralAlternatives => "must fit exactly one of its forms".to_owned(),
        IssueKind::NotAllowed => "is not allowed".to_owned(),
        IssueKind::Ambiguous if model::is_several_calls(issue) => format!(
            "{} JSON objects, send each of them as a call of its own",
            expected.allowed.len()
        ),
        IssueKind::DuplicateKey | IssueKind::Ambiguous => {
            format!(
                "has more than one reading: {}",
                phrase::either(&expected.allowed)
            )
        }
        IssueKind::InexactNumber => {
            format!("does not fit a 64-bit number: {}", got_short(issue))
        }
        IssueKind::KeyName => {
            let words = expected.prose.words.as_deref().unwrap_or_default();
            format!("is not allowed as a key: {words}")
        }
        IssueKind::Empty => "is empty".to_owned(),
        IssueKind::Truncated => "was cut off".to_owned(),
        IssueKind::NotAnObject => format!("must be an object, got {}", got_type(issue)),
        IssueKind::UnknownTool => format!("no such tool: {}", got_short(issue)),
        IssueKind::Malformed => format!(
            "is not valid JSON at character {}: expected {}",
            issue.column(),
            phrase::expected(expected)
        ),
        IssueKind::Custom | IssueKind::Other => expected.prose.words.clone().unwrap_or_default(),
        _ => format!(
            "expected {}, got {}",
            phrase::expected(expected),
            got_short(issue)
        ),
    }
}

/// The words of a tool's own check: as they are if they are about the arguments as a whole, after
/// the name of the field otherwise.
pub(super) fn own_words(issue: &Issue, name: &str) -> String {
    let name = if issue.pointer.is_root() { "" } else { name };
    format!("{name}{}", demand(issue))
}

fn sized(limit: &str, size: Option<u64>, unit: &str) -> String {
    match size {
        Some(1) => format!("must have {limit} 1 {unit}"),
        Some(n) => format!("must have {limit} {n} {unit}s"),
        None => format!("has a wrong number of {unit}s"),
    }
}

fn bound(bound: Option<&Bound>, exclusive: &str, inclusive: &str) -> String {
    match bound {
        Some(bound) if bound.exclusive => format!("{exclusive} {}", bound.limit),
        Some(bound) => format!("{inclusive} {}", bound.limit),
        None => "within its bounds".to_owned(),
    }
}

pub(super) fn type_names(issue: &Issue) -> String {
    let names: Vec<_> = issue.expected.types.names().collect();
    if names.is_empty() {
        "another type".to_owned()
    } else {
        names.join(" or ")
    }
}

pub(super) fn got_type(issue: &Issue) -> &'static str {
    match issue.actual.as_ref().map(|got| got.kind) {
        Some("integer") => "number",
        Some(kind) => kind,
        None => "nothing",
    }
}

pub(super) fn got_short(issue: &Issue) -> &str {
    issue
        .actual
        .as_ref()
        .map_or("nothing", |got: &Actual| got.short.as_str())
}

/// The allowed values, separated by commas.
pub(super) fn listed(issue: &Issue) -> String {
    let allowed = &issue.expected.allowed;
    let mut shown: Vec<_> = allowed.iter().take(phrase::MOST_VALUES).cloned().collect();
    if allowed.len() > shown.len() {
        shown.push(format!("{} more", allowed.len() - shown.len()));
    }
    shown.join(", ")
}
