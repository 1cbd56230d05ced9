//! Tests that a host can allow or deny calls before they are made.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use goodcall::{
    Approval, Call, CallOutcome, CancellationToken, Driver, ErrorClass, Event, Finish, HaltReason,
    Message, ProposedCall, Reply, Run, Script, Step, Store, Tool, ToolResult, Toolbox, async_trait,
};
use serde_json::{Value, json};

/// A tool that counts its runs.
#[derive(Default)]
struct Delete {
    runs: AtomicU32,
}

#[async_trait]
impl Tool for &'static Delete {
    fn name(&self) -> &str {
        "delete"
    }

    fn description(&self) -> &str {
        "Deletes a file."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
            "required": ["path"]})
    }

    fn is_destructive(&self) -> bool {
        true
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        self.runs.fetch_add(1, Ordering::SeqCst);
        ToolResult::success(params["path"].clone())
    }
}

/// Reads a file.
#[goodcall::tool(read_only)]
async fn read(path: String) -> String {
    path
}

/// A toolbox whose counter outlives it.
fn toolbox() -> (Toolbox, &'static Delete) {
    let delete: &Delete = Box::leak(Box::default());
    let mut toolbox = Toolbox::new();
    toolbox.register(delete).unwrap();
    toolbox.register(Read).unwrap();
    (toolbox, delete)
}

fn outcomes(run: &Run) -> Vec<&CallOutcome> {
    let messages = run.messages().iter();
    messages
        .filter_map(|message| match message {
            Message::Tools { outcomes, .. } => Some(outcomes),
            _ => None,
        })
        .flatten()
        .collect()
}

fn one_reply(calls: impl IntoIterator<Item = Call>) -> Script {
    Script::new([Reply::calls(calls), Reply::text("done")])
}

