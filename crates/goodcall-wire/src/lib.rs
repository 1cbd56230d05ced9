//! Tool calls on the wire: reads every provider's calls, and writes every provider's results.
//!
//! - [`Tools`]: the offered tools, read from definitions in any provider's form. [`definitions`]
//!   writes them in any other, [`lint()`] finds what confuses models and what providers refuse.
//! - [`Envelope`]: a response or a message of a [`Provider`], its [`RawCall`]s, and the message for a
//!   replay. [`result()`] writes the result of a call.
//! - [`extract`] and [`Scanner`]: calls that models write into plain text, in any dialect.
//! - [`Assembler`]: calls that arrive in fragments, with an early verdict on hopeless ones.
//! - [`relay`] and [`request`]: replies and requests on their way through a gateway.
//! - [`recorded`]: requests and replies from recordings, told apart by their form.
//! - [`probe`]: questions to a live server, and what is wrong with its replies.
//! - [`sse`]: server-sent events.
//! - [`convert`]: definitions and transcripts from one form into another. [`transcript`] writes a
//!   conversation that has no form yet.
//!
//! There are no sockets here: JSON and text in, JSON and text out.
//!
//! ```
//! use goodcall_core::{Policy, Verdict};
//! use goodcall_wire::{Answer, Envelope, Provider, Tools, result};
//!
//! let tools = Tools::read(
//!     r#"[{"name": "read", "input_schema": {
//!         "type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]}}]"#,
//! )?;
//! let message = r#"{"role": "assistant", "content": [
//!     {"type": "tool_use", "id": "toolu_1", "name": "functions.read", "input": {"lines": "50"}}]}"#;
//! let envelope = Envelope::read(Provider::Anthropic, message, &tools)?;
//! let verdicts = envelope.check(&tools, &Policy::safe());
//! assert!(matches!(verdicts[0], Verdict::Mended(_)));
//!
//! // What goes into the history is what was executed, and its result is paired with it.
//! assert!(envelope.replay(&verdicts).contains(r#""name": "read", "input": {"lines":50}"#));
//! let answer = result(Provider::Anthropic, &envelope.calls()[0], &Answer::ok("…"));
//! assert!(answer.contains(r#""tool_use_id":"toolu_1""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod decimal;
mod definitions;
mod envelope;
mod lint;
mod names;
pub mod probe;
mod protocol;
pub mod recorded;
pub mod relay;
pub mod request;
mod splice;
pub mod sse;
mod stream;
mod text;
mod tools;

pub use call::RawCall;
pub use envelope::{
    Answer, ConvertError, Converted, Envelope, EnvelopeError, Provider, TranscriptImage,
    TranscriptMessage, TranscriptPart, UnknownProvider, convert, definitions, result, transcript,
};
pub use lint::{
    LintClaim, LintHints, LintParty, LintRemark, LintSeverity, LintedTool, UnknownSeverity, lint,
};
pub use stream::{Assembler, CallUpdate};
pub use text::{
    Extraction, Scanner, TextCallScope, TextPiece, UnknownTextCallScope, catalogue, dialects,
    extract, openings,
};
pub use tools::{ToolDefinition, Tools, ToolsError};
