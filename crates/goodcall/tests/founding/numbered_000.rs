//! Document 000: validation in one place, before a tool runs, with a numbered list of faults.

use goodcall::goodcall_core::IssueKind;
use goodcall::{ErrorClass, RegisterError, Schema, Style, Toolbox, Verdict, check};
use serde_json::json;

use crate::{Echo, call, object, toolbox};

fn file_schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "limit": {"type": "number"},
            "offset": {"type": "number"},
        },
        "required": ["file_path", "offset"],
    })
}

const WRONG: &str = r#"{"limit": "many", "offset": null}"#;

#[tokio::test]
async fn r01_central_invoke() {
    let tool = Echo::new("read", file_schema());
    let toolbox = toolbox(Style::Numbered, [&tool]);
    let result = toolbox
        .invoke("read", r#"{"file_path": "a", "offset": 1}"#)
        .await;
    assert!(result.is_ok() && tool.runs() == 1);
}

#[tokio::test]
async fn r02_existence_of_the_tool_is_checked_first() {
    let tool = Echo::new("read", file_schema());
    let result = toolbox(Style::Numbered, [&tool]).invoke("raed", "{").await;
    assert_eq!(result.class(), Some(ErrorClass::UnknownTool));
    assert!(result.text().contains("read"), "{}", result.text());
}

#[tokio::test]
async fn r03_arguments_that_are_not_json_are_an_error_and_not_run() {
    let result = call(Style::Numbered, file_schema(), "{]").await;
    assert_eq!(result.class(), Some(ErrorClass::Validation));
}

#[tokio::test]
async fn r04_validation_is_after_parsing_and_before_execute() {
    assert!(!call(Style::Numbered, file_schema(), WRONG).await.is_ok());
}

#[tokio::test]
async fn r05_error_tells_how_to_repair_the_parameters() {
    let result = call(
        Style::Model,
        object(json!({"path": {"type": "string"}})),
        "{}",
    )
    .await;
    assert!(result.text().contains("path"));
    assert_eq!(result.recommendations().len(), 1);
}

/// MCP tools are validated like all others, because they come with a schema. The prefix is skipped
/// where a host says so, at any time.
#[tokio::test]
async fn r06_mcp_tools_can_be_skipped() {
    let tool = Echo::new("mcp__files__read", file_schema());
    let mut toolbox = Toolbox::new();
    toolbox.register(tool.clone()).unwrap();
    assert!(!toolbox.invoke("mcp__files__read", "{}").await.is_ok());
    let toolbox = toolbox.pass_through("mcp__");
    assert!(toolbox.invoke("mcp__files__read", "{}").await.is_ok());
}

/// What MCP and every provider require stays: the arguments are one object.
#[tokio::test]
async fn r07_skipped_tool_takes_any_object() {
    let tool = Echo::new("mcp__x", file_schema());
    let toolbox = toolbox(Style::Numbered, [&tool]).pass_through("mcp__");
    let result = toolbox.invoke("mcp__x", r#"{"any": ["thing"]}"#).await;
    assert_eq!(result.data(), Some(&json!({"any": ["thing"]})));
    assert!(!toolbox.invoke("mcp__x", "[1]").await.is_ok());
}

#[tokio::test]
async fn r08_tool_without_a_schema_is_not_validated() {
    let tool = Echo::new("free", serde_json::Value::Null);
    let toolbox = toolbox(Style::Numbered, [&tool]);
    assert!(toolbox.invoke("free", r#"{"x": 1}"#).await.is_ok());
}

/// The document skips what is not a schema in silence; here the registration says what is wrong.
#[test]
fn r09_what_is_not_a_schema_is_refused_at_registration() {
    let error = Toolbox::new().register(Echo::new("odd", json!({"type": "objekt"})));
    let Err(RegisterError::Schema(error)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (error.tool(), error.pointer().as_str()),
        (Some("odd"), "/type")
    );
}

#[tokio::test]
async fn r10_text_is_concise() {
    let text = call(Style::Numbered, file_schema(), WRONG).await.text();
    assert!(text.len() < 250 && !text.contains('{'), "{text}");
}

#[test]
fn r11_validation_gives_success_or_error() {
    let schema = Schema::compile(&file_schema()).unwrap();
    let good = check(r#"{"file_path": "a", "offset": 1}"#, &schema);
    assert_eq!(serde_json::to_value(&good).unwrap()["verdict"], "good");
    let bad = serde_json::to_value(check(WRONG, &schema)).unwrap();
    assert_eq!(
        (&bad["verdict"], &bad["reason"]),
        (&json!("bad"), &json!("wrong_shape"))
    );
    assert!(check(WRONG, &schema).into_result().is_err());
}

#[test]
fn r12_issue_has_path_kind_expected_and_actual() {
    let schema = Schema::compile(&file_schema()).unwrap();
    let Verdict::Bad(bad) = check(WRONG, &schema) else {
        panic!()
    };
    let issue = bad
        .issues
        .iter()
        .find(|issue| issue.pointer.as_str() == "/limit")
        .unwrap();
    assert_eq!(issue.kind, IssueKind::Type);
    assert_eq!(issue.expected.types.names().collect::<Vec<_>>(), ["number"]);
    assert_eq!(issue.actual.as_ref().unwrap().kind, "string");
}

#[tokio::test]
async fn r13_text_of_three_faults() {
    assert_eq!(
        call(Style::Numbered, file_schema(), WRONG).await.text(),
        "Parameter validation failed:\n\
         \n\
         1. Field 'file_path' is required but missing\n\
         2. Field 'limit' expected number, got string\n\
         3. Field 'offset' expected number, got null\n\
         \n\
         Please fix the parameters and try again."
    );
}

#[tokio::test]
async fn r14_missing_field() {
    let text = call(Style::Numbered, object(json!({"x": {}})), "{}")
        .await
        .text();
    assert!(
        text.contains("1. Field 'x' is required but missing"),
        "{text}"
    );
}

#[tokio::test]
async fn r15_wrong_type() {
    let schema = object(json!({"x": {"type": "number"}}));
    let text = call(Style::Numbered, schema, r#"{"x": "many"}"#)
        .await
        .text();
    assert!(
        text.contains("1. Field 'x' expected number, got string"),
        "{text}"
    );
}

#[tokio::test]
async fn r16_null() {
    let schema = object(json!({"x": {"type": "number"}}));
    let text = call(Style::Numbered, schema, r#"{"x": null}"#).await.text();
    assert!(
        text.contains("1. Field 'x' expected number, got null"),
        "{text}"
    );
}

#[tokio::test]
async fn r17_result_is_marked_as_an_error() {
    let result = call(Style::Numbered, file_schema(), WRONG).await;
    assert!(!result.is_ok());
    assert_eq!(result.tool_result("1")["is_error"], true);
}

#[tokio::test]
async fn r18_content_for_the_model_is_the_error() {
    let result = call(Style::Numbered, file_schema(), WRONG).await;
    assert_eq!(Some(result.text().as_str()), result.message());
}

#[tokio::test]
async fn r19_nested_path_has_dots() {
    let schema = object(json!({"config": object(json!({"timeout": {"type": "number"}}))}));
    let text = call(
        Style::Numbered,
        schema,
        r#"{"config": {"timeout": "soon"}}"#,
    )
    .await
    .text();
    assert!(
        text.contains("Field 'config.timeout' expected number, got string"),
        "{text}"
    );
}

#[tokio::test]
async fn r20_empty_path_is_root_object() {
    let text = call(Style::Numbered, json!({"minProperties": 1}), "{}")
        .await
        .text();
    assert!(text.contains("Root object"), "{text}");
}

#[tokio::test]
async fn r21_all_faults_are_listed_and_numbered() {
    let properties = (1..=12).map(|n| (format!("p{n}"), json!({"type": "string"})));
    let schema = object(serde_json::Value::Object(properties.collect()));
    let text = call(Style::Numbered, schema, "{}").await.text();
    assert!(
        (1..=12).all(|n| text.contains(&format!("\n{n}. Field 'p"))),
        "{text}"
    );
}

/// The document shows the validator's own message; here every keyword has words.
#[tokio::test]
async fn r22_unknown_kinds_have_words() {
    for schema in [
        json!({"not": {}}),
        json!({"oneOf": [{}, {}]}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"propertyNames": {"maxLength": 0}}),
    ] {
        let text = call(Style::Numbered, schema.clone(), r#"{"a": 1}"#)
            .await
            .text();
        assert!(text.contains("1. Field '"), "{schema}: {text}");
    }
}

#[tokio::test]
async fn r23_good_call_is_untouched() {
    let raw = r#"{"file_path": "a", "offset": 1.50, "more": [1e2]}"#;
    let tool = Echo::new("read", file_schema());
    let toolbox = toolbox(Style::Numbered, [&tool]);
    let call = toolbox.check("read", raw).unwrap();
    assert!(call.arguments() == raw && call.changes().is_empty());
}

#[tokio::test]
async fn r24_model_reads_the_error_and_tries_again() {
    use goodcall::{Call, Driver, Finish, Reply, Run, Script};
    let tool = Echo::new("read", file_schema());
    let toolbox = toolbox(Style::Numbered, [&tool]);
    let model = Script::new([
        Reply::calls([Call::new("1", "read", WRONG)]),
        Reply::calls([Call::new("2", "read", r#"{"file_path": "a", "offset": 1}"#)]),
        Reply::text("done"),
    ]);
    let mut run = Run::new().user("read");
    let finish = Driver::new(&toolbox, &model).drive(&mut run).await.unwrap();
    assert_eq!((finish, tool.runs()), (Finish::Done("done".to_owned()), 1));
}

#[tokio::test]
async fn r25_test_valid_parameters_pass() {
    let raw = r#"{"file_path": "a", "offset": 1}"#;
    assert!(call(Style::Numbered, file_schema(), raw).await.is_ok());
}

#[tokio::test]
async fn r26_test_missing_required_field() {
    let text = call(Style::Numbered, file_schema(), r#"{"offset": 1}"#)
        .await
        .text();
    assert!(
        text.contains("Field 'file_path' is required but missing"),
        "{text}"
    );
}

#[tokio::test]
async fn r27_test_type_mismatch() {
    let raw = r#"{"file_path": [], "offset": 1}"#;
    let text = call(Style::Numbered, file_schema(), raw).await.text();
    assert!(
        text.contains("Field 'file_path' expected string, got array"),
        "{text}"
    );
}

#[tokio::test]
async fn r28_test_mcp_tool_is_unaffected() {
    let tool = Echo::new("mcp__a__b", file_schema());
    let toolbox = toolbox(Style::Numbered, [&tool]).pass_through("mcp__");
    assert!(toolbox.invoke("mcp__a__b", WRONG).await.is_ok());
}

#[tokio::test]
async fn r29_test_tool_without_a_schema_is_unaffected() {
    let tool = Echo::new("free", serde_json::Value::Null);
    assert!(
        toolbox(Style::Numbered, [&tool])
            .invoke("free", WRONG)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn r30_test_fields_of_nested_objects() {
    let inner = object(json!({"b": {"type": "boolean"}}));
    let schema = object(json!({"a": {"type": "array", "items": inner}}));
    let text = call(Style::Numbered, schema, r#"{"a": [{"b": true}, {}]}"#)
        .await
        .text();
    assert!(
        text.contains("Field 'a.1.b' is required but missing"),
        "{text}"
    );
}
