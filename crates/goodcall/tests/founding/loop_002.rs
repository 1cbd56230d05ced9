//! Document 002: classes of errors, structured results, and a loop in which the model corrects
//! itself.

use goodcall::goodcall_core::SchemaCache;
use goodcall::wire::Provider;
use goodcall::{
    Args, Call, CallOutcome, Context, Driver, ErrorClass, Event, Failure, Finish, ForModel,
    Message, Phase, Reply, Run, Script, Step, Style, Tool, ToolResult, Toolbox, TypedTool,
    async_trait,
};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

use crate::{Echo, call, object, toolbox};

/// One edit of a file.
#[derive(Args, Clone, Debug)]
struct Edit {
    /// File path
    path: String,
    /// Existing text to replace
    find: String,
    /// Replacement text
    replace: String,
    #[allow(dead_code, reason = "part of the document's schema")]
    replace_all: Option<bool>,
}

/// Edit multiple files
#[derive(Args)]
struct MultiEditArgs {
    edits: Vec<Edit>,
}

struct FsMultiEdit;

#[async_trait]
impl TypedTool for FsMultiEdit {
    type Args = MultiEditArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "fs_multi_edit"
    }

    fn recommendations(&self, class: ErrorClass) -> Vec<String> {
        match class {
            ErrorClass::Validation => {
                vec!["Ensure the file path is provided for each edit".to_owned()]
            }
            _ => Vec::new(),
        }
    }

    async fn execute(&self, args: MultiEditArgs, _: &Context) -> Result<Value, Failure> {
        let edit = &args.edits[0];
        match edit.path.as_str() {
            "missing" => Err(Failure::runtime("File not found: config.json")),
            "/etc" => Err(Failure::new("Invalid file path")
                .recommend("Use relative paths starting from workspace root")
                .recommend("Example: ./src/config.json")
                .data(json!({"path": edit.path}))),
            path => Ok(json!({"edited": path, "find": edit.find, "replace": edit.replace})),
        }
    }
}

fn edits() -> Toolbox {
    let mut toolbox = Toolbox::new();
    toolbox.register(FsMultiEdit).unwrap();
    toolbox
}

const NO_PATH: &str = r#"{"edits": [{"find": "old text", "replace": "new text"}]}"#;
const FIXED: &str =
    r#"{"edits": [{"path": "./config.json", "find": "old text", "replace": "new text"}]}"#;

fn edit_of(path: &str) -> String {
    FIXED.replace("./config.json", path)
}

#[tokio::test]
async fn r01_typed_validation() {
    assert!(!edits().invoke("fs_multi_edit", NO_PATH).await.is_ok());
}

