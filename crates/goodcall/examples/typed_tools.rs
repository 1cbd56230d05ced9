//! Tools from Rust types and functions: one definition gives schema, value and documentation.
//!
//! `cargo run -p goodcall --example typed_tools`

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use goodcall::{Args, Context, Failure, Toolbox, TypedTool, async_trait};
use serde::Serialize;

#[derive(Args, Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Priority {
    Low,
    High,
}

/// A free function. Its signature is its schema.
#[goodcall::tool]
fn convert(
    /// Degrees Celsius.
    #[tool(range(min = -273.15))]
    celsius: f64,
) -> f64 {
    celsius * 9.0 / 5.0 + 32.0
}

/// Methods that share their state.
#[derive(Default)]
struct Tasks {
    tasks: Mutex<BTreeMap<u32, String>>,
}

#[goodcall::tool]
impl Tasks {
    /// Adds a task.
    #[tool]
    async fn add_task(
        &self,
        #[tool(length(min = 1, max = 80))] title: String,
        priority: Option<Priority>,
    ) -> u32 {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let id = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        tasks.insert(id, format!("{title} ({priority:?})"));
        id
    }

    /// Finishes a task.
    #[tool]
    async fn finish_task(&self, id: u32) -> Result<String, Failure> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let known: Vec<_> = tasks.keys().map(u32::to_string).collect();
        tasks.remove(&id).ok_or_else(|| {
            Failure::new(format!("there is no task {id}"))
                .recommend(format!("use one of: {}", known.join(", ")))
        })
    }
}

/// Sums numbers.
#[derive(Args)]
struct SumArgs {
    /// At least one.
    #[schemars(length(min = 1))]
    numbers: Vec<i64>,
}

/// A type that implements `TypedTool`, for full control.
struct Sum;

#[async_trait]
impl TypedTool for Sum {
    type Args = SumArgs;
    type Output = i64;

    fn name(&self) -> &str {
        "sum"
    }

    async fn execute(&self, args: SumArgs, _: &Context) -> Result<i64, Failure> {
        let sum = args
            .numbers
            .iter()
            .try_fold(0_i64, |sum, n| sum.checked_add(*n));
        sum.ok_or_else(|| Failure::new("the sum is too large"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut toolbox = Toolbox::new();
    toolbox.register(Convert)?;
    toolbox.register(Sum)?;
    toolbox.register_all(Arc::new(Tasks::default()).tools())?;
    for tool in toolbox.list() {
        println!("{}: {}", tool.name, tool.description);
        if let Some(schema) = tool.parameters {
            println!("  {schema}");
        }
    }
    for (name, arguments) in [
        ("convert", r#"{"celsius": 100}"#),
        ("convert", r#"{"celsius": -300}"#),
        ("add_task", r#"{"title": "write", "priority": "high"}"#),
        ("add_task", r#"{"title": "write", "priority": "urgent"}"#),
        ("finish_task", r#"{"id": 7}"#),
        ("sum", r#"{"numbers": [9223372036854775807, 1]}"#),
        ("sum", r#"{"numbers": [1, 2, 99999999999999999999]}"#),
    ] {
        println!("\n{name}({arguments})");
        println!(
            "{}",
            toolbox.invoke(name, arguments).await.structured().to_json()
        );
    }
    Ok(())
}
