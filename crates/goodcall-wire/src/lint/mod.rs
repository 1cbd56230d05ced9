//! Remarks on tool definitions: what confuses models, and what providers refuse.

mod kinds;
mod recursion;

use std::fmt;

use goodcall_core::Schema;
use serde_json::{Map, Value};

use crate::request::GEMINI_REFUSES;
use crate::tools::ToolDefinition;
use kinds::Kind;
pub use kinds::{LintClaim, LintSeverity, UnknownSeverity};

/// One remark on a tool definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintRemark {
    /// The name of the tool; empty if the remark is about the whole list.
    pub tool: String,
    /// JSON Pointer into the tool's input schema; empty if the remark is about the tool itself.
    pub at: String,
    /// The kind of remark, such as `root-union`.
    pub kind: &'static str,
    /// How bad it is.
    pub severity: LintSeverity,
    /// The party that has trouble with this definition.
    pub who: LintParty,
    /// The rule of a provider behind it.
    pub claim: Option<LintClaim>,
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
    /// Clients of MCP, which read more of a definition than models.
    McpClient,
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
            LintParty::McpClient => "mcp",
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
    /// What the definition says about the tool's effects; `None` where it cannot say anything.
    pub hints: Option<LintHints>,
}

/// What a definition says about the effects of its tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintHints {
    /// Whether the tool changes nothing.
    pub read_only: Option<bool>,
    /// Whether the tool may destroy something.
    pub destructive: Option<bool>,
}

impl LintHints {
    /// Reads the `annotations` of a definition.
    pub fn read(annotations: &Value) -> Self {
        let hint = |key: &str| annotations.get(key).and_then(Value::as_bool);
        Self {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
        }
    }
}

impl From<&ToolDefinition> for LintedTool {
    /// Takes over what a definition in any provider's form says.
    fn from(tool: &ToolDefinition) -> Self {
        let input = serde_json::from_str(&tool.parameters).unwrap_or_default();
        let mut linted = Self::new(&tool.name, input);
        linted.description.clone_from(&tool.description);
        linted.hints = tool.is_destructive().then_some(LintHints {
            read_only: None,
            destructive: Some(true),
        });
        linted
    }
}

impl LintedTool {
    /// Returns a tool with this name and input schema, and nothing else set.
    pub fn new(name: &str, input: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            input,
            output: None,
            hints: None,
        }
    }

    /// Returns true if the definition says that the tool destroys something.
    pub fn is_destructive(&self) -> bool {
        self.hints.and_then(|hints| hints.destructive) == Some(true)
    }
}

/// Levels of objects that models handle well.
const EASY_DEPTH: usize = 3;
/// Levels of objects that OpenAI accepts.
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
        all.add(kinds::TOO_MANY_TOOLS, "", what);
    } else if count > EASY_TOOLS {
        let what = format!("{count} tools; models choose best among {EASY_TOOLS} or fewer");
        all.add(kinds::MANY_TOOLS, "", what);
    }
    for tool in tools {
        all.tool.clone_from(&tool.name);
        lint_name(tool, tools, &mut all);
        lint_hints(tool, &mut all);
        lint_compiled(tool, &mut all);
        lint_root(&tool.input, &mut all);
        lint_schema(&tool.input, "", 0, &mut all);
        if let Some(at) = recursion::recursion(&tool.input) {
            let what = "refers to itself: models may nest without end, and gemini refuses it in \
                        `parameters`";
            all.add(kinds::RECURSION, &at, what);
        }
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
    fn add(&mut self, kind: Kind, at: &str, what: impl Into<String>) {
        self.found.push(LintRemark {
            tool: self.tool.clone(),
            at: at.to_owned(),
            kind: kind.name,
            severity: kind.severity,
            who: kind.who,
            claim: kind.claim,
            what: what.into(),
        });
    }
}

