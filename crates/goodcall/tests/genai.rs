//! The driver over `genai`, against a server on the loopback.
#![cfg(feature = "genai")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

#[allow(dead_code, reason = "shared with another test")]
mod loopback;

use std::sync::Mutex;

use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{ModelIden, ServiceTarget};
use goodcall::genai::{Client, GenAi};
use goodcall::{Driver, Finish, Run, Toolbox};
use loopback::{Respond, serve};
use serde_json::json;

/// Multiplies.
#[goodcall::tool(inline)]
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}

/// A client whose every model is behind this URL.
fn client(url: String) -> Client {
    let resolver = ServiceTargetResolver::from_resolver_fn(
        move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
            Ok(ServiceTarget {
                endpoint: Endpoint::from_owned(format!("{url}/")),
                auth: AuthData::from_single("key"),
                model: ModelIden::new(AdapterKind::OpenAI, target.model.model_name),
            })
        },
    );
    let _ = GenAi::new("installs the cryptography");
    Client::builder()
        .with_service_target_resolver(resolver)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_whole_conversation_with_a_mistake_in_it() {
    let call = |arguments: &str| {
        Respond::Whole(
            json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "multiply", "arguments": arguments}}]}}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7}}),
        )
    };
    let words = Respond::Whole(json!({"choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "It is 42."}}]}));
    let wrong = call(r#"{"a": 6, "c": [7]}"#);
    let (url, requests) = serve(vec![wrong, call(r#"{"a": 6, "b": 7}"#), words]).await;
    let mut toolbox = Toolbox::new();
    toolbox.register(Multiply).unwrap();
    let model = GenAi::with_client(client(url), "gpt-test");
    let mut run = Run::new().system("Be exact.").user("6 times 7?");
    let finish = Driver::new(&toolbox, &model).drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("It is 42.".to_owned()));
    let requests = requests.lock().unwrap();
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
    assert_eq!(messages[5]["content"], "42");
}

#[tokio::test]
async fn a_streamed_conversation() {
    let delta = |delta: serde_json::Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let last =
        |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let call = Respond::Stream(
        vec![
            delta(
                json!({"tool_calls": [{"index": 0, "id": "x", "type": "function",
                "function": {"name": "multiply", "arguments": "{\"a\": 6,"}}]}),
            ),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": " \"b\": 7}"}}]})),
            last("tool_calls"),
        ],
        true,
    );
    let words = Respond::Stream(vec![delta(json!({"content": "42"})), last("stop")], true);
    let (url, _) = serve(vec![call, words]).await;
    let mut toolbox = Toolbox::new();
    toolbox.register(Multiply).unwrap();
    let model = GenAi::with_client(client(url), "gpt-test");
    let heard = Mutex::new(String::new());
    let mut run = Run::new().user("6 times 7?");
    let driver = Driver::new(&toolbox, &model).on_text(|text| heard.lock().unwrap().push_str(text));
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("42".to_owned()));
    assert_eq!(*heard.lock().unwrap(), "42");
}
