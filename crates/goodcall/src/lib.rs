//! The tool-call reliability layer for LLM agents: *wide in, strict out*.
//!
//! A model calls tools with arguments that are cut off, broken, mistyped, misnamed. This crate
//! stands between the model and the tool: put your tools into a [`Toolbox`], hand it what the
//! model sent, and a tool only ever runs with arguments that match its schema. Everything else
//! comes back as a [`ToolResult`] whose text tells the model exactly what to rewrite.
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
//!     fn parameters_schema(&self) -> Option<Value> {
//!         Some(json!({
//!             "type": "object",
//!             "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
//!             "required": ["city"],
//!         }))
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
//!     "The tool `weather` was not run. Call it again with these edits:\n\
//!      add city: a string\n\
//!      change days: 30 is too large, use an integer of at most 7"
//! );
//! let right = toolbox.invoke("weather", r#"{"city": "Oslo", "days": 3}"#).await;
//! assert_eq!(right.text(), r#"{"city":"Oslo","sky":"clear"}"#);
//! # Ok(())
//! # }
//! ```

mod class;
mod error;

mod bound;
mod request;
mod result;
mod tool;
mod typed;

mod execute;
mod toolbox;

mod message;

mod doom;
mod run;

mod driver;
mod event;
mod model;
mod store;
mod trace;

pub mod wire;

#[cfg(feature = "openai")]
pub mod openai;

mod explain;

#[doc(hidden)]
pub mod __private;

pub use async_trait::async_trait;
pub use goodcall_core as core;
pub use goodcall_core::{
    Bad, Change, Explain, Issue, Limits, Pointer, Policy, Reason, Schema, SchemaError,
    SchemaWarning, Stop, Style, Verdict,
};
pub use goodcall_macros::tool;
pub use schemars::{self, JsonSchema};
pub use tokio_util::sync::CancellationToken;

pub use class::{ErrorClass, Told};
pub use error::{Cause, Failure, Fault, ToolArgError, ToolError, ToolRuntimeError};

pub use bound::{Bound, Context, LoopKey};
pub use request::ToolCallRequest;
pub use result::ToolResult;
pub use tool::{Invalid, Parameters, Tool, default_validate_parameters, validate};
pub use typed::{TypedTool, schema_of};

pub use toolbox::{Definition, RegisterError, Toolbox};

pub use message::{Call, ChangeRecord, Message, Outcome, Reply, Usage};

pub use doom::{Detector, LoopRules, Rung, Signal, Suspicion};
pub use run::{OutOfTurn, Run, RunLimits, Step, Why};

pub use driver::{DriveError, Driver, Finish};
pub use event::{ErrorDetail, ErrorEvent, Event, Events, Phase, Record, RecordState};
pub use model::{Model, ModelError, Prompt, Script, TextSink};
pub use store::{FileStore, Store};
