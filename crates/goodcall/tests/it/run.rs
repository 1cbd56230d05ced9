//! Properties of a run: for any replies and outcomes, it ends within its limits, every call has
//! exactly one outcome, the history is valid, and saving changes nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use goodcall::{
    AssistantMessage, Call, CallOutcome, ErrorClass, HaltReason, LoopRules, Message, Reply, Run,
    RunLimits, SequenceError, Step, StopReason, ToolResult,
};
use proptest::prelude::*;
use serde_json::json;

/// One turn: a reply, and outcomes for its calls.
#[derive(Clone, Debug)]
struct Turn {
    reply: Reply,
    results: Vec<ToolResult>,
    /// The position at which the host dies: before, between or after the outcomes.
    dies: Option<usize>,
}

fn result() -> impl Strategy<Value = ToolResult> {
    prop_oneof![
        (0..3_u8).prop_map(|n| ToolResult::success(json!({"n": n, "f": 0.1 + f64::from(n)}))),
        any::<f64>()
            .prop_filter("JSON", |f| f.is_finite())
            .prop_map(|f| ToolResult::success(json!(f))),
        // Floats that are written like integers, or nearly so.
        prop::sample::select(vec![0.0, -0.0, 5.0, 1e16, 1e300])
            .prop_map(|f| ToolResult::success(json!([f, u64::MAX, i64::MIN]))),
        (0..2_u8).prop_map(|n| ToolResult::error(format!("no {n}"))),
        Just(ToolResult::failure(ErrorClass::Runtime, "down")),
        Just(ToolResult::failure(ErrorClass::Validation, "wrong")),
        Just(ToolResult::failure(ErrorClass::Truncated, "cut")),
        Just(ToolResult::failure(ErrorClass::Cancelled, "off")),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let id = prop_oneof![Just(String::new()), Just("null".to_owned()), "[a-c]{1,2}"];
    let arguments = prop_oneof![
        Just(String::new()),
        Just("null".to_owned()),
        Just("{\"a\": 1".to_owned()),
        (0..3_u8).prop_map(|n| format!("{{\"n\": {n}}}")),
        ".{0,8}",
    ];
    (id, "[rw]", arguments).prop_map(|(id, name, arguments)| Call::new(id, name, arguments))
}

fn turn() -> impl Strategy<Value = Turn> {
    let text = prop_oneof![3 => Just(String::new()), 1 => Just("words".to_owned())];
    let stop = prop_oneof![
        Just(StopReason::Unknown),
        Just(StopReason::Finished),
        Just(StopReason::CutOff)
    ];
    let calls = prop_oneof![8 => prop::collection::vec(call(), 1..4), 1 => Just(Vec::new())];
    let results = prop::collection::vec(result(), 4);
    (text, stop, calls, results, prop::option::of(0..5_usize)).prop_map(
        |(text, stop, calls, results, dies)| {
            let mut reply = Reply::calls(calls);
            reply.text = text;
            reply.stop = stop;
            Turn {
                reply,
                results,
                dies,
            }
        },
    )
}

fn limits() -> impl Strategy<Value = RunLimits> {
    (
        1..12_u32,
        1..4_u32,
        1..8_u32,
        1..400_u64,
        prop::option::of(1..20_u64),
    )
        .prop_map(|(steps, per_tool, failures, feedback, wall)| {
            let limits = RunLimits::default()
                .steps(steps)
                .failures_per_tool(per_tool)
                .failures(failures)
                .feedback_tokens(feedback);
            match wall {
                Some(seconds) => limits.wall_time(Duration::from_secs(seconds)),
                None => limits,
            }
        })
}

fn reload(run: &Run) -> Run {
    let text = serde_json::to_string(run).unwrap();
    let loaded: Run = serde_json::from_str(&text).unwrap();
    assert_eq!(&loaded, run, "saving and loading changes nothing");
    loaded
}

/// Asserts what every provider requires of a history: each reply with calls is followed by exactly
/// their outcomes in order, ids are unique, nothing is empty.
fn legal(messages: &[Message]) {
    let mut ids = BTreeSet::new();
    let mut open: Option<Vec<String>> = None;
    for message in messages {
        match message {
            Message::Tools { outcomes, .. } => {
                let answered: Vec<_> = outcomes.iter().map(|o| o.call_id.clone()).collect();
                assert_eq!(open.take(), Some(answered));
            }
            other => {
                assert!(open.is_none(), "calls without outcomes");
                if let Message::Assistant(AssistantMessage { text, calls, .. }) = other {
                    assert!(!text.trim().is_empty() || !calls.is_empty());
                    for call in calls {
                        assert!(!call.id.is_empty() && ids.insert(call.id.clone()));
                    }
                    if !calls.is_empty() {
                        open = Some(calls.iter().map(|call| call.id.clone()).collect());
                    }
                }
            }
        }
    }
    assert!(open.is_none(), "calls without outcomes");
}

/// Drives a run through these turns, one second per step, and returns the number of steps.
fn drive(mut run: Run, turns: &[Turn], saved: bool) -> (Run, usize) {
    let mut turns = turns.iter().cycle();
    let mut current = turns.next().unwrap();
    for step in 0..2_000 {
        legal(run.messages());
        if saved {
            run = reload(&run);
        }
        match run.next(Duration::from_secs(step)) {
            Step::CallModel { messages } => {
                legal(messages);
                current = turns.next().unwrap();
                let reply = current.reply.clone();
                run.replied(reply).unwrap();
            }
            Step::Execute { calls } => {
                let calls: Vec<_> = calls.into_iter().cloned().collect();
                assert!(!calls.is_empty());
                execute(&mut run, &calls, current, saved);
            }
            Step::AskUser { .. } => run.answered("go on").unwrap(),
            Step::Done { .. } | Step::Stopped { .. } => {
                assert!(run.is_over());
                return (run, usize::try_from(step).unwrap());
            }
        }
    }
    panic!("the run does not end")
}

fn execute(run: &mut Run, calls: &[Call], turn: &Turn, saved: bool) {
    for (at, call) in calls.iter().enumerate() {
        if saved && turn.dies == Some(at) {
            // The host dies after the start was saved: the call may have run.
            run.started(&call.id).unwrap();
            *run = reload(run);
            run.resume(|call| call.name == "r");
            return;
        }
        run.started(&call.id).unwrap();
        assert_eq!(
            run.started(&call.id),
            Err(SequenceError::Twice(call.id.clone()))
        );
        let result = turn.results[at % turn.results.len()].clone();
        run.executed(CallOutcome::new(call, result.clone()))
            .unwrap();
        assert!(run.executed(CallOutcome::new(call, result)).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn run_ends_within_its_limits(
        limits in limits(),
        turns in prop::collection::vec(turn(), 1..12),
        saved in any::<bool>(),
    ) {
        let run = Run::new().system("s").user("u").limits(limits);
        let (run, _) = drive(run, &turns, saved);
        legal(run.messages());
        prop_assert!(run.steps() <= limits.steps);
        let outcomes = run.messages().iter().filter_map(|message| match message {
            Message::Tools { outcomes, .. } => Some(outcomes),
            _ => None,
        });
        let refused = |o: &&CallOutcome| o.class().is_some_and(ErrorClass::is_refusal);
        let failures = outcomes.flatten().filter(refused).count();
        // A turn of three calls may be counted at once.
        prop_assert!(failures < usize::try_from(limits.failures).unwrap() + 3);
    }

    #[test]
    fn saving_at_every_step_changes_nothing(
        turns in prop::collection::vec(turn(), 1..12),
    ) {
        let turns: Vec<_> = turns.into_iter().map(|turn| Turn { dies: None, ..turn }).collect();
        let run = || Run::new().user("u").limits(RunLimits::default().steps(20));
        let (plain, steps) = drive(run(), &turns, false);
        let (saved, saved_steps) = drive(run(), &turns, true);
        prop_assert_eq!(plain, saved);
        prop_assert_eq!(steps, saved_steps);
    }
}

#[test]
fn missing_and_taken_ids_are_replaced() {
    let mut run = Run::new().user("u");
    let calls = ["", "null", "null", "call_2"].map(|id| Call::new(id, "r", "{}"));
    run.replied(Reply::calls(calls)).unwrap();
    let Step::Execute { calls } = run.next(Duration::ZERO) else {
        panic!()
    };
    let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_1", "null", "call_3", "call_2"]);
}

#[test]
fn unexpected_reports_are_refused() {
    let mut run = Run::new().user("u");
    let call = Call::new("1", "r", "{}");
    let before = run.clone();
    assert_eq!(run.started("1"), Err(SequenceError::Outcome));
    assert_eq!(run.answered("x"), Err(SequenceError::Answer));
    assert_eq!(run, before);
    run.replied(Reply::calls([call.clone()])).unwrap();
    let before = run.clone();
    assert_eq!(run.replied(Reply::text("x")), Err(SequenceError::Reply));
    assert_eq!(
        run.started("2"),
        Err(SequenceError::UnknownCall("2".to_owned()))
    );
    assert_eq!(run, before);
}

#[test]
fn stopped_run_answers_its_open_calls() {
    let mut run = Run::new().user("u");
    let calls = ["1", "2", "3"].map(|id| Call::new(id, "r", "{}"));
    run.replied(Reply::calls(calls.clone())).unwrap();
    run.started("1").unwrap();
    run.executed(CallOutcome::new(&calls[0], ToolResult::success(1)))
        .unwrap();
    run.started("2").unwrap();
    run.stop(HaltReason::Host("shut down".to_owned()));
    let Some(Message::Tools { outcomes, .. }) = run.messages().last() else {
        panic!()
    };
    let texts: Vec<_> = outcomes.iter().map(CallOutcome::text).collect();
    assert_eq!(
        texts,
        [
            "1",
            "The host stopped while `r` was running. It may have taken effect, or not: check \
             before you call it again.\ncheck what has been done before you call the tool again",
            "The tool `r` was not run: the conversation was stopped first.\n\
             check what has been done before you call the tool again",
        ]
        .map(|text| text.split('\n').next().unwrap())
    );
    assert_eq!(
        run.next(Duration::ZERO),
        Step::Stopped {
            reason: &HaltReason::Host("shut down".to_owned())
        }
    );
}

#[test]
fn time_limit_uses_the_clock_of_the_host() {
    let limits = RunLimits::default().wall_time(Duration::from_secs(10));
    let mut run = Run::new().user("u").limits(limits);
    let start = Duration::from_secs(1_800_000_000);
    assert!(matches!(run.next(start), Step::CallModel { .. }));
    let mut run = reload(&run);
    assert!(matches!(
        run.next(start + Duration::from_secs(9)),
        Step::CallModel { .. }
    ));
    let stopped = run.next(start + Duration::from_secs(10));
    assert_eq!(
        stopped,
        Step::Stopped {
            reason: &HaltReason::WallTime(10_000)
        }
    );
}

#[test]
fn finished_run_takes_a_new_task() {
    let mut run = Run::new().user("u").limits(RunLimits::default().steps(1));
    run.replied(Reply::text("a")).unwrap();
    assert_eq!(run.next(Duration::ZERO), Step::Done { text: "a" });
    run.say("and?").unwrap();
    run.replied(Reply::text("b")).unwrap();
    assert_eq!(run.next(Duration::ZERO), Step::Done { text: "b" });
    assert_eq!(run.messages().len(), 4);
}

#[test]
fn loop_stops_the_run_if_nobody_can_be_asked() {
    let mut rules = LoopRules::default();
    rules.asks = 0;
    let mut run = Run::new().user("u").loop_rules(rules);
    for turn in 0..4 {
        assert!(
            matches!(run.next(Duration::ZERO), Step::CallModel { .. }),
            "{turn}"
        );
        let call = Call::new(turn.to_string(), "r", "{}");
        run.replied(Reply::calls([call.clone()])).unwrap();
        run.executed(CallOutcome::new(&call, ToolResult::success("same")))
            .unwrap();
    }
    assert!(matches!(
        run.next(Duration::ZERO),
        Step::Stopped {
            reason: HaltReason::Loop(_)
        }
    ));
}
