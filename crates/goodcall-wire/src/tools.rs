//! The offered tools: their definitions in whatever form they come, compiled once.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use goodcall_core::{Kind, Node, Refusal, Schema, SchemaCache, SchemaError, Tree, Types};
use serde_json::Value;

use crate::declared;
use crate::names;

/// The tools that a request offers; cheap to clone.
///
/// ```
/// use goodcall_wire::Tools;
///
/// let tools = Tools::read(r#"{"tools": [{"name": "read", "input_schema": {"type": "object"}}]}"#)?;
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["read"]);
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tools(Arc<Inner>, Arc<Names>);

/// Names under which a model knows tools that are called otherwise, and what they are called.
pub(crate) type Names = Vec<(String, String)>;

#[derive(Debug, Default)]
struct Inner {
    tools: Vec<ToolDefinition>,
    by_name: HashMap<String, usize>,
    /// By name without case and punctuation; several tools may share one.
    by_bare: HashMap<String, Vec<usize>>,
    /// By the last part of a dotted name, without case and punctuation.
    by_last: HashMap<String, Vec<usize>>,
    longest: usize,
}

/// One offered tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// Its name, unique among the offered ones.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The parameters' schema as JSON text.
    pub parameters: String,
    /// The compiled schema; an error concerns only the calls of this tool.
    pub schema: Result<Schema, SchemaError>,
    /// Fields of the definition that belong to nobody we know, as JSON text.
    pub extra: Vec<(String, String)>,
    /// The parameters in declared order; `None` if the order got lost on the way here.
    order: Option<Vec<String>>,
}

impl ToolDefinition {
    /// Does its definition say that what it does cannot be taken back (MCP's `destructiveHint`)?
    pub fn is_destructive(&self) -> bool {
        let annotations = self.extra.iter().find(|(key, _)| key == "annotations");
        annotations
            .and_then(|(_, text)| serde_json::from_str::<serde_json::Value>(text).ok())
            .is_some_and(|value| value["destructiveHint"] == true)
    }
}

/// Definitions that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolsError(String);

impl fmt::Display for ToolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolsError {}

/// Keys that lead to more definitions.
const LISTS: [&str; 6] = [
    "tools",
    "result",
    "functions",
    "functionDeclarations",
    "function_declarations",
    "toolConfig",
];
/// Keys that wrap one definition.
const WRAPPERS: [&str; 2] = ["function", "toolSpec"];
/// Keys that hold the schema.
const SCHEMAS: [&str; 6] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "schema",
];
/// Levels of lists and wrappers around one definition.
const MOST_DEPTH: usize = 8;

const KNOWN: &str = "known forms are OpenAI, Anthropic, Gemini and Bedrock tools, an MCP \
                     tools/list result, and {\"name\", \"parameters\"}, alone or in a list";

impl Tools {
    /// Reads definitions from JSON text, any provider's form, alone, in a list, or a whole request.
    ///
    /// # Errors
    /// If the text is not JSON, holds no definition, or defines a tool twice.
    pub fn read(text: &str) -> Result<Self, ToolsError> {
        Self::read_with(text, &SchemaCache::default())
    }

    /// Like [`Tools::read`], with compiled schemas taken from a cache.
    ///
    /// # Errors
    /// As [`Tools::read`].
    pub fn read_with(text: &str, cache: &SchemaCache) -> Result<Self, ToolsError> {
        let inner = Reader::read(text, cache)?;
        if inner.tools.is_empty() {
            return Err(ToolsError(format!("no tool definition found; {KNOWN}")));
        }
        Ok(Self(Arc::new(inner), Arc::default()))
    }

    /// Reads definitions from a value. Its maps do not tell in which order the parameters were
    /// declared, so positional arguments are understood only where there is one parameter.
    ///
    /// # Errors
    /// As [`Tools::read`].
    pub fn from_value(definitions: &Value) -> Result<Self, ToolsError> {
        let mut inner = Reader::read(&definitions.to_string(), &SchemaCache::default())?;
        for tool in &mut inner.tools {
            tool.order = tool.order.take().filter(|order| order.len() == 1);
        }
        Ok(Self(Arc::new(inner), Arc::default()))
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.0.tools.get(*self.0.by_name.get(name)?)
    }

    /// The same tools for a model that knows some of them under other names.
    pub(crate) fn with_aliases(&self, names: Names) -> Self {
        Self(Arc::clone(&self.0), Arc::new(names))
    }

    /// The tool that the model knows by this other name.
    pub(crate) fn canonical_name(&self, told: &str) -> Option<&str> {
        let mut names = self.1.iter();
        let found = names.find(|(name, _)| name == told);
        found.map(|(_, own)| own.as_str())
    }

    /// The name by which the model knows a tool.
    pub(crate) fn alias_of<'n>(&'n self, own: &'n str) -> &'n str {
        let mut names = self.1.iter();
        let found = names.find(|(_, name)| name == own);
        found.map_or(own, |(told, _)| told)
    }

