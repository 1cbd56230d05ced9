//! What requests and calls are counted by. Clients choose the names of tools and models, so the number of
//! those is limited; routes and clients are those of the settings.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};

use crate::request_record::Origin;

/// Tools that are counted by name.
const MOST_TOOLS: usize = 256;
/// Models that are counted by name.
const MOST_MODELS: usize = 64;
/// Pairs of a tool and a model that are counted by name.
const MOST_PAIRS: usize = 2048;
/// Characters of a name that are kept.
const MOST_CHARS: usize = 80;

/// The name of a tool or a model, shared by all of its counters.
pub(super) type SharedName = Arc<str>;

/// The names that were seen.
#[derive(Debug, Default)]
pub(super) struct KnownNames(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    tools: HashSet<SharedName>,
    models: HashSet<SharedName>,
    pairs: HashSet<(SharedName, SharedName)>,
}

impl KnownNames {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name that a model is counted under.
    pub(super) fn model(&self, name: &str) -> SharedName {
        shared(&mut self.known().models, name, MOST_MODELS)
    }

    /// Returns the name that a tool is counted under, in a request to this model.
    pub(super) fn tool(&self, name: &str, model: &SharedName) -> SharedName {
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

/// Labels that are there only where there are routes or clients.
impl EncodeLabelSet for Origin {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> std::fmt::Result {
        for (label, value) in [("route", &self.route), ("client", &self.client)] {
            if let Some(value) = value {
                (label, value.as_ref()).encode(encoder.encode_label())?;
            }
        }
        Ok(())
    }
}

/// The model that a request names, the route that it took, and the client that sent it.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct Source {
    pub(super) model: SharedName,
    #[prometheus(flatten)]
    pub(super) origin: Origin,
}

impl Source {
    /// The same without its client, for what is counted by tool: every client has calls of many tools.
    pub(super) fn without_client(&self) -> Self {
        let route = self.origin.route.clone();
        Self {
            model: Arc::clone(&self.model),
            origin: Origin {
                route,
                client: None,
            },
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) protocol: &'static str,
    pub(super) status: u32,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) tool: SharedName,
    pub(super) verdict: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ToolOutcomeLabels {
    pub(super) tool: SharedName,
    pub(super) outcome: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct RuleLabels {
    pub(super) tool: SharedName,
    pub(super) rule: &'static str,
    #[prometheus(flatten)]
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ReasonLabels {
    pub(super) tool: SharedName,
    pub(super) reason: &'static str,
    #[prometheus(flatten)]
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ErrorLabels {
    pub(super) code: &'static str,
    #[prometheus(flatten)]
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct FailureLabels {
    pub(super) code: String,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OutcomeLabels {
    pub(super) outcome: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ObservedLabels {
    pub(super) would: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct TokenLabels {
    pub(super) kind: &'static str,
    #[prometheus(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct RepairLabels {
    pub(super) repair: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct LoopLabels {
    pub(super) signal: &'static str,
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
