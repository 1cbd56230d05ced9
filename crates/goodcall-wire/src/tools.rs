//! The offered tools: definitions in any provider's form, each compiled when it is first called.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use goodcall_core::{
    Kind, Node, Refusal, Schema, SchemaCache, SchemaError, SchemaView, Tree, Types,
};
use serde_json::Value;

use crate::definitions::{self, Definition};
use crate::names;

/// The tools that a request offers. Cloning is cheap.
///
/// ```
/// use goodcall_wire::Tools;
///
/// let tools = Tools::read(r#"{"tools": [{"name": "read", "input_schema": {"type": "object"}}]}"#)?;
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["read"]);
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tools {
    index: Arc<ToolIndex>,
    aliases: Arc<Aliases>,
}

/// Pairs of (alias sent to the model, name of the tool).
pub(crate) type Aliases = Vec<(String, String)>;

#[derive(Debug, Default)]
struct ToolIndex {
    tools: Vec<ToolDefinition>,
    by_name: HashMap<String, usize>,
    /// By name without case and punctuation, which several tools may share.
    by_bare: HashMap<String, Vec<usize>>,
    /// By the last part of a dotted name, without case and punctuation.
    by_last: HashMap<String, Vec<usize>>,
    longest_name: usize,
}

/// One offered tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name, unique among the offered tools.
    pub name: String,
    /// The description that the model reads.
    pub description: Option<String>,
    /// The schema of the parameters as JSON text.
    pub parameters: String,
    /// Other fields of the definition, as JSON text.
    pub extra: Vec<(String, String)>,
    /// The parameters in declared order; `None` if the order is unknown.
    order: Option<Vec<String>>,
    destructive: bool,
    schema: LazySchema,
}

/// A schema that is compiled when it is first needed: of a hundred tools that are offered, a model
/// calls a few.
#[derive(Clone, Debug)]
struct LazySchema {
    cache: SchemaCache,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

impl ToolDefinition {
    /// The schema of the parameters, compiled when this is first called.
    ///
    /// # Errors
    /// If it does not compile, which concerns only the calls of this tool.
    pub fn schema(&self) -> Result<&Schema, &SchemaError> {
        let LazySchema { cache, compiled } = &self.schema;
        let compile = || {
            let schema = cache.get_text(&self.parameters);
            schema.map_err(|error| error.of_tool(&self.name))
        };
        compiled.get_or_init(compile).as_ref()
    }

    /// Returns true if the definition says that the tool destroys something (MCP's
    /// `destructiveHint`).
    pub fn is_destructive(&self) -> bool {
        self.destructive
    }
}

/// The error for definitions that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolsError(String);

impl ToolsError {
    pub(crate) fn new(what: String) -> Self {
        Self(what)
    }
}

impl fmt::Display for ToolsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolsError {}

/// The most levels of lists and wrappers around one definition.
const MOST_DEPTH: usize = 8;

/// The most tools that the arguments of an unknown one are tried on.
const MOST_TRIED: usize = 64;

const KNOWN: &str = "known forms are OpenAI, Anthropic, Gemini and Bedrock tools, an MCP \
                     tools/list result, and {\"name\", \"parameters\"}, alone or in a list";

impl Tools {
    /// Reads definitions from JSON text in any provider's form: one, a list, or a whole request.
    ///
    /// # Errors
    /// If the text is not JSON, has no definition, or defines a tool twice.
    pub fn read(text: &str) -> Result<Self, ToolsError> {
        Self::read_with(text, &SchemaCache::default())
    }

    /// Like [`Tools::read`], with compiled schemas from a cache.
    ///
    /// # Errors
    /// As [`Tools::read`].
    pub fn read_with(text: &str, cache: &SchemaCache) -> Result<Self, ToolsError> {
        let index = DefinitionReader::read(text, cache)?;
        if index.tools.is_empty() {
            return Err(ToolsError(format!("no tool definition found; {KNOWN}")));
        }
        Ok(Self::from(index))
    }

    /// Reads definitions from a value. Its maps do not keep the order of the parameters, so that
    /// positional arguments are understood only if there is one parameter.
    ///
    /// # Errors
    /// As [`Tools::read`].
    pub fn from_value(definitions: &Value) -> Result<Self, ToolsError> {
        let mut index = DefinitionReader::read(&definitions.to_string(), &SchemaCache::default())?;
        for tool in &mut index.tools {
            tool.order = tool.order.take().filter(|order| order.len() == 1);
        }
        Ok(Self::from(index))
    }

    /// Returns the tool with exactly this name.
    pub fn get(&self, name: &str) -> Option<&ToolDefinition> {
        self.index.tools.get(*self.index.by_name.get(name)?)
    }

