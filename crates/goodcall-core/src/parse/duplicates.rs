//! Two members with the same key: one value, or two readings.

use std::collections::{HashMap, HashSet};

use super::error::{ParseClass, ParseError};
use super::{Reading, refusal};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::SyntaxExpectation;
use crate::report::{Actual, Change, Edit, Issue, IssueKind, Reason, Refusal};
use crate::rule::{Example, Level, Rule, RuleId};
use crate::tree::{Id, Kind, Node, Pointer, Tree};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::DuplicateKey,
    level: Level::Safe,
    what: "Drops a repeated member whose value equals the first one's.",
    why: "Both copies say the same, so one of them says it too. Copies that differ are two \
          readings: then nothing is dropped, and the model is told of both.",
    example: Example {
        tool: None,
        schema: r#"{"type": "object"}"#,
        raw: r#"{"path": "a.txt", "path": "a.txt"}"#,
        mended: r#"{"path":"a.txt"}"#,
    },
};

/// A member that repeats an earlier one of the same object.
struct Repeat {
    object: Id,
    /// `None` if there is no room left for places.
    place: Option<Pointer>,
    key: Id,
    first: Id,
    again: Id,
}

/// Drops equal copies; refuses the call if copies differ or dropping is switched off.
pub(super) fn resolve(
    reading: &mut Reading<'_>,
    policy: &Policy,
    limits: &Limits,
) -> Result<(), Refusal> {
    let mut found = Found {
        repeats: Vec::new(),
        room: 16 * reading.tree.source().len() + 4096,
    };
    found.collect(reading.tree.root(), &mut Pointer::root());
    let repeats = found.repeats;
    let tree = &reading.tree;
    let mends = policy.allows(RULE.id, RULE.level);
    let conflicts = repeats
        .iter()
        .filter(|repeat| !mends || tree.node(repeat.first) != tree.node(repeat.again));
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
        let wanted = SyntaxExpectation::Changes(limits.max_changes);
        let error = ParseError::new(ParseClass::TooLarge, wanted, 0);
        return Err(refusal(&error, tree.source()));
    }
    let mut dropped: HashMap<Id, HashSet<Id>> = HashMap::new();
    for repeat in repeats {
        let (key, again) = (
            reading.tree.node(repeat.key),
            reading.tree.node(repeat.again),
        );
        reading.changes.push(Change {
            rule: RULE.id,
            level: RULE.level,
            pointer: repeat.place.unwrap_or_default(),
            edit: Edit::Text,
            before: Some(format!("{key}: {again}").into()),
            after: None,
            span: key.span().start..again.span().end,
        });
        dropped.entry(repeat.object).or_default().insert(repeat.key);
    }
    for (object, keys) in dropped {
        remove(&mut reading.tree, object, &keys);
    }
    Ok(())
}

/// Takes the members with these keys out of an object, in one pass.
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
    issue.expected.allowed = vec![Actual::of(first).short, Actual::of(again).short];
    issue.actual = Some(Actual::of(again));
    issue
}

/// The repeated members of a tree, in order.
struct Found {
    repeats: Vec<Repeat>,
    /// Bytes that places may still take: one long key must not be copied for every repeat.
    room: usize,
}

impl Found {
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
                    let name = node.tree.node(key).as_str().unwrap_or_default();
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
        self.room = self.room.checked_sub(place.size())?;
        Some(place.clone())
    }
}
