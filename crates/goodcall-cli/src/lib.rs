//! The `goodcall` command: thin, all judgement is in the library.
//!
//! It is a function, [`main`], because the packages for Python and Node carry the command, too.
//!
//! Exit codes: 0 good or mended, 1 bad, 2 wrong usage or an I/O error.
// Comments on flags are help texts, where a URL is written as it is.
#![allow(
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    rustdoc::broken_intra_doc_links
)]

mod audit;
mod check;
mod command_tools;
mod completions;
mod convert;
mod demo;
mod export;
mod extract;
mod gateway;
mod hook;
mod input;
mod jsonl;
mod jsonl_output;
mod lint;
mod mcp;
mod parse;
mod playground;
mod probe;
mod recording;
mod render;
mod replay;
mod rules;
mod run;
mod tools;
mod usage;

use std::ffi::OsString;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use goodcall_core::{Policies, Policy, Style};

/// The colours of the help, on terminals that have some.
const HELP_STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  goodcall demo                                             eight calls on one screen
  goodcall check --tools tools.json --tool read_file call.json
  goodcall audit ~/.claude ~/.codex                         why the calls on this disk failed
  goodcall mcp -- npx some-server                           in front of an MCP server
  goodcall gateway --upstream URL --observe                 in front of a model provider

Exit codes: 0 good or mended, 1 bad, 2 wrong usage or input.
`goodcall help COMMAND` explains a command.";

/// Tool calls of language models: checked, mended where one reading is possible, and explained.
#[derive(Parser)]
#[command(name = "goodcall", version, max_term_width = 100, styles = HELP_STYLES, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the whole idea in one screen: eight calls, their verdicts, changes and texts
    Demo,
    /// Check arguments against a tool's schema and show the verdict
    Check(CheckArgs),
    /// Read JSON, or what a model wrote instead of it
    Parse(ParseArgs),
    /// Find the calls that a model wrote into plain text, and show their verdicts
    Extract(extract::ExtractArgs),
    /// Find what is wrong with tool definitions: what confuses models, what providers refuse
    Lint(lint::LintArgs),
    /// Turn tool definitions and transcripts from one provider's form into another's
    Convert(convert::ConvertArgs),
    /// Read recordings of tool calls, and say which calls fail, where and why
    Audit(Box<audit::AuditArgs>),
    /// Judge failures that became fixtures again, by today's tools and policy
    Replay(replay::ReplayArgs),
    /// Open a page that shows what becomes of a call, under every policy and in every style
    Playground(playground::PlaygroundArgs),
    /// Hold a conversation with a model whose tools are commands, or replay a recorded one
    Run(run::RunArgs),
    /// Ask a live model server small questions with tools, and show which of its replies are broken
    Probe(probe::ProbeArgs),
    /// Guard an MCP server: its tool calls are checked, mended or refused
    Mcp(Box<mcp::McpArgs>),
    /// Guard a model provider: an agent's tool calls are checked, mended or asked for again
    Gateway(Box<gateway::GatewayArgs>),
    /// Write the calls that a gateway has stored, as lines of JSON or as Parquet
    Export(export::ExportArgs),
    /// Check the calls of a coding agent, as the command of its hook
    Hook(hook::HookArgs),
    /// List the rules by which calls are read and mended
    Rules(RulesArgs),
    /// Print completions for bash, zsh, fish, elvish or PowerShell, or write manual pages
    Completions(completions::CompletionsArgs),
}

/// Check arguments against a tool's schema and show the verdict.
///
/// FILE holds the arguments as the model sent them. With --jsonl it holds one JSON object per line:
/// {"id"?, "schema"? | "tool"?, "raw": "<text>", "policy"?, "stop"?}; one line of JSON comes out
/// for each, in the same order.
#[derive(clap::Args)]
struct CheckArgs {
    /// Tool definitions: OpenAI, Anthropic, Gemini, Bedrock, MCP tools/list, or {name, parameters}
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// The tool that was called; may be left out if the file defines only one
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// How the text for the model reads: model, instruction, numbered, plain, structured, record
    #[arg(long, default_value = "model")]
    style: Style,
    /// What may be mended: strict (nothing), safe or eager, with rules switched on and off
    /// (eager,-enum-typo), or a .toml or .json file with a policy for each tool
    #[arg(long, default_value = "safe", value_parser = input::policies)]
    policy: Policies,
    /// What `format` means: annotate (a remark) or assert (the call is bad without it)
    #[arg(long)]
    formats: Option<goodcall_core::Formats>,
    /// How the model's message ended: unknown, finished, cut_off
    #[arg(long, default_value = "unknown")]
    stop: goodcall_core::StopReason,
    /// Read and write JSON lines
    #[arg(long)]
    jsonl: bool,
    /// With --jsonl: exit with 1 if any verdict is bad
    #[arg(long, requires = "jsonl")]
    fail: bool,
    /// The input; - or nothing for standard input
    file: Option<String>,
}

/// Read JSON, or what a model wrote instead of it, and show what was changed.
///
/// With --jsonl, each line in is {"input": "<text>", "policy"?}, and each line out is {"value",
/// "changes", "complete"} or {"error"}.
#[derive(clap::Args)]
struct ParseArgs {
    /// What may be read leniently: strict (nothing), safe, eager
    #[arg(long, default_value = "safe")]
    policy: Policy,
    /// Read and write JSON lines
    #[arg(long)]
    jsonl: bool,
    /// The input; - or nothing for standard input
    file: Option<String>,
}

/// List the rules by which calls are read and mended, or explain one.
#[derive(clap::Args)]
struct RulesArgs {
    /// The rule to explain
    name: Option<String>,
    /// Print the whole catalogue as Markdown
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

/// Why a command could not do its work, as opposed to a bad verdict: wrong usage, or I/O.
type CliError = String;

/// Makes a runtime with one thread, which is enough for everything that the command does itself.
fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))
}

/// Runs the command and returns its exit code.
///
/// The first word is the path under which other programs can start this one; the rest are the
/// arguments. Wrong usage, `--help` and `--version` print their text and end the process.
pub fn main(words: &[OsString]) -> u8 {
    let outcome = match usage::parse(words).command {
        Command::Demo => demo::run(),
        Command::Check(args) => check::run(&args),
        Command::Parse(args) => parse::run(&args),
        Command::Extract(args) => extract::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Playground(args) => playground::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Mcp(args) => mcp::run(&args, words.first()),
        Command::Gateway(args) => gateway::run(&args),
        Command::Hook(args) => hook::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    match outcome {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(message) => {
            anstream::eprintln!("goodcall: {message}");
            2
        }
    }
}
