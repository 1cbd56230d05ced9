//! Which branch of a union was meant.

use std::cmp::Reverse;

use serde_json::Value;

use super::{Fault, FaultKind};
use crate::schema::{Schema, resolve};
use crate::tree::{Node, Pointer, Tree};

/// The branch that a failing value came closest to.
pub(crate) enum Choice {
    /// This one.
    Branch(usize),
    /// None fits better than the others.
    Unclear,
}

/// How close a value came to a branch; greater is closer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Closeness {
    fit: Fit,
    /// Keys of the value that the branch declares.
    declared: usize,
    /// Depth of the fault nearest to the root.
    depth: usize,
    faults: Reverse<usize>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The value is of another kind altogether.
    OtherKind,
    /// A member that names the branch names another one.
    OtherName,
    /// The right kind.
    Kind,
    /// A member that names the branch names this one.
    Name,
}

/// Picks the branch that the value at `place` was meant for: by a discriminating member where one
/// exists, else by how far it got.
pub(crate) fn choose(
    branches: &[Vec<Fault>],
    place: &Pointer,
    keyword: &str,
    tree: &Tree<'_>,
    schema: &Schema,
) -> Choice {
    let value = tree.at(place);
    let mut best: Option<(usize, Closeness)> = None;
    let mut tied = false;
    for (index, faults) in branches.iter().enumerate() {
        let branch = schema.at(&format!("{keyword}/{index}"));
        let branch = branch.map(|branch| resolve(schema.document(), branch));
        let closeness = closeness(faults, place, value, branch);
        match &best {
            Some((_, known)) if *known > closeness => {}
            Some((_, known)) if *known == closeness => tied = true,
            _ => {
                best = Some((index, closeness));
                tied = false;
            }
        }
    }
    match best {
        Some((index, known)) if !tied && (known.fit > Fit::OtherKind || branches.len() == 1) => {
            Choice::Branch(index)
        }
        _ => Choice::Unclear,
    }
}

fn closeness(
    faults: &[Fault],
    place: &Pointer,
    value: Option<Node<'_>>,
    branch: Option<&Value>,
) -> Closeness {
    let properties = branch.and_then(|b| b.get("properties")?.as_object());
    let declared = match (value, properties) {
        (Some(value), Some(map)) => value
            .members()
            .filter(|(key, _)| map.contains_key(*key))
            .count(),
        _ => 0,
    };
    let depth = |fault: &Fault| fault.pointer.depth() - place.depth().min(fault.pointer.depth());
    let misnamed = faults.iter().any(|fault| {
        depth(fault) == 1 && matches!(fault.kind, FaultKind::Const(_) | FaultKind::Enum(_))
    });
    let named = value.zip(properties).is_some_and(|(value, properties)| {
        properties.iter().any(|(name, property)| {
            let lists = property.get("const").is_some() || property.get("enum").is_some();
            lists && value.get(name).is_some()
        })
    });
    let other_kind = faults.iter().any(|fault| {
        depth(fault) == 0
            && matches!(
                fault.kind,
                FaultKind::Type(_)
                    | FaultKind::Enum(_)
                    | FaultKind::Const(_)
                    | FaultKind::NotAllowed
            )
    });
    Closeness {
        fit: match () {
            () if other_kind => Fit::OtherKind,
            () if misnamed => Fit::OtherName,
            () if named => Fit::Name,
            () => Fit::Kind,
        },
        declared,
        depth: faults.iter().map(depth).min().unwrap_or_default(),
        faults: Reverse(faults.len()),
    }
}
