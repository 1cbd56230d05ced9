//! Runs rounds of mending: plans an edit for every fault, tries it, and keeps it if the validator no
//! longer finds that fault.

use std::collections::HashSet;

use super::compact::compact;
use super::defect::{Claim, Claims, Defect, Plan, Planner, cost};
use super::judge::{Index, TrialOutcome, new_faults, outcome, watched};
use super::rules::{RuleSet, stages};
use super::site::Task;
use crate::limits::{MEND_DEPTH, MEND_ROUNDS, MEND_VALIDATIONS};
use crate::report::{Actual, Change, Issue, IssueKind, JsonType, Types};
use crate::schema::{FoundFaults, Schema};
use crate::snippet::clip;
use crate::tree::{EditMark, EditableTree, Kind, Node, Pointer, Tree};
use crate::validate::{Fault, FaultKind, KeywordPlace};

/// The result of a mend.
pub(crate) enum Mend<'a> {
    /// The mended value, which is valid, and the changes that led to it.
    Valid(Tree<'a>, Vec<Change>),
    Left(Unmended<'a>),
}

/// A value that could not be mended.
pub(crate) struct Unmended<'a> {
    /// The value as it was sent.
    pub(crate) tree: Tree<'a>,
    /// The places with more than one reading.
    pub(crate) ambiguous: Vec<Issue>,
    /// What is wrong with the value, if that is known.
    pub(crate) faults: Option<FoundFaults>,
}

/// Mends a value that does not match its schema. `faults` is what is wrong with it, if that is known.
pub(crate) fn mend<'a>(tree: Tree<'a>, task: Task<'_>, faults: Option<FoundFaults>) -> Mend<'a> {
    let Some(stages) = stages(task.policy) else {
        return Mend::Left(Unmended {
            tree,
            ambiguous: Vec::new(),
            faults,
        });
    };
    let draft = EditableTree::new(tree);
    let start = draft.mark();
    let mut engine = Engine {
        context: task,
        draft,
        changes: Vec::new(),
        ambiguous: Vec::new(),
        stages,
        validations: MEND_VALIDATIONS,
        rounds: MEND_ROUNDS,
        as_sent: faults,
    };
    // Wrapping a value in a list or moving a key down makes the tree one level deeper.
    let most = task.limits.depth();
    if engine.run(None, 0).is_some() && !engine.draft.tree.root().is_deeper_than(most) {
        let changes = std::mem::take(&mut engine.changes);
        if let Some(changes) = compact(changes, &engine.draft.tree) {
            return Mend::Valid(engine.draft.tree, changes);
        }
    }
    engine.draft.back_to(start);
    Mend::Left(Unmended {
        tree: engine.draft.tree,
        ambiguous: engine.ambiguous,
        faults: engine.as_sent,
    })
}

/// Returns true if arguments may be of this kind.
pub(crate) fn is_of_kind(root: Node<'_>, schema: &Schema) -> bool {
    root.kind() == Kind::Object || schema.names_root_kind(root)
}

struct Engine<'c, 'a> {
    context: Task<'c>,
    draft: EditableTree<'a>,
    changes: Vec<Change>,
    ambiguous: Vec<Issue>,
    /// The rules to try first, and those to try when the first ones achieve nothing more.
    stages: [Option<RuleSet>; 2],
    validations: usize,
    rounds: usize,
    /// The faults of the value as it was sent, while nobody works on them.
    as_sent: Option<FoundFaults>,
}

/// The places that a trial inside another trial has to make valid.
struct Scope<'s> {
    places: Vec<(Pointer, bool)>,
    before: &'s Index<'s>,
}

/// What a round came to.
enum RoundResult {
    Valid,
    /// Something was mended; these faults are left.
    On(Vec<Fault>),
    /// Nothing could be mended.
    Stuck(Vec<Fault>),
    /// No rule proposed anything.
    Silent(Vec<Fault>),
}

