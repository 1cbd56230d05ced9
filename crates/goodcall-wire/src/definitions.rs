//! The shapes of tool definitions: where each provider puts lists, wrappers, names and schemas.

use goodcall_core::{Kind, Node};

/// Keys whose values hold more definitions.
const LISTS: [&str; 5] = [
    "tools",
    "result",
    "functions",
    "functionDeclarations",
    "function_declarations",
];
/// Keys whose value is one definition.
const WRAPPERS: [&str; 2] = ["function", "toolSpec"];
/// Keys that hold the schema of the parameters.
const SCHEMAS: [&str; 6] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "schema",
];

/// One entry of a list of tools, which may be a function or a tool of the provider's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition<'t> {
    /// The key that wraps the function, such as `function` of Chat Completions.
    pub(crate) wrapper: Option<&'static str>,
    /// The object that holds name and schema.
    pub(crate) owner: Node<'t>,
    /// The `type` of the entry.
    pub(crate) kind: Option<&'t str>,
}

impl<'t> Definition<'t> {
    pub(crate) fn read(entry: Node<'t>) -> Self {
        let wrapped = WRAPPERS.iter().find_map(|key| {
            let inner = entry.get(key).filter(|inner| inner.kind() == Kind::Object);
            Some((*key, inner?))
        });
        Self {
            wrapper: wrapped.map(|(key, _)| key),
            owner: wrapped.map_or(entry, |(_, inner)| inner),
            kind: entry.get("type").and_then(Node::as_str),
        }
    }

    pub(crate) fn name(self) -> Option<&'t str> {
        self.owner.get("name").and_then(Node::as_str)
    }

    /// The key of the schema, and its value. Bedrock wraps the schema once more.
    pub(crate) fn schema(self) -> Option<(&'static str, Node<'t>)> {
        SCHEMAS.iter().find_map(|key| {
            let schema = self.owner.get(key)?;
            Some((*key, schema.get("json").unwrap_or(schema)))
        })
    }

    /// The members beside name, description, type and schema.
    pub(crate) fn extra_members(self) -> impl Iterator<Item = (&'t str, Node<'t>)> {
        let members = self.owner.members();
        members.filter(|(key, _)| {
            !SCHEMAS.contains(key) && !matches!(*key, "name" | "description" | "type")
        })
    }
}

/// The members of a node that hold more definitions.
pub(crate) fn lists(node: Node<'_>) -> impl Iterator<Item = (&str, Node<'_>)> {
    node.members().filter(|(key, value)| match *key {
        // Bedrock's holds tools; Gemini's says only how to choose.
        "toolConfig" => value.get("tools").is_some(),
        key => LISTS.contains(&key) && matches!(value.kind(), Kind::Array | Kind::Object),
    })
}
