//! Groups issues, so that the same fault in many elements of one array takes one line.

use std::collections::HashMap;

use super::phrase;
use crate::report::{Expected, Issue, IssueKind};
use crate::tree::Pointer;

/// One issue, or many that differ only in an array index.
pub(super) enum Grouped<'i> {
    One(&'i Issue),
    Many {
        first: &'i Issue,
        /// `edits[0..3].path`
        places: String,
        count: usize,
    },
    /// Unknown keys of one object.
    Keys(Vec<&'i Issue>),
}

impl Grouped<'_> {
    /// Number of issues.
    pub(super) fn count(&self) -> usize {
        match self {
            Grouped::One(_) => 1,
            Grouped::Many { count, .. } => *count,
            Grouped::Keys(issues) => issues.len(),
        }
    }
}

/// The number of like issues from which on they share one line.
const LEAST: usize = 3;

/// Groups issues, in the order of their first.
pub(super) fn grouped<'i>(issues: impl Iterator<Item = &'i Issue>) -> Vec<Grouped<'i>> {
    let mut order: Vec<Vec<&Issue>> = Vec::new();
    let mut known: HashMap<(String, &'static str), usize> = HashMap::new();
    for issue in issues {
        let key = (pattern(&issue.pointer), issue.kind.name());
        match known.get(&key) {
            Some(at) if same(order[*at][0], issue) => order[*at].push(issue),
            _ => {
                known.insert(key, order.len());
                order.push(vec![issue]);
            }
        }
    }
    let mut out = Vec::new();
    for group in order {
        if group.len() >= LEAST && !group[0].pointer.is_root() {
            out.push(Grouped::Many {
                first: group[0],
                places: places(&group),
                count: group.len(),
            });
        } else {
            out.extend(group.into_iter().map(Grouped::One));
        }
    }
    by_object(out)
}

/// Puts the unknown keys of one object together, if there is nothing else to say about them.
fn by_object(all: Vec<Grouped<'_>>) -> Vec<Grouped<'_>> {
    let mut out: Vec<Grouped<'_>> = Vec::with_capacity(all.len());
    let mut known: HashMap<Pointer, usize> = HashMap::new();
    for one in all {
        let Grouped::One(issue) = one else {
            out.push(one);
            continue;
        };
        let object = issue.pointer.split_last().map(|(object, _)| object);
        let placed = issue.moved.is_some() || !issue.places.is_empty();
        let bare = issue.nearest.is_none() && !placed && issue.candidates.is_empty();
        let Some(object) = object.filter(|_| issue.kind == IssueKind::UnknownKey && bare) else {
            out.push(one);
            continue;
        };
        match known.get(&object).and_then(|at| out.get_mut(*at)) {
            Some(Grouped::Keys(keys)) => keys.push(issue),
            _ => {
                known.insert(object, out.len());
                out.push(Grouped::Keys(vec![issue]));
            }
        }
    }
    out
}

fn same(a: &Issue, b: &Issue) -> bool {
    let plain = |issue: &Issue| {
        let stays = issue.nearest.is_none() && issue.moved.is_none() && issue.places.is_empty();
        stays && issue.kind != IssueKind::Wrapped && issue.expected != Expected::default()
    };
    a.expected == b.expected && a.candidates == b.candidates && plain(a) && plain(b)
}

/// Writes a place with every index as `*`.
fn pattern(pointer: &Pointer) -> String {
    let segments = pointer.segments().map(|segment| {
        if index(&segment).is_some() {
            "*".to_owned()
        } else {
            segment.into_owned()
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn index(segment: &str) -> Option<usize> {
    segment.parse().ok()
}

/// Renders the places of a group: `edits[0..3].path` for one run of indices, else
/// `edits[*].path`.
fn places(group: &[&Issue]) -> String {
    let columns: Vec<Vec<String>> = group
        .iter()
        .map(|issue| issue.pointer.segments().map(|s| s.into_owned()).collect())
        .collect();
    let mut text = String::new();
    for (at, segment) in columns[0].iter().enumerate() {
        if columns.iter().all(|column| column[at] == *segment) {
            phrase::push_segment(segment, &mut text);
        } else {
            let all: Vec<_> = columns
                .iter()
                .filter_map(|column| index(&column[at]))
                .collect();
            let run = all.windows(2).all(|pair| pair[1] == pair[0] + 1);
            match (run, all.first(), all.last()) {
                (true, Some(first), Some(last)) => text += &format!("[{first}..{last}]"),
                _ => text.push_str("[*]"),
            }
        }
    }
    text
}
