//! A cache of tool lists, so that each list is read once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use goodcall_core::{Node, SchemaCache};

use crate::envelope::Provider;
use crate::protocol;
use crate::tools::Tools;

/// The most lists that are kept per provider.
const MOST_LISTS: usize = 256;
/// The longest list that is kept, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Lists that are compared before the map is asked: hashing a list takes longer than comparing it.
const LATEST: usize = 4;

/// The tools of earlier requests. Agents send the same tools with every request, so that compiling
/// their schemas once is most of the work.
#[derive(Debug, Default)]
pub struct ToolsCache {
    schemas: SchemaCache,
    lists: RwLock<CachedLists>,
}

#[derive(Debug, Default)]
struct CachedLists {
    all: HashMap<Provider, HashMap<Arc<str>, OfferedTools>>,
    /// The lists that were added last, the newest first.
    latest: VecDeque<(Provider, Arc<str>, OfferedTools)>,
}

impl CachedLists {
    fn get(&self, provider: Provider, list: &str) -> Option<&OfferedTools> {
        let mut latest = self.latest.iter();
        let same = latest.find(|(of, known, _)| *of == provider && **known == *list);
        same.map(|(.., tools)| tools)
            .or_else(|| self.all.get(&provider)?.get(list))
    }

    fn insert(&mut self, provider: Provider, list: &str, tools: &OfferedTools) {
        let list = Arc::<str>::from(list);
        self.latest.truncate(LATEST - 1);
        let first = (provider, Arc::clone(&list), tools.clone());
        self.latest.push_front(first);
        let all = self.all.entry(provider).or_default();
        if all.len() >= MOST_LISTS {
            all.clear();
        }
        all.insert(list, tools.clone());
    }
}

/// The tools that a request offers.
#[derive(Clone, Debug)]
pub(crate) struct OfferedTools {
    /// Those with a schema.
    pub(crate) tools: Tools,
    /// True if there are others, whose calls cannot be judged.
    pub(crate) has_opaque_tools: bool,
}

impl ToolsCache {
    /// Returns the tools of a list; `None` if none of them can be judged.
    pub(crate) fn read(
        &self,
        provider: Provider,
        list: Node<'_>,
        text: &str,
    ) -> Option<OfferedTools> {
        let key = text.get(list.span())?;
        let lists = self.lists.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lists.get(provider, key) {
            return Some(known.clone());
        }
        drop(lists);
        let form = protocol::form(provider);
        let mut has_opaque_tools = false;
        let mut functions = Vec::new();
        for entry in list.elements() {
            if form.is_function(entry) {
                functions.extend(text.get(entry.span()));
            }
            has_opaque_tools |= form.is_opaque(entry);
        }
        let tools = Tools::read_with(&format!("[{}]", functions.join(",")), &self.schemas).ok()?;
        let offered = OfferedTools {
            tools,
            has_opaque_tools,
        };
        if key.len() <= MOST_BYTES {
            let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
            lists.insert(provider, key, &offered);
        }
        Some(offered)
    }
}
