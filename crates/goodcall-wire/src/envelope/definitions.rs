//! Tool definitions as each provider wants them.

use super::Provider;
use crate::cuts::quoted;
use crate::tools::{Offered, Tools};

/// The definitions of the tools in the provider's form: the value of its `tools` field (for MCP,
/// the result of `tools/list`). Fields that only the tool's own provider knows go along.
///
/// ```
/// use goodcall_wire::{Provider, Tools, definitions};
///
/// let tools = Tools::read(r#"[{"name": "f", "input_schema": {"type": "object"}}]"#)?;
/// assert_eq!(
///     definitions(Provider::OpenAi, &tools),
///     r#"[{"type":"function","function":{"name":"f","parameters":{"type": "object"}}}]"#
/// );
/// # Ok::<(), goodcall_wire::ToolsError>(())
/// ```
pub fn definitions(provider: Provider, tools: &Tools) -> String {
    let each: Vec<_> = tools
        .iter()
        .map(|tool| definition(provider, tool))
        .collect();
    let list = each.join(",");
    match provider {
        Provider::Gemini => format!(r#"[{{"functionDeclarations":[{list}]}}]"#),
        Provider::Bedrock => format!(r#"{{"tools":[{list}]}}"#),
        Provider::Mcp => format!(r#"{{"tools":[{list}]}}"#),
        _ => format!("[{list}]"),
    }
}

fn definition(provider: Provider, tool: &Offered) -> String {
    let mut head = format!(r#""name":{}"#, quoted(&tool.name));
    if let Some(description) = &tool.description {
        head += &format!(r#","description":{}"#, quoted(description));
    }
    let schema = &tool.parameters;
    let mut extra = String::new();
    for (key, value) in &tool.extra {
        extra += &format!(",{}:{value}", quoted(key));
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
