//! Document 001: automatic validation of a tool's parameters. Its program compiles as it is, with
//! `Invalid` in place of `String` in one signature; it is the examples `validation_test` and
//! `direct_validation`, too.

use goodcall::{
    Call, ErrorClass, Invalid, Style, Tool, ToolError, ToolResult, Toolbox, async_trait, validate,
};
use serde_json::{Value, json};

use crate::{call, object};

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
        let name = params["name"].as_str().unwrap();
        let age = params["age"].as_f64().unwrap();

        ToolResult::success(format!("Hello {}, age {}", name, age))
    }
}

struct CustomValidatedTool;

#[async_trait]
impl Tool for CustomValidatedTool {
    fn name(&self) -> &str {
        "custom"
    }

    fn description(&self) -> &str {
        "A tool with a check of its own"
    }

    fn parameters_schema(&self) -> Value {
        ValidatedTool.parameters_schema()
    }

    fn validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
        self.default_validate_parameters(params)?;

        if let Some(age) = params["age"].as_f64() {
            if age < 0.0 || age > 150.0 {
                return Err("Age must be between 0 and 150".to_string().into());
            }
        }

        Ok(())
    }

    async fn execute(&self, _: &Value) -> ToolResult {
        ToolResult::success("done")
    }
}

fn plain() -> Toolbox {
    let mut toolbox = Toolbox::new().style(Style::Plain);
    toolbox.register(ValidatedTool).unwrap();
    toolbox.register(CustomValidatedTool).unwrap();
    toolbox
}

#[tokio::test]
async fn r01_validation_is_automatic() {
    assert!(!plain().invoke("validated_tool", "{}").await.is_ok());
}

#[test]
fn r02_schema_is_that_of_the_tool() {
    let toolbox = plain();
    let definition = toolbox
        .list()
        .find(|tool| tool.name == "validated_tool")
        .unwrap();
    assert_eq!(
        definition.parameters,
        Some(&ValidatedTool.parameters_schema())
    );
}

#[tokio::test]
async fn r03_five_types_are_checked() {
    for kind in ["string", "number", "boolean", "array", "object"] {
        let wrong = if kind == "object" {
            "\"x\""
        } else {
            "{\"a\": 1}"
        };
        let got = if kind == "object" { "string" } else { "object" };
        let schema = object(json!({"p": {"type": kind}}));
        let result = call(Style::Plain, schema, &format!("{{\"p\": {wrong}}}")).await;
        let text = format!("Parameter 'p' must be of type '{kind}', got '{got}'");
        assert_eq!(result.text(), text);
    }
}