    /// Does the model know any tool by another name?
    pub(crate) fn is_renamed(&self) -> bool {
        !self.1.is_empty()
    }

    /// The tool that the model knows by exactly this name.
    pub(crate) fn told(&self, name: &str) -> Option<&ToolDefinition> {
        self.get(self.canonical_name(name).unwrap_or(name))
    }

    /// The tools in the order of their definitions.
    pub fn iter(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.0.tools.iter()
    }

    /// The names in the order of their definitions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.tools.iter().map(|tool| tool.name.as_str())
    }

    /// The one tool, where only one is offered.
    pub fn only(&self) -> Option<&ToolDefinition> {
        match self.0.tools.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The refusal for a name that is not offered: it suggests the nearest one.
    pub fn unknown(&self, name: &str) -> Refusal {
        let told = self.names().map(|name| self.alias_of(name));
        // As it was sent, where only that is wrong with it.
        let cleaned = names::cleaned(name);
        let shown = match self.get(&cleaned) {
            Some(_) => name,
            None => cleaned.as_str(),
        };
        Refusal::unknown_tool(shown, told)
    }

    /// The one tool that a model can have meant by this name: the tool of that name, or the only
    /// one left when control tokens, namespaces, counters, case and punctuation are taken off, or
    /// the only one whose own namespace was left out.
    pub fn meant(&self, sent: &str) -> Option<&ToolDefinition> {
        let exactly = self.canonical_name(sent).and_then(|own| self.get(own));
        exactly.or_else(|| self.get(sent)).or_else(|| {
            let cleaned = names::cleaned(sent);
            self.get(&cleaned).or_else(|| self.loose(&cleaned))
        })
    }

    fn loose(&self, name: &str) -> Option<&ToolDefinition> {
        let bare = names::bare(name);
        let one = |names: &HashMap<String, Vec<usize>>| match names.get(&bare)?.as_slice() {
            [one] if !bare.is_empty() => self.0.tools.get(*one),
            _ => None,
        };
        match self.0.by_bare.contains_key(&bare) {
            true => one(&self.0.by_bare),
            false => one(&self.0.by_last),
        }
    }

    /// Bytes of the longest name.
    pub(crate) fn longest_name(&self) -> usize {
        self.0.longest
    }
}

impl ToolDefinition {
    /// The types that the schema declares for a parameter; empty if it does not say.
    pub(crate) fn types_of(&self, parameter: &str) -> Types {
        match &self.schema {
            Ok(schema) => declared::types_of(schema.document(), parameter),
            Err(_) => Types::default(),
        }
    }

    /// The types that the schema declares for the elements of a parameter.
    pub(crate) fn element_types_of(&self, parameter: &str) -> Types {
        match &self.schema {
            Ok(schema) => declared::element_types_of(schema.document(), parameter),
            Err(_) => Types::default(),
        }
    }

    /// Does the schema declare this parameter?
    pub(crate) fn declares(&self, parameter: &str) -> bool {
        match &self.schema {
            Ok(schema) => declared::declares(schema.document(), parameter),
            Err(_) => false,
        }
    }

    /// May there be parameters that the schema does not declare?
    pub(crate) fn is_open(&self) -> bool {
        let document = self.schema.as_ref().ok().map(Schema::document);
        let more = document.and_then(|document| document.get("additionalProperties"));
        more != Some(&Value::Bool(false))
    }

    /// The parameter that the argument at this position is for.
    pub(crate) fn positional(&self, index: usize) -> Option<&str> {
        Some(self.order.as_ref()?.get(index)?.as_str())
    }

    /// Can the tool be called without arguments?
    pub(crate) fn has_no_required_parameters(&self) -> bool {
        matches!(&self.schema, Ok(schema) if schema.accepts_empty_object())
    }
}

/// Collects definitions from one document.
struct Reader<'c> {
    cache: &'c SchemaCache,
    inner: Inner,
}

impl<'c> Reader<'c> {
    fn read(text: &str, cache: &'c SchemaCache) -> Result<Inner, ToolsError> {
        let tree = Tree::parse(text)
            .map_err(|error| ToolsError(format!("tool definitions must be JSON: {error}")))?;
        let inner = Inner::default();
        let mut reader = Self { cache, inner };
        reader.collect(tree.root(), text, 0)?;
        Ok(reader.inner)
    }

    fn collect(&mut self, node: Node<'_>, text: &str, depth: usize) -> Result<(), ToolsError> {
        match node.kind() {
            _ if depth > MOST_DEPTH => Err(ToolsError(format!("nested too deeply; {KNOWN}"))),
            Kind::Array => node
                .elements()
                .try_for_each(|item| self.collect(item, text, depth + 1)),
            Kind::Object => self.object(node, text, depth),
            _ => {
                let shown = node.to_json();
                Err(ToolsError(format!(
                    "{shown} is no tool definition; {KNOWN}"
                )))
            }
        }
    }

