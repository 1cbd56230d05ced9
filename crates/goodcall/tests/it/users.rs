//! Tests what a Rust user meets in the first hour: names of their own, errors of other crates, tools
//! outside of tokio, calls that are checked and not run, and a model that does everything wrong.

use std::sync::{Arc, Mutex};

use goodcall::{
    Args, Call, CancellationToken, Context, Driver, ErrorClass, Event, Failure, Finish, ForModel,
    Gate, HaltReason, Model, ModelError, Prompt, Reply, Run, Schema, ToolError, ToolResult,
    Toolbox, async_trait, wire,
};
use serde_json::{Value, json};

/// Names that the macro's own might collide with.
mod names {
    use goodcall::Args as Derive;

    #[derive(Derive, Debug)]
    pub(super) struct Args {
        pub(super) args: Option<Box<Args>>,
    }

    /// Takes a type named like the generated one.
    #[goodcall::tool(type = "ArgsTool")]
    pub(super) fn args(args: Args, context: String, state: u8, bound: u8) -> String {
        format!("{} {context} {state} {bound}", args.args.is_some())
    }

    /// State named like the generated one.
    #[derive(Default)]
    pub(super) struct Shared;

    #[goodcall::tool]
    impl Shared {
        /// One.
        #[tool]
        async fn one(&self, state: u8) -> u8 {
            state
        }
    }

    #[goodcall::tool(tools = "more_tools")]
    impl Shared {
        /// Two.
        #[tool]
        async fn two(&self) -> u8 {
            2
        }
    }
}

/// Another crate that re-exports goodcall.
mod facade {
    pub(crate) use goodcall as inner;
}

/// Adds one.
#[goodcall::tool(crate = "crate::users::facade::inner")]
fn increment(n: u8) -> u8 {
    n + 1
}

#[tokio::test]
async fn generated_names_do_not_collide() {
    let mut toolbox = Toolbox::new();
    toolbox.register(names::ArgsTool).unwrap();
    toolbox.register(Increment).unwrap();
    toolbox
        .register_all(Arc::new(names::Shared).tools())
        .unwrap();
    toolbox
        .register_all(Arc::new(names::Shared).more_tools())
        .unwrap();
    let raw = r#"{"args": {"args": {"args": null}}, "context": "c", "state": 1, "bound": 2}"#;
    assert_eq!(toolbox.invoke("args", raw).await.text(), "true c 1 2");
    assert_eq!(toolbox.invoke("one", r#"{"state": 5}"#).await.text(), "5");
    assert_eq!(toolbox.invoke("two", "").await.text(), "2");
    assert_eq!(toolbox.invoke("increment", r#"{"n": 1}"#).await.text(), "2");
}

#[derive(Debug)]
struct Layered;

impl std::fmt::Display for Layered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("postgres://admin:hunter2@db/prod refused")
    }
}

impl std::error::Error for Layered {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&std::fmt::Error)
    }
}

/// Fails with an error of anyhow.
#[goodcall::tool]
async fn with_anyhow() -> anyhow::Result<u8> {
    Err(anyhow::Error::new(Layered).context("no connection"))
}

/// Fails with an error of eyre.
#[goodcall::tool]
async fn with_eyre() -> eyre::Result<u8> {
    Err(eyre::Report::new(Layered))
}

/// Fails by `?`.
#[goodcall::tool]
async fn with_question_mark(text: bool) -> Result<u8, Failure> {
    if text {
        Err("use a smaller number".to_owned())?;
    }
    let none: Option<u8> = None;
    let value = none.ok_or("no number is there")?;
    Err::<u8, _>(anyhow::anyhow!("hidden"))?;
    Ok(value)
}

/// Fails with a text for the model.
#[goodcall::tool]
async fn with_a_text_for_the_model() -> Result<u8, Failure> {
    Err(Layered).for_model("the database does not answer")
}

fn source(result: &ToolResult) -> Option<&str> {
    match result.tool_error()? {
        ToolError::Runtime(error) => error.source.as_deref(),
        ToolError::Argument(_) => None,
    }
}

