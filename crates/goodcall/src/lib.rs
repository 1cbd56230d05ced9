//! The tool-call reliability layer for LLM agents: *wide in, strict out*.
//!
//! Models call tools with arguments that are cut off, broken, mistyped or misnamed. Put your tools
//! into a [`Toolbox`] and hand it what the model sent: a tool runs only with arguments that match
//! its schema. A call with exactly one valid reading is mended; any other call comes back as a
//! [`ToolResult`] whose text tells the model exactly what to rewrite.
//!
//! ```
//! use goodcall::Toolbox;
//!
//! /// The weather of a city.
//! #[goodcall::tool]
//! async fn weather(city: String, #[tool(range(min = 1, max = 7))] days: Option<u32>) -> String {
//!     format!("{city}: clear for {} days", days.unwrap_or(1))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut toolbox = Toolbox::new();
//! toolbox.register(Weather)?; // name, description and JSON Schema come from the function
//!
//! let wrong = toolbox.invoke("weather", r#"{"days": 30}"#).await;
//! assert_eq!(
//!     wrong.text(), // what the model reads
//!     "The tool `weather` was not run. Correct its arguments and call it again:\n\
//!      days: 30 is too large, it must be at most 7 or null\n\
//!      add the missing city (a string)"
//! );
//! let mended = toolbox.invoke("weather", r#"{"city": "Oslo", "days": "3",}"#).await;
//! assert_eq!(mended.text(), "Oslo: clear for 3 days");
//! assert_eq!(mended.changes().len(), 2); // the comma and the quotes
//! # Ok(())
//! # }
//! ```
//!
//! # Which part to take
//!
//! | you have | take |
//! |---|---|
//! | your own loop and your own tools | [`Schema`] with [`check`] or [`Gate`]: a [`Verdict`] on raw arguments; [`validate_args`] for a type |
//! | your own loop | [`Toolbox`]: finds the tool, checks the call, runs it, returns a [`ToolResult`] |
//! | your own I/O | [`Run`]: the agent loop as a state machine that calls nothing itself and can be saved at any step, with [`RunLimits`] and a [`Detector`] of doom loops |
//! | a model | [`Driver`]: executes a [`Run`] with a [`Model`] and a [`Toolbox`], reports [`Event`]s, asks for [`Approval`], saves to a [`Store`] |
//!
//! Tools are functions ([`tool`](macro@tool)), types with typed parameters ([`TypedTool`]) or anything
//! with a schema that is known at run time ([`Tool`](trait@Tool)). [`wire`] converts conversations, replies
//! and tools to and from the forms of providers.
//!
//! This crate is all that an agent in Rust needs. `goodcall-core` is the verdict alone, without tokio;
//! `goodcall-wire` adds the forms of providers and calls in plain text. Both are re-exported
//! ([`goodcall_core`], [`goodcall_wire`]).
//!
//! # Only the verdict
//!
//! ```
//! use goodcall::{Explain, Schema, Style, Verdict, check};
//!
//! let schema = Schema::compile(&serde_json::json!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string"}},
//!     "required": ["path"],
//! }))?;
//! match check(r#"{"path": 7}"#, &schema) {
//!     Verdict::Good(arguments) => println!("as sent: {arguments}"),
//!     Verdict::Mended(mended) => println!("mended: {}", mended.arguments),
//!     Verdict::Bad(refusal) => assert_eq!(
//!         Explain::new(Style::Instruction).text(&refusal),
//!         "Please rewrite the input with valid arguments. Errors: path: expected string, got number"
//!     ),
//! }
//! # Ok::<(), goodcall::SchemaError>(())
//! ```
//!
//! # Errors
//!
//! A tool returns data or a [`Failure`]: a text for the model, what it should do, and for the operator the
//! error behind it. By `?`, a text is for the model, and any other error (also of anyhow and eyre) for the
//! operator: the model reads only that the tool failed. Every error of a call has an [`ErrorClass`], which
//! says whether the tool ran, whether the call may be made again, and who has to know.
//!
//! # A whole conversation
//!
//! ```
//! use goodcall::{Call, Driver, Finish, Reply, Run, Script, Toolbox};
//!
//! /// Adds two numbers.
//! #[goodcall::tool]
//! async fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut toolbox = Toolbox::new();
//! toolbox.register(Add)?;
//! // A script in place of a model: a wrong call, the corrected one, the final answer.
//! let model = Script::new([
//!     Reply::calls([Call::new("call_1", "add", r#"{"a": 1}"#)]),
//!     Reply::calls([Call::new("call_2", "add", r#"{"a": 1, "b": 2}"#)]),
//!     Reply::text("It is 3."),
//! ]);
//! let mut run = Run::new().user("What is 1 + 2?");
//! let finish = Driver::new(&toolbox, &model).drive(&mut run).await?;
//! assert_eq!(finish, Finish::Done("It is 3.".to_owned()));
//! # Ok(())
//! # }
//! ```
//!
//! # The guide
//!
//! [`guide::agent`] is about errors, approval, events, limits, loops, stores and models of your own;
//! [`guide::recipes`], [`guide::policies`] and [`guide::migration`] are shorter.
//!
//! # tokio, Rust, features
//!
//! The toolbox runs on any executor; [`Driver`] needs tokio's timers when a model call is retried. The
//! oldest Rust that builds this crate is 1.88.
//!
//! `idna` (on by default) checks the internationalised formats where a host asserts `format`: 25 crates.
//! `openai` adds a model behind any OpenAI-compatible URL; `otlp` sends spans to an OpenTelemetry
//! collector. Both install ring as the process-wide provider of rustls, unless one is installed already.

