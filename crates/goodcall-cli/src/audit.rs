//! `goodcall audit`: why recorded calls fail.

mod progress;

use std::sync::Arc;

use goodcall_audit::{
    AuditProgress, AuditReport, AuditSettings, CallJudge, ExampleSettings, audit, expand,
};
use goodcall_core::{Formats, Style};
use goodcall_wire::Tools;

use crate::{CliError, input, tools};

/// Read recordings of tool calls, judge every call, and say which fail, where and why.
///
/// PATH is a file, a folder, a pattern or - for standard input: requests and replies of providers,
/// transcripts of coding agents, traces, logs and stores, also compressed. Formats are told by their
/// content. `goodcall audit ~/.claude ~/.codex` works as it is.
#[derive(clap::Args)]
pub(crate) struct AuditArgs {
    /// Files, folders, patterns, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Tool definitions for recordings that have none, in any provider's form
    #[arg(long, value_name = "FILE")]
    tools: Vec<String>,
    /// What may be mended: strict (nothing), safe or eager, with rules switched on and off
    /// (eager,-enum-typo), or a .toml or .json file with a policy for each tool
    #[arg(long, default_value = "safe", value_name = "POLICY")]
    policy: String,
    /// What `format` means: annotate (a remark) or assert (the call is bad without it)
    #[arg(long)]
    formats: Option<Formats>,
    /// How the text for the model reads: model, instruction, numbered, plain, structured, record
    #[arg(long, default_value = "model")]
    style: Style,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print the kinds of failure as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Show arguments and results in examples, with secrets masked; by default only their shape
    #[arg(long)]
    show_arguments: bool,
    /// Threads that read and judge [default: one per core]
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        hide_default_value = true
    )]
    threads: usize,
}

pub(crate) fn run(args: &AuditArgs) -> Result<bool, CliError> {
    let files = expand(&args.paths)?;
    let policies = input::with_formats(input::policies(&args.policy)?, args.formats);
    let judge = Arc::new(CallJudge::new(policies, args.definitions()?));
    let mut examples = ExampleSettings::default();
    examples.show_arguments = args.show_arguments;
    examples.style = args.style;
    let mut settings = AuditSettings::default();
    settings.examples = examples;
    settings.threads = args.threads;
    let state = AuditProgress::default();
    let size = files.iter().map(|file| file.size).sum();
    let audited = progress::shown(size, &state, || audit(&files, &judge, settings, &state))?;
    if let Some(warning) = &audited.warning {
        anstream::eprintln!("goodcall: {warning}");
    }
    let report = AuditReport::new(&audited.aggregate, &args.policy);
    let text = if args.json {
        report.to_json() + "\n"
    } else if args.csv {
        report.to_csv()
    } else {
        report.summary()
    };
    print(&text)?;
    Ok(true)
}

/// Prints a text. A reader that goes away is not an error.
fn print(text: &str) -> Result<(), CliError> {
    use std::io::Write;
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

impl AuditArgs {
    /// The definitions of all files.
    fn definitions(&self) -> Result<Tools, CliError> {
        tools::read_all(&self.tools)
    }
}
