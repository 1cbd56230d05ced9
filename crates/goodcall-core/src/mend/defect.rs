//! Groups faults into defects and collects the plans that the rules have for each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::planned_edit::PlannedEdit;
use super::rules::RuleSet;
use super::site::{Finder, Found, Proposals, Site, Task};
use crate::limits::MEND_READINGS;
use crate::rule::Level;
use crate::tree::{Edit, Kind, Node, Pointer, Tree};
use crate::validate::{Fault, FaultKind, equals};

/// Faults that are mended together: all faults of a scalar, or one fault of a container.
pub(crate) struct Defect<'f> {
    /// At least one fault.
    pub(crate) faults: Vec<Cow<'f, Fault>>,
    /// The alternatives that the rules propose.
    pub(crate) plans: Vec<Plan>,
}

impl Defect<'_> {
    pub(crate) fn pointer(&self) -> &Pointer {
        &self.faults[0].pointer
    }

    /// Returns a key that is unique among the defects of a value.
    pub(crate) fn key(&self) -> (String, String) {
        (self.pointer().as_str().to_owned(), detail(&self.faults[0]))
    }
}

/// One alternative for mending a defect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<PlannedEdit>,
    pub(crate) cost: u32,
    /// True if this plan alone must make the place valid.
    pub(crate) whole: bool,
    /// The union branches that this plan mends: the index of the fault and of its branch.
    pub(crate) branches: Vec<(usize, usize)>,
}

impl Plan {
    fn same_edits(&self, other: &Plan) -> bool {
        self.steps.len() == other.steps.len()
            && (self.steps.iter().zip(&other.steps)).all(|(a, b)| a.edit == b.edit)
    }

    fn extend(&mut self, other: &Plan) {
        let few = self.steps.len() < MEND_READINGS;
        for step in &other.steps {
            if few && self.steps.iter().any(|known| known.edit == step.edit) {
                continue;
            }
            self.steps.push(step.clone());
        }
        self.cost += other.cost;
        self.whole |= other.whole;
    }
}

/// Returns the cost of applying a rule. Many safe edits are still preferred to one eager edit.
pub(crate) fn cost(level: Level) -> u32 {
    match level {
        Level::Safe => 1,
        Level::Eager => 1000,
    }
}

fn detail(fault: &Fault) -> String {
    match &fault.kind {
        FaultKind::Required(name) => format!("{} {name}", fault.keyword),
        FaultKind::UnknownKeys(keys) => format!("{} {}", fault.keyword, keys.join(" ")),
        FaultKind::Misspelt { key, .. } => format!("{} {key}", fault.keyword),
        _ => fault.keyword.to_string(),
    }
}

/// The number of faults from which on scalars are looked up in a map.
const FEW: usize = 16;

/// Collects defects and the plans for them.
pub(crate) struct Planner<'t> {
    context: Task<'t>,
    finder: Finder<'t>,
    rules: RuleSet,
    /// True as soon as a rule has proposed anything.
    has_proposals: bool,
}

impl<'t> Planner<'t> {
    pub(crate) fn new(context: Task<'t>, tree: &'t Tree<'t>, rules: RuleSet) -> Self {
        Self {
            context,
            finder: Finder::new(tree),
            rules,
            has_proposals: false,
        }
    }

    /// Returns true if any rule has proposed anything so far.
    pub(crate) fn has_proposals(&self) -> bool {
        self.has_proposals
    }

