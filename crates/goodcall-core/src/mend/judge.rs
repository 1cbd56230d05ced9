//! Judges a trial by the validator's faults before and after it.

use super::defect::{Defect, Plan};
use super::edit::Op;
use crate::tree::Pointer;
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
pub(crate) struct Index<'f>(Vec<&'f Fault>);

impl<'f> Index<'f> {
    pub(crate) fn new(faults: &'f [Fault]) -> Self {
        let mut sorted: Vec<_> = faults.iter().collect();
        sorted.sort_by(|a, b| a.pointer.cmp(&b.pointer));
        Self(sorted)
    }

    /// Returns the faults at a place and, with `deep`, those inside it.
    fn at<'i>(&'i self, place: &'i Pointer, deep: bool) -> impl Iterator<Item = &'f Fault> + 'i {
        let start = self.0.partition_point(|fault| fault.pointer < *place);
        let all = self.0.iter().skip(start).copied();
        all.take_while(|fault| fault.pointer.starts_with(place))
            .filter(move |fault| {
                fault.pointer == *place || (deep && fault.pointer.is_within(place))
            })
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
        let place = step.op.place();
        places.push((place.clone(), true));
        if !matches!(step.op, Op::Replace { .. }) {
            let around = [Some(place), step.op.source()];
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
    let mut here = after.at(&fault.pointer, false);
    match &fault.kind {
        FaultKind::UnknownKeys(keys) => here.any(|known| {
            known.keyword == fault.keyword
                && matches!(&known.kind, FaultKind::UnknownKeys(left)
                    if keys.iter().any(|key| left.contains(key)))
        }),
        _ => here.any(|known| known == fault),
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