mod error;
mod error_class;
mod failure;

mod arguments;
mod definition;
mod tool;
mod tool_call_request;
mod tool_result;
mod type_schema;
mod typed;

mod execute;
mod toolbox;

mod message;

mod loop_detector;
mod run;

mod approval;
mod driver;
mod event;
mod model;
mod store;
mod trace;

mod reasoning;
pub mod wire;

#[cfg(feature = "openai")]
pub mod openai;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(any(feature = "openai", feature = "otlp"))]
mod tls;

mod explain;

#[doc(hidden)]
pub mod __private;

pub use async_trait::async_trait;
pub use goodcall_core;
pub use goodcall_core::{
    Budget, Change, Explain, Formats, Gate, Issue, IssueKind, Limits, Mended, Pointer, Policy,
    Reason, Refusal, RuleId, Schema, SchemaCache, SchemaError, SchemaWarning, StopReason,
    Structured, Style, Tree, Verdict, check,
};
#[doc = include_str!("args_macro.md")]
pub use goodcall_macros::Args;
#[doc = include_str!("tool_macro.md")]
pub use goodcall_macros::tool;
pub use goodcall_wire;
pub use schemars;
pub use tokio_util::sync::CancellationToken;

pub use error::{ArgumentFault, Cause, ToolArgError, ToolError, ToolRuntimeError};
pub use error_class::{Audience, ErrorClass};
pub use failure::{Failure, ForModel};

pub use arguments::{BoundArguments, Context, LoopKey};
pub use tool::{Invalid, Tool, ValidateError, validate};
pub use tool_call_request::ToolCallRequest;
pub use tool_result::ToolResult;
pub use type_schema::schema_of;
pub use typed::{TypedTool, validate_args};

pub use definition::{Annotations, Definition};
pub use toolbox::{Prepared, RegisterError, Toolbox};

pub use message::{
    AssistantMessage, Call, CallOutcome, ChangeRecord, Image, Message, Reasoning, Reply, Usage,
    UserMessage,
};

pub use loop_detector::{Detector, Escalation, LoopReport, LoopRules, Signal, loop_in_history};
pub use run::{HaltReason, Run, RunLimits, SequenceError, Step};

pub use approval::{Approval, ProposedCall};
pub use driver::{DriveError, Driver, Finish};
pub use event::{ErrorDetail, ErrorEvent, Event, Events, Phase, ToolRecord, ToolRecordState};
pub use model::{Model, ModelError, Prompt, Script, TextSink};
pub use store::{FileStore, Store};

/// The pages of the guide that are about Rust.
#[cfg(any(doc, doctest))]
pub mod guide {
    /// [Recipes]: recipes
    ///
    #[doc = include_str!("../docs/agent.md")]
    pub mod agent {}

    #[doc = include_str!("../docs/recipes.md")]
    pub mod recipes {}

    #[doc = include_str!("../docs/policies.md")]
    pub mod policies {}

    #[doc = include_str!("../docs/migration.md")]
    pub mod migration {}
}

/// The programs in the README are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
