//! What a request says of how the model is to answer, beside the messages and the tools.

use goodcall_core::{Kind, Node};

use super::Provider;
use crate::cuts::quoted;
use crate::tools::Tools;

/// Settings that most providers know, as JSON text.
#[derive(Default)]
pub(super) struct Settings {
    max_tokens: Option<String>,
    temperature: Option<String>,
    top_p: Option<String>,
    choice: Option<Choice>,
    /// At most one call at a time, where the choice of a tool says that.
    one_at_a_time: bool,
}

/// Which tool the model has to call.
enum Choice {
    Auto,
    None,
    Any,
    Tool(String),
}

/// Objects that hold settings.
const GROUPS: [&str; 5] = [
    "generationConfig",
    "generation_config",
    "inferenceConfig",
    "options",
    "toolConfig",
];

impl Settings {
    /// Reads the settings of a request. `known` keys are said elsewhere; the rest is named.
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

    /// Takes a setting; not, if it has no other form.
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
                self.choice = choice(value);
                let single = value.get("disable_parallel_tool_use");
                self.one_at_a_time = single.and_then(Node::as_bool) == Some(true);
                self.choice.is_some()
            }
            _ => false,
        }
    }

    /// The settings as members of a request, and the tools' choice; what the provider has no form
    /// for is named.
    pub(super) fn write(
        &self,
        to: Provider,
        tools: Option<&Tools>,
        left_out: &mut Vec<String>,
    ) -> Written {
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
            match key == "temperature" && is_too_hot(to, value) {
                true => left_out.push(format!("temperature {value}")),
                false => members.push(format!(r#""{key}":{value}"#)),
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
            // A choice among no tools, or of a tool that is not there, would be refused.
            let there = match (choice, tools) {
                (_, None) => false,
                (Choice::Tool(name), Some(tools)) => tools.get(name).is_some(),
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
        Written { members, choice }
    }
}

/// Settings in a provider's form.
pub(super) struct Written {
    /// Members of the request.
    pub(super) members: Vec<String>,
    /// The member that says which tool is to be called. In Bedrock's form it stands in
    /// `toolConfig`, in all others in the request.
    pub(super) choice: Option<String>,
}

/// Is the temperature above what the provider takes?
fn is_too_hot(to: Provider, value: &str) -> bool {
    let most = match to {
        Provider::Anthropic | Provider::Bedrock => 1.0,
        Provider::Mistral => 1.5,
        _ => 2.0,
    };
    to != Provider::Ollama && value.parse::<f64>().is_ok_and(|value| value > most)
}

/// A choice in any provider's form.
fn choice(node: Node<'_>) -> Option<Choice> {
    let named = |node: Option<Node<'_>>| {
        let name = node?.get("name")?.as_str()?;
        Some(Choice::Tool(name.to_owned()))
    };
    if let Some(word) = node.as_str() {
        return plain(word);
    }
    if let Some(word) = node.get("type").and_then(Node::as_str) {
        return match word {
            "tool" => named(Some(node)),
            "function" => named(node.get("function").or(Some(node))),
            word => plain(word),
        };
    }
    if let Some(mode) = node.get("mode").and_then(Node::as_str) {
        let mut names = node
            .get("allowedFunctionNames")
            .into_iter()
            .flat_map(Node::elements);
        return match (
            plain(&mode.to_ascii_lowercase())?,
            names.next(),
            names.next(),
        ) {
            (choice, None, _) => Some(choice),
            (Choice::Any, Some(name), None) => Some(Choice::Tool(name.as_str()?.to_owned())),
            _ => None,
        };
    }
    match node.members().next()? {
        ("auto", _) => Some(Choice::Auto),
        ("any", _) => Some(Choice::Any),
        ("tool", tool) => named(Some(tool)),
        _ => None,
    }
}

fn plain(word: &str) -> Option<Choice> {
    match word {
        "auto" => Some(Choice::Auto),
        "none" => Some(Choice::None),
        "any" | "required" => Some(Choice::Any),
        _ => None,
    }
}

impl Choice {
    fn write(&self, to: Provider) -> Option<String> {
        let value = match to {
            Provider::OpenAi | Provider::Responses | Provider::Mistral => match self {
                Choice::Auto => r#""auto""#.to_owned(),
                Choice::None => r#""none""#.to_owned(),
                Choice::Any if to == Provider::Mistral => r#""any""#.to_owned(),
                Choice::Any => r#""required""#.to_owned(),
                Choice::Tool(name) if to == Provider::Responses => {
                    format!(r#"{{"type":"function","name":{}}}"#, quoted(name))
                }
                Choice::Tool(name) => {
                    let name = quoted(name);
                    format!(r#"{{"type":"function","function":{{"name":{name}}}}}"#)
                }
            },
            Provider::Anthropic => match self {
                Choice::Auto => r#"{"type":"auto"}"#.to_owned(),
                Choice::None => r#"{"type":"none"}"#.to_owned(),
                Choice::Any => r#"{"type":"any"}"#.to_owned(),
                Choice::Tool(name) => format!(r#"{{"type":"tool","name":{}}}"#, quoted(name)),
            },
            Provider::Bedrock => match self {
                Choice::Auto => r#"{"auto":{}}"#.to_owned(),
                Choice::None => return None,
                Choice::Any => r#"{"any":{}}"#.to_owned(),
                Choice::Tool(name) => format!(r#"{{"tool":{{"name":{}}}}}"#, quoted(name)),
            },
            Provider::Gemini => {
                let mode = match self {
                    Choice::Auto => r#""mode":"AUTO""#.to_owned(),
                    Choice::None => r#""mode":"NONE""#.to_owned(),
                    Choice::Any => r#""mode":"ANY""#.to_owned(),
                    Choice::Tool(name) => {
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
