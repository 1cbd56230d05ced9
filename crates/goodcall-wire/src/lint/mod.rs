//! Remarks on tool definitions: what confuses models, and what providers refuse.

use std::fmt;

use goodcall_core::Schema;
use serde_json::{Map, Value};

use crate::request::GEMINI_REFUSES;

/// One remark on a tool definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintRemark {
    /// The name of the tool; empty if the remark is about the whole list.
    pub tool: String,
    /// JSON Pointer into the tool's input schema; empty if the remark is about the tool itself.
    pub at: String,
    /// The party that has trouble with this definition.
    pub who: LintParty,
    /// The problem, and how to solve it.
    pub what: String,
}

/// The party that has trouble with a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LintParty {
    /// Models in general: they call such a tool wrongly.
    Model,
    /// OpenAI's API refuses the request.
    OpenAi,
    /// Anthropic's API refuses the request.
    Anthropic,
    /// Gemini's API refuses the request.
    Gemini,
    /// goodcall cannot check calls or results.
    Goodcall,
}

impl LintParty {
    /// The name in lower case, such as `openai`.
    pub fn name(self) -> &'static str {
        match self {
            LintParty::Model => "model",
            LintParty::OpenAi => "openai",
            LintParty::Anthropic => "anthropic",
            LintParty::Gemini => "gemini",
            LintParty::Goodcall => "goodcall",
        }
    }
}

impl fmt::Display for LintParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One tool as [`lint`] looks at it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LintedTool {
    /// The name that models call the tool by.
    pub name: String,
    /// The description that models read.
    pub description: Option<String>,
    /// The schema of the arguments.
    pub input: Value,
    /// The schema of the results, if the definition has one.
    pub output: Option<Value>,
    /// True if the definition says that the tool destroys something.
    pub destructive: bool,
}

impl LintedTool {
    /// Returns a tool with this name and input schema, and nothing else set.
    pub fn new(name: &str, input: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            input,
            output: None,
            destructive: false,
        }
    }
}

/// Levels of nesting that models handle well.
const EASY_DEPTH: usize = 3;
/// Levels of nesting that OpenAI accepts.
const OPENAI_DEPTH: usize = 10;
/// Tools per request that OpenAI accepts.
const OPENAI_TOOLS: usize = 128;
/// Tools that models can tell apart well.
const EASY_TOOLS: usize = 20;
/// Characters of a name that all providers accept.
const NAME_CHARS: usize = 64;
/// Keys in which models wrap arguments by mistake.
const WRAPPERS: [&str; 4] = ["arguments", "input", "params", "parameters"];
/// How the names of negated switches begin.
const NEGATIONS: [&str; 5] = ["no_", "not_", "disable", "dont_", "without_"];

/// Returns the remarks on these tools: first those on the list, then those of each tool.
pub fn lint(tools: &[LintedTool]) -> Vec<LintRemark> {
    let mut all = Remarks::default();
    let count = tools.len();
    if count > OPENAI_TOOLS {
        let what = format!("{count} tools; a request takes {OPENAI_TOOLS} at most");
        all.add(LintParty::OpenAi, "", what);
    } else if count > EASY_TOOLS {
        let what = format!("{count} tools; models choose best among {EASY_TOOLS} or fewer");
        all.add(LintParty::Model, "", what);
    }
    for tool in tools {
        all.tool.clone_from(&tool.name);
        lint_name(tool, tools, &mut all);
        lint_compiled(tool, &mut all);
        lint_root(&tool.input, &mut all);
        lint_schema(&tool.input, "", 0, &mut all);
    }
    all.found
}

/// The remarks so far, and the tool that the next one is about.
#[derive(Default)]
struct Remarks {
    tool: String,
    found: Vec<LintRemark>,
}

impl Remarks {
    fn add(&mut self, who: LintParty, at: &str, what: impl Into<String>) {
        self.found.push(LintRemark {
            tool: self.tool.clone(),
            at: at.to_owned(),
            who,
            what: what.into(),
        });
    }
}

