//! What an audit counts. Two aggregates add up to one, in any order: threads, a resumed run and the
//! executors of a cluster each make their own, and the sum is that of one process.

mod counts;
mod example;
mod failures;
mod field;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use goodcall_core::Verdict;
use hashbrown::{Equivalent, HashMap};
use serde::{Deserialize, Serialize};

pub use counts::{CallCounts, SourceCounts, TurnCost, TurnCosts};
use failures::BorrowedClass;
pub use failures::{
    ExampleCall, ExampleNote, FailureClass, FailureExample, FailureOutcome, FailureStats,
};
pub(crate) use field::{dotted, schema_places};

use crate::judge::{Judged, Judgement, split_server};
use crate::recorded::{
    RecordPlace, RecordedCall, RecordedLoop, RecordedTurn, SentArguments, VerdictKind,
};
use crate::result_text::complaint;
pub use example::ExampleSettings;

/// Kinds of failure that are told apart for one tool, model and server; the rest are one kind.
const MOST_CLASSES: usize = 2_000;
/// Places and files that are named; more are counted.
const MOST_PLACES: usize = 20;
/// Definitions that are kept of one tool.
const MOST_VERSIONS: usize = 8;

/// The counts of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Aggregate {
    /// By format.
    pub sources: BTreeMap<String, SourceCounts>,
    /// By tool, model and server.
    #[serde(with = "pairs")]
    pub(crate) groups: HashMap<GroupKey, Group>,
    /// Verdicts by hour since 1970: good, mended, bad, others.
    pub hours: BTreeMap<i64, [u64; 4]>,
    /// Messages of models, and what they cost.
    pub turns: TurnCosts,
    /// Loops by signal and tools.
    #[serde(with = "pairs")]
    pub loops: BTreeMap<(String, String), LoopStats>,
    /// Records that cannot be read, by reason.
    pub unreadable: BTreeMap<String, NamedPlaces>,
    /// Files that were skipped, by reason.
    pub skipped: BTreeMap<String, NamedPlaces>,
    /// Recorded definitions that cannot be used, by reason.
    pub unusable_tools: BTreeMap<String, NamedPlaces>,
    /// The definitions of tools whose calls failed, with the number of these calls.
    pub definitions: BTreeMap<Arc<str>, DefinitionVersions>,
}

/// The tool, model and server of a group; empty if unknown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupKey {
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The name of the model.
    pub model: Arc<str>,
    /// The server.
    pub server: Arc<str>,
}

/// A key of a group that is not a copy of the names.
#[derive(Hash)]
struct BorrowedKey<'k> {
    tool: &'k str,
    model: &'k str,
    server: &'k str,
}

impl Equivalent<GroupKey> for BorrowedKey<'_> {
    fn equivalent(&self, key: &GroupKey) -> bool {
        *self.tool == *key.tool && *self.model == *key.model && *self.server == *key.server
    }
}

impl From<&BorrowedKey<'_>> for GroupKey {
    fn from(key: &BorrowedKey<'_>) -> Self {
        Self {
            tool: key.tool.into(),
            model: key.model.into(),
            server: key.server.into(),
        }
    }
}

/// The calls of one tool by one model through one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Group {
    /// Counts of calls.
    pub counts: CallCounts,
    /// Kinds of failure.
    #[serde(with = "pairs", default)]
    pub(crate) failures: HashMap<FailureClass, FailureStats>,
}

impl Group {
    /// The kinds of failure, in no order.
    pub fn failures(&self) -> impl Iterator<Item = (&FailureClass, &FailureStats)> {
        self.failures.iter()
    }

    /// The statistics of a kind of failure.
    fn failure(&mut self, class: &BorrowedClass<'_>) -> &mut FailureStats {
        let mut class = Cow::Borrowed(class);
        if self.failures.len() >= MOST_CLASSES && !self.failures.contains_key(&*class) {
            class.to_mut().field = Cow::Borrowed("/…");
        }
        if !self.failures.contains_key(&*class) {
            let class = FailureClass::from(&*class);
            self.failures.insert(class, FailureStats::default());
        }
        self.failures.get_mut(&*class).expect("it was inserted")
    }
}

/// A definition of a tool whose calls failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedDefinition {
    /// The schema of the parameters as JSON text.
    pub parameters: Arc<str>,
    /// The description that the model read.
    pub description: Option<Arc<str>>,
}

/// The definitions of one tool, with the number of failed calls that each was offered for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DefinitionVersions(#[serde(with = "pairs")] BTreeMap<FailedDefinition, u64>);

