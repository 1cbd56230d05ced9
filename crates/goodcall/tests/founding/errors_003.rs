//! Document 003: an error that is an instruction to the model, and a type of its own.

use std::error::Error;
use std::time::Duration;

use goodcall::{
    Args, Call, CallOutcome, ErrorClass, Escalation, LoopRules, Reply, Run, Step, Style,
    ToolArgError, ToolResult, schema_of, validate_args,
};
use serde_json::json;

use crate::{call, object};

/// An edit of a file.
#[derive(Args, Debug)]
struct EditArgs {
    /// Absolute path to the file to edit
    #[schemars(length(min = 1))]
    file_path: String,
    /// Exact string to find in the file (must match exactly)
    old_string: String,
    /// String to replace old_string with
    new_string: String,
    /// Create file if it does not exist
    #[serde(default)]
    create_if_missing: bool,
}

const WHOLE: &str = r#"{"file_path": "a", "old_string": "b", "new_string": "c"}"#;

#[test]
fn r01_text_for_a_missing_field() {
    let error = validate_args::<EditArgs>(r#"{"file_path": "a", "new_string": "c"}"#).unwrap_err();
    assert_eq!(
        error.message,
        "Please rewrite the input with valid arguments. Errors: old_string: Required"
    );
}

#[tokio::test]
async fn r02_text_for_several_faults() {
    let schema = object(json!({"file_path": {"type": "string"}, "limit": {"type": "number"}}));
    assert_eq!(
        call(Style::Instruction, schema, r#"{"limit": "many"}"#)
            .await
            .text(),
        "Please rewrite the input with valid arguments. Errors: file_path: Required; limit: expected \
         number, got string"
    );
}

/// A tool's own words have no path. A fault of the schema at the root says that it is the root.
#[test]
fn r03_fault_of_the_root() {
    let own = goodcall::Invalid::from("give a or b");
    assert!(
        own.text(Style::Instruction)
            .ends_with("Errors: give a or b")
    );
}

#[tokio::test]
async fn r04_five_faults_at_most() {
    let properties = (1..=9).map(|n| (format!("p{n}"), json!({})));
    let schema = object(serde_json::Value::Object(properties.collect()));
    let text = call(Style::Instruction, schema, "{}").await.text();
    assert_eq!(text.matches("Required").count(), 5);
    assert!(text.ends_with("and 4 more"), "{text}");
}

#[tokio::test]
async fn r05_hundred_characters_for_each_fault() {
    let long = "x".repeat(300);
    let schema = json!({"properties": {"a": {"pattern": long}}});
    let text = call(Style::Instruction, schema, r#"{"a": "b"}"#)
        .await
        .text();
    let fault = text.split_once("Errors: ").unwrap().1;
    assert!(fault.chars().count() <= 101, "{fault}");
}

#[tokio::test]
async fn r06_union_is_explained_by_the_branch_that_was_meant() {
    let branch = |kind: &str, key: &str| {
        json!({"type": "object", "properties": {"kind": {"const": kind}, key: {"type": "string"}},
            "required": ["kind", key], "additionalProperties": false})
    };
    let schema =
        object(json!({"op": {"anyOf": [branch("read", "path"), branch("run", "command")]}}));
    let text = call(Style::Instruction, schema, r#"{"op": {"kind": "run"}}"#)
        .await
        .text();
    assert!(
        text.contains("op.command: Required") && !text.contains("path"),
        "{text}"
    );
}

#[test]
fn r07_tool_arg_error_is_a_type() {
    let error: ToolArgError = validate_args::<EditArgs>("{}").unwrap_err();
    assert_eq!(error.class, ErrorClass::Validation);
    assert_eq!(error.faults.len(), 3);
}

#[test]
fn r08_tool_arg_error_is_an_error() {
    fn read() -> Result<EditArgs, Box<dyn Error>> {
        Ok(validate_args("{}")?)
    }
    let error = read().unwrap_err();
    assert!(error.is::<ToolArgError>());
    assert!(
        error
            .to_string()
            .starts_with("Please rewrite the input with valid arguments.")
    );
}

#[test]
fn r09_validate_args_returns_the_type() {
    let args: EditArgs = validate_args(WHOLE).unwrap();
    assert_eq!(
        (args.file_path.as_str(), args.old_string.as_str()),
        ("a", "b")
    );
    assert_eq!(
        (args.new_string.as_str(), args.create_if_missing),
        ("c", false)
    );
    // Wide in: a call with one reading is read.
    assert!(validate_args::<EditArgs>(&WHOLE.replace('"', "'")).is_ok());
}

/// Plays equal turns, and returns the first at which the user is asked.
fn asked_at(arguments: &str, result: impl Fn(usize) -> ToolResult) -> Option<usize> {
    let mut run = Run::new().user("u");
    for turn in 1..=6 {
        let sent = Call::new(turn.to_string(), "edit", arguments);
        run.replied(Reply::calls([sent.clone()])).unwrap();
        run.executed(CallOutcome::new(&sent, result(turn))).unwrap();
        if let Step::AskUser { .. } = run.next(Duration::ZERO) {
            return Some(turn);
        }
    }
    None
}

#[test]
fn r10_argument_error_does_not_end_the_loop() {
    let mut run = Run::new().user("u");
    let sent = Call::new("1", "edit", "{}");
    run.replied(Reply::calls([sent.clone()])).unwrap();
    let error = validate_args::<EditArgs>("{}").unwrap_err();
    run.executed(CallOutcome::new(&sent, error.into())).unwrap();
    assert!(matches!(run.next(Duration::ZERO), Step::CallModel { .. }));
}

/// The model is told, too: it may have to take another way.
#[test]
fn r11_runtime_error_notifies_the_user() {
    let audience = ErrorClass::Runtime.audience();
    assert!(audience.user && audience.operator && audience.model);
    assert!(!ErrorClass::Validation.audience().user);
}

#[test]
fn r12_three_equal_invalid_calls_ask_the_user() {
    let invalid = |_| validate_args::<EditArgs>("{}").unwrap_err().into();
    assert_eq!(asked_at("{}", invalid), Some(3));
}

#[test]
fn r13_three_equal_valid_calls_ask_the_user() {
    assert_eq!(asked_at(WHOLE, |_| ToolResult::success("ok")), Some(3));
    // The results of polling differ.
    assert_eq!(asked_at(WHOLE, ToolResult::success), None);
}

#[test]
fn r14_three_equal_runtime_errors_ask_the_user() {
    let down = |_| ToolResult::failure(ErrorClass::Runtime, "timed out");
    assert_eq!(asked_at(WHOLE, down), Some(3));
}

#[test]
fn r15_thresholds_are_set() {
    let rules = LoopRules::default().same_call(2).ask_at(2).steers(0);
    let mut run = Run::new().user("u").loop_rules(rules);
    for id in ["1", "2"] {
        let sent = Call::new(id, "edit", "{}");
        run.replied(Reply::calls([sent.clone()])).unwrap();
        run.executed(CallOutcome::new(&sent, ToolResult::success("ok")))
            .unwrap();
    }
    assert_eq!(run.loop_report().unwrap().escalation, Escalation::Ask);
}

#[test]
fn r16_comments_do_not_hide_a_loop() {
    let mut run = Run::new().user("u");
    for turn in ["1", "2", "3"] {
        let sent = Call::new(turn, "edit", "{}");
        let mut reply = Reply::calls([sent.clone()]);
        reply.text = format!("Now it will work, try {turn}.");
        run.replied(reply).unwrap();
        let error = validate_args::<EditArgs>("{}").unwrap_err();
        run.executed(CallOutcome::new(&sent, error.into())).unwrap();
    }
    assert!(matches!(run.next(Duration::ZERO), Step::AskUser { .. }));
}

#[test]
fn r17_one_definition_for_schema_type_and_documentation() {
    let schema = schema_of::<EditArgs>();
    let description = &schema["properties"]["file_path"]["description"];
    assert_eq!(description, "Absolute path to the file to edit");
    assert_eq!(schema["description"], "An edit of a file.");
}

#[test]
fn r18_optional_with_a_default() {
    let schema = schema_of::<EditArgs>();
    assert_eq!(schema["properties"]["create_if_missing"]["default"], false);
    assert_eq!(schema["required"].as_array().unwrap().len(), 3);
}

#[test]
fn r19_value_out_of_range() {
    let error = validate_args::<EditArgs>(&WHOLE.replace(r#""a""#, r#""""#)).unwrap_err();
    assert!(
        error
            .message
            .contains("file_path: must have at least 1 character"),
        "{error}"
    );
}

/// The document validates inside `execute`; here a tool is not run before its arguments are valid.
#[tokio::test]
async fn r20_validation_is_before_execute() {
    assert!(
        !call(Style::Instruction, schema_of::<EditArgs>(), "{}")
            .await
            .is_ok()
    );
}
