//! The style `model`: what happened, then one line per correction.
//!
//! A model copies what it reads into its next call: phrases that stand where a value would, examples,
//! the first of several values. So no line holds anything that could be taken for a value and is
//! not one: what is missing is described in brackets, allowed values are stated and not commanded,
//! and of two bounds the violated one is named. `cargo xtask wording` measures what a small model
//! makes of the texts.

use super::group::{Grouped, grouped};
use super::{Budget, ambiguous_union, field_words, phrase, unknown_keys};
use crate::report::{
    Actual, Expected, ExpectedObject, Issue, IssueKind, JsonType, Reason, Refusal, Types,
};
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
    let named = unknown_keys::named_missing(&bad.issues);
    let not_in_head = |issue: &&Issue| {
        !is_several_calls(issue)
            && !matches!(
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
        .filter(|issue| issue.kind != IssueKind::UnknownKey || !moved.contains(&issue.pointer))
        .filter(|issue| issue.kind != IssueKind::Missing || !named.contains(&issue.pointer));
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
             arguments{}.",
            cut_place(first),
            if is_long(first) {
                "; if they are too long, split the work into several calls"
            } else {
                ""
            }
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
            format!("{name} was not run: it got no arguments. Call it again with arguments:")
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
        Reason::Ambiguous if first.is_some_and(is_several_calls) => format!(
            "{name} was not run: its arguments hold {} JSON objects. Send each of them as a call \
             of its own.",
            first.map_or(0, |issue| issue.expected.allowed.len())
        ),
        Reason::WrongShape | Reason::Ambiguous => {
            format!("{name} was not run. Correct its arguments and call it again:")
        }
    }
}

/// Returns true if the arguments hold several objects that differ.
pub(super) fn is_several_calls(issue: &Issue) -> bool {
    let readings = &issue.expected.allowed;
    issue.kind == IssueKind::Ambiguous
        && issue.pointer.is_root()
        && readings.iter().all(|reading| reading.starts_with('{'))
        && !is_repeated(readings)
}

/// The bytes of arguments from which on they may have been cut off because of their length.
const LONG: usize = 4096;

/// Returns true if arguments that were cut off were long, so that the rest may not fit either.
pub(super) fn is_long(issue: Option<&Issue>) -> bool {
    issue.is_some_and(|issue| issue.span.end >= LONG)
}

fn unknown_tool(issue: Option<&Issue>, tool: Option<&str>) -> String {
    let called = issue.and_then(|issue| issue.actual.as_ref());
    let name = tool.or(called.map(|called| called.short.as_str()));
    let mut out = match name {
        Some(name) => format!("There is no tool `{name}`; nothing was run."),
        None => "There is no such tool; nothing was run.".to_owned(),
    };
    let Some(issue) = issue else { return out };
    let offered = &issue.expected.allowed;
    let names: Vec<_> = issue.candidates.iter().map(|n| format!("`{n}`")).collect();
    match (&issue.nearest, &issue.kept) {
        (Some(fitting), Some(_)) => {
            out.push_str(&format!(
                " The arguments fit `{fitting}`: did you mean that?"
            ));
        }
        (Some(nearest), None) => out.push_str(&format!(" Did you mean `{nearest}`?")),
        (None, _) if !names.is_empty() => {
            out.push_str(&format!(" Did you mean {}?", phrase::either(&names)));
        }
        (None, _) => match offered.as_slice() {
            [] => {}
            [only] => out.push_str(&format!(" The only tool is {only}.")),
            several => {
                let names = phrase::listed(several, "and");
                out.push_str(&format!(" The tools are {names}."));
            }
        },
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

fn grouped_line(edit: &Grouped<'_>, all: &[Issue]) -> String {
    match edit {
        Grouped::One(issue) => {
            let line = line_among(issue, all);
            match line.split_once(KEPT) {
                // The value does not fit where the member goes, as another line says.
                Some((edit, _)) if is_changed_too(issue, all) => edit.to_owned(),
                _ => line,
            }
        }
        Grouped::Keys(issues) => match issues.as_slice() {
            [one] => line(one),
            several => unknown_keys::remove_all(several),
        },
        Grouped::Many {
            first,
            places,
            count,
        } => {
            let expected = phrase::expected(&first.expected);
            match first.kind {
                IssueKind::Missing => {
                    format!("add the missing {places} in {count} places ({expected})")
                }
                IssueKind::UnknownKey if is_renamed_or_removed(first) => {
                    let places = format!("{places} ({count} places)");
                    unknown_keys::rename(first, all, &places, None)
                }
                IssueKind::UnknownKey => unknown_keys::remove_in_many(places, *count),
                kind => {
                    let what = complaint(kind, first, "it", &expected);
                    format!("change {places} ({count} places): {what}")
                }
            }
        }
    }
}

/// Writes the edit that one issue asks for.
pub(super) fn line(issue: &Issue) -> String {
    line_among(issue, &[])
}

/// Writes the edit that one issue of several asks for.
fn line_among(issue: &Issue, all: &[Issue]) -> String {
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
                "rename {} to {}{}",
                sibling(issue, nearest),
                last.unwrap_or_default(),
                kept(issue.kept.as_ref())
            ),
            None => format!("add the missing {place} ({expected})"),
        },
        IssueKind::UnknownKey if is_renamed_or_removed(issue) => {
            unknown_keys::rename(issue, all, &place, got)
        }
        IssueKind::UnknownKey if !issue.candidates.is_empty() => {
            let names = phrase::either(&issue.candidates);
            format!("rename {place} to {names}, whichever you mean")
        }
        IssueKind::UnknownKey => match &issue.nearest {
            Some(nearest) => format!("rename {place} to {nearest}{}", kept(got)),
            None => unknown_keys::remove(issue),
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
            format!(
                "change {place}: {short} {is}, use {expected}{}",
                unquoted(issue)
            )
        }
        IssueKind::WrongBranch => wrong_branch(issue, &place, short),
        IssueKind::NoAlternative => match (lacking(issue), issue.pointer.is_root()) {
            (Some(keys), true) => format!("add the missing {keys}"),
            (Some(keys), false) => format!("add to {place} the missing {keys}"),
            (None, _) => format!("change {place}: {short} fits none of the forms; use {expected}"),
        },
        IssueKind::SeveralAlternatives => one_form(issue, &place, short),
        code => format!("{place}: {}", complaint(code, issue, short, &expected)),
    }
}