#[tokio::test]
async fn denied_call_is_not_made_and_the_model_learns_why() {
    let (toolbox, delete) = toolbox();
    let model = one_reply([
        Call::new("1", "delete", r#"{"path": "a"}"#),
        Call::new("2", "read", r#"{"path": "b"}"#),
    ]);
    let events = Mutex::new(Vec::new());
    let driver = Driver::new(&toolbox, &model)
        .approve(|call: ProposedCall| async move {
            if call.tool().is_destructive() {
                Approval::deny("the file is needed")
            } else {
                Approval::Allow
            }
        })
        .on_event(|event| {
            if let Event::Error(error) = event {
                events.lock().unwrap().push(error.detail.error_type);
            }
        });
    let mut run = Run::new().user("u");
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("done".to_owned()));
    assert_eq!(delete.runs.load(Ordering::SeqCst), 0);
    let outcomes = outcomes(&run);
    assert_eq!(outcomes[0].class(), Some(ErrorClass::Denied));
    assert_eq!(
        outcomes[0].text(),
        "The call of `delete` was not allowed, and nothing was run: the file is needed\n\
         Do not make it again: ask the user, or take another way."
    );
    assert!(!outcomes[0].structured().retryable);
    assert_eq!(outcomes[1].text(), "b");
    assert_eq!(*events.lock().unwrap(), [Some("denied")]);
}

#[tokio::test]
async fn arguments_are_shown_as_the_tool_gets_them() {
    let (toolbox, delete) = toolbox();
    let toolbox = toolbox.policy_for("delete", goodcall::Policy::safe());
    let model = one_reply([Call::new("7", "delete", "{'path': 'a', 'n': '5',}")]);
    let seen = Mutex::new(Vec::new());
    let driver = Driver::new(&toolbox, &model).approve(|call: ProposedCall| {
        let shown = format!("{} {} {}", call.id(), call.name(), call.arguments());
        seen.lock().unwrap().push((shown, call.changes().len()));
        async { true }
    });
    let mut run = Run::new().user("u");
    driver.drive(&mut run).await.unwrap();
    drop(driver);
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen[0].0, r#"7 delete {"path":"a","n":5}"#);
    assert_eq!(seen[0].1, outcomes(&run)[0].changes.len());
    assert_eq!(delete.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn refused_calls_are_not_proposed() {
    let (toolbox, _) = toolbox();
    let model = one_reply([
        Call::new("1", "delete", "{}"),
        Call::new("2", "erase", "{}"),
        Call::new("3", "delete", r#"{"path": "a"#),
    ]);
    let asked = AtomicU32::new(0);
    let driver = Driver::new(&toolbox, &model).approve(|_| {
        asked.fetch_add(1, Ordering::SeqCst);
        async { false }
    });
    let mut run = Run::new().user("u");
    driver.drive(&mut run).await.unwrap();
    let classes: Vec<_> = outcomes(&run).iter().map(|o| o.class().unwrap()).collect();
    assert_eq!(
        classes,
        [
            ErrorClass::Validation,
            ErrorClass::UnknownTool,
            ErrorClass::Truncated
        ]
    );
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn cancelling_ends_the_wait_for_an_answer() {
    let (toolbox, delete) = toolbox();
    let model = one_reply([Call::new("1", "delete", r#"{"path": "a"}"#)]);
    let cancel = CancellationToken::new();
    let driver = Driver::new(&toolbox, &model)
        .cancel(cancel.clone())
        .approve(|_| {
            cancel.cancel();
            std::future::pending::<Approval>()
        });
    let mut run = Run::new().user("u");
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(
        finish,
        Finish::Stopped(HaltReason::Host("cancelled".to_owned()))
    );
    assert_eq!(delete.runs.load(Ordering::SeqCst), 0);
    let text = outcomes(&run)[0].text();
    assert!(text.contains("was not run"), "{text}");
}

/// Keeps the last state.
#[derive(Default)]
struct Last(Mutex<Option<Run>>);

impl Store for Last {
    fn save(&self, run: &Run) -> io::Result<()> {
        *self.0.lock().unwrap() = Some(run.clone());
        Ok(())
    }
}

/// A host that dies while a person thinks has not begun the call: it is proposed again.
#[tokio::test]
async fn call_that_waits_for_an_answer_has_not_begun() {
    let (toolbox, delete) = toolbox();
    let reply = || Reply::calls([Call::new("1", "delete", r#"{"path": "a"}"#)]);
    let (model, store) = (Script::new([reply()]), Last::default());
    let driver = Driver::new(&toolbox, &model)
        .store(&store)
        .approve(|_| std::future::pending::<Approval>());
    let mut lost = Run::new().user("u");
    let drive = driver.drive(&mut lost);
    tokio::select! {
        biased;
        _ = drive => panic!("nobody answered"),
        () = std::future::ready(()) => {}
    }
    let mut run = store.0.lock().unwrap().take().unwrap();
    let model = Script::new([Reply::text("done")]);
    let driver = Driver::new(&toolbox, &model).approve(|_| async { true });
    driver.drive(&mut run).await.unwrap();
    assert_eq!(outcomes(&run)[0].text(), "a");
    assert_eq!(delete.runs.load(Ordering::SeqCst), 1);
}

/// Denied calls are valid: they do not count as mistakes, but the same one three times is a loop.
#[test]
fn denied_calls_are_no_mistakes() {
    let mut run = Run::new()
        .user("u")
        .limits(goodcall::RunLimits::default().failures(2));
    for turn in 1..=3 {
        let call = Call::new(turn.to_string(), "delete", r#"{"path": "a"}"#);
        run.replied(Reply::calls([call.clone()])).unwrap();
        let denied = ToolResult::failure(ErrorClass::Denied, "no");
        run.executed(CallOutcome::new(&call, denied)).unwrap();
    }
    assert!(matches!(
        run.next(std::time::Duration::ZERO),
        Step::AskUser {
            reason: HaltReason::Loop(_)
        }
    ));
}
