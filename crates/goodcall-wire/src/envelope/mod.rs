//! Provider envelopes: calls in, results out, and messages as they must be replayed.
//!
//! An envelope is never rebuilt. What changes is cut out and put in by its place in the text, so
//! that every field nobody asked about stays as it was, byte for byte.

mod definitions;
mod located;
mod offers;
mod provider;
mod results;
mod rewrite;
mod settings;
mod sites;
mod transcript;
mod write;

pub use definitions::definitions;
pub use provider::{Provider, UnknownProvider};
pub use results::{Answer, result};
pub use transcript::{ConvertError, Converted, convert};

use std::fmt;

use goodcall_core::{StopReason, Tree, Verdict};

use crate::call::RawCall;
use crate::tools::Tools;
pub(crate) use located::Located;
pub(crate) use rewrite::{CallRewrite, legal_arguments, legal_name};
pub(crate) use sites::{calls as call_sites, is_client_side_call, is_safety_stop, stop_named};

/// A text that is no envelope of the provider.
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

    /// The calls, in order; one without an id has got one.
    pub fn calls(&self) -> &[RawCall] {
        self.located.calls()
    }

    /// The text beside the calls: where calls of a text dialect may hide.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// How the message ended.
    pub fn stop(&self) -> StopReason {
        self.located.stop()
    }

    /// The verdicts on the calls, in order.
    pub fn check(&self, tools: &Tools, policy: &goodcall_core::Policy) -> Vec<Verdict<'_>> {
        let calls = self.calls().iter();
        calls
            .map(|call| call.check(tools, policy, self.stop()))
            .collect()
    }

    /// The envelope as it must stand in the history: each call with the name, the id and the
    /// arguments that were executed; a bad one in a form that the provider accepts.
    pub fn replay(&self, verdicts: &[Verdict<'_>]) -> String {
        rewrite::replay(&self.located, &self.text, verdicts)
    }
}

/// The id of a call that came without one: the same for the same message.
pub(crate) fn made_up_id(index: usize) -> String {
    format!("call_{index}")
}
