//! Tokens of all tries, summed.

use std::collections::BTreeMap;

use goodcall_core::{Kind, Node};

use crate::cuts::Cuts;

/// Levels of details inside a usage.
const MOST_DEPTH: usize = 4;

/// Token counts by their path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage(BTreeMap<String, u64>);

impl Usage {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, path: &str) -> Option<u64> {
        self.0.get(path).copied()
    }

    /// The counts of one node; later ones of the same reply take the place of earlier ones.
    pub(crate) fn note(&mut self, usage: Node<'_>) {
        leaves(usage, "", 0, &mut |path, count, _| {
            self.0.insert(path.to_owned(), count);
        });
    }

    /// Adds what another reply took.
    pub(crate) fn add(&mut self, other: &Usage) {
        for (path, count) in &other.0 {
            let sum = self.0.entry(path.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Writes these counts on top of those of a node.
    pub(crate) fn write(&self, usage: Node<'_>, cuts: &mut Cuts<'_>) {
        leaves(usage, "", 0, &mut |path, count, node| {
            if let Some(before) = self.get(path).filter(|before| *before > 0) {
                cuts.replace(node.span(), count.saturating_add(before).to_string());
            }
        });
    }
}

fn leaves(node: Node<'_>, path: &str, depth: usize, found: &mut impl FnMut(&str, u64, Node<'_>)) {
    if depth > MOST_DEPTH || node.kind() != Kind::Object {
        return;
    }
    for (key, child) in node.members() {
        let path = match path {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        match child.digits().and_then(|digits| digits.parse().ok()) {
            Some(count) => found(&path, count, child),
            None => leaves(child, &path, depth + 1, found),
        }
    }
}
