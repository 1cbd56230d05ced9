//! The styles that name one field after the other: `instruction`, `numbered`, `plain`, `record`.

use super::{Budget, lines, phrase};
use crate::report::{Actual, Bound, Issue, IssueKind, Reason, Refusal};

/// `Please rewrite the input with valid arguments. Errors: a: Required; b: expected …`
pub(super) fn instruction(bad: &Refusal, budget: &Budget) -> String {
    format!(
        "Please rewrite the input with valid arguments. Errors: {}",
        joined(bad, budget, instruction_line)
    )
}

fn instruction_line(issue: &Issue) -> String {
    format!("{}: {}", issue.pointer.dotted(), remark(issue))
}

fn joined(bad: &Refusal, budget: &Budget, line: impl Fn(&Issue) -> String) -> String {
    let (mut parts, untold) = lines(&bad.issues, bad.more, budget, line);
    if untold > 0 {
        parts.push(format!("and {untold} more"));
    }
    parts.join("; ")
}

/// What is wrong with a field, said after its name.
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

/// `Parameter validation failed:` and a numbered list.
pub(super) fn numbered(bad: &Refusal, budget: &Budget) -> String {
    let (lines, untold) = lines(&bad.issues, bad.more, budget, |issue| {
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
            IssueKind::UnknownKey => format!("Field '{name}' is not allowed"),
            IssueKind::Enum => format!("Field '{name}' must be one of: {}", listed(issue)),
            _ => format!("Field '{name}' {}", demand(issue)),
        }
    });
    let mut out = String::from("Parameter validation failed:");
    for (index, line) in lines.iter().enumerate() {
        out.push_str(&format!("\n{}. {line}", index + 1));
    }
    if untold > 0 {
        out.push_str(&format!("\nand {untold} more"));
    }
    out.push_str("\nPlease fix the parameters and try again.");
    out
}

/// One sentence a parameter.
pub(super) fn plain(bad: &Refusal, budget: &Budget) -> String {
    let (mut lines, untold) = lines(&bad.issues, bad.more, budget, |issue| {
        let name = issue.pointer.dotted();
        match issue.kind {
            IssueKind::Missing => format!("Missing required parameter: {name}"),
            IssueKind::Type => format!(
                "Parameter '{name}' must be of type '{}', got '{}'",
                type_names(issue),
                got_type(issue)
            ),
            IssueKind::UnknownKey => format!("Unknown parameter: {name}"),
            IssueKind::Enum => format!("Parameter '{name}' must be one of: [{}]", listed(issue)),
            _ => format!("Parameter '{name}' {}", demand(issue)),
        }
    });
    if untold > 0 {
        lines.push(format!("and {untold} more"));
    }
    lines.join("\n")
}

/// A JSON object with `parse_error`.
pub(super) fn record(bad: &Refusal, budget: &Budget) -> String {
    let error = parse_error(bad, budget);
    serde_json::json!({ "parse_error": error }).to_string()
}

/// The reason and the issues in one line.
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
    // What the reason says already is not said again.
    let told = |issue: &&Issue| !matches!(issue.kind, IssueKind::Truncated | IssueKind::Empty);
    let rest = Refusal {
        issues: bad.issues.iter().filter(told).cloned().collect(),
        ..bad.clone()
    };
    match joined(&rest, budget, instruction_line) {
        none if none.is_empty() => what.to_owned(),
        some => format!("{what}: {some}"),
    }
}

/// A result that does not match the output schema of a tool that was run.
pub(super) fn output(bad: &Refusal, tool: Option<&str>, budget: &Budget) -> String {
    let name = tool.map_or_else(
        || "The tool".to_owned(),
        |name| format!("The tool `{name}`"),
    );
    let found = joined(bad, budget, instruction_line);
    format!(
        "{name} was run, but its result does not match its own output schema ({found}). It may \
         have taken effect: check before you call it again."
    )
}

/// What is wanted, for everything that is neither a type nor a missing or unknown key.
fn demand(issue: &Issue) -> String {
    let expected = &issue.expected;
    match issue.kind {
        IssueKind::TooSmall => {
            let least = bound(expected.minimum.as_ref(), "greater than", "at least");
            format!("must be {least}, got {}", got_short(issue))
        }
        IssueKind::TooLarge => {
            let most = bound(expected.maximum.as_ref(), "less than", "at most");
            format!("must be {most}, got {}", got_short(issue))
        }
        IssueKind::NotMultiple => {
            let multiple = expected.multiple_of.as_deref().unwrap_or_default();
            format!("must be a multiple of {multiple}, got {}", got_short(issue))
        }
        IssueKind::TooShort => sized("at least", expected.size.0, "character"),
        IssueKind::TooLong => sized("at most", expected.size.1, "character"),
        IssueKind::TooFewItems => sized("at least", expected.size.0, "element"),
        IssueKind::TooManyItems => sized("at most", expected.size.1, "element"),
        IssueKind::TooFewKeys => sized("at least", expected.size.0, "key"),
        IssueKind::TooManyKeys => sized("at most", expected.size.1, "key"),
        IssueKind::Pattern => {
            let pattern = expected.pattern.as_deref().unwrap_or_default();
            format!("must match the pattern {pattern}, got {}", got_short(issue))
        }
        IssueKind::Format => {
            let format = expected.format.as_deref().unwrap_or_default();
            format!("must be a valid {format}, got {}", got_short(issue))
        }
        IssueKind::Wrapped => "is not allowed around the keys that it holds".to_owned(),
        IssueKind::NotUnique => "must not repeat an element".to_owned(),
        IssueKind::TooComplex => "has too many forms inside forms".to_owned(),
        IssueKind::NotContained => "lacks an element that it must contain".to_owned(),
        IssueKind::SeveralAlternatives => "must fit exactly one of its forms".to_owned(),
        IssueKind::NotAllowed => "is not allowed".to_owned(),
        IssueKind::DuplicateKey | IssueKind::Ambiguous => {
            format!(
                "has more than one reading: {}",
                phrase::either(&expected.allowed)
            )
        }
        IssueKind::InexactNumber => format!("has too many digits: {}", got_short(issue)),
        IssueKind::KeyName => {
            let words = expected.words.as_deref().unwrap_or_default();
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
        IssueKind::Custom | IssueKind::Other => expected.words.clone().unwrap_or_default(),
        _ => format!(
            "expected {}, got {}",
            phrase::expected(expected),
            got_short(issue)
        ),
    }
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

fn type_names(issue: &Issue) -> String {
    let names: Vec<_> = issue.expected.types.names().collect();
    if names.is_empty() {
        "another type".to_owned()
    } else {
        names.join(" or ")
    }
}

fn got_type(issue: &Issue) -> &'static str {
    match issue.actual.as_ref().map(|got| got.kind) {
        Some("integer") => "number",
        Some(kind) => kind,
        None => "nothing",
    }
}

fn got_short(issue: &Issue) -> &str {
    issue
        .actual
        .as_ref()
        .map_or("nothing", |got: &Actual| got.short.as_str())
}

/// The allowed values with commas.
fn listed(issue: &Issue) -> String {
    let allowed = &issue.expected.allowed;
    let mut shown: Vec<_> = allowed.iter().take(phrase::MOST_VALUES).cloned().collect();
    if allowed.len() > shown.len() {
        shown.push(format!("{} more", allowed.len() - shown.len()));
    }
    shown.join(", ")
}
