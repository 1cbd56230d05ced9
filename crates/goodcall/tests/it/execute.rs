//! Tests execution: every call has one outcome, in time and in order, whatever its tool does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use goodcall::{
    BoundArguments, Call, CancellationToken, Cause, Context, ErrorClass, Failure, StopReason, Tool,
    ToolError, ToolResult, Toolbox, async_trait,
};
use serde_json::{Value, json};

type Act = Box<dyn Fn(&Value) -> ToolResult + Send + Sync>;

/// Does what it is told.
struct Probe {
    name: &'static str,
    blocking: bool,
    limit: Option<Duration>,
    pause: Duration,
    act: Act,
}

fn probe(name: &'static str, act: impl Fn(&Value) -> ToolResult + Send + Sync + 'static) -> Probe {
    Probe {
        name,
        blocking: false,
        limit: None,
        pause: Duration::ZERO,
        act: Box::new(act),
    }
}

#[async_trait]
impl Tool for Probe {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "does what it is told"
    }
    fn parameters_schema(&self) -> Value {
        Value::Null
    }
    fn is_blocking(&self) -> bool {
        self.blocking
    }
    fn time_limit(&self) -> Option<Duration> {
        self.limit
    }
    async fn execute(&self, params: &Value) -> ToolResult {
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        (self.act)(params)
    }
}

fn cause(result: &ToolResult) -> Option<Cause> {
    match result.tool_error()? {
        ToolError::Runtime(error) => Some(error.cause),
        ToolError::Argument(_) => None,
    }
}

#[tokio::test]
async fn panic_is_a_runtime_error() {
    for blocking in [false, true] {
        let mut toolbox = Toolbox::new();
        let mut tool = probe("crash", |_| panic!("index {} is out of bounds", 7));
        tool.blocking = blocking;
        toolbox.register(tool).unwrap();
        let result = toolbox.invoke("crash", "{}").await;
        assert_eq!(cause(&result), Some(Cause::Panicked));
        assert_eq!(
            result.text(),
            "The tool `crash` crashed: index 7 is out of bounds"
        );
        let structured = result.structured();
        assert_eq!(
            (structured.error_type, structured.retryable),
            (Some("runtime"), true)
        );
        assert_eq!(
            structured.recommendations,
            ErrorClass::Runtime.recommendations()
        );
        assert!(!toolbox.invoke("crash", "{}").await.is_ok());
    }
}

#[tokio::test]
async fn time_limit_of_the_tool_overrides_that_of_the_toolbox() {
    let mut toolbox = Toolbox::new().time_limit(Duration::from_secs(60));
    let mut slow = probe("slow", |_| ToolResult::success("late"));
    slow.pause = Duration::from_secs(30);
    slow.limit = Some(Duration::from_millis(20));
    toolbox.register(slow).unwrap();
    let result = toolbox.invoke("slow", "{}").await;
    assert_eq!(cause(&result), Some(Cause::TimedOut));
    assert_eq!(
        result.text(),
        "The tool `slow` did not finish within 20ms and was stopped."
    );
}

/// Blocks its thread until it is told to stop.
struct Stubborn(Arc<AtomicBool>);

#[async_trait]
impl Tool for Stubborn {
    fn name(&self) -> &str {
        "stubborn"
    }
    fn description(&self) -> &str {
        ""
    }
    fn parameters_schema(&self) -> Value {
        Value::Null
    }
    fn is_blocking(&self) -> bool {
        true
    }
    fn time_limit(&self) -> Option<Duration> {
        Some(Duration::from_millis(20))
    }
    async fn execute(&self, _: &Value) -> ToolResult {
        ToolResult::error("needs a context")
    }
    async fn run(&self, _: BoundArguments, context: &Context) -> ToolResult {
        while !context.is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.store(true, Ordering::SeqCst);
        ToolResult::success("gave up")
    }
}

