//! Members with the same key: equal copies are dropped, different ones are refused.

use std::collections::{HashMap, HashSet};

use super::error::{ParseClass, ParseError};
use super::{Reading, refusal};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::SyntaxExpectation;
use crate::report::{Actual, Change, Issue, IssueKind, Reason, Refusal};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::snippet::{MOST_CHARS, clip};
use crate::tree::{Id, Kind, Node, Pointer, Tree};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::DuplicateKey,
    level: Level::Safe,
    what: "Drops a repeated member whose value equals the first one's.",
    why: "Both copies say the same, so one of them does too.",
    not_when: &["The copies differ: they are two readings, and the model is told about both."],
    example: Example {
        tool: None,
        schema: r#"{"type": "object"}"#,
        raw: r#"{"path": "a.txt", "path": "a.txt"}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

/// The copies that are listed one by one; further ones are counted in the last change.
const LISTED: usize = 64;

/// A member that repeats an earlier one of the same object.
struct Repeat {
    object: Id,
    /// `None` if all pointers together would take too many bytes.
    place: Option<Pointer>,
    key: Id,
    first: Id,
    again: Id,
}

/// Drops the later copies in a value that was cut off, which is only looked at, and lists them.
pub(super) fn drop_in_partial(reading: &mut Reading<'_>) {
    let mut repeats = find(reading);
    repeats.retain(|repeat| repeat.place.is_some());
    drop_copies(reading, repeats);
}

fn find(reading: &Reading<'_>) -> Vec<Repeat> {
    let mut found = RepeatedMembers {
        repeats: Vec::new(),
        pointer_bytes_left: 2 * reading.tree.source().len() + 4096,
    };
    found.collect(reading.tree.root(), &mut Pointer::root());
    found.repeats
}

/// Drops equal copies; refuses the call if copies differ or dropping is switched off.
pub(super) fn resolve(
    reading: &mut Reading<'_>,
    policy: &Policy,
    limits: &Limits,
) -> Result<(), Refusal> {
    let repeats = find(reading);
    let tree = &reading.tree;
    let may_drop = policy.allows(RULE.id, RULE.level);
    let conflicts = repeats
        .iter()
        .filter(|repeat| !may_drop || tree.node(repeat.first) != tree.node(repeat.again));
    let mut issues = Vec::new();
    let mut more = 0;
    for repeat in conflicts {
        match &repeat.place {
            Some(place) if issues.len() < limits.max_issues.max(1) => {
                issues.push(conflict(tree, repeat, place.clone()));
            }
            _ => more += 1,
        }
    }
    if !issues.is_empty() || more > 0 {
        return Err(Refusal {
            reason: Reason::Ambiguous,
            issues,
            more,
            changes: Vec::new(),
        });
    }
    if repeats.len() > limits.max_changes || repeats.iter().any(|r| r.place.is_none()) {
        let expected = SyntaxExpectation::Changes(limits.max_changes);
        let error = ParseError::new(ParseClass::TooLarge, expected, 0);
        return Err(refusal(&error, tree.source()));
    }
    drop_copies(reading, repeats);
    Ok(())
}

fn drop_copies(reading: &mut Reading<'_>, repeats: Vec<Repeat>) {
    let mut dropped: HashMap<Id, HashSet<Id>> = HashMap::new();
    let mut changes = std::mem::take(&mut reading.changes).into_vec();
    let listed = changes.len() + LISTED;
    for repeat in repeats {
        let (key, again) = (
            reading.tree.node(repeat.key),
            reading.tree.node(repeat.again),
        );
        let span = key.span().start..again.span().end;
        if changes.len() >= listed
            && let Some(last) = changes.last_mut()
        {
            last.count = last.count.saturating_add(1);
            last.span.end = last.span.end.max(span.end);
            dropped.entry(repeat.object).or_default().insert(repeat.key);
            continue;
        }
        changes.push(Change {
            rule: RULE.id,
            level: RULE.level,
            pointer: repeat
                .place
                .expect("repeats without a place are refused above"),
            from: None,
            before: Some(clip(&format!("{key}: {again}"), MOST_CHARS).into()),
            after: None,
            is_text: true,
            span,
            count: 1,
        });
        dropped.entry(repeat.object).or_default().insert(repeat.key);
    }
    reading.changes = changes.into();
    for (object, keys) in dropped {
        remove(&mut reading.tree, object, &keys);
    }
}

/// Removes the members with these keys from an object, in one pass.
fn remove(tree: &mut Tree<'_>, object: Id, keys: &HashSet<Id>) {
    let mut last = None;
    let mut kept = 0;
    let mut current = tree.slot(object).head;
    for _ in 0..tree.slot(object).size {
        let value = tree.slot(current).next;
        let following = tree.slot(value).next;
        if !keys.contains(&current) {
            match last {
                None => tree.slots[object as usize].head = current,
                Some(last) => tree.slots[last as usize].next = current,
            }
            last = Some(value);
            kept += 1;
        }
        current = following;
    }
    tree.slots[object as usize].size = kept;
}

fn conflict(tree: &Tree<'_>, repeat: &Repeat, place: Pointer) -> Issue {
    let (first, again) = (tree.node(repeat.first), tree.node(repeat.again));
    let span = tree.node(repeat.key).span().start..again.span().end;
    let mut issue = Issue::new(place, IssueKind::DuplicateKey, span);
    issue.expected.to_mut().allowed = vec![Actual::of(first).short, Actual::of(again).short];
    issue.actual = Some(Actual::of(again));
    issue
}

/// The repeated members of a tree, in order.
struct RepeatedMembers {
    repeats: Vec<Repeat>,
    /// Bytes that pointers may still take: one long key must not be copied for every repeat.
    pointer_bytes_left: usize,
}

impl RepeatedMembers {
    fn collect(&mut self, node: Node<'_>, place: &mut Pointer) {
        let here = place.size();
        match node.kind() {
            Kind::Array => {
                for (index, element) in node.elements().enumerate() {
                    if matches!(element.kind(), Kind::Array | Kind::Object) {
                        place.push(&index.to_string());
                        self.collect(element, place);
                        place.truncate(here);
                    }
                }
            }
            Kind::Object => {
                let mut first = HashMap::with_capacity(node.len());
                let mut members = node.members();
                while let Some((key, value)) = members.next_ids() {
                    let name = node.tree.node(key).as_str().expect("keys are strings");
                    place.push(name);
                    match first.get(name) {
                        None => {
                            first.insert(name, value);
                            self.collect(node.tree.node(value), place);
                        }
                        Some(first) => {
                            let place = self.keep(place);
                            self.repeats.push(Repeat {
                                object: node.id,
                                place,
                                key,
                                first: *first,
                                again: value,
                            });
                        }
                    }
                    place.truncate(here);
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, place: &Pointer) -> Option<Pointer> {
        self.pointer_bytes_left = self.pointer_bytes_left.checked_sub(place.size())?;
        Some(place.clone())
    }
}