impl DefinitionVersions {
    /// The definition that most of the failed calls were judged by.
    pub fn most_failed(&self) -> Option<&FailedDefinition> {
        let versions = self.0.iter();
        let most =
            versions.max_by(|(one, few), (two, more)| few.cmp(more).then_with(|| two.cmp(one)));
        most.map(|(version, _)| version)
    }

    fn add(&mut self, other: Self) {
        for (version, calls) in other.0 {
            if self.0.len() < MOST_VERSIONS || self.0.contains_key(&version) {
                *self.0.entry(version).or_default() += calls;
            }
        }
    }
}

/// Loops of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopStats {
    /// Loops.
    pub loops: u64,
    /// Turns that were part of one, after it was recognisable.
    pub turns: u64,
    /// The most repetitions of one.
    pub longest: u64,
    /// Where some of them are.
    pub places: NamedPlaces,
}

/// A number of places, some of which are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamedPlaces {
    /// The number of places.
    pub count: u64,
    /// The first of them.
    pub first: Vec<RecordPlace>,
}

impl NamedPlaces {
    /// Adds a place.
    pub fn name(&mut self, place: RecordPlace) {
        self.count += 1;
        self.keep(place);
    }

    fn keep(&mut self, place: RecordPlace) {
        let at = self.first.partition_point(|known| *known < place);
        if at < MOST_PLACES {
            self.first.insert(at, place);
            self.first.truncate(MOST_PLACES);
        }
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        for place in other.first {
            self.keep(place);
        }
    }
}

/// What a call makes of its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallState {
    /// Nothing is wrong with it, as far as is known.
    Fine,
    /// `safe` mends it.
    SafeMends,
    /// `eager` mends it.
    EagerMends,
    /// It failed.
    Failed,
}

impl Aggregate {
    /// The counts by tool, model and server, in no order.
    pub fn groups(&self) -> impl Iterator<Item = (&GroupKey, &Group)> {
        self.groups.iter()
    }

    /// Counts a record that cannot be read.
    pub(crate) fn unreadable(&mut self, source: &str, reason: &str, place: RecordPlace) {
        self.source(source).unreadable += 1;
        self.unreadable
            .entry(reason.to_owned())
            .or_default()
            .name(place);
    }

    /// Counts a file that is skipped.
    pub(crate) fn skip(&mut self, file: Arc<str>, reason: &str) {
        let place = RecordPlace::new(file, 0);
        self.skipped
            .entry(reason.to_owned())
            .or_default()
            .name(place);
    }

    /// The counts of a format.
    pub(crate) fn source(&mut self, name: &str) -> &mut SourceCounts {
        if !self.sources.contains_key(name) {
            self.sources
                .insert(name.to_owned(), SourceCounts::default());
        }
        self.sources.get_mut(name).expect("it was inserted")
    }

    /// Counts one call of a turn.
    pub(crate) fn call(
        &mut self,
        settings: &ExampleSettings,
        turn: &RecordedTurn<'_>,
        call: &RecordedCall<'_>,
        index: usize,
        judgement: &Judgement<'_>,
    ) -> CallState {
        let key = BorrowedKey {
            tool: tool_name(call, judgement),
            model: turn.model.as_deref().unwrap_or_default(),
            // Clients name the server of a tool in front of its name.
            server: split_server(&call.tool)
                .map(|(server, _)| server)
                .or(turn.server.as_deref())
                .unwrap_or_default(),
        };
        let group = match self.groups.get_mut(&key) {
            Some(group) => group,
            None => self.groups.entry(GroupKey::from(&key)).or_default(),
        };
        let counts = &mut group.counts;
        counts.calls += 1;
        counts.text_lost += u64::from(matches!(call.arguments, SentArguments::Value(_)));
        let (mut state, slot) = count_judgement(counts, judgement);
        let mut classes = classes(call, judgement);
        if let Some((complaint, field)) = call.result.as_ref().and_then(complaint) {
            counts.failed_results += 1;
            if complaint != crate::result_text::ResultComplaint::Failed {
                counts.said_invalid += 1;
                if state == CallState::Fine {
                    state = CallState::Failed;
                }
            }
            classes.push(BorrowedClass {
                outcome: FailureOutcome::Result,
                code: complaint.name(),
                field: field::from_dotted(&field.unwrap_or_default()).into(),
            });
        }
        if let Some(time) = turn.time {
            self.hours.entry(time.div_euclid(3600)).or_default()[slot] += 1;
        }
        if !classes.is_empty() {
            let place = RecordPlace {
                call: u32::try_from(index).unwrap_or(u32::MAX),
                ..turn.place.clone()
            };
            let example = example::Sample {
                settings,
                turn,
                call,
                judgement,
                place,
            };
            count_failures(group, &classes, &example);
            self.define(judgement);
        }
        state
    }

