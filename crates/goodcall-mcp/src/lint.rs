//! What a linter says of a tool's definition: what models stumble over, and what providers refuse.

use serde_json::Value;

use goodcall_core::Schema;

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintRemark {
    /// The tool; empty for the whole list.
    pub tool: String,
    /// JSON Pointer into its input schema; empty for the tool itself.
    pub at: String,
    /// Who minds: `model`, `openai`, `anthropic`, `gemini`, `goodcall`.
    pub who: &'static str,
    /// What, and what to do.
    pub what: String,
}

/// One tool as its server defines it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LintedTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input: Value,
    /// The schema of its results.
    pub output: Option<Value>,
    /// Does it say that it destroys?
    pub destructive: bool,
}

impl LintedTool {
    /// A tool of this name and schema, of which nothing else is known.
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

/// Levels of nesting that models manage well.
const EASY_DEPTH: usize = 3;
/// Levels that OpenAI accepts.
const OPENAI_DEPTH: usize = 10;
/// Tools of one request that OpenAI accepts.
const OPENAI_TOOLS: usize = 128;
/// Tools that a model tells apart well.
const EASY_TOOLS: usize = 20;
/// Characters of a name that all providers accept.
const NAME_CHARS: usize = 64;
/// Names that models wrap arguments in.
const WRAPPERS: [&str; 4] = ["arguments", "input", "params", "parameters"];

/// What there is to say of these tools.
pub fn lint(tools: &[LintedTool]) -> Vec<LintRemark> {
    let mut all = Remarks::default();
    let count = tools.len();
    if count > OPENAI_TOOLS {
        all.add(
            "openai",
            "",
            format!("{count} tools; a request takes {OPENAI_TOOLS} at most"),
        );
    } else if count > EASY_TOOLS {
        all.add(
            "model",
            "",
            format!("{count} tools; models choose best among {EASY_TOOLS} or fewer"),
        );
    }
    for tool in tools {
        all.tool.clone_from(&tool.name);
        of_tool(tool, tools, &mut all);
    }
    all.found
}

#[derive(Default)]
struct Remarks {
    tool: String,
    found: Vec<LintRemark>,
}

impl Remarks {
    fn add(&mut self, who: &'static str, at: &str, what: impl Into<String>) {
        self.found.push(LintRemark {
            tool: self.tool.clone(),
            at: at.to_owned(),
            who,
            what: what.into(),
        });
    }
}

fn of_tool(tool: &LintedTool, tools: &[LintedTool], all: &mut Remarks) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !tool.name.chars().all(plain) || tool.name.is_empty() {
        all.add(
            "openai",
            "",
            "the name has characters other than a-z, A-Z, 0-9, _ and -",
        );
    }
    if tool.name.chars().count() > NAME_CHARS {
        all.add(
            "openai",
            "",
            format!("the name is longer than {NAME_CHARS} characters"),
        );
    }
    if tool
        .description
        .as_deref()
        .unwrap_or_default()
        .trim()
        .is_empty()
    {
        all.add(
            "model",
            "",
            "no description: say what the tool does and when to call it",
        );
    }
    let longer =
        |other: &&LintedTool| other.name != tool.name && other.name.starts_with(&tool.name);
    if let Some(other) = tools.iter().find(longer) {
        let other = &other.name;
        all.add(
            "model",
            "",
            format!("the name is the beginning of `{other}`: models mix them up"),
        );
    }
    match Schema::compile(&tool.input) {
        Err(error) => all.add(
            "goodcall",
            error.pointer().as_str(),
            format!("{}: calls are not checked", error.reason()),
        ),
        Ok(schema) => {
            for warning in schema.warnings() {
                all.add(
                    "goodcall",
                    warning.pointer.as_str(),
                    warning.message.clone(),
                );
            }
        }
    }
    if let Some(output) = &tool.output
        && let Err(error) = Schema::compile(output)
    {
        all.add(
            "goodcall",
            "",
            format!("output schema: {}: results are not checked", error.reason()),
        );
    }
    of_root(&tool.input, all);
    of_schema(&tool.input, "", 0, all);
}

fn of_root(schema: &Value, all: &mut Remarks) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        all.add("openai", "", "the root must have \"type\": \"object\"");
    }
    for key in ["oneOf", "anyOf", "allOf", "enum", "not", "const"] {
        if schema.get(key).is_some() {
            let what = format!("{key} at the root is refused (also by anthropic): split the tool");
            all.add("openai", &format!("/{key}"), what);
        }
    }
    let keys = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    for (key, _) in keys {
        let at = format!("/properties/{key}");
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if key.is_empty() || key.len() > NAME_CHARS || !key.chars().all(plain) {
            all.add(
                "anthropic",
                &at,
                "the key must be 1 to 64 of a-z, A-Z, 0-9, _, . and -",
            );
        }
        if WRAPPERS.contains(&key.as_str()) {
            all.add(
                "model",
                &at,
                "named like a wrapper: models wrap arguments in such a key by mistake",
            );
        }
    }
}

