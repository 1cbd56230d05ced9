//! The tools of one server, as its `tools/list` results tell.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use goodcall_core::{Schema, SchemaCache};
use goodcall_wire::{ToolDefinition, Tools};
use serde_json::Value;

use crate::frame;

/// Tools of one server that are looked at.
const MOST_TOOLS: usize = 10_000;
/// Pages of one list.
pub(crate) const MOST_PAGES: usize = 1_000;
/// The longest that a server's word on freshness is taken for.
const MOST_TTL: Duration = Duration::from_secs(24 * 3600);
/// How long a list that could not be had is not asked for again.
const RETRY: Duration = Duration::from_secs(30);
/// The key that asks for a mirror of an argument in a header.
const MIRROR: &str = "x-mcp-header";

/// What is known of a server's tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    tools: Tools,
    extra: HashMap<String, ToolExtras>,
    state: ListState,
    /// Pages of a list that is being read.
    open: Option<ListPages>,
    scope: CacheScope,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ListState {
    /// Nothing is known.
    #[default]
    Unknown,
    /// All tools are known; after `until` they may be others.
    Known { until: Option<Instant> },
    /// They are known, and the server said that they have changed.
    Stale,
    /// The server does not tell.
    Unavailable { since: Instant },
}

/// Who may see a list (`cacheScope`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CacheScope {
    /// Whoever asked for it.
    #[default]
    Private,
    /// Everybody.
    Public,
}

/// What a tool's definition says besides its parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolExtras {
    /// The schema of structured results.
    pub(crate) output: Option<Schema>,
    /// Arguments that are mirrored in headers.
    pub(crate) mirrors: Vec<HeaderMirror>,
}

/// An argument that is mirrored in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderMirror {
    /// Keys from the root of the arguments.
    pub(crate) path: Vec<String>,
    /// The header's name after `Mcp-Param-`.
    pub(crate) header: String,
}

/// Pages read so far.
#[derive(Clone, Debug, Default)]
struct ListPages {
    definitions: Vec<ListedTool>,
    names: HashSet<String>,
    next: Option<String>,
    ttl: Option<Duration>,
    scope: CacheScope,
}

#[derive(Clone, Debug)]
struct ListedTool {
    name: String,
    text: String,
    output: Option<String>,
}

/// How far the list is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// Ask for the list.
    Missing,
    /// Good enough for a call that is good; before anything else the list is asked for again.
    Stale,
    /// As the server told it.
    Fresh,
    /// It cannot be had: calls go through unchecked.
    Unavailable,
}

impl Catalogue {
    pub(crate) fn knowledge(&self, now: Instant) -> Knowledge {
        match self.state {
            ListState::Unknown => Knowledge::Missing,
            ListState::Known { until: Some(until) } if until <= now => Knowledge::Stale,
            ListState::Known { .. } => Knowledge::Fresh,
            ListState::Stale => Knowledge::Stale,
            ListState::Unavailable { since } if now.duration_since(since) < RETRY => {
                Knowledge::Unavailable
            }
            ListState::Unavailable { .. } => Knowledge::Missing,
        }
    }

    /// The server said that its tools have changed, or is another one now.
    pub(crate) fn changed(&mut self) {
        self.open = None;
        self.state = match self.state {
            ListState::Known { .. } | ListState::Stale => ListState::Stale,
            ListState::Unknown | ListState::Unavailable { .. } => ListState::Unknown,
        };
    }

    /// The list could not be had.
    pub(crate) fn unavailable(&mut self, now: Instant) {
        self.open = None;
        // An old list is better than none.
        if let ListState::Unknown | ListState::Unavailable { .. } = self.state {
            self.state = ListState::Unavailable { since: now };
        }
    }

    pub(crate) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(crate) fn extra(&self, tool: &str) -> Option<&ToolExtras> {
        self.extra.get(tool)
    }

    /// May other sessions use this list?
    pub(crate) fn is_public(&self) -> bool {
        self.scope == CacheScope::Public
    }

    /// Takes in one page: the result of a `tools/list` that was asked for with this cursor. The
    /// cursor of the next page comes back, if there is one and the pages before it are here.
    pub(crate) fn page(
        &mut self,
        bytes: &[u8],
        result: &Range<usize>,
        cursor: Option<&str>,
        now: Instant,
    ) -> Option<String> {
        let mut pages = match cursor {
            None => ListPages::default(),
            // A page of a list whose beginning was not seen, or not lately.
            Some(cursor) => match self.open.take() {
                Some(open) if open.next.as_deref() == Some(cursor) => open,
                other => {
                    self.open = other;
                    return None;
                }
            },
        };
        pages.read(bytes, result);
        if pages.next.is_some() {
            let next = pages.next.clone();
            self.open = Some(pages);
            return next;
        }
        self.open = None;
        self.take(pages, now);
        None
    }

    fn take(&mut self, pages: ListPages, now: Instant) {
        let texts: Vec<_> = pages.definitions.iter().map(|d| d.text.as_str()).collect();
        let list = format!("[{}]", texts.join(","));
        let cache = SchemaCache::shared();
        // An empty list is no error here: then no name is known.
        self.tools = Tools::read_with(&list, cache).unwrap_or_default();
        self.extra.clear();
        for definition in &pages.definitions {
            let output = definition.output.as_deref();
            let output = output.and_then(|text| cache.get_text(text).ok());
            let offered = self.tools.get(&definition.name);
            let mirrors = offered.map(mirrors).unwrap_or_default();
            if output.is_some() || !mirrors.is_empty() {
                let extra = ToolExtras { output, mirrors };
                self.extra.insert(definition.name.clone(), extra);
            }
        }
        self.scope = pages.scope;
        self.state = ListState::Known {
            until: pages.ttl.map(|ttl| now + ttl.min(MOST_TTL)),
        };
    }
}

