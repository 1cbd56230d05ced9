//! The cost of the agent loop without model and tools: `cargo bench -p goodcall --bench run`.

use std::time::{Duration, Instant};

use goodcall::{
    Call, CallOutcome, Driver, Reply, Run, RunLimits, Script, Step, ToolResult, Toolbox,
};

/// The number of steps of one run.
const STEPS: usize = 1000;
/// The number of runs; the median is printed.
const RUNS: usize = 21;

/// Echoes a text.
#[goodcall::tool(inline)]
fn echo(text: String, times: Option<u32>) -> String {
    let _ = times;
    text
}

fn call(n: usize) -> Call {
    let arguments = format!(r#"{{"text": "line {n} of a file that is being read", "times": {n}}}"#);
    Call::new(format!("call_{n}"), "echo", arguments)
}

fn limits() -> RunLimits {
    RunLimits::default()
        .steps(u32::MAX)
        .feedback_tokens(u64::MAX)
}

/// Measures the state machine alone.
fn machine() -> Duration {
    let turns: Vec<_> = (0..STEPS)
        .map(|n| {
            let call = call(n);
            let outcome = CallOutcome::new(&call, ToolResult::success(format!("result {n}")));
            (Reply::calls([call]), outcome)
        })
        .collect();
    let mut run = Run::new().user("go").limits(limits());
    let started = Instant::now();
    for (reply, outcome) in turns {
        let _ = run.next(Duration::ZERO);
        let _ = run.replied(reply);
        let _ = run.started(&outcome.call_id);
        let _ = run.executed(outcome);
    }
    assert!(matches!(run.next(Duration::ZERO), Step::CallModel { .. }));
    started.elapsed()
}

/// Measures the driver with a toolbox and a tool that does nothing.
fn driven(toolbox: &Toolbox, runtime: &tokio::runtime::Runtime) -> Duration {
    let replies = (0..STEPS).map(|n| Reply::calls([call(n)]));
    let model = Script::new(replies.chain([Reply::text("done")]));
    let mut run = Run::new().user("go").limits(limits());
    let started = Instant::now();
    let finish = runtime.block_on(Driver::new(toolbox, &model).drive(&mut run));
    assert!(finish.is_ok());
    started.elapsed()
}

/// Returns the median of the runs, per step.
fn median(mut once: impl FnMut() -> Duration) -> f64 {
    let mut times: Vec<_> = (0..RUNS).map(|_| once().as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2] * 1e6 / STEPS as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(Echo)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    println!("a step = one reply with one call, its outcome, and what to do next");
    println!(
        "state machine alone:        {:6.2} µs a step",
        median(machine)
    );
    let driven = median(|| driven(&toolbox, &runtime));
    println!("driver, check and dispatch: {driven:6.2} µs a step");
    Ok(())
}
