//! Tests the driver with an OpenAI-compatible server on the loopback: replies that are whole,
//! streamed, cut off or failing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod loopback;

use std::sync::Mutex;

use goodcall::openai::OpenAi;
use goodcall::{Driver, Finish, Message, Model, Prompt, Run, StopReason, Toolbox};
use loopback::{Respond, serve};
use serde_json::{Value, json};

/// Multiplies.
#[goodcall::tool(inline)]
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

fn toolbox() -> Toolbox {
    let mut toolbox = Toolbox::new();
    toolbox.register(Multiply).unwrap();
    toolbox
}

fn whole_call(arguments: &str) -> Respond {
    whole_call_of("multiply", arguments)
}

fn whole_call_of(name: &str, arguments: &str) -> Respond {
    Respond::Whole(
        json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": [{"id": "call_a", "type": "function",
        "function": {"name": name, "arguments": arguments}}]}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7}}),
    )
}

fn whole_text(text: &str) -> Respond {
    Respond::Whole(json!({"choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": text}}]}))
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn last(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

#[tokio::test]
async fn conversation_with_a_wrong_call_recovers() {
    let (url, requests) = serve(vec![
        whole_call(r#"{"a": 6, "c": [7]}"#),
        whole_call_of("functions.multiply", r#"{"a": 6, "b": 7}"#),
        whole_text("It is 42."),
    ])
    .await;
    let toolbox = toolbox();
    let model = OpenAi::new(url, "m")
        .unwrap()
        .key("secret")
        .with("temperature", 0);
    let mut run = Run::new().system("Be exact.").user("6 times 7?");
    let finish = Driver::new(&toolbox, &model).drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("It is 42.".to_owned()));
    let requests = requests.lock().unwrap();
    assert_eq!(requests[0]["model"], "m");
    assert_eq!(requests[0]["temperature"], 0);
    assert_eq!(requests[0]["tools"][0]["function"]["name"], "multiply");
    let messages = requests[2]["messages"].as_array().unwrap();
    let roles: Vec<_> = messages
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "assistant", "tool"]
    );
    assert!(
        messages[3]["content"]
            .as_str()
            .unwrap()
            .starts_with("The tool `multiply` was not run")
    );
    assert_eq!(messages[5]["content"], "42");
    // The name was cleaned, and the change is recorded.
    let Message::Tools { outcomes, .. } = &run.messages()[5] else {
        panic!()
    };
    assert_eq!(outcomes[0].changes[0].rule, "tool-name");
    // The server used one id twice; the history does not.
    assert_eq!(
        messages[3]["tool_call_id"],
        messages[2]["tool_calls"][0]["id"]
    );
    assert_ne!(messages[3]["tool_call_id"], messages[5]["tool_call_id"]);
    assert!(!format!("{model:?}").contains("secret"));
}

#[tokio::test]
async fn streamed_conversation_is_assembled() {
    let (url, requests) = serve(vec![
        Respond::Stream(
            vec![
                delta(json!({"role": "assistant", "reasoning_content": "6 times "})),
                delta(json!({"reasoning_content": "7"})),
                delta(json!({"content": "Grüße, "})),
                delta(json!({"content": "ich rechne."})),
                delta(
                    json!({"tool_calls": [{"index": 0, "id": "x", "type": "function",
                    "function": {"name": "multiply", "arguments": ""}}]}),
                ),
                delta(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\": 6,"}}]}),
                ),
                delta(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": " \"b\": 7}"}}]}),
                ),
                // A second call under the same index.
                delta(json!({"tool_calls": [{"index": 0, "id": "y",
                    "function": {"name": "multiply", "arguments": "{\"a\": 2, \"b\": 2}"}}]})),
                last("tool_calls"),
                json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
            ],
            true,
        ),
        Respond::Stream(vec![delta(json!({"content": "42"})), last("stop")], true),
    ])
    .await;
    let toolbox = toolbox();
    let model = OpenAi::new(url, "m").unwrap();
    let mut run = Run::new().user("6 times 7?");
    let words = Mutex::new(String::new());
    let usage = Mutex::new(None);
    let driver = Driver::new(&toolbox, &model)
        .on_text(|text| words.lock().unwrap().push_str(text))
        .on_event(|event| {
            if let goodcall::Event::ModelCalled {
                usage: Some(tokens),
                ..
            } = event
            {
                *usage.lock().unwrap() = Some(tokens.input_tokens);
            }
        });
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("42".to_owned()));
    assert_eq!(*words.lock().unwrap(), "Grüße, ich rechne.42");
    assert_eq!(*usage.lock().unwrap(), Some(3));
    assert_eq!(requests.lock().unwrap()[0]["stream"], true);
    // A server that sends reasoning wants it back beside the calls that it led to.
    let again = &requests.lock().unwrap()[1]["messages"][1];
    assert_eq!(again["reasoning_content"], "6 times 7");
    let Message::Tools { outcomes, .. } = &run.messages()[2] else {
        panic!()
    };
    let texts: Vec<_> = outcomes.iter().map(goodcall::CallOutcome::text).collect();
    assert_eq!(texts, ["42", "4"]);
}

