//! Document 004: the request with raw and parsed arguments, errors and warnings.

use goodcall::wire::{Provider, reply};
use goodcall::{Context, Definition, Formats, Policy, Style, ToolCallRequest, Toolbox};
use serde_json::{Value, json};

use crate::{Echo, object, toolbox};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "a": {"type": "boolean"}, "b": {"type": "boolean"}, "c": {"type": ["null", "integer"]},
            "count": {"type": "integer"}, "when": {"type": "string", "format": "date"},
            "text": {"type": "string"},
        },
    })
}

/// Reads a request without running the tool.
fn read_with(schema: Value, raw: &str) -> ToolCallRequest {
    let tool = Echo::new("t", schema);
    let toolbox = toolbox(Style::Record, [&tool]);
    let mut request = ToolCallRequest::new("t", "call_1", raw);
    let _ = toolbox.read_request(&mut request);
    assert_eq!(tool.runs(), 0);
    request
}

fn read(raw: &str) -> ToolCallRequest {
    read_with(schema(), raw)
}

#[test]
fn r01_record_of_six_fields() {
    let record = serde_json::to_value(read("{}")).unwrap();
    let fields: Vec<_> = record
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for field in [
        "tool_name",
        "tool_call_id",
        "raw_arguments",
        "arguments",
        "parse_error",
        "parse_warning",
    ] {
        assert!(fields.contains(&field), "{field}");
    }
}

#[test]
fn r02_raw_arguments_are_kept() {
    for raw in ["{\"count\":  1}", "{]", ""] {
        assert_eq!(read(raw).raw_arguments, raw);
    }
}

