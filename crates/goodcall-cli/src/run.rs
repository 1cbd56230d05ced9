//! `goodcall run`: a conversation in the terminal, with a model or from a recording.

use std::io::{BufRead, IsTerminal, Write, stdin, stdout};

use goodcall::openai::OpenAi;
use goodcall::{
    Call, Driver, Event, FileStore, Finish, Message, Model, Reply, Run, RunLimits, Script, Store,
    Toolbox, Why,
};
use goodcall_wire::{Envelope, Provider, Tools};
use serde_json::Value;

use crate::{Failure, commands};

/// Hold a conversation with a model whose tools are commands, or replay a recorded one.
///
/// The tools are a TOML file: a [[tool]] with name, description, schema and command each; the
/// command gets the arguments as JSON on standard input. With --replay the model's words come
/// from a file, one message a line: {"role": "user", "text": …} and {"role": "assistant",
/// "text"?, "calls"?: [{"name", "arguments"}]}, or OpenAI's chat messages. The tools are run.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    /// Tools that are commands
    #[arg(long, value_name = "TOML")]
    tools: String,
    /// The model's name
    #[arg(long, value_name = "NAME", required_unless_present = "replay")]
    model: Option<String>,
    /// An OpenAI-compatible server
    #[arg(long, default_value = "http://localhost:11434/v1")]
    url: String,
    /// The environment variable that holds the server's key
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    key_env: String,
    /// What the model is told about its task
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// A recorded conversation, in place of a model
    #[arg(long, value_name = "JSONL", conflicts_with = "model")]
    replay: Option<String>,
    /// Keep the run in this file, and go on from there if it exists
    #[arg(long, value_name = "FILE")]
    save: Option<String>,
    /// At most so many calls of the model for one task
    #[arg(long, default_value_t = 50)]
    steps: u32,
    /// The task; without one, lines of standard input are said one after the other
    #[arg(conflicts_with = "replay")]
    prompt: Option<String>,
}

pub(crate) fn run(args: &RunArgs) -> Result<bool, Failure> {
    let toolbox = commands::read(&args.tools)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        match (&args.replay, &args.model) {
            (Some(path), _) => {
                let recording = read_recording(path)?;
                let said = recording.said.into_iter();
                converse(args, &toolbox, &Script::new(recording.replies), said, true).await
            }
            (None, Some(name)) => {
                let mut model = OpenAi::new(&args.url, name).map_err(|e| e.to_string())?;
                if let Ok(key) = std::env::var(&args.key_env) {
                    model = model.key(key);
                }
                match &args.prompt {
                    Some(prompt) => {
                        let said = std::iter::once(prompt.clone());
                        converse(args, &toolbox, &model, said, false).await
                    }
                    None => converse(args, &toolbox, &model, lines(), false).await,
                }
            }
            (None, None) => Err("name a --model, or a recording to --replay".to_owned()),
        }
    })
}

/// Lines that a person types.
fn lines() -> impl Iterator<Item = String> {
    let terminal = stdin().is_terminal();
    std::iter::from_fn(move || {
        if terminal {
            print!("you:   ");
            let _ = stdout().flush();
        }
        stdin().lock().lines().next()?.ok()
    })
    .filter(|line| !line.trim().is_empty())
}

/// Says one thing after the other and drives the run to its end each time.
async fn converse(
    args: &RunArgs,
    toolbox: &Toolbox,
    model: &dyn Model,
    said: impl Iterator<Item = String>,
    echo: bool,
) -> Result<bool, Failure> {
    let store = args.save.as_ref().map(FileStore::new);
    let loaded = match &store {
        Some(store) => store.load().map_err(|error| error.to_string())?,
        None => None,
    };
    let mut run = loaded;
    // A replay is told in order.
    let parallel = if echo { 1 } else { 8 };
    let driver = Driver::new(toolbox, model).parallel(parallel);
    let driver = driver.on_event(show).ask(ask);
    let driver = match &store {
        Some(store) => driver.store(store as &dyn Store),
        None => driver,
    };
    for text in said {
        if echo {
            println!("user:  {text}");
        }
        run = Some(match run.take() {
            None => begin(args, text),
            Some(mut run) => {
                run.say(text).map_err(|error| error.to_string())?;
                run
            }
        });
        let Some(run) = &mut run else { continue };
        match driver.drive(run).await.map_err(|error| error.to_string())? {
            Finish::Done(_) => {}
            Finish::Asking(_) | Finish::Stopped(_) => return Ok(false),
        }
    }
    Ok(true)
}