    /// Returns the same tools with aliases for some of them.
    pub(crate) fn with_aliases(&self, aliases: Aliases) -> Self {
        Self {
            index: Arc::clone(&self.index),
            aliases: Arc::new(aliases),
        }
    }

    /// The name of the tool that has this alias.
    pub(crate) fn canonical_name(&self, alias: &str) -> Option<&str> {
        let mut aliases = self.aliases.iter();
        let found = aliases.find(|(known, _)| known == alias);
        found.map(|(_, name)| name.as_str())
    }

    /// The name by which the model knows a tool: its alias, or its own name.
    pub(crate) fn alias_of<'n>(&'n self, name: &'n str) -> &'n str {
        let mut aliases = self.aliases.iter();
        let found = aliases.find(|(_, known)| known == name);
        found.map_or(name, |(alias, _)| alias)
    }

    /// Returns true if any tool has an alias.
    pub(crate) fn has_aliases(&self) -> bool {
        !self.aliases.is_empty()
    }

    /// Returns the tool that the model knows by exactly this name.
    pub(crate) fn by_alias(&self, alias: &str) -> Option<&ToolDefinition> {
        self.get(self.canonical_name(alias).unwrap_or(alias))
    }

    /// The tools in the order of their definitions.
    pub fn iter(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.index.tools.iter()
    }

    /// The names in the order of their definitions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|tool| tool.name.as_str())
    }

    /// Returns the tool if only one is offered.
    pub fn only(&self) -> Option<&ToolDefinition> {
        match self.index.tools.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the refusal for a name that is not offered, which suggests the nearest one.
    pub fn unknown(&self, name: &str) -> Refusal {
        let cleaned = names::cleaned(name);
        // If cleaning the name makes it right, the name as sent shows what is wrong.
        let shown = if self.get(&cleaned).is_some() {
            name
        } else {
            cleaned.as_str()
        };
        let alike = self.alike(&cleaned);
        if alike.len() > 1 {
            // It can stand for each of these, and for nothing else.
            return Refusal::unknown_tool(shown, alike);
        }
        Refusal::unknown_tool(shown, self.names().map(|name| self.alias_of(name)))
    }

    /// Like [`Tools::unknown`], for a call with these arguments: if they fit one tool alone, that one
    /// is suggested, unless a name is near.
    pub fn unknown_call(&self, name: &str, arguments: &str) -> Refusal {
        let refusal = self.unknown(name);
        let near = |issue: &goodcall_core::Issue| issue.nearest.is_some();
        if refusal.issues.first().is_some_and(near) || self.index.tools.len() > MOST_TRIED {
            return refusal;
        }
        let Ok(tree) = Tree::parse(arguments) else {
            return refusal;
        };
        let mut fitting = self.iter().filter(|tool| tool.takes(&tree));
        match (fitting.next(), fitting.next()) {
            (Some(tool), None) => refusal.arguments_fit(self.alias_of(&tool.name), tree.root()),
            _ => refusal,
        }
    }

    /// Returns the only tool that this name can stand for: the tool of that name; or the only one
    /// left without control tokens, namespaces, counters, case and punctuation; or the only one
    /// whose own namespaces are missing, all or some of them (`list_projects` for
    /// `mcp__jira__list_projects`), or were written twice.
    pub fn meant(&self, sent: &str) -> Option<&ToolDefinition> {
        let by_alias = self.canonical_name(sent).and_then(|name| self.get(name));
        by_alias.or_else(|| self.get(sent)).or_else(|| {
            let cleaned = names::cleaned(sent);
            self.get(&cleaned).or_else(|| self.by_bare_name(&cleaned))
        })
    }

    fn by_bare_name(&self, name: &str) -> Option<&ToolDefinition> {
        let bare = names::bare(&names::without_doubled_prefix(name));
        if bare.is_empty() {
            return None;
        }
        let found = self.index.by_bare.get(&bare);
        match found.or_else(|| self.index.by_last.get(&bare))?.as_slice() {
            [only] => self.index.tools.get(*only),
            _ => None,
        }
    }

    /// The names that differ from this one in case and punctuation only.
    fn alike(&self, name: &str) -> Vec<&str> {
        let same = self.index.by_bare.get(&names::bare(name));
        let tools = same.into_iter().flatten().map(|at| &self.index.tools[*at]);
        tools.map(|tool| self.alias_of(&tool.name)).collect()
    }

    /// The length of the longest name in bytes.
    pub(crate) fn longest_name(&self) -> usize {
        self.index.longest_name
    }
}

impl From<ToolIndex> for Tools {
    fn from(index: ToolIndex) -> Self {
        Self {
            index: Arc::new(index),
            aliases: Arc::default(),
        }
    }
}

impl ToolDefinition {
    /// The schema, if it compiled.
    pub(crate) fn root(&self) -> Option<SchemaView<'_>> {
        self.schema().ok().map(Schema::root)
    }