fn lint_name(tool: &LintedTool, tools: &[LintedTool], all: &mut Remarks) {
    let name = &tool.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(plain) {
        let what = "the name has characters other than a-z, A-Z, 0-9, _ and -";
        all.add(LintParty::OpenAi, "", what);
    }
    if name.chars().count() > NAME_CHARS {
        let what = format!("the name is longer than {NAME_CHARS} characters");
        all.add(LintParty::OpenAi, "", what);
    }
    if is_blank(tool.description.as_deref()) {
        let what = "no description: say what the tool does and when to call it";
        all.add(LintParty::Model, "", what);
    }
    let mut names = tools.iter().map(|other| &other.name);
    if let Some(longer) = names.find(|other| *other != name && other.starts_with(name)) {
        let what = format!("the name is the beginning of `{longer}`: models mix them up");
        all.add(LintParty::Model, "", what);
    }
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

/// Remarks of the schema compiler: without a compiled schema nothing can be checked.
fn lint_compiled(tool: &LintedTool, all: &mut Remarks) {
    match Schema::compile(&tool.input) {
        Err(error) => {
            let what = format!("{}: calls are not checked", error.reason());
            all.add(LintParty::Goodcall, error.pointer().as_str(), what);
        }
        Ok(schema) => {
            for warning in schema.warnings() {
                let (at, what) = (warning.pointer.as_str(), warning.message.clone());
                all.add(LintParty::Goodcall, at, what);
            }
        }
    }
    if let Some(Err(error)) = tool.output.as_ref().map(Schema::compile) {
        let what = format!("output schema: {}: results are not checked", error.reason());
        all.add(LintParty::Goodcall, "", what);
    }
}

fn lint_root(schema: &Value, all: &mut Remarks) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let what = "the root must have \"type\": \"object\"";
        all.add(LintParty::OpenAi, "", what);
    }
    if schema.get("properties").is_none() {
        let what = "the root has no properties: write \"properties\": {} for a tool without \
                    parameters";
        all.add(LintParty::OpenAi, "", what);
    }
    for key in ["oneOf", "anyOf", "allOf", "enum", "not", "const"] {
        if schema.get(key).is_some() {
            let what = format!("{key} at the root is refused (also by anthropic): split the tool");
            all.add(LintParty::OpenAi, &format!("/{key}"), what);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for key in properties.into_iter().flat_map(Map::keys) {
        let at = format!("/properties/{key}");
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.len() > NAME_CHARS || !key.chars().all(plain) {
            let what = "the key must be 1 to 64 of a-z, A-Z, 0-9, _, . and -";
            all.add(LintParty::Anthropic, &at, what);
        }
        if WRAPPERS.contains(&key.as_str()) {
            let what = "named like a wrapper: models wrap arguments in such a key by mistake";
            all.add(LintParty::Model, &at, what);
        }
    }
}

/// Remarks on one subschema, `depth` levels below the root, and on those inside it.
fn lint_schema(schema: &Value, at: &str, depth: usize, all: &mut Remarks) {
    if depth > OPENAI_DEPTH {
        let what = format!("nested deeper than {OPENAI_DEPTH} levels");
        return all.add(LintParty::OpenAi, at, what);
    }
    if depth == EASY_DEPTH + 1 {
        let what = format!("nested deeper than {EASY_DEPTH} levels: models lose track");
        all.add(LintParty::Model, at, what);
    }
    let Some(map) = schema.as_object() else {
        return;
    };
    for (key, what) in GEMINI_REFUSES {
        if map.contains_key(key) {
            all.add(LintParty::Gemini, &format!("{at}/{key}"), what);
        }
    }
    if map.get("type").is_some_and(Value::is_array) {
        let what = "a list of types is refused: write anyOf";
        all.add(LintParty::Gemini, &format!("{at}/type"), what);
    }
    let values = map.get("enum").and_then(Value::as_array);
    if values.is_some_and(|values| values.iter().any(Value::is_number)) {
        let what = "an enum of numbers is refused: write strings";
        all.add(LintParty::Gemini, &format!("{at}/enum"), what);
    }
    let is_array = map.get("type").and_then(Value::as_str) == Some("array");
    if is_array && !map.contains_key("items") && !map.contains_key("prefixItems") {
        let what = "an array without items is refused (also by gemini)";
        all.add(LintParty::OpenAi, at, what);
    }
    lint_properties(map, at, all);
    lint_subschemas(map, at, depth, all);
}

fn lint_properties(map: &Map<String, Value>, at: &str, all: &mut Remarks) {
    let Some(properties) = map.get("properties").and_then(Value::as_object) else {
        return;
    };
    if !map.contains_key("additionalProperties") && !properties.is_empty() {
        let what = "additionalProperties is not set: `false` catches misspelt keys";
        all.add(LintParty::Model, at, what);
    }
    let required = map.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !properties.contains_key(name) {
            let what = format!("required names `{name}`, which is not among the properties");
            all.add(LintParty::Gemini, at, what);
        }
    }
    for (name, property) in properties {
        let at = format!("{at}/properties/{name}");
        let description = property.get("description").and_then(Value::as_str);
        if is_blank(description) && property.get("$ref").is_none() {
            all.add(LintParty::Model, &at, "no description");
        }
        let negated = NEGATIONS.iter().any(|no| name.starts_with(no));
        if negated && property.get("type").and_then(Value::as_str) == Some("boolean") {
            let what = "a boolean named in the negative: models invert it";
            all.add(LintParty::Model, &at, what);
        }
    }
}