/// The defects that were given up at this stage.
type GivenUp = HashSet<(String, String)>;

impl<'a> Engine<'_, 'a> {
    /// Mends until nothing in scope is faulty and returns the cost. Returns `None` if that is not
    /// possible within the budget.
    fn run(&mut self, scope: Option<&Scope<'_>>, depth: usize) -> Option<u32> {
        let from = self.changes.len();
        let mut faults = self.faults()?;
        let mut rules = self.rules_of(0)?;
        let (mut stage, mut dead) = (0, GivenUp::new());
        loop {
            let open = match scope {
                Some(scope) => in_scope(&faults, scope),
                None => faults,
            };
            if open.is_empty() {
                break;
            }
            self.rounds = self.rounds.checked_sub(1)?;
            let (left, silent) = match self.round(open, rules, &mut dead, scope.is_some(), depth)? {
                RoundResult::Valid => break,
                RoundResult::On(left) => {
                    faults = left;
                    if stage > 0 {
                        (stage, dead) = (0, GivenUp::new());
                    }
                    rules = self.rules_of(stage)?;
                    continue;
                }
                RoundResult::Stuck(left) => (left, RuleSet::default()),
                RoundResult::Silent(left) => (left, rules),
            };
            stage += 1;
            dead.clear();
            // A less certain rule must not decide between two readings.
            let Some(further) = self.rules_of(stage).filter(|_| self.ambiguous.is_empty()) else {
                if scope.is_none() && self.changes.is_empty() {
                    self.as_sent = Some(FoundFaults::all(left));
                }
                return None;
            };
            // Rules that had nothing to say about these faults have nothing to say now.
            rules = further.without(silent);
            faults = match scope {
                Some(_) => self.faults()?,
                None => left,
            };
        }
        Some(self.changes.iter().skip(from).map(|c| cost(c.level)).sum())
    }

    fn rules_of(&self, stage: usize) -> Option<RuleSet> {
        self.stages.get(stage).copied().flatten()
    }

    /// One round: plans for all defects, tried rank by rank, the best kept.
    fn round(
        &mut self,
        faults: Vec<Fault>,
        rules: RuleSet,
        dead: &mut GivenUp,
        scoped: bool,
        depth: usize,
    ) -> Option<RoundResult> {
        let mut planner = Planner::new(self.context, &self.draft.tree, rules);
        let mut defects = planner.defects(&faults);
        if !planner.has_proposals() {
            drop(defects);
            return Some(RoundResult::Silent(faults));
        }
        let is_dead = |defect: &Defect<'_>| !dead.is_empty() && dead.contains(&defect.key());
        defects.retain(|defect| !defect.plans.is_empty() && !is_dead(defect));
        let ranks = defects.iter().map(|d| d.plans.len()).max().unwrap_or(0);
        if ranks == 0 {
            drop(defects);
            return Some(RoundResult::Stuck(faults));
        }
        let mut before = None;
        let mut tried: Vec<Vec<TriedPlan>> = Vec::new();
        for rank in 0..ranks {
            let start = self.mark();
            let picks: Vec<_> = defects.iter().map(|d| d.plans.get(rank)).collect();
            let applied = self.apply(&picks)?;
            if ranks == 1 && !scoped && self.accepts()? {
                return Some(RoundResult::Valid);
            }
            tried.resize_with(defects.len(), Vec::new);
            let before = before.get_or_insert_with(|| Index::new(&faults));
            let after = self.faults()?;
            let index = Index::new(&after);
            let mut failed = false;
            for (at, from) in applied {
                let Some((defect, plan)) = defects.get(at).zip(picks.get(at).copied().flatten())
                else {
                    continue;
                };
                let outcome = outcome(defect, plan, before, &index);
                failed |= outcome == TrialOutcome::Fail;
                let reading = self.reading(from, defect.plans.len() > 1);
                tried[at].push(TriedPlan {
                    rank,
                    outcome,
                    cost: plan.cost,
                    reading,
                });
            }
            if ranks == 1 && !failed {
                return Some(RoundResult::On(after));
            }
            self.back_to(start);
        }
        let before = before?;
        let mut picks: Vec<Option<&Plan>> = Vec::with_capacity(defects.len());
        for (defect, tried) in defects.iter().zip(&tried) {
            let pick = self.choose(defect, tried, &before, depth, scoped);
            if pick.is_none() && !tried.is_empty() {
                dead.insert(defect.key());
            }
            picks.push(pick.and_then(|rank| defect.plans.get(rank)));
        }
        let any = picks.iter().any(Option::is_some);
        // A defect that was not tried yet had to wait for another one that is given up now.
        let waiting = tried.iter().any(Vec::is_empty);
        if any {
            self.apply(&picks)?;
            if !scoped && self.accepts()? {
                return Some(RoundResult::Valid);
            }
        } else if !waiting {
            drop(picks);
            drop(defects);
            return Some(RoundResult::Stuck(faults));
        }
        self.faults().map(RoundResult::On)
    }

    /// Returns the rank of the plan to keep for a defect: the only one, or the one that leads to a
    /// valid place at the lowest cost. Several plans of that cost make the defect ambiguous.
    fn choose(
        &mut self,
        defect: &Defect<'_>,
        tried: &[TriedPlan],
        before: &Index<'_>,
        depth: usize,
        scoped: bool,
    ) -> Option<usize> {
        let mut clean: Vec<(u32, &TriedPlan)> = Vec::new();
        let mut open: Vec<&TriedPlan> = Vec::new();
        for one in tried {
            match one.outcome {
                TrialOutcome::Clean => clean.push((one.cost, one)),
                TrialOutcome::Progress => open.push(one),
                TrialOutcome::Fail => {}
            }
        }
        if let ([], [only]) = (clean.as_slice(), open.as_slice()) {
            return Some(only.rank);
        }
        let best = clean.iter().map(|(cost, _)| *cost).min();
        for one in open {
            // Anything that is not clean yet costs at least one more change.
            if best.is_some_and(|best| one.cost >= best) {
                continue;
            }
            let plan = defect.plans.get(one.rank)?;
            if let Some(cost) = self.follow(plan, before, depth) {
                clean.push((cost, one));
            }
        }
        let best = clean.iter().map(|(cost, _)| *cost).min()?;
        clean.retain(|(cost, _)| *cost == best);
        match clean.as_slice() {
            [(_, only)] => Some(only.rank),
            several => {
                if !scoped {
                    self.two_readings(defect, several);
                }
                None
            }
        }
    }

    /// Mends on after this plan, undoes everything and returns the total cost.
    fn follow(&mut self, plan: &Plan, before: &Index<'_>, depth: usize) -> Option<u32> {
        if depth >= MEND_DEPTH {
            return None;
        }
        let start = self.mark();
        self.apply(&[Some(plan)])?;
        let places = watched(plan);
        let cost = self.run(Some(&Scope { places, before }), depth + 1);
        self.back_to(start);
        cost.map(|further| plan.cost.saturating_add(further))
    }

    /// Applies one plan per defect and skips those that conflict with an earlier one. Returns the
    /// index of each applied plan with the number of changes before it, or `None` if there are too
    /// many changes or one cannot be made.
    fn apply(&mut self, picks: &[Option<&Plan>]) -> Option<Vec<(usize, usize)>> {
        let mut applied = Vec::with_capacity(picks.len());
        let mut claims = Claims::default();
        for (index, plan) in picks.iter().enumerate() {
            let Some(plan) = plan else { continue };
            let alone = picks.len() == 1 && plan.steps.len() == 1;
            let taken = |claims: &Claims<'_>| {
                let mut steps = plan.steps.iter();
                steps.any(|step| claims.check(&step.edit) == Claim::Taken)
            };
            if !alone && taken(&claims) {
                continue;
            }
            applied.push((index, self.changes.len()));
            for step in &plan.steps {
                if !alone {
                    if claims.check(&step.edit) != Claim::Free {
                        continue;
                    }
                    claims.take(&step.edit);
                }
                if self.changes.len() >= self.context.limits.max_changes {
                    return None;
                }
                self.changes.push(step.apply(&mut self.draft)?);
            }
        }
        Some(applied)
    }

    fn mark(&self) -> (EditMark, usize) {
        (self.draft.mark(), self.changes.len())
    }

    fn back_to(&mut self, (mark, changes): (EditMark, usize)) {
        self.draft.back_to(mark);
        self.changes.truncate(changes);
    }

    fn accepts(&mut self) -> Option<bool> {
        self.validations = self.validations.checked_sub(1)?;
        let root = self.draft.tree.root();
        let schema = self.context.call_schema();
        Some(is_of_kind(root, schema.schema) && schema.accepts(root))
    }

    /// Returns all faults, or `None` if the budget is used up or there are too many faults to list.
    fn faults(&mut self) -> Option<Vec<Fault>> {
        self.validations = self.validations.checked_sub(1)?;
        let (schema, root) = (self.context.schema, self.draft.tree.root());
        if root.kind() != Kind::Object && !schema.names_root_kind(root) {
            return Some(vec![Fault::new(
                Pointer::root(),
                KeywordPlace::at_root("type"),
                FaultKind::Type(Types::of(JsonType::Object)),
            )]);
        }
        let most = self.context.limits.max_changes;
        let known = self.as_sent.take();
        let found = known.unwrap_or_else(|| self.context.call_schema().faults(root, most));
        (found.finished && found.more == 0).then_some(found.faults)
    }

    /// Describes the first change since `from` in a few words, if that is `wanted`.
    fn reading(&self, from: usize, wanted: bool) -> String {
        let Some(change) = self.changes.get(from).filter(|_| wanted) else {
            return String::new();
        };
        match (&change.from, &change.after) {
            (Some(from), _) => clip(&from.dotted(), Actual::MOST_CHARS),
            (_, Some(after)) => clip(after, Actual::MOST_CHARS),
            // A removed value cannot be shown, so show the object that it was removed from.
            (_, None) => {
                let around = change.pointer.split_last().map(|(parent, _)| parent);
                let node = around.and_then(|around| self.draft.tree.at(&around));
                node.map(|node| clip(&node.to_json(), Actual::MOST_CHARS))
                    .unwrap_or_default()
            }
        }
    }

    fn two_readings(&mut self, defect: &Defect<'_>, readings: &[(u32, &TriedPlan)]) {
        // One is kept in any case, since no less certain rule may decide then.
        if self.ambiguous.len() >= self.context.limits.max_issues.max(1) {
            return;
        }
        let place = match &defect.faults[0].kind {
            FaultKind::Required(name) => defect.pointer().join(name),
            _ => defect.pointer().clone(),
        };
        let node = self.draft.tree.at(&place);
        let around = self.draft.tree.at(defect.pointer());
        let span = node.or(around).map(|n| n.span()).unwrap_or_default();
        let mut issue = Issue::new(place, IssueKind::Ambiguous, span);
        let readings = readings.iter().map(|(_, tried)| tried.reading.clone());
        issue.expected.to_mut().allowed = readings.collect();
        issue.actual = node.map(Actual::of);
        self.ambiguous.push(issue);
    }
}

/// The outcome of one plan of a defect.
struct TriedPlan {
    rank: usize,
    outcome: TrialOutcome,
    cost: u32,
    reading: String,
}

fn in_scope(faults: &[Fault], scope: &Scope<'_>) -> Vec<Fault> {
    let index = Index::new(faults);
    let found = new_faults(&scope.places, scope.before, &index);
    let mut kept: Vec<Fault> = Vec::new();
    for fault in found {
        if !kept.contains(fault) {
            kept.push(fault.clone());
        }
    }
    kept
}
