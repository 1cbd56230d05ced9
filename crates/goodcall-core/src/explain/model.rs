//! The style `model`: what happened, then one line per needed edit, verb first.

use super::group::{Grouped, grouped};
use super::{Budget, ambiguous_union, phrase};
use crate::report::{Expected, ExpectedObject, Issue, IssueKind, Reason, Refusal};
use crate::snippet::clip;
use crate::tree::Pointer;

/// Writes the whole text.
pub(super) fn text(bad: &Refusal, tool: Option<&str>, budget: &Budget) -> String {
    let mut out = head(bad, tool);
    for line in recommendations(bad, budget) {
        out.push('\n');
        out.push_str(&line);
    }
    out
}

/// Returns the issues that ask for an edit. A rename or a move covers both the missing and the
/// unknown key.
fn edits(bad: &Refusal) -> Vec<Grouped<'_>> {
    let moved: Vec<_> = bad
        .issues
        .iter()
        .filter(|issue| issue.kind == IssueKind::Missing)
        .filter_map(|issue| match (&issue.moved, &issue.nearest) {
            (Some(moved), _) => Some(moved.from.clone()),
            (None, nearest) => Some(issue.pointer.split_last()?.0.join(nearest.as_deref()?)),
        })
        .collect();
    let not_in_head = |issue: &&Issue| {
        !matches!(
            issue.kind,
            IssueKind::Empty
                | IssueKind::Truncated
                | IssueKind::Malformed
                | IssueKind::NotAnObject
                | IssueKind::Limit
                | IssueKind::UnknownTool
        )
    };
    let needed = bad
        .issues
        .iter()
        .filter(not_in_head)
        .filter(|issue| issue.kind != IssueKind::UnknownKey || !moved.contains(&issue.pointer));
    grouped(needed)
}

/// Says what happened, and what to do.
pub(super) fn head(bad: &Refusal, tool: Option<&str>) -> String {
    let name = match tool {
        Some(name) => format!("The tool `{name}`"),
        None => "The tool".to_owned(),
    };
    let first = bad.issues.first();
    match bad.reason {
        Reason::UnknownTool => unknown_tool(first, tool),
        Reason::Truncated => format!(
            "{name} was not run: its arguments were cut off{}. Call it again with the complete \
             arguments; if they are too long, split the work into several calls.",
            cut_place(first)
        ),
        Reason::Malformed => format!(
            "{name} was not run: its arguments are not valid JSON{}. Call it again with one JSON \
             object.",
            syntax(first)
        ),
        Reason::NotAnObject => format!(
            "{name} was not run: its arguments must be one JSON object, not {}. Call it again.",
            first
                .and_then(|i| i.actual.as_ref())
                .map_or("this".to_owned(), |got| { phrase::with_article(got.kind) })
        ),
        Reason::Empty if bad.issues.len() > 1 => {
            format!("{name} was not run: it got no arguments. Call it again with these edits:")
        }
        Reason::Empty => {
            format!("{name} was not run: it got no arguments. Call it again with a JSON object.")
        }
        Reason::TooLarge => format!(
            "{name} was not run: its arguments are too large{}. Call it again with less, or split \
             the work into several calls.",
            limit(first)
        ),
        Reason::Loop => {
            format!("{name} was not run: the same call was made before. Do something different.")
        }
        Reason::WrongShape | Reason::Ambiguous => {
            format!("{name} was not run. Call it again with these edits:")
        }
    }
}

fn unknown_tool(issue: Option<&Issue>, tool: Option<&str>) -> String {
    let name = tool.unwrap_or_default();
    let mut out = format!("There is no tool `{name}`; nothing was run.");
    let Some(issue) = issue else { return out };
    if let Some(nearest) = &issue.nearest {
        out.push_str(&format!(" Did you mean `{nearest}`?"));
    }
    let offered = &issue.expected.allowed;
    if !offered.is_empty() {
        out.push_str(&format!(" Call one of: {}", phrase::values(offered)));
    }
    out
}

fn cut_place(issue: Option<&Issue>) -> String {
    match issue {
        Some(issue) if !issue.pointer.is_root() => {
            format!(" inside {}", phrase::path(&issue.pointer))
        }
        _ => String::new(),
    }
}

fn syntax(issue: Option<&Issue>) -> String {
    let Some(issue) = issue else {
        return String::new();
    };
    let found = match &issue.actual {
        Some(got) => format!(" before `{}`", got.short),
        None => String::new(),
    };
    let expected = phrase::expected(&issue.expected);
    format!(
        " (at character {}{found}: expected {expected})",
        issue.column()
    )
}

fn limit(issue: Option<&Issue>) -> String {
    match issue.and_then(|issue| issue.expected.syntax) {
        Some(wanted) => format!(" ({wanted})"),
        None => String::new(),
    }
}