fn lint_subschemas(map: &Map<String, Value>, at: &str, depth: usize, all: &mut Remarks) {
    for key in ["properties", "$defs", "definitions"] {
        let named = map.get(key).and_then(Value::as_object);
        for (name, schema) in named.into_iter().flatten() {
            lint_schema(schema, &format!("{at}/{key}/{name}"), depth + 1, all);
        }
    }
    if let Some(items) = map.get("items") {
        lint_schema(items, &format!("{at}/items"), depth + 1, all);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let branches = map.get(key).and_then(Value::as_array);
        for (index, schema) in branches.into_iter().flatten().enumerate() {
            lint_schema(schema, &format!("{at}/{key}/{index}"), depth, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, input: Value) -> LintedTool {
        let mut tool = LintedTool::new(name, input);
        tool.description = Some("Does something.".to_owned());
        tool
    }

    #[test]
    fn clean_tool_has_no_remarks() {
        let input = json!({"type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "string", "description": "x"}}});
        assert_eq!(lint(&[tool("t", input)]), []);
    }

    #[test]
    fn tool_without_parameters_needs_empty_properties() {
        let remarks = lint(&[tool(
            "now",
            json!({"type": "object", "additionalProperties": false}),
        )]);
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].what.starts_with("the root has no properties"));
        let input = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert_eq!(lint(&[tool("now", input)]), []);
    }

    #[test]
    fn every_remark_has_a_definition_that_causes_it() {
        let deep = (0..12).fold(
            json!({"type": "string"}),
            |inner, _| json!({"type": "array", "items": inner}),
        );
        let input = json!({"anyOf": [], "required": ["gone"], "properties": {
            "ä": {"type": ["string", "null"]}, "input": {"enum": [1]}, "list": {"type": "array"},
            "no_cache": {"type": "boolean"}, "one": {"oneOf": [{"const": 1}]}, "deep": deep}});
        let mut odd = tool("odd name", input);
        odd.description = None;
        odd.output = Some(json!({"type": "objekt"}));
        let bad = tool("odd name2", json!({"type": "objekt"}));
        let lines: Vec<_> = lint(&[odd, bad])
            .iter()
            .map(|remark| format!("{} {}", remark.who, remark.what))
            .collect();
        for words in [
            "openai the name has characters",
            "model no description: say",
            "model the name is the beginning",
            "calls are not checked",
            "results are not checked",
            "openai the root must have",
            "openai the root has no properties",
            "openai anyOf at the root",
            "anthropic the key must be",
            "model named like a wrapper",
            "gemini a list of types",
            "gemini an enum of numbers",
            "openai an array without items",
            "model additionalProperties is not set",
            "gemini required names `gone`",
            "model a boolean named in the negative",
            "gemini oneOf",
            "gemini const",
            "model nested deeper than 3",
            "openai nested deeper than 10",
        ] {
            let found = lines.iter().any(|line| line.contains(words));
            assert!(found, "{words}: {lines:#?}");
        }
        let many: Vec<_> = (0..200)
            .map(|n| tool(&format!("t{n:03}"), json!({"type": "object"})))
            .collect();
        assert!(lint(&many)[0].what.starts_with("200 tools"));
    }
}