fn lint_name(tool: &LintedTool, tools: &[LintedTool], all: &mut Remarks) {
    let name = &tool.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(plain) {
        let what = "the name has characters other than a-z, A-Z, 0-9, _ and - (also anthropic)";
        all.add(kinds::NAME, "", what);
    }
    if name.chars().count() > NAME_CHARS {
        let what =
            format!("the name is longer than {NAME_CHARS} characters (also anthropic, gemini)");
        all.add(kinds::NAME, "", what);
    }
    if is_blank(tool.description.as_deref()) {
        let what = "no description: say what the tool does and when to call it";
        all.add(kinds::TOOL_DESCRIPTION, "", what);
    }
    let mut names = tools.iter().map(|other| &other.name);
    if let Some(longer) = names.find(|other| *other != name && other.starts_with(name)) {
        let what = format!("the name is the beginning of `{longer}`: models mix them up");
        all.add(kinds::SIMILAR_NAMES, "", what);
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
            all.add(kinds::INVALID_SCHEMA, error.pointer().as_str(), what);
        }
        Ok(schema) => {
            for warning in schema.warnings() {
                let (at, what) = (warning.pointer.as_str(), warning.message.clone());
                all.add(kinds::ODD_SCHEMA, at, what);
            }
        }
    }
    if let Some(output) = &tool.output {
        lint_output(output, all);
    }
}

fn lint_output(output: &Value, all: &mut Remarks) {
    match Schema::compile(output) {
        Err(error) => {
            let (place, why) = (error.pointer().as_str(), error.reason());
            let what = format!("output schema{}: {why}: results are not checked", of(place));
            all.add(kinds::INVALID_OUTPUT, "", what);
        }
        Ok(schema) => {
            for warning in schema.warnings() {
                let place = of(warning.pointer.as_str());
                let what = format!("output schema{place}: {}", warning.message);
                all.add(kinds::ODD_SCHEMA, "", what);
            }
        }
    }
    if output.get("type").and_then(Value::as_str) != Some("object") {
        let what = "the root of the output schema has no \"type\": \"object\": clients of \
                    protocol versions up to 2025-11-25 refuse the list";
        all.add(kinds::OUTPUT_ROOT, "", what);
    }
    if recursion::recursion(output).is_some() {
        all.add(kinds::RECURSION, "", "the output schema refers to itself");
    }
}

/// A place inside a schema, for a text; nothing for the root.
fn of(place: &str) -> String {
    if place.is_empty() {
        String::new()
    } else {
        format!(" at {place}")
    }
}

/// Words in the name of a tool that destroys something.
const DESTRUCTION: [&str; 8] = [
    "delete",
    "remove",
    "drop",
    "erase",
    "destroy",
    "overwrite",
    "wipe",
    "truncate",
];

/// Remarks on what a definition says about the tool's effects, by which clients ask their user and
/// goodcall is strict.
fn lint_hints(tool: &LintedTool, all: &mut Remarks) {
    let Some(hints) = tool.hints else {
        return;
    };
    let is_destruction = |word: &str| DESTRUCTION.contains(&word.to_lowercase().as_str());
    let words = tool.name.split(|c: char| !c.is_ascii_alphanumeric());
    let destroys = words.into_iter().any(is_destruction);
    match (hints.read_only, hints.destructive) {
        (Some(true), Some(true)) => {
            let what = "readOnlyHint and destructiveHint are both true";
            all.add(kinds::MISREAD_HINTS, "", what);
        }
        (Some(true), _) if destroys => {
            let what = "readOnlyHint is true, but the name says that something is destroyed";
            all.add(kinds::MISREAD_HINTS, "", what);
        }
        (_, Some(false)) if destroys => {
            let what = "destructiveHint is false, but the name says that something is destroyed";
            all.add(kinds::MISREAD_HINTS, "", what);
        }
        (None, None) => {
            let what = "no readOnlyHint and no destructiveHint: clients must expect the worst, and \
                        goodcall mends its calls like those of a harmless tool";
            all.add(kinds::NO_HINTS, "", what);
        }
        _ => {}
    }
}