    /// Remembers the definition of a tool whose call failed.
    fn define(&mut self, judgement: &Judgement<'_>) {
        let Judgement::Judged(Judged {
            tool: Some(tool), ..
        }) = judgement
        else {
            return;
        };
        let versions = match self.definitions.get_mut(tool.name.as_str()) {
            Some(versions) => versions,
            None => self
                .definitions
                .entry(tool.name.as_str().into())
                .or_default(),
        };
        // Nearly always the definition is known, and is not copied.
        let versions = &mut versions.0;
        let known = versions
            .iter_mut()
            .find(|(version, _)| *version.parameters == *tool.parameters);
        if let Some((_, calls)) = known {
            *calls += 1;
        } else if versions.len() < MOST_VERSIONS {
            let version = FailedDefinition {
                parameters: tool.parameters.as_str().into(),
                description: tool.description.as_deref().map(Arc::from),
            };
            versions.insert(version, 1);
        }
    }

    /// Counts a turn whose worst call is in this state.
    pub(crate) fn turn(&mut self, turn: &RecordedTurn<'_>, state: CallState) {
        let tokens = turn.tokens.unwrap_or_default();
        let cost = TurnCost {
            turns: 1,
            input_tokens: tokens.input,
            output_tokens: tokens.output,
        };
        let turns = &mut self.turns;
        turns.all.add(&cost);
        turns.counted += u64::from(turn.tokens.is_some());
        if state > CallState::Fine {
            turns.failed.add(&cost);
        }
        if state == CallState::SafeMends {
            turns.safe_saved.add(&cost);
        }
        if matches!(state, CallState::SafeMends | CallState::EagerMends) {
            turns.eager_saved.add(&cost);
        }
    }

    /// Counts a turn that is part of a loop.
    pub(crate) fn looped(&mut self, found: &RecordedLoop, place: &RecordPlace) {
        let key = (found.signal.to_string(), found.tools.clone());
        let stats = self.loops.entry(key).or_default();
        stats.turns += 1;
        stats.longest = stats.longest.max(found.times);
        if found.is_new {
            stats.loops += 1;
            stats.places.name(place.clone());
        }
    }

