//! The providers, and what their envelopes differ in.

use std::fmt;
use std::str::FromStr;

/// A provider's way to write calls.
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
    /// All of them.
    pub const ALL: [Provider; 8] = [
        Provider::OpenAi,
        Provider::Responses,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Bedrock,
        Provider::Ollama,
        Provider::Mistral,
        Provider::Mcp,
    ];

    /// The name that the command uses.
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

    /// Are arguments a JSON string here, and not an object?
    pub(crate) fn writes_text(self) -> bool {
        matches!(
            self,
            Provider::OpenAi | Provider::Responses | Provider::Mistral
        )
    }

    /// Does every call need an id?
    pub(crate) fn needs_id(self) -> bool {
        !matches!(self, Provider::Gemini | Provider::Ollama | Provider::Mcp)
    }
}

/// A name that is no provider.
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
            "`{}` is no provider: use one of {}",
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
            .into_iter()
            .find(|provider| provider.name() == name);
        found.ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}
