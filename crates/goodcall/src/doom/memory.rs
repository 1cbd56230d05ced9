//! What the detector remembers: fingerprints, never arguments or results.

use std::collections::BTreeMap;

use goodcall_core::{Pointer, Tree};
use serde::{Deserialize, Serialize};

use super::canonical::canonical;
use crate::bound::LoopKey;
use crate::error::{ArgumentFault, ToolError};
use crate::message::{Call, CallOutcome};

/// Keys remembered for one error; beyond that the error is the same anyway.
const MOST_KEYS: usize = 32;
/// Faults remembered for one tool.
const MOST_FAULTS: usize = 64;

/// One call: what was called, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) tool: String,
    key: u64,
    result: u64,
}

impl Seen {
    pub(super) fn new(call: &Call, outcome: &CallOutcome, key: u64) -> Self {
        Self {
            tool: call.name.clone(),
            key,
            result: result(outcome),
        }
    }
}

/// What is remembered of one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolMemory {
    /// The faults of the last turn, and in how many turns in a row each was seen.
    faults: Vec<(ArgumentFault, usize)>,
    /// The last error.
    error: Option<u64>,
    /// The arguments that led to it.
    keys: Vec<u64>,
}

impl ToolMemory {
    /// Takes in the outcomes of one turn; the fault that was seen most often, if any.
    pub(super) fn failures(&mut self, outcomes: &[&CallOutcome]) -> Option<(ArgumentFault, usize)> {
        let before: BTreeMap<_, _> = if outcomes.iter().any(|outcome| !is_refused(outcome)) {
            // The model knows how to call it.
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

    /// Takes in an outcome; with how many different arguments its error was seen in a row.
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
            // Not with changing arguments: that is another signal.
            return 0;
        }
        if self.keys.len() < MOST_KEYS {
            self.keys.push(key);
        }
        self.keys.len()
    }
}

/// Was nothing run because of the arguments?
pub(super) fn is_refused(outcome: &CallOutcome) -> bool {
    matches!(outcome.error, Some(ToolError::Argument(_)))
}

/// Are there no arguments to speak of?
pub(super) fn is_empty(raw: &str) -> bool {
    matches!(raw.trim(), "" | "null" | "{}")
}

/// A fault in words: `path: missing`.
pub(super) fn place(fault: &ArgumentFault) -> String {
    match Pointer::parse(&fault.path) {
        Some(pointer) if !pointer.is_root() => format!("{}: {}", pointer.dotted(), fault.code),
        _ => fault.code.clone(),
    }
}

/// The fingerprint of a call; `None` for one that is no part of any loop.
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

/// FNV-1a over parts: small, and the same in every process and version, since it is saved.
fn hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
