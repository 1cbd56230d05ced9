//! The tools of one server, as its `tools/list` results describe them.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use goodcall_core::{Schema, SchemaCache, Tree};
use goodcall_wire::Tools;

use crate::argument_mirrors::{HeaderMirror, mirrors_of};
use crate::json_span::{JsonSpan, quoted};
use crate::tool_view::SERVER_KEY;

/// Tools of one server that are read.
const MAX_TOOLS: usize = 10_000;
/// Pages of one list.
pub(crate) const MAX_PAGES: usize = 1_000;
/// The longest freshness that a server can claim for its list.
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);
/// How long after a failure the list is not asked for again.
const RETRY: Duration = Duration::from_secs(30);
/// For how long a list is good enough to refuse a call.
const RECENT: Duration = Duration::from_secs(10);

/// The tools of one server, and how current they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    tools: Tools,
    extras: HashMap<String, ToolExtras>,
    state: ListState,
    /// When the list was completed.
    listed_at: Option<Instant>,
    /// A list of which some pages are still to come.
    unfinished: Option<ListPages>,
    scope: CacheScope,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ListState {
    /// No list was read yet.
    #[default]
    Unknown,
    /// The list is complete, and fresh until then.
    Known { fresh_until: Option<Instant> },
    /// The list is complete, but the server has announced a change.
    Stale,
    /// The server did not list its tools.
    Unavailable { since: Instant },
}

/// Who may use a list (`cacheScope`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CacheScope {
    /// Only the session that asked for it.
    #[default]
    Private,
    /// Every session.
    Public,
}

/// The part of a tool's definition that is not about its parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolExtras {
    /// The schema of structured results.
    pub(crate) output: Option<Schema>,
    /// Arguments that are mirrored in headers.
    pub(crate) mirrors: Vec<HeaderMirror>,
    /// The name of the tool's server, where one endpoint has several.
    pub(crate) server: Option<String>,
}

/// The pages of one list that were read so far.
#[derive(Clone, Debug, Default)]
struct ListPages {
    tools: Vec<ListedTool>,
    names: HashSet<String>,
    next: Option<String>,
    ttl: Option<Duration>,
    scope: CacheScope,
}

#[derive(Clone, Debug)]
struct ListedTool {
    name: String,
    definition: String,
    output: Option<String>,
    server: Option<String>,
}

/// How current the list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// There is no list; it must be asked for.
    Missing,
    /// The list is good enough for a call that needs no mending; otherwise it is asked for again.
    Stale,
    /// The list can be relied on.
    Fresh,
    /// The list cannot be had: calls go through unchecked.
    Unavailable,
}

impl Catalogue {
    pub(crate) fn knowledge(&self, now: Instant) -> Knowledge {
        match self.state {
            ListState::Unknown => Knowledge::Missing,
            ListState::Known {
                fresh_until: Some(until),
            } if until <= now => Knowledge::Stale,
            ListState::Known { .. } => Knowledge::Fresh,
            ListState::Stale => Knowledge::Stale,
            ListState::Unavailable { since } if now.duration_since(since) < RETRY => {
                Knowledge::Unavailable
            }
            ListState::Unavailable { .. } => Knowledge::Missing,
        }
    }

    /// Returns true if the list was completed just now, so that it need not be asked for again
    /// before a call is refused. A server may change its tools without a word.
    pub(crate) fn is_recent(&self, now: Instant) -> bool {
        let age = self.listed_at.map(|at| now.saturating_duration_since(at));
        age.is_some_and(|age| age < RECENT)
    }

    /// Notes that the server has announced a change of its tools, or was replaced.
    pub(crate) fn mark_changed(&mut self) {
        self.unfinished = None;
        self.state = match self.state {
            ListState::Known { .. } | ListState::Stale => ListState::Stale,
            ListState::Unknown | ListState::Unavailable { .. } => ListState::Unknown,
        };
    }

    /// Notes that the server did not list its tools. An old list is kept.
    pub(crate) fn mark_unavailable(&mut self, now: Instant) {
        self.unfinished = None;
        if let ListState::Unknown | ListState::Unavailable { .. } = self.state {
            self.state = ListState::Unavailable { since: now };
        }
    }

    pub(crate) fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(crate) fn extras(&self, tool: &str) -> Option<&ToolExtras> {
        self.extras.get(tool)
    }

    /// Returns true if other sessions may use this list.
    pub(crate) fn is_public(&self) -> bool {
        self.scope == CacheScope::Public
    }

    /// Adds one page: the result of a `tools/list` request with this cursor. Returns the cursor of
    /// the next page, if there is one and the pages before it are known.
    pub(crate) fn add_page(
        &mut self,
        result: JsonSpan<'_>,
        cursor: Option<&str>,
        now: Instant,
    ) -> Option<String> {
        let mut pages = match cursor {
            None => ListPages::default(),
            // A page of a list whose earlier pages are not known is ignored.
            Some(cursor) => self
                .unfinished
                .take_if(|pages| pages.next.as_deref() == Some(cursor))?,
        };
        pages.read(result);
        if pages.next.is_some() {
            let next = pages.next.clone();
            self.unfinished = Some(pages);
            return next;
        }
        self.unfinished = None;
        self.replace(pages, now);
        None
    }

