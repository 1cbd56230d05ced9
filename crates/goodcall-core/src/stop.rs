//! What the host knows of a call besides its arguments.

/// How the model's message ended, as far as the host knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// Not known.
    #[default]
    Unknown,
    /// The model had finished (`tool_use`, `tool_calls`, `stop`, …).
    Finished,
    /// The message was cut off (`max_tokens`, `length`, a broken stream).
    CutOff,
}