    fn object(&mut self, node: Node<'_>, text: &str, depth: usize) -> Result<(), ToolsError> {
        for key in WRAPPERS {
            if let Some(inner) = node.get(key).filter(|inner| inner.kind() == Kind::Object) {
                return self.collect(inner, text, depth + 1);
            }
        }
        if let Some(name) = node.get("name").and_then(Node::as_str) {
            return self.add(name, node, text);
        }
        let mut inner = LISTS.iter().filter_map(|key| node.get(key)).peekable();
        if inner.peek().is_none() {
            let keys: Vec<_> = node.members().map(|(key, _)| key).take(5).collect();
            let schema = ["properties", "$schema"]
                .iter()
                .any(|key| node.get(key).is_some());
            let hint = match schema {
                true => {
                    "this looks like a schema alone: put it under \"parameters\", beside a \"name\"; "
                }
                false => "",
            };
            return Err(ToolsError(format!(
                "an object with the keys {keys:?} is no tool definition; {hint}{KNOWN}"
            )));
        }
        inner.try_for_each(|value| self.collect(value, text, depth + 1))
    }

    fn add(&mut self, name: &str, node: Node<'_>, text: &str) -> Result<(), ToolsError> {
        let schema = SCHEMAS.iter().find_map(|key| node.get(key));
        // Bedrock wraps the schema once more.
        let schema = schema.map(|schema| schema.get("json").unwrap_or(schema));
        let schema = schema.filter(|schema| !schema.is_null());
        let parameters = schema.and_then(|schema| text.get(schema.span()));
        let parameters = parameters.unwrap_or(r#"{"type":"object"}"#);
        let order = schema.and_then(|schema| schema.get("properties"));
        let order = order.map(|all| all.members().map(|(key, _)| key.to_owned()).collect());
        let known =
            |key: &str| SCHEMAS.contains(&key) || matches!(key, "name" | "description" | "type");
        let extra = node.members().filter(|(key, _)| !known(key));
        let tool = ToolDefinition {
            name: name.to_owned(),
            description: node
                .get("description")
                .and_then(Node::as_str)
                .map(str::to_owned),
            parameters: parameters.to_owned(),
            schema: self
                .cache
                .get_text(parameters)
                .map_err(|error| error.of_tool(name)),
            extra: extra
                .map(|(key, value)| (key.to_owned(), value.to_json()))
                .collect(),
            order: Some(order.unwrap_or_default()),
        };
        let inner = &mut self.inner;
        let index = inner.tools.len();
        if inner.by_name.insert(name.to_owned(), index).is_some() {
            return Err(ToolsError(format!("the tool `{name}` is defined twice")));
        }
        inner
            .by_bare
            .entry(names::bare(name))
            .or_default()
            .push(index);
        if let Some((_, last)) = name.rsplit_once(['.', ':', '/']) {
            inner
                .by_last
                .entry(names::bare(last))
                .or_default()
                .push(index);
        }
        inner.longest = inner.longest.max(name.len());
        inner.tools.push(tool);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(definitions: &Value) -> Vec<String> {
        let tools = Tools::from_value(definitions).unwrap();
        for tool in tools.iter() {
            let schema = tool.schema.as_ref().unwrap();
            assert_eq!(schema.document()["required"], json!(["a"]), "{}", tool.name);
        }
        tools.names().map(str::to_owned).collect()
    }

    #[test]
    fn every_providers_form_is_read() {
        let schema = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
        for definitions in [
            json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]),
            json!({"tools": [{"type": "function", "name": "f", "parameters": schema}]}),
            json!([{"name": "f", "description": "d", "input_schema": schema}]),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
                {"name": "f", "inputSchema": schema, "annotations": {}}]}}),
            json!({"tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]}),
            json!({"toolConfig": {"tools": [
                {"toolSpec": {"name": "f", "inputSchema": {"json": schema}}}]}}),
            json!({"name": "f", "parameters": schema}),
        ] {
            assert_eq!(names(&definitions), ["f"], "{definitions}");
        }
    }

    #[test]
    fn other_forms_are_refused_with_what_was_found() {
        let error = Tools::read(r#"{"openapi": "3.0"}"#)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("an object with the keys [\"openapi\"] is no tool"),
            "{error}"
        );
        let error = Tools::read("[5]").unwrap_err().to_string();
        assert!(error.starts_with("5 is no tool definition"), "{error}");
        let error = Tools::read("[]").unwrap_err().to_string();
        assert!(error.starts_with("no tool definition found"), "{error}");
    }

    #[test]
    fn the_declared_order_is_kept_where_the_text_shows_it() {
        let text = r#"[{"name": "f", "parameters": {"properties": {"b": {}, "a": {}}}}]"#;
        let tools = Tools::read(text).unwrap();
        assert_eq!(tools.get("f").unwrap().positional(0), Some("b"));
        let value: Value = serde_json::from_str(text).unwrap();
        let tools = Tools::from_value(&value).unwrap();
        assert_eq!(tools.get("f").unwrap().positional(0), None);
    }
}
