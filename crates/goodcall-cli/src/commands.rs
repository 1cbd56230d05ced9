//! Tools that are commands: arguments as JSON on standard input, the result on standard output.

use std::process::Stdio;
use std::time::Duration;

use goodcall::{
    Bound, Context, Failure as ToolFailure, Invalid, Tool, ToolResult, Toolbox, async_trait,
};
use goodcall_core::Tree;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::Failure;

/// Bytes of output that the model gets.
const MOST_BYTES: usize = 64 << 10;
/// How long a command may take, unless it says otherwise.
const TIME_LIMIT_MS: u64 = 30_000;

/// The file: a list of `[[tool]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tool: Vec<Command>,
}

/// One tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    name: String,
    #[serde(default)]
    description: String,
    /// Program and arguments; no shell is in between.
    command: Vec<String>,
    /// The JSON Schema of the parameters: a table, or JSON as text.
    #[serde(default)]
    schema: Option<Value>,
    #[serde(default)]
    time_limit_ms: Option<u64>,
    #[serde(default)]
    destructive: bool,
}

/// Reads the tools of a file into a toolbox.
pub(crate) fn read(path: &str) -> Result<Toolbox, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let file: File = toml::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let mut toolbox = Toolbox::new();
    for mut command in file.tool {
        if command.command.is_empty() {
            return Err(format!(
                "{path}: the tool `{}` has no command",
                command.name
            ));
        }
        if let Some(Value::String(json)) = &command.schema {
            let schema = serde_json::from_str(json);
            let schema = schema.map_err(|error| format!("{path}: {}: {error}", command.name))?;
            command.schema = Some(schema);
        }
        let registered = toolbox.register(command);
        registered.map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(toolbox)
}

#[async_trait]
impl Tool for Command {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters_schema(&self) -> Option<Value> {
        self.schema.clone()
    }

    fn is_destructive(&self) -> bool {
        self.destructive
    }

    fn time_limit(&self) -> Option<Duration> {
        let limit = self.time_limit_ms.unwrap_or(TIME_LIMIT_MS);
        Some(Duration::from_millis(limit))
    }

    /// The command gets the arguments with every digit as written.
    fn bind(&self, arguments: &Tree<'_>) -> Result<Bound, Invalid> {
        Ok(Bound::typed(arguments.to_json()))
    }

    async fn run(&self, bound: Bound, _: &Context) -> ToolResult {
        let input = bound.into_typed::<String>().unwrap_or_default();
        self.call(&input).await.unwrap_or_else(ToolResult::from)
    }

    async fn execute(&self, params: &Value) -> ToolResult {
        let called = self.call(&params.to_string()).await;
        called.unwrap_or_else(ToolResult::from)
    }
}

impl Command {
    /// Runs the command; it dies with this future.
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
            .spawn()?;
        let stdin = child.stdin.take();
        let write = async {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input is none the worse for it.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        let output = output?;
        if !output.status.success() {
            let said = text(&output.stderr);
            return Err(match said.is_empty() {
                true => ToolFailure::new(format!("the command ended with {}", output.status)),
                false => ToolFailure::new(said),
            });
        }
        let said = text(&output.stdout);
        let data = serde_json::from_str(&said).unwrap_or(Value::String(said));
        Ok(ToolResult::success(data))
    }
}

fn text(bytes: &[u8]) -> String {
    let kept = bytes.get(..MOST_BYTES).unwrap_or(bytes);
    String::from_utf8_lossy(kept).trim_end().to_owned()
}
