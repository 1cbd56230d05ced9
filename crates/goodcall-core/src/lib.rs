//! One tool call, from raw text to verdict.
//!
//! A model's arguments go through [`check`] (or a [`Gate`], with options) against a compiled
//! [`Schema`]. The [`Verdict`] is **Good** (valid as sent, untouched), **Mended** (exactly one
//! valid reading, every change listed) or **Bad** (not to be run; the issues are data, and
//! [`Explain`] turns them into the text that the model reads).
//!
//! This crate is pure: no I/O, no async, no clock, no environment.
//!
//! ```
//! use goodcall_core::{Schema, Verdict, check};
//!
//! let schema = Schema::compile(&serde_json::json!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "maximum": 100}},
//!     "required": ["path"],
//! }))?;
//! let Verdict::Bad(bad) = check(r#"{"limit": 500}"#, &schema) else { panic!() };
//! assert_eq!(bad.issues.len(), 2);
//! # Ok::<(), goodcall_core::SchemaError>(())
//! ```
//!
//! # What there is
//! - [`Schema`], compiled once from a JSON Schema of any draft; [`SchemaCache`] keeps those of many
//!   tools by their content, [`SchemaOptions`] sets the draft.
//! - [`Gate`] is [`check`] with options: a [`Policy`], [`Limits`], the [`StopReason`] of the model's
//!   message, the name of the tool. It takes text, bytes or a `serde_json::Value`.
//! - [`Tree`] is the arguments: a JSON value that keeps the order of keys and the digits of numbers. It
//!   deserializes into a type, converts to a `serde_json::Value`, and prints as JSON.
//! - [`Change`] is one difference between what was sent and what came out, made by a [`Rule`];
//!   [`catalogue`] lists the rules, and [`Policy`] switches them by level or one by one.
//! - [`Refusal`] and [`Issue`] say what is wrong, as data; [`Explain`] says it to the model, in a
//!   [`Style`] and within a [`Budget`].
//! - [`read`] reads broken JSON without a schema; [`StreamParser`] reads arguments while they arrive.
//!
//! The crate `goodcall` has tools, a toolbox and the agent loop around this one.

mod limits;
mod snippet;
mod stable_hash;
mod tree;

mod names;
mod rule;
mod stop;

mod policy;
mod report;

mod validate;

mod schema;

mod parse;

mod mend;

mod diagnose;

mod explain;

mod pipeline;

pub use explain::{
    Budget, Explain, Structured, Style, UnknownStyle, accepted_text, expected_text,
    missing_output_text, no_result_text, not_approved_text, not_run_text, oversized_result_text,
    rate_limited_text, timed_out_text, unread_call_text,
};
pub use limits::Limits;
pub use mend::rules::catalogue;
pub use parse::{
    Cut, CutKind, ParseClass, ParseError, ParseEvent, ReadOptions, Reading, StreamParser, read,
};
pub use pipeline::{Gate, check};
pub use policy::{Formats, Policies, Policy, UnknownPolicy, name_fits};
pub use report::{
    Actual, Bound, Change, Changes, Expected, ExpectedArray, ExpectedNumber, ExpectedObject,
    ExpectedProse, ExpectedString, Issue, IssueKind, JsonType, Key, Mended, Moved, Reason, Refusal,
    SharedExpected, SyntaxExpectation, Types, Verdict,
};
pub use rule::{Example, Level, Rule, RuleId, UnknownRule};
#[doc(hidden)]
pub use schema::{Child as SchemaChild, ChildKey as SchemaChildKey, View as SchemaView};
pub use schema::{Draft, Schema, SchemaCache, SchemaError, SchemaOptions, SchemaWarning};
pub use snippet::Snippet;
#[doc(hidden)]
pub use snippet::clip;
#[doc(hidden)]
pub use stable_hash::stable_hash;
pub use stop::{StopReason, UnknownStopReason};
#[doc(hidden)]
pub use tree::quoted;
pub use tree::{Content, DeserializeError, Elements, Inexact, Kind, Members, Node, Pointer, Tree};
