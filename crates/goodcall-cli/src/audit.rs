//! `goodcall audit`: why recorded calls fail.

mod definitions;
mod progress;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use goodcall_audit::{
    AuditComparison, AuditProgress, AuditReport, AuditSettings, Audited, CallJudge,
    ExampleSettings, SavedState, Threshold, WrittenFixtures, audit, expand, write_fixtures,
};
use goodcall_core::{Formats, Policies, Style};

use crate::{CliError, input};

/// Read recordings of tool calls, judge every call, and say which fail, where and why.
///
/// PATH is a file, a folder, a pattern or - for standard input: requests and replies of providers,
/// transcripts of coding agents, traces, exports, logs, stores and tables of calls, also compressed.
/// Formats are told by their content. `goodcall audit ~/.claude ~/.codex` works as it is.
#[derive(clap::Args)]
pub(crate) struct AuditArgs {
    /// Files, folders, patterns, or - for standard input
    #[arg(required_unless_present = "compare", value_name = "PATH")]
    paths: Vec<String>,
    #[command(flatten)]
    definitions: definitions::DefinitionArgs,
    #[command(flatten)]
    judging: JudgingArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Compare two recordings or two reports of --json; with PATH, two models
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with_all = ["csv", "html", "fixtures", "resume"])]
    compare: Option<Vec<String>>,
    /// Exit with 1 if this holds, such as bad>2% or loops>=1; may be given several times. With
    /// --compare, AFTER is meant
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Threshold>,
    /// Keep the state in this file, and go on from it after a kill
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Seconds between two saves of the state
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, hide = true)]
    save_every: f64,
    /// Threads that read and judge [default: one per core]
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        hide_default_value = true
    )]
    threads: usize,
}

/// How calls are judged.
#[derive(clap::Args)]
struct JudgingArgs {
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
}

/// What is written.
#[derive(clap::Args)]
struct OutputArgs {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print the kinds of failure as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Write the report as one HTML page, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show arguments and results in examples, with secrets masked; by default only their shape
    #[arg(long)]
    show_arguments: bool,
    /// Write each kind of failure as a fixture for `goodcall replay` into this folder
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
}

pub(crate) fn run(args: &AuditArgs) -> Result<bool, CliError> {
    let run = AuditRun::new(args)?;
    if let Some(pair) = &args.compare {
        let (comparison, after) = run.compare(pair)?;
        let text = if args.output.json {
            comparison.to_json() + "\n"
        } else {
            comparison.summary()
        };
        print(&text)?;
        return run.passes(&after);
    }
    let audited = run.audit(&args.paths)?;
    let report = run.report(&audited);
    if let Some(path) = &args.output.html {
        let written = std::fs::write(path, report.to_html());
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let text = if args.output.json {
        report.to_json() + "\n"
    } else if args.output.csv {
        report.to_csv()
    } else {
        report.summary()
    };
    print(&text)?;
    if let Some(folder) = &args.output.fixtures {
        let done = write_fixtures(&audited.aggregate, folder, &run.policies)?;
        announce(&done, folder);
    }
    run.passes(&report)
}

/// One audit with its settings.
struct AuditRun<'a> {
    args: &'a AuditArgs,
    policies: Policies,
    judge: Arc<CallJudge>,
    /// All that the result depends on.
    settings: String,
}

impl<'a> AuditRun<'a> {
    fn new(args: &'a AuditArgs) -> Result<Self, CliError> {
        let policies =
            input::with_formats(input::policies(&args.judging.policy)?, args.judging.formats);
        let tools = args.definitions.read()?;
        let definitions: Vec<_> = tools
            .iter()
            .map(|tool| format!("{} {}", tool.name, tool.parameters))
            .collect();
        let settings = format!(
            "{} {policies:?} {} {} {} {}",
            env!("CARGO_PKG_VERSION"),
            args.judging.style.name(),
            args.output.show_arguments,
            args.output.fixtures.is_some(),
            definitions.join(" "),
        );
        Ok(Self {
            args,
            judge: Arc::new(CallJudge::new(policies.clone(), tools)),
            policies,
            settings,
        })
    }

    fn audit(&self, paths: &[String]) -> Result<Audited, CliError> {
        let files = expand(paths)?;
        let mut examples = ExampleSettings::default();
        examples.show_arguments = self.args.output.show_arguments;
        examples.keep_calls = self.args.output.fixtures.is_some();
        examples.style = self.args.judging.style;
        let mut settings = AuditSettings::default();
        settings.examples = examples;
        settings.threads = self.args.threads;
        settings.saved = self.args.resume.as_ref().map(|path| {
            let mut saved = SavedState::new(path, self.settings.as_str());
            saved.every = Duration::from_secs_f64(self.args.save_every.clamp(0.0, 3600.0));
            saved
        });
        let state = AuditProgress::default();
        let size = files.iter().map(|file| file.size).sum();
        let audited = progress::shown(size, &state, || {
            audit(&files, &self.judge, settings, &state)
        })?;
        if let Some(warning) = &audited.warning {
            anstream::eprintln!("goodcall: the state was not saved: {warning}");
        }
        Ok(audited)
    }

    fn report(&self, audited: &Audited) -> AuditReport {
        AuditReport::new(&audited.aggregate, &self.args.judging.policy)
    }

    /// Compares two runs, or two models of one. Returns the second report, too.
    fn compare(&self, pair: &[String]) -> Result<(AuditComparison, AuditReport), CliError> {
        let [before, after] = pair else {
            return Err("--compare takes two names".to_owned());
        };
        let (one, two) = if self.args.paths.is_empty() {
            (self.load(before)?, self.load(after)?)
        } else {
            let aggregate = self.audit(&self.args.paths)?.aggregate;
            let models = aggregate.models();
            for name in pair {
                if !models.iter().any(|model| **model == **name) {
                    let known = models.join(", ");
                    return Err(format!(
                        "there are no calls by the model `{name}`: expected {known}"
                    ));
                }
            }
            let of =
                |name: &str| AuditReport::new(&aggregate.of_model(name), &self.args.judging.policy);
            (of(before), of(after))
        };
        let comparison = AuditComparison::new([before, after], [&one, &two]);
        Ok((comparison, two))
    }

    /// Reads a report that `--json` has printed, or audits a recording.
    fn load(&self, path: &str) -> Result<AuditReport, CliError> {
        // A pipe can be read once only: it is taken for a recording.
        if Path::new(path).is_file()
            && let Ok(text) = std::fs::read(Path::new(path))
            && let Ok(report) = serde_json::from_slice::<AuditReport>(&text)
        {
            return Ok(report);
        }
        let audited = self.audit(&[path.to_owned()])?;
        Ok(self.report(&audited))
    }

    /// Returns false if a condition holds under which the audit fails.
    fn passes(&self, report: &AuditReport) -> Result<bool, CliError> {
        let mut passes = true;
        for condition in &self.args.fail_if {
            let holds = condition.exceeded(report);
            if let Some(words) = holds.map_err(|error| format!("--fail-if {error}"))? {
                anstream::eprintln!("goodcall: {words}");
                passes = false;
            }
        }
        Ok(passes)
    }
}

/// Says which fixtures were written.
fn announce(done: &WrittenFixtures, folder: &Path) {
    let (count, folder) = (done.written.len(), folder.display());
    anstream::eprintln!("goodcall: {count} fixtures in {folder}: goodcall replay {folder}");
    for what in &done.left_out {
        anstream::eprintln!("goodcall: no fixture for {what}");
    }
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
