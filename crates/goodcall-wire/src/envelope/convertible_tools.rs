//! Sorts the tools of a text that is to be converted: functions, and tools that only their provider
//! can run.

use goodcall_core::{Kind, Node, SchemaCache};

use super::Provider;
use crate::definitions::{self, Definition};
use crate::tools::{Tools, ToolsError};

/// Keys around a list of tools that say nothing about them.
const FRAME: [&str; 2] = ["jsonrpc", "id"];

/// The tools of one text.
#[derive(Default)]
pub(crate) struct ConvertibleTools<'t> {
    /// The text of each function.
    functions: Vec<&'t str>,
    /// Tools and fields that have no other form, in words.
    pub(super) left_out: Vec<String>,
}

impl<'t> ConvertibleTools<'t> {
    pub(super) fn functions(&self) -> Result<Tools, ToolsError> {
        if self.is_empty() {
            // The error says that there is no definition.
            return Tools::read("[]");
        }
        self.functions_with(&SchemaCache::default())
    }

    /// The functions, with compiled schemas from a cache; there may be none.
    pub(crate) fn functions_with(&self, schemas: &SchemaCache) -> Result<Tools, ToolsError> {
        if self.functions.is_empty() {
            return Ok(Tools::default());
        }
        Tools::read_with(&format!("[{}]", self.functions.join(",")), schemas)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.left_out.is_empty()
    }

    /// Adds all definitions at and below a node.
    pub(crate) fn collect(&mut self, from: Provider, node: Node<'_>, text: &'t str) {
        if node.kind() == Kind::Array {
            for item in node.elements() {
                self.collect(from, item, text);
            }
            return;
        }
        let definition = Definition::read(node);
        if let Some(wrapper) = definition.wrapper {
            self.leave_out_all_but(node, &[wrapper, "type"], "tools[].");
            return self.add_function(node, text);
        }
        match (definition.name(), definition.kind) {
            // With a schema it is a function, whatever its type is called.
            (Some(_), None | Some("function")) => return self.add_function(node, text),
            (Some(_), Some(_)) if definition.schema().is_some() => {
                return self.add_function(node, text);
            }
            (Some(name), Some(kind)) => {
                return self.left_out.push(format!("the tool {name} ({kind})"));
            }
            _ => {}
        }
        let lists: Vec<_> = definitions::lists(node).collect();
        if lists.is_empty() {
            return self.add_nameless(from, definition, text);
        }
        let keys: Vec<_> = lists.iter().map(|(key, _)| *key).collect();
        self.leave_out_all_but(node, &[&keys[..], &FRAME].concat(), "");
        for (_, list) in lists {
            self.collect(from, list, text);
        }
    }

    /// Adds an object that has neither a name nor a list of definitions.
    fn add_nameless(&mut self, from: Provider, definition: Definition<'_>, text: &'t str) {
        let node = definition.owner;
        let mut members = node.members();
        match (definition.kind, members.next(), members.next()) {
            (Some(kind), ..) => {
                let inner = node.get(kind).and_then(|inner| inner.get("name"));
                let what = match inner.and_then(Node::as_str) {
                    Some(name) => format!("the tool {name} ({kind})"),
                    None => format!("the tool {kind}"),
                };
                self.left_out.push(what);
            }
            // These two name a tool of their own by its only key.
            (None, Some((key, value)), None)
                if matches!(from, Provider::Gemini | Provider::Bedrock)
                    && value.kind() == Kind::Object =>
            {
                self.left_out.push(format!("the tool {key}"));
            }
            // Reading it as a function gives the error.
            _ => self.add_function(node, text),
        }
    }

    fn add_function(&mut self, node: Node<'_>, text: &'t str) {
        self.functions.push(&text[node.span()]);
    }

    fn leave_out_all_but(&mut self, node: Node<'_>, known: &[&str], within: &str) {
        for (key, _) in node.members().filter(|(key, _)| !known.contains(key)) {
            self.leave_out(format!("{within}{key}"));
        }
    }

    /// Names something that is left out, once.
    pub(super) fn leave_out(&mut self, what: String) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }
}