fn lint_root(schema: &Value, all: &mut Remarks) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let what = "the root must have \"type\": \"object\" (also anthropic, gemini)";
        all.add(kinds::ROOT, "", what);
    }
    if schema.get("properties").is_none() {
        let what = "the root has no properties: write \"properties\": {} for a tool without \
                    parameters";
        all.add(kinds::ROOT_PROPERTIES, "", what);
    }
    for key in ["oneOf", "anyOf", "allOf", "enum", "not", "const"] {
        if schema.get(key).is_some() {
            let what = format!("{key} at the root is refused (also anthropic): split the tool");
            all.add(kinds::ROOT_UNION, &format!("/{key}"), what);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for key in properties.into_iter().flat_map(Map::keys) {
        let at = format!("/properties/{key}");
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.len() > NAME_CHARS || !key.chars().all(plain) {
            let what = "the key must be 1 to 64 of a-z, A-Z, 0-9, _, . and -";
            all.add(kinds::KEY, &at, what);
        }
    }
    // Beside others it is a parameter, and no model mistakes it for the arguments as a whole.
    let only = properties.filter(|all| all.len() == 1);
    let only = only.and_then(|all| all.keys().next());
    if let Some(key) = only.filter(|key| WRAPPERS.contains(&key.as_str())) {
        let what = "the only parameter is named like a wrapper: models wrap arguments in such a key \
                    by mistake";
        all.add(kinds::WRAPPER_KEY, &format!("/properties/{key}"), what);
    }
}

/// Remarks on one subschema, `depth` levels below the root, and on those inside it.
fn lint_schema(schema: &Value, at: &str, depth: usize, all: &mut Remarks) {
    if depth > OPENAI_DEPTH {
        let what = format!("objects nested deeper than {OPENAI_DEPTH} levels");
        return all.add(kinds::TOO_DEEP, at, what);
    }
    let is_object = schema.get("properties").is_some();
    if depth == EASY_DEPTH && is_object {
        let what = format!("objects nested deeper than {EASY_DEPTH} levels: models lose track");
        all.add(kinds::NESTING, at, what);
    }
    let Some(map) = schema.as_object() else {
        return;
    };
    for (key, what) in GEMINI_REFUSES {
        if map.contains_key(key) {
            all.add(kinds::SUBSET, &format!("{at}/{key}"), what);
        }
    }
    if map.get("type").is_some_and(Value::is_array) {
        let what = "a list of types is refused: write anyOf";
        all.add(kinds::SUBSET, &format!("{at}/type"), what);
    }
    let values = map.get("enum").and_then(Value::as_array);
    if values.is_some_and(|values| values.iter().any(Value::is_number)) {
        let what = "an enum of numbers is refused: write strings";
        all.add(kinds::SUBSET, &format!("{at}/enum"), what);
    }
    let is_array = map.get("type").and_then(Value::as_str) == Some("array");
    if is_array && !map.contains_key("items") && !map.contains_key("prefixItems") {
        let what = "an array without items is refused (also gemini)";
        all.add(kinds::NO_ITEMS, at, what);
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
        all.add(kinds::OPEN_OBJECT, at, what);
    }
    let required = map.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !properties.contains_key(name) {
            let what = format!("required names `{name}`, which is not among the properties");
            all.add(kinds::SUBSET, at, what);
        }
    }
    for (name, property) in properties {
        let at = format!("{at}/properties/{name}");
        let description = property.get("description").and_then(Value::as_str);
        if is_blank(description) && property.get("$ref").is_none() {
            all.add(kinds::DESCRIPTION, &at, "no description");
        }
        let negated = NEGATIONS.iter().any(|no| name.starts_with(no));
        if negated && property.get("type").and_then(Value::as_str) == Some("boolean") {
            let what = "a boolean named in the negative: models invert it";
            all.add(kinds::NEGATED_SWITCH, &at, what);
        }
    }
}

