//! The tools of a text that is to be converted: functions, and what only its provider can run.

use goodcall_core::{Kind, Node};

use super::Provider;
use crate::tools::{Tools, ToolsError};

/// Keys that lead to more definitions.
const LISTS: [&str; 5] = [
    "tools",
    "result",
    "functions",
    "functionDeclarations",
    "function_declarations",
];
/// Keys that wrap one definition.
const WRAPPERS: [&str; 2] = ["function", "toolSpec"];
/// Keys that hold a schema.
const SCHEMAS: [&str; 5] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
];
/// What stands around a list and says nothing of the tools.
const FRAME: [&str; 2] = ["jsonrpc", "id"];

/// Definitions, sorted.
#[derive(Default)]
pub(super) struct Offers<'t> {
    /// The text of each function.
    functions: Vec<&'t str>,
    /// Tools that have no other form, and fields around the functions, in words.
    pub(super) left_out: Vec<String>,
}

impl<'t> Offers<'t> {
    /// The functions.
    pub(super) fn tools(&self) -> Result<Tools, ToolsError> {
        match self.functions.is_empty() && !self.left_out.is_empty() {
            true => Ok(Tools::default()),
            false => Tools::read(&format!("[{}]", self.functions.join(","))),
        }
    }

    /// Was nothing found at all?
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.left_out.is_empty()
    }

    /// Takes all definitions at and below a node.
    pub(super) fn collect(&mut self, from: Provider, node: Node<'_>, text: &'t str) {
        if node.kind() == Kind::Array {
            for item in node.elements() {
                self.collect(from, item, text);
            }
            return;
        }
        let wrapped = WRAPPERS.iter().find(|key| is_object(node.get(key)));
        if let Some(wrapper) = wrapped {
            self.leave_out_but(node, &[wrapper, "type"], "tools[].");
            return self.function(node, text);
        }
        let kind = node.get("type").and_then(Node::as_str);
        let name = node.get("name").and_then(Node::as_str);
        let has_schema = SCHEMAS.iter().any(|key| node.get(key).is_some());
        match (name, kind) {
            // With a schema it is a function, whatever it is called.
            (Some(_), None | Some("function")) => return self.function(node, text),
            (Some(_), Some(_)) if has_schema => return self.function(node, text),
            (Some(name), Some(kind)) => {
                return self.left_out.push(format!("the tool {name} ({kind})"));
            }
            _ => {}
        }
        let lists = node.members().filter(|(key, value)| is_list(key, *value));
        let lists: Vec<_> = lists.collect();
        if !lists.is_empty() {
            let keys: Vec<_> = lists.iter().map(|(key, _)| *key).collect();
            self.leave_out_but(node, &[&keys[..], &FRAME].concat(), "");
            for (_, list) in lists {
                self.collect(from, list, text);
            }
            return;
        }
        let mut members = node.members();
        match (kind, members.next(), members.next()) {
            (Some(kind), ..) => {
                let inner = node.get(kind).and_then(|inner| inner.get("name"));
                let what = match inner.and_then(Node::as_str) {
                    Some(name) => format!("the tool {name} ({kind})"),
                    None => format!("the tool {kind}"),
                };
                self.left_out.push(what);
            }
            // Tools of these two are told apart by their only key.
            (None, Some((key, value)), None)
                if matches!(from, Provider::Gemini | Provider::Bedrock)
                    && value.kind() == Kind::Object =>
            {
                self.left_out.push(format!("the tool {key}"));
            }
            // Reading it says what is wrong.
            _ => self.function(node, text),
        }
    }

    fn function(&mut self, node: Node<'_>, text: &'t str) {
        self.functions
            .push(text.get(node.span()).unwrap_or_default());
    }

    fn leave_out_but(&mut self, node: Node<'_>, known: &[&str], within: &str) {
        for (key, _) in node.members().filter(|(key, _)| !known.contains(key)) {
            self.leave_out(format!("{within}{key}"));
        }
    }

    /// Names something once.
    pub(super) fn leave_out(&mut self, what: String) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }
}

fn is_object(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() == Kind::Object)
}

/// Bedrock's `toolConfig` holds tools; Gemini's says only how to choose.
fn is_list(key: &str, value: Node<'_>) -> bool {
    match key {
        "toolConfig" => value.get("tools").is_some(),
        _ => LISTS.contains(&key) && matches!(value.kind(), Kind::Array | Kind::Object),
    }
}