/// Returns true for an unknown key that other members would take the value of.
fn is_renamed_or_removed(issue: &Issue) -> bool {
    issue.optional && !issue.candidates.is_empty()
}

/// Asks to make a value fit one form of several.
fn one_form(issue: &Issue, place: &str, short: &str) -> String {
    match ambiguous_union::rivals(&issue.expected) {
        Some(keys) if issue.pointer.is_root() => {
            format!("keep only one of {keys}, the one that the user asked for")
        }
        Some(keys) => {
            format!("keep only one of {keys} in {place}, the one that the user asked for")
        }
        None => format!(
            "change {place}: {}",
            ambiguous_union::complaint(&issue.expected, short)
        ),
    }
}

const KEPT: &str = " and keep its value";

/// Asks to keep the value of a member that is renamed or moved. A container is not repeated.
pub(super) fn kept(value: Option<&Actual>) -> String {
    match value {
        Some(value) if value.kind != "object" && value.kind != "array" => {
            format!("{KEPT} {}", value.short)
        }
        _ => KEPT.to_owned(),
    }
}

/// Returns true if there is an issue at or in the place that a member is renamed or moved to.
fn is_changed_too(issue: &Issue, all: &[Issue]) -> bool {
    let beside = |name: &str| Some(issue.pointer.split_last()?.0.join(name));
    let target = match (issue.kind, &issue.moved) {
        (_, Some(moved)) => Some(moved.to.clone()),
        (IssueKind::Missing, None) => Some(issue.pointer.clone()),
        _ => issue.nearest.as_deref().and_then(beside),
    };
    let Some(target) = target else { return false };
    let mut others = all.iter().filter(|other| !std::ptr::eq(*other, issue));
    others.any(|other| other.pointer == target || other.pointer.is_within(&target))
}

/// Says that a boolean has no quotes, or a number if a string was sent in its place. The values of a
/// boolean are not listed: a model takes the first one.
fn unquoted(issue: &Issue) -> &'static str {
    let types = issue.expected.types;
    let quoted = issue
        .actual
        .as_ref()
        .is_some_and(|got| got.kind == "string");
    let bare = |json_type| types == Types::of(json_type);
    let is_number = bare(JsonType::Integer) || bare(JsonType::Number);
    if bare(JsonType::Boolean) || quoted && is_number {
        " without quotes"
    } else {
        ""
    }
}

