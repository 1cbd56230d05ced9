//! The settings of a request, such as the temperature, converted between providers.

use goodcall_core::{Kind, Node};

use super::Provider;
use crate::splice::quoted;
use crate::tools::Tools;

/// Settings that most providers know, as JSON text.
#[derive(Default)]
pub(super) struct RequestSettings {
    max_tokens: Option<String>,
    temperature: Option<String>,
    top_p: Option<String>,
    choice: Option<ToolChoice>,
    /// True if the choice of a tool allows only one call at a time.
    one_at_a_time: bool,
}

/// Which tool the model has to call.
enum ToolChoice {
    Auto,
    None,
    Any,
    Tool(String),
}

/// The objects that group settings.
const GROUPS: [&str; 5] = [
    "generationConfig",
    "generation_config",
    "inferenceConfig",
    "options",
    "toolConfig",
];

impl RequestSettings {
    /// Reads the settings of a request. Keys that are not `known` elsewhere and have no equivalent
    /// are added to `left_out`.
    pub(super) fn read(root: Node<'_>, known: &[&str], left_out: &mut Vec<String>) -> Self {
        let mut settings = Self::default();
        for (key, value) in root.members().filter(|(_, value)| !value.is_null()) {
            if GROUPS.contains(&key) && value.kind() == Kind::Object {
                for (inner, value) in value.members().filter(|(_, value)| !value.is_null()) {
                    let tools = key == "toolConfig" && inner == "tools";
                    if !tools && !settings.take(inner, value) {
                        left_out.push(format!("{key}.{inner}"));
                    }
                }
            } else if !known.contains(&key) && !settings.take(key, value) {
                left_out.push(key.to_owned());
            }
        }
        settings
    }

    /// Reads one setting. Returns false if it has no equivalent.
    fn take(&mut self, key: &str, value: Node<'_>) -> bool {
        let number = value.kind() == Kind::Number;
        match key {
            "max_tokens"
            | "max_completion_tokens"
            | "max_output_tokens"
            | "maxOutputTokens"
            | "maxTokens"
            | "num_predict"
                if number && self.max_tokens.is_none() =>
            {
                // Ollama has negative numbers for "without end".
                self.max_tokens = Some(value.to_json()).filter(|text| !text.starts_with('-'));
                self.max_tokens.is_some()
            }
            "temperature" if number => {
                self.temperature = Some(value.to_json());
                true
            }
            "top_p" | "topP" if number => {
                self.top_p = Some(value.to_json());
                true
            }
            "tool_choice" | "toolChoice" | "functionCallingConfig" => {
                self.choice = read_choice(value);
                let single = value.get("disable_parallel_tool_use");
                self.one_at_a_time = single.and_then(Node::as_bool) == Some(true);
                self.choice.is_some()
            }
            _ => false,
        }
    }

