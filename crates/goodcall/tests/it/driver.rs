//! Tests the driver: events, spans, questions to the user, cancellation, models that fail.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use goodcall::{
    Call, CancellationToken, DriveError, Driver, Event, Finish, HaltReason, Message, Model,
    ModelError, Phase, Prompt, Reply, Run, Script, Store, Toolbox, Usage, async_trait,
};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Reads a file.
#[goodcall::tool(inline)]
fn read(path: String) -> Result<String, goodcall::Failure> {
    match path.as_str() {
        "gone" => Err(goodcall::Failure::new("no such file").recommend("list first")),
        path => Ok(format!("text of {path}")),
    }
}

/// Sleeps.
#[goodcall::tool]
async fn sleep() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

fn toolbox() -> Toolbox {
    let mut toolbox = Toolbox::new();
    toolbox.register(Read).unwrap();
    toolbox.register(Sleep).unwrap();
    toolbox
}

fn read_call(id: &str, arguments: &str) -> Call {
    Call::new(id, "read", arguments)
}

#[tokio::test]
async fn events_reach_callbacks_and_streams() {
    let toolbox = toolbox();
    let mut first = Reply::calls([
        read_call("1", r#"{"path": "a", "path": "a"}"#),
        read_call("2", r#"{"path": "gone"}"#),
        read_call("3", "{}"),
    ]);
    first.usage = Some(Usage::new(10, 5));
    let model = Script::new([first, Reply::text("done")]);
    let told = Mutex::new(Vec::new());
    let mut driver = Driver::new(&toolbox, &model)
        .parallel(1)
        .on_event(|event| told.lock().unwrap().push(event.name()));
    let events = driver.events();
    let mut run = Run::new().user("u");
    driver.drive(&mut run).await.unwrap();
    drop(driver);
    let events: Vec<_> = events.collect().await;
    let names = [
        "model_called",
        "mended",
        "tool_executed",
        "error",
        "tool_executed",
        "error",
        "tool_executed",
        "model_called",
        "finished",
    ];
    assert_eq!(*told.lock().unwrap(), names);
    assert_eq!(events.iter().map(Event::name).collect::<Vec<_>>(), names);
    let Event::ToolExecuted { call: record, .. } = &events[2] else {
        panic!()
    };
    let mut record = serde_json::to_value(record).unwrap();
    record["duration_ms"] = json!(0);
    let changes = record["changes"].take();
    assert_eq!(changes[0]["rule"], "duplicate-key");
    assert_eq!(
        record,
        json!({
            "name": "read", "call_id": "1", "state": "COMPLETED", "arguments": "{\"path\":\"a\"}",
            "result": "text of a", "error": null, "duration_ms": 0, "changes": null,
        })
    );
    let error = serde_json::to_value(&events[3]).unwrap();
    assert_eq!(
        error,
        json!({
            "event": "error", "phase": "tool", "message": "no such file",
            "detail": {
                "errorType": "logical", "recommendations": ["list first"],
                "notifyUser": false,
                "callId": "2", "tool": "read",
            },
        })
    );
    let Event::Error(error) = &events[5] else {
        panic!()
    };
    assert_eq!(error.phase, Phase::Tool);
    assert_eq!(error.detail.error_type, Some("validation"));
}

#[tokio::test]
async fn answer_of_the_user_reaches_the_model() {
    let toolbox = toolbox();
    let again = || Reply::calls([read_call("", r#"{"path": "a"}"#)]);
    let replies = (0..4).map(|_| again()).chain([Reply::text("thanks")]);
    let model = Script::new(replies);
    let mut run = Run::new().user("u");
    let driver = Driver::new(&toolbox, &model);
    // There is no answer, so the run waits.
    let finish = driver.drive(&mut run).await.unwrap();
    let Finish::Asking(HaltReason::Loop(_)) = &finish else {
        panic!("{finish:?}")
    };
    run.answered("look into b").unwrap();
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("thanks".to_owned()));
    let asked = run
        .messages()
        .iter()
        .any(|message| *message == Message::user("look into b"));
    assert!(asked);
}

#[tokio::test]
async fn cancelled_run_stops() {
    let toolbox = toolbox();
    let model = Script::new([Reply::calls([Call::new("1", "sleep", "{}")])]);
    let cancel = CancellationToken::new();
    let mut run = Run::new().user("u");
    let driver = Driver::new(&toolbox, &model).cancel(cancel.clone());
    let (finish, ()) = tokio::join!(driver.drive(&mut run), async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    });
    assert_eq!(
        finish.unwrap(),
        Finish::Stopped(HaltReason::Host("cancelled".to_owned()))
    );
    assert_eq!(run.messages().len(), 3);
}

/// Fails a few times.
struct Flaky(AtomicU32);

#[async_trait]
impl Model for Flaky {
    fn name(&self) -> &str {
        "flaky"
    }

    async fn reply(&self, _: Prompt<'_>) -> Result<Reply, ModelError> {
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            1 => Ok(Reply::text("at last")),
            99 => Err(ModelError::new("no such model")),
            _ => Err(ModelError::new("too many requests").retryable()),
        }
    }
}

#[tokio::test]
async fn retryable_model_error_is_retried() {
    let toolbox = toolbox();
    let model = Flaky(AtomicU32::new(2));
    let mut run = Run::new().user("u");
    let finish = Driver::new(&toolbox, &model).drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("at last".to_owned()));

    let model = Flaky(AtomicU32::new(99));
    let mut run = Run::new().user("u");
    let before = run.clone();
    let error = Driver::new(&toolbox, &model)
        .drive(&mut run)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the model gave no reply: no such model");
    assert_eq!(run.messages(), before.messages());
}

/// A disk that is full.
struct Full;

impl Store for Full {
    fn save(&self, _: &Run) -> io::Result<()> {
        Err(io::Error::other("the disk is full"))
    }
}

#[tokio::test]
async fn unsaved_call_is_not_executed() {
    let toolbox = toolbox();
    let model = Script::new([Reply::calls([read_call("1", r#"{"path": "a"}"#)])]);
    let executed = AtomicU32::new(0);
    let driver = Driver::new(&toolbox, &model)
        .store(&Full)
        .on_event(|event| {
            if let Event::ToolExecuted { .. } = event {
                executed.fetch_add(1, Ordering::SeqCst);
            }
        });
    let error = driver.drive(&mut Run::new().user("u")).await.unwrap_err();
    assert!(matches!(error, DriveError::Store(_)));
    assert_eq!(executed.load(Ordering::SeqCst), 0);
}

type Fields = BTreeMap<String, String>;

/// Keeps the fields of spans.
#[derive(Clone, Default)]
struct Keep(Arc<Mutex<BTreeMap<u64, Fields>>>);

struct Collect<'f>(&'f mut Fields);

impl Visit for Collect<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let text = format!("{value:?}");
        self.0
            .insert(field.name().to_owned(), text.trim_matches('"').to_owned());
    }
}

impl<S: tracing::Subscriber + for<'l> LookupSpan<'l>> tracing_subscriber::Layer<S> for Keep {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut spans = self.0.lock().unwrap();
        attributes.record(&mut Collect(spans.entry(id.into_u64()).or_default()));
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.0.lock().unwrap();
        record.record(&mut Collect(spans.entry(id.into_u64()).or_default()));
    }
}

/// A model that cannot be reached.
struct Unreachable;

#[async_trait]
impl Model for Unreachable {
    fn name(&self) -> &str {
        "unreachable"
    }

    async fn reply(&self, _: Prompt<'_>) -> Result<Reply, ModelError> {
        let refused = io::Error::other("connection refused");
        Err(ModelError::new("no answer").caused_by(refused))
    }
}

#[tokio::test]
async fn error_of_a_model_tells_the_operator_its_cause() {
    let (toolbox, events) = (toolbox(), Mutex::new(Vec::new()));
    let driver = Driver::new(&toolbox, &Unreachable).on_event(|event| {
        if let Event::Error(error) = event {
            let told = (
                error.phase,
                error.message.clone(),
                error.detail.source.clone(),
            );
            events.lock().unwrap().push(told);
        }
    });
    let error = driver.drive(&mut Run::new().user("u")).await.unwrap_err();
    assert_eq!(error.to_string(), "the model gave no reply: no answer");
    let source = Some("connection refused".to_owned());
    assert_eq!(
        *events.lock().unwrap(),
        [(Phase::Model, "no answer".to_owned(), source)]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn spans_omit_values_by_default() {
    let keep = Keep::default();
    let subscriber = tracing_subscriber::registry().with(keep.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let toolbox = toolbox();
    for values in [false, true] {
        keep.0.lock().unwrap().clear();
        let mut first = Reply::calls([
            read_call("1", r#"{"path": "secret", "path": "secret"}"#),
            read_call("2", "{}"),
        ]);
        first.usage = Some(Usage::new(10, 5));
        let model = Script::new([first, Reply::text("done")]);
        let mut run = Run::new().user("u");
        let mut driver = Driver::new(&toolbox, &model);
        if values {
            driver = driver.record_values();
        }
        driver.drive(&mut run).await.unwrap();
        let spans: Vec<_> = keep.0.lock().unwrap().values().cloned().collect();
        let of = |name: &str, key: &str, value: &str| {
            let found = spans.iter().find(|span| {
                span.get("otel.name").is_some_and(|n| n == name)
                    && span.get(key).is_some_and(|v| v == value)
            });
            found
                .unwrap_or_else(|| panic!("{name} {key}={value}: {spans:#?}"))
                .clone()
        };
        let chat = of("chat script", "gen_ai.usage.input_tokens", "10");
        assert_eq!(chat["gen_ai.operation.name"], "chat");
        assert_eq!(chat["gen_ai.request.model"], "script");
        assert_eq!(chat["gen_ai.response.finish_reasons"], "tool_calls");
        let good = of("execute_tool read", "gen_ai.tool.call.id", "1");
        assert_eq!(good["gen_ai.operation.name"], "execute_tool");
        assert_eq!(good["gen_ai.tool.type"], "function");
        assert_eq!(good["gen_ai.tool.description"], "Reads a file.");
        assert_eq!(good["goodcall.verdict"], "mended");
        assert_eq!(good["goodcall.rules"], "duplicate-key");
        assert_eq!(good.contains_key("gen_ai.tool.call.arguments"), values);
        assert_eq!(good.contains_key("gen_ai.tool.call.result"), values);
        let bad = of("execute_tool read", "gen_ai.tool.call.id", "2");
        assert_eq!(bad["error.type"], "validation");
        assert_eq!(bad["goodcall.verdict"], "bad");
        assert_eq!(bad["goodcall.reason"], "missing");
    }
}
