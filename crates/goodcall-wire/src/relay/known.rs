//! The tools of requests, read once for each content.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use goodcall_core::{Kind, Node, SchemaCache};

use crate::envelope::Provider;
use crate::tools::Tools;

/// Lists of tools that are kept.
const MOST_LISTS: usize = 256;
/// Bytes of a list that is kept.
const MOST_BYTES: usize = 1 << 20;

/// Lists that are compared before any is looked up: hashing one takes longer than the comparison.
const LATEST: usize = 4;

/// Tools that were read before: agents send the same ones with each request.
#[derive(Debug, Default)]
pub struct ToolsCache {
    schemas: SchemaCache,
    lists: RwLock<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    all: HashMap<Provider, HashMap<Arc<str>, Offer>>,
    /// The last that were new.
    latest: VecDeque<(Provider, Arc<str>, Offer)>,
}

impl Lists {
    fn get(&self, provider: Provider, written: &str) -> Option<&Offer> {
        let mut latest = self.latest.iter();
        let same = latest.find(|(of, list, _)| *of == provider && **list == *written);
        same.map(|(.., offer)| offer)
            .or_else(|| self.all.get(&provider)?.get(written))
    }

    fn put(&mut self, provider: Provider, written: &str, offer: &Offer) {
        let list = Arc::<str>::from(written);
        self.latest.truncate(LATEST - 1);
        let first = (provider, Arc::clone(&list), offer.clone());
        self.latest.push_front(first);
        let all = self.all.entry(provider).or_default();
        if all.len() >= MOST_LISTS {
            all.clear();
        }
        all.insert(list, offer.clone());
    }
}

/// What a request offers.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) tools: Tools,
    /// There are tools that we know nothing about.
    pub(crate) opaque: bool,
}

impl ToolsCache {
    /// The tools of a list; `None` if there is none that we can judge.
    pub(crate) fn read(&self, provider: Provider, list: Node<'_>, text: &str) -> Option<Offer> {
        let written = text.get(list.span())?;
        let lists = self.lists.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(offer) = lists.get(provider, written) {
            return Some(offer.clone());
        }
        drop(lists);
        let mut opaque = false;
        let mut entries = Vec::new();
        for entry in list.elements() {
            match kind_of(provider, entry) {
                Entry::Function => entries.extend(text.get(entry.span())),
                Entry::Free => {}
                Entry::Opaque => opaque = true,
            }
        }
        let tools = Tools::read_with(&format!("[{}]", entries.join(",")), &self.schemas).ok()?;
        let offer = Offer { tools, opaque };
        if written.len() <= MOST_BYTES {
            let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
            lists.put(provider, written, &offer);
        }
        Some(offer)
    }
}

/// What a tool definition is for us.
enum Entry {
    /// It has a schema.
    Function,
    /// Its calls are free text.
    Free,
    /// A tool of the provider's own, or something newer than this.
    Opaque,
}

fn kind_of(provider: Provider, entry: Node<'_>) -> Entry {
    let kind = entry.get("type").and_then(Node::as_str);
    let named = |node: Node<'_>| node.get("name").and_then(Node::as_str).is_some();
    let function = match provider {
        Provider::Anthropic => named(entry) && entry.get("input_schema").is_some(),
        Provider::Responses => kind == Some("function") && named(entry),
        // The list may also be the older `functions`, without a wrapper.
        _ => match entry.get("function") {
            Some(inner) => inner.kind() == Kind::Object && named(inner),
            None => kind.is_none() && named(entry),
        },
    };
    match (function, kind) {
        (true, _) => Entry::Function,
        (false, Some("custom")) => Entry::Free,
        (false, _) => Entry::Opaque,
    }
}
