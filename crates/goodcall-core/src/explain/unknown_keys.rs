//! The lines of the style `model` about keys that a schema does not have.

use super::model::kept;
use super::phrase;
use crate::report::{Actual, Issue, IssueKind};
use crate::tree::Pointer;

const NO_SUCH: &str = "there is no such parameter";

/// Returns the places of missing members that the lines about unknown keys name.
pub(super) fn named_missing(issues: &[Issue]) -> Vec<Pointer> {
    let unknown = issues.iter().filter(|issue| is_optional(issue));
    let missing = unknown.filter_map(|issue| stands_for(issue, issues));
    missing.map(|missing| missing.pointer.clone()).collect()
}

fn is_optional(issue: &Issue) -> bool {
    issue.kind == IssueKind::UnknownKey && issue.optional
}

/// Returns the missing member that an unknown key may stand for: the only one that would take its
/// value, if nothing else is said about it.
fn stands_for<'i>(issue: &Issue, all: &'i [Issue]) -> Option<&'i Issue> {
    let [name] = issue.candidates.as_slice() else {
        return None;
    };
    let place = issue.pointer.split_last()?.0.join(name);
    let is_missing = |other: &&Issue| {
        let is_plain = other.nearest.is_none() && other.moved.is_none();
        other.kind == IssueKind::Missing && is_plain && other.pointer == place
    };
    all.iter().filter(|_| is_optional(issue)).find(is_missing)
}

/// Asks to rename an unknown key to a member that would take its value, or to remove it. A model that
/// is asked to remove the key first loses its value.
///
/// A member that is missing is named in the same line. A model that reads of both in two lines sends
/// both keys, or the description of the missing member as its value.
pub(super) fn rename(issue: &Issue, all: &[Issue], place: &str, value: Option<&Actual>) -> String {
    let same = match issue.candidates.as_slice() {
        [_] => "if both mean the same",
        _ => "if one of them means the same",
    };
    let names = phrase::either(&issue.candidates);
    let renamed = if stands_for(issue, all).is_some() {
        format!("the missing {names}")
    } else {
        names + &kept(value)
    };
    format!("{place} is not a parameter: rename it to {renamed} {same}, or remove it")
}

/// Asks to remove a key that has no other name.
pub(super) fn remove(issue: &Issue) -> String {
    let place = phrase::path(&issue.pointer);
    match known(issue) {
        Some(known) => format!("replace or remove {place}: {known}"),
        None => format!("remove {place}: {NO_SUCH}"),
    }
}

/// Asks to remove a key in many elements of an array.
pub(super) fn remove_in_many(places: &str, count: usize) -> String {
    format!("remove {places} ({count} places): {NO_SUCH}")
}

/// Asks to remove several unknown keys of one object.
pub(super) fn remove_all(issues: &[&Issue]) -> String {
    let shown = issues.iter().take(phrase::MOST_VALUES);
    let mut keys: Vec<_> = shown.map(|issue| phrase::path(&issue.pointer)).collect();
    if issues.len() > keys.len() {
        keys.push(format!("{} more", issues.len() - keys.len()));
    }
    let keys = phrase::all(&keys);
    match issues.first().and_then(|issue| known(issue)) {
        Some(known) => format!("replace or remove {keys}: {known}"),
        None => format!("remove {keys}: there are no such parameters"),
    }
}

/// Names the declared keys if they are few.
fn known(issue: &Issue) -> Option<String> {
    match issue.expected.allowed.as_slice() {
        [] => None,
        [only] => Some(format!("the only parameter is {only}")),
        keys if keys.len() > phrase::MOST_VALUES => None,
        keys => Some(format!("the only parameters are {}", keys.join(", "))),
    }
}