/// Says which form the other keys belong to.
fn wrong_branch(issue: &Issue, place: &str, short: &str) -> String {
    let keys = phrase::all(&issue.candidates);
    let belong = if issue.candidates.len() == 1 {
        "belongs"
    } else {
        "belong"
    };
    let other = issue.nearest.as_deref().unwrap_or_default();
    let tag = issue.pointer.split_last().map(|(_, tag)| tag.into_owned());
    let tag = tag.unwrap_or_default();
    format!("{place}: {short} does not go with {keys}, which {belong} to {tag} {other}")
}

/// Says what is wrong with a value, after its place.
fn complaint(code: IssueKind, issue: &Issue, short: &str, expected: &str) -> String {
    let null = if issue.expected.types.has(JsonType::Null) {
        " or null"
    } else {
        ""
    };
    let demand = || field_words::must(issue) + null;
    match code {
        IssueKind::Type => format!("use {expected}"),
        IssueKind::Enum => one_of(issue, short),
        IssueKind::TooSmall => format!("{short} is too small, it {}", demand()),
        IssueKind::TooLarge => format!("{short} is too large, it {}", demand()),
        IssueKind::TooShort => format!("{short} is too short, it {}", demand()),
        IssueKind::TooLong => format!("{short} is too long, it {}", demand()),
        IssueKind::NotMultiple
        | IssueKind::TooFewItems
        | IssueKind::TooManyItems
        | IssueKind::TooFewKeys
        | IssueKind::TooManyKeys => format!("it {}", demand()),
        IssueKind::Pattern | IssueKind::Format => format!("{short} is not {expected}"),
        IssueKind::NotUnique => "it must not repeat an element".to_owned(),
        IssueKind::TooComplex => "it has too many forms inside forms, use fewer".to_owned(),
        IssueKind::NotContained => match &issue.expected.array.element {
            Some(element) => format!("one element must be {}", phrase::expected(element)),
            None => "it lacks an element that it must contain".to_owned(),
        },
        IssueKind::KeyName => format!("this key is not allowed ({expected})"),
        IssueKind::NotAllowed => match &issue.expected.forbidden[..] {
            [] => format!("{short} is not allowed here"),
            values => {
                let values = phrase::values(values);
                format!("{short} is not allowed, it must be {expected} other than {values}")
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
            format!("{short} has too many digits for a number")
        }
        _ => expected.to_owned(),
    }
}

/// States the allowed values, and names the nearest. If none is near, a model that is only told of the
/// list takes its first value; one that is asked for the meaning does not.
fn one_of(issue: &Issue, short: &str) -> String {
    let allowed = &issue.expected.allowed;
    let nearest = match &issue.nearest {
        Some(nearest) if allowed.len() > 1 => format!(" (nearest: {nearest})"),
        None if short.starts_with('"') => "; if one of them means the same, use that".to_owned(),
        _ => String::new(),
    };
    match allowed.as_slice() {
        [only] => format!("{short} is not allowed, it must be {only}"),
        several => {
            let (shown, left) = several.split_at(several.len().min(phrase::MOST_VALUES));
            let more = match left.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            format!("{short} is not one of {}{more}{nearest}", shown.join(", "))
        }
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
    let kept = kept(issue.kept.as_ref());
    if target.is_root() {
        format!("move {from} to the top level of the arguments{kept}")
    } else {
        format!("move {from} into {}{kept}", phrase::path(&target))
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
        format!("to the top level or into {}", phrase::either(&inside))
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
        "at the top level".to_owned()
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

/// Writes one line per edit, as many as the budget allows, and counts the issues left out.
pub(super) fn recommendations(bad: &Refusal, budget: &Budget) -> Vec<String> {
    let edits = edits(bad);
    let (shown, omitted) = edits.split_at(edits.len().min(budget.issues.max(1)));
    let lines = shown.iter().map(|edit| grouped_line(edit, &bad.issues));
    let mut out: Vec<_> = lines.map(|line| clip(&line, budget.issue_chars)).collect();
    let omitted = omitted.iter().map(Grouped::count).sum::<usize>() + bad.more;
    if omitted > 0 {
        out.push(format!("and {omitted} more"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_tool_is_named_although_the_host_does_not_name_it() {
        let refusal = Refusal::unknown_tool("raed_file", ["read_file"]);
        assert_eq!(
            head(&refusal, None),
            "There is no tool `raed_file`; nothing was run. Did you mean `read_file`?"
        );
    }
}