fn lint_subschemas(map: &Map<String, Value>, at: &str, depth: usize, all: &mut Remarks) {
    for (key, below) in [("properties", depth + 1), ("$defs", 0), ("definitions", 0)] {
        let named = map.get(key).and_then(Value::as_object);
        for (name, schema) in named.into_iter().flatten() {
            lint_schema(schema, &format!("{at}/{key}/{name}"), below, all);
        }
    }
    if let Some(items) = map.get("items") {
        lint_schema(items, &format!("{at}/items"), depth, all);
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
            |inner, _| json!({"type": "array", "items": {"type": "object", "properties": {"a": inner}}}),
        );
        let input = json!({"anyOf": [], "required": ["gone"], "properties": {
            "ä": {"type": ["string", "null"]}, "n": {"enum": [1]}, "list": {"type": "array"},
            "no_cache": {"type": "boolean"}, "one": {"oneOf": [{"const": 1}]}, "deep": deep,
            "again": {"$ref": "#"}}});
        let mut odd = tool("odd name", input);
        odd.description = None;
        odd.output = Some(json!({"type": "objekt"}));
        let mut bad = tool("odd name2", json!({"type": "objekt"}));
        bad.output = Some(json!({"type": "array", "items": {"$ref": "#"}}));
        let mut wrapped = tool(
            "wrapped",
            json!({"properties": {"input": {"type": "object"}}}),
        );
        wrapped.hints = Some(LintHints::default());
        let mut deletes = wrapped.clone();
        deletes.name = "delete_all".to_owned();
        deletes.hints = Some(LintHints::read(&json!({"destructiveHint": false})));
        let mut unsure = wrapped.clone();
        unsure.hints = Some(LintHints::read(
            &json!({"readOnlyHint": true, "destructiveHint": true}),
        ));
        let lines: Vec<_> = lint(&[odd, bad, wrapped, deletes, unsure])
            .iter()
            .map(|remark| format!("{} {} {}", remark.severity, remark.who, remark.what))
            .collect();
        for words in [
            "error openai the name has characters",
            "warning model no description: say",
            "warning model the name is the beginning",
            "error goodcall",
            "calls are not checked",
            "results are not checked",
            "warning mcp the root of the output schema",
            "note model the output schema refers to itself",
            "note model refers to itself",
            "note mcp no readOnlyHint",
            "warning mcp destructiveHint is false, but",
            "warning mcp readOnlyHint and destructiveHint",
            "error openai the root must have",
            "warning openai the root has no properties",
            "error openai anyOf at the root",
            "error anthropic the key must be",
            "warning model the only parameter is named like a wrapper",
            "warning gemini a list of types",
            "warning gemini an enum of numbers",
            "error openai an array without items",
            "note model additionalProperties is not set",
            "warning gemini required names `gone`",
            "warning model a boolean named in the negative",
            "warning gemini oneOf",
            "warning gemini const",
            "note model objects nested deeper than 3",
            "warning openai objects nested deeper than 10",
        ] {
            let found = lines.iter().any(|line| line.contains(words));
            assert!(found, "{words}: {lines:#?}");
        }
        let many: Vec<_> = (0..200)
            .map(|n| tool(&format!("t{n:03}"), json!({"type": "object"})))
            .collect();
        assert!(lint(&many)[0].what.starts_with("200 tools"));
    }

    #[test]
    fn parameter_beside_others_may_be_named_like_a_wrapper() {
        let input = json!({"type": "object", "additionalProperties": false, "properties": {
            "parameters": {"type": "object", "description": "x"}, "command": {"type": "string", "description": "x"}}});
        assert_eq!(lint(&[tool("t", input)]), []);
    }

    #[test]
    fn rules_of_providers_name_a_field_and_a_date() {
        let input = json!({"type": "object", "additionalProperties": false, "properties": {
            "a": {"oneOf": [{"type": "string"}], "description": "x"}}});
        let remarks = lint(&[tool("t", input)]);
        let claim = remarks[0].claim.unwrap();
        assert_eq!((claim.field, claim.as_of), ("parameters", "2025-11"));
        assert_eq!("warning".parse(), Ok(remarks[0].severity));
        let error = "bad".parse::<LintSeverity>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown severity `bad`: expected note, warning or error"
        );
    }
}
