//! `goodcall lint`: what is wrong with tool definitions, before a model sees them.

use goodcall_core::clip;
use goodcall_wire::{LintRemark, LintedTool, Tools, lint};
use serde_json::json;

use crate::{CliError, input};

/// Find what is wrong with tool definitions: what confuses models, what providers refuse.
///
/// Each remark names whom it concerns: models, a provider, or goodcall. The exit code is 1 if there
/// are remarks, so that a build can fail.
#[derive(clap::Args)]
pub(crate) struct LintArgs {
    /// Print one JSON object per tool
    #[arg(long)]
    jsonl: bool,
    /// Tool definitions, in any provider's form; - or nothing for standard input
    file: Option<String>,
}

pub(crate) fn run(args: &LintArgs) -> Result<bool, CliError> {
    let file = args.file.as_deref();
    let bytes = input::read_all(file)?;
    let tools = Tools::read(&String::from_utf8_lossy(&bytes))
        .map_err(|error| format!("{}: {error}", input::name(file)))?;
    let tools: Vec<_> = tools
        .iter()
        .map(|tool| {
            let input = serde_json::from_str(&tool.parameters).unwrap_or_default();
            let mut made = LintedTool::new(&tool.name, input);
            made.description.clone_from(&tool.description);
            made.destructive = tool.is_destructive();
            made
        })
        .collect();
    Ok(print(&tools, args.jsonl) == 0)
}

/// Prints tools with the remarks on them. Returns the number of remarks.
pub(crate) fn print(tools: &[LintedTool], jsonl: bool) -> usize {
    let remarks = lint(tools);
    let place = |at: &str| {
        if at.is_empty() {
            String::new()
        } else {
            format!("{at}: ")
        }
    };
    for remark in of(&remarks, "").filter(|_| !jsonl) {
        anstream::println!("{} ({})", remark.what, remark.who);
    }
    for tool in tools {
        let name = &tool.name;
        if jsonl {
            let remarks: Vec<_> = of(&remarks, name)
                .map(|r| json!({"at": r.at, "who": r.who.name(), "what": r.what}))
                .collect();
            anstream::println!(
                "{}",
                json!({"tool": name, "destructive": tool.destructive, "remarks": remarks})
            );
            continue;
        }
        anstream::println!("{name}{}: {}", parameters(tool), summary(tool));
        for remark in of(&remarks, name) {
            anstream::println!("  {}{} ({})", place(&remark.at), remark.what, remark.who);
        }
    }
    if !jsonl {
        let (tools, remarks) = (tools.len(), remarks.len());
        let count = |number: usize, what: &str| match number {
            1 => format!("1 {what}"),
            more => format!("{more} {what}s"),
        };
        anstream::println!("\n{}, {}", count(tools, "tool"), count(remarks, "remark"));
    }
    remarks.len()
}

fn of<'r>(remarks: &'r [LintRemark], tool: &'r str) -> impl Iterator<Item = &'r LintRemark> {
    remarks.iter().filter(move |remark| remark.tool == tool)
}

/// Renders the parameters; optional ones have a question mark.
fn parameters(tool: &LintedTool) -> String {
    let required = |name: &str| {
        let all = tool.input["required"].as_array();
        all.is_some_and(|all| all.iter().any(|one| one == name))
    };
    let all = tool.input["properties"].as_object().into_iter().flatten();
    let all = all.map(|(name, _)| {
        if required(name) {
            name.clone()
        } else {
            format!("{name}?")
        }
    });
    let mark = if tool.destructive {
        " [destructive]"
    } else {
        ""
    };
    format!("({}){mark}", all.collect::<Vec<_>>().join(", "))
}

fn summary(tool: &LintedTool) -> String {
    let text = tool.description.as_deref().unwrap_or("-");
    let line = text.lines().next().unwrap_or("-");
    clip(line, 100)
}
