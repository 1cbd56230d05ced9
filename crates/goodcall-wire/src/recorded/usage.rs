//! The tokens that a reply took.

use goodcall_core::Node;

/// Keys of the tokens that the model read. Those of the cache come on top of the first one.
const READ: [&str; 9] = [
    "prompt_tokens",
    "input_tokens",
    "promptTokenCount",
    "inputTokens",
    "prompt_eval_count",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
];

/// Keys of the tokens that the model wrote.
const WRITTEN: [&str; 6] = [
    "completion_tokens",
    "output_tokens",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "outputTokens",
    "eval_count",
];

/// The tokens of one reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCount {
    /// The tokens that the model read, those from a cache included.
    pub input: u64,
    /// The tokens that the model wrote.
    pub output: u64,
}

impl TokenCount {
    /// Returns a count of these tokens.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output }
    }

    /// Reads the object of a provider that counts tokens. Returns `None` if it counts none.
    pub fn read(usage: Node<'_>) -> Option<Self> {
        let sum = |keys: &[&str]| {
            let counts = keys
                .iter()
                .filter_map(|key| usage.get(key)?.digits()?.parse::<u64>().ok());
            counts.fold(None, |sum, count| {
                Some(sum.unwrap_or(0_u64).saturating_add(count))
            })
        };
        let (input, output) = (sum(&READ), sum(&WRITTEN));
        (input.is_some() || output.is_some()).then(|| Self {
            input: input.unwrap_or(0),
            output: output.unwrap_or(0),
        })
    }

    /// Finds the count in a reply or in an event of a stream.
    pub(super) fn find(root: Node<'_>) -> Option<Self> {
        let inner = ["message", "response", "metadata"]
            .iter()
            .filter_map(|key| root.get(key));
        let mut places = std::iter::once(root).chain(inner);
        let count = places.find_map(|place| {
            let usage = ["usage", "usageMetadata"]
                .iter()
                .find_map(|key| place.get(key));
            Self::read(usage?)
        });
        // Ollama counts in the reply itself.
        count.or_else(|| root.get("eval_count").and_then(|_| Self::read(root)))
    }

    /// Takes in the count of a later event: providers repeat what they know so far.
    pub(super) fn raise(&mut self, other: Self) {
        self.input = self.input.max(other.input);
        self.output = self.output.max(other.output);
    }
}
