//! Writes tool definitions in each provider's form.

use std::borrow::Cow;

use goodcall_core::{Node, Tree};

use super::Provider;
use crate::splice::quoted;
use crate::tools::{ToolDefinition, Tools};

/// Writes the definitions of the tools in the provider's form: the value of its `tools` field (for
/// MCP, the result of `tools/list`). Fields that the provider does not know are left out, because it
/// would refuse them; [`convert`](super::convert) names them.
///
/// ```
/// use goodcall_wire::{Provider, Tools, definitions};
///
/// let tools = Tools::read(r#"[{"name": "f", "input_schema": {"type": "object"}}]"#)?;
/// assert_eq!(
///     definitions(Provider::OpenAi, &tools),
///     r#"[{"type":"function","function":{"name":"f","parameters":{"type": "object","properties":{}}}}]"#
/// );
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
pub fn definitions(provider: Provider, tools: &Tools) -> String {
    let list = list(provider, tools);
    match provider {
        Provider::Gemini => format!(r#"[{{"functionDeclarations":[{list}]}}]"#),
        Provider::Bedrock | Provider::Mcp => format!(r#"{{"tools":[{list}]}}"#),
        _ => format!("[{list}]"),
    }
}

/// Writes the definitions, separated by commas.
pub(super) fn list(provider: Provider, tools: &Tools) -> String {
    let each: Vec<_> = tools
        .iter()
        .map(|tool| definition(provider, tool))
        .collect();
    each.join(",")
}

/// Returns true for a field beside name, description and schema that the provider knows.
fn is_known_field(provider: Provider, field: &str) -> bool {
    let fields: &[&str] = match provider {
        Provider::OpenAi | Provider::Responses | Provider::Mistral | Provider::Bedrock => {
            &["strict"]
        }
        Provider::Anthropic => &[
            "strict",
            "cache_control",
            "eager_input_streaming",
            "input_examples",
            "defer_loading",
            "allowed_callers",
        ],
        Provider::Gemini => &["behavior", "response", "responseJsonSchema"],
        Provider::Ollama => &[],
        Provider::Mcp => &[
            "title",
            "outputSchema",
            "annotations",
            "_meta",
            "icons",
            "execution",
        ],
    };
    fields.contains(&field)
}

/// The fields of these definitions that the provider does not know, each once.
pub(super) fn unknown_fields(provider: Provider, tools: &Tools) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (key, _) in tools.iter().flat_map(|tool| &tool.extra) {
        if !is_known_field(provider, key) && !found.contains(key) {
            found.push(key.clone());
        }
    }
    found
}

/// The schema with empty `properties` if it declares an object without any, which OpenAI refuses.
fn with_properties(provider: Provider, schema: &str) -> Cow<'_, str> {
    if !matches!(provider, Provider::OpenAi | Provider::Responses) {
        return Cow::Borrowed(schema);
    }
    let lacks = Tree::parse(schema).is_ok_and(|tree| {
        let root = tree.root();
        let kind = root.get("type").and_then(Node::as_str);
        kind == Some("object") && root.get("properties").is_none()
    });
    match schema.trim_end().strip_suffix('}') {
        Some(open) if lacks => Cow::Owned(format!(r#"{open},"properties":{{}}}}"#)),
        _ => Cow::Borrowed(schema),
    }
}

fn definition(provider: Provider, tool: &ToolDefinition) -> String {
    let mut head = format!(r#""name":{}"#, quoted(&tool.name));
    if let Some(description) = &tool.description {
        head += &format!(r#","description":{}"#, quoted(description));
    }
    let schema = with_properties(provider, &tool.parameters);
    let mut extra = String::new();
    for (key, value) in &tool.extra {
        if is_known_field(provider, key) {
            extra += &format!(",{}:{value}", quoted(key));
        }
    }
    match provider {
        Provider::OpenAi | Provider::Ollama | Provider::Mistral => {
            format!(r#"{{"type":"function","function":{{{head},"parameters":{schema}{extra}}}}}"#)
        }
        Provider::Responses => {
            format!(r#"{{"type":"function",{head},"parameters":{schema}{extra}}}"#)
        }
        Provider::Anthropic => format!(r#"{{{head},"input_schema":{schema}{extra}}}"#),
        Provider::Gemini => format!(r#"{{{head},"parametersJsonSchema":{schema}{extra}}}"#),
        Provider::Bedrock => {
            format!(r#"{{"toolSpec":{{{head},"inputSchema":{{"json":{schema}}}{extra}}}}}"#)
        }
        Provider::Mcp => format!(r#"{{{head},"inputSchema":{schema}{extra}}}"#),
    }
}
