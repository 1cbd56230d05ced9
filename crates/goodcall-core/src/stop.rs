//! How a model's message ended.

/// How the model's message ended, as far as the host knows. It decides whether missing brackets
/// may be closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The host does not know.
    #[default]
    Unknown,
    /// The model had finished (`tool_use`, `tool_calls`, `stop`, …).
    Finished,
    /// The message was cut off (`max_tokens`, `length`, a broken stream).
    CutOff,
}