    /// The types that the schema allows for a parameter; empty if it does not say.
    pub(crate) fn types_of(&self, parameter: &str) -> Types {
        let mut types = Types::default();
        let declarations = self.root().into_iter();
        for declaration in declarations.flat_map(|root| root.declarations(parameter)) {
            let allowed = declaration.allowed_types();
            if allowed.is_empty() {
                return allowed;
            }
            types = types.with(allowed);
        }
        types
    }

    /// The types that the schema allows for the elements of a parameter.
    pub(crate) fn element_types_of(&self, parameter: &str) -> Types {
        let declaration = self
            .root()
            .and_then(|root| root.declarations(parameter).next());
        let items = declaration.and_then(|declaration| declaration.resolve().items());
        items.map_or(Types::default(), SchemaView::allowed_types)
    }

    /// Returns true if the schema declares this parameter.
    pub(crate) fn declares(&self, parameter: &str) -> bool {
        let declared = |root: SchemaView<'_>| root.declarations(parameter).next().is_some();
        self.root().is_some_and(declared)
    }

    /// Returns true if the schema allows parameters that it does not declare.
    pub(crate) fn is_open(&self) -> bool {
        let more = self
            .root()
            .and_then(|root| root.get("additionalProperties"));
        more != Some(&Value::Bool(false))
    }

    /// The parameter that a positional argument is for.
    pub(crate) fn positional(&self, index: usize) -> Option<&str> {
        Some(self.order.as_ref()?.get(index)?.as_str())
    }

    /// Returns true if these arguments match the schema, and all of them are declared.
    pub(crate) fn takes(&self, arguments: &Tree<'_>) -> bool {
        let Ok(schema) = self.schema() else {
            return false;
        };
        let declared = |name: &str| schema.root().property(name).is_some();
        let root = arguments.root();
        !root.is_empty()
            && root.members().all(|(name, _)| declared(name))
            && schema.is_valid(arguments)
    }

    /// Returns true if the tool can be called without arguments.
    pub(crate) fn has_no_required_parameters(&self) -> bool {
        matches!(self.schema(), Ok(schema) if schema.accepts_empty_object())
    }
}

/// Collects the definitions of one document.
struct DefinitionReader<'c> {
    cache: &'c SchemaCache,
    index: ToolIndex,
}

impl<'c> DefinitionReader<'c> {
    fn read(text: &str, cache: &'c SchemaCache) -> Result<ToolIndex, ToolsError> {
        let tree = Tree::parse(text)
            .map_err(|error| ToolsError(format!("tool definitions must be JSON: {error}")))?;
        let index = ToolIndex::default();
        let mut reader = Self { cache, index };
        reader.collect(tree.root(), text, 0)?;
        Ok(reader.index)
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
                    "{shown} is not a tool definition; {KNOWN}"
                )))
            }
        }
    }

    fn object(&mut self, node: Node<'_>, text: &str, depth: usize) -> Result<(), ToolsError> {
        let definition = Definition::read(node);
        if definition.wrapper.is_some() {
            return self.collect(definition.owner, text, depth + 1);
        }
        if let Some(name) = definition.name() {
            return self.add(name, definition, text);
        }
        let mut lists = definitions::lists(node).peekable();
        if lists.peek().is_none() {
            return Err(not_a_definition(node));
        }
        lists.try_for_each(|(_, list)| self.collect(list, text, depth + 1))
    }

    fn add(
        &mut self,
        name: &str,
        definition: Definition<'_>,
        text: &str,
    ) -> Result<(), ToolsError> {
        let owner = definition.owner;
        let schema = definition.schema().map(|(_, schema)| schema);
        let schema = schema.filter(|schema| !schema.is_null());
        let parameters = schema.and_then(|schema| text.get(schema.span()));
        let parameters = parameters.unwrap_or(r#"{"type":"object"}"#);
        let properties = schema.and_then(|schema| schema.get("properties"));
        let order = properties.into_iter().flat_map(Node::members);
        let extra = definition.extra_members();
        let hint = owner.get("annotations");
        let hint = hint.and_then(|annotations| annotations.get("destructiveHint"));
        let description = owner.get("description").and_then(Node::as_str);
        let tool = ToolDefinition {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            parameters: parameters.to_owned(),
            extra: extra
                .map(|(key, value)| (key.to_owned(), value.to_json()))
                .collect(),
            order: Some(order.map(|(key, _)| key.to_owned()).collect()),
            destructive: hint.and_then(Node::as_bool) == Some(true),
            schema: LazySchema {
                cache: self.cache.clone(),
                compiled: OnceLock::new(),
            },
        };
        self.index.add(tool)
    }
}