#[tokio::test]
async fn errors_of_other_crates_are_for_the_operator() {
    let mut toolbox = Toolbox::new();
    toolbox.register(WithAnyhow).unwrap();
    toolbox.register(WithEyre).unwrap();
    toolbox.register(WithATextForTheModel).unwrap();
    let layered = "postgres://admin:hunter2@db/prod refused";
    for (name, text, chain) in [
        ("with_anyhow", "The tool failed", "no connection: "),
        ("with_eyre", "The tool failed", ""),
        (
            "with_a_text_for_the_model",
            "the database does not answer",
            "",
        ),
    ] {
        let result = toolbox.invoke(name, "{}").await;
        assert_eq!(result.class(), Some(ErrorClass::Runtime));
        assert!(result.text().starts_with(text) && !result.text().contains("hunter2"));
        let operator = source(&result).unwrap();
        assert!(
            operator.starts_with(&format!("{chain}{layered}: an error")),
            "{operator}"
        );
        let stored = serde_json::to_string(result.tool_error().unwrap()).unwrap();
        assert!(!stored.contains("hunter2"), "{stored}");
    }
}

#[tokio::test]
async fn texts_by_question_mark_are_for_the_model() {
    let mut toolbox = Toolbox::new();
    toolbox.register(WithQuestionMark).unwrap();
    let result = toolbox
        .invoke("with_question_mark", r#"{"text": true}"#)
        .await;
    assert_eq!(
        (result.text().as_str(), result.class()),
        ("use a smaller number", Some(ErrorClass::Logical))
    );
    let result = toolbox
        .invoke("with_question_mark", r#"{"text": false}"#)
        .await;
    assert_eq!(result.text(), "no number is there");
}

#[test]
fn failures_of_a_known_kind_say_what_to_do() {
    for (failure, class, retryable, advice) in [
        (
            Failure::not_found("no such file"),
            ErrorClass::Logical,
            true,
            "find out what exists",
        ),
        (
            Failure::permission_denied("read only"),
            ErrorClass::Logical,
            false,
            "do not make this call again",
        ),
        (
            Failure::rate_limited("100 a minute"),
            ErrorClass::Runtime,
            true,
            "do something else first",
        ),
        (
            Failure::unavailable("no route"),
            ErrorClass::Runtime,
            true,
            "once more",
        ),
    ] {
        let cause = failure.cause();
        let structured = ToolResult::from(failure).structured();
        assert_eq!(structured.error_type, Some(class.name()), "{cause:?}");
        assert_eq!(structured.retryable, retryable, "{cause:?}");
        let told = &structured.recommendations[0];
        assert!(told.contains(advice), "{cause:?}: {told}");
    }
    let own = Failure::not_found("no such file").recommend("call list_files");
    let structured = ToolResult::from(own).structured();
    assert_eq!(structured.recommendations, ["call list_files"]);
}

#[test]
fn error_of_a_model_keeps_its_cause() {
    let error = ModelError::new("no connection")
        .caused_by(Layered)
        .retryable();
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.is::<Layered>() && error.is_retryable());
}

#[test]
fn text_of_a_failure_is_bounded() {
    let text = ToolResult::from(Failure::new("x".repeat(200_000))).text();
    assert!(text.chars().count() <= 4001, "{}", text.len());
}

/// Blocks, and panics if it is told to.
#[goodcall::tool]
fn block(crash: bool) -> &'static str {
    assert!(!crash, "told to crash");
    "done"
}

/// Never ends.
#[goodcall::tool(time_limit_ms = 20)]
async fn forever() {
    std::future::pending().await
}