    fn replace(&mut self, pages: ListPages, now: Instant) {
        let definitions = pages.tools.iter().map(|tool| tool.definition.as_str());
        let list = format!("[{}]", definitions.collect::<Vec<_>>().join(","));
        let cache = SchemaCache::shared();
        // An empty list is an error to the reader, but not here: then no tool is known.
        self.tools = Tools::read_with(&list, cache).unwrap_or_default();
        self.extras.clear();
        for tool in pages.tools {
            let output = tool.output.and_then(|text| cache.get_text(&text).ok());
            let mirrors = self
                .tools
                .get(&tool.name)
                .map(mirrors_of)
                .unwrap_or_default();
            let server = tool.server;
            if output.is_some() || !mirrors.is_empty() || server.is_some() {
                let extras = ToolExtras {
                    output,
                    mirrors,
                    server,
                };
                self.extras.insert(tool.name, extras);
            }
        }
        self.scope = pages.scope;
        self.listed_at = Some(now);
        self.state = ListState::Known {
            fresh_until: pages.ttl.map(|ttl| now + ttl.min(MAX_TTL)),
        };
    }
}

impl ListPages {
    fn read(&mut self, result: JsonSpan<'_>) {
        let tools = result.get("tools").and_then(JsonSpan::elements);
        for tool in tools.into_iter().flatten() {
            self.add_tool(tool);
        }
        self.next = next_cursor(result);
        let ttl = result.get("ttlMs").and_then(JsonSpan::raw);
        if let Some(ttl) = ttl.and_then(|digits| digits.parse().ok()) {
            let ttl = Duration::from_millis(ttl);
            self.ttl = Some(self.ttl.map_or(ttl, |before| before.min(ttl)));
        }
        let scope = result.get("cacheScope").and_then(JsonSpan::as_str);
        self.scope = match scope.as_deref() {
            Some("public") => CacheScope::Public,
            _ => CacheScope::Private,
        };
    }

    /// Keeps the parts of a definition that are needed. A tool without a name is ignored, and so is
    /// the second of two with the same name.
    fn add_tool(&mut self, tool: JsonSpan<'_>) {
        let Some(name) = tool.get("name").and_then(JsonSpan::to_text) else {
            return;
        };
        if self.tools.len() >= MAX_TOOLS || !self.names.insert(name.clone()) {
            return;
        }
        let raw = |key: &str| tool.get(key).and_then(JsonSpan::raw);
        let mut definition = format!("{{\"name\":{}", quoted(&name));
        for key in ["description", "inputSchema", "annotations"] {
            if let Some(value) = raw(key) {
                definition.push_str(&format!(",\"{key}\":{value}"));
            }
        }
        definition.push('}');
        // Text that is not JSON would spoil the whole list, whereas a schema that does not compile
        // concerns only its own tool.
        if Tree::parse(&format!("[{definition}]")).is_err() {
            let name = quoted(&name);
            definition = format!("{{\"name\":{name},\"inputSchema\":\"unreadable\"}}");
        }
        self.tools.push(ListedTool {
            name,
            definition,
            output: raw("outputSchema").map(str::to_owned),
            server: tool
                .get("_meta")
                .and_then(|meta| meta.get(SERVER_KEY)?.to_text()),
        });
    }
}

/// The cursor of the page that follows this result of a `tools/list` request.
pub(crate) fn next_cursor(result: JsonSpan<'_>) -> Option<String> {
    result.get("nextCursor")?.to_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(catalogue: &mut Catalogue, text: &str, cursor: Option<&str>) -> Option<String> {
        let result = JsonSpan::document(text.as_bytes());
        catalogue.add_page(result, cursor, Instant::now())
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
        catalogue.mark_changed();
        assert_eq!(catalogue.knowledge(Instant::now()), Knowledge::Stale);
    }

    #[test]
    fn definition_that_is_too_deep_does_not_spoil_the_list() {
        for depth in 250..260 {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            let deep = format!(r#"{{"name":"a","inputSchema":{open}{close}}}"#);
            let mut catalogue = Catalogue::default();
            let list = format!(r#"{{"tools":[{deep},{{"name":"b"}}]}}"#);
            page(&mut catalogue, &list, None);
            let names: Vec<_> = catalogue.tools().names().collect();
            assert_eq!(names, ["a", "b"], "{depth}");
        }
    }

    #[test]
    fn list_is_fresh_for_the_time_that_the_server_states() {
        let now = Instant::now();
        let mut catalogue = Catalogue::default();
        let text = r#"{"tools":[],"ttlMs":5000,"cacheScope":"public"}"#;
        catalogue.add_page(JsonSpan::document(text.as_bytes()), None, now);
        assert!(catalogue.is_public());
        let after = |ms| catalogue.knowledge(now + Duration::from_millis(ms));
        assert_eq!(after(4999), Knowledge::Fresh);
        assert_eq!(after(5000), Knowledge::Stale);
    }
}