impl ToolIndex {
    fn add(&mut self, tool: ToolDefinition) -> Result<(), ToolsError> {
        let (name, index) = (tool.name.as_str(), self.tools.len());
        if self.by_name.insert(name.to_owned(), index).is_some() {
            return Err(ToolsError(format!("the tool `{name}` is defined twice")));
        }
        let same_bare = self.by_bare.entry(names::bare(name)).or_default();
        same_bare.push(index);
        for last in names::without_prefixes(name) {
            let same_last = self.by_last.entry(names::bare(last)).or_default();
            if same_last.last() != Some(&index) {
                same_last.push(index);
            }
        }
        self.longest_name = self.longest_name.max(name.len());
        self.tools.push(tool);
        Ok(())
    }
}

fn not_a_definition(node: Node<'_>) -> ToolsError {
    let keys: Vec<_> = node.members().map(|(key, _)| key).take(5).collect();
    let looks_like_schema = node.get("properties").is_some() || node.get("$schema").is_some();
    let hint = if looks_like_schema {
        "this looks like a schema alone: put it under \"parameters\", beside a \"name\"; "
    } else {
        ""
    };
    ToolsError(format!(
        "an object with the keys {keys:?} is not a tool definition; {hint}{KNOWN}"
    ))
}

#[cfg(test)]
mod tests {
    use goodcall_core::{Policy, StopReason};
    use serde_json::json;

    use super::*;
    use crate::call::RawCall;

    #[test]
    fn schemas_are_compiled_when_their_tools_are_called() {
        let definition = |n: usize| json!({"name": format!("t{n}"), "parameters": {"type": "object", "maxProperties": n}});
        let definitions: Vec<Value> = (0..100).map(definition).collect();
        let cache = SchemaCache::default();
        let tools = Tools::read_with(&json!(definitions).to_string(), &cache).unwrap();
        assert_eq!(cache.len(), 0);
        let call = RawCall::new(&tools, "t7", "{}");
        let verdict = call.check(&tools, &Policy::safe(), StopReason::Unknown);
        assert_eq!((verdict.name(), cache.len()), ("good", 1));
    }

    fn names(definitions: &Value) -> Vec<String> {
        let tools = Tools::from_value(definitions).unwrap();
        for tool in tools.iter() {
            let schema = tool.schema().unwrap();
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
    fn parameters_are_typed_through_references_and_unions() {
        let tools = Tools::from_value(&json!({"name": "f", "parameters": {
            "$defs": {"n": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
            "properties": {
                "a": {"$ref": "#/$defs/n"},
                "b": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]},
                "c": {"enum": ["x", 1]},
                "d": {},
                "e": {"$ref": "#/$defs/loop"},
            },
        }}));
        let tools = tools.unwrap();
        let tool = tools.get("f").unwrap();
        let names = |name| tool.types_of(name).names().collect::<Vec<_>>();
        assert_eq!(names("a"), ["integer"]);
        assert_eq!(names("b"), ["string", "integer"]);
        assert_eq!(names("c"), ["string", "integer"]);
        assert!(names("d").is_empty() && names("e").is_empty() && names("f").is_empty());
        assert!(tool.declares("d") && !tool.declares("f"));
    }

    #[test]
    fn other_forms_are_refused_with_their_keys() {
        let error = Tools::read(r#"{"openapi": "3.0"}"#)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("an object with the keys [\"openapi\"] is not a tool"),
            "{error}"
        );
        let error = Tools::read("[5]").unwrap_err().to_string();
        assert!(error.starts_with("5 is not a tool definition"), "{error}");
        let error = Tools::read("[]").unwrap_err().to_string();
        assert!(error.starts_with("no tool definition found"), "{error}");
    }

    #[test]
    fn parameter_order_is_kept_only_if_read_from_text() {
        let text = r#"[{"name": "f", "parameters": {"properties": {"b": {}, "a": {}}}}]"#;
        let tools = Tools::read(text).unwrap();
        assert_eq!(tools.get("f").unwrap().positional(0), Some("b"));
        let value: Value = serde_json::from_str(text).unwrap();
        let tools = Tools::from_value(&value).unwrap();
        assert_eq!(tools.get("f").unwrap().positional(0), None);
    }
}
