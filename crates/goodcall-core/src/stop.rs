//! How a model's message ended.

use std::fmt;
use std::str::FromStr;

/// How the model's message ended, as far as the host knows. It decides whether missing brackets
/// may be closed.
///
/// ```
/// use goodcall_core::StopReason;
///
/// assert_eq!("cut_off".parse(), Ok(StopReason::CutOff));
/// assert_eq!(StopReason::CutOff.name(), "cut_off");
/// ```
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

impl StopReason {
    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Unknown => "unknown",
            StopReason::Finished => "finished",
            StopReason::CutOff => "cut_off",
        }
    }
}

/// The error of parsing a [`StopReason`] from an unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStopReason(String);

impl fmt::Display for UnknownStopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.0;
        write!(
            f,
            "unknown stop reason `{name}`: expected unknown, finished or cut_off"
        )
    }
}

impl std::error::Error for UnknownStopReason {}

impl FromStr for StopReason {
    type Err = UnknownStopReason;

    fn from_str(name: &str) -> Result<Self, UnknownStopReason> {
        match name {
            "unknown" => Ok(StopReason::Unknown),
            "finished" => Ok(StopReason::Finished),
            "cut_off" => Ok(StopReason::CutOff),
            _ => Err(UnknownStopReason(name.to_owned())),
        }
    }
}