fn grouped_line(edit: &Grouped<'_>) -> String {
    match edit {
        Grouped::One(issue) => line(issue),
        Grouped::Keys(issues) => match issues.as_slice() {
            [one] => line(one),
            several => unknown_keys(several),
        },
        Grouped::Many {
            first,
            places,
            count,
        } => {
            let what = match first.kind {
                IssueKind::Missing => format!("add {places} ({count} places)"),
                IssueKind::UnknownKey => {
                    return format!("remove {places} ({count} places): {NO_SUCH}");
                }
                _ => format!("change {places} ({count} places)"),
            };
            format!("{what}: {}", phrase::expected(&first.expected))
        }
    }
}

/// Asks to remove several unknown keys of one object.
fn unknown_keys(issues: &[&Issue]) -> String {
    let shown = issues.iter().take(phrase::MOST_VALUES);
    let mut keys: Vec<_> = shown.map(|issue| phrase::path(&issue.pointer)).collect();
    if issues.len() > keys.len() {
        keys.push(format!("{} more", issues.len() - keys.len()));
    }
    let keys = phrase::all(&keys);
    match issues.first().and_then(|issue| known(issue)) {
        Some(known) => format!("remove {keys}: there are no such parameters, only {known}"),
        None => format!("remove {keys}: there are no such parameters"),
    }
}

const NO_SUCH: &str = "there is no such parameter";

/// Writes the edit that one issue asks for.
pub(super) fn line(issue: &Issue) -> String {
    let place = phrase::path(&issue.pointer);
    let expected = phrase::expected(&issue.expected);
    let got = issue.actual.as_ref();
    let short = got.map_or("it", |got| got.short.as_str());
    let last = issue
        .pointer
        .split_last()
        .map(|(_, name)| name.into_owned());
    match issue.kind {
        // A tool's own words about the arguments as a whole are passed on as they are.
        IssueKind::Custom if issue.pointer.is_root() => expected,
        IssueKind::Wrapped => unwrap(issue),
        IssueKind::Missing | IssueKind::UnknownKey if issue.moved.is_some() => moved(issue),
        IssueKind::UnknownKey if !issue.places.is_empty() => undecided(issue),
        IssueKind::Missing => match &issue.nearest {
            Some(nearest) => format!(
                "rename {} to {}",
                sibling(issue, nearest),
                last.unwrap_or_default()
            ),
            None => format!("add {place}: {expected}"),
        },
        IssueKind::UnknownKey if !issue.candidates.is_empty() => {
            let names = phrase::either(&issue.candidates);
            format!("rename {place} to {names}, whichever you mean")
        }
        IssueKind::UnknownKey => match &issue.nearest {
            Some(nearest) => format!("rename {place} to {nearest}"),
            None => match known(issue) {
                Some(known) => format!("remove {place}: {NO_SUCH}, only {known}"),
                None => format!("remove {place}: {NO_SUCH}"),
            },
        },
        IssueKind::NotAllowed if issue.optional => {
            format!("remove {place}: it is not allowed here")
        }
        IssueKind::Type if issue.optional => {
            let name = last.unwrap_or_default();
            format!("remove {place}: null is not allowed and {name} is optional")
        }
        IssueKind::Type => {
            let kind = got.map_or("of another type", |got| got.kind);
            let is = if short == kind {
                "is not allowed".to_owned()
            } else {
                format!("is {}", phrase::with_article(kind))
            };
            format!("change {place}: {short} {is}, use {expected}")
        }
        IssueKind::Enum => {
            let nearest = match &issue.nearest {
                Some(nearest) if issue.expected.allowed.len() > 1 => {
                    format!(" (nearest: {nearest})")
                }
                _ => String::new(),
            };
            format!("change {place}: {short} is not allowed, use {expected}{nearest}")
        }
        IssueKind::NoAlternative => match (lacking(issue), issue.pointer.is_root()) {
            (Some(keys), true) => format!("add {keys}"),
            (Some(keys), false) => format!("add to {place}: {keys}"),
            (None, _) => format!("change {place}: {short} fits none of the forms; use {expected}"),
        },
        code => format!(
            "change {place}: {}",
            complaint(code, issue, short, &expected)
        ),
    }
}