    /// Writes the settings as members of a request. Those that the target has no form for are added
    /// to `left_out`.
    pub(super) fn write(
        &self,
        to: Provider,
        tools: Option<&Tools>,
        left_out: &mut Vec<String>,
    ) -> WrittenSettings {
        let [max_tokens, temperature, top_p] = match to {
            Provider::OpenAi => ["max_completion_tokens", "temperature", "top_p"],
            Provider::Responses => ["max_output_tokens", "temperature", "top_p"],
            Provider::Gemini => ["maxOutputTokens", "temperature", "topP"],
            Provider::Bedrock => ["maxTokens", "temperature", "topP"],
            Provider::Ollama => ["num_predict", "temperature", "top_p"],
            Provider::Anthropic | Provider::Mistral | Provider::Mcp => {
                ["max_tokens", "temperature", "top_p"]
            }
        };
        let mut members = Vec::new();
        for (key, value) in [
            (max_tokens, &self.max_tokens),
            (temperature, &self.temperature),
            (top_p, &self.top_p),
        ] {
            let Some(value) = value else { continue };
            if key == "temperature" && is_too_hot(to, value) {
                left_out.push(format!("temperature {value}"));
            } else {
                members.push(format!(r#""{key}":{value}"#));
            }
        }
        let group = match to {
            Provider::Gemini => Some("generationConfig"),
            Provider::Bedrock => Some("inferenceConfig"),
            Provider::Ollama => Some("options"),
            _ => None,
        };
        if let Some(group) = group.filter(|_| !members.is_empty()) {
            members = vec![format!(r#""{group}":{{{}}}"#, members.join(","))];
        }
        let choice = self.choice.as_ref().and_then(|choice| {
            // Providers refuse a choice among no tools, and the choice of a tool that is not there.
            let there = match (choice, tools) {
                (_, None) => false,
                (ToolChoice::Tool(name), Some(tools)) => tools.get(name).is_some(),
                (_, Some(tools)) => tools.iter().next().is_some(),
            };
            let choice = there.then(|| choice.write(to)).flatten();
            match &choice {
                None => left_out.push("tool_choice".to_owned()),
                Some(_) if self.one_at_a_time => {
                    left_out.push("tool_choice.disable_parallel_tool_use".to_owned());
                }
                Some(_) => {}
            }
            choice
        });
        WrittenSettings { members, choice }
    }
}

/// Settings in a provider's form.
pub(super) struct WrittenSettings {
    /// The members of the request.
    pub(super) members: Vec<String>,
    /// The member that says which tool to call. It belongs into `toolConfig` for Bedrock, and into
    /// the request for all others.
    pub(super) choice: Option<String>,
}

/// Returns true if the temperature is above the provider's limit.
fn is_too_hot(to: Provider, value: &str) -> bool {
    let most = match to {
        Provider::Anthropic | Provider::Bedrock => 1.0,
        Provider::Mistral => 1.5,
        _ => 2.0,
    };
    to != Provider::Ollama && value.parse::<f64>().is_ok_and(|value| value > most)
}

/// Reads a choice in any provider's form.
fn read_choice(node: Node<'_>) -> Option<ToolChoice> {
    let named = |node: Option<Node<'_>>| {
        let name = node?.get("name")?.as_str()?;
        Some(ToolChoice::Tool(name.to_owned()))
    };
    if let Some(word) = node.as_str() {
        return read_word(word);
    }
    if let Some(word) = node.get("type").and_then(Node::as_str) {
        return match word {
            "tool" => named(Some(node)),
            "function" => named(node.get("function").or(Some(node))),
            word => read_word(word),
        };
    }
    if let Some(mode) = node.get("mode").and_then(Node::as_str) {
        let mut names = node
            .get("allowedFunctionNames")
            .into_iter()
            .flat_map(Node::elements);
        return match (
            read_word(&mode.to_ascii_lowercase())?,
            names.next(),
            names.next(),
        ) {
            (choice, None, _) => Some(choice),
            (ToolChoice::Any, Some(name), None) => {
                Some(ToolChoice::Tool(name.as_str()?.to_owned()))
            }
            _ => None,
        };
    }
    match node.members().next()? {
        ("auto", _) => Some(ToolChoice::Auto),
        ("any", _) => Some(ToolChoice::Any),
        ("tool", tool) => named(Some(tool)),
        _ => None,
    }
}

fn read_word(word: &str) -> Option<ToolChoice> {
    match word {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "any" | "required" => Some(ToolChoice::Any),
        _ => None,
    }
}

impl ToolChoice {
    fn write(&self, to: Provider) -> Option<String> {
        let value = match to {
            Provider::OpenAi | Provider::Responses | Provider::Mistral => match self {
                ToolChoice::Auto => r#""auto""#.to_owned(),
                ToolChoice::None => r#""none""#.to_owned(),
                ToolChoice::Any if to == Provider::Mistral => r#""any""#.to_owned(),
                ToolChoice::Any => r#""required""#.to_owned(),
                ToolChoice::Tool(name) if to == Provider::Responses => {
                    format!(r#"{{"type":"function","name":{}}}"#, quoted(name))
                }
                ToolChoice::Tool(name) => {
                    let name = quoted(name);
                    format!(r#"{{"type":"function","function":{{"name":{name}}}}}"#)
                }
            },
            Provider::Anthropic => match self {
                ToolChoice::Auto => r#"{"type":"auto"}"#.to_owned(),
                ToolChoice::None => r#"{"type":"none"}"#.to_owned(),
                ToolChoice::Any => r#"{"type":"any"}"#.to_owned(),
                ToolChoice::Tool(name) => format!(r#"{{"type":"tool","name":{}}}"#, quoted(name)),
            },
            Provider::Bedrock => match self {
                ToolChoice::Auto => r#"{"auto":{}}"#.to_owned(),
                ToolChoice::None => return None,
                ToolChoice::Any => r#"{"any":{}}"#.to_owned(),
                ToolChoice::Tool(name) => format!(r#"{{"tool":{{"name":{}}}}}"#, quoted(name)),
            },
            Provider::Gemini => {
                let mode = match self {
                    ToolChoice::Auto => r#""mode":"AUTO""#.to_owned(),
                    ToolChoice::None => r#""mode":"NONE""#.to_owned(),
                    ToolChoice::Any => r#""mode":"ANY""#.to_owned(),
                    ToolChoice::Tool(name) => {
                        format!(r#""mode":"ANY","allowedFunctionNames":[{}]"#, quoted(name))
                    }
                };
                format!(r#"{{"functionCallingConfig":{{{mode}}}}}"#)
            }
            Provider::Ollama | Provider::Mcp => return None,
        };
        let key = match to {
            Provider::Gemini => "toolConfig",
            Provider::Bedrock => "toolChoice",
            _ => "tool_choice",
        };
        Some(format!(r#""{key}":{value}"#))
    }
}