#[test]
fn r03_arguments_are_nested_values() {
    let request = read(r#"{"x": {"y": [1, null, "z"]}}"#);
    assert_eq!(request.arguments, Some(json!({"x": {"y": [1, null, "z"]}})));
}

#[test]
fn r04_arguments_are_partial_beside_a_parse_error() {
    let request = read(r#"{"count": 1, "text": "unfinis"#);
    assert!(
        request
            .parse_error
            .unwrap()
            .starts_with("arguments were cut off")
    );
    assert_eq!(request.arguments.unwrap()["count"], 1);
}

#[test]
fn r05_arguments_of_the_wrong_shape_are_kept() {
    let request = read(r#"{"count": "many"}"#);
    assert!(request.parse_error.unwrap().contains("count"));
    assert_eq!(request.arguments, Some(json!({"count": "many"})));
}

#[test]
fn r06_parse_error_for_bad_json() {
    assert!(read("{]").parse_error.is_some());
}

#[test]
fn r07_parse_error_for_what_is_not_an_object() {
    let request = read("[1]");
    assert!(request.parse_error.unwrap().contains("not an object"));
    assert_eq!(request.arguments, None);
}

#[test]
fn r08_warnings_are_joined() {
    let warning = read(r#"{"a": "true", "b": "false"}"#)
        .parse_warning
        .unwrap();
    assert_eq!(warning.split("; ").count(), 2);
}

/// Only where the schema wants a boolean or null: `"true"` may be a text.
#[test]
fn r09_strings_are_promoted() {
    let request = read(r#"{"a": "true", "b": "false", "c": "null", "text": "true"}"#);
    let expected = json!({"a": true, "b": false, "c": null, "text": "true"});
    assert_eq!(request.arguments, Some(expected));
}

/// The words of the document, after the place: with several warnings one has to know which is which.
#[test]
fn r10_texts_of_the_warnings() {
    for (raw, warning) in [
        (
            r#"{"a": "true"}"#,
            "a: string literal converted to boolean true",
        ),
        (
            r#"{"b": "false"}"#,
            "b: string literal converted to boolean false",
        ),
        (r#"{"c": "null"}"#, "c: string literal converted to null"),
    ] {
        assert_eq!(read(raw).parse_warning.as_deref(), Some(warning));
    }
}

/// Without a schema nothing says that `"true"` is not a text.
#[test]
fn r11_no_promotion_without_a_schema() {
    let request = read_with(Value::Null, r#"{"a": "true"}"#);
    assert_eq!(
        (request.arguments, request.parse_warning),
        (Some(json!({"a": "true"})), None)
    );
}

/// Integers of 64 bits, then `f64`. A larger integer is refused and never rounded; a decimal becomes
/// the nearest `f64` in a `Value`, and keeps its digits for typed tools and in the raw text.
#[test]
fn r12_numbers() {
    let request = read(r#"{"x": 9223372036854775807, "y": 18446744073709551615, "z": 0.1}"#);
    assert_eq!(
        request.arguments.unwrap(),
        json!({"x": i64::MAX, "y": u64::MAX, "z": 0.1})
    );
    assert!(
        read(r#"{"x": 12345678901234567890123}"#)
            .parse_error
            .is_some()
    );
}

/// A number beyond `f64` is refused with its own reason.
#[test]
fn r13_number_beyond_a_double() {
    let error = read(r#"{"x": 1e400}"#).parse_error.unwrap();
    assert!(
        error.contains("x: does not fit a 64-bit number: 1e400"),
        "{error}"
    );
}

/// Reports what the tool learns of its call.
#[goodcall::tool]
async fn learn(a: bool, context: &Context) -> Value {
    let request = context.request();
    json!([
        a,
        request.parse_warning,
        request.raw_arguments,
        request.tool_call_id
    ])
}

async fn learned(raw: &str) -> Value {
    let mut toolbox = Toolbox::new();
    toolbox.register(Learn).unwrap();
    let mut request = ToolCallRequest::new("learn", "call_7", raw);
    let result = toolbox.invoke_request(&mut request).await;
    result.data().cloned().unwrap_or_default()
}

#[tokio::test]
async fn r14_tool_reads_the_arguments() {
    assert_eq!(learned(r#"{"a": true}"#).await[0], true);
}

#[tokio::test]
async fn r15_tool_sees_the_warnings() {
    let learned = learned(r#"{"a": "true"}"#).await;
    assert_eq!(learned[1], "a: string literal converted to boolean true");
}

/// The tool never runs then.
#[tokio::test]
async fn r16_tool_does_not_run_with_a_parse_error() {
    assert_eq!(learned("{]").await, Value::Null);
}

#[tokio::test]
async fn r17_tool_sees_the_raw_arguments() {
    let learned = learned(r#"{"a":   "true"}"#).await;
    assert_eq!(
        (&learned[2], &learned[3]),
        (&json!(r#"{"a":   "true"}"#), &json!("call_7"))
    );
}

#[test]
fn r18_parsing_is_driven_by_the_schema() {
    assert_eq!(
        read(r#"{"count": "5", "text": "5"}"#).arguments,
        Some(json!({"count": 5, "text": "5"}))
    );
}

#[test]
fn r19_number_strings() {
    for (text, number) in [
        ("12", json!(12)),
        ("2.50", json!(2.5)),
        ("1e3", json!(1000)),
    ] {
        let schema = object(json!({"n": {"type": "number"}}));
        let request = read_with(schema, &format!(r#"{{"n": "{text}"}}"#));
        assert_eq!(request.arguments, Some(json!({"n": number})), "{text}");
    }
}

/// A date with one reading; 03/04/2025 has two. `format` is an annotation unless the policy asserts it.
#[test]
fn r20_date_strings() {
    let tool = Echo::new("t", schema());
    let policy = Policy::safe().with_formats(Formats::Assert);
    let toolbox = toolbox(Style::Record, [&tool]).policy(policy);
    let mut request = ToolCallRequest::new("t", "1", r#"{"when": "2025/04/03"}"#);
    assert!(toolbox.read_request(&mut request).is_ok());
    assert_eq!(request.arguments, Some(json!({"when": "2025-04-03"})));
    let mut request = ToolCallRequest::new("t", "1", r#"{"when": "03/04/2025"}"#);
    assert!(toolbox.read_request(&mut request).is_err());
}

#[test]
fn r21_one_parser_for_all_providers() {
    let tools = [Definition::new("t", "", None)];
    let openai = r#"{"choices": [{"message": {"tool_calls": [{"id": "1", "type": "function",
        "function": {"name": "t", "arguments": "{\"count\": \"5\"}"}}]}}]}"#;
    let anthropic = r#"{"content": [{"type": "tool_use", "id": "1", "name": "t",
        "input": {"count": "5"}}]}"#;
    let gemini = r#"{"candidates": [{"content": {"parts": [{"functionCall": {"name": "t",
        "args": {"count": "5"}}}]}}]}"#;
    for (provider, body) in [
        (Provider::OpenAi, openai),
        (Provider::Anthropic, anthropic),
        (Provider::Gemini, gemini),
    ] {
        let reply = reply(provider, body, &tools).unwrap();
        let request = read(&reply.calls[0].arguments);
        assert_eq!(request.arguments, Some(json!({"count": 5})), "{provider:?}");
    }
}

#[test]
fn r22_promotion_can_be_switched_off() {
    let tool = Echo::new("t", schema());
    let toolbox = toolbox(Style::Record, [&tool]).policy(Policy::strict());
    let mut request = ToolCallRequest::new("t", "1", r#"{"a": "true"}"#);
    assert!(toolbox.read_request(&mut request).is_err());
    assert!(request.parse_error.is_some());
}

#[tokio::test]
async fn r23_request_is_read_without_running() {
    let tool = Echo::new("t", schema());
    let toolbox = toolbox(Style::Record, [&tool]);
    let mut request = ToolCallRequest::new("t", "1", r#"{"count": "5"}"#);
    let call = toolbox.read_request(&mut request).unwrap();
    assert_eq!((tool.runs(), call.arguments()), (0, r#"{"count":5}"#));
    assert_eq!(call.run().await.data(), Some(&json!({"count": 5})));
    assert_eq!(tool.runs(), 1);
}

#[tokio::test]
async fn r24_request_of_a_typed_tool_with_a_large_number() {
    /// Takes a large number.
    #[goodcall::tool]
    fn large(n: u128) -> String {
        n.to_string()
    }
    let mut toolbox = Toolbox::new();
    toolbox.register(Large).unwrap();
    let mut request = ToolCallRequest::new("large", "1", r#"{"n": 12345678901234567890123}"#);
    let result = toolbox.invoke_request(&mut request).await;
    assert_eq!(result.text(), "12345678901234567890123");
    assert_eq!((request.arguments, request.parse_error), (None, None));
    let warning = "n: 12345678901234567890123 does not fit a 64-bit number exactly";
    assert_eq!(request.parse_warning.as_deref(), Some(warning));
    assert_eq!(large(1), "1");
}
