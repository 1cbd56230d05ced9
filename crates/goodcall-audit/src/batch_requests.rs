//! What the requests of batches say about their answers, which are in other files.

use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::{HashMap, HashSet};

/// Requests that are remembered; answers to others have no tools.
const MOST_REQUESTS: usize = 2_000_000;

/// What is remembered of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchRequest {
    pub(crate) model: Option<Arc<str>>,
    /// The list of tools as JSON text, which most requests share.
    pub(crate) tools: Option<Arc<str>>,
    /// True if requests with other tools have the same id, so that nobody knows whose answer is whose.
    pub(crate) is_ambiguous: bool,
}

/// The requests of all batches by their `custom_id`.
#[derive(Debug, Default)]
pub(crate) struct BatchRequests {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    requests: HashMap<Box<str>, BatchRequest>,
    texts: HashSet<Arc<str>>,
}

impl BatchRequests {
    pub(crate) fn insert(&self, id: &str, request: BatchRequest) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = known.requests.get_mut(id) {
            // Requests are read twice; another one with this id may be of another batch.
            first.is_ambiguous |= first.tools != request.tools;
            if first.model != request.model {
                first.model = None;
            }
            return;
        }
        if known.requests.len() >= MOST_REQUESTS {
            return;
        }
        let mut shared = |text: Arc<str>| known.texts.get_or_insert(text).clone();
        let request = BatchRequest {
            model: request.model.map(&mut shared),
            tools: request.tools.map(&mut shared),
            is_ambiguous: false,
        };
        known.requests.insert(id.into(), request);
    }

    /// The request with this id. Nothing is known if there is none.
    pub(crate) fn get(&self, id: &str) -> BatchRequest {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.requests.get(id).cloned().unwrap_or_default()
    }
}