/// The part of a `change` line that says what is wrong and what to use.
fn complaint(code: IssueKind, issue: &Issue, short: &str, expected: &str) -> String {
    match code {
        IssueKind::TooSmall => format!("{short} is too small, use {expected}"),
        IssueKind::TooLarge => format!("{short} is too large, use {expected}"),
        IssueKind::NotMultiple | IssueKind::Pattern | IssueKind::Format => {
            format!("{short} does not fit, use {expected}")
        }
        IssueKind::TooShort => format!("{short} is too short, use {expected}"),
        IssueKind::TooLong => format!("{short} is too long, use {expected}"),
        IssueKind::TooFewItems => format!("it has too few elements, use {expected}"),
        IssueKind::TooManyItems => format!("it has too many elements, use {expected}"),
        IssueKind::TooFewKeys => format!("it has too few keys, use {expected}"),
        IssueKind::TooManyKeys => format!("it has too many keys, use {expected}"),
        IssueKind::NotUnique => "it repeats an element, use different ones".to_owned(),
        IssueKind::TooComplex => "it has too many forms inside forms, use fewer".to_owned(),
        IssueKind::NotContained => match &issue.expected.array.element {
            Some(element) => format!("add an element: {}", phrase::expected(element)),
            None => "it lacks an element that it must contain".to_owned(),
        },
        IssueKind::KeyName => format!("this key is not allowed ({expected}), use another"),
        IssueKind::SeveralAlternatives => ambiguous_union::complaint(&issue.expected, short),
        IssueKind::NotAllowed => match &issue.expected.forbidden[..] {
            [] => format!("{short} is not allowed here, use another value"),
            values => {
                let values = phrase::values(values);
                format!("{short} is not allowed, use {expected} other than {values}")
            }
        },
        IssueKind::Ambiguous if is_repeated(&issue.expected.allowed) => {
            format!("{short} was sent more than once, send it once")
        }
        IssueKind::DuplicateKey | IssueKind::Ambiguous => {
            let readings = phrase::either(&issue.expected.allowed);
            format!("it could mean {readings}; give it once, as you mean it")
        }
        IssueKind::InexactNumber => {
            format!("{short} does not fit a 64-bit number, use fewer digits")
        }
        _ => expected.to_owned(),
    }
}

/// Returns true if these readings are all the same.
fn is_repeated(readings: &[String]) -> bool {
    let mut pairs = readings.windows(2);
    readings.len() > 1 && pairs.all(|pair| pair[0] == pair[1])
}

/// Asks to move a member to the object that declares it.
fn moved(issue: &Issue) -> String {
    let Some(moved) = &issue.moved else {
        return String::new();
    };
    let target = moved.to.split_last().map(|(target, _)| target);
    let target = target.unwrap_or_default();
    let from = phrase::path(&moved.from);
    if target.is_root() {
        format!("move {from} to the top")
    } else {
        format!("move {from} into {}", phrase::path(&target))
    }
}

/// Asks to move a member to one of several objects that declare it.
fn undecided(issue: &Issue) -> String {
    let targets = issue.places.iter().map(|place| {
        let target = place.split_last().map(|(target, _)| target);
        target.unwrap_or_default()
    });
    let (top, inside): (Vec<_>, Vec<_>) = targets.partition(Pointer::is_root);
    let inside: Vec<_> = inside.iter().map(phrase::path).collect();
    let wherein = if top.is_empty() {
        format!("into {}", phrase::either(&inside))
    } else {
        format!("to the top or into {}", phrase::either(&inside))
    };
    let from = phrase::path(&issue.pointer);
    format!("move {from} {wherein}, as you mean it")
}

/// Asks to remove an object around members that belong one level up.
fn unwrap(issue: &Issue) -> String {
    let around = issue.pointer.split_last().map(|(around, _)| around);
    let moved = issue.moved.as_ref().map(|moved| moved.to.clone());
    let target = moved.or(around).unwrap_or_default();
    let wherein = if target.is_root() {
        "at the top".to_owned()
    } else {
        format!("in {}", phrase::path(&target))
    };
    let mut inside = issue.pointer.segments().skip(target.depth());
    let outermost = inside.next().unwrap_or_default();
    let place = phrase::path(&issue.pointer);
    format!("unwrap {place}: send its keys {wherein}, without {outermost}")
}

/// Lists the keys of which some must be added, if that is all that the branches of a union ask for.
fn lacking(issue: &Issue) -> Option<String> {
    let forms = &issue.expected.alternatives;
    let keys = |form: &Expected| {
        let only = Expected {
            object: ExpectedObject {
                keys: form.object.keys.clone(),
                ..ExpectedObject::default()
            },
            ..Expected::default()
        };
        let keys: Vec<_> = form.object.keys.iter().map(phrase::key).collect();
        (*form == only).then(|| phrase::all(&keys))
    };
    let forms = forms.iter().map(keys).collect::<Option<Vec<_>>>()?;
    (!forms.is_empty()).then(|| forms.join("; or "))
}

/// Writes the place of a key beside the missing one.
fn sibling(issue: &Issue, key: &str) -> String {
    match issue.pointer.split_last() {
        Some((parent, _)) => phrase::path(&parent.join(key)),
        None => key.to_owned(),
    }
}

/// Lists the declared keys if they are few.
fn known(issue: &Issue) -> Option<String> {
    let keys = &issue.expected.allowed;
    (!keys.is_empty() && keys.len() <= phrase::MOST_VALUES).then(|| keys.join(", "))
}

/// Writes one line per edit, as many as the budget allows, and counts the issues left out.
pub(super) fn recommendations(bad: &Refusal, budget: &Budget) -> Vec<String> {
    let edits = edits(bad);
    let (shown, omitted) = edits.split_at(edits.len().min(budget.issues.max(1)));
    let lines = shown.iter().map(grouped_line);
    let mut out: Vec<_> = lines.map(|line| clip(&line, budget.issue_chars)).collect();
    let omitted = omitted.iter().map(Grouped::count).sum::<usize>() + bad.more;
    if omitted > 0 {
        out.push(format!("and {omitted} more"));
    }
    out
}
