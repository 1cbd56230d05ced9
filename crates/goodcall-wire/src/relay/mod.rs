//! Judges a provider's replies inside a gateway, mends them, and asks the model again.
//!
//! There are no sockets here: an [`Exchange`] takes the request and complete replies, a
//! [`StreamRelay`] the bytes of streamed ones. Both return what to send to the client and what to ask
//! the model.
//!
//! ```
//! use std::sync::Arc;
//! use goodcall_wire::Provider;
//! use goodcall_wire::relay::{Exchange, ToolsCache, RelaySettings, NextStep};
//!
//! let request = r#"{"model": "m", "messages": [{"role": "user", "content": "Read it."}],
//!   "tools": [{"type": "function", "function": {"name": "read", "parameters": {
//!     "type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]}}}]}"#;
//! let settings = Arc::new(RelaySettings::default());
//! let mut exchange = Exchange::new(Provider::OpenAi, request, &ToolsCache::default(), settings)?;
//!
//! // A call that cannot be mended: the model is asked again.
//! let reply = |arguments: &str| serde_json::json!({"choices": [{"finish_reason": "tool_calls",
//!   "message": {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
//!     "function": {"name": "read", "arguments": arguments}}]}}]}).to_string();
//! assert!(matches!(exchange.reply(&reply("{}")), NextStep::Reask));
//! assert!(exchange.body().contains("add the missing lines (an integer)"));
//!
//! // One that can be mended is forwarded mended.
//! let NextStep::Reply(Some(text)) = exchange.reply(&reply(r#"{"lines": "50"}"#)) else { panic!() };
//! assert!(text.contains(r#"{\"lines\":50}"#));
//! assert_eq!(exchange.summary(), "good=0 mended=1 bad=1 reasked=1");
//! # Ok::<(), goodcall_wire::relay::NotJudged>(())
//! ```

mod endpoint;
mod exchange;
mod extra_fields;
mod failed_generation;
mod judge;
mod memory;
mod pending_calls;
mod reask;
mod reply;
mod reply_facts;
mod stream;
mod text_call_finder;
mod tools_cache;
mod usage;

pub use endpoint::Endpoint;
pub use exchange::{Exchange, NextStep, NotJudged, RequestFacts};
pub use memory::Memory;
pub use stream::{StreamEnd, StreamRelay};

pub use judge::{CallNote, CallRecord, CallVerdict, GiveUp, RelaySettings, UsageMode};
pub use reply_facts::ReplyFacts;
pub use tools_cache::ToolsCache;

pub(crate) use extra_fields::ExtraFields;
pub(crate) use failed_generation::{FailedGeneration, QuotedExtent, RecoveredReply};
pub(crate) use judge::CallDecision;
pub(crate) use memory::{CallMemory, FindCall};
pub(crate) use reask::{legal_call, legal_parts};
pub(crate) use reply_facts::model as replying_model;
pub use usage::TokenCounts;
pub(crate) use usage::Usage;
