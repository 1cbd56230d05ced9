//! `goodcall run`: a conversation in the terminal, with a model or from a recording.

use std::io::{BufRead, ErrorKind, IsTerminal, Write, stdin, stdout};

use goodcall::openai::OpenAi;
use goodcall::{
    DriveError, Driver, Event, FileStore, Finish, HaltReason, Model, Run, RunLimits, Script, Store,
    Toolbox,
};
use serde_json::Value;

use crate::{CliError, command_tools, recording, runtime};

/// The address of a local Ollama.
const OLLAMA_URL: &str = "http://localhost:11434/v1";

/// Hold a conversation with a model whose tools are commands, or replay a recorded one.
///
/// The tools are a TOML file: a [[tool]] with name, description, schema and command each; the
/// command gets the arguments as JSON on standard input. With --replay the model's replies come
/// from a file, one message per line: {"role": "user", "text": …} and {"role": "assistant",
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
    #[arg(long, default_value = OLLAMA_URL)]
    url: String,
    /// The environment variable that holds the server's key
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    key_env: String,
    /// The system prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// A recorded conversation, in place of a model
    #[arg(long, value_name = "JSONL", conflicts_with = "model")]
    replay: Option<String>,
    /// Keep the run in this file, and go on from there if it exists
    #[arg(long, value_name = "FILE")]
    save: Option<String>,
    /// The largest number of model calls for one task
    #[arg(long, default_value_t = 50)]
    steps: u32,
    /// The task; without one, each line of standard input is a message to the model
    #[arg(conflicts_with = "replay")]
    prompt: Option<String>,
}

pub(crate) fn run(args: &RunArgs) -> Result<bool, CliError> {
    let (toolbox, unstarted) = command_tools::read(&args.tools)?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        match (&args.replay, &args.model) {
            (Some(path), _) => {
                let recording = recording::read(path)?;
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
    })?;
    match unstarted.count() {
        0 => Ok(done),
        1 => Err("a call failed because its command could not be started".to_owned()),
        count => Err(format!(
            "{count} calls failed because their commands could not be started"
        )),
    }
}

/// The lines that a person types.
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

/// Sends one message after the other, and drives the run to its end each time.
async fn converse(
    args: &RunArgs,
    toolbox: &Toolbox,
    model: &dyn Model,
    said: impl Iterator<Item = String>,
    echo: bool,
) -> Result<bool, CliError> {
    let store = args.save.as_ref().map(FileStore::new);
    let mut run = match &store {
        Some(store) => store.load().map_err(|error| not_a_run(store, &error))?,
        None => None,
    };
    // A replay runs its calls in order.
    let parallel = if echo { 1 } else { 8 };
    let driver = Driver::new(toolbox, model).parallel(parallel);
    let driver = driver.on_event(print_event).ask(ask);
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
                run.say(text).map_err(|error| match &args.save {
                    Some(path) => format!(
                        "{path}: the saved run did not come to its end, so nothing can be said: \
                         name another file with --save"
                    ),
                    None => error.to_string(),
                })?;
                run
            }
        });
        let Some(run) = &mut run else { continue };
        let driven = driver.drive(run).await;
        match driven.map_err(|error| not_driven(args, &error))? {
            Finish::Done(_) => {}
            // The run waits for an answer, or ended without a final message.
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Explains why a saved run cannot be continued.
fn not_a_run(store: &FileStore, error: &std::io::Error) -> CliError {
    let path = store.path().display();
    match error.kind() {
        // The kinds of serde_json's errors about the text itself.
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => format!(
            "{path}: not a saved run: {error}; name another file with --save, or remove this one"
        ),
        _ => format!("{path}: {error}; name a file with --save"),
    }
}

/// Explains why a run could not continue, and what to do.
fn not_driven(args: &RunArgs, error: &DriveError) -> CliError {
    match (error, &args.replay, &args.save) {
        (DriveError::Model(_), Some(path), _) => {
            format!("{path}: the recording ends before the model's next reply")
        }
        (DriveError::Model(_), None, _) if args.url == OLLAMA_URL => {
            format!("{OLLAMA_URL}: {error}; name a server with --url")
        }
        (DriveError::Model(_), None, _) => format!("{}: {error}", without_secrets(&args.url)),
        (DriveError::Store(_), _, Some(path)) => format!("{path}: {error}"),
        _ => error.to_string(),
    }
}

/// Removes from a URL what may be a secret: the user and the query.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().expect("a split has a part");
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

fn begin(args: &RunArgs, text: String) -> Run {
    let run = Run::new().limits(RunLimits::default().steps(args.steps));
    let run = match &args.system {
        Some(system) => run.system(system.as_str()),
        None => run,
    };
    run.user(text)
}

/// Prints an event of the run.
fn print_event(event: &Event) {
    match event {
        Event::ToolExecuted { call: record, .. } => {
            println!("model: {}({})", record.name, record.arguments.trim());
            let text = match (&record.error, &record.result) {
                (Some(error), _) => error.clone(),
                (None, Value::String(text)) => text.clone(),
                (None, result) => result.to_string(),
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
            let escalation = format!("{:?}", loops.escalation).to_lowercase();
            println!(
                "loop:  {} by {} -> {escalation}",
                loops.signal.name(),
                loops.tools.join(", ")
            );
        }
        Event::Finished {
            reason: None,
            message,
            ..
        } => println!("model: {message}"),
        Event::Finished {
            reason: Some(HaltReason::Steps(1)),
            ..
        } => println!("stop:  the limit of 1 model call is reached"),
        Event::Finished { message, .. } => println!("stop:  {message}"),
        _ => {}
    }
}

/// Asks the user, if standard input is a terminal.
fn ask(reason: &HaltReason) -> Option<String> {
    println!("ask:   {reason}");
    if !stdin().is_terminal() {
        return None;
    }
    print!("you:   ");
    let _ = stdout().flush();
    stdin().lock().lines().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_query_of_a_url_are_hidden() {
        for (url, words) in [
            ("http://u:p@host:1/v1?key=s#x", "http://host:1/v1"),
            ("https://host/a@b", "https://host/a@b"),
            ("https://u@host", "https://host"),
            ("no url", "no url"),
        ] {
            assert_eq!(without_secrets(url), words);
        }
    }
}