    /// The names of the models, sorted.
    pub fn models(&self) -> Vec<Arc<str>> {
        let mut names: Vec<_> = self
            .groups
            .keys()
            .map(|key| Arc::clone(&key.model))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The counts of one model. Messages, loops and files are not counted by model.
    #[must_use]
    pub fn of_model(&self, model: &str) -> Self {
        let groups = self.groups.iter().filter(|(key, _)| *key.model == *model);
        Self {
            groups: groups
                .map(|(key, group)| (key.clone(), group.clone()))
                .collect(),
            definitions: self.definitions.clone(),
            ..Self::default()
        }
    }

    /// The counts of all groups.
    pub fn totals(&self) -> CallCounts {
        let mut totals = CallCounts::default();
        for group in self.groups.values() {
            totals.add(&group.counts);
        }
        totals
    }

    /// Adds another aggregate to this one.
    pub fn merge(&mut self, other: Self) {
        for (name, counts) in other.sources {
            self.sources.entry(name).or_default().add(&counts);
        }
        for (key, group) in other.groups {
            let own = self.groups.entry(key).or_default();
            own.counts.add(&group.counts);
            for (class, stats) in group.failures {
                own.failure(&BorrowedClass::from(&class)).add(stats);
            }
        }
        for (hour, counts) in other.hours {
            let own = self.hours.entry(hour).or_default();
            own.iter_mut()
                .zip(counts)
                .for_each(|(own, more)| *own += more);
        }
        self.turns.add(&other.turns);
        for (key, stats) in other.loops {
            let own = self.loops.entry(key).or_default();
            own.loops += stats.loops;
            own.turns += stats.turns;
            own.longest = own.longest.max(stats.longest);
            own.places.add(stats.places);
        }
        for (own, other) in [
            (&mut self.unreadable, other.unreadable),
            (&mut self.skipped, other.skipped),
            (&mut self.unusable_tools, other.unusable_tools),
        ] {
            for (reason, places) in other {
                own.entry(reason).or_default().add(places);
            }
        }
        for (tool, versions) in other.definitions {
            self.definitions.entry(tool).or_default().add(versions);
        }
    }
}

/// The name that a call is counted under: that of the tool that was meant, or the name as sent.
fn tool_name<'n>(call: &'n RecordedCall<'_>, judgement: &'n Judgement<'_>) -> &'n str {
    match judgement {
        Judgement::Judged(Judged {
            tool: Some(tool), ..
        }) => &tool.name,
        _ => &call.tool,
    }
}

/// Counts a judgement. Returns what it makes of the turn, and its slot among those of an hour.
fn count_judgement(counts: &mut CallCounts, judgement: &Judgement<'_>) -> (CallState, usize) {
    let (kind, safe, eager) = match judgement {
        Judgement::Judged(judged) => {
            let kind = VerdictKind::from(&judged.verdict);
            (kind, judged.safe, judged.eager)
        }
        // The policy of then is not known; what it mended, `safe` is taken to mend.
        Judgement::Recorded(kind) => (*kind, *kind, *kind),
        Judgement::WithoutTools(reason) => {
            counts.without_tools += 1;
            counts.broken += u64::from(reason.is_some());
            let state = reason.map_or(CallState::Fine, |_| CallState::Failed);
            return (state, 3);
        }
        Judgement::NotRecorded => {
            counts.not_recorded += 1;
            return (CallState::Fine, 3);
        }
    };
    counts.count(kind);
    if kind == VerdictKind::Good {
        return (CallState::Fine, 0);
    }
    let (safe, eager) = (safe == VerdictKind::Mended, eager == VerdictKind::Mended);
    counts.safe_mended += u64::from(safe);
    counts.eager_mended += u64::from(eager);
    let state = match (safe, eager) {
        (true, _) => CallState::SafeMends,
        (false, true) => CallState::EagerMends,
        (false, false) => CallState::Failed,
    };
    (state, if kind == VerdictKind::Mended { 1 } else { 2 })
}

/// The kinds of failure of one call, each one once.
fn classes<'f>(call: &'f RecordedCall<'_>, judgement: &'f Judgement<'_>) -> Vec<BorrowedClass<'f>> {
    let mut classes: Vec<BorrowedClass<'_>> = Vec::new();
    let mut add = |outcome, code: &'f str, field| {
        let class = BorrowedClass {
            outcome,
            code,
            field,
        };
        if !classes.contains(&class) {
            classes.push(class);
        }
    };
    match judgement {
        Judgement::Judged(judged) => match &judged.verdict {
            Verdict::Good(_) => {}
            Verdict::Mended(mended) => {
                for change in &mended.changes {
                    let place = field::pattern(&change.pointer);
                    add(FailureOutcome::Mended, change.rule.name(), place);
                }
            }
            Verdict::Bad(bad) => {
                for issue in &bad.issues {
                    let place = field::pattern(&issue.pointer);
                    add(FailureOutcome::Bad, issue.kind.name(), place);
                }
            }
        },
        Judgement::WithoutTools(Some(reason)) => {
            add(FailureOutcome::Broken, reason.name(), Cow::Borrowed(""));
        }
        Judgement::Recorded(kind) => {
            let outcome = match kind {
                VerdictKind::Mended => FailureOutcome::Mended,
                _ => FailureOutcome::Bad,
            };
            let notes = call.verdict.iter().flat_map(|verdict| &verdict.notes);
            for (code, place) in notes.filter(|_| *kind != VerdictKind::Good) {
                add(outcome, code, field::from_dotted(place).into());
            }
        }
        Judgement::WithoutTools(None) | Judgement::NotRecorded => {}
    }
    classes
}

/// Counts the failures of one call, and keeps it as an example where one is wanted.
fn count_failures(group: &mut Group, classes: &[BorrowedClass<'_>], sample: &example::Sample<'_>) {
    let mut made = None;
    let rank = sample.rank();
    for class in classes {
        let stats = group.failure(class);
        stats.calls += 1;
        if stats.wants(&rank) {
            stats.keep(made.get_or_insert_with(|| sample.example(rank.key)).clone());
        }
    }
}

/// Maps whose keys are not strings, as sorted lists of pairs.
mod pairs {
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<'m, M, K, V, S>(map: &'m M, serializer: S) -> Result<S::Ok, S::Error>
    where
        &'m M: IntoIterator<Item = (&'m K, &'m V)>,
        K: Serialize + Ord + 'm,
        V: Serialize + 'm,
        S: Serializer,
    {
        let mut sorted: Vec<(&K, &V)> = map.into_iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        serializer.collect_seq(sorted)
    }

    pub(super) fn deserialize<'de, M, K, V, D>(deserializer: D) -> Result<M, D::Error>
    where
        M: FromIterator<(K, V)>,
        K: DeserializeOwned,
        V: DeserializeOwned,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?
            .into_iter()
            .collect())
    }
}