#[tokio::test]
async fn broken_stream_is_cut_off_and_not_run() {
    let broken = || {
        let begun = json!({"tool_calls": [{"index": 0, "id": "x",
            "function": {"name": "multiply", "arguments": "{\"a\": 6, \"b\": 7"}}]});
        Respond::Stream(vec![delta(begun)], false)
    };
    let (url, _) = serve(vec![broken(), whole_stream("sorry")]).await;
    let toolbox = toolbox();
    let model = OpenAi::new(url, "m").unwrap();
    let mut run = Run::new().user("6 times 7?");
    Driver::new(&toolbox, &model)
        .on_text(|_| {})
        .drive(&mut run)
        .await
        .unwrap();
    let Message::Tools { outcomes, .. } = &run.messages()[2] else {
        panic!()
    };
    assert_eq!(outcomes[0].class(), Some(goodcall::ErrorClass::Truncated));
}

fn whole_stream(text: &str) -> Respond {
    Respond::Stream(vec![delta(json!({"content": text})), last("stop")], true)
}

#[tokio::test]
async fn reply_cut_by_the_length_limit_is_cut_off() {
    let cut = json!({"choices": [{"finish_reason": "length", "message": {"content": "It is f"}}]});
    let (url, _) = serve(vec![Respond::Whole(cut)]).await;
    let model = OpenAi::new(url, "m").unwrap();
    let prompt = Prompt::new(&[], &[]);
    assert_eq!(model.reply(prompt).await.unwrap().stop, StopReason::CutOff);
}

#[tokio::test]
async fn busy_server_is_retried() {
    let (url, _) = serve(vec![Respond::Status(503, "busy"), whole_text("hello")]).await;
    let toolbox = toolbox();
    let model = OpenAi::new(url, "m").unwrap();
    let finish = Driver::new(&toolbox, &model)
        .drive(&mut Run::new().user("u"))
        .await;
    assert_eq!(finish.unwrap(), Finish::Done("hello".to_owned()));

    let (url, requests) = serve(vec![Respond::Status(401, "no key"), whole_text("never")]).await;
    let model = OpenAi::new(url, "m").unwrap();
    let error = Driver::new(&toolbox, &model)
        .drive(&mut Run::new().user("u"))
        .await;
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "the model gave no reply: HTTP 401 Unauthorized: no key"
    );
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn unreachable_server_is_reported_briefly() {
    let model = OpenAi::new("http://127.0.0.1:9/v1", "m").unwrap();
    let toolbox = toolbox();
    let driver = Driver::new(&toolbox, &model).model_retries(0);
    let error = driver.drive(&mut Run::new().user("u")).await.unwrap_err();
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[tokio::test]
async fn reply_without_an_end_is_an_error() {
    let (url, _) = serve(vec![Respond::Endless]).await;
    let model = OpenAi::new(url, "m").unwrap();
    let error = model.reply(Prompt::new(&[], &[])).await.unwrap_err();
    assert_eq!(error.to_string(), "the reply is longer than 67108864 bytes");
}