#[test]
fn tools_run_outside_of_tokio() {
    let mut toolbox = Toolbox::new();
    toolbox.register(Block).unwrap();
    toolbox.register(Forever).unwrap();
    let invoke = |name: &'static str, raw: &'static str| {
        futures_executor::block_on(toolbox.invoke(name, raw)).text()
    };
    assert_eq!(invoke("block", r#"{"crash": false}"#), "done");
    assert!(invoke("block", r#"{"crash": true}"#).contains("told to crash"));
    assert!(invoke("forever", "").contains("did not finish within 20ms"));
}

#[tokio::test]
async fn tools_are_replaced_and_removed() {
    let mut toolbox = Toolbox::new();
    assert!(toolbox.replace(Block).unwrap().is_none());
    assert!(toolbox.replace(Block).unwrap().is_some());
    assert!(toolbox.remove("block").is_some() && toolbox.remove("block").is_none());
    assert!(toolbox.check("block", "{}").is_err());
}

#[tokio::test]
async fn budget_bounds_the_text_of_a_refusal() {
    let budget = goodcall::Budget::of(goodcall::Style::Model).issues(1);
    let mut toolbox = Toolbox::new().budget(budget);
    toolbox.register(Many).unwrap();
    let text = toolbox.invoke("many", "{}").await.text();
    assert!(text.ends_with("and 2 more"), "{text}");
}

/// Takes three parameters.
#[goodcall::tool]
fn many(a: u8, b: u8, c: u8) -> u8 {
    a + b + c
}

/// Others have parsed the arguments already, and a refusal leaves a function by `?`.
#[test]
fn gate_takes_values_and_its_refusal_is_an_error() {
    fn judge(sent: &Value) -> Result<Value, Box<dyn std::error::Error>> {
        let schema = Schema::compile(&json!({"properties": {"n": {"type": "integer"}}}))?;
        let tree = Gate::new(&schema).check_value(sent).into_result()?;
        Ok(tree.to_value()?)
    }
    let integer = judge(&json!({"n": 3.0})).unwrap();
    assert_eq!(integer["n"].as_i64(), Some(3));
    assert_eq!(judge(&json!({"n": "5"})).unwrap(), json!({"n": 5}));
    let error = judge(&json!({"n": "five"})).unwrap_err();
    assert!(error.to_string().contains("n:"), "{error}");
}

#[tokio::test]
async fn runtime_errors_notify_the_user() {
    let mut toolbox = Toolbox::new();
    toolbox.register(WithAnyhow).unwrap();
    let calls = ["with_anyhow", "unknown"].map(|name| Call::new("", name, "{}"));
    let model = Clumsy(Mutex::new(vec![
        Ok(Reply::calls(calls)),
        Ok(Reply::text("done")),
    ]));
    let told = Mutex::new(Vec::new());
    let driver = Driver::new(&toolbox, &model).on_event(|event| {
        if let Event::Error(error) = event {
            let detail = &error.detail;
            told.lock()
                .unwrap()
                .push((detail.error_type, detail.notify_user));
        }
    });
    driver.drive(&mut Run::new().user("u")).await.unwrap();
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    assert_eq!(
        told,
        [(Some("runtime"), true), (Some("unknown_tool"), false)]
    );
}

#[test]
fn tool_without_parameters_has_properties() {
    let mut toolbox = Toolbox::new();
    toolbox.register(Forever).unwrap();
    let tools: Vec<_> = toolbox.list().collect();
    for provider in [wire::Provider::OpenAi, wire::Provider::Responses] {
        let text = wire::tools(provider, &tools);
        assert!(text.contains(r#""properties":{}"#), "{text}");
    }
}

/// A task list with four tools; one of them destroys.
#[derive(Default)]
struct Tasks(Mutex<Vec<String>>);

#[derive(Args, serde::Serialize, Clone, Copy, Debug)]
#[serde(rename_all = "lowercase")]
enum Order {
    Oldest,
    Newest,
}

#[goodcall::tool]
impl Tasks {
    /// Adds a task.
    #[tool]
    fn add(
        &self,
        #[tool(length(min = 1))] title: &str,
        context: &Context,
    ) -> Result<usize, Failure> {
        let mut tasks = self.0.lock().map_err(|_| "the list is broken")?;
        tasks.push(format!("{title} ({})", context.changes().len()));
        Ok(tasks.len())
    }

    /// Lists the tasks.
    #[tool(repeatable)]
    fn list(&self, #[tool(default = Order::Oldest)] order: Order) -> Result<Vec<String>, Failure> {
        let tasks = self.0.lock().map_err(|_| "the list is broken")?;
        let mut tasks = tasks.clone();
        if let Order::Newest = order {
            tasks.reverse();
        }
        Ok(tasks)
    }

    /// Deletes all tasks.
    #[tool(destructive)]
    fn clear(&self, sure: bool) -> Result<String, Failure> {
        if !sure {
            return Err(Failure::new("be sure first"));
        }
        self.0.lock().map_err(|_| "the list is broken")?.clear();
        Ok("empty".to_owned())
    }

    /// Waits.
    #[tool(time_limit_ms = 10)]
    async fn wait(&self) {
        std::future::pending().await
    }
}

/// A model that is rate-limited first and then goes through its replies.
struct Clumsy(Mutex<Vec<Result<Reply, ModelError>>>);

#[async_trait]
impl Model for Clumsy {
    fn name(&self) -> &str {
        "clumsy"
    }

    async fn reply(&self, _: Prompt<'_>) -> Result<Reply, ModelError> {
        self.0.lock().unwrap().remove(0)
    }
}

#[tokio::test]
async fn agent_survives_a_model_that_does_everything_wrong() {
    let mut toolbox = Toolbox::new();
    toolbox
        .register_all(Arc::new(Tasks::default()).tools())
        .unwrap();
    let one = |name: &str, raw: &str| Ok(Reply::calls([Call::new("", name, raw)]));
    let replies = vec![
        Err(ModelError::new("too many requests").retryable()),
        Ok(Reply::text("  ")),
        one("functions.add", r#"{"title": "milk"}"#),
        one("add", "```json\n{'title': 'eggs',}\n```"),
        one("adds", r#"{"title": "x"}"#),
        one("add", r#"{"title": "brea"#),
        one("list", r#"{"order": "Newest"}"#),
        one("clear", "{'sure': True}"),
        one("wait", "{}"),
        Ok(Reply::text(
            "<tool_call>{\"name\": \"add\", \"arguments\": {\"title\": \"tea\"}}</tool_call>",
        )),
        one("clear", r#"{"sure": false}"#),
        Ok(Reply::text("Three tasks are left.")),
    ];
    let model = Clumsy(Mutex::new(replies));
    let names = Mutex::new(Vec::new());
    let driver = Driver::new(&toolbox, &model).on_event(|event| {
        if let Event::ToolExecuted { call, .. } = event {
            let class = call
                .result
                .get("errorType")
                .and_then(Value::as_str)
                .map(str::to_owned);
            names.lock().unwrap().push((call.name.clone(), class));
        }
    });
    let mut run = Run::new().user("Write a list.");
    let finish = driver.drive(&mut run).await.unwrap();
    assert_eq!(finish, Finish::Done("Three tasks are left.".to_owned()));
    let seen: Vec<_> = names.lock().unwrap().clone();
    let seen: Vec<_> = seen
        .iter()
        .map(|(name, class)| (name.as_str(), class.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("add", None),
            ("add", None),
            ("adds", Some("unknown_tool")),
            ("add", Some("truncated")),
            ("list", None),
            ("clear", Some("validation")),
            ("wait", Some("runtime")),
            ("add", None),
            ("clear", Some("logical")),
        ]
    );
    let list = toolbox.invoke("list", "{}").await;
    let titles = list.data().unwrap().as_array().unwrap();
    assert_eq!(titles.len(), 3);
    assert_eq!(
        (&titles[0], &titles[2]),
        (&json!("milk (0)"), &json!("tea (0)"))
    );
    assert!(titles[1].as_str().unwrap().starts_with("eggs ("));
}

#[tokio::test]
async fn same_wrong_call_for_ever_asks_the_user() {
    let mut toolbox = Toolbox::new();
    toolbox
        .register_all(Arc::new(Tasks::default()).tools())
        .unwrap();
    let wrong = || Ok(Reply::calls([Call::new("", "add", r#"{"titel": 5}"#)]));
    let model = Clumsy(Mutex::new((0..9).map(|_| wrong()).collect()));
    let mut run = Run::new().user("u");
    let driver = Driver::new(&toolbox, &model).cancel(CancellationToken::new());
    let finish = driver.drive(&mut run).await.unwrap();
    assert!(
        matches!(finish, Finish::Asking(HaltReason::Loop(_))),
        "{finish:?}"
    );
    assert_eq!(run.steps(), 3);
}
