//! A tool, a wrong call, the text that the model reads, and the corrected call.
//!
//! `cargo run -p goodcall --example validation_test`

use goodcall::{Tool, ToolResult, Toolbox, async_trait};
use serde_json::{Value, json};

struct CreateUser;

#[async_trait]
impl Tool for CreateUser {
    fn name(&self) -> &str {
        "create_user"
    }

    fn description(&self) -> &str {
        "Creates a user account"
    }

    fn parameters_schema(&self) -> Option<Value> {
        Some(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
                "role": {"enum": ["admin", "editor", "viewer"]},
            },
            "required": ["name", "age"],
        }))
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        ToolResult::success(json!({"created": params["name"]}))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(CreateUser)?;
    for raw in [
        r#"{"name": "", "age": "unknown", "role": "owner"}"#,
        r#"{"name": "Ada", "age": 36, "role": "editor"}"#,
    ] {
        println!("model: create_user({raw})");
        let result = toolbox.invoke("create_user", raw).await;
        println!("tool:  {}\n", result.text());
    }
    Ok(())
}
