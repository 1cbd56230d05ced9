//! Runs the cases in `cases/loop/`. The block `turns` of a case has one turn per line:
//! `tool ARGUMENTS => ok RESULT`, with calls of one reply joined by ` && `. A result may also be
//! `error TEXT` (the tool refused), `runtime TEXT`, or `invalid PATH KIND`. The block `signals` lists
//! the loops that are found, with their turns; `(none)` means that there are none.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::{Case, run_folder};
use goodcall::{
    ArgumentFault, Call, CallOutcome, Context, ErrorClass, Failure, LoopKey, Message, Reply, Run,
    RunLimits, Step, ToolError, ToolResult, Toolbox, TypedTool, async_trait,
};
use serde_json::json;

#[test]
fn loops() {
    run_folder("loop", &["turns", "keys"], signals);
}

/// Parses one call and its outcome.
fn parse(text: &str, id: String, keys: &BTreeMap<&str, &str>) -> (Call, CallOutcome) {
    let (call, result) = text.split_once(" => ").expect("call => result");
    let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
    let call = Call::new(id, name, arguments);
    let (kind, rest) = result.split_once(' ').unwrap_or((result, ""));
    let result = match kind {
        "ok" => ToolResult::success(rest),
        "error" => ToolResult::error(rest),
        "runtime" => ToolResult::failure(ErrorClass::Runtime, rest),
        "invalid" => ToolResult::failure(ErrorClass::Validation, format!("change {rest}")),
        other => panic!("{other}: ok, error, runtime or invalid"),
    };
    let mut outcome = CallOutcome::new(&call, result);
    if kind == "invalid"
        && let Some(ToolError::Argument(error)) = &mut outcome.error
    {
        let (path, code) = rest.split_once(' ').expect("path code");
        // `/` means the root, whose pointer is empty.
        let path = if path == "/" { "" } else { path };
        error.faults.push(ArgumentFault::new(path, code));
    }
    outcome.loop_key = match keys.get(name) {
        None => LoopKey::Arguments,
        Some(&"exempt") => LoopKey::Exempt,
        Some(own) => LoopKey::Own((*own).to_owned()),
    };
    (call, outcome)
}

/// Plays the turns through a run that is saved and loaded after each.
fn signals(case: &Case) -> BTreeMap<String, String> {
    let turns = case.get("turns").expect("turns");
    let keys = case.get("keys").unwrap_or_default();
    let keys = keys
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let mut run = Run::new()
        .user("u")
        .limits(RunLimits::default().failures_per_tool(50).failures(50));
    let (mut found, mut texts) = (Vec::new(), Vec::new());
    for (turn, line) in turns.lines().enumerate() {
        let parts = line.split(" && ").enumerate();
        let pairs = parts.map(|(at, text)| parse(text, format!("{turn}.{at}"), &keys));
        let (calls, outcomes): (Vec<_>, Vec<_>) = pairs.unzip();
        run.replied(Reply::calls(calls))
            .expect("a turn of the model");
        for outcome in outcomes {
            run.executed(outcome).expect("an outcome");
        }
        let text = serde_json::to_string(&run).expect("a run is JSON");
        run = serde_json::from_str(&text).expect("JSON is a run");
        if let Some(report) = run.loop_report() {
            let escalation = format!("{:?}", report.escalation).to_lowercase();
            found.push(format!(
                "turn {}: {} -> {escalation}",
                turn + 1,
                report.signal.name()
            ));
            let steered = run
                .messages()
                .iter()
                .rev()
                .find_map(|message| match message {
                    Message::Tools { outcomes, .. } => {
                        outcomes.iter().find_map(|o| o.steer.clone())
                    }
                    _ => None,
                });
            texts.push(steered.unwrap_or_default());
        }
        match run.next(Duration::ZERO) {
            Step::AskUser { .. } => run.answered("go on").expect("an answer"),
            Step::Stopped { .. } => break,
            _ => {}
        }
    }
    assert!(
        texts.windows(2).all(|pair| pair[0] != pair[1]),
        "{}: the model is told the same twice",
        case.name
    );
    if found.is_empty() {
        found.push("(none)".to_owned());
    }
    let out = [("signals", found.join("\n")), ("told", texts.join("\n"))];
    out.map(|(name, text)| (name.to_owned(), text)).into()
}

/// A tool that polls, and is exempt from loop detection.
struct Poll;

#[async_trait]
impl TypedTool for Poll {
    type Args = serde_json::Map<String, serde_json::Value>;
    type Output = &'static str;

    fn name(&self) -> &str {
        "poll"
    }

    fn loop_key(&self, args: &Self::Args) -> LoopKey {
        match args.get("job") {
            Some(job) => LoopKey::Own(job.to_string()),
            None => LoopKey::Exempt,
        }
    }

    async fn execute(&self, _: Self::Args, _: &Context) -> Result<Self::Output, Failure> {
        Ok("pending")
    }
}

#[tokio::test]
async fn tool_sets_its_own_loop_key() {
    let mut toolbox = Toolbox::new();
    toolbox.register(Poll).expect("a tool");
    let call = |arguments: serde_json::Value| Call::new("1", "poll", arguments.to_string());
    let cancel = Default::default();
    let outcome = toolbox
        .call(&call(json!({"job": 7, "nonce": 1})), &cancel)
        .await;
    assert_eq!(outcome.loop_key, LoopKey::Own("7".to_owned()));
    let outcome = toolbox.call(&call(json!({})), &cancel).await;
    assert_eq!(outcome.loop_key, LoopKey::Exempt);
}
