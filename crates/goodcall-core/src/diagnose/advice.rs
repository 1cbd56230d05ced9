//! Advice that holds: issues whose edits, done to the letter, lead to a valid call.
//!
//! The edits that need no new value (rename, move, unwrap, leave out) are made on a copy, and the
//! validator looks again. Faults that appear are added to the issues, and faults that are gone are
//! dropped. A member that turns out to be needed where it was sent stays there.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::edits::{Advised, Destination, apply_all, destination, needs_no_value};
use super::issues::issues;
use crate::limits::{ADVICE_ROUNDS, MEND_WIDTH};
use crate::names::{envelope, nearest_name};
use crate::report::{Actual, Issue, IssueKind, JsonType, Refusal};
use crate::rule::RuleId;
use crate::schema::{CallSchema, Schema, describe, owner, schema_for};
use crate::tree::{EditableTree, Id, Kind, Node, Pointer, Tree};
use crate::validate::Fault;

/// Turns faults into the issues that the model reads.
pub(crate) fn advice(
    faults: Vec<Fault>,
    tree: &Tree<'_>,
    call_schema: CallSchema<'_>,
    most: usize,
) -> Vec<Issue> {
    let CallSchema { schema, tool, .. } = call_schema;
    let mut issues = issues(faults, tree, schema);
    if let Some(envelope) = envelope_issue(tree, schema, tool) {
        let outermost = envelope.pointer.segments().next();
        let outermost = outermost.map(|key| Pointer::root().join(&key));
        issues.retain(|issue| Some(&issue.pointer) != outermost.as_ref());
        issues.insert(0, envelope);
    }
    report_wrappers(&mut issues, tree, schema);
    if !issues.iter().any(needs_no_value) {
        return issues;
    }
    let mut rounds = AdviceRounds {
        call_schema,
        most,
        needed_in_place: HashSet::new(),
    };
    for _ in 0..ADVICE_ROUNDS {
        let plan = rounds.plan(&issues);
        if !plan.may_uncover_issues() {
            plan.withdraw_edits(&mut issues);
            return issues;
        }
        let known = rounds.needed_in_place.len();
        let after = rounds.run(plan, issues.clone(), tree);
        if rounds.needed_in_place.len() == known {
            return after;
        }
    }
    // The edits did not reach a fixed point: fall back to the issues without their edits.
    let edits = issues.iter_mut();
    let edits = edits.filter(|issue| issue.kind != IssueKind::UnknownKey);
    edits.for_each(withdraw_edit);
    issues
}

/// Says what the schema wants at the place of text that cannot be read: `12px` in place of a number
/// is not to be sent in quotes.
pub(crate) fn advice_on_text(mut refusal: Refusal, schema: &Schema) -> Refusal {
    for issue in &mut refusal.issues {
        let Some(rule) = issue.expected.rule.filter(|rule| !is_about_brackets(*rule)) else {
            continue;
        };
        // An element is only judged by the schema where the text for it would advise to quote it.
        let element = || {
            let is_bare = rule == RuleId::UnquotedString && !issue.pointer.is_root();
            schema_for(schema.document(), &issue.pointer).filter(|_| is_bare)
        };
        let member = owner(schema.document(), &issue.pointer).map(|owner| owner.member);
        let Some(wanted) = member.or_else(element).map(describe) else {
            continue;
        };
        let text = wanted.types.is_empty() || wanted.types.has(JsonType::String);
        if issue.kind == IssueKind::Malformed && !text {
            issue.expected.to_mut().rule = None;
            issue.expected.to_mut().syntax = None;
            issue.expected.to_mut().types = wanted.types;
        }
    }
    refusal
}

/// Returns true for a rule that mends the brackets around a value, whatever the value is.
fn is_about_brackets(rule: RuleId) -> bool {
    matches!(
        rule,
        RuleId::EarlyBracket | RuleId::ExtraBracket | RuleId::MissingBracket | RuleId::WrongBracket
    )
}

