//! `goodcall mcp inspect`: a server's tools, and what a linter says of them.

use std::ffi::OsString;

use goodcall_mcp::{Remark, Tool, lint, tools_of_command, tools_of_url};
use serde_json::json;

use super::{Server, runtime, server};
use crate::Failure;

/// List a server's tools, with what models stumble over and what providers refuse.
#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    /// The server's address, for streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header for every request to the URL, as NAME: VALUE
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    /// Print one JSON object a tool
    #[arg(long)]
    jsonl: bool,
    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &InspectArgs) -> Result<bool, Failure> {
    let server = server(
        "goodcall mcp inspect",
        args.url.as_deref(),
        &args.header,
        &args.command,
    )?;
    let tools = runtime()?.block_on(async {
        match &server {
            Server::Command(command) => tools_of_command(command).await,
            Server::Url(upstream) => tools_of_url(upstream).await,
        }
    })?;
    let remarks = lint(&tools);
    let place = |at: &str| {
        if at.is_empty() {
            String::new()
        } else {
            format!("{at}: ")
        }
    };
    for remark in of(&remarks, "").filter(|_| !args.jsonl) {
        anstream::println!("{} ({})", remark.what, remark.who);
    }
    for tool in &tools {
        let name = &tool.name;
        if args.jsonl {
            let remarks: Vec<_> = of(&remarks, name)
                .map(|r| json!({"at": r.at, "who": r.who, "what": r.what}))
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
    if !args.jsonl {
        let (tools, remarks) = (tools.len(), remarks.len());
        let count = |number: usize, what: &str| match number {
            1 => format!("1 {what}"),
            more => format!("{more} {what}s"),
        };
        anstream::println!("\n{}, {}", count(tools, "tool"), count(remarks, "remark"));
    }
    Ok(true)
}

fn of<'r>(remarks: &'r [Remark], tool: &'r str) -> impl Iterator<Item = &'r Remark> {
    remarks.iter().filter(move |remark| remark.tool == tool)
}

/// The parameters, the optional ones with a question mark.
fn parameters(tool: &Tool) -> String {
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

fn summary(tool: &Tool) -> String {
    let text = tool.description.as_deref().unwrap_or("-");
    let line = text.lines().next().unwrap_or("-");
    match line.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