    /// Returns the defects that cause these faults, outer places first.
    pub(crate) fn defects<'f>(&mut self, faults: &'f [Fault]) -> Vec<Defect<'f>> {
        let mut defects: Vec<Defect<'f>> = Vec::with_capacity(faults.len());
        // The value of each defect. All faults of one defect are of one value.
        let mut values: Vec<Found<'t>> = Vec::with_capacity(faults.len());
        let mut scalars: HashMap<&'f str, usize> = HashMap::new();
        for fault in faults {
            let Some(value) = self.finder.find(&fault.pointer) else {
                continue;
            };
            if !matches!(value.0.kind(), Kind::Array | Kind::Object) {
                // The faults of one value are mostly adjacent.
                let last = defects.len().wrapping_sub(1);
                let known = match defects.last() {
                    Some(defect) if defect.faults[0].pointer == fault.pointer => Some(last),
                    _ if faults.len() < FEW => (defects.iter())
                        .position(|defect| defect.faults[0].pointer == fault.pointer),
                    _ => scalars.get(fault.pointer.as_str()).copied(),
                };
                match known.and_then(|index| defects.get_mut(index)) {
                    Some(defect) => defect.faults.push(Cow::Borrowed(fault)),
                    None => {
                        if faults.len() >= FEW {
                            scalars.insert(fault.pointer.as_str(), defects.len());
                        }
                        defects.push(single(Cow::Borrowed(fault)));
                        values.push(value);
                    }
                }
                continue;
            }
            match &fault.kind {
                FaultKind::UnknownKeys(keys) if keys.len() > 1 => {
                    for key in keys {
                        defects.push(single(Cow::Owned(Fault::new(
                            fault.pointer.clone(),
                            fault.keyword.clone(),
                            FaultKind::UnknownKeys(vec![key.clone()]),
                        ))));
                    }
                }
                _ => defects.push(single(Cow::Borrowed(fault))),
            }
            values.resize(defects.len(), value);
        }
        for (defect, value) in defects.iter_mut().zip(values) {
            defect.plans = self.plans(&defect.faults, value);
        }
        if defects.len() > 1 {
            defects.sort_by_key(|defect| defect.pointer().depth());
        }
        defects
    }

    fn plans(&mut self, faults: &[Cow<'_, Fault>], value: Found<'t>) -> Vec<Plan> {
        let mut plans: Vec<Plan> = Vec::new();
        for (index, fault) in faults.iter().enumerate() {
            for mut plan in self.plans_for(fault, index, value) {
                match plans.iter_mut().find(|known| known.same_edits(&plan)) {
                    Some(known) => {
                        known.cost = known.cost.min(plan.cost);
                        // The order of the branches of a union must not matter.
                        known.whole |= plan.whole;
                        known.branches.append(&mut plan.branches);
                    }
                    None => plans.push(plan),
                }
            }
            if plans.len() > MEND_READINGS {
                return Vec::new();
            }
        }
        plans
    }

    fn plans_for(&mut self, fault: &Fault, index: usize, (node, member): Found<'t>) -> Vec<Plan> {
        let unknown = match &fault.kind {
            FaultKind::UnknownKeys(keys) if node.kind() == Kind::Object => {
                let key = keys.first();
                key.and_then(|key| self.finder.key(node, key.as_bytes()))
            }
            FaultKind::Misspelt { key, .. } => self.finder.key(node, key.as_bytes()),
            _ => None,
        };
        let site = Site::new(self.context, fault, (node, member), unknown);
        let mut proposals = Proposals::default();
        self.rules.propose(&site, &mut proposals);
        self.has_proposals |= !proposals.0.is_empty();
        let mut plans: Vec<Plan> = Vec::with_capacity(proposals.0.len());
        for proposal in proposals.0 {
            let level = proposal.steps.first().map_or(Level::Safe, |s| s.rule.level);
            plans.push(Plan {
                steps: proposal.steps,
                cost: cost(level),
                whole: proposal.whole,
                branches: Vec::new(),
            });
        }
        if let FaultKind::NoBranch(branches) = &fault.kind {
            for branch in self.eligible(fault, node, branches.len()) {
                let Some(faults) = branches.get(branch) else {
                    continue;
                };
                for mut plan in self.branch(faults) {
                    plan.branches = vec![(index, branch)];
                    plans.push(plan);
                }
            }
        }
        plans
    }

    /// Returns the plans that mend every fault of a branch.
    fn branch(&mut self, faults: &[Fault]) -> Vec<Plan> {
        let mut plans = vec![Plan::default()];
        for defect in self.defects(faults) {
            match defect.plans.as_slice() {
                [only] => plans.iter_mut().for_each(|plan| plan.extend(only)),
                several => {
                    let mut combined = Vec::with_capacity(plans.len() * several.len());
                    for plan in &plans {
                        for one in several {
                            let mut plan = plan.clone();
                            plan.extend(one);
                            combined.push(plan);
                        }
                    }
                    plans = combined;
                }
            }
            if plans.is_empty() || plans.len() > MEND_READINGS {
                return Vec::new();
            }
        }
        plans.retain(|plan| !plan.steps.is_empty());
        plans
    }

    /// Returns the branches worth mending: those that the value selects by a member with a constant
    /// value, or all if it selects none.
    fn eligible(&self, fault: &Fault, node: Node<'t>, branches: usize) -> Vec<usize> {
        let named: Vec<usize> = (0..branches)
            .filter(|branch| self.names(fault, node, *branch))
            .collect();
        if named.is_empty() {
            return (0..branches).collect();
        }
        named
    }

    fn names(&self, fault: &Fault, node: Node<'t>, branch: usize) -> bool {
        if node.kind() != Kind::Object {
            return false;
        }
        let Some(branch) = self.context.schema.branch(fault.keyword.as_str(), branch) else {
            return false;
        };
        let (mut hits, mut misses) = (0, 0);
        for (name, property) in branch.resolve().properties() {
            let Some(constant) = property.resolve().constant() else {
                continue;
            };
            match node.get(name) {
                Some(value) if equals(value, constant) => hits += 1,
                Some(_) => misses += 1,
                None => {}
            }
        }
        hits > 0 && misses == 0
    }
}

fn single(fault: Cow<'_, Fault>) -> Defect<'_> {
    Defect {
        faults: vec![fault],
        plans: Vec::new(),
    }
}

/// The places changed in one round, so that no edit works on a place that another one moved.
pub(crate) struct Claims<'p> {
    taken: BTreeMap<&'p str, &'p Edit>,
    /// The smallest depth of a taken place.
    least: usize,
}

impl Default for Claims<'_> {
    fn default() -> Self {
        Self {
            taken: BTreeMap::new(),
            least: usize::MAX,
        }
    }
}

/// The answer to whether an edit may be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    Free,
    /// The same edit was made already.
    Made,
    /// Another edit changed this place, or one around it.
    Taken,
}

impl<'p> Claims<'p> {
    pub(crate) fn check(&self, edit: &'p Edit) -> Claim {
        let places = [Some(edit.place()), edit.moved_from()];
        let around = !matches!(edit, Edit::Move { target: None, .. });
        for place in places.into_iter().flatten().map(Pointer::as_str) {
            match self.taken.get(place) {
                Some(known) if *known == edit => return Claim::Made,
                Some(_) => return Claim::Taken,
                None if around && self.takes_around(place) => return Claim::Taken,
                None => {}
            }
        }
        Claim::Free
    }

    fn takes_around(&self, place: &str) -> bool {
        let mut depth = place.bytes().filter(|b| *b == b'/').count();
        let mut rest = place;
        while depth > self.least
            && let Some((outer, _)) = rest.rsplit_once('/')
        {
            if self.taken.contains_key(outer) {
                return true;
            }
            (rest, depth) = (outer, depth - 1);
        }
        false
    }

    pub(crate) fn take(&mut self, edit: &'p Edit) {
        for place in [Some(edit.place()), edit.moved_from()]
            .into_iter()
            .flatten()
        {
            self.taken.insert(place.as_str(), edit);
            self.least = self.least.min(place.depth());
        }
    }
}
