//! A tool that is validated before it runs: wrong calls, the texts that the model reads, and the
//! corrected call.
//!
//! `cargo run -p goodcall --example validation_test`

#![allow(clippy::unwrap_used, reason = "validated parameters are there")]

use goodcall::{Style, Tool, ToolResult, Toolbox, async_trait};
use serde_json::{Value, json};

struct ValidatedTool;

#[async_trait]
impl Tool for ValidatedTool {
    fn name(&self) -> &str {
        "validated_tool"
    }

    fn description(&self) -> &str {
        "A tool with parameter validation"
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "number"},
                "status": {"type": "string", "enum": ["active", "inactive"]}
            },
            "required": ["name", "age"]
        })
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        // The parameters are validated, so that `unwrap` is safe.
        let name = params["name"].as_str().unwrap();
        let age = params["age"].as_f64().unwrap();

        ToolResult::success(format!("Hello {name}, age {age}"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new().style(Style::Plain);
    toolbox.register(ValidatedTool)?;
    for raw in [
        r#"{"name": "Ada"}"#,
        r#"{"name": "Ada", "age": "unknown"}"#,
        r#"{"name": "Ada", "age": 36, "status": "owner"}"#,
        r#"{"name": "Ada", "age": 36, "status": "active"}"#,
    ] {
        println!("model: validated_tool({raw})");
        let result = toolbox.invoke("validated_tool", raw).await;
        println!("tool:  {}\n", result.text());
    }
    Ok(())
}
