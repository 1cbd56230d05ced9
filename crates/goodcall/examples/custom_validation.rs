//! A tool that checks more than its schema does: an age from 0 to 150.
//!
//! `cargo run -p goodcall --example custom_validation`

use goodcall::{
    Invalid, Parameters, Tool, ToolResult, Toolbox, ValidateError, async_trait,
    default_validate_parameters, validate,
};
use serde_json::{Value, json};

struct SetAge;

#[async_trait]
impl Tool for SetAge {
    fn name(&self) -> &str {
        "set_age"
    }

    fn description(&self) -> &str {
        "Sets the age of a person"
    }

    fn parameters_schema(&self) -> Option<Value> {
        Some(json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["name", "age"],
        }))
    }

    fn validate_parameters(&self, params: &Parameters<'_>) -> Result<(), Invalid> {
        default_validate_parameters(params)?;
        match params["age"].as_i64() {
            Some(0..=150) => Ok(()),
            _ => Err(Invalid::at("age", "use an age from 0 to 150")),
        }
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        ToolResult::success(format!("{} is {}", params["name"], params["age"]))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(SetAge)?;
    for age in ["0", "150", "151", "-1", r#""old""#] {
        let raw = format!(r#"{{"name": "Ada", "age": {age}}}"#);
        println!("model: set_age({raw})");
        let result = toolbox.invoke("set_age", &raw).await;
        println!("tool:  {}\n", result.text().replace('\n', "\n       "));
    }
    // Without a toolbox, and without running anything:
    match validate(&SetAge, &json!({"name": "Ada", "age": 200})) {
        Err(ValidateError::Invalid(invalid)) => {
            println!("{}", invalid.text(goodcall::Style::Plain));
        }
        other => other?,
    }
    Ok(())
}