#[tokio::test]
async fn r02_typed_value_reaches_the_tool() {
    let result = edits().invoke("fs_multi_edit", FIXED).await;
    assert_eq!(result.data().unwrap()["edited"], "./config.json");
    #[derive(Args, PartialEq, Eq, Hash)]
    struct UserId(String);
    /// Sums the stars.
    #[goodcall::tool]
    fn stars(by_user: std::collections::HashMap<UserId, u8>) -> u8 {
        by_user.values().sum()
    }
    let mut toolbox = Toolbox::new();
    toolbox.register(Stars).unwrap();
    let result = toolbox.invoke("stars", r#"{"by_user": {"ada": 5}}"#).await;
    assert_eq!(result.text(), "5");
    assert_eq!(stars(Default::default()), 0);
}

#[tokio::test]
async fn r03_json_schema_validation() {
    let schema =
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"minimum": 3}}});
    assert!(!call(Style::Plain, schema, r#"{"a": 1}"#).await.is_ok());
}

#[tokio::test]
async fn r04_no_schema_is_ok() {
    assert!(call(Style::Plain, Value::Null, r#"{"a": 1}"#).await.is_ok());
}

#[test]
fn r05_validators_are_cached_by_content() {
    let cache = SchemaCache::new(8);
    for _ in 0..3 {
        cache.get(&json!({"type": "object"})).unwrap();
    }
    assert_eq!(cache.len(), 1);
}

#[tokio::test]
async fn r06_all_errors_are_returned() {
    let schema = object(json!({"a": {}, "b": {}, "c": {}}));
    let text = call(Style::Plain, schema, "{}").await.text();
    assert_eq!(text.lines().count(), 3);
}

#[tokio::test]
async fn r07_schemas_are_not_read_strictly() {
    let schema = json!({"x-own": 1, "properties": {"a": {"format": "own"}}});
    assert!(call(Style::Plain, schema, r#"{"a": "x"}"#).await.is_ok());
}

#[tokio::test]
async fn r08_errors_are_separated_by_line_breaks() {
    let text = call(Style::Plain, object(json!({"a": {}, "b": {}})), "{}")
        .await
        .text();
    assert_eq!(
        text,
        "Missing required parameter: a\nMissing required parameter: b"
    );
}

#[tokio::test]
async fn r09_kind_of_an_error_is_marked() {
    let toolbox = edits();
    for (raw, class) in [
        (NO_PATH.to_owned(), ErrorClass::Validation),
        (edit_of("missing"), ErrorClass::Runtime),
        (edit_of("/etc"), ErrorClass::Logical),
    ] {
        assert_eq!(
            toolbox.invoke("fs_multi_edit", &raw).await.class(),
            Some(class)
        );
    }
}

#[test]
fn r10_validation_is_not_retryable() {
    assert!(!ErrorClass::Validation.retryable());
    assert!(ErrorClass::Runtime.retryable() && ErrorClass::Logical.retryable());
}

#[tokio::test]
async fn r11_recommendations_by_class() {
    let result = edits().invoke("fs_multi_edit", &edit_of("missing")).await;
    assert_eq!(
        result.structured().recommendations,
        ErrorClass::Runtime.recommendations()
    );
}

#[tokio::test]
async fn r12_recommendations_by_tool() {
    let structured = edits().invoke("fs_multi_edit", NO_PATH).await.structured();
    let last = structured.recommendations.last().unwrap();
    assert_eq!(last, "Ensure the file path is provided for each edit");
}

#[tokio::test]
async fn r13_own_recommendations_in_every_form() {
    let toolbox = edits();
    let raw = edit_of("/etc");
    let result = toolbox.invoke("fs_multi_edit", &raw).await;
    let text = "Invalid file path\nUse relative paths starting from workspace root\n\
                Example: ./src/config.json";
    assert_eq!(result.text(), text);
    let sent = Call::new("1", "fs_multi_edit", raw);
    assert_eq!(toolbox.call(&sent, &Default::default()).await.text(), text);
    assert_eq!(result.structured().recommendations.len(), 2);
}

#[tokio::test]
async fn r14_block_of_a_result() {
    let block = edits()
        .invoke("fs_multi_edit", NO_PATH)
        .await
        .tool_result("toolu_123");
    assert_eq!(block["type"], "tool_result");
    assert_eq!(block["tool_use_id"], "toolu_123");
    assert_eq!(block["is_error"], true);
}

/// The provider refuses an object there, so the content is the object as JSON text.
#[tokio::test]
async fn r15_content_is_an_object() {
    let block = edits()
        .invoke("fs_multi_edit", NO_PATH)
        .await
        .tool_result("toolu_123");
    let content: Value = serde_json::from_str(block["content"].as_str().unwrap()).unwrap();
    assert!(content.is_object());
}

#[tokio::test]
async fn r16_seven_fields_of_the_content() {
    let structured = edits().invoke("fs_multi_edit", NO_PATH).await.structured();
    let content = serde_json::to_value(structured).unwrap();
    for key in [
        "ok",
        "data",
        "error",
        "errorType",
        "retryable",
        "note",
        "recommendations",
    ] {
        assert!(content.get(key).is_some(), "{key}");
    }
    assert_eq!(content["ok"], false);
    assert_eq!(content["errorType"], "validation");
    assert_eq!(content["retryable"], false);
}

#[tokio::test]
async fn r17_data_keeps_the_payload_of_an_error() {
    let structured = edits()
        .invoke("fs_multi_edit", &edit_of("/etc"))
        .await
        .structured();
    assert_eq!(structured.data, json!({"path": "/etc"}));
    let own = ToolResult::error("no").with_data(json!([1]));
    assert_eq!(own.structured().data, json!([1]));
}

#[tokio::test]
async fn r18_error_is_one_line() {
    for style in [Style::Model, Style::Structured] {
        let mut toolbox = Toolbox::new().style(style);
        toolbox.register(FsMultiEdit).unwrap();
        let structured = toolbox.invoke("fs_multi_edit", NO_PATH).await.structured();
        let error = structured.error.unwrap();
        assert_eq!(error, "Invalid parameters: edits.0.path: Required");
    }
}

/// `model` writes brackets, which is how code names an element; the other styles write dots.
#[tokio::test]
async fn r19_path_of_an_element() {
    let mut toolbox = Toolbox::new().style(Style::Plain);
    toolbox.register(FsMultiEdit).unwrap();
    let text = toolbox.invoke("fs_multi_edit", NO_PATH).await.text();
    assert_eq!(text, "Missing required parameter: edits.0.path");
    assert!(
        edits()
            .invoke("fs_multi_edit", NO_PATH)
            .await
            .text()
            .contains("edits[0].path")
    );
}

/// Runs the conversation of the document: the wrong call, the corrected one, the answer.
async fn conversation() -> (Run, Vec<Event>) {
    let toolbox = edits();
    let model = Script::new([
        Reply::calls([Call::new("toolu_123", "fs_multi_edit", NO_PATH)]),
        Reply::calls([Call::new("toolu_124", "fs_multi_edit", FIXED)]),
        Reply::text("Edited."),
    ]);
    let events = Mutex::new(Vec::new());
    let mut run = Run::new().user("Edit it.");
    let driver = Driver::new(&toolbox, &model)
        .on_event(|event: &Event| events.lock().unwrap().push(event.clone()));
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("Edited.".to_owned()));
    drop(driver);
    (run, events.into_inner().unwrap())
}

#[tokio::test]
async fn r20_flow_of_nine_steps() {
    let (run, _) = conversation().await;
    assert_eq!(run.steps(), 3);
}

#[tokio::test]
async fn r21_result_joins_the_messages() {
    let (run, _) = conversation().await;
    let messages: Value =
        serde_json::from_str(&run.messages_for(Provider::Anthropic).unwrap()).unwrap();
    assert_eq!(messages[2]["role"], "user");
    assert_eq!(messages[2]["content"][0]["is_error"], true);
    let bedrock = run.messages_for(Provider::Bedrock).unwrap();
    assert!(bedrock.contains(r#""status":"error""#) && bedrock.contains(r#""status":"success""#));
    let gemini = run.messages_for(Provider::Gemini).unwrap();
    assert!(gemini.contains(r#""response":{"error":"#), "{gemini}");
}

/// The history is what was executed: a mended call has the arguments that its tool got.
#[tokio::test]
async fn r21_mended_call_is_replayed_as_it_ran() {
    let tool = Echo::new("add", object(json!({"title": {"type": "string"}})));
    let toolbox = toolbox(Style::Model, [&tool]);
    let model = Script::new([
        Reply::calls([Call::new("1", "add", "```json\n{'title': 'milk',}\n```")]),
        Reply::text("done"),
    ]);
    let mut run = Run::new().system("s").user("u");
    Driver::new(&toolbox, &model).drive(&mut run).await.unwrap();
    for provider in [
        Provider::OpenAi,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Bedrock,
    ] {
        let text = run.messages_for(provider).unwrap().replace('\\', "");
        assert!(text.contains(r#"{"title":"milk"}"#), "{provider:?}: {text}");
    }
}

#[test]
fn r22_next_round_begins_by_itself() {
    let mut run = Run::new().user("u");
    let wrong = Call::new("1", "t", "{");
    run.replied(Reply::calls([wrong.clone()])).unwrap();
    let result = ToolResult::failure(ErrorClass::Validation, "no");
    run.executed(CallOutcome::new(&wrong, result)).unwrap();
    assert!(matches!(run.next(Duration::ZERO), Step::CallModel { .. }));
}

#[tokio::test]
async fn r23_exceptions_are_caught() {
    /// Crashes.
    #[goodcall::tool]
    async fn crash() -> Result<(), std::io::Error> {
        panic!("index 7 is out of bounds")
    }
    let mut toolbox = Toolbox::new();
    toolbox.register(Crash).unwrap();
    assert_eq!(
        toolbox.invoke("crash", "{}").await.class(),
        Some(ErrorClass::Runtime)
    );
}

/// The message of `Failure::runtime`, `for_model` and `shown_to_model` is the model's. What another
/// error says may hold secrets, so it is shown where the host asks for it.
#[tokio::test]
async fn r24_message_as_thrown() {
    let result = edits().invoke("fs_multi_edit", &edit_of("missing")).await;
    assert_eq!(result.text(), "File not found: config.json");
    /// Fails with an error of the system.
    #[goodcall::tool]
    async fn read() -> Result<(), std::io::Error> {
        Err(std::io::Error::other("File not found: config.json"))
    }
    /// Fails with a text for the model.
    #[goodcall::tool]
    async fn show() -> Result<(), Failure> {
        read().await.shown_to_model()
    }
    let mut toolbox = Toolbox::new();
    toolbox.register(Read).unwrap();
    toolbox.register(Show).unwrap();
    assert!(
        !toolbox
            .invoke("read", "{}")
            .await
            .text()
            .contains("config.json")
    );
    assert_eq!(
        toolbox.invoke("show", "{}").await.text(),
        "File not found: config.json"
    );
    let toolbox = toolbox.show_errors();
    assert_eq!(
        toolbox.invoke("read", "{}").await.text(),
        "File not found: config.json"
    );
}

#[tokio::test]
async fn r25_runtime_error_is_retryable() {
    let result = edits().invoke("fs_multi_edit", &edit_of("missing")).await;
    assert!(result.structured().retryable);
}

#[test]
fn r26_descriptions_minima_and_defaults() {
    /// Writes a file.
    #[goodcall::tool]
    fn write(
        /// File path, must be relative to workspace
        #[tool(length(min = 1))]
        path: String,
        /// Create parent directories if they don't exist
        #[tool(default = false)]
        create_dirs: bool,
    ) -> String {
        format!("{path} {create_dirs}")
    }
    let schema = Write.parameters_schema();
    let path = &schema["properties"]["path"];
    assert_eq!(
        path["description"],
        "File path, must be relative to workspace"
    );
    assert_eq!(
        (&path["minLength"], &schema["required"]),
        (&json!(1), &json!(["path"]))
    );
    assert_eq!(schema["properties"]["create_dirs"]["default"], false);
    assert_eq!(write("a".to_owned(), true), "a true");
}

#[tokio::test]
async fn r27_three_kinds_are_told_apart() {
    let toolbox = edits();
    let mut names = Vec::new();
    for raw in [NO_PATH.to_owned(), edit_of("missing"), edit_of("/etc")] {
        let structured = toolbox.invoke("fs_multi_edit", &raw).await.structured();
        names.extend(structured.error_type);
    }
    assert_eq!(names, ["validation", "runtime", "logical"]);
}

#[tokio::test]
async fn r28_event_of_an_error() {
    let (_, events) = conversation().await;
    let error = events.iter().find_map(|event| match event {
        Event::Error(error) if error.phase == Phase::Tool => Some(error),
        _ => None,
    });
    let error = error.unwrap();
    assert_eq!(error.detail.error_type, Some("validation"));
    assert!(!error.detail.recommendations.is_empty() && !error.message.is_empty());
    let json = serde_json::to_value(Event::Error(error.clone())).unwrap();
    assert_eq!(
        (&json["phase"], &json["detail"]["errorType"]),
        (&json!("tool"), &json!("validation"))
    );
}

#[tokio::test]
async fn r29_event_of_an_executed_tool() {
    let (_, events) = conversation().await;
    let event = events
        .iter()
        .find(|event| event.name() == "tool_executed")
        .unwrap();
    let event = serde_json::to_value(event).unwrap();
    let record = &event["call"];
    assert_eq!(
        (&record["state"], &record["name"]),
        (&json!("FAILED"), &json!("fs_multi_edit"))
    );
    assert!(record["error"].is_string());
    assert_eq!(record["result"]["errorType"], "validation");
}

#[tokio::test]
async fn r30_history_holds_the_errors() {
    let (run, _) = conversation().await;
    let errors = run.messages().iter().filter_map(|message| match message {
        Message::Tools { outcomes, .. } => outcomes.iter().find(|outcome| !outcome.is_ok()),
        _ => None,
    });
    assert_eq!(errors.count(), 1);
}

#[tokio::test]
async fn r31_history_is_filtered_by_is_error() {
    let (run, _) = conversation().await;
    let messages = run.messages_for(Provider::Anthropic).unwrap();
    let messages: Vec<Value> = serde_json::from_str(&messages).unwrap();
    let mut found = 0;
    for message in &messages {
        if message["role"] == "user" && message["content"].is_array() {
            for block in message["content"].as_array().unwrap() {
                if block["type"] == "tool_result" && block["is_error"] == true {
                    found += 1;
                }
            }
        }
    }
    assert_eq!(found, 1);
}

#[tokio::test]
async fn r32_events_are_a_stream() {
    use futures_util::StreamExt;
    let (toolbox, model) = (edits(), Script::new([Reply::text("hi")]));
    let mut driver = Driver::new(&toolbox, &model);
    let events = driver.events();
    driver.drive(&mut Run::new().user("u")).await.unwrap();
    drop(driver);
    let names: Vec<_> = events.map(|event| event.name()).collect().await;
    assert_eq!(names, ["model_called", "finished"]);
}

#[tokio::test]
async fn r33_conversation_of_the_document() {
    let (run, _) = conversation().await;
    let texts: Vec<_> = run
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tools { outcomes, .. } => Some(outcomes[0].is_ok()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [false, true]);
}
