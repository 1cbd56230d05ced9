//! The providers, and how their envelopes differ.

use std::fmt;
use std::str::FromStr;

/// A provider's form of requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI Chat Completions, and the many servers that speak it.
    OpenAi,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
    /// Bedrock Converse.
    Bedrock,
    /// Ollama's own chat API.
    Ollama,
    /// Mistral chat.
    Mistral,
    /// The Model Context Protocol.
    Mcp,
}

impl Provider {
    /// All providers, in the order of their documentation.
    pub const ALL: &'static [Provider] = &[
        Provider::OpenAi,
        Provider::Responses,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Bedrock,
        Provider::Ollama,
        Provider::Mistral,
        Provider::Mcp,
    ];

    /// The name in the command and in `goodcall.toml`, such as `openai`.
    pub fn name(self) -> &'static str {
        match self {
            Provider::OpenAi => "openai",
            Provider::Responses => "responses",
            Provider::Anthropic => "anthropic",
            Provider::Gemini => "gemini",
            Provider::Bedrock => "bedrock",
            Provider::Ollama => "ollama",
            Provider::Mistral => "mistral",
            Provider::Mcp => "mcp",
        }
    }

    /// The key of the history in a request.
    pub(crate) fn history_key(self) -> &'static str {
        match self {
            Provider::Responses => "input",
            Provider::Gemini => "contents",
            _ => "messages",
        }
    }

    /// Returns true if arguments are a JSON string, and not an object.
    pub(crate) fn writes_text(self) -> bool {
        matches!(
            self,
            Provider::OpenAi | Provider::Responses | Provider::Mistral
        )
    }

    /// Returns true if every call must have an id.
    pub(crate) fn needs_id(self) -> bool {
        !matches!(self, Provider::Gemini | Provider::Ollama | Provider::Mcp)
    }
}

/// The error for a name that is not a provider's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProvider(String);

impl fmt::Display for UnknownProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Provider::ALL
            .iter()
            .map(|provider| provider.name())
            .collect();
        write!(
            f,
            "unknown provider `{}`: expected one of {}",
            self.0,
            names.join(", ")
        )
    }
}

impl std::error::Error for UnknownProvider {}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        let found = Self::ALL
            .iter()
            .copied()
            .find(|provider| provider.name() == name);
        found.ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}
