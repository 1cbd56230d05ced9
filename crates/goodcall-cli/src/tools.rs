//! Reading tool definitions, in whatever form they come.

use std::collections::BTreeMap;

use goodcall_core::{Bad, Schema, SchemaError};
use serde_json::{Map, Value, json};

use crate::Failure;

/// The tools of a file, by name. A schema that does not compile is an error only for the calls
/// of its own tool.
#[derive(Default)]
pub(crate) struct Tools {
    tools: BTreeMap<String, Result<Schema, SchemaError>>,
}

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

impl Tools {
    /// Reads a file of definitions.
    pub(crate) fn read(path: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| format!("{path}: tool definitions must be JSON: {error}"))?;
        let mut tools = Self::default();
        tools
            .collect(&value)
            .map_err(|reason| format!("{path}: {reason}"))?;
        if tools.tools.is_empty() {
            return Err(format!("{path}: no tool definition found; {KNOWN}"));
        }
        Ok(tools)
    }

    fn collect(&mut self, value: &Value) -> Result<(), Failure> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.collect(item)),
            Value::Object(map) => self.object(map),
            other => Err(format!("{other} is no tool definition; {KNOWN}")),
        }
    }

    fn object(&mut self, map: &Map<String, Value>) -> Result<(), Failure> {
        for key in WRAPPERS {
            if let Some(inner @ Value::Object(_)) = map.get(key) {
                return self.collect(inner);
            }
        }
        if let Some(Value::String(name)) = map.get("name") {
            return self.add(name, map);
        }
        let inner: Vec<_> = LISTS.iter().filter_map(|key| map.get(*key)).collect();
        if inner.is_empty() {
            let keys: Vec<_> = map.keys().take(5).cloned().collect();
            return Err(format!(
                "an object with the keys {keys:?} is no tool definition; {KNOWN}"
            ));
        }
        inner.into_iter().try_for_each(|value| self.collect(value))
    }

    fn add(&mut self, name: &str, map: &Map<String, Value>) -> Result<(), Failure> {
        let schema = SCHEMAS.iter().find_map(|key| map.get(*key));
        // Bedrock wraps the schema once more.
        let schema = schema.map(|schema| schema.get("json").unwrap_or(schema));
        let any = json!({"type": "object"});
        let schema = schema.filter(|schema| !schema.is_null()).unwrap_or(&any);
        let compiled = Schema::compile(schema).map_err(|error| error.of_tool(name));
        if self.tools.insert(name.to_owned(), compiled).is_some() {
            return Err(format!("the tool `{name}` is defined twice"));
        }
        Ok(())
    }

    /// The schema of a tool: none if there is no such tool, an error if it does not compile.
    pub(crate) fn get(&self, name: &str) -> Option<&Result<Schema, SchemaError>> {
        self.tools.get(name)
    }

    /// The refusal for a tool that is not there.
    pub(crate) fn unknown(&self, name: &str) -> Bad {
        Bad::unknown_tool(name, self.names())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The one tool, where the file defines only one.
    pub(crate) fn only(&self) -> Option<&str> {
        let mut names = self.names();
        names.next().filter(|_| names.next().is_none())
    }
}

const KNOWN: &str = "known forms are OpenAI, Anthropic, Gemini and Bedrock tools, an MCP \
                     tools/list result, and {\"name\", \"parameters\"}, alone or in a list";

#[cfg(test)]
mod tests {
    use super::*;

    fn names(definitions: Value) -> Vec<String> {
        let mut tools = Tools::default();
        tools.collect(&definitions).unwrap();
        for name in tools.names() {
            let schema = tools.get(name).unwrap().as_ref().unwrap();
            assert_eq!(schema.document()["required"], json!(["a"]), "{name}");
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
            assert_eq!(names(definitions.clone()), ["f"], "{definitions}");
        }
    }

    #[test]
    fn other_forms_are_refused_with_what_was_found() {
        let error = Tools::default()
            .collect(&json!({"openapi": "3.0"}))
            .unwrap_err();
        assert!(
            error.starts_with("an object with the keys [\"openapi\"] is no tool"),
            "{error}"
        );
        let error = Tools::default().collect(&json!([5])).unwrap_err();
        assert!(error.starts_with("5 is no tool definition"), "{error}");
    }
}