impl ListPages {
    fn read(&mut self, bytes: &[u8], result: &Range<usize>) {
        let get = |key: &str| frame::member(bytes, result, key);
        let tools = get("tools").and_then(|span| frame::elements(bytes, &span));
        for tool in tools.into_iter().flatten() {
            self.definition(bytes, &tool);
        }
        let next = get("nextCursor").and_then(|span| frame::text(bytes, &span));
        self.next = next.map(|next| next.into_owned());
        let number = |span| frame::raw(bytes, &span)?.parse::<u64>().ok();
        if let Some(ttl) = get("ttlMs").and_then(number).map(Duration::from_millis) {
            self.ttl = Some(self.ttl.map_or(ttl, |before| before.min(ttl)));
        }
        let scope = get("cacheScope").and_then(|span| frame::text(bytes, &span));
        self.scope = match scope.as_deref() {
            Some("public") => CacheScope::Public,
            _ => CacheScope::Private,
        };
    }

    /// Keeps what is needed of one definition. One that has no name is nobody's; of two with the
    /// same name the first counts.
    fn definition(&mut self, bytes: &[u8], tool: &Range<usize>) {
        let get = |key: &str| frame::member(bytes, tool, key);
        let text = |key: &str| get(key).and_then(|span| frame::raw(bytes, &span));
        let name = get("name").and_then(|span| frame::text(bytes, &span));
        let Some(name) = name.filter(|_| self.definitions.len() < MOST_TOOLS) else {
            return;
        };
        if !self.names.insert(name.to_string()) {
            return;
        }
        let mut definition = format!("{{\"name\":{}", frame::quoted(&name));
        for key in ["description", "inputSchema", "annotations"] {
            if let Some(value) = text(key) {
                definition.push_str(&format!(",\"{key}\":{value}"));
            }
        }
        definition.push('}');
        // What is no JSON would take the whole list with it: a schema that does not compile
        // concerns only its own tool.
        if goodcall_core::Tree::parse(&definition).is_err() {
            let name = frame::quoted(&name);
            definition = format!("{{\"name\":{name},\"inputSchema\":\"unreadable\"}}");
        }
        self.definitions.push(ListedTool {
            name: name.into_owned(),
            text: definition,
            output: text("outputSchema").map(str::to_owned),
        });
    }
}

/// The arguments of this tool that are mirrored in headers.
fn mirrors(tool: &ToolDefinition) -> Vec<HeaderMirror> {
    if !tool.parameters.contains(MIRROR) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Ok(schema) = serde_json::from_str::<Value>(&tool.parameters) {
        mirrors_below(&schema, &mut Vec::new(), &mut found);
    }
    found
}

fn mirrors_below(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderMirror>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get(MIRROR).and_then(Value::as_str) {
            found.push(HeaderMirror {
                path: path.clone(),
                header: header.to_owned(),
            });
        }
        mirrors_below(property, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(catalogue: &mut Catalogue, text: &str, cursor: Option<&str>) -> Option<String> {
        catalogue.page(text.as_bytes(), &(0..text.len()), cursor, Instant::now())
    }

    #[test]
    fn pages_become_one_list() {
        let mut catalogue = Catalogue::default();
        let next = page(
            &mut catalogue,
            r#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#,
            None,
        );
        assert_eq!(next.as_deref(), Some("2"));
        assert_eq!(catalogue.knowledge(Instant::now()), Knowledge::Missing);
        assert_eq!(
            page(&mut catalogue, r#"{"tools":[{"name":"x"}]}"#, Some("7")),
            None
        );
        assert_eq!(
            page(
                &mut catalogue,
                r#"{"tools":[{"name":"b"},{"name":"a"},5]}"#,
                Some("2")
            ),
            None
        );
        assert_eq!(catalogue.tools().names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(catalogue.knowledge(Instant::now()), Knowledge::Fresh);
        catalogue.changed();
        assert_eq!(catalogue.knowledge(Instant::now()), Knowledge::Stale);
    }

    #[test]
    fn freshness_is_what_the_server_says() {
        let now = Instant::now();
        let mut catalogue = Catalogue::default();
        let text = r#"{"tools":[],"ttlMs":5000,"cacheScope":"public"}"#;
        catalogue.page(text.as_bytes(), &(0..text.len()), None, now);
        assert!(catalogue.is_public());
        let later = |ms| catalogue.knowledge(now + Duration::from_millis(ms));
        assert_eq!(later(4999), Knowledge::Fresh);
        assert_eq!(later(5000), Knowledge::Stale);
    }

    #[test]
    fn mirrors_are_found_at_any_depth() {
        let mut catalogue = Catalogue::default();
        let text = r#"{"tools":[{"name":"q","inputSchema":{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "at":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}}}}]}"#;
        page(&mut catalogue, text, None);
        let mirrors = &catalogue.extra("q").unwrap().mirrors;
        let mut found: Vec<_> = mirrors
            .iter()
            .map(|m| (m.path.join("."), m.header.as_str()))
            .collect();
        found.sort();
        assert_eq!(
            found,
            [
                ("at.zone".to_owned(), "Zone"),
                ("region".to_owned(), "Region")
            ]
        );
    }
}