/// Adds an issue for each undeclared object whose members are all declared around it, if several
/// of them are missing there: one line says to unwrap it.
fn report_wrappers(issues: &mut Vec<Issue>, tree: &Tree<'_>, schema: &Schema) {
    let mut wrappers: Vec<Pointer> = Vec::new();
    let mut seen_once: Vec<Pointer> = Vec::new();
    let missing = issues
        .iter()
        .filter(|issue| issue.kind == IssueKind::Missing);
    for moved in missing.filter_map(|issue| issue.moved.as_ref()) {
        let Some((from, _)) = moved.from.split_last() else {
            continue;
        };
        if from.depth() != moved.to.depth() || wrappers.contains(&from) {
            continue;
        }
        if seen_once.contains(&from) {
            wrappers.push(from);
        } else {
            seen_once.push(from);
        }
    }
    for place in wrappers {
        let known = issues
            .iter()
            .any(|issue| issue.kind == IssueKind::Wrapped && issue.pointer == place);
        let Some((around, _)) = place.split_last() else {
            continue;
        };
        let (Some(node), Some(object)) = (tree.at(&place), tree.at(&around)) else {
            continue;
        };
        let declared = |place: &Pointer| owner(schema.document(), place).is_some();
        let fits = |name| declared(&around.join(name)) && object.get(name).is_none();
        if !known && !declared(&place) && node.members().all(|(name, _)| fits(name)) {
            let mut issue = Issue::new(place, IssueKind::Wrapped, node.span());
            issue.actual = Some(Actual::of(node));
            issues.retain(|other| other.pointer != issue.pointer);
            issues.insert(0, issue);
        }
    }
}

/// Makes edits on a copy, validates it, and makes the edits that follow from that.
struct AdviceRounds<'r> {
    call_schema: CallSchema<'r>,
    most: usize,
    /// Members that turned out to be needed where they were sent. This set only grows.
    needed_in_place: HashSet<Pointer>,
}

/// The edits of one round. No member is moved twice, and no two to one place.
#[derive(Default)]
struct EditPlan {
    acts: Vec<Advised>,
    moved: BTreeSet<Pointer>,
    filled: BTreeSet<Pointer>,
    unwrapped: Vec<Pointer>,
    /// The indices of the issues whose edits are not made.
    withdrawn: Vec<usize>,
}

/// What becomes of the edit that an issue asks for.
enum EditDecision {
    Make(Advised),
    /// Another issue asks for it already.
    AlreadyPlanned,
    /// It is in conflict with other edits, or its member is needed in its place.
    Withdraw,
}

impl AdviceRounds<'_> {
    fn run(&mut self, plan: EditPlan, mut issues: Vec<Issue>, tree: &Tree<'_>) -> Vec<Issue> {
        let mut acts = plan.withdraw_edits(&mut issues);
        let mut draft = EditableTree::new(tree.clone());
        for _ in 0..ADVICE_ROUNDS {
            if !apply_all(&acts, &mut draft) {
                break;
            }
            let found = self.call_schema.faults(draft.tree.root(), self.most);
            if !found.finished {
                break;
            }
            let mut left =
                super::issues::issues(found.faults, &draft.tree, self.call_schema.schema);
            let needed = acts.iter().filter(|act| {
                act.may_uncover_issues && left.iter().any(|issue| misses(issue, &act.from))
            });
            let needed: Vec<_> = needed.map(|act| act.from.clone()).collect();
            if !needed.is_empty() {
                self.needed_in_place.extend(needed);
                break;
            }
            let plan = self.plan(&left);
            let is_last = !plan.may_uncover_issues();
            acts = plan.withdraw_edits(&mut left);
            merge(&mut issues, left);
            if is_last {
                break;
            }
        }
        issues
    }

    /// Plans the edits that these issues ask for: wrappers first, then missing members, then the
    /// others.
    fn plan(&self, issues: &[Issue]) -> EditPlan {
        let rank = |issue: &Issue| match issue.kind {
            IssueKind::Wrapped => 0,
            IssueKind::Missing => 1,
            _ => 2,
        };
        let mut plan = EditPlan::default();
        for current in 0..3 {
            for (index, issue) in issues.iter().enumerate() {
                if rank(issue) != current || !needs_no_value(issue) {
                    continue;
                }
                match self.decide(issue, &plan) {
                    EditDecision::Make(act) => plan.add(act),
                    EditDecision::AlreadyPlanned => {}
                    EditDecision::Withdraw => plan.withdrawn.push(index),
                }
            }
        }
        plan
    }

    fn decide(&self, issue: &Issue, plan: &EditPlan) -> EditDecision {
        let (from, to) = destination(issue);
        if plan.moved.contains(&from) {
            return EditDecision::AlreadyPlanned;
        }
        let in_wrapper = plan.unwrapped.iter().any(|wrapper| from.is_within(wrapper));
        let filled = matches!(&to, Destination::Place(to) if plan.filled.contains(to));
        if in_wrapper || filled || self.needed_in_place.contains(&from) {
            return EditDecision::Withdraw;
        }
        let may_uncover_issues = match to {
            Destination::Nowhere => {
                issue.kind == IssueKind::Type && self.call_schema.schema.has_conditions()
            }
            Destination::Place(_) | Destination::Unwrapped(_) => true,
        };
        EditDecision::Make(Advised {
            from,
            to,
            may_uncover_issues,
        })
    }
}