#[tokio::test]
async fn r04_missing_required_parameter() {
    let result = plain().invoke("validated_tool", r#"{"name": "Ada"}"#).await;
    assert_eq!(result.text(), "Missing required parameter: age");
}

#[tokio::test]
async fn r05_wrong_type() {
    let raw = r#"{"name": "Ada", "age": "old"}"#;
    assert_eq!(
        plain().invoke("validated_tool", raw).await.text(),
        "Parameter 'age' must be of type 'number', got 'string'"
    );
}

#[tokio::test]
async fn r06_value_of_an_enum() {
    let raw = r#"{"name": "Ada", "age": 36, "status": "owner"}"#;
    assert_eq!(
        plain().invoke("validated_tool", raw).await.text(),
        r#"Parameter 'status' must be one of: ["active", "inactive"]"#
    );
}

#[test]
fn r07_tool_has_a_name_and_a_description() {
    let tool: &dyn Tool = &ValidatedTool;
    assert_eq!(tool.name(), "validated_tool");
    assert_eq!(tool.description(), "A tool with parameter validation");
}

#[test]
fn r08_parameters_schema_is_a_value() {
    let schema: Value = ValidatedTool.parameters_schema();
    assert_eq!(schema["required"], json!(["name", "age"]));
}

#[tokio::test]
async fn r09_execute_takes_a_value() {
    let result = ValidatedTool
        .execute(&json!({"name": "Ada", "age": 36}))
        .await;
    assert_eq!(result.text(), "Hello Ada, age 36");
}

#[test]
fn r10_validate_parameters_takes_a_value() {
    assert!(
        ValidatedTool
            .validate_parameters(&json!({"name": "Ada", "age": 36}))
            .is_ok()
    );
    let error = ValidatedTool
        .validate_parameters(&json!({"name": "Ada"}))
        .unwrap_err();
    assert_eq!(error.text(Style::Plain), "Missing required parameter: age");
}

#[test]
fn r11_default_validation_is_a_method() {
    assert!(
        CustomValidatedTool
            .default_validate_parameters(&json!({}))
            .is_err()
    );
    let old = json!({"name": "Ada", "age": 200});
    assert!(
        CustomValidatedTool
            .default_validate_parameters(&old)
            .is_ok()
    );
    assert!(CustomValidatedTool.validate_parameters(&old).is_err());
}

#[tokio::test]
async fn r12_own_words_reach_the_model_as_written() {
    for style in [
        Style::Model,
        Style::Instruction,
        Style::Numbered,
        Style::Plain,
        Style::Structured,
    ] {
        let mut toolbox = Toolbox::new().style(style);
        toolbox.register(CustomValidatedTool).unwrap();
        let text = toolbox
            .invoke("custom", r#"{"name": "Ada", "age": 200}"#)
            .await
            .text();
        assert!(text.contains("Age must be between 0 and 150"), "{text}");
        assert!(!text.contains("Root object"), "{text}");
        assert!(
            style != Style::Plain || text == "Age must be between 0 and 150",
            "{text}"
        );
    }
}

#[test]
fn r13_results_are_success_or_error() {
    assert!(ToolResult::success("x").is_ok());
    assert!(!ToolResult::error("x").is_ok());
}

#[tokio::test]
async fn r14_flow_of_six_steps() {
    let toolbox = plain();
    let sent = Call::new("1", "validated_tool", r#"{"name": "Ada", "age": 36}"#);
    let outcome = toolbox.call(&sent, &Default::default()).await;
    assert_eq!(outcome.text(), "Hello Ada, age 36");
}

#[tokio::test]
async fn r15_failed_validation_is_an_error_result() {
    let result = plain().invoke("validated_tool", "{}").await;
    assert!(matches!(result.tool_error(), Some(ToolError::Argument(_))));
}

#[tokio::test]
async fn r16_error_is_for_the_model() {
    let class = plain()
        .invoke("validated_tool", "{}")
        .await
        .class()
        .unwrap();
    assert!(class == ErrorClass::Validation && class.audience().model);
}

#[tokio::test]
async fn r17_invalid_call_is_never_run() {
    // `call` compares the number of runs.
    call(Style::Plain, object(json!({"x": {}})), "{}").await;
}

#[tokio::test]
async fn r18_direct_validation() {
    assert!(validate(&CustomValidatedTool, &json!({"name": "Ada", "age": 36})).is_ok());
    assert!(validate(&CustomValidatedTool, &json!({"name": "Ada", "age": 200})).is_err());
    /// Doubles a small number.
    #[goodcall::tool]
    fn double(n: u8) -> u8 {
        n * 2
    }
    assert_eq!(double(2), 4);
    assert!(validate(&Double, &json!({"n": 300})).is_err());
}

#[tokio::test]
async fn r19_whole_call() {
    let raw = r#"{"name": "Ada", "age": 36, "status": "active"}"#;
    assert_eq!(
        plain().invoke("validated_tool", raw).await.text(),
        "Hello Ada, age 36"
    );
}

#[test]
fn r20_schemas_are_checked_for_clarity() {
    use goodcall::goodcall_wire::{LintedTool, lint};
    let remarks = lint(&[LintedTool::new("t", ValidatedTool.parameters_schema())]);
    assert!(
        remarks
            .iter()
            .any(|remark| remark.what.contains("no description"))
    );
}

#[tokio::test]
async fn r21_own_words_name_their_parameter_where_asked() {
    let invalid = Invalid::at("age", "must be an age");
    assert_eq!(
        invalid.text(Style::Plain),
        "Parameter 'age': must be an age"
    );
    let text = invalid.text(Style::Instruction);
    assert!(text.ends_with("Errors: age: must be an age"), "{text}");
}

/// Returns its number, which the schema bounds as this says.
struct Same(Value);

#[async_trait]
impl Tool for Same {
    fn name(&self) -> &str {
        "same"
    }

    fn description(&self) -> &str {
        ""
    }

    fn parameters_schema(&self) -> Value {
        object(json!({"n": self.0}))
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        ToolResult::success(params["n"].as_i64().unwrap())
    }
}

async fn same(schema: Value, n: &str) -> ToolResult {
    let mut toolbox = Toolbox::new();
    toolbox.register(Same(schema)).unwrap();
    toolbox.invoke("same", &format!(r#"{{"n": {n}}}"#)).await
}

#[tokio::test]
async fn r22_unwrap_is_safe_in_execute() {
    for (n, number) in [
        ("5.0", "5"),
        ("1e1", "10"),
        ("-0", "0"),
        (r#""5.0""#, "5"),
        ("7", "7"),
    ] {
        let result = same(json!({"type": "integer"}), n).await;
        assert_eq!(result.text(), number, "{n}");
    }
}

/// A call that the schema allows is not refused, so the bound of `as_i64` has to be in the schema.
#[tokio::test]
async fn r22_integers_are_within_the_bounds_of_the_schema() {
    let bounded = json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX});
    for n in ["9223372036854775807", "-9223372036854775808"] {
        assert_eq!(same(bounded.clone(), n).await.text(), n);
    }
    for n in [
        "9223372036854775808",
        "-9223372036854775809",
        "1e19",
        "1e400",
    ] {
        let result = same(bounded.clone(), n).await;
        assert_eq!(result.class(), Some(ErrorClass::Validation), "{n}");
        assert!(result.text().contains("922337203685477580"), "{result:?}");
    }
}

#[tokio::test]
async fn r23_program_of_the_document_compiles() {
    let raw = r#"{"name": "Ada", "age": 36.5}"#;
    assert_eq!(
        plain().invoke("validated_tool", raw).await.text(),
        "Hello Ada, age 36.5"
    );
    assert_eq!(plain().invoke("custom", raw).await.text(), "done");
}
