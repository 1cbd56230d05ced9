//! Tools that are commands: arguments as JSON on standard input, the result on standard output.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use goodcall::{
    BoundArguments, Context, Failure as ToolFailure, Invalid, Tool, ToolResult, Toolbox,
    async_trait,
};
use goodcall_core::Tree;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::CliError;

/// Bytes of a command's output that the model reads.
const MOST_BYTES: usize = 64 << 10;
/// How long a command may take, unless the file sets `time_limit_ms`.
const TIME_LIMIT_MS: u64 = 30_000;

/// The file of tools: a list of `[[tool]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolsFile {
    tool: Vec<CommandTool>,
}

/// A tool that is a command.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandTool {
    name: String,
    #[serde(default)]
    description: String,
    /// The program and its arguments. No shell is involved.
    #[serde(deserialize_with = "words")]
    command: Vec<String>,
    /// The JSON Schema of the parameters: a table, or JSON as text.
    #[serde(default)]
    schema: Option<Value>,
    #[serde(default)]
    time_limit_ms: Option<u64>,
    #[serde(default)]
    destructive: bool,
    #[serde(skip)]
    unstarted: Unstarted,
}

/// Reads the words of a command. A line for a shell is an error.
fn words<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Array(words) if words.iter().all(Value::is_string) => {
            let words = words.iter().filter_map(Value::as_str);
            Ok(words.map(str::to_owned).collect())
        }
        other => Err(serde::de::Error::custom(format_args!(
            "{other} is not a command: expected a list of words, the program first, \
             such as [\"ls\", \"-l\"]"
        ))),
    }
}

/// Counts the calls whose command could not be started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unstarted(Arc<AtomicUsize>);

impl Unstarted {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads the tools of a file into a toolbox.
pub(crate) fn read(path: &str) -> Result<(Toolbox, Unstarted), CliError> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let file: ToolsFile = toml::from_str(&text).map_err(|error| not_tools(path, &text, &error))?;
    let (mut toolbox, unstarted) = (Toolbox::new(), Unstarted::default());
    for mut command in file.tool {
        let name = &command.name;
        match command.command.first() {
            None => return Err(format!("{path}: the tool `{name}` has no command")),
            Some(program) => {
                find(program).map_err(|error| format!("{path}: the tool `{name}`: {error}"))?;
            }
        }
        command.unstarted = unstarted.clone();
        if let Some(Value::String(json)) = &command.schema {
            let schema = serde_json::from_str(json);
            let schema = schema.map_err(|error| {
                format!(
                    "{path}: the schema of the tool `{}` is text, but not JSON: {error}",
                    command.name
                )
            })?;
            command.schema = Some(schema);
        }
        let registered = toolbox.register(command);
        registered.map_err(|error| format!("{path}: {error}"))?;
    }
    Ok((toolbox, unstarted))
}

/// Explains why a file has no tools for `goodcall run`.
fn not_tools(path: &str, text: &str, error: &toml::de::Error) -> CliError {
    if text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok() {
        format!(
            "{path}: this is JSON; here tools are commands, written in TOML: a [[tool]] with name, \
             description, command and schema for each"
        )
    } else {
        format!("{path}: {}", error.to_string().trim_end())
    }
}

/// Checks that there is such a program. Whether it can be started shows only when it is called.
fn find(program: &str) -> Result<(), String> {
    let exists =
        |path: &Path| path.is_file() || cfg!(windows) && path.with_extension("exe").is_file();
    let (found, reason) = if Path::new(program).components().count() > 1 {
        (exists(Path::new(program)), "there is no such file")
    } else if let Some(folders) = std::env::var_os("PATH") {
        let mut folders = std::env::split_paths(&folders);
        let found = folders.any(|folder| exists(&folder.join(program)));
        (found, "no such program is in PATH")
    } else {
        // Without PATH, the system looks in folders of its own.
        (true, "")
    };
    if found {
        Ok(())
    } else {
        Err(format!(
            "the command `{program}` cannot be started: {reason}"
        ))
    }
}

#[async_trait]
impl Tool for CommandTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Value {
        self.schema.clone().unwrap_or_default()
    }

    fn is_destructive(&self) -> bool {
        self.destructive
    }

    fn time_limit(&self) -> Option<Duration> {
        let limit = self.time_limit_ms.unwrap_or(TIME_LIMIT_MS);
        Some(Duration::from_millis(limit))
    }

    /// The command gets the arguments with every digit as written.
    fn bind(&self, arguments: &Tree<'_>) -> Result<BoundArguments, Invalid> {
        Ok(BoundArguments::typed(arguments.to_json()))
    }

    async fn run(&self, bound: BoundArguments, _: &Context) -> ToolResult {
        let input = bound.into_typed::<String>();
        let input = input.expect("`bind` made a text");
        self.call(&input).await.unwrap_or_else(ToolResult::from)
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        let called = self.call(&params.to_string()).await;
        called.unwrap_or_else(ToolResult::from)
    }
}

impl CommandTool {
    /// Runs the command. Dropping the future kills it.
    async fn call(&self, input: &str) -> Result<ToolResult, ToolFailure> {
        let (program, arguments) = match self.command.split_first() {
            Some(split) => split,
            None => return Err(ToolFailure::runtime("there is no command")),
        };
        let mut child = tokio::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.not_started(program, &error))?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A command need not read its input.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        let output = output?;
        if !output.status.success() {
            let mut message = text(&output.stderr);
            if message.is_empty() {
                message = format!("the command ended with {}", output.status);
            }
            return Err(ToolFailure::new(message));
        }
        // The model reads the output as it is: JSON keeps its digits and its order.
        Ok(ToolResult::success(text(&output.stdout)))
    }

    /// Reports a command that could not be started to the model and to the user, who alone can help.
    fn not_started(&self, program: &str, error: &std::io::Error) -> ToolFailure {
        self.unstarted.0.fetch_add(1, Ordering::Relaxed);
        let what = format!("the command `{program}` cannot be started: {error}");
        anstream::eprintln!("goodcall: the tool `{}`: {what}", self.name);
        ToolFailure::runtime(what)
    }
}

fn text(bytes: &[u8]) -> String {
    let kept = bytes.get(..MOST_BYTES).unwrap_or(bytes);
    String::from_utf8_lossy(kept).trim_end().to_owned()
}