#[tokio::test(flavor = "current_thread")]
async fn blocking_tool_runs_off_the_async_threads() {
    let told = Arc::new(AtomicBool::new(false));
    let mut toolbox = Toolbox::new();
    toolbox.register(Stubborn(Arc::clone(&told))).unwrap();
    // On one thread: if the tool blocked it, the limit could not strike.
    let result = toolbox.invoke("stubborn", "{}").await;
    assert_eq!(cause(&result), Some(Cause::TimedOut));
    let patience = Instant::now();
    while !told.load(Ordering::SeqCst) {
        assert!(patience.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn cancelled_call_is_not_run() {
    let mut toolbox = Toolbox::new();
    let mut slow = probe("slow", |_| ToolResult::success("late"));
    slow.pause = Duration::from_secs(30);
    toolbox.register(slow).unwrap();
    let cancel = CancellationToken::new();
    let call = Call::new("1", "slow", "{}");
    let (outcome, ()) = tokio::join!(toolbox.call(&call, &cancel), async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        cancel.cancel();
    });
    assert_eq!(outcome.class(), Some(ErrorClass::Cancelled));
    assert_eq!(outcome.structured().error_type, Some("cancelled"));
    // A call that comes later is not run at all.
    let outcome = toolbox.call(&call, &cancel).await;
    assert_eq!(outcome.class(), Some(ErrorClass::Cancelled));
}

#[tokio::test]
async fn parallel_calls_answer_in_order() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    struct Wait(Arc<AtomicUsize>, Arc<AtomicUsize>);
    #[async_trait]
    impl Tool for Wait {
        fn name(&self) -> &str {
            "wait"
        }
        fn description(&self) -> &str {
            ""
        }
        fn parameters_schema(&self) -> Value {
            Value::Null
        }
        async fn execute(&self, params: &Value) -> ToolResult {
            let now = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            self.1.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(params["ms"].as_u64().unwrap())).await;
            self.0.fetch_sub(1, Ordering::SeqCst);
            ToolResult::success(params["ms"].clone())
        }
    }
    let mut toolbox = Toolbox::new();
    toolbox
        .register(Wait(Arc::clone(&running), Arc::clone(&most)))
        .unwrap();
    // The first takes longest.
    let times = [90, 80, 70, 60, 50, 40, 30, 20, 10];
    let call = |ms: &u64| Call::new(ms.to_string(), "wait", json!({"ms": ms}).to_string());
    let calls: Vec<_> = times.iter().map(call).collect();
    let outcomes = toolbox.call_all(&calls, 3, &CancellationToken::new()).await;
    let order: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.data.as_u64().unwrap())
        .collect();
    assert_eq!(order, times);
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn tool_error_keeps_its_note_and_recommendations() {
    let mut toolbox = Toolbox::new();
    let tool = probe("read", |_| {
        let failure = Failure::new("no such file: a.txt");
        failure
            .note("paths are relative")
            .recommend("call list_files first")
            .into()
    });
    toolbox.register(tool).unwrap();
    let call = Call::new("toolu_1", "read", "{}");
    let outcome = toolbox.call(&call, &CancellationToken::new()).await;
    assert_eq!(
        outcome.text(),
        "no such file: a.txt\npaths are relative\ncall list_files first"
    );
    assert_eq!(
        outcome.tool_result(),
        json!({
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": "{\"ok\":false,\"data\":null,\"error\":\"no such file: a.txt\",\
                        \"errorType\":\"logical\",\"retryable\":true,\
                        \"note\":\"paths are relative\",\
                        \"recommendations\":[\"call list_files first\"]}",
            "is_error": true,
        })
    );
}

#[tokio::test]
async fn argument_errors_and_runtime_errors_are_two_types() {
    let mut toolbox = Toolbox::new();
    toolbox
        .register(probe("no", |_| ToolResult::error("no")))
        .unwrap();
    let refused = toolbox.invoke("no", "[]").await;
    let Some(ToolError::Argument(error)) = refused.tool_error() else {
        panic!("{refused:?}")
    };
    assert_eq!(error.class, ErrorClass::Validation);
    assert_eq!(error.faults[0].kind, "not_an_object");
    let said_no = toolbox.invoke("no", "{}").await;
    assert_eq!(cause(&said_no), Some(Cause::Refused));
    assert_eq!(said_no.class(), Some(ErrorClass::Logical));
}

#[tokio::test]
async fn truncated_arguments_are_not_run() {
    let mut toolbox = Toolbox::new();
    toolbox
        .register(probe("rm", |_| ToolResult::success("done")))
        .unwrap();
    let mut call = Call::new("1", "rm", r#"{"path": "/tm"#);
    call.stop = StopReason::CutOff;
    let outcome = toolbox.call(&call, &CancellationToken::new()).await;
    assert_eq!(outcome.class(), Some(ErrorClass::Truncated));
}
