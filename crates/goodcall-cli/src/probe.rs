//! `goodcall probe`.

use std::time::Duration;

use goodcall::openai::OpenAi;
use goodcall_wire::probe::{ProbeOutcome, ProbeProblem, outcome, questions};
use serde::Serialize;

use crate::{CliError, runtime};

/// Ask a live model server small questions with tools, and show which of its replies are broken.
///
/// Each question is asked twice, whole and streamed: parallel calls, nested objects, unicode, a long
/// string, an enum, a tool without arguments, a forced choice, the turn after a result, and a cut-off
/// by max_tokens. A broken reply is shown with what `goodcall gateway` makes of it, and with the flag
/// that this takes. The exit code is 1 if a reply is broken even behind the gateway.
#[derive(clap::Args)]
pub(crate) struct ProbeArgs {
    /// The server: an OpenAI-compatible URL that ends before /chat/completions
    url: String,
    /// The model's name
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The environment variable that holds the server's key
    #[arg(long, value_name = "NAME", default_value = "OPENAI_API_KEY")]
    key_env: String,
    /// The seconds to wait for one reply
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    timeout: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What one question found.
#[derive(Serialize)]
struct Finding {
    question: &'static str,
    streamed: bool,
    outcome: &'static str,
    problems: Vec<ProblemLine>,
}

#[derive(Serialize)]
struct ProblemLine {
    kind: &'static str,
    detail: String,
    gateway: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<&'static str>,
    mended: bool,
}

impl ProblemLine {
    fn new(problem: ProbeProblem) -> Self {
        Self {
            kind: problem.kind,
            detail: problem.detail,
            gateway: problem.gateway,
            flag: problem.flag,
            mended: problem.mended,
        }
    }
}

/// The whole report, for machines.
#[derive(Serialize)]
struct Report<'r> {
    model: &'r str,
    /// The flags of the gateway that mend something.
    flags: Vec<&'static str>,
    findings: &'r [Finding],
}

pub(crate) fn run(args: &ProbeArgs) -> Result<bool, CliError> {
    let mut server = OpenAi::new(&args.url, &args.model).map_err(|error| error.to_string())?;
    if let Ok(key) = std::env::var(&args.key_env) {
        server = server.key(key);
    }
    let runtime = runtime()?;
    let limit = Duration::from_secs(args.timeout);
    let mut findings = Vec::new();
    for question in questions(&args.model) {
        let asked =
            async { tokio::time::timeout(limit, server.exchange(question.body.clone())).await };
        let problems = match runtime.block_on(asked) {
            Ok(Ok((status, body))) => question.judge(status, &body),
            // Nothing can be said about a server that does not answer.
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err(format!("{}: no reply in {} s", question.name, args.timeout)),
        };
        findings.push(Finding {
            question: question.name,
            streamed: question.streamed,
            outcome: outcome(&problems).name(),
            problems: problems.into_iter().map(ProblemLine::new).collect(),
        });
    }
    let problems = || findings.iter().flat_map(|finding| &finding.problems);
    let mut flags: Vec<_> = problems().filter_map(|problem| problem.flag).collect();
    flags.sort_unstable();
    flags.dedup();
    if flags.contains(&"--text-calls=anywhere") {
        // The wider scope finds what the other one finds.
        flags.retain(|flag| *flag != "--text-calls");
    }
    if args.json {
        let report = Report {
            model: &args.model,
            flags,
            findings: &findings,
        };
        let text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
        anstream::println!("{text}");
    } else {
        print(&findings, &flags);
    }
    let broken = ProbeOutcome::Broken.name();
    Ok(findings.iter().all(|finding| finding.outcome != broken))
}

/// Prints a row for each question, and what is wrong below.
fn print(findings: &[Finding], flags: &[&str]) {
    anstream::println!("{:16}{:10}streamed", "question", "whole");
    for pair in findings.chunks(2) {
        let outcomes = pair.iter().map(|finding| format!("{:10}", finding.outcome));
        let row = format!("{:16}{}", pair[0].question, outcomes.collect::<String>());
        anstream::println!("{}", row.trim_end());
    }
    for finding in findings {
        for problem in &finding.problems {
            let mode = if finding.streamed {
                "streamed"
            } else {
                "whole"
            };
            anstream::println!(
                "\n{}, {mode}: {}\n  {}\n  the gateway {}{}",
                finding.question,
                problem.kind,
                problem.detail,
                problem.gateway,
                problem
                    .flag
                    .map_or(String::new(), |flag| format!(", with {flag}"))
            );
        }
    }
    if !flags.is_empty() {
        anstream::println!("\nmended by: goodcall gateway {}", flags.join(" "));
    }
}
