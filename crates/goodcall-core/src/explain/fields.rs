//! The styles that name one field after the other: `instruction`, `numbered`, `plain`, `record`.

use super::{Budget, lines, phrase};
use crate::report::{Bad, Bound, Code, Got, Issue, Reason};

/// `Please rewrite the input with valid arguments. Errors: a: Required; b: expected …`
pub(super) fn instruction(bad: &Bad, budget: &Budget) -> String {
    format!(
        "Please rewrite the input with valid arguments. Errors: {}",
        joined(bad, budget, instruction_line)
    )
}

fn instruction_line(issue: &Issue) -> String {
    format!("{}: {}", issue.pointer.dotted(), remark(issue))
}

fn joined(bad: &Bad, budget: &Budget, line: impl Fn(&Issue) -> String) -> String {
    let (mut parts, untold) = lines(&bad.issues, bad.more, budget, line);
    if untold > 0 {
        parts.push(format!("and {untold} more"));
    }
    parts.join("; ")
}

/// What is wrong with a field, said after its name.
fn remark(issue: &Issue) -> String {
    match issue.code {
        Code::Missing => "Required".to_owned(),
        Code::Type => format!("expected {}, got {}", type_names(issue), got_type(issue)),
        Code::UnknownKey => match (&issue.nearest, &issue.moved) {
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
        Code::Enum => format!(
            "expected one of {}, got {}",
            listed(issue),
            got_short(issue)
        ),
        _ => demand(issue),
    }
}

/// `Parameter validation failed:` and a numbered list.
pub(super) fn numbered(bad: &Bad, budget: &Budget) -> String {
    let (lines, untold) = lines(&bad.issues, bad.more, budget, |issue| {
        let name = issue.pointer.dotted();
        match issue.code {
            Code::Missing => format!("Field '{name}' is required but missing"),
            Code::Type => {
                format!(
                    "Field '{name}' expected {}, got {}",
                    type_names(issue),
                    got_type(issue)
                )
            }
            Code::UnknownKey => format!("Field '{name}' is not allowed"),
            Code::Enum => format!("Field '{name}' must be one of: {}", listed(issue)),
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
pub(super) fn plain(bad: &Bad, budget: &Budget) -> String {
    let (mut lines, untold) = lines(&bad.issues, bad.more, budget, |issue| {
        let name = issue.pointer.dotted();
        match issue.code {
            Code::Missing => format!("Missing required parameter: {name}"),
            Code::Type => format!(
                "Parameter '{name}' must be of type '{}', got '{}'",
                type_names(issue),
                got_type(issue)
            ),
            Code::UnknownKey => format!("Unknown parameter: {name}"),
            Code::Enum => format!("Parameter '{name}' must be one of: [{}]", listed(issue)),
            _ => format!("Parameter '{name}' {}", demand(issue)),
        }
    });
    if untold > 0 {
        lines.push(format!("and {untold} more"));
    }
    lines.join("\n")
}

/// A JSON object with `parse_error`.
pub(super) fn record(bad: &Bad, budget: &Budget) -> String {
    let error = parse_error(bad, budget);
    serde_json::json!({ "parse_error": error }).to_string()
}

/// The reason and the issues in one line.
pub(crate) fn parse_error(bad: &Bad, budget: &Budget) -> String {
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
    let told = |issue: &&Issue| !matches!(issue.code, Code::Truncated | Code::Empty);
    let rest = Bad {
        issues: bad.issues.iter().filter(told).cloned().collect(),
        ..bad.clone()
    };
    match joined(&rest, budget, instruction_line) {
        none if none.is_empty() => what.to_owned(),
        some => format!("{what}: {some}"),
    }
}

/// A result that does not match the output schema of a tool that was run.
pub(super) fn output(bad: &Bad, tool: Option<&str>, budget: &Budget) -> String {
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
    match issue.code {
        Code::TooSmall => {
            let least = bound(expected.minimum.as_ref(), "greater than", "at least");
            format!("must be {least}, got {}", got_short(issue))
        }
        Code::TooLarge => {
            let most = bound(expected.maximum.as_ref(), "less than", "at most");
            format!("must be {most}, got {}", got_short(issue))
        }
        Code::NotMultiple => {
            let multiple = expected.multiple_of.as_deref().unwrap_or_default();
            format!("must be a multiple of {multiple}, got {}", got_short(issue))
        }
        Code::TooShort => sized("at least", expected.size.0, "character"),
        Code::TooLong => sized("at most", expected.size.1, "character"),
        Code::TooFewItems => sized("at least", expected.size.0, "element"),
        Code::TooManyItems => sized("at most", expected.size.1, "element"),
        Code::TooFewKeys => sized("at least", expected.size.0, "key"),
        Code::TooManyKeys => sized("at most", expected.size.1, "key"),
        Code::Pattern => {
            let pattern = expected.pattern.as_deref().unwrap_or_default();
            format!("must match the pattern {pattern}, got {}", got_short(issue))
        }
        Code::Format => {
            let format = expected.format.as_deref().unwrap_or_default();
            format!("must be a valid {format}, got {}", got_short(issue))
        }
        Code::Wrapped => "is not allowed around the keys that it holds".to_owned(),
        Code::NotUnique => "must not repeat an element".to_owned(),
        Code::TooComplex => "has too many forms inside forms".to_owned(),
        Code::NotContained => "lacks an element that it must contain".to_owned(),
        Code::SeveralAlternatives => "must fit exactly one of its forms".to_owned(),
        Code::NotAllowed => "is not allowed".to_owned(),
        Code::DuplicateKey | Code::Ambiguous => {
            format!(
                "has more than one reading: {}",
                phrase::either(&expected.allowed)
            )
        }
        Code::InexactNumber => format!("has too many digits: {}", got_short(issue)),
        Code::KeyName => {
            let words = expected.words.as_deref().unwrap_or_default();
            format!("is not allowed as a key: {words}")
        }
        Code::Empty => "is empty".to_owned(),
        Code::Truncated => "was cut off".to_owned(),
        Code::NotAnObject => format!("must be an object, got {}", got_type(issue)),
        Code::UnknownTool => format!("no such tool: {}", got_short(issue)),
        Code::Malformed => format!(
            "is not valid JSON at character {}: expected {}",
            issue.column(),
            phrase::expected(expected)
        ),
        Code::Custom | Code::Other => expected.words.clone().unwrap_or_default(),
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
    match issue.got.as_ref().map(|got| got.kind) {
        Some("integer") => "number",
        Some(kind) => kind,
        None => "nothing",
    }
}

fn got_short(issue: &Issue) -> &str {
    issue
        .got
        .as_ref()
        .map_or("nothing", |got: &Got| got.short.as_str())
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
