//! The tool-call reliability layer for LLM agents: *wide in, strict out*.
//!
//! Models call tools with arguments that are cut off, broken, mistyped or misnamed. Put your tools
//! into a [`Toolbox`] and hand it what the model sent: a tool runs only with arguments that match
//! its schema. Any other call comes back as a [`ToolResult`] whose text tells the model exactly what
//! to rewrite.
//!
//! ```
//! use goodcall::{Tool, ToolResult, Toolbox, async_trait};
//! use serde_json::{Value, json};
//!
//! struct Weather;
//!
//! #[async_trait]
//! impl Tool for Weather {
//!     fn name(&self) -> &str { "weather" }
//!     fn description(&self) -> &str { "The weather of a city" }
//!     fn parameters_schema(&self) -> Value {
//!         json!({
//!             "type": "object",
//!             "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
//!             "required": ["city"],
//!         })
//!     }
//!     async fn execute(&self, params: &Value) -> ToolResult {
//!         ToolResult::success(json!({"city": params["city"], "sky": "clear"}))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut toolbox = Toolbox::new();
//! toolbox.register(Weather)?;
//!
//! let wrong = toolbox.invoke("weather", r#"{"days": 30}"#).await;
//! assert_eq!(
//!     wrong.text(),
//!     "The tool `weather` was not run. Correct its arguments and call it again:\n\
//!      add the missing city (a string)\n\
//!      days: 30 is too large, it must be at most 7"
//! );
//! let right = toolbox.invoke("weather", r#"{"city": "Oslo", "days": 3}"#).await;
//! assert_eq!(right.text(), r#"{"city":"Oslo","sky":"clear"}"#);
//! # Ok(())
//! # }
//! ```
//!
//! A tool may also be a plain function, and a [`Driver`] runs a whole conversation until it is done,
//! asks the user or stops:
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
//! # From one call to a conversation
//! - [`Tool`], [`TypedTool`] and [`tool`](macro@tool) define tools.
//! - [`Toolbox`] checks calls and runs tools; it returns a [`ToolResult`] with an [`ErrorClass`].
//! - [`Run`] is the agent loop as a state machine without I/O, with [`RunLimits`] and a [`Detector`]
//!   of doom loops. It can be saved at any step.
//! - [`Driver`] executes a run with a [`Model`], reports [`Event`]s, writes spans and saves to a
//!   [`Store`].
//! - [`wire`] converts the history to any provider's form.
//!
//! # Which part to take
//! For a verdict on raw arguments alone, take [`Schema`] with [`check`] or [`Gate`], or
//! [`validate_args`] for a type. For tools in a loop of your own, take a [`Toolbox`]. [`Failure`] is the
//! error of a tool: it has a text for the model and the error behind it for the operator. The guide's
//! page `docs/agent.md` in the repository shows errors, approval, events, limits, loops, stores and
//! models of your own.
//!
//! The toolbox runs on any executor; [`Driver`] needs tokio's timers when a model call is retried. The
//! oldest Rust that builds this crate is 1.88.
//!
//! # Features
//! `idna` (on by default) checks the internationalised formats where a host asserts `format`. `openai`
//! adds a model behind any OpenAI-compatible URL; `otlp` sends spans to an OpenTelemetry collector. Both
//! install ring as the process-wide provider of rustls, unless one is installed already.

mod error;
mod error_class;
mod failure;

mod arguments;
mod tool;
mod tool_call_request;
mod tool_result;
mod typed;

mod execute;
mod toolbox;

mod message;

mod loop_detector;
mod run;

mod driver;
mod event;
mod model;
mod store;
mod trace;

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
    Reason, Refusal, RuleId, Schema, SchemaError, SchemaWarning, StopReason, Structured, Style,
    Tree, Verdict, check,
};
pub use goodcall_macros::{Args, tool};
pub use goodcall_wire;
pub use schemars::{self, JsonSchema};
pub use tokio_util::sync::CancellationToken;

pub use error::{ArgumentFault, Cause, ToolArgError, ToolError, ToolRuntimeError};
pub use error_class::{Audience, ErrorClass};
pub use failure::{Failure, ForModel};

pub use arguments::{BoundArguments, Context, LoopKey};
pub use tool::{Invalid, Tool, ValidateError, validate};
pub use tool_call_request::ToolCallRequest;
pub use tool_result::ToolResult;
pub use typed::{TypedTool, schema_of, validate_args};

pub use toolbox::{Definition, Prepared, RegisterError, Toolbox};

pub use message::{
    AssistantMessage, Call, CallOutcome, ChangeRecord, Image, Message, Reasoning, Reply, Usage,
    UserMessage,
};

pub use loop_detector::{Detector, Escalation, LoopReport, LoopRules, Signal};
pub use run::{HaltReason, Run, RunLimits, SequenceError, Step};

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
