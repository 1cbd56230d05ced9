//! Judges a trial by the validator's faults before and after it.

use std::collections::BTreeSet;

use super::defect::{Defect, Plan};
use crate::tree::{Edit, Pointer};
use crate::validate::{Fault, FaultKind};

/// The outcome of trying a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrialOutcome {
    /// The defect was removed, and the place has no new fault.
    Clean,
    /// The defect was removed, but the new value has faults of its own.
    Progress,
    /// The defect remains.
    Fail,
}

/// Faults sorted by place, for lookup.
pub(crate) struct Index<'f> {
    sorted: Vec<&'f Fault>,
    /// The unknown keys of all faults: place, keyword, key.
    unknown: BTreeSet<(&'f str, &'f str, &'f str)>,
}

impl<'f> Index<'f> {
    pub(crate) fn new(faults: &'f [Fault]) -> Self {
        let mut sorted: Vec<_> = faults.iter().collect();
        sorted.sort_by(|a, b| a.pointer.cmp(&b.pointer));
        let mut unknown = BTreeSet::new();
        for fault in faults {
            if let FaultKind::UnknownKeys(keys) = &fault.kind {
                let (place, keyword) = (fault.pointer.as_str(), fault.keyword.as_str());
                unknown.extend(keys.iter().map(|key| (place, keyword, key.as_str())));
            }
        }
        Self { sorted, unknown }
    }

    /// Returns the faults at a place and, with `deep`, those inside it.
    fn at<'i>(&'i self, place: &'i Pointer, deep: bool) -> impl Iterator<Item = &'f Fault> + 'i {
        let start = self.sorted.partition_point(|fault| fault.pointer < *place);
        let all = self.sorted.iter().skip(start).copied();
        // Those at the place itself come first.
        all.take_while(move |fault| {
            fault.pointer == *place || deep && fault.pointer.starts_with(place)
        })
        .filter(move |fault| fault.pointer == *place || fault.pointer.is_within(place))
    }

    /// Returns true if a fault of the same place and keyword reports this key as unknown.
    fn has_unknown(&self, fault: &Fault, key: &str) -> bool {
        let place = (fault.pointer.as_str(), fault.keyword.as_str(), key);
        self.unknown.contains(&place)
    }

    fn has(&self, fault: &Fault) -> bool {
        self.at(&fault.pointer, false).any(|known| known == fault)
    }
}

/// Returns the places where a plan may have caused new faults, each with whether faults inside it
/// count too.
pub(crate) fn watched(plan: &Plan) -> Vec<(Pointer, bool)> {
    let mut places = Vec::new();
    for step in &plan.steps {
        let place = step.edit.place();
        places.push((place.clone(), true));
        if !matches!(step.edit, Edit::Replace { .. }) {
            let around = [Some(place), step.edit.moved_from()];
            for place in around.into_iter().flatten() {
                if let Some((parent, _)) = place.split_last() {
                    places.push((parent, false));
                }
            }
        }
    }
    places
}

/// Returns the faults in these places that did not exist before.
pub(crate) fn new_faults<'f>(
    places: &[(Pointer, bool)],
    before: &Index<'_>,
    after: &Index<'f>,
) -> Vec<&'f Fault> {
    let mut found: Vec<&'f Fault> = Vec::new();
    for (place, deep) in places {
        for fault in after.at(place, *deep) {
            if !before.has(fault) {
                found.push(fault);
            }
        }
    }
    found
}

/// Returns the outcome of a plan for a defect, by the faults before and after it.
pub(crate) fn outcome(
    defect: &Defect<'_>,
    plan: &Plan,
    before: &Index<'_>,
    after: &Index<'_>,
) -> TrialOutcome {
    let mut union_left = false;
    for (index, fault) in defect.faults.iter().enumerate() {
        let mut branches = plan.branches.iter().filter(|(union, _)| *union == index);
        let Some((_, first)) = branches.next() else {
            if remains(fault, after) {
                return TrialOutcome::Fail;
            }
            continue;
        };
        let others = branches.map(|(_, branch)| *branch);
        let left = std::iter::once(*first).chain(others);
        match left.map(|branch| branch_left(fault, branch, after)).min() {
            Some(Left::Gone) => {}
            Some(Left::Other) => union_left = true,
            Some(Left::Same) | None => return TrialOutcome::Fail,
        }
    }
    let clean = !union_left && new_faults(&watched(plan), before, after).is_empty();
    match (clean, plan.whole) {
        (true, _) => TrialOutcome::Clean,
        (false, false) => TrialOutcome::Progress,
        (false, true) => TrialOutcome::Fail,
    }
}

fn remains(fault: &Fault, after: &Index<'_>) -> bool {
    match &fault.kind {
        FaultKind::UnknownKeys(keys) => keys.iter().any(|key| after.has_unknown(fault, key)),
        _ => after.has(fault),
    }
}

/// The faults of a branch that remain after a trial, best result first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    /// The union fits.
    Gone,
    /// The branch has other faults than before.
    Other,
    /// The branch has a fault that it had before.
    Same,
}

fn branch_left(fault: &Fault, branch: usize, after: &Index<'_>) -> Left {
    let mut here = after.at(&fault.pointer, false);
    let Some(left) = here.find(|known| known.keyword == fault.keyword) else {
        return Left::Gone;
    };
    let (FaultKind::NoBranch(old), FaultKind::NoBranch(new)) = (&fault.kind, &left.kind) else {
        return Left::Same;
    };
    let (Some(old), Some(new)) = (old.get(branch), new.get(branch)) else {
        return Left::Same;
    };
    let new: Index<'_> = Index::new(new);
    if old.iter().any(|fault| new.has(fault)) {
        return Left::Same;
    }
    Left::Other
}
