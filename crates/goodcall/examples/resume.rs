//! A host that is killed and continues where it was: no call is lost, and none is made twice.
//!
//! `cargo run -p goodcall --example resume` starts itself, dies in the middle, and resumes.
//! With a folder as argument it is the host that is killed: it prints its position (`replied`,
//! `paid`, `executed`) and waits for a line on standard input before it continues. The test
//! `kill.rs` kills it at these positions.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use goodcall::{
    BoundArguments, Call, Context, Driver, Event, FileStore, Finish, Reply, Run, Script, Tool,
    ToolResult, Toolbox, async_trait,
};
use serde_json::Value;

/// The number of calls that the script makes.
const CALLS: usize = 100;

/// A tool whose effect must happen once: it writes a line into a ledger.
struct Pay {
    ledger: PathBuf,
}

#[async_trait]
impl Tool for Pay {
    fn name(&self) -> &str {
        "pay"
    }

    fn description(&self) -> &str {
        "Pays an amount"
    }

    fn parameters_schema(&self) -> Value {
        Value::Null
    }

    async fn execute(&self, _: &Value) -> ToolResult {
        ToolResult::error("a payment needs a call id")
    }

    async fn run(&self, _: BoundArguments, context: &Context) -> ToolResult {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.ledger);
        let written = file.and_then(|mut file| writeln!(file, "{}", context.call_id()));
        pause("paid", context.call_id());
        match written {
            Ok(()) => ToolResult::success("paid"),
            Err(error) => ToolResult::error(error.to_string()),
        }
    }
}

/// Prints the position and waits for a line.
fn pause(place: &str, id: &str) {
    println!("{place} {id}");
    let _ = io::stdout().flush();
    let mut line = String::new();
    let _ = io::stdin().lock().read_line(&mut line);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1) {
        Some(folder) => host(Path::new(&folder)).await,
        None => demonstrate(),
    }
}

async fn host(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(Pay {
        ledger: folder.join("ledger"),
    })?;
    let store = FileStore::new(folder.join("run.json"));
    let mut run = store.load()?.unwrap_or_else(|| {
        let limits = goodcall::RunLimits::default().steps(1000);
        Run::new().user("Pay everybody.").limits(limits)
    });
    let reply = |n: usize| {
        let arguments = format!(r#"{{"amount": {n}}}"#);
        Reply::calls([Call::new(format!("pay_{n}"), "pay", arguments)])
    };
    let replies = (0..CALLS).map(reply).chain([Reply::text("All paid.")]);
    let had = usize::try_from(run.steps())?;
    let model = Script::new(replies).skip(had);
    let driver = Driver::new(&toolbox, &model)
        .store(&store)
        .on_event(|event| match event {
            Event::ModelCalled { step, .. } => pause("replied", &step.to_string()),
            Event::ToolExecuted { call, .. } => pause("executed", &call.call_id),
            _ => {}
        });
    let finish = driver.drive(&mut run).await?;
    assert_eq!(finish, Finish::Done("All paid.".to_owned()));
    println!("done {}", run.messages().len());
    Ok(())
}

/// Kills the host at a few positions, lets it resume, and checks the ledger.
fn demonstrate() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("goodcall-resume-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let kills = [
        "executed pay_2",
        "replied 6",
        "executed pay_50",
        "replied 80",
    ];
    for fatal in kills.into_iter().chain([""]) {
        let mut host = Command::new(std::env::current_exe()?)
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut leave = host.stdin.take().ok_or("no stdin")?;
        let out = host.stdout.take().ok_or("no stdout")?;
        for line in io::BufReader::new(out).lines() {
            let line = line?;
            if line == fatal {
                println!("killed at `{line}`");
                host.kill()?;
                break;
            }
            if line.starts_with("done") {
                println!("resumed and finished: {line} messages");
            }
            let _ = leave.write_all(b"\n");
        }
        host.wait()?;
    }
    let ledger = fs::read_to_string(folder.join("ledger"))?;
    let mut payments: Vec<_> = ledger.lines().collect();
    println!("{} payments in the ledger", payments.len());
    payments.sort_unstable();
    payments.dedup();
    println!("{} different ones", payments.len());
    fs::remove_dir_all(&folder)?;
    Ok(())
}