impl EditPlan {
    /// Returns true if validating after the edits may find issues that they hid.
    fn may_uncover_issues(&self) -> bool {
        self.acts.iter().any(|act| act.may_uncover_issues)
    }

    /// Takes the edits that are not made out of the issues that this was planned for, and returns the
    /// others.
    fn withdraw_edits(self, issues: &mut [Issue]) -> Vec<Advised> {
        for index in self.withdrawn {
            withdraw_edit(&mut issues[index]);
        }
        self.acts
    }

    fn add(&mut self, act: Advised) {
        self.moved.insert(act.from.clone());
        match &act.to {
            Destination::Place(to) => drop(self.filled.insert(to.clone())),
            Destination::Unwrapped(_) => self.unwrapped.push(act.from.clone()),
            Destination::Nowhere => {}
        }
        self.acts.push(act);
    }
}

/// Takes the edit out of an issue. An unknown key, which a wrapper then is again, is still to be
/// left out.
fn withdraw_edit(issue: &mut Issue) {
    if issue.kind == IssueKind::Wrapped {
        issue.kind = IssueKind::UnknownKey;
    }
    issue.nearest = None;
    issue.moved = None;
    issue.places.clear();
    issue.optional = issue.kind == IssueKind::UnknownKey;
}

/// Takes over what is left after the edits: new issues are added, those that are gone are dropped
/// unless they ask for one of the edits.
fn merge(issues: &mut Vec<Issue>, left: Vec<Issue>) {
    let place = |issue: &Issue| (issue.kind, issue.pointer.clone());
    let left = left.into_iter().enumerate();
    let mut still: HashMap<_, _> = left.map(|(at, now)| (place(&now), (at, now))).collect();
    issues.retain_mut(|issue| {
        match still.remove(&place(issue)) {
            // The issue as it is after the edits.
            Some((_, now)) if !needs_no_value(issue) => *issue = now,
            Some(_) => {}
            None => return needs_no_value(issue),
        }
        true
    });
    let mut new: Vec<_> = still.into_values().collect();
    new.sort_unstable_by_key(|(at, _)| *at);
    issues.extend(new.into_iter().map(|(_, issue)| issue));
}

/// Returns true if the issue asks for the member at this place, perhaps among others.
fn misses(issue: &Issue, place: &Pointer) -> bool {
    match issue.kind {
        IssueKind::Missing => issue.pointer == *place,
        IssueKind::NoAlternative => {
            let keys = issue
                .expected
                .alternatives
                .iter()
                .flat_map(|form| &form.object.keys);
            let mut places = keys.map(|key| issue.pointer.join(&key.name));
            places.any(|wanted| wanted == *place)
        }
        _ => false,
    }
}

/// The issue of arguments in an envelope, if the content has to do with the schema.
fn envelope_issue(tree: &Tree<'_>, schema: &Schema, tool: Option<&str>) -> Option<Issue> {
    let root = tree.root();
    let declares = |name: &str| schema.root().property(name).is_some();
    let inner = envelope(root, &declares, tool, |value| {
        value.kind() == Kind::Object || value.as_str().is_some_and(|text| text.starts_with('{'))
    })?;
    let place = place_of(root, inner.id)?;
    let text = inner.as_str().map(Tree::parse);
    let opened = match &text {
        Some(Ok(tree)) => tree.root(),
        Some(Err(_)) => return None,
        None => inner,
    };
    let names = || schema.root().properties().map(|(name, _)| name);
    let related = |name: &str| declares(name) || nearest_name(name, names()).is_some();
    let known = opened
        .members()
        .take(MEND_WIDTH)
        .any(|(name, _)| related(name));
    if !known {
        return None;
    }
    let mut issue = Issue::new(place, IssueKind::Wrapped, inner.span());
    issue.actual = Some(Actual::of(inner));
    issue.moved = Some(crate::report::Moved {
        from: issue.pointer.clone(),
        to: Pointer::root(),
    });
    Some(issue)
}

/// The place of a node in an envelope, at most two levels down.
fn place_of(root: Node<'_>, id: Id) -> Option<Pointer> {
    root.members().find_map(|(outer, value)| {
        let place = Pointer::root().join(outer);
        if value.id == id {
            return Some(place);
        }
        let mut inner = value.members();
        inner.find_map(|(name, value)| (value.id == id).then(|| place.join(name)))
    })
}
