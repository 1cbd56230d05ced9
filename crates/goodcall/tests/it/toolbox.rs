//! Tests the toolbox: which calls run, which do not, and the texts that the model reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use goodcall::{
    ErrorClass, Invalid, Policy, RegisterError, Style, Tool, ToolCallRequest, ToolResult, Toolbox,
    async_trait,
};
use serde_json::{Value, json};

/// Echoes its parameters and counts its runs.
#[derive(Default)]
struct Probe {
    name: &'static str,
    schema: Value,
    destructive: bool,
    runs: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Probe {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "echoes"
    }

    fn parameters_schema(&self) -> Value {
        self.schema.clone()
    }

    fn is_destructive(&self) -> bool {
        self.destructive
    }

    fn validate_parameters(&self, params: &Value) -> Result<(), Invalid> {
        self.default_validate_parameters(params)?;
        match params.get("age").and_then(Value::as_i64) {
            None | Some(0..=150) => Ok(()),
            Some(_) => Err(Invalid::at("age", "use an age from 0 to 150")),
        }
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        self.runs.fetch_add(1, Ordering::Relaxed);
        ToolResult::success(params.clone())
    }
}

fn probe(name: &'static str, schema: Value) -> (Probe, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let tool = Probe {
        name,
        schema,
        runs: Arc::clone(&runs),
        ..Probe::default()
    };
    (tool, runs)
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    })
}

#[tokio::test]
async fn valid_call_runs_once() {
    let (tool, runs) = probe("person", person());
    let mut toolbox = Toolbox::new();
    toolbox.register(tool).unwrap();
    let result = toolbox
        .invoke("person", r#"{"name": "Ada", "age": 36}"#)
        .await;
    assert_eq!(result.data(), Some(&json!({"name": "Ada", "age": 36})));
    assert!(result.changes().is_empty());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn invalid_call_is_not_run() {
    let (tool, runs) = probe("person", person());
    let mut toolbox = Toolbox::new().style(Style::Plain);
    toolbox.register(tool).unwrap();
    let result = toolbox.invoke("person", r#"{"age": []}"#).await;
    assert_eq!(
        result.text(),
        "Missing required parameter: name\n\
         Parameter 'age' must be of type 'integer', got 'array'"
    );
    let structured = result.structured();
    assert_eq!(
        (structured.error_type, structured.retryable),
        (Some("validation"), false)
    );
    assert_eq!(
        structured.recommendations,
        [
            "add the missing name (a string)",
            "change age: [] is an array, use an integer"
        ]
    );
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn own_check_of_a_tool_names_its_place() {
    let (tool, runs) = probe("person", person());
    let mut toolbox = Toolbox::new();
    toolbox.register(tool).unwrap();
    let result = toolbox
        .invoke("person", r#"{"name": "Ada", "age": 200}"#)
        .await;
    assert_eq!(
        result.text(),
        "The tool `person` was not run. Correct its arguments and call it again:\n\
         age: use an age from 0 to 150"
    );
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn unknown_tool_is_refused() {
    let (tool, runs) = probe("read_file", json!({"type": "object"}));
    let mut toolbox = Toolbox::new();
    toolbox.register(tool).unwrap();
    let result = toolbox.invoke("readFile", "{}").await;
    assert_eq!(result.class(), Some(ErrorClass::UnknownTool));
    assert_eq!(
        result.text(),
        "There is no tool `readFile`; nothing was run. Did you mean `read_file`?"
    );
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn number_that_would_be_rounded_is_an_issue() {
    let (tool, runs) = probe("get", json!({"properties": {"id": {"type": "integer"}}}));
    let mut toolbox = Toolbox::new();
    toolbox.register(tool).unwrap();
    let result = toolbox
        .invoke("get", r#"{"id": 12345678901234567890123}"#)
        .await;
    assert_eq!(
        result.text(),
        "The tool `get` was not run. Correct its arguments and call it again:\n\
         id: 12345678901234567890123 has too many digits for a number"
    );
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn tool_without_a_schema_accepts_any_object() {
    let mut toolbox = Toolbox::new();
    let tool = Probe {
        name: "free",
        ..Probe::default()
    };
    toolbox.register(tool).unwrap();
    assert!(toolbox.invoke("free", r#"{"x": [1]}"#).await.is_ok());
    assert_eq!(toolbox.invoke("free", "").await.data(), Some(&json!({})));
}

#[tokio::test]
async fn pass_through_prefix_skips_validation() {
    let (tool, runs) = probe("mcp__files__read", person());
    let mut toolbox = Toolbox::new().pass_through("mcp__");
    toolbox.register(tool).unwrap();
    assert!(
        toolbox
            .invoke("mcp__files__read", r#"{"name": 5}"#)
            .await
            .is_ok()
    );
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn destructive_tool_is_strict_by_default() {
    let tool = || Probe {
        name: "delete",
        schema: json!({"type": "object"}),
        destructive: true,
        ..Probe::default()
    };
    let mut toolbox = Toolbox::new();
    toolbox.register(tool()).unwrap();
    assert!(!toolbox.invoke("delete", "").await.is_ok());
    let mut toolbox = Toolbox::new().policy_for("delete", Policy::safe());
    toolbox.register(tool()).unwrap();
    assert!(toolbox.invoke("delete", "").await.is_ok());
}

#[tokio::test]
async fn request_keeps_raw_text_and_changes() {
    let (tool, _) = probe("free", json!({"type": "object"}));
    let mut toolbox = Toolbox::new();
    toolbox.register(tool).unwrap();
    let raw = r#"{"a": 1, "a": 1, "b": 2, "b": 2}"#;
    let mut request = ToolCallRequest::new("free", "call_1", raw);
    assert!(toolbox.invoke_request(&mut request).await.is_ok());
    assert_eq!(request.raw_arguments, raw);
    assert_eq!(request.arguments, Some(json!({"a": 1, "b": 2})));
    assert_eq!(
        request.parse_warning.as_deref(),
        Some("a: \"a\": 1 was left out (duplicate-key); b: \"b\": 2 was left out (duplicate-key)")
    );
    let mut request = ToolCallRequest::new("free", "call_2", "[1]");
    assert!(!toolbox.invoke_request(&mut request).await.is_ok());
    assert_eq!(
        (request.raw_arguments.as_str(), request.arguments),
        ("[1]", None)
    );
    assert_eq!(
        request.parse_error.as_deref(),
        Some("arguments are not an object: Root object: must be an object, got array")
    );
}

#[test]
fn schema_error_names_tool_place_and_reason() {
    let (tool, _) = probe("person", json!({"properties": {"age": {"type": "numero"}}}));
    let error = Toolbox::new().register(tool).unwrap_err();
    let RegisterError::Schema(error) = error else {
        unreachable!("{error}")
    };
    assert_eq!(error.tool(), Some("person"));
    assert_eq!(error.pointer().as_str(), "/properties/age/type");
    let (first, second) = (probe("a", json!({})).0, probe("a", json!({})).0);
    let mut toolbox = Toolbox::new();
    toolbox.register(first).unwrap();
    assert_eq!(
        toolbox.register(second).unwrap_err(),
        RegisterError::NameTaken("a".to_owned())
    );
}

#[test]
fn toolbox_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Toolbox>();
}
