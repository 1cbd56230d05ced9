//! The gate inside an agent of rig: one hook checks the arguments of all its tools before they run.
//! The model is rig's scripted one, so that nothing is sent anywhere.
//!
//! `cargo run --manifest-path examples/rig/Cargo.toml`

use std::collections::HashMap;
use std::convert::Infallible;

use goodcall::{Explain, Gate, Schema, Style};
use rig_agent::agent::{AgentBuilder, AgentHook, DispatchAction, DispatchEvent, HookContext};
use rig_agent::core::message::{Message, ToolResultContent, UserContent};
use rig_agent::core::test_utils::{MockCompletionModel, MockTurn};
use rig_agent::tool::{Tool, ToolContext};
use serde::Deserialize;
use serde_json::{Value, json};

/// A tool as rig has it: a schema for the model, and a type that serde reads.
struct ReadFile;

#[derive(Deserialize)]
struct ReadFileArgs {
    file_path: String,
    limit: Option<u32>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    type Args = ReadFileArgs;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Reads a file.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            },
            "required": ["file_path"],
        })
    }

    async fn call(&self, _: &mut ToolContext, args: ReadFileArgs) -> Result<String, Infallible> {
        Ok(format!("{} up to {:?}", args.file_path, args.limit))
    }
}

/// Checks every call against the schema of its tool.
struct Checked(HashMap<&'static str, Schema>);

impl Checked {
    /// Adds a tool.
    fn tool<T: Tool>(mut self, tool: &T) -> Result<Self, goodcall::SchemaError> {
        self.0.insert(T::NAME, Schema::compile(&tool.parameters())?);
        Ok(self)
    }
}

impl AgentHook for Checked {
    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        let (Some(name), Some(raw)) = (event.tool_name(), event.tool_args()) else {
            return DispatchAction::proceed();
        };
        let Some(schema) = self.0.get(name) else {
            return DispatchAction::proceed();
        };
        match Gate::new(schema).tool(name).check(raw).into_result() {
            // As a `Value`, in which `5.0` is the integer that it stands for: serde takes no other.
            Ok(arguments) => match arguments.to_value() {
                Ok(value) => DispatchAction::rewrite_tool_args(event.kind, value),
                Err(inexact) => DispatchAction::skip(inexact.to_string()),
            },
            Err(refused) => {
                DispatchAction::skip(Explain::new(Style::Model).tool(name).text(&refused))
            }
        }
    }
}

/// The results that the model read, in order.
fn results(messages: &[Message]) -> Vec<String> {
    let mut texts = Vec::new();
    for message in messages {
        let Message::User { content } = message else {
            continue;
        };
        for part in content.iter() {
            let UserContent::ToolResult(result) = part else {
                continue;
            };
            texts.extend(result.content.iter().filter_map(|part| match part {
                ToolResultContent::Text(text) => Some(text.text.clone()),
                _ => None,
            }));
        }
    }
    texts
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls = [
        json!({"file_path": "a", "limit": 5}),
        json!({"filePath": "a", "limit": "5"}),
        json!({"file_path": "a", "limit": 5.0}),
        json!({"limit": 5}),
    ];
    let script = || {
        let call = |(at, raw): (usize, &Value)| {
            MockTurn::tool_call(format!("call_{at}"), ReadFile::NAME, raw.clone())
        };
        let turns: Vec<_> = calls.iter().enumerate().map(call).collect();
        MockCompletionModel::from_turns(turns.into_iter().chain([MockTurn::text("done")]))
    };
    let plain = AgentBuilder::new(script()).tool(ReadFile).build();
    let checked = AgentBuilder::new(script())
        .tool(ReadFile)
        .add_hook(Checked(HashMap::new()).tool(&ReadFile)?)
        .build();
    let before = results(&plain.prompt("Read it.").max_turns(9).await?.messages);
    let after = results(&checked.prompt("Read it.").max_turns(9).await?.messages);
    for ((call, before), after) in calls.iter().zip(&before).zip(&after) {
        println!("{call}\nwithout: {before}\nwith:    {after}\n");
    }
    assert_eq!((before.len(), after.len()), (calls.len(), calls.len()));
    assert!(
        before[1..]
            .iter()
            .all(|text| text.starts_with("failed to parse tool arguments"))
    );
    assert!(after[..3].iter().all(|text| text == "a up to Some(5)"));
    assert!(after[3].contains("file_path"));
    Ok(())
}
