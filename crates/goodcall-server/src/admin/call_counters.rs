//! Counters of calls for Prometheus.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodcall_wire::relay::CallRecord;
use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};
use prometheus_client::registry::Registry;

use super::quick_family::{FirstFew, QuickFamily};

/// Tools that are counted by name.
const MOST_TOOLS: usize = 256;
/// Models that are counted by name.
const MOST_MODELS: usize = 64;
/// Pairs of a tool and a model that are counted by name.
const MOST_PAIRS: usize = 2048;
/// Characters of a name that are kept.
const MOST_CHARS: usize = 80;

/// The name of a tool or a model, shared by all of its counters.
pub type SharedName = Arc<str>;

/// The names that were seen. Clients choose the names of tools and models, so a limited number is counted
/// apart.
#[derive(Debug, Default)]
pub struct KnownNames {
    all: Mutex<Known>,
    first_models: FirstFew<SharedName>,
    first_pairs: FirstFew<(SharedName, SharedName)>,
}

#[derive(Debug, Default)]
struct Known {
    tools: HashSet<SharedName>,
    models: HashSet<SharedName>,
    pairs: HashSet<(SharedName, SharedName)>,
}

impl KnownNames {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name that a model is counted under.
    pub fn model(&self, name: &str) -> SharedName {
        if let Some(known) = self.first_models.find(|known| **known == *name) {
            return Arc::clone(known);
        }
        let model = shared(&mut self.known().models, name, MOST_MODELS);
        self.first_models.add(Arc::clone(&model));
        model
    }

    /// Returns the name that a tool is counted under, in a request to this model or server.
    pub fn tool(&self, name: &str, model: &SharedName) -> SharedName {
        let is_pair = |(tool, of): &(SharedName, SharedName)| **tool == *name && of == model;
        if let Some((tool, _)) = self.first_pairs.find(is_pair) {
            return Arc::clone(tool);
        }
        let mut known = self.known();
        let tool = shared(&mut known.tools, name, MOST_TOOLS);
        let pair = (tool, Arc::clone(model));
        if known.pairs.contains(&pair) {
            return pair.0;
        }
        if known.pairs.len() >= MOST_PAIRS {
            return other();
        }
        known.pairs.insert(pair.clone());
        self.first_pairs.add(pair.clone());
        pair.0
    }
}

/// The name that stands for all beyond the limits.
fn other() -> SharedName {
    "(other)".into()
}

fn shared(known: &mut HashSet<SharedName>, name: &str, most: usize) -> SharedName {
    let end = name.char_indices().nth(MOST_CHARS).map(|(end, _)| end);
    let name = &name[..end.unwrap_or(name.len())];
    if let Some(known) = known.get(name) {
        return Arc::clone(known);
    }
    if known.len() >= most {
        return other();
    }
    let name = SharedName::from(name);
    known.insert(Arc::clone(&name));
    name
}

/// Where a call came from, as labels.
pub trait CallSource: Labels {
    /// What changes and refusals are counted by, too.
    type Origin: Labels;

    /// Returns the labels of changes and refusals.
    fn origin(&self) -> Self::Origin;
}

/// Values that can be labels of a counter.
pub trait Labels: EncodeLabelSet + Clone + fmt::Debug + Hash + Eq + Send + Sync + 'static {}

impl<L: EncodeLabelSet + Clone + fmt::Debug + Hash + Eq + Send + Sync + 'static> Labels for L {}

/// The labels of a call, a change or a refusal: a tool, a word about it, and where it came from.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct ToolLabels<L> {
    tool: SharedName,
    word: (&'static str, &'static str),
    from: L,
}

impl<L: EncodeLabelSet> EncodeLabelSet for ToolLabels<L> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        ("tool", &*self.tool).encode(encoder.encode_label())?;
        self.word.encode(encoder.encode_label())?;
        self.from.encode(encoder)
    }
}

/// Counts calls, changes and refusals.
#[derive(Debug)]
pub struct CallCounters<S: CallSource> {
    calls: QuickFamily<ToolLabels<S>>,
    mends: QuickFamily<ToolLabels<S::Origin>>,
    refusals: QuickFamily<ToolLabels<S::Origin>>,
}

impl<S: CallSource> CallCounters<S> {
    /// Makes counters that are part of these metrics.
    pub fn register(metrics: &mut Registry) -> Self {
        let counters = Self {
            calls: QuickFamily::default(),
            mends: QuickFamily::default(),
            refusals: QuickFamily::default(),
        };
        metrics.register(
            "calls",
            "Tool calls by tool and verdict",
            counters.calls.family(),
        );
        metrics.register("mends", "Changes by tool and rule", counters.mends.family());
        metrics.register(
            "refusals",
            "Bad calls by tool and reason",
            counters.refusals.family(),
        );
        counters
    }

    /// Counts one call under this name of its tool.
    pub fn count(&self, call: &CallRecord, tool: &SharedName, source: &S) {
        let labels = |word| ToolLabels {
            tool: Arc::clone(tool),
            word,
            from: source.origin(),
        };
        if let Some(reason) = call.reason {
            let refusal = labels(("reason", reason));
            self.refusals.get(&refusal).inc();
        } else {
            for note in &call.notes {
                let change = labels(("rule", note.rule));
                self.mends.get(&change).inc();
            }
        }
        let labels = ToolLabels {
            tool: Arc::clone(tool),
            word: ("verdict", call.verdict.name()),
            from: source.clone(),
        };
        self.calls.get(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limits_are_counted_together() {
        let names = KnownNames::default();
        let models: Vec<_> = (0..100).map(|n| names.model(&format!("m{n}"))).collect();
        assert_eq!((&*models[63], &*models[64]), ("m63", "(other)"));
        let first = &models[0];
        let tools = (0..300).map(|n| names.tool(&format!("t{n}"), first));
        let tools: Vec<_> = tools.collect();
        assert_eq!((&*tools[255], &*tools[256]), ("t255", "(other)"));
        for model in &models[1..64] {
            for n in 0..256 {
                names.tool(&format!("t{n}"), model);
            }
        }
        let known = names.known();
        let counts = (known.tools.len(), known.models.len(), known.pairs.len());
        assert_eq!(counts, (MOST_TOOLS, MOST_MODELS, MOST_PAIRS));
        drop(known);
        assert_eq!(&*names.tool("t0", first), "t0", "a known pair stays");
        assert_eq!(&*names.tool("t0", &models[63]), "(other)");
        let long = "x".repeat(90);
        assert_eq!(KnownNames::default().model(&long).len(), MOST_CHARS);
    }
}
