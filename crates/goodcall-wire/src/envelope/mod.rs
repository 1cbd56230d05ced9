//! Provider envelopes: calls in, results out, and messages rewritten for a replay.
//!
//! An envelope is never rebuilt. Changes are spliced into the text by byte range, so that every
//! other field stays as it was, byte for byte.

mod convert;
mod convertible_tools;
mod located;
mod provider;
mod request_settings;
mod results;
mod rewrite;
mod sites;
mod transcript;
mod write_definitions;
mod write_messages;

pub use convert::{ConvertError, Converted, convert};
pub use provider::{Provider, UnknownProvider};
pub use results::{Answer, result};
pub use transcript::{TranscriptImage, TranscriptMessage, TranscriptPart, transcript};
pub use write_definitions::definitions;

use std::fmt;

use goodcall_core::{StopReason, Tree, Verdict};

use crate::call::RawCall;
use crate::tools::Tools;
pub(crate) use convertible_tools::ConvertibleTools;
pub(crate) use located::Located;
pub(crate) use rewrite::{CallRewrite, legal_arguments, legal_name};
pub(crate) use sites::{calls as call_sites, is_client_side_call, is_safety_stop, stop_named};

/// The error for a text that is not an envelope of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeError(String);

impl EnvelopeError {
    pub(crate) fn event(error: &goodcall_core::ParseError) -> Self {
        Self(format!("an event must be JSON: {error}"))
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EnvelopeError {}

/// A response or a message of a provider, with its calls.
///
/// ```
/// use goodcall_core::{Policy, StopReason};
/// use goodcall_wire::{Envelope, Provider, Tools};
///
/// let tools = Tools::read(r#"{"name": "read", "parameters": {"properties": {"n": {"type": "integer"}}}}"#)?;
/// let message = r#"{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
///   "function": {"name": "functions.read", "arguments": "{\"n\": \"5\"}"}, "x": 1}]}"#;
/// let envelope = Envelope::read(Provider::OpenAi, message, &tools)?;
/// let verdicts = envelope.check(&tools, &Policy::safe());
/// assert_eq!(verdicts[0].name(), "mended");
/// let replayed = envelope.replay(&verdicts);
/// assert!(replayed.contains(r#""name": "read", "arguments": "{\"n\":5}"}, "x": 1"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Envelope {
    located: Located,
    text: String,
    content: String,
}

impl Envelope {
    /// Reads a whole response, a message, or a list of messages.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn read(provider: Provider, text: &str, tools: &Tools) -> Result<Self, EnvelopeError> {
        let tree = Tree::parse(text)
            .map_err(|error| EnvelopeError(format!("an envelope must be JSON: {error}")))?;
        Ok(Self {
            located: Located::new(provider, text, tree.root(), tools),
            text: text.to_owned(),
            content: sites::content(tree.root()),
        })
    }

    /// The calls in order. A call without an id has an invented one.
    pub fn calls(&self) -> &[RawCall] {
        self.located.calls()
    }

    /// The text beside the calls, in which a model may have written more calls.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// The reason why the message ended.
    pub fn stop(&self) -> StopReason {
        self.located.stop()
    }

    /// Returns the verdicts on the calls, in order.
    pub fn check(&self, tools: &Tools, policy: &goodcall_core::Policy) -> Vec<Verdict<'_>> {
        let calls = self.calls().iter();
        calls
            .map(|call| call.check(tools, policy, self.stop()))
            .collect()
    }

    /// Returns the envelope for the history: each call with the name, the id and the arguments that
    /// were executed, and a bad one in a form that the provider accepts.
    pub fn replay(&self, verdicts: &[Verdict<'_>]) -> String {
        rewrite::replay(&self.located, &self.text, verdicts)
    }
}

/// Invents the id of a call that has none: the same one for the same message.
pub(crate) fn made_up_id(index: usize) -> String {
    format!("call_{index}")
}
