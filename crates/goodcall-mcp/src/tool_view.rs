//! How the tools of one server appear to clients: under other names, with other descriptions, or not
//! at all.

use std::collections::BTreeMap;

use goodcall_core::name_fits;

use crate::json_span::{JsonSpan, Splice, quoted, splice};

/// The key of a tool's server in its `_meta`, where one endpoint has the tools of several.
pub(crate) const SERVER_KEY: &str = "goodcall/server";

/// How the tools of one server appear to clients. The default shows them as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolView {
    /// Stands in front of every name that is not replaced.
    pub prefix: String,
    /// Patterns of the tools that are shown; all are if there are none.
    pub allow: Vec<String>,
    /// Patterns of the tools that are not shown.
    pub deny: Vec<String>,
    /// Names that replace those of tools.
    pub names: BTreeMap<String, String>,
    /// Descriptions that replace those of tools.
    pub descriptions: BTreeMap<String, String>,
}

impl ToolView {
    /// Returns true if all tools appear as they are.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The name under which clients know a tool; `None` if it is hidden.
    pub(crate) fn shown(&self, own: &str) -> Option<String> {
        let name = self.names.get(own).cloned();
        let name = name.unwrap_or_else(|| format!("{}{own}", self.prefix));
        self.shows(own).then_some(name)
    }

    /// The server's own name for the tool that clients call by this one; `None` if they know no such
    /// tool of this server.
    pub(crate) fn own<'n>(&'n self, shown: &'n str) -> Option<&'n str> {
        let replaced = self.names.iter().find(|(_, name)| *name == shown);
        let own = match replaced {
            Some((own, _)) => own,
            None => shown.strip_prefix(self.prefix.as_str())?,
        };
        let is_hidden = replaced.is_none() && self.names.contains_key(own);
        (!is_hidden && self.shows(own)).then_some(own)
    }

    fn shows(&self, own: &str) -> bool {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| name_fits(pattern, own));
        (self.allow.is_empty() || fits(&self.allow)) && !fits(&self.deny)
    }

    /// Rewrites a tool's definition, with the name of its server if there are several; `None` if the
    /// tool is hidden. Every other byte stays.
    pub(crate) fn definition(&self, tool: JsonSpan<'_>, server: Option<&str>) -> Option<Vec<u8>> {
        let bytes = tool.bytes();
        let tool = JsonSpan::document(bytes);
        let Some((name, own)) = tool
            .get("name")
            .and_then(|name| Some((name, name.as_str()?)))
        else {
            // It cannot be called, so it may stay as it is.
            return Some(bytes.to_vec());
        };
        let mut edits: Vec<Splice> = vec![(name.range(), quoted(&self.shown(&own)?))];
        let mut added = Vec::new();
        if let Some(text) = self.descriptions.get(&*own) {
            match tool.get("description") {
                Some(old) => edits.push((old.range(), quoted(text))),
                None => added.push(format!("\"description\":{}", quoted(text))),
            }
        }
        if let Some(server) = server {
            let member = format!("\"{SERVER_KEY}\":{}", quoted(server));
            match tool.get("_meta") {
                Some(meta) if meta.is_object() => edits.push(meta.append_member(&member)),
                Some(meta) => edits.push((meta.range(), format!("{{{member}}}"))),
                None => added.push(format!("\"_meta\":{{{member}}}")),
            }
        }
        if !added.is_empty() {
            edits.push(tool.append_member(&added.join(",")));
        }
        Some(splice(bytes, edits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> ToolView {
        ToolView {
            prefix: "n_".to_owned(),
            allow: vec!["read_*".to_owned(), "find".to_owned()],
            deny: vec!["read_secret".to_owned()],
            names: BTreeMap::from([("find".to_owned(), "search".to_owned())]),
            descriptions: BTreeMap::from([("find".to_owned(), "Finds.".to_owned())]),
        }
    }

    #[test]
    fn names_lead_there_and_back() {
        let view = view();
        for (own, shown) in [("read_note", "n_read_note"), ("find", "search")] {
            assert_eq!(view.shown(own).as_deref(), Some(shown));
            assert_eq!(view.own(shown), Some(own));
        }
        for hidden in ["read_secret", "write"] {
            assert_eq!(view.shown(hidden), None);
        }
        for unknown in ["n_read_secret", "n_write", "n_find", "find", "read_note"] {
            assert_eq!(view.own(unknown), None, "{unknown}");
        }
        assert_eq!(ToolView::default().own("x"), Some("x"));
    }

    #[test]
    fn definitions_are_rewritten_in_place() {
        let rewrite = |text: &str, server: Option<&str>| {
            let tool = JsonSpan::document(text.as_bytes());
            let made = view().definition(tool, server)?;
            Some(String::from_utf8(made).unwrap())
        };
        assert_eq!(
            rewrite(r#"{"x": 1e2, "name": "find", "description":"old" }"#, None).as_deref(),
            Some(r#"{"x": 1e2, "name": "search", "description":"Finds." }"#)
        );
        assert_eq!(
            rewrite(r#"{"name":"find","_meta":{"a":1}}"#, Some("s")).as_deref(),
            Some(
                r#"{"name":"search","_meta":{"a":1,"goodcall/server":"s"},"description":"Finds."}"#
            )
        );
        assert_eq!(
            rewrite(r#"{"name":"read_a"}"#, Some("s")).as_deref(),
            Some(r#"{"name":"n_read_a","_meta":{"goodcall/server":"s"}}"#)
        );
        assert_eq!(rewrite(r#"{"name":"write"}"#, None), None);
    }
}
