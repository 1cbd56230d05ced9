//! The memory of the loop detector: fingerprints of calls, never arguments or results.

use std::collections::BTreeMap;

use goodcall_core::{Pointer, Tree, stable_hash};
use serde::{Deserialize, Serialize};

use super::canonical_json::canonical;
use crate::ErrorClass;
use crate::arguments::LoopKey;
use crate::error::ArgumentFault;
use crate::message::{Call, CallOutcome};

/// The most arguments that are remembered for one error.
const MOST_KEYS: usize = 32;
/// The most faults that are remembered for one tool.
const MOST_FAULTS: usize = 64;

/// The tool of a call, and hashes of its arguments and of its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallFingerprint {
    pub(super) tool: String,
    key: u64,
    result: u64,
}

impl CallFingerprint {
    pub(super) fn new(call: &Call, outcome: &CallOutcome, key: u64) -> Self {
        Self {
            tool: call.name.clone(),
            key,
            result: result(outcome),
        }
    }
}

/// The failures of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolMemory {
    /// The faults of the last turn, and in how many turns in a row each was seen.
    faults: Vec<(ArgumentFault, usize)>,
    /// The hash of the last error.
    error: Option<u64>,
    /// The hashes of the arguments that led to it.
    keys: Vec<u64>,
}

impl ToolMemory {
    /// Takes in the outcomes of one turn, and returns the fault that was seen most often, if any.
    pub(super) fn failures(&mut self, outcomes: &[&CallOutcome]) -> Option<(ArgumentFault, usize)> {
        let before: BTreeMap<_, _> = if outcomes.iter().any(|outcome| !is_refused(outcome)) {
            // The model knows how to call the tool.
            self.faults.clear();
            BTreeMap::new()
        } else {
            std::mem::take(&mut self.faults).into_iter().collect()
        };
        for fault in outcomes.iter().flat_map(|outcome| outcome.faults()) {
            let known = self.faults.iter().any(|(known, _)| known == fault);
            if !known && self.faults.len() < MOST_FAULTS {
                let times = before.get(fault).copied().unwrap_or(0) + 1;
                self.faults.push((fault.clone(), times));
            }
        }
        self.faults.iter().max_by_key(|(_, times)| *times).cloned()
    }

    /// Takes in an outcome, and returns the number of different arguments that led to its error in
    /// a row.
    pub(super) fn errors(&mut self, outcome: &CallOutcome, key: u64) -> usize {
        let error = outcome.error.as_ref().map(|error| hash(&[error.message()]));
        if error.is_none() || error != self.error {
            self.keys.clear();
        }
        self.error = error;
        if error.is_none() {
            return 0;
        }
        if self.keys.contains(&key) {
            // The arguments did not change, which is another signal.
            return 0;
        }
        if self.keys.len() < MOST_KEYS {
            self.keys.push(key);
        }
        self.keys.len()
    }
}

/// Returns true if the call was refused because of its arguments.
pub(super) fn is_refused(outcome: &CallOutcome) -> bool {
    outcome.class().is_some_and(ErrorClass::is_fault)
}

/// Returns true if a call has no arguments.
pub(super) fn is_empty(raw: &str) -> bool {
    matches!(raw.trim(), "" | "null" | "{}")
}

/// Returns a fault as text: `path: missing`.
pub(super) fn place(fault: &ArgumentFault) -> String {
    match Pointer::parse(&fault.path) {
        Some(pointer) if !pointer.is_root() => format!("{}: {}", pointer.dotted(), fault.kind),
        _ => fault.kind.clone(),
    }
}

/// Returns the hash of a call; `None` for one that never counts as a loop.
pub(super) fn key(call: &Call, outcome: &CallOutcome) -> Option<u64> {
    let arguments = outcome.mended.as_deref().unwrap_or(&call.arguments);
    match &outcome.loop_key {
        LoopKey::Exempt => None,
        LoopKey::Own(own) => Some(hash(&["own", &call.name, own])),
        LoopKey::Arguments => Some(match Tree::parse(arguments) {
            Ok(tree) => hash(&["json", &call.name, &canonical(tree.root())]),
            Err(_) => hash(&["raw", &call.name, arguments]),
        }),
    }
}

fn result(outcome: &CallOutcome) -> u64 {
    match &outcome.error {
        Some(error) => hash(&["error", error.class().name(), error.message()]),
        None => hash(&["ok", &outcome.data.to_string()]),
    }
}

/// Hashes parts, each ended by a byte that no text has. The result is saved.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    stable_hash(bytes)
}
