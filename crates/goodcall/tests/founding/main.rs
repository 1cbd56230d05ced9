//! The five documents that goodcall began with, row by row: each feature, text and edge case that a
//! document names is a test, and its texts are quoted word for word. The names of the tests begin
//! with the number of the document and of the row. Where goodcall differs from a document, the test
//! says how and why.

#![allow(
    clippy::collapsible_if,
    clippy::manual_range_contains,
    clippy::uninlined_format_args,
    clippy::unwrap_used,
    reason = "programs are as their document has them, and helpers of tests may panic"
)]

mod errors_003;
mod loop_002;
mod numbered_000;
mod requests_004;
mod validation_001;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use goodcall::{Style, Tool, ToolResult, Toolbox, async_trait};
use serde_json::{Value, json};

/// A tool that returns its parameters and counts its runs.
#[derive(Clone)]
pub(crate) struct Echo {
    name: &'static str,
    schema: Value,
    runs: Arc<AtomicUsize>,
}

impl Echo {
    pub(crate) fn new(name: &'static str, schema: Value) -> Self {
        Self {
            name,
            schema,
            runs: Arc::default(),
        }
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for Echo {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "Returns its parameters."
    }

    fn parameters_schema(&self) -> Value {
        self.schema.clone()
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        self.runs.fetch_add(1, Ordering::SeqCst);
        ToolResult::success(params.clone())
    }
}

/// A toolbox with these tools and this style.
pub(crate) fn toolbox<const N: usize>(style: Style, tools: [&Echo; N]) -> Toolbox {
    let mut toolbox = Toolbox::new().style(style);
    for tool in tools {
        toolbox.register(tool.clone()).unwrap();
    }
    toolbox
}

/// The result of one call of a tool with this schema, in this style.
pub(crate) async fn call(style: Style, schema: Value, raw: &str) -> ToolResult {
    let tool = Echo::new("t", schema);
    let result = toolbox(style, [&tool]).invoke("t", raw).await;
    assert_eq!(tool.runs(), usize::from(result.is_ok()), "{raw}");
    result
}

/// A schema with these properties, all of them required.
pub(crate) fn object(properties: Value) -> Value {
    let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    json!({"type": "object", "properties": properties, "required": required})
}