/// One subschema, `depth` levels below the root.
fn of_schema(schema: &Value, at: &str, depth: usize, all: &mut Remarks) {
    if depth > OPENAI_DEPTH {
        return all.add(
            "openai",
            at,
            format!("nested deeper than {OPENAI_DEPTH} levels"),
        );
    }
    if depth == EASY_DEPTH + 1 {
        all.add(
            "model",
            at,
            format!("nested deeper than {EASY_DEPTH} levels: models lose track"),
        );
    }
    let Some(map) = schema.as_object() else {
        return;
    };
    for (key, who, what) in [
        ("oneOf", "gemini", "oneOf is refused: write anyOf"),
        ("allOf", "gemini", "allOf is refused: write it out"),
        (
            "const",
            "gemini",
            "const is not known: write an enum of one value",
        ),
        (
            "patternProperties",
            "gemini",
            "patternProperties is refused",
        ),
        ("prefixItems", "gemini", "prefixItems is refused"),
    ] {
        if map.contains_key(key) {
            all.add(who, &format!("{at}/{key}"), what);
        }
    }
    if map.get("type").is_some_and(Value::is_array) {
        all.add(
            "gemini",
            &format!("{at}/type"),
            "a list of types is refused: write anyOf",
        );
    }
    let numbers = |values: &Vec<Value>| values.iter().any(Value::is_number);
    if map
        .get("enum")
        .and_then(Value::as_array)
        .is_some_and(numbers)
    {
        all.add(
            "gemini",
            &format!("{at}/enum"),
            "an enum of numbers is refused: write strings",
        );
    }
    let kind = map.get("type").and_then(Value::as_str);
    if kind == Some("array") && !map.contains_key("items") && !map.contains_key("prefixItems") {
        all.add(
            "openai",
            at,
            "an array without items is refused (also by gemini)",
        );
    }
    of_object(map, at, all);
    below(map, at, depth, all);
}

fn of_object(map: &serde_json::Map<String, Value>, at: &str, all: &mut Remarks) {
    let Some(properties) = map.get("properties").and_then(Value::as_object) else {
        return;
    };
    if !map.contains_key("additionalProperties") && !properties.is_empty() {
        let what = "additionalProperties is not said: with false, a misspelt key is found";
        all.add("model", at, what);
    }
    let required = map.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !properties.contains_key(name) {
            all.add(
                "gemini",
                at,
                format!("required names `{name}`, which is no property"),
            );
        }
    }
    for (name, property) in properties {
        let at = format!("{at}/properties/{name}");
        let said = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let refers = property.get("$ref").is_some();
        if said.trim().is_empty() && !refers {
            all.add("model", &at, "no description");
        }
        let denied = ["no_", "not_", "disable", "dont_", "without_"]
            .iter()
            .any(|no| name.starts_with(no));
        if denied && property.get("type").and_then(Value::as_str) == Some("boolean") {
            all.add(
                "model",
                &at,
                "a boolean named in the negative: models invert it",
            );
        }
    }
}

fn below(map: &serde_json::Map<String, Value>, at: &str, depth: usize, all: &mut Remarks) {
    for key in ["properties", "$defs", "definitions"] {
        for (name, schema) in map
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            of_schema(schema, &format!("{at}/{key}/{name}"), depth + 1, all);
        }
    }
    if let Some(items) = map.get("items") {
        of_schema(items, &format!("{at}/items"), depth + 1, all);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for (index, schema) in map
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            of_schema(schema, &format!("{at}/{key}/{index}"), depth, all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, input: Value) -> LintedTool {
        let description = Some("Does something.".to_owned());
        LintedTool {
            name: name.to_owned(),
            description,
            input,
            output: None,
            destructive: false,
        }
    }

    #[test]
    fn a_clean_tool_has_no_remarks() {
        let input = json!({"type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {"a": {"type": "string", "description": "x"}}});
        assert_eq!(lint(&[tool("t", input)]), []);
    }

    #[test]
    fn each_remark_can_be_made() {
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
        let said: Vec<_> = lint(&[odd, bad])
            .iter()
            .map(|r| format!("{} {}", r.who, r.what))
            .collect();
        for words in [
            "openai the name has characters",
            "model no description: say",
            "model the name is the beginning",
            "calls are not checked",
            "results are not checked",
            "openai the root must have",
            "openai anyOf at the root",
            "anthropic the key must be",
            "model named like a wrapper",
            "gemini a list of types",
            "gemini an enum of numbers",
            "openai an array without items",
            "model additionalProperties is not said",
            "gemini required names `gone`",
            "model a boolean named in the negative",
            "gemini oneOf",
            "gemini const",
            "model nested deeper than 3",
            "openai nested deeper than 10",
        ] {
            assert!(
                said.iter()
                    .any(|line| line.starts_with(words) || line.contains(words)),
                "{words}: {said:#?}"
            );
        }
        let many: Vec<_> = (0..200)
            .map(|n| tool(&format!("t{n:03}"), json!({"type": "object"})))
            .collect();
        assert!(lint(&many)[0].what.starts_with("200 tools"));
    }
}