fn begin(args: &RunArgs, text: String) -> Run {
    let run = Run::new().limits(RunLimits::default().steps(args.steps));
    let run = match &args.system {
        Some(system) => run.system(system.as_str()),
        None => run,
    };
    run.user(text)
}

/// Shows what happens.
fn show(event: &Event) {
    match event {
        Event::ToolExecuted(record) => {
            println!("model: {}({})", record.name, record.arguments.trim());
            let text = match (&record.error, &record.result) {
                (Some(error), _) => error.clone(),
                (None, Some(Value::String(text))) => text.clone(),
                (None, result) => result.clone().unwrap_or_default().to_string(),
            };
            println!("tool:  {}", text.replace('\n', "\n       "));
            for change in &record.changes {
                let (path, rule) = (&change.path, &change.rule);
                println!(
                    "       mended {} by {rule}",
                    if path.is_empty() { "/" } else { path }
                );
            }
        }
        Event::LoopSuspected(loops) => {
            let rung = format!("{:?}", loops.rung).to_lowercase();
            println!(
                "loop:  {} by {} -> {rung}",
                loops.signal.name(),
                loops.tools.join(", ")
            );
        }
        Event::Finished { why: None, message } => println!("model: {message}"),
        Event::Finished { message, .. } => println!("stop:  {message}"),
        _ => {}
    }
}

/// Asks the person, if there is one.
fn ask(why: &Why) -> Option<String> {
    println!("ask:   {why}");
    if !stdin().is_terminal() {
        return None;
    }
    print!("you:   ");
    let _ = stdout().flush();
    stdin().lock().lines().next()?.ok()
}

/// A recorded conversation: what was said, and what the model replied.
#[derive(Default)]
struct Recording {
    said: Vec<String>,
    replies: Vec<Reply>,
}

fn read_recording(path: &str) -> Result<Recording, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut recording = Recording::default();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let fault = |what: String| format!("{path}:{}: {what}", number + 1);
        let value: Value = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
        let role = value.get("role").and_then(Value::as_str);
        let words = ["text", "content"]
            .iter()
            .find_map(|key| value.get(key)?.as_str());
        match role {
            Some("user") => recording.said.push(words.unwrap_or_default().to_owned()),
            Some("assistant") => {
                let reply = reply(line, &value).map_err(fault)?;
                recording.replies.push(reply);
            }
            // The tools are run, so what they said then is passed over.
            Some("tool" | "tools" | "system") => {}
            _ => return Err(fault("a message has the role user or assistant".to_owned())),
        }
    }
    if recording.said.is_empty() {
        return Err(format!("{path}: there is no message of a user"));
    }
    Ok(recording)
}

/// A reply in our own form or OpenAI's.
fn reply(line: &str, value: &Value) -> Result<Reply, String> {
    if value.get("tool_calls").is_none() && value.get("content").is_none() {
        let message: Message = serde_json::from_value(neutral(value.clone()))
            .map_err(|error| format!("no reply: {error}"))?;
        return Ok(match message {
            Message::Assistant { text, calls } => Reply {
                text,
                calls,
                ..Reply::default()
            },
            _ => Reply::default(),
        });
    }
    let envelope = Envelope::read(Provider::OpenAi, line, &Tools::default());
    let envelope = envelope.map_err(|error| error.to_string())?;
    let calls = envelope.calls().iter().map(Call::from_wire);
    let mut reply = Reply::calls(calls);
    reply.text = envelope.content().to_owned();
    Ok(reply)
}

/// Our own form, with what may be left out put in: words, and arguments as text.
fn neutral(mut message: Value) -> Value {
    if let Some(map) = message.as_object_mut() {
        map.entry("text").or_insert_with(|| Value::from(""));
    }
    let calls = message.get_mut("calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(arguments) = call.get("arguments")
            && !arguments.is_string()
        {
            call["arguments"] = Value::from(arguments.to_string());
        }
    }
    message
}
