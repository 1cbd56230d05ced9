//! Two members with the same key: one value, or two readings.

use std::collections::{HashMap, HashSet};

use super::Reading;
use crate::mend::{Example, Rule};
use crate::policy::Policy;
use crate::report::{Bad, Change, Code, Edit, Got, Issue, Level, Reason};
use crate::tree::{Id, Kind, Node, Pointer, Tree};

pub(crate) const RULE: Rule = Rule {
    name: "duplicate-key",
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
    place: Pointer,
    key: Id,
    first: Id,
    again: Id,
}

/// Drops equal copies; refuses the call if copies differ or dropping is switched off.
pub(super) fn resolve(reading: &mut Reading<'_>, policy: &Policy) -> Result<(), Bad> {
    let mut repeats = Vec::new();
    collect(reading.tree.root(), &mut Pointer::root(), &mut repeats);
    let tree = &reading.tree;
    let mends = policy.allows(RULE.name, RULE.level);
    let conflicts: Vec<_> = repeats
        .iter()
        .filter(|repeat| !mends || tree.node(repeat.first) != tree.node(repeat.again))
        .map(|repeat| conflict(tree, repeat))
        .collect();
    if !conflicts.is_empty() {
        return Err(Bad {
            reason: Reason::Ambiguous,
            issues: conflicts,
            more: 0,
            changes: Vec::new(),
        });
    }
    let mut dropped: HashMap<Id, HashSet<Id>> = HashMap::new();
    for repeat in repeats {
        let (key, again) = (
            reading.tree.node(repeat.key),
            reading.tree.node(repeat.again),
        );
        reading.changes.push(Change {
            rule: RULE.name,
            level: RULE.level,
            pointer: repeat.place,
            edit: Edit::Text,
            before: Some(format!("{key}: {again}")),
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

fn conflict(tree: &Tree<'_>, repeat: &Repeat) -> Issue {
    let (first, again) = (tree.node(repeat.first), tree.node(repeat.again));
    let span = tree.node(repeat.key).span().start..again.span().end;
    let mut issue = Issue::new(repeat.place.clone(), Code::DuplicateKey, span);
    issue.expected.allowed = vec![Got::of(first).short, Got::of(again).short];
    issue.got = Some(Got::of(again));
    issue
}

fn collect(node: Node<'_>, place: &mut Pointer, repeats: &mut Vec<Repeat>) {
    match node.kind() {
        Kind::Array => {
            for (index, element) in node.elements().enumerate() {
                collect(element, &mut place.join(&index.to_string()), repeats);
            }
        }
        Kind::Object => {
            let mut first = HashMap::with_capacity(node.len());
            let mut members = node.members();
            while let Some((key, value)) = members.next_ids() {
                let name = node.tree.node(key).as_str().unwrap_or_default();
                let place = &mut place.join(name);
                match first.get(name) {
                    None => {
                        first.insert(name, value);
                        collect(node.tree.node(value), place, repeats);
                    }
                    Some(first) => repeats.push(Repeat {
                        object: node.id,
                        place: place.clone(),
                        key,
                        first: *first,
                        again: value,
                    }),
                }
            }
        }
        _ => {}
    }
}
