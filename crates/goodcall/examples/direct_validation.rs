//! Checks parameters directly, without a toolbox and without running anything: a tool with a check
//! of its own, and a schema without a tool.
//!
//! `cargo run -p goodcall --example direct_validation`

use goodcall::{
    Explain, Invalid, Schema, Style, Tool, ToolResult, Verdict, async_trait, check, validate,
};
use serde_json::{Value, json};

struct CustomValidatedTool;

#[async_trait]
impl Tool for CustomValidatedTool {
    fn name(&self) -> &str {
        "set_age"
    }

    fn description(&self) -> &str {
        "Sets the age of a person"
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "number"}},
            "required": ["name", "age"]
        })
    }

    fn validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
        // The schema first.
        self.default_validate_parameters(params)?;

        // Then what a schema cannot say.
        match params["age"].as_f64() {
            Some(0.0..=150.0) => Ok(()),
            _ => Err("Age must be between 0 and 150".into()),
        }
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        ToolResult::success(format!("{} is {}", params["name"], params["age"]))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tool = CustomValidatedTool;
    for params in [
        json!({"name": "Ada", "age": 36}),
        json!({"name": "Ada", "age": 200}),
        json!({"name": "Ada"}),
    ] {
        match tool.validate_parameters(&params) {
            Ok(()) => println!("{params}: ok"),
            Err(invalid) => println!("{params}: {}", invalid.text(Style::Plain)),
        }
    }
    // The same for any tool, typed ones included.
    assert!(validate(&tool, &json!({"name": "Ada", "age": -1})).is_err());

    // A schema without a tool.
    let schema = Schema::compile(&tool.parameters_schema())?;
    match check(r#"{"name": "Ada", "age": "thirty-six"}"#, &schema) {
        Verdict::Good(tree) => println!("good: {tree}"),
        Verdict::Mended(mended) => println!("mended: {}", mended.arguments),
        Verdict::Bad(bad) => {
            println!("{}", Explain::new(Style::Instruction).text(&bad));
        }
    }
    Ok(())
}
